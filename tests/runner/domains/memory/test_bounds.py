import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.domains.memory.bounds import bound_memory, cut, is_within
from runner.domains.memory.records import Bounds
from runner.errors import BudgetSpentError, ReplyError
from runner.llm.tokens import count_tokens
from runner.text.sentences import split_sentences
from tests.plugins.memory.summarisers import ListingSummariser

KOREAN = "예산은 1.2억이에요. 한도는 $10,000입니다. v0.4를 https://a.com/b.c?d=1 에 올렸습니다. 담당은 김 님이에요."
ENGLISH = "The budget is $10,000. We run v0.4. The page is https://example.com/a.b?c=1. Dr. Kim owns it, i.e. decides."


@pytest.mark.parametrize("memory", [KOREAN, ENGLISH])
def test_numbers_versions_and_addresses_stay_whole(memory: str) -> None:
    sentences = split_sentences(memory)
    assert len(sentences) == 4
    assert cut(memory, Bounds(3)).splitlines() == sentences[:3]
    assert cut(memory, Bounds(4)) == memory


def test_what_stands_last_goes_first_by_tokens_too() -> None:
    memory = "One two three. Four five six. Seven eight nine."
    room = count_tokens("One two three.\nFour five six.")
    assert cut(memory, Bounds(20, room)).splitlines() == ["One two three.", "Four five six."]


def test_a_shorter_one_takes_the_place_of_one_that_does_not_fit() -> None:
    memory = f"Short one. {'Very long one ' * 40}ends. Short two."
    assert cut(memory, Bounds(20, 20)).splitlines() == ["Short one.", "Short two."]


def test_a_single_sentence_that_is_too_long_is_cut_between_words() -> None:
    memory = "number " * 50 + "end."
    short = cut(memory, Bounds(20, 10))
    assert memory.startswith(short)
    assert 0 < count_tokens(short) <= 10
    assert count_tokens(f"{short} number") > 10


@pytest.mark.parametrize(
    "memory",
    [
        "利用者の予算は一億円で担当者は田中さんで締め切りは五月三日で会議は火曜日の午前十時からです" * 5,
        "用户的预算是一亿元负责人是王先生截止日期是五月三日会议在星期二上午十点开始" * 5,
        "https://example.com/" + "a-very-long-path/" * 40,
        "주소는 https://example.com/" + "a-very-long-path/" * 40,
        "각" * 400,
        "각" * 200,  # in jamo: never cut within a syllable
        "e\u0301" * 300,
    ],
)
def test_a_memory_without_spaces_is_cut_between_characters(memory: str) -> None:
    bounds = Bounds(20, 20)
    short = cut(memory, bounds)
    assert memory.startswith(short)
    assert is_within(short, bounds)
    assert count_tokens(short) > 10
    assert not unicodedata.combining(memory[len(short)])
    assert not "\u1160" <= memory[len(short)] <= "\u11ff"


def test_a_number_is_not_cut_in_two() -> None:
    assert cut("合計は" + "約" * 20 + "123456789012345678901234567890円", Bounds(20, 30)) == "合計は" + "約" * 20


LETTERS = st.sampled_from("가각a1.,。 予算ée\u0301\u1112\u1161\u11ab/")


@given(st.text(LETTERS, min_size=1, max_size=200), st.integers(4, 40))
def test_what_says_something_is_never_cut_to_nothing(memory: str, tokens: int) -> None:
    short = cut(memory, Bounds(20, tokens))
    assert is_within(short, Bounds(20, tokens))
    assert bool(short) or not split_sentences(memory)


def test_nothing_to_cut() -> None:
    assert cut("", Bounds()) == ""
    assert cut("!!! " * 400, Bounds(20, 5)) == ""


SENTENCES = st.sampled_from(
    [
        "예산은 1.2억이에요.",
        "We run v0.4.",
        "- item one",
        "# Heading",
        "김서연 님이 담당해요",
        "a, b",
        "1. first",
        "Dr. Kim said no.",
    ]
)


@given(
    parts=st.lists(SENTENCES, max_size=12),
    joint=st.sampled_from([" ", "\n"]),
    n=st.integers(1, 5),
    t=st.integers(1, 40),
)
def test_laws(parts: list[str], joint: str, n: int, t: int) -> None:
    memory, bounds = joint.join(parts), Bounds(n, t)
    short = cut(memory, bounds)
    assert is_within(short, bounds)
    assert cut(short, bounds) == short
    assert (short == memory) == is_within(memory, bounds) or not memory.strip()
    assert set("".join(short.split())) <= set("".join(memory.split()))


async def test_a_memory_within_its_bounds_is_not_asked_about() -> None:
    summariser = ListingSummariser()
    assert await bound_memory("One. Two.", Bounds(2), summariser, None) == ("One. Two.", False)
    assert summariser.n_shortened == 0


@pytest.mark.parametrize(
    ("said", "memory", "was_cut"),
    [("Both.", "Both.", False), (" One. Two. Three. Four. ", "One.\nTwo.", True), (" ", "Alpha.\nBeta.", True)],
)
async def test_the_summariser_is_asked_once(said: str, memory: str, was_cut: bool) -> None:
    summariser = ListingSummariser(shorten=lambda _: said)
    assert await bound_memory("Alpha. Beta. Gamma.", Bounds(2), summariser, None) == (memory, was_cut)
    assert summariser.n_shortened == 1


async def test_a_summariser_that_cannot_shorten_leaves_it_to_code() -> None:
    def fail(memory: str) -> str:
        raise ReplyError("cut off")

    memory, was_cut = await bound_memory("Alpha. Beta. Gamma.", Bounds(2), ListingSummariser(shorten=fail), None)
    assert (memory, was_cut) == ("Alpha.\nBeta.", True)


async def test_a_spent_budget_ends_the_update() -> None:
    def spend(memory: str) -> str:
        raise BudgetSpentError("spent")

    with pytest.raises(BudgetSpentError):
        await bound_memory("Alpha. Beta. Gamma.", Bounds(2), ListingSummariser(shorten=spend), None)
