import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.relevancy import Relevancy, asked_kind, holds_kind, relevancy


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many days does it take?", "quantity"),
        ("며칠이 걸리나요?", "quantity"),
        ("요금은 얼마인가요?", "quantity"),
        ("When was it founded?", "time"),
        ("What year did it end?", "time"),
        ("언제 설립되었나요?", "time"),
        ("Who runs it?", "name"),
        ("대표는 누구인가요?", "name"),
        ("Why was it closed?", "reason"),
        ("왜 닫혔나요?", "reason"),
        ("Is it free?", "polarity"),
        ("What is an index?", None),
        ("색인이란 무엇인가요?", None),
    ],
)
def test_what_a_question_asks_for(question, kind):
    assert asked_kind(question) == kind


@pytest.mark.parametrize(
    ("answer", "kind", "holds"),
    [
        ("It takes 5 days.", "quantity", True),
        ("It is free.", "quantity", True),
        ("It takes a while.", "quantity", False),
        ("In 1999.", "time", True),
        ("매주 월요일에 합니다.", "time", True),
        ("It was long ago.", "time", False),
        ("Because of rain.", "reason", True),
        ("비 때문입니다.", "reason", True),
        ("It was closed.", "reason", False),
        ("Anybody.", "name", True),
        ("Yes.", "polarity", True),
        ("Whatever.", None, True),
    ],
)
def test_whether_an_answer_has_it(answer, kind, holds):
    assert holds_kind(answer, kind) is holds


def test_topic_counts_half_of_the_words_as_all():
    # refund, process, card, purchase: one of four is half of the half that is enough
    question = "How are refunds processed for card purchases?"
    assert relevancy(question, "A refund of this sort goes through our back office.").score == 0.5
    assert relevancy(question, "A refund for a card goes through our back office.").score == 1


def test_a_short_phrase_answers_who_and_where_and_a_short_sentence_does_not():
    where = "Where are the data of our Korean customers stored?"
    assert relevancy(where, "Seoul").score == 1
    assert relevancy(where, "Korean particles are ignored.").score == 0.5  # one word of four
    assert relevancy("데이터는 어디에 저장되나요?", "조사는 무시합니다.").score == 0
    assert relevancy("데이터는 어디에 저장되나요?", "서울 리전입니다.").score == 1
    assert relevancy("누가 승인하나요?", "총무팀 김 대리예요.").score == 1
    assert relevancy("Who pays for a return?", "The weather is fine today.").score == 0
    assert relevancy("Who pays for a return?", "The weather is fine again today.").score == 0
    assert relevancy("How much is a return?", "The weather is fine today.").score == 0


def test_a_missing_number_halves_the_score():
    question = "환불은 며칠 이내에 가능한가요?"
    assert relevancy(question, "환불은 구매 후 30일 이내에 가능합니다.") == Relevancy(1, 1, "quantity", True, 3, 3)
    assert relevancy(question, "환불은 여러 사정에 따라 가능 여부가 달라지는 것으로 알려져 있습니다.").score == 0.5


@pytest.mark.parametrize(
    ("question", "answer", "score"),
    [
        ("When was it founded?", "1989년 2월 15일", 1.0),
        ("대표로 파견된 인물은?", "임수경", 1.0),
        ("When was it founded?", "A company", 0.25),
        ("What is the capital?", "Seoul", 0.5),
        ("How long do refunds take?", "Seoul lies on a wide river with many old bridges.", 0.0),
        ("환불 기간은 무엇인가요?", "환불 기간입니다.", 0.0),  # nothing new
        ("Is the fee refunded?", "Yes, the fee is refunded.", 1.0),
    ],
)
def test_scores(question, answer, score):
    assert relevancy(question, answer).score == score


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_scores_between_0_and_1(question, answer):
    assert 0 <= relevancy(question, answer).score <= 1
