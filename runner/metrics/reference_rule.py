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

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from runner.metrics.answers import exact_match
from runner.metrics.right import By, Decision
from runner.text.amounts import BARE, DATE, Amount, amounts
from runner.text.cues import cue_pattern
from runner.text.matching import (
    Distinctions,
    Span,
    Text,
    gives,
    is_article,
    is_label,
    is_told_by_case,
    read_text,
    says_another,
    spans,
)
from runner.text.normal_form import NO_SPACES
from runner.text.patterns import compile_late
from runner.text.words import english_stem
from runner.text.words import forms as word_forms
from runner.text.yes_no import asks_yes_no, denies, reference_stand, stand

CUES = "runner.text/answer_cues.yaml"
LONG_KOREAN = 7  # the same for a sentence in Korean
LONG = 9  # words of a reference from which words do not decide
ENOUGH = 0.6  # share of the new words of a reference for "right"
FEW = 0.5  # share of the new words below which, with few triples, "wrong"
FEW_TRIPLES = 0.25  # share of the letter triples of the new words
NO_WORD_TRIPLES = 0.28  # the same where no word stands there
NONE_TRIPLES = 0.1  # the same for a reference of LONG words
AMOUNT_WEIGHT = 2  # words that an amount counts for
EXACT = 4  # digits of a number that an answer may round
ROUNDED = 0.01  # the most by which a rounded amount differs
LEFT_OUT = 3  # syllables by which a Korean word is longer than one that it contains, where spaces were left out
NEAR = 60  # characters after a value in which the answer may say that it is one of several
MOSTLY = 0.6  # share of the letters of a reference that are of amounts, for one that is an amount

_WORD = compile_late(r"-?\d+(?:\.\d+)*|[가-힣]+|[^\W\d_가-힣]+(?:'[^\W\d_]+)?(?:\+{1,2}|#)?\d*")
_END_OF_CHOICE = compile_late(r"[.!?;\n]\s|;|\bbut\b|(?<=[가-힣]고)\s")
_COORDINATE = compile_late(r"[;\n]\s|\b(?:while|whereas)\b|(?<=[가-힣][고며데])\s|(?<=지만)\s|, (?=[0-9가-힣])")
_LINE = compile_late(r"\n")
_CLAUSE = compile_late(r"[.!?;\n]\s|[,;]\s|\s-\s|\b(?:and|while|whereas|but)\b|(?<=[가-힣][고며데])\s|(?<=지만)\s")
_CODE = compile_late(
    r"(?=\S*[^\W\d_]|\S*\d\+)(?:\S*[A-Za-z]\d\S*|\S*\d[A-Za-z]\S*|\S*\w[./_@+#]\w\S*|-{1,2}\w\S*|\S+[+#]{1,2})"
)
_KOREAN_SENTENCE = compile_late(r"[가-힣](?:다|요|음|함)[.\s]*$")
_COUNTED = compile_late(rf"(\d+) ?([{NO_SPACES}]{{1,3}})")
_SYMBOLIC = compile_late(r"^-[a-z]|\d\+|[\[\]{}=]")
_STOP = frozenset(
    [
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "by",
        "and",
        "or",
        "is",
        "are",
        "was",
        "were",
        "be",
        "it",
        "its",
        "as",
        "with",
        "from",
        "that",
        "this",
        "he",
        "she",
        "they",
        "his",
        "her",
        "their",
        "what",
        "which",
        "who",
        "whom",
        "when",
        "where",
        "how",
        "much",
        "many",
        "does",
        "do",
        "did",
        "will",
        "would",
        "can",
        "could",
        "후",
        "전",
        "이내",
        "이상",
        "이하",
        "까지",
        "동안",
        "약",
        "총",
        "분당",
        "은",
        "는",
        "이",
        "가",
        "을",
        "를",
        "의",
        "에",
    ]
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
    if reference_stand(reference) is not None and asks_yes_no(question):
        return Decision(None, "undecided")
    return _by_parts(question, reference, answer)


# --- a reference that stands in the answer -------------------------------------------------------------


def _by_places(question: str, reference: str, answer: str, places: Sequence[Span]) -> Decision:
    context = _Context(question, reference, read_text(answer))
    stated = [place for place in places if not context.is_denied(place)]
    if not stated:
        return Decision(False, "denied")
    if all(context.is_one_of_several(place) for place in stated):
        return Decision(False, "several")
    if all(context.is_of_another(place) for place in stated):
        return Decision(False, "elsewhere")
    if all(context.is_left_open(place) or context.is_uncertain(place) for place in stated):
        return Decision(None, "undecided")
    return Decision(True, "reference")


@dataclass(frozen=True, slots=True)
class _Context:
    """What an answer says around a place at which a reference stands."""

    question: str
    reference: str
    answer: Text

    def is_denied(self, place: Span) -> bool:
        """Whether the answer says that what stands there is not it, or no more."""
        from runner.text.stance import is_refuted, stance

        before, after = self._around(place)
        if is_refuted(self.answer.plain, *place) or _has(self.answer.plain[place[1] :][:NEAR], "refuted_after"):
            return True
        if _has(self.question, "asks_for_the_past"):
            return False
        if stance(self.answer.lined, *place) == "denied":
            return not _has(after, "source")
        return _has(before, "old_before") or _has(after, "old_after")

    def is_left_open(self, place: Span) -> bool:
        """Whether it may hold, but something else may as well, or is preferred."""
        from runner.text.stance import stance

        before, after = self._around(place)
        if stance(self.answer.lined, *place) != "open":
            return False
        return _has(after, "dismissed") or _has(f"{before}\0{after}", "open_between")

    def is_uncertain(self, place: Span) -> bool:
        """Whether its clause denies something, or other amounts of its kind stand in the answer and nothing that was
        asked stands by this one."""
        start, end = _sentence(self.answer.plain, place)
        mine, _ = _split(_parts(self.answer.plain[start:end], _CLAUSE), place[0] - start)
        said = self.answer.plain[place[0] : place[1]]
        if said in mine and denies(mine.rpartition(said)[2]) and not denies(self.question):
            return True
        if not self._own or not self._rivals(self.answer.plain):
            return False
        asked = _key_words(self.question) - _key_words(self.reference)
        if " ; " in self.answer.plain or asked & _key_words(mine):
            return False
        clauses = (text for _, text in _parts(self.answer.plain, _CLAUSE))
        return any(asked & _key_words(clause) and self._rivals(clause) for clause in clauses)

    def is_one_of_several(self, place: Span) -> bool:
        before, after = self._around(place)
        if _has(before, "either_before") or _has(self.answer.plain[place[1] :][:NEAR], "either_after"):
            rest = self.answer.plain[place[1] + NEAR :]
            return not gives(rest, [self.reference])
        if self._is_passed_over(place):
            return True
        around = f"{before}\0{after}"
        others = [each for each in self._rivals(around) if not each.is_same(self._own[0])]
        return len(others) > 1 and _has(around, "either_between")

    def is_of_another(self, place: Span) -> bool:
        """Whether the answer says it of something else than what was asked: in another row than the words of the
        question, or, of an amount, in another clause of a sentence than the subject of the question, which has an
        amount of its own."""
        rows = [row for row in _parts(self.answer.lined, _LINE) if " ; " in row[1]]
        mine, others = _split(rows, place[0])
        if mine:
            asked = _key_words(self.question) - _key_words(self.reference)
            return not asked & _key_words(mine) and any(asked & _key_words(row) for row in others)
        start, end = _sentence(self.answer.plain, place)
        mine, others = _split(
            _parts(self.answer.plain[start:end], _CLAUSE if self._own else _COORDINATE), place[0] - start
        )
        return any(self._is_beside(mine, clause) for clause in others)

    def _is_beside(self, mine: str, other: str) -> bool:
        """Whether two clauses of a sentence say the same of two subjects, and the other one of that of the question."""
        asked = _key_words(self.question) - _key_words(self.reference)
        ours, theirs = _key_words(mine), _key_words(other)
        if not (asked & theirs) - ours or (asked & ours) - theirs:
            return False
        if self._own:
            return bool(self._rivals(other))
        has_own_subject = bool(ours - asked - theirs - _key_words(self.reference))
        return has_own_subject and bool(ours & theirs - _key_words(self.reference))

    def _is_passed_over(self, place: Span) -> bool:
        """Whether the answer lists it, and says in another clause which one was chosen."""
        clauses = list(_parts(self.answer.plain, _END_OF_CHOICE))
        mine, others = _split(clauses, place[0])
        is_listed = "," in mine or " and " in mine
        chosen = [clause for clause in others if _has(clause, "chosen")]
        return (
            is_listed
            and bool(chosen)
            and not _has(mine, "chosen")
            and not any(gives(each, [self.reference]) for each in chosen)
        )

    @property
    def _own(self) -> tuple[Amount, ...]:
        return amounts(read_text(self.reference).plain)

    def _rivals(self, text: str) -> list[Amount]:
        """Other amounts of a text that could stand in the place of that of the reference."""
        own, asked = self._own, amounts(read_text(self.question).plain)
        return [
            each for each in amounts(text) if any(_are_rivals(each, mine) for mine in own) and not _is_any(each, asked)
        ]

    def _around(self, place: Span) -> tuple[str, str]:
        """The sentence before and after a place."""
        start, end = _sentence(self.answer.plain, place)
        return self.answer.plain[start : place[0]], self.answer.plain[place[1] : end]


def _are_rivals(one: Amount, other: Amount) -> bool:
    """Whether two amounts are of one kind and differ; dates and years that a text tells are of several things."""
    is_year = one.kind == DATE or (1000 <= one.number < 3000 and one.kind in (BARE, "date.year"))
    return one.kind == other.kind and not one.is_same(other) and not is_year


def _has(text: str, group: str) -> bool:
    return cue_pattern(group, CUES).search(text) is not None


def _sentence(plain: str, place: Span) -> Span:
    starts = [match.end() for match in re.finditer(r"[.!?\n]\s", plain[: place[0]])]
    end = re.search(r"[.!?\n](?:\s|$)", plain[place[1] :])
    return (starts[-1] if starts else 0), place[1] + end.start() if end else len(plain)


def _split(parts: Iterable[tuple[int, str]], place: int) -> tuple[str, list[str]]:
    """The part at a place, and the others."""
    mine, others = "", []
    for start, text in parts:
        if start <= place < start + len(text):
            mine = text
        else:
            others.append(text)
    return mine, others


def _parts(text: str, ends: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The parts of a text between `ends`, with their places."""
    start = 0
    for match in ends.finditer(text):
        yield start, text[start : match.start()]
        start = match.end()
    yield start, text[start:]


@lru_cache(maxsize=4096)
def _key_words(text: str) -> frozenset[str]:
    """Forms of the words of a text that carry meaning."""
    found = [word for word in _words(text) if word not in _STOP]
    return frozenset(form for word in found for form in word_forms(word))


# --- parts of a reference --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parts:
    """`words`: share of the new words and amounts of a reference in the answer; `has_other`: whether another amount
    stands in the place of one of them; `has_number`: whether one of them, or its number, is given; `has_none`: whether
    none of the words is; `has_last`: whether the last one of several is."""

    words: float
    is_amount: bool
    lacks_amount: bool
    has_other: bool
    has_number: bool
    has_none: bool
    has_last: bool


def _by_parts(question: str, reference: str, answer: str) -> Decision:
    parts = _measure(question, reference, answer)
    if _is_long(reference):
        is_absent = parts.words == 0 and _triple_share(question, reference, answer) < NONE_TRIPLES
        return Decision(False, "absent") if is_absent else Decision(None, "needs_model")
    if parts.has_other or _has_other_count(reference, answer):
        return Decision(False, "other_amount")
    if parts.is_amount and not parts.lacks_amount:
        return Decision(True, "amount")
    if _is_code(reference):
        return Decision(False, "absent")
    if parts.words >= ENOUGH and not parts.lacks_amount and not _lacks_letter(reference, answer):
        return Decision(True, "words")
    is_absent = _is_absent(parts, question, reference, answer)
    return Decision(False, "absent") if is_absent else Decision(None, "undecided")


def _is_absent(parts: _Parts, question: str, reference: str, answer: str) -> bool:
    if parts.is_amount and not _given_amounts(answer):
        return True
    if parts.words >= FEW or parts.has_number or parts.has_last or not _are_of_one_script(reference, answer):
        return False
    few_triples = NO_WORD_TRIPLES if parts.has_none else FEW_TRIPLES
    return _triple_share(question, reference, answer) < few_triples and not _has_initials(reference, answer)


def _is_long(reference: str) -> bool:
    """Whether a reference is a sentence, which words do not decide; Korean has fewer words for the same."""
    size = len(reference.split())
    return size >= LONG or (size >= LONG_KOREAN and _KOREAN_SENTENCE.search(reference) is not None)


def _has_initials(reference: str, answer: str) -> bool:
    """Whether the answer shortens a name to its initials: FDR."""
    initials = "".join(word[0] for word in reference.split() if word[0].isupper())
    return len(initials) > 1 and initials in re.findall(r"\w+", answer)


def _is_code(reference: str) -> bool:
    """Whether a reference is one word that its digits, symbols or case tell from others: B17, app.log, -y, US."""
    word = reference.strip()
    if is_told_by_case(word):
        return True
    return _CODE.fullmatch(word) is not None and not (amounts(read_text(word).plain) and not _SYMBOLIC.search(word))


def _lacks_letter(reference: str, answer: str) -> bool:
    """Whether the answer lacks a single letter of a reference: Plan A."""
    return any(len(word) == 1 and word.isascii() and word not in _words(answer) for word in _words(reference))


def _are_of_one_script(reference: str, answer: str) -> bool:
    """Whether the answer has letters of the script of the reference: Einstein may be 아인슈타인."""
    wanted = _scripts(reference)
    return not wanted or not wanted.isdisjoint(_scripts(answer))


@lru_cache(maxsize=4096)
def _scripts(text: str) -> frozenset[str]:
    return frozenset(unicodedata.name(letter, "?").split()[0] for letter in set(text) if letter.isalpha())


def _measure(question: str, reference: str, answer: str) -> _Parts:
    plain = read_text(reference).plain
    own, given = amounts(plain), _given_amounts(answer)
    asked = amounts(read_text(question).plain)
    missing = [each for each in own if not _is_any(each, given)]
    others = [each for each in given if not _is_any(each, [*own, *asked])]
    new = [word for word in _new_words(question, reference) if word not in _amount_words(reference)]
    said = frozenset(_words(answer))
    are_found = [word in said or any(_is_same(each, word) for each in said) for word in new]
    new_amounts = [each for each in own if not _is_any(each, asked)]
    total = len(new) + AMOUNT_WEIGHT * len(new_amounts)
    given_weight = sum(are_found) + AMOUNT_WEIGHT * sum(each not in missing for each in new_amounts)
    return _Parts(
        words=given_weight / max(1, total),
        is_amount=sum(each.end - each.start for each in own) >= MOSTLY * len(plain.strip()) > 0,
        lacks_amount=bool(missing),
        has_other=any(_is_instead(each, mine) for mine in missing for each in others),
        has_number=any(each not in missing or _has_number(each, answer) for each in new_amounts),
        has_none=not any(are_found),
        has_last=len(new) > 1 and are_found[-1],
    )


@lru_cache(maxsize=4096)
def _given_amounts(answer: str) -> tuple[Amount, ...]:
    text = read_text(answer)
    return tuple(each for each in amounts(text.plain) if not is_label(text, (each.start, each.end)))


def _has_number(amount: Amount, answer: str) -> bool:
    """Whether the number of an amount stands in the answer by its own borders, whatever its unit."""
    if math.isnan(amount.number) or amount.number % 1:
        return False
    return re.search(rf"(?<![\d.]){int(amount.number)}(?![\d.]\d|\d)", read_text(answer).plain) is not None


def _is_instead(other: Amount, mine: Amount) -> bool:
    """Whether an amount stands in the place of another one: of its kind, and not the same but for its rounding, or with
    its number and another unit."""
    if other.kind == mine.kind:
        is_exact = len(f"{mine.number:g}".replace(".", "")) >= EXACT and mine.number % 1 > 0
        return not (is_exact and math.isclose(other.number, mine.number, rel_tol=ROUNDED))
    return mine.is_measured and other.is_measured and mine.number == other.number


def _has_other_count(reference: str, answer: str) -> bool:
    """Whether the answer counts otherwise in a script without spaces: 14天 for 4天."""
    counted = _COUNTED.fullmatch(reference.strip())
    if counted is None:
        return False
    numbers = re.findall(rf"(\d+) ?{re.escape(counted[2])}", read_text(answer).plain)
    return bool(numbers) and counted[1] not in numbers


@lru_cache(maxsize=8192)
def _new_words(question: str, reference: str) -> tuple[str, ...]:
    """The words of a reference that the question lacks; all of them where it holds all of them."""
    wanted, asked = _words(reference), frozenset(_words(question))
    needed = [word for word in wanted if word not in _STOP] or list(wanted)
    return tuple(
        word for word in needed if not (word in asked or any(_is_same(each, word) for each in asked))
    ) or tuple(needed)


@lru_cache(maxsize=8192)
def _amount_words(reference: str) -> frozenset[str]:
    plain = read_text(reference).plain
    return frozenset(word for amount in amounts(plain) for word in _words(plain[amount.start : amount.end]))


def _triple_share(question: str, reference: str, answer: str) -> float:
    """The share of the letter triples of the new words of a reference that the answer has."""
    triples = _triples(_new_words(question, reference))
    return len(triples & _triples(_words(answer))) / max(1, len(triples))


def _is_any(amount: Amount, others: Iterable[Amount]) -> bool:
    return any(amount.is_same(other) or other.is_same(amount) for other in others)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """Words and numbers of a folded text in order, articles of English left out."""
    read = read_text(text)
    words = (match for match in _WORD.finditer(read.plain) if not is_article(read, match.span()))
    return tuple(match[0].removesuffix("'s") for match in words)


@lru_cache(maxsize=4096)
def _triples(words: tuple[str, ...]) -> frozenset[str]:
    text = " ".join(words)
    return frozenset(text[at : at + 3] for at in range(max(1, len(text) - 2)))


@lru_cache(maxsize=65536)
def _is_same(one: str, other: str) -> bool:
    """Whether a word of a text is one of a reference in another form: inflected, derived, spelt a little different."""
    if one == other:
        return True
    if "가" <= other[0] <= "힣":
        if len(one) >= len(other) + LEFT_OUT and len(other) > 1 and other in one:
            return True
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
