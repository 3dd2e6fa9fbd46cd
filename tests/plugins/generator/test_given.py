import pytest

from plugins.generator.given import GivenGenerator
from runner.errors import EvaluationError
from runner.records import Answer, GivenResults, Query


def query(answer):
    return Query("q7", "How long do refunds take?", True, {}, given=GivenResults(answer=answer))


async def test_returns_the_answer_of_the_query_with_its_citations():
    answer = await GivenGenerator().generate(query("5 days [2]. Free [1]."), [])
    assert answer == Answer("5 days [2]. Free [1].", refused=False, citations=(2, 1))


@pytest.mark.parametrize("text", ["I don't know.", "문서에 언급되어 있지 않습니다."])
async def test_recognises_refusals(text):
    assert await GivenGenerator().generate(query(text), []) == Answer(text, refused=True)


@pytest.mark.parametrize("text", ["", "  ", '{"answer": null}'])
async def test_silence_is_no_refusal(text):
    assert await GivenGenerator().generate(query(text), []) == Answer("")


async def test_a_thought_is_kept_beside_the_answer():
    answer = await GivenGenerator().generate(query("<think>3 or [4]?</think>5 days [2]."), [])
    assert answer == Answer("5 days [2].", citations=(2,), thought="3 or [4]?")


async def test_an_error_in_place_of_the_answer_fails_its_case():
    with pytest.raises(EvaluationError) as raised:
        await GivenGenerator().generate(query('{"answer": "", "error": "rate limited"}'), [])
    assert str(raised.value) == "query q7: answer: an error stands in its place: rate limited"


async def test_a_missing_answer_names_query_and_field():
    with pytest.raises(EvaluationError) as raised:
        await GivenGenerator().generate(query(None), [])
    assert str(raised.value) == "query q7: answer: missing, and generator=given needs it in the queries file"


async def test_a_probe_without_an_answer_is_no_query_of_a_queries_file():
    probe = Query("c1/p1", "How long do refunds take?", True, {}, given=GivenResults(), from_memory=True)
    with pytest.raises(EvaluationError) as raised:
        await GivenGenerator().generate(probe, [])
    assert str(raised.value) == (
        "probe c1/p1: answer: missing, and generator=given needs in it what the other system said (only scenario=file "
        "has such probes); generator=extractive answers from what is remembered"
    )
