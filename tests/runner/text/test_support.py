import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.support import PASSAGE, Conflict, Evidence, Sources, Statement


def support(claim, *texts, known=""):
    return Sources(texts, known).support(Statement(claim))


def test_coverage_is_the_share_of_words_and_quantities():
    # refund, cost, return, parcel and $5: refund, parcel and $5 are there
    found = support("A refund costs $5 and returns the parcel.", "The refund of a parcel is $5.")
    assert found.score == found.coverage == pytest.approx(3 / 5)
    assert found.missing == ("costs", "returns")
    assert found.conflict is None


def test_what_is_shared_by_chance_is_no_support():
    # apples, ripen, slowly, orchards: one of four
    found = support("Apples ripen slowly in orchards.", "Apples are sold here.")
    assert (found.coverage, found.score, found.conflict) == (1 / 4, 0, None)
    assert support("Apples ripen slowly.", "Apples are sold here.").score == pytest.approx(1 / 3)


def test_evidence_names_the_source_and_the_closest_sentence():
    found = support("환불은 30일 이내입니다.", "배송은 무료입니다.", "문의는 전화로 합니다. 환불은 30일 이내에 됩니다.")
    assert found.evidence == Evidence(2, "환불은 30일 이내에 됩니다.")


def test_a_passage_is_five_sentences_of_one_source():
    filler = "Nothing happens here. " * (PASSAGE - 2)
    near = f"Apples are red. {filler}Pears are green."
    far = f"Apples are red. {filler}Nothing happens here. Pears are green."
    claim = "Apples and pears."
    assert support(claim, near).coverage == 1
    assert support(claim, far).coverage == 1 / 2
    assert support(claim, "Apples are red.", "Pears are green.").coverage == 1 / 2


def test_without_sources_or_without_words_nothing_is_supported():
    assert support("Refunds take long.").score == 0
    assert support("Refunds take long.").evidence == Evidence()
    assert support("...", "Refunds take long.").score == 0


def test_names_of_the_question_need_no_support():
    source = "The series ended after nine seasons."
    assert support("It says that Friends ended.", source).conflict == Conflict("absent", ("Friends",))
    assert support("It says that Friends ended.", source, known="When did Friends end?").conflict is None


@pytest.mark.parametrize(
    ("claim", "source", "conflict"),
    [
        ("Refunds take 7 days.", "Refunds take 5 days.", Conflict("absent", ("7 days",))),
        (
            "Refunds take 7 days.",
            "Refunds take 5 days. Exchanges take 7 days.",
            Conflict("number", ("7 days",)),
        ),
        ("There are four floors.", "There are three floors.", Conflict("number", ("four",))),
        ("The office is in Busan.", "The office is in Seoul.", Conflict("absent", ("Busan",))),
        (
            "The office is in Busan.",
            "The office is in Seoul. The warehouse is in Busan.",
            Conflict("name", ("Busan",)),
        ),
        ("Fees are refunded.", "Fees are not refunded.", Conflict("denied")),
        ("Fees are not refunded.", "Fees are refunded.", Conflict("denied")),
        (
            "창고는 건물 지하 강당에 있습니다.",
            "창고는 건물 지하 식당에 있습니다.",
            Conflict("word", ("강당에",)),
        ),
    ],
)
def test_conflicts_leave_no_support(claim, source, conflict):
    found = support(claim, source)
    assert (found.conflict, found.score) == (conflict, 0)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("There are two plans.", "The plans are Basic and Pro."),  # the reader may count
        ("The plan lasts 24 hours.", "The plan lasts 1 day."),
        ("The fee is 1.2억 원.", "The fee is 120,000,000 won."),
        ("It is not only fast but cheap.", "It is fast and cheap."),
        ("Fees are not refunded.", "Fees are never refunded."),
        ("An ETF tracks an index.", "An ETF does not track one stock, it tracks an index."),
        ("Fees are refunded.", "Shipping is not refunded. Fees are refunded."),  # one of two witnesses agrees
        ("Basic costs $5 and Pro costs $9.", "Basic costs $5. Pro costs $9."),
    ],
)
def test_no_conflict(claim, source):
    assert support(claim, source).conflict is None


SENTENCES = st.sampled_from(
    [
        "Fees are not refunded.",
        "Refunds take 5 days.",
        "환불은 30일 이내입니다.",
        "The office is in Seoul.",
        "본사는 부산에 있습니다.",
    ]
)


@given(st.lists(SENTENCES, min_size=1, max_size=6), st.data())
def test_what_a_source_says_is_supported_wherever_it_stands(sentences, data):
    claim = data.draw(st.sampled_from(sentences))
    found = Sources([" ".join(sentences)]).support(Statement(claim))
    assert (found.score, found.conflict) == (1, None)


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=3))
def test_any_text_scores_between_0_and_1(claim, texts):
    found = support(claim, *texts)
    assert 0 <= found.score <= found.coverage <= 1
