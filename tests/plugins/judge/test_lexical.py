import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.judge.lexical import LexicalJudge
from runner.errors import EvaluationError
from runner.health import check_health
from runner.records import Context, Judgement

CONTEXTS = [
    Context("policy#0", "환불은 구매 후 30일 이내에 가능합니다. 배송비는 환불되지 않습니다.", "환불 정책"),
    Context("refunds#0", "Refunds take 5 business days. The office is in Seoul.", "Refunds at Acme"),
]


async def faithfulness(answer, contexts=CONTEXTS, question="How long do refunds take?", **settings):
    fields = {"question": question, "answer": answer, "contexts": contexts, "language": None}
    return await LexicalJudge(**settings).judge("faithfulness", fields)


async def relevancy(question, answer):
    return await LexicalJudge().judge("answer_relevancy", {"question": question, "answer": answer, "language": None})


async def test_supported_claims():
    judgement = await faithfulness("Refunds take 5 business days [2]. 배송비는 환불되지 않습니다 [1].")
    assert judgement.score == 1
    assert judgement.reasoning == "2 of 2 claims supported."
    assert judgement.details["claims"][0] == {
        "claim": "Refunds take 5 business days.",
        "verdict": "supported",
        "score": 1.0,
        "conflict": None,
        "missing": [],
        "context": 2,
        "evidence": "Refunds take 5 business days.",
    }


async def test_claims_weigh_by_their_words():
    # refunds take business days + 5 (supported, 5), office Busan (not, 2)
    judgement = await faithfulness("Refunds take 5 business days. The office is in Busan.")
    assert judgement.score == pytest.approx(5 / 7)
    assert judgement.reasoning == (
        "1 of 2 claims supported. Unsupported: “The office is in Busan.” (not in the sources: Busan)."
    )


async def test_words_that_are_missing_are_named():
    # refunds, usually, take, long, weeks: two of five
    judgement = await faithfulness("Refunds usually take long weeks.")
    assert judgement.score == pytest.approx(2 / 5)
    assert judgement.reasoning == (
        "0 of 1 claims supported. "
        "Unsupported: “Refunds usually take long weeks.” (not in the sources: usually, long, weeks)."
    )


async def test_the_threshold_changes_the_verdict_and_not_the_score():
    strict = await faithfulness("Refunds usually take long.", supported=0.51)
    assert (strict.score, strict.details["claims"][0]["verdict"]) == (0.5, "unsupported")
    lenient = await faithfulness("Refunds usually take long.")
    assert (lenient.score, lenient.details["claims"][0]["verdict"]) == (0.5, "supported")


@pytest.mark.parametrize("answer", ["", "  \n", None])
async def test_an_empty_answer_scores_0(answer):
    assert await faithfulness(answer) == Judgement(0.0, "The answer is empty.")
    assert await relevancy("How long?", answer) == Judgement(0.0, "The answer is empty.")


@pytest.mark.parametrize("answer", ["I don't know.", "제공된 자료에서 이 질문의 답을 찾을 수 없습니다."])
async def test_a_refusal_scores_half_and_is_not_relevant(answer):
    assert (await faithfulness(answer)).score == 0.5
    assert (await faithfulness(answer, contexts=[])).score == 0.5
    assert await relevancy("How long do refunds take?", answer) == Judgement(0.0, "The answer is a refusal.")


async def test_an_answer_without_claims_scores_half():
    expected = Judgement(0.5, "The answer claims nothing.", details={"claims": []})
    assert await faithfulness("Could you tell me more?") == expected


async def test_claims_without_contexts_score_0():
    judgement = await faithfulness("Refunds take 5 business days.", contexts=[])
    assert judgement.score == 0
    assert judgement.details["claims"][0]["context"] is None


async def test_names_of_the_question_and_of_titles_need_no_support():
    assert (await faithfulness("The refunds of Acme take 5 business days.")).details["claims"][0]["conflict"] is None
    judgement = await faithfulness("The refunds of Zenith take 5 business days.", question="What does Zenith pay back?")
    assert judgement.details["claims"][0]["conflict"] is None


async def test_relevancy_names_what_is_missing():
    judgement = await relevancy("환불은 며칠 이내에 가능한가요?", "환불은 여러 사정에 따라 가능 여부가 달라집니다. [1]")
    assert judgement.score == 0.5
    assert judgement.reasoning == (
        "The answer takes up 100% of the topic. The question asks for a quantity; the answer gives none."
    )


async def test_relevancy_of_an_answer_that_adds_nothing():
    assert (await relevancy("환불 기간은 무엇인가요?", "환불 기간입니다.")).reasoning == (
        "The answer takes up 0% of the topic. It adds nothing."
    )


async def test_an_unknown_rubric_names_the_known_ones():
    with pytest.raises(EvaluationError) as raised:
        await LexicalJudge().judge("tone", {"answer": "x"})
    known = "answer_relevancy, faithfulness, link_reason, memory"
    assert str(raised.value) == f"judge: lexical has no rubric 'tone'; known: {known}"
    with pytest.raises(EvaluationError, match="did you mean 'faithfulness'"):
        await LexicalJudge().judge("faithfullness", {"answer": "x"})


async def test_its_health():
    """It sees words: two negations that no sentence of the sources is close to pass, and one paraphrase does not."""
    health = await check_health(LexicalJudge(), ["faithfulness", "answer_relevancy"])
    faithful, relevant = health["faithfulness"], health["answer_relevancy"]
    assert [(each["k"], each["n"]) for each in (faithful["false_accept"], faithful["false_reject"])] == [
        (2, 10),
        (0, 10),
    ]
    assert [(each["k"], each["n"]) for each in (relevant["false_accept"], relevant["false_reject"])] == [
        (0, 8),
        (1, 12),
    ]
    assert (faithful["injection"]["k"], relevant["injection"]["k"]) == (0, 0)
    assert faithful["failed_controls"] == ["en-ferry-negated", "ko-library-negated"]
    assert relevant["failed_controls"] == ["en-observatory-reworded"]


def test_settings():
    assert LexicalJudge().health is True and LexicalJudge(health=False).health is False
    judge = LexicalJudge(on_failure="exclude", supported=0.9)
    assert (judge.on_failure, judge.supported, LexicalJudge.baseline) == ("exclude", 0.9, True)


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=3))
async def test_any_answer_scores_between_0_and_1_and_twice_the_same(answer, texts):
    contexts = [Context(f"c{number}", text) for number, text in enumerate(texts)]
    first = await faithfulness(answer, contexts)
    assert first.score is not None
    assert 0 <= first.score <= 1
    assert await faithfulness(answer, contexts) == first


async def test_a_reason_of_a_link_is_held_against_both_texts():
    fields = {"anchor": "썰물에는 배가 끊긴다", "context": "물레곶에서", "target": "물때\n\n썰물 시각"}
    found = await LexicalJudge().judge("link_reason", {**fields, "reason": "둘 다 “썰물”과 “정기권”을 다룬다"})
    assert found.score == 0.5
    assert found.reasoning == "In the text and in the note: 썰물. In neither: 정기권."
    found = await LexicalJudge().judge("link_reason", {**fields, "reason": ""})
    assert (found.score, found.reasoning) == (0.0, "In the text and in the note: nothing that it names.")
