import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.generator.extractive import ExtractiveGenerator
from runner.records import Answer, Context, Query
from runner.text.refusals import REFUSAL

CONTEXTS = [
    Context(
        "policy#0",
        "# 환불\n환불은 구매 후 30일 이내에 가능합니다. 배송비는 환불되지 않습니다. 더 필요하신가요?",
        "환불 정책",
    ),
    Context(
        "refunds#0", "Refunds take 5 business days. The office is in Seoul [3]. See:\n- a **refund** form", "Refunds"
    ),
]


async def generate(question, contexts=CONTEXTS, **settings):
    return await ExtractiveGenerator(**settings).generate(Query("q", question, True, {}), contexts)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("환불은 며칠 이내에 가능한가요?", Answer("환불은 구매 후 30일 이내에 가능합니다. [1]", citations=(1,))),
        ("배송비는 환불되나요?", Answer("배송비는 환불되지 않습니다. [1]", citations=(1,))),
        ("How long do refunds take?", Answer("Refunds take 5 business days. [2]", citations=(2,))),
        ("Where is the office?", Answer("The office is in Seoul. [2]", citations=(2,))),
    ],
)
async def test_copies_the_best_sentence_and_cites_its_context(question, answer):
    assert await generate(question, max_sentences=1) == answer


async def test_sentences_stand_in_the_order_of_the_contexts():
    contexts = [Context("a", "Basic plans have a daily quota."), Context("b", "The quota of plans is 5 GB.")]
    answer = await generate("What is the quota of plans in GB?", contexts, max_sentences=2)
    assert answer == Answer("Basic plans have a daily quota. [1] The quota of plans is 5 GB. [2]", citations=(1, 2))


async def test_ties_go_to_the_earlier_context():
    contexts = [Context("a", "Apples are red."), Context("b", "Apples are green.")]
    assert (await generate("Which apples?", contexts, max_sentences=1)).citations == (1,)


async def test_a_sentence_with_the_number_asked_for_goes_first():
    contexts = [Context("a", "The trial is a gift to new teams. The trial lasts 14 days.")]
    assert (await generate("How long is the trial?", contexts, max_sentences=1)).text == "The trial lasts 14 days. [1]"


@pytest.mark.parametrize(
    ("question", "language"),
    [("대표 이사는 누구인가요?", "ko"), ("Who is the chief executive?", "en"), ("주차장 위치 안내", "ko")],
)
async def test_refuses_in_the_language_of_the_question(question, language):
    assert await generate(question) == Answer(REFUSAL[language], refused=True)


@pytest.mark.parametrize("contexts", [[], [Context("a", "")], [Context("a", "# Refunds\nWhat is a refund?")]])
async def test_without_a_statement_it_refuses(contexts):
    assert await generate("What is a refund?", contexts) == Answer(REFUSAL["en"], refused=True)


async def test_min_coverage_is_the_share_of_question_words_in_the_contexts():
    # refund, fee, parking, garage: two of four are there
    contexts = [Context("a", "A refund has no fee.")]
    question = "Refund fee for a parking garage?"
    assert not (await generate(question, contexts, min_coverage=0.5)).refused
    assert (await generate(question, contexts, min_coverage=0.51)).refused


async def test_a_question_of_function_words_alone_is_refused():
    assert (await generate("What is it?")).refused


@given(st.text(max_size=40), st.lists(st.text(max_size=60), max_size=3))
async def test_citations_are_numbers_of_contexts(question, texts):
    contexts = [Context(f"c{number}", text) for number, text in enumerate(texts)]
    answer = await generate(question, contexts)
    assert answer.text
    assert set(answer.citations) <= set(range(1, len(contexts) + 1))
    assert answer.refused == (answer.citations == ())


def test_is_marked_as_a_baseline():
    assert ExtractiveGenerator.baseline is True
