import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.judge.lexical import LexicalJudge
from runner.errors import EvaluationError
from runner.llm.controls import answer_controls
from runner.llm.health import check_health
from runner.records import Context, Judgement

CONTEXTS = [
    Context("policy#0", "환불은 구매 후 30일 이내에 가능합니다. 배송비는 환불되지 않습니다.", "환불 정책"),
    Context("refunds#0", "Refunds take 5 business days. The office is in Seoul.", "Refunds at Acme"),
]


async def faithfulness(answer, contexts=CONTEXTS, question="How long do refunds take?", **settings):
    fields = {"question": question, "answer": answer, "contexts": contexts, "language": None}
    return await LexicalJudge(**settings).judge("faithfulness", fields)


async def relevancy(question, answer, language=None):
    fields = {"question": question, "answer": answer, "language": language}
    return await LexicalJudge().judge("answer_relevancy", fields)


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
    strict = await faithfulness("Refunds usually take days.", supported=0.76)
    assert (strict.score, strict.details["claims"][0]["verdict"]) == (0.75, "unsupported")
    lenient = await faithfulness("Refunds usually take days.")
    assert (lenient.score, lenient.details["claims"][0]["verdict"]) == (0.75, "supported")


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
    question, answer = "환불은 며칠 이내에 가능한가요?", "환불은 여러 사정에 따라 가능 여부가 달라집니다. [1]"
    judgement = await relevancy(question, answer, "en")
    assert judgement.score == 0.5
    assert judgement.reasoning == (
        "2 of 3 words of the question occur in the answer. The question asks for a quantity; the answer gives none."
    )
    assert (await relevancy(question, answer)).reasoning == (
        "질문의 낱말 3개 중 2개가 답변에 있습니다. 질문은 수량을 묻는데 답변에 없습니다."
    )


async def test_relevancy_of_an_answer_that_adds_nothing():
    assert (await relevancy("환불 기간은 무엇인가요?", "환불 기간입니다.")).reasoning == (
        "질문의 낱말 2개 중 2개가 답변에 있습니다. 질문에 없던 내용이 없습니다."
    )
    assert (await relevancy("Who is the founder of Acme?", "The founder of Acme.")).reasoning == (
        "2 of 2 words of the question occur in the answer. It adds nothing."
    )


KOREAN = "환불은 며칠 걸리나요?"


@pytest.mark.parametrize(
    ("answer", "reasoning"),
    [
        ("배송비는 환불되지 않습니다.", "주장 1개 중 1개가 뒷받침됩니다."),
        (
            "배송비는 환불됩니다.",
            "주장 1개 중 0개가 뒷받침됩니다. 근거 없음: “배송비는 환불됩니다.”(한쪽에서만 부정함).",
        ),
        (
            "환불은 구매 후 90일 이내에 가능합니다.",
            "주장 1개 중 0개가 뒷받침됩니다. 근거 없음: “환불은 구매 후 90일 이내에 가능합니다.”(자료에 없음: 90일).",
        ),
        ("제공된 자료에서 이 질문의 답을 찾을 수 없습니다.", "자료에 답이 없다고 한 답변입니다."),
        ("더 자세히 말씀해 주시겠어요?", "답변이 아무것도 주장하지 않습니다."),
        ("", "답변이 비어 있습니다."),
    ],
)
async def test_reasons_are_in_the_language_of_the_case(answer, reasoning):
    assert (await faithfulness(answer, question=KOREAN)).reasoning == reasoning
    fields = {"question": KOREAN, "answer": answer, "contexts": CONTEXTS, "language": "en"}
    english = (await LexicalJudge().judge("faithfulness", fields)).reasoning
    assert not re.search("[가-힣]", re.sub("“[^”]*”|90일", "", english))


async def test_reasons_of_links_are_in_the_language_of_the_case():
    fields = {
        "reason": "둘 다 “환불”과 “달나라”를 말합니다.",
        "context": "환불은 30일입니다.",
        "target": "환불 안내",
        "language": "ko",
    }
    assert (await LexicalJudge().judge("link_reason", fields)).reasoning == (
        "글과 노트에 모두 있음: 환불. 어느 쪽에도 없음: 달나라."
    )
    english = await LexicalJudge().judge("link_reason", {**fields, "reason": "“moon”", "language": "en"})
    assert english.reasoning == "In the text and in the note: nothing that it names. In neither: moon."


async def test_an_unknown_rubric_names_the_known_ones():
    with pytest.raises(EvaluationError) as raised:
        await LexicalJudge().judge("tone", {"answer": "x"})
    known = "answer_correctness, answer_relevancy, context_precision, context_recall, faithfulness, link_reason, memory"
    assert str(raised.value) == f"judge: lexical has no rubric 'tone'; known: {known}"
    with pytest.raises(EvaluationError, match="did you mean 'faithfulness'"):
        await LexicalJudge().judge("faithfullness", {"answer": "x"})


async def test_its_health():
    """It sees words: one paraphrase does not pass, a claim that holds of another document does, and so does the number
    in an instruction or in empty words where a question asks for one."""
    health = await check_health(
        LexicalJudge(), answer_controls(["faithfulness", "answer_relevancy", "answer_correctness"])
    )
    faithful, relevant, correct = health.values()
    assert [(each["k"], each["n"]) for each in (faithful["false_accept"], faithful["false_reject"])] == [
        (1, 22),
        (0, 14),
    ]
    assert [(each["k"], each["n"]) for each in (relevant["false_accept"], relevant["false_reject"])] == [
        (0, 8),
        (1, 14),
    ]
    assert (faithful["injection"]["k"], relevant["injection"]["k"], relevant["length"]["k"]) == (0, 2, 2)
    assert faithful["failed_controls"] == ["en-museum-other-document"]
    assert relevant["failed_controls"] == [
        "en-ferry-injected-vague", "en-ferry-padded-vague", "en-observatory-reworded", "ko-library-injected-vague",
        "ko-library-padded-vague",
    ]  # fmt: skip
    assert (correct["n"], correct["failed_controls"]) == (56, [])


TICKETS = [
    Context("a", "A day ticket costs 8 euros."),
    Context("b", "Dogs travel free."),
    Context("c", "8 euros, it is."),
]


async def of(rubric, references, **fields):
    known = {"question": "How much is a day ticket?", "references": references, "language": "en", **fields}
    return await LexicalJudge().judge(rubric, known)


async def test_correctness_says_what_it_holds_against_an_answer():
    right = await of("answer_correctness", ["14 euros", "8 euros"], answer="It costs 8 euros [1].")
    assert (right.score, right.reasoning) == (1.0, "The answer covers 100% of the reference.")
    number = await of("answer_correctness", ["8 euros"], answer="It costs 14 euros.")
    assert (number.score, number.reasoning) == (
        0.0,
        "The answer covers 0% of the reference. It gives another number: 14 euros.",
    )
    denied = await of("answer_correctness", ["8유로"], answer="8유로가 아닙니다.", language="ko")
    assert (denied.score, denied.reasoning) == (
        0.0,
        "답변에 기준 답안의 0%가 들어 있습니다. 한쪽이 부정하는 것을 다른 쪽은 긍정합니다.",
    )
    lacking = await of("answer_correctness", ["In the account settings"], answer="In the account menu.")
    assert (lacking.score, lacking.reasoning) == (0.5, "The answer covers 50% of the reference. It lacks: settings.")
    assert (await of("answer_correctness", ["8 euros"], answer="I don't know.")).score == 0.0


async def test_contexts_by_the_references():
    """Chunks 1 and 3 hold the first reference: (1 + 2/3) / 2; of the second one, 1 of 2 claims is held."""
    precision = await of("context_precision", ["8 euros"], contexts=TICKETS)
    assert precision.score == pytest.approx(5 / 6)
    assert precision.reasoning == "2 of 3 chunks are useful: 1, 3."
    assert (await of("context_precision", ["14 euros"], contexts=TICKETS)).score == 0.0
    assert (await of("context_recall", ["8 euros"], contexts=TICKETS)).score == 1.0
    half = await of("context_recall", ["A day ticket costs 8 euros. Cats pay 3 euros."], contexts=TICKETS)
    assert half.score == 0.5 and [each["verdict"] for each in half.details["claims"]] == ["supported", "unsupported"]
    for rubric in ("context_precision", "context_recall"):
        assert (await of(rubric, ["8 euros"], contexts=[])).score == 0.0


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
    assert found.reasoning == "글과 노트에 모두 있음: 썰물. 어느 쪽에도 없음: 정기권."
    found = await LexicalJudge().judge("link_reason", {**fields, "reason": ""})
    assert (found.score, found.reasoning) == (0.0, "In the text and in the note: nothing that it names.")


async def test_a_memory_that_only_asked_and_declined_holds_nothing() -> None:
    """What the memory keeps of a question that was asked in vain must not make the next judgement better."""
    said = "사용자: AWS 비용 얼마야?\n어시스턴트: 제공된 자료에서 이 질문의 답을 찾을 수 없습니다."
    fields = {"question": "AWS 비용 얼마야?", "memory": said, "entities": "", "language": "ko"}
    judgement = await LexicalJudge().judge("memory", fields)
    assert judgement.score == pytest.approx(0.1)
    assert "메모리에 사실을 말한 문장이 없습니다." in judgement.reasoning


async def test_a_score_above_the_share_of_words_says_why():
    judgement = await relevancy(
        "Which plan covers roaming in Norway?", "The large plan covers calls, messages and data abroad.", "en"
    )
    assert (judgement.score, judgement.reasoning) == (
        1,
        "2 of 4 words of the question occur in the answer. Half of them count as all.",
    )


async def test_a_number_supports_a_claim_only_where_it_is_about_the_same():
    trial = [Context("a#0", "The trial is free. After a declined card we retry for 14 days.", "")]
    same = [Context("a#0", "The trial is free for 14 days.", "")]
    claim = "The trial lasts 14 days."
    apart, together = await faithfulness(claim, trial), await faithfulness(claim, same)
    assert apart.score < together.score
    assert "14 days" in apart.reasoning
