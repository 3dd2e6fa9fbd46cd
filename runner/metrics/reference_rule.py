"""Whether an answer gives a reference, decided without a model, or left undecided.

The rules in their order, of which the first that applies decides (runner.metrics.right lists their names):

- The answer is a reference, in the form of exact match: right.
- All references are yes or no, and the answer takes a stand: right if it is the same, else wrong.
- A reference says that there is no answer, and so does the answer: right.
- A reference stands in the answer (runner.text.matching): right, unless the answer says that it is not it (denied),
  states it as one of several of which it chooses none (several), or says it of something else (elsewhere); undecided
  where another clause is nearer to the question (runner.metrics.reference_place).
- A reference takes a stand towards a question for yes or no, and the answer takes the same: right (yes_no).
- Another amount of the same kind stands in the place of that of the reference: wrong (other_amount).
- A reference is an amount that the answer gives: right (amount).
- One of the items that a reference lists is missing, or another person has the last or first name of the one that it
  names: wrong (absent).
- At least ENOUGH of the words of a reference that the question lacks stand in the answer, and no opposite: right
  (words).
- Less than FEW of these words, and less than FEW_TRIPLES of their letter triples, stand in the answer, and no other
  form of a name (runner.text.short_names): wrong (absent).
- The rest is undecided. A reference of LONG words and more is decided only if it stands in the answer in one piece, or
  nothing of it does (needs_model).

The cuts were chosen on EVOUNA Natural Questions (Wang et al., 2023); benchmarks/answers.py prints the agreement with
people on it and on sets that took no part in the choice.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from runner.metrics.answers import exact_match
from runner.metrics.reference_place import CUES, Context, is_any
from runner.metrics.right import By, Decision
from runner.text.amounts import Amount, amounts
from runner.text.cues import cue_pattern
from runner.text.key_words import STOP_WORDS, words
from runner.text.matching import Distinctions, Span, gives, is_label, is_told_by_case, read_text, says_another, spans
from runner.text.normal_form import NO_SPACES
from runner.text.opposites import opposites
from runner.text.patterns import compile_late
from runner.text.refusals import is_refusal
from runner.text.short_names import is_shortened
from runner.text.words import all_forms, english_stem
from runner.text.words import forms as word_forms
from runner.text.words import words as read_words
from runner.text.yes_no import asks_yes_no, reference_stand, stand

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
ITEM_TRIPLES = 0.4  # share of the letter triples of an item below which it is missing
ITEM_WORDS = 3  # the most words of an item of a list
LEFT_OUT = 3  # syllables by which a Korean word is longer than one that it contains, where spaces were left out
MOSTLY = 0.6  # share of the letters of a reference that are of amounts, for one that is an amount

_CODE = compile_late(
    r"(?=\S*[^\W\d_]|\S*\d\+)(?:\S*[A-Za-z]\d\S*|\S*\d[A-Za-z]\S*|\S*\w[./_@+#]\w\S*|-{1,2}\w\S*|\S+[+#]{1,2})"
)
_KOREAN_SENTENCE = compile_late(r"[가-힣](?:다|요|음|함)[.\s]*$")
_BETWEEN_ITEMS = compile_late(r"\s*[,·;]\s*(?:and |및 )?|\s+(?:and|&|및|그리고)\s+|(?<=[가-힣])[와과] ")
_WHOLE_NUMBER = compile_late(r"(?<![\d.])\d+(?![\d.]\d|\d)")
_HAS_LETTER = compile_late(r"\w")
_NAME = compile_late(r"[A-Z][\w'-]+(?: [A-Z][\w'-]*\.?)+")
_NAMES = compile_late(r"(?=\b([A-Z][\w'-]+) ([A-Z][\w'-]+))")
_ASKS_WHO = compile_late(r"\bwho(?:m|se)?\b", re.IGNORECASE)
_TITLES = frozenset(
    ("mr", "mrs", "ms", "miss", "dr", "sir", "lady", "lord", "dame", "prof", "professor", "president", "king", "queen")
)
_BESIDES = {"before": frozenset(["after"]), "after": frozenset(["before"]), "이전": frozenset(["이후"])}
_DIALLED = compile_late(r"(?=.*\d)(?=.*[*#])[*#\d]{2,}")
_COUNTED = compile_late(rf"(\d+) ?([{NO_SPACES}]{{1,3}})")
_SYMBOLIC = compile_late(r"^-[a-z]|\d\+|[\[\]{}=]")
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
    if any(map(says_nothing, references)) and is_refusal(answer, question):
        return Decision(True, "reference")
    decisions = [_by_one(question, reference, answer, distinctions) for reference in references]
    return min(decisions, key=_order)


@lru_cache(maxsize=4096)
def says_nothing(reference: str) -> bool:
    """Whether a reference says that there is no answer: not announced, 미정."""
    return cue_pattern("says_nothing", CUES).search(reference) is not None


def _by_stand(question: str, reference: str, answer: str) -> Decision:
    """Of a statement that answers a question for yes or no: right if the answer takes the same stand, and the reference
    has no amount beside."""
    is_same = stand(question, answer) is stand(question, reference)
    has_amount = bool(amounts(read_text(reference).plain))
    return Decision(True, "yes_no") if is_same and not has_amount else Decision(None, "undecided")


def _order(decision: Decision) -> tuple[int, int]:
    """Right before undecided before wrong."""
    rank = {True: 0, None: 1, False: 2}[decision.right]
    return rank, _RANK.index(decision.by) if decision.by in _RANK else -1


def _by_one(question: str, reference: str, answer: str, distinctions: Distinctions | None) -> Decision:
    if says_another(answer, reference, distinctions):
        return Decision(None, "undecided")
    if _DIALLED.fullmatch(reference.strip()):
        return Decision(True, "reference") if reference.strip() in answer else Decision(False, "absent")
    places = spans(answer, reference)
    if places:
        return _by_places(question, reference, answer, places)
    if gives(answer, [reference], distinctions):  # as it is, without letters or as markup
        return Decision(True, "reference")
    if asks_yes_no(question) and stand(question, reference) is not None:
        return _by_stand(question, reference, answer)
    return _by_parts(question, reference, answer)


# --- a reference that stands in the answer -------------------------------------------------------------


def _by_places(question: str, reference: str, answer: str, places: Sequence[Span]) -> Decision:
    context = Context(question, reference, read_text(answer))
    stated = [place for place in places if not context.is_denied(place)]
    if not stated:
        return Decision(False, "denied")
    if all(context.is_one_of_several(place) for place in stated):
        return Decision(False, "several")
    if all(context.is_of_another(place) for place in stated):
        return Decision(False, "elsewhere")
    if all(
        context.is_left_open(place) or context.is_uncertain(place) or context.is_beside_the_asked(place)
        for place in stated
    ):
        return Decision(None, "undecided")
    return Decision(True, "reference")


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
    if _lacks_item(reference, answer) or _has_other_name(question, reference, answer):
        return Decision(False, "absent")
    if _is_code(reference):
        return Decision(None, "undecided") if _has_part_of_code(reference, answer) else Decision(False, "absent")
    if parts.words >= ENOUGH and not parts.lacks_amount and not _lacks_letter(reference, answer):
        if _says_opposite(reference, answer):
            return Decision(None, "undecided")
        return Decision(True, "words")
    is_absent = _is_absent(parts, question, reference, answer)
    return Decision(False, "absent") if is_absent else Decision(None, "undecided")


@lru_cache(maxsize=4096)
def _items(reference: str) -> tuple[str, ...]:
    """The items of a reference that lists several of a few words, without amounts: red, green and blue. Two that only a
    comma parts in English may be a place and its country."""
    plain = read_text(reference).plain
    items = tuple(item.strip() for item in _BETWEEN_ITEMS.split(plain) if _HAS_LETTER.search(item))
    is_list = len(items) > 2 or (len(items) == 2 and (", " not in plain or not plain.isascii()))
    is_short = all(len(item.split()) <= ITEM_WORDS for item in items)
    return items if is_list and is_short and not amounts(plain) else ()


def _lacks_item(reference: str, answer: str) -> bool:
    """Whether an answer has one item of a list and nothing of another one."""
    said, triples = frozenset(words(answer)), _triples(words(answer))
    shares = [_item_share(item, said, triples) for item in _items(reference)]
    return bool(shares) and max(shares) == 1 and min(shares) < ITEM_TRIPLES


def _item_share(item: str, said: frozenset[str], triples: frozenset[str]) -> float:
    own = words(item)
    if all(word in said or any(_is_same(each, word) for each in said) for word in own):
        return 1.0
    return len(_triples(own) & triples) / max(1, len(_triples(own)))


def _has_other_name(question: str, reference: str, answer: str) -> bool:
    """Whether an answer has the last word of a name of several after a name that neither the reference nor the question
    has (Andrew Johnson, for Lyndon B. Johnson), or its first one before such a name."""
    name = read_text(reference).cased.strip()
    if _NAME.fullmatch(name) is None or _ASKS_WHO.search(question) is None:
        return False
    parts = name.replace(".", "").split()
    known = {each.casefold() for each in re.findall(r"\w+", f"{name} {question}")} | _TITLES
    pairs = _NAMES.findall(read_text(answer).cased)
    heads = [one for one, other in pairs if other == parts[-1] and one.casefold() not in known]
    tails = [other for one, other in pairs if one == parts[0] and other.casefold() not in known]
    said, last = words(answer), parts[-1].casefold()
    if last in said:
        is_whole = len(parts) == 2 and parts[0].casefold() in said
        return not is_whole and any(head[0] not in {part[0] for part in parts} for head in heads)
    return any(not _is_same(tail.casefold(), last) for tail in tails)


def _says_opposite(reference: str, answer: str) -> bool:
    """Whether a word of a reference that the answer lacks has its opposite there: 이번 달, 다음 달."""
    said = all_forms(read_words(answer))
    missing = (word for word in read_words(reference) if word.forms.isdisjoint(said))
    return any(
        not (opposites(word) | _BESIDES.get(word.text.lower(), frozenset())).isdisjoint(said) for word in missing
    )


def _has_part_of_code(reference: str, answer: str) -> bool:
    """Whether an answer has the name of a file without its folder, or a tag with a space: database.yml, <br />."""
    name = reference.strip().rpartition("/")[2]
    return "." in name[1:] and name.casefold() in answer.casefold()


def _is_absent(parts: _Parts, question: str, reference: str, answer: str) -> bool:
    if is_shortened(reference, answer) or (parts.is_amount and _is_told_otherwise(answer)):
        return False
    if parts.is_amount and not _given_amounts(answer):
        return True
    if parts.words >= FEW or parts.has_number or parts.has_last or not _are_of_one_script(reference, answer):
        return False
    few_triples = NO_WORD_TRIPLES if parts.has_none else FEW_TRIPLES
    return _triple_share(question, reference, answer) < few_triples and not _has_initials(reference, answer)


@lru_cache(maxsize=4096)
def _is_told_otherwise(answer: str) -> bool:
    """Whether an answer has an amount of another form, which is not read: a quarter off, 말일."""
    return cue_pattern("amount_in_words", CUES).search(answer) is not None


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
    return any(len(word) == 1 and word.isascii() and word not in words(answer) for word in words(reference))


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
    missing = [each for each in own if not is_any(each, given)]
    others = [each for each in given if not is_any(each, [*own, *asked])]
    new = [word for word in _new_words(question, reference) if word not in _amount_words(reference)]
    said = frozenset(words(answer))
    are_found = [word in said or any(_is_same(each, word) for each in said) for word in new]
    new_amounts = [each for each in own if not is_any(each, asked)]
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
    return str(int(amount.number)) in _whole_numbers(answer)


@lru_cache(maxsize=1024)
def _whole_numbers(answer: str) -> frozenset[str]:
    return frozenset(_WHOLE_NUMBER.findall(read_text(answer).plain))


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
    wanted, asked = words(reference), frozenset(words(question))
    needed = [word for word in wanted if word not in STOP_WORDS] or list(wanted)
    return tuple(
        word for word in needed if not (word in asked or any(_is_same(each, word) for each in asked))
    ) or tuple(needed)


@lru_cache(maxsize=8192)
def _amount_words(reference: str) -> frozenset[str]:
    plain = read_text(reference).plain
    return frozenset(word for amount in amounts(plain) for word in words(plain[amount.start : amount.end]))


def _triple_share(question: str, reference: str, answer: str) -> float:
    """The share of the letter triples of the new words of a reference that the answer has."""
    triples = _triples(_new_words(question, reference))
    return len(triples & _triples(words(answer))) / max(1, len(triples))


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
