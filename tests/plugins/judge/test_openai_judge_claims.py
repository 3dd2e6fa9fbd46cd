"""The model judge that finds the claims of an answer and asks of each whether it is supported."""

import json
from typing import Any

import pytest

from runner.llm.rubrics import built_in_rubric
from runner.records import Judgement
from tests.plugins.judge.judged import judged, says, system_of, user_of
from tests.services.models_replies import Reply, completion


def verdict(claim: int, verdict: str = "supported", chunk: int | None = 2, reason: str = "") -> dict[str, Any]:
    return {"claim": claim, "reason": reason, "verdict": verdict, "chunk": chunk}


async def test_the_score_is_the_share_of_supported_claims(server, models, judge):
    says(server, {"verdicts": [verdict(2, "contradicted", 2, "It is in Seoul"), verdict(1)]})
    found = await judged(models, judge(mode="claims"))
    assert found.score == 0.5
    assert found.details["claims"] == [
        {"claim": "Refunds take 5 business days.", "verdict": "supported", "context": 2, "reason": None},
        {"claim": "The office is in Busan.", "verdict": "contradicted", "context": 2, "reason": "It is in Seoul"},
    ]
    assert found.reasoning == (
        "1 of 2 claims supported. Contradicted: “The office is in Busan.” (It is in Seoul)."
    )  # fmt: skip
    (body,) = server.requests
    rubric = built_in_rubric("faithfulness").modes["claims"]
    assert system_of(body).startswith(rubric.en.strip())
    assert body["response_format"]["json_schema"]["schema"] == rubric.reply_schema
    assert 'name="claims" number="1">\nRefunds take 5 business days.\n' in user_of(body)
    assert 'name="claims" number="2">\nThe office is in Busan.\n' in user_of(body)
    assert "[2]" not in user_of(body) and 'name="answer"' not in user_of(body)


async def test_korean_claims(server, models, judge):
    says(server, {"verdicts": [verdict(1, chunk=1), verdict(2, "not_found", None, "언급이 없습니다")]})
    answer = "환불은 30일 이내에 가능합니다. 배송비는 3,000원입니다."
    found = await judged(models, judge(mode="claims"), question="환불 조건은?", answer=answer, language="ko")
    assert found.score == 0.5
    assert found.reasoning == (
        "주장 2개 중 1개가 뒷받침됩니다. 근거 없음: “배송비는 3,000원입니다.” (언급이 없습니다)."
    )  # fmt: skip
    assert found.details["claims"][1]["context"] is None
    assert system_of(server.requests[0]).startswith("당신은 답변의 주장을 자료와 하나씩 대조합니다.")


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [
        ([verdict(1)], "verdicts: no verdict for claim 2"),
        ([], "verdicts: no verdict for claim 1, 2"),
        ([verdict(1), verdict(1)], "verdicts.1.claim: a second verdict for claim 1"),
        ([verdict(1), verdict(3)], "verdicts.1.claim: expected a number from 1 to 2, got 3"),
        ([verdict(0), verdict(1)], "verdicts.0.claim: expected a number from 1 to 2, got 0"),
        ([{**verdict(1), "claim": True}], "verdicts.0.claim: expected a number from 1 to 2, got True"),
        ([{**verdict(1), "claim": "one"}], "verdicts.0.claim: expected a number from 1 to 2, got 'one'"),
        ([{**verdict(1), "claim": 1.5}], "verdicts.0.claim: expected a number from 1 to 2, got 1.5"),
        ([verdict(1, "true")], "verdicts.0.verdict: expected supported, contradicted, not_found, got 'true'"),
        ([verdict(1, chunk=3)], "verdicts.0.chunk: expected a number from 1 to 2, got 3"),
        ([verdict(1, "contradicted", None)], "verdicts.0.chunk: expected a number from 1 to 2, got None"),
        (["supported", "supported"], "verdicts.0: expected an object, got 'supported'"),
        ("supported", "verdicts: expected a list, got 'supported'"),
        (None, "verdicts: expected a list, got None"),
    ],
)
async def test_claims_and_verdicts_are_reconciled(server, models, judge, verdicts, reason):
    says(server, {"verdicts": verdicts})
    found = await judged(models, judge(mode="claims"))
    assert found.score is None and reason in str(found.error)
    assert server.count == 4


async def test_an_answer_without_claims_scores_half_without_a_request(server, models, judge):
    refusal = "제공된 자료에서 이 질문의 답을 찾을 수 없습니다."
    found = await judged(models, judge(mode="claims"), answer=refusal, language="ko")
    assert found == Judgement(0.5, "답변이 아무것도 주장하지 않습니다.", details={"claims": []})
    found = await judged(models, judge(mode="claims"), answer="Could you tell me more?")
    assert found == Judgement(0.5, "The answer claims nothing.", details={"claims": []})
    assert server.count == 0


async def test_that_the_sources_do_not_tell_is_no_claim(server, models, judge):
    says(server, {"verdicts": [verdict(1)]})
    answer = "Refunds take 5 business days. The sources do not mention the office."
    assert (await judged(models, judge(mode="claims"), answer=answer)).score == 1.0


async def test_without_contexts_no_claim_is_found_and_nothing_asked(server, models, judge):
    found = await judged(models, judge(mode="claims"), contexts=[])
    assert found.score == 0 and [claim["verdict"] for claim in found.details["claims"]] == ["not_found"] * 2
    assert server.count == 0


async def test_a_reply_may_be_longer_with_more_claims(server, models, judge):
    says(server, {"verdicts": [verdict(number) for number in range(1, 10)]})
    answer = " ".join(f"Refund number {number} takes 5 days." for number in range(1, 10))
    assert (await judged(models, judge(mode="claims", max_tokens=100), answer=answer)).score == 1
    (body,) = server.requests
    assert 200 in (body.get("max_tokens"), body.get("max_completion_tokens"))


async def test_repeats_keep_the_claims_of_the_first_that_succeeded(server, models, judge):
    def respond(body: dict[str, Any]) -> Reply:
        if body["seed"] == 0:
            return completion(body, None, refusal="no")
        found = "supported" if body["seed"] == 1 else "contradicted"
        return completion(body, json.dumps({"verdicts": [verdict(1), verdict(2, found)]}))

    server.respond = respond
    found = await judged(models, judge(mode="claims", repeats=3, seed=0))
    assert (found.score, found.details["votes"]) == (0.75, {"1": None, "2": 1.0, "3": 0.5})
    assert [claim["verdict"] for claim in found.details["claims"]] == ["supported", "supported"]
