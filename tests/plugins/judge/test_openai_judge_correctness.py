"""The model judge that holds answers and contexts against reference answers."""

import json
from typing import Any

import pytest

from runner.llm.rubrics import built_in_rubric
from runner.records import Context, Judgement
from tests.plugins.judge.judged import judged, says, system_of, user_of
from tests.services.models_replies import completion

REFERENCES = ["Refunds take 5 days. They are paid to the card.", "Five days"]


def on(claim: int, verdict: str = "supported", reason: str = "") -> dict[str, Any]:
    return {"claim": claim, "reason": reason, "verdict": verdict}


def chunk(number: int, useful: object) -> dict[str, Any]:
    return {"chunk": number, "reason": f"chunk {number}", "useful": useful}


async def test_a_score_by_the_references(server, models, judge):
    says(server, {"reasoning": "The same.", "score": 0.9})
    found = await judged(models, judge(), "answer_correctness", references=REFERENCES)
    assert found == Judgement(0.9, "The same.")
    (body,) = server.requests
    assert system_of(body).startswith("You grade whether an answer is right.")
    assert 'name="references" number="2">\nFive days\n' in user_of(body)
    assert "Seoul" not in user_of(body)  # it sees no context


async def test_the_f1_of_claims(server, models, judge):
    """1 of 2 claims of the answer, 1 of 2 of the first reference, 1 of 1 of the second: precision 1/2, recall 1."""
    of_references = [on(1), on(2, "not_found", "nothing of a card"), on(3)]
    says(server, {"verdicts": [on(1), on(2, "contradicted", "Seoul")], "reference_verdicts": of_references})
    found = await judged(models, judge(mode="claims"), "answer_correctness", references=REFERENCES)
    assert found.score == pytest.approx(2 / 3)
    assert (found.details["precision"], found.details["recall"]) == (0.5, 1.0)
    assert found.details["reference_claims"] == [{"claim": "Five days", "verdict": "supported", "reason": None}]
    assert found.reasoning == (
        "The answer says 1 of 1 claims of the reference. 1 of 2 claims of the answer are in the reference. "
        "Contradicted: “The office is in Busan.” (Seoul)."
    )
    (body,) = server.requests
    assert system_of(body).startswith(built_in_rubric("answer_correctness").modes["claims"].en.strip())
    assert 'name="claims" number="2">\nThe office is in Busan.\n' in user_of(body)
    assert 'name="reference_claims" number="3">\nFive days\n' in user_of(body)


async def test_a_reference_of_two_claims_in_korean(server, models, judge):
    """Precision 1, recall 1/2."""
    says(server, {"verdicts": [on(1)], "reference_verdicts": [on(1), on(2, "not_found")]})
    fields = {"answer": "7권입니다.", "question": "몇 권까지 빌릴 수 있나요?", "language": "ko"}
    references = ["7권까지 빌릴 수 있다. 기간은 14일이다."]
    found = await judged(models, judge(mode="claims"), "answer_correctness", references=references, **fields)
    assert found.score == pytest.approx(2 / 3)
    assert found.reasoning == (
        "기준 답안의 주장 2개 중 1개를 답변이 말합니다. 빠짐: “기간은 14일이다.”. "
        "답변의 주장 1개 중 1개가 기준 답안에 있습니다."
    )


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"verdicts": [on(1), on(2)]}, "reference_verdicts: expected a list, got None"),
        ({"verdicts": [on(1)], "reference_verdicts": [on(1)]}, "verdicts: no verdict for claim 2"),
        (
            {"verdicts": [on(1), on(2)], "reference_verdicts": [on(1), on(1)]},
            "reference_verdicts.1.claim: a second verdict for claim 1",
        ),
    ],
)
async def test_verdicts_that_do_not_fit_are_a_failure(server, models, judge, reply, reason):
    says(server, reply)
    found = await judged(models, judge(mode="claims"), "answer_correctness", references=["Five days"])
    assert found.score is None and reason in str(found.error)
    assert server.count == 4


async def test_what_is_not_asked(server, models, judge):
    for mode in ("score", "claims"):
        empty = await judged(models, judge(mode=mode), "answer_correctness", references=REFERENCES, answer=" ")
        assert (empty.score, empty.reasoning) == (0.0, "The answer is empty.")
    question = await judged(
        models, judge(mode="claims"), "answer_correctness", references=REFERENCES, answer="Which refund do you mean?"
    )
    assert (question.score, question.reasoning) == (0.0, "The answer claims nothing.")
    for rubric in ("context_precision", "context_recall"):
        nothing = await judged(models, judge(), rubric, references=REFERENCES, contexts=[])
        assert nothing.score == 0.0
    assert server.count == 0


@pytest.mark.parametrize("mode", ["score", "claims"])
async def test_context_precision(server, models, judge, mode):
    """Useful at ranks 1 and 3: (1/1 + 2/3) / 2."""
    says(server, {"verdicts": [chunk(3, True), chunk(1, True), chunk(2, False)]})
    contexts = [Context(f"c{number}", f"text {number}") for number in range(3)]
    found = await judged(models, judge(mode=mode), "context_precision", references=REFERENCES, contexts=contexts)
    assert found.score == pytest.approx(5 / 6)
    assert found.reasoning == "2 of 3 chunks are useful: 1, 3."
    assert [each["chunk"] for each in found.details["chunks"]] == [1, 2, 3]
    (body,) = server.requests
    assert system_of(body).startswith("You check which retrieved chunks help")
    assert "Busan" not in user_of(body)  # it does not see the answer


async def test_a_verdict_that_is_neither_true_nor_false(server, models, judge):
    says(server, {"verdicts": [chunk(1, "yes"), chunk(2, False)]})
    found = await judged(models, judge(), "context_precision", references=REFERENCES)
    assert "verdicts.0.useful: expected true or false, got 'yes'" in str(found.error)


async def test_context_recall(server, models, judge):
    """Of the first reference 1 of 2 claims, of the second 0 of 1."""
    verdicts = [{**on(1), "chunk": 2}, {**on(2, "not_found"), "chunk": None}, {**on(3, "not_found"), "chunk": None}]
    says(server, {"verdicts": verdicts})
    found = await judged(models, judge(), "context_recall", references=REFERENCES)
    assert found.score == 0.5
    assert found.reasoning == ("The chunks hold 1 of 2 claims of the reference. Missing: “They are paid to the card.”.")
    assert [each["context"] for each in found.details["claims"]] == [2, None]


async def test_room_for_verdicts_on_both_sides(server, models, judge):
    """9 + 1 claims: two times eight."""
    answer = " ".join(f"Fact number {number} is here." for number in range(9))
    both = {"verdicts": [on(n) for n in range(1, 10)], "reference_verdicts": [on(1)]}
    server.respond = lambda body: completion(body, json.dumps(both))
    found = await judged(
        models, judge(mode="claims", max_tokens=100), "answer_correctness", references=["Five days"], answer=answer
    )
    assert found.score == 1.0
    assert server.requests[0]["max_tokens"] == 200
