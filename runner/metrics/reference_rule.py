"""Whether an answer gives a reference, decided without a model, or left undecided.

The rules in their order, of which the first that applies decides (runner.metrics.right lists their names):

- The answer is a reference, in the form of exact match: right.
- All references are yes or no, and the answer takes a stand: right if it is the same, else wrong.
- A reference stands in the answer (runner.text.matching): right, unless the answer says that it is not it (denied),
  states it as one of several of which it chooses none (several), or says it of something else (elsewhere).
- Another amount of the same kind stands in the place of that of the reference: wrong (other_amount).
- A reference is an amount that the answer gives (amount), or at least ENOUGH of its words that the question lacks stand
  in the answer (words): right.
- Less than FEW of these words, and less than FEW_TRIPLES of their letter triples, stand in the answer: wrong (absent).
- The rest is undecided. A reference of LONG words and more is decided only if it stands in the answer in one piece, or
  nothing of it does (needs_model).

The cuts were chosen on EVOUNA Natural Questions (Wang et al., 2023); benchmarks/answers.py prints the agreement with
people on it and on sets that took no part in the choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from runner.metrics.answers import exact_match
from runner.metrics.right import By, Decision
from runner.text.amounts import Amount, amounts
from runner.text.cues import cue_pattern
from runner.text.matching import Distinctions, Span, gives, read_text, says_another, spans
from runner.text.patterns import compile_late
from runner.text.words import english_stem
from runner.text.words import forms as word_forms
from runner.text.yes_no import reference_stand, stand

LONG = 9  # words of a reference from which words do not decide
ENOUGH = 0.6  # share of the new words of a reference for "right"
FEW = 0.5  # share of the new words below which, with few triples, "wrong"
FEW_TRIPLES = 0.25  # share of the letter triples of the new words
NONE_TRIPLES = 0.1  # the same for a reference of LONG words
NEAR = 60  # characters after a value in which the answer may say that it is one of several
MOSTLY = 0.6  # share of the letters of a reference that are of amounts, for one that is an amount

_WORD = compile_late(r"-?\d+(?:\.\d+)*|[가-힣]+|[^\W\d_가-힣]+(?:'[^\W\d_]+)?(?:\+{1,2}|#)?\d*")
_SEGMENT = compile_late(
    r"[.!?;\n]\s|[,;:\n]\s|\s-\s|\b(?:and|while|whereas|but)\b|(?<=[고며만데])\s|(?<=[0-9가-힣][원개명도분층])\s(?=[가-힣])"
)
_STOP = frozenset(
    "a an the of in on at to for by and or is are was were be it its as with from that this he she they his her their s"
    " what which who whom when where how much many does do did will would can could 은 는 이 가 을 를 의 에".split()
)
_RANK: tuple[By, ...] = ("other_amount", "denied", "several", "elsewhere", "absent", "needs_model", "undecided")


def decide_by_reference(
    question: str, references: Sequence[str], answer: str, distinctions: Distinctions | None = None
) -> Decision | None:
    """Decides by the words, amounts and stand of an answer whether it gives one of its references.

    Args:
        question: what was asked; its words say nothing in an answer.
        references: right answers, of which one is enough.
        answer: of the system, without its thoughts.
        distinctions: of all references of the data set; None: nothing is known of others.

    Returns:
        A decision whose `by` is one of the rules from `reference` to `needs_model`; None without references.
    """
    return _decide(question, tuple(references), answer, distinctions) if references else None


@lru_cache(maxsize=4096)
def _decide(question: str, references: tuple[str, ...], answer: str, distinctions: Distinctions | None) -> Decision:
    if exact_match(answer, references, distinctions):
        return Decision(True, "reference")
    stands = [reference_stand(reference) for reference in references]
    said = stand(question, answer)
    if None not in stands and said is not None:
        return Decision(said in stands, "yes_no")
    decisions = [_by_one(question, reference, answer, distinctions) for reference in references]
    return min(decisions, key=_order)


def _order(decision: Decision) -> tuple[int, int]:
    """Right before undecided before wrong."""
    rank = {True: 0, None: 1, False: 2}[decision.right]
    return rank, _RANK.index(decision.by) if decision.by in _RANK else -1


def _by_one(question: str, reference: str, answer: str, distinctions: Distinctions | None) -> Decision:
    if says_another(answer, reference, distinctions):
        return Decision(None, "undecided")
    places = spans(answer, reference)
    if places:
        return _by_places(question, reference, answer, places)
    if gives(answer, [reference], distinctions):  # as it is, without letters or as markup
        return Decision(True, "reference")
    return _by_parts(question, reference, answer)


# --- a reference that stands in the answer -------------------------------------------------------------


def _by_places(question: str, reference: str, answer: str, places: Sequence[Span]) -> Decision:
    stated = [place for place in places if not _is_denied(question, answer, place)]
    if not stated:
        return Decision(False, "denied")
    if all(_is_one_of_several(reference, answer, place) for place in stated):
        return Decision(False, "several")
    if all(_is_of_another(question, reference, answer, place) for place in stated):
        return Decision(False, "elsewhere")
    return Decision(True, "reference")


def _is_denied(question: str, answer: str, place: Span) -> bool:
    """Whether the answer says that what stands there is not it, or no more."""
    from runner.text.stance import is_refuted, stance

    text = read_text(answer)
    if is_refuted(text.plain, *place):
        return True
    return stance(text.lined, *place) == "denied" and not cue_pattern("answer_cues", "asks_for_the_past").search(
        question
    )


def _is_one_of_several(reference: str, answer: str, place: Span) -> bool:
    plain = read_text(answer).plain
    start, end = _sentence(plain, place)
    before, after = plain[start : place[0]], plain[place[1] : place[1] + NEAR]
    if cue_pattern("answer_cues", "either_before").search(before) or cue_pattern("answer_cues", "either_after").search(
        after
    ):
        return not gives(plain[end:], [reference])
    own = amounts(read_text(reference).plain)
    around = f"{before}\0{plain[place[1] : end]}"
    others = [each for each in amounts(around) if any(each.kind == mine.kind for mine in own)]
    return bool(own) and len(others) > 1 and bool(cue_pattern("answer_cues", "either_between").search(around))


def _sentence(plain: str, place: Span) -> Span:
    starts = [match.end() for match in re.finditer(r"[.!?\n]\s", plain[: place[0]])]
    end = re.search(r"[.!?\n](?:\s|$)", plain[place[1] :])
    return (starts[-1] if starts else 0), place[1] + end.start() if end else len(plain)


def _is_of_another(question: str, reference: str, answer: str, place: Span) -> bool:
    """Whether the answer says an amount of something else than what was asked: the words of the question stand by
    another amount of its kind, in a part of the answer of its own."""
    own = amounts(read_text(reference).plain)
    if not own:
        return False
    parts = list(_parts(read_text(answer).plain))
    asked = _key_words(question)
    mine = next((text for start, text in parts if start <= place[0] < start + len(text)), "")
    rivals = [text for _, text in parts if text != mine and _has_other(text, own)]
    said_here = asked & _key_words(mine)
    return any((_key_words(rival) & asked) - said_here and not said_here - _key_words(rival) for rival in rivals)


def _has_other(text: str, own: Sequence[Amount]) -> bool:
    return any(each.kind == mine.kind and not mine.is_same(each) for each in amounts(text) for mine in own)


def _parts(plain: str) -> Iterator[tuple[int, str]]:
    """The clauses of a text, with their places."""
    start = 0
    for match in _SEGMENT.finditer(plain):
        yield start, plain[start : match.start()]
        start = match.end()
    yield start, plain[start:]


@lru_cache(maxsize=4096)
def _key_words(text: str) -> frozenset[str]:
    """Forms of the words of a text that carry meaning."""
    found = [word for word in _words(text) if word not in _STOP and not word[-1].isdigit()]
    return frozenset(form for word in found for form in word_forms(word))


# --- parts of a reference --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parts:
    """`words`: share of the new words of a reference in the answer; `triples`: of their letter triples."""

    words: float
    triples: float
    size: int
    is_amount: bool
    has_amount: bool
    has_other: bool


def _by_parts(question: str, reference: str, answer: str) -> Decision:
    parts = _measure(question, reference, answer)
    if parts.size >= LONG:
        is_absent = parts.words == 0 and parts.triples < NONE_TRIPLES
        return Decision(False, "absent") if is_absent else Decision(None, "needs_model")
    if parts.has_other:
        return Decision(False, "other_amount")
    if parts.is_amount and parts.has_amount:
        return Decision(True, "amount")
    if parts.words >= ENOUGH:
        return Decision(True, "words")
    if parts.words < FEW and parts.triples < FEW_TRIPLES:
        return Decision(False, "absent")
    return Decision(None, "undecided")


def _measure(question: str, reference: str, answer: str) -> _Parts:
    wanted, said, asked = _words(reference), _words(answer), set(_words(question))
    needed = [word for word in wanted if word not in _STOP] or list(wanted)
    new = [word for word in needed if not any(_is_same(each, word) for each in asked)] or needed
    found = sum(any(_is_same(each, word) for each in dict.fromkeys(said)) for word in new)
    triples = _triples(new)
    plain = read_text(reference).plain
    own, given = amounts(plain), amounts(read_text(answer).plain)
    missing = [each for each in own if not _is_any(each, given)]
    others = [each for each in given if not _is_any(each, [*own, *amounts(read_text(question).plain)])]
    return _Parts(
        words=found / max(1, len(new)),
        triples=len(triples & _triples(said)) / max(1, len(triples)),
        size=len(reference.split()),
        is_amount=sum(each.end - each.start for each in own) >= MOSTLY * len(plain.strip()) > 0,
        has_amount=bool(own) and not missing,
        has_other=any(each.kind == mine.kind for mine in missing for each in others),
    )


def _is_any(amount: Amount, others: Iterable[Amount]) -> bool:
    return any(amount.is_same(other) or other.is_same(amount) for other in others)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """Words and numbers of a folded text in order, articles of English left out."""
    words = (match[0].removesuffix("'s") for match in _WORD.finditer(read_text(text).plain.replace("’", "'")))
    return tuple(word for word in words if word not in ("the", "a", "an"))


def _triples(words: Iterable[str]) -> frozenset[str]:
    text = " ".join(words)
    return frozenset(text[at : at + 3] for at in range(max(1, len(text) - 2)))


@lru_cache(maxsize=65536)
def _is_same(one: str, other: str) -> bool:
    """Whether a word of a text is a word of a reference in another form: inflected, derived, spelt a little different."""
    if one == other:
        return True
    if "가" <= other[0] <= "힣":
        return one.startswith(other) or not word_forms(one).isdisjoint(word_forms(other))
    if one[0].isdigit() or other[0].isdigit() or not one[0].isalpha():
        return False
    size = min(len(one), len(other))
    if size < 4:
        return size > 2 and english_stem(one) == english_stem(other)
    same = next((at for at in range(size) if one[at] != other[at]), size)
    return same >= max(4, 0.66 * max(len(one), len(other))) or (size >= 5 and _overlap(one, other) >= 0.8)


def _overlap(one: str, other: str) -> float:
    """The Dice coefficient of letter pairs."""
    ours, theirs = ({word[at : at + 2] for at in range(len(word) - 1)} for word in (one, other))
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))
