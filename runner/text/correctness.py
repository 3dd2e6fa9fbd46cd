"""How far an answer says what a reference answer says, judged from the words of both and of the question.

The score is the mean over the claims of the reference, weighted by what each of them says, of their cover: the share
of the words and quantities of a claim that the answer holds, of those that the question does not hold already (of all
where it holds them all; a share below CHANCE counts as 0). What an answer says beyond the reference does not count. A
claim has 0, whatever its cover, where the answer

- gives another quantity of the same kind in place of one of the claim (14 euros for 8 euros),
- denies what the claim and the question affirm, or affirms what the claim denies, in the sentence that says most of
  the claim,

and at most 1/2 where it lacks a quantity or a name of the claim. A claim that stands in the answer as it is written is
covered; one without any full word (yes, 아니요) is covered by nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.text.claims import claims
from runner.text.matching import mentions
from runner.text.numbers import Quantity
from runner.text.support import CHANCE, Conflict, Statement
from runner.text.words import Word, all_forms, words

SHORT_OF = 0.5  # the most for an answer that lacks a quantity or a name of the reference

_NOT_BEFORE = re.compile(
    r"(?:\b(?:not|never|isn['’]t|wasn['’]t|aren['’]t|weren['’]t))\s+(?:[\w'’]+\s+){0,2}\W*$", re.IGNORECASE
)
_NOT_AFTER = re.compile(r"^[가-힣]{0,3}\s*(?:아니(?!라도|면)|아닙|아닌|아님)")


@dataclass(frozen=True, slots=True)
class Correctness:
    """`missing`: words and quantities of the reference that the answer lacks."""

    score: float
    missing: tuple[str, ...] = ()
    conflict: Conflict | None = None


def correctness(question: str, references: Sequence[str], answer: str) -> Correctness:
    """Against the reference that comes out best."""
    said = [Statement(claim) for claim in claims(answer) or [answer]]
    return max((_of_claims(Statement(question), each, said) for each in references), key=lambda each: each.score)


def _of_claims(question: Statement, reference: str, answer: Sequence[Statement]) -> Correctness:
    """The mean over the claims of a reference, weighted by what each of them says; the first conflict counts as that
    of all."""
    statements = [Statement(claim) for claim in claims(reference) or [reference]]
    results = [_compare_with_reference(question, claim, answer) for claim in statements]
    sizes = [max(1, claim.size) for claim in statements]
    score = sum(result.score * size for result, size in zip(results, sizes, strict=True)) / sum(sizes)
    missing = tuple(dict.fromkeys(word for result in results for word in result.missing))
    return Correctness(score, missing, next((result.conflict for result in results if result.conflict), None))


def _compare_with_reference(question: Statement, reference: Statement, answer: Sequence[Statement]) -> Correctness:
    needed_words = [word for word in reference.words if word.forms.isdisjoint(question.forms)] or reference.words
    numbers = [
        each for each in reference.quantities if not _matches_any(each, question.quantities)
    ] or reference.quantities
    is_written = mentions("\n".join(each.text for each in answer), [reference.text])
    forms = frozenset().union(*(sentence.forms for sentence in answer))
    given_numbers = [number for sentence in answer for number in sentence.quantities]
    absent = [] if is_written else [word for word in needed_words if word.forms.isdisjoint(forms)]
    unsaid = [] if is_written else [number for number in numbers if not _matches_any(number, given_numbers)]
    missing_words = tuple(dict.fromkeys([*(word.text for word in absent), *(number.text for number in unsaid)]))
    size = len(needed_words) + len(numbers)
    cover = float(is_written) if is_written or not size else 1 - (len(absent) + len(unsaid)) / size
    if conflict := _conflict(question, reference, _closest(needed_words, numbers, answer), unsaid, given_numbers):
        return Correctness(0.0, missing_words, conflict)
    if unsaid or any(part in name.split() for name in reference.names for part in missing_words):
        cover = min(cover, SHORT_OF)
    return Correctness(cover if cover >= CHANCE else 0.0, missing_words)


def _matches_any(quantity: Quantity, others: Iterable[Quantity]) -> bool:
    return any(quantity.matches(other) for other in others)


def _closest(reference_words: Sequence[Word], numbers: Sequence[Quantity], answer: Sequence[Statement]) -> Statement:
    """The sentence of the answer that holds most of the reference; the first of several."""
    return max(
        answer,
        key=lambda sentence: (
            sum(not word.forms.isdisjoint(sentence.forms) for word in reference_words)
            + sum(_matches_any(number, sentence.quantities) for number in numbers)
        ),
    )


def _conflict(
    question: Statement,
    reference: Statement,
    closest: Statement,
    unsaid: Sequence[Quantity],
    given: Sequence[Quantity],
) -> Conflict | None:
    foreign = [each for each in given if not _matches_any(each, [*reference.quantities, *question.quantities])]
    if instead := [each.text for number in unsaid for each in foreign if each.unit == number.unit]:
        return Conflict("number", tuple(dict.fromkeys(instead)))
    return Conflict("denied") if _is_contradiction(question, reference, closest) else None


def _is_contradiction(question: Statement, reference: Statement, closest: Statement) -> bool:
    if reference.denied and closest.denied:  # in other words, perhaps
        return False
    affirmed = _affirmed_forms(question) | _affirmed_forms(reference)
    denied_too = all_forms([*question.denied, *reference.denied])
    if any(
        not word.forms.isdisjoint(affirmed) and word.forms.isdisjoint(denied_too | _affirmed_forms(closest))
        for word in closest.denied
    ):
        return True
    ours = all_forms(closest.denied)
    if any(
        not word.forms.isdisjoint(_affirmed_forms(closest)) and word.forms.isdisjoint(ours) for word in reference.denied
    ):
        return True
    return not denied_too and any(_is_denied(closest.text, each) for each in _values(reference))


def _affirmed_forms(statement: Statement) -> frozenset[str]:
    starts = {word.start for word in statement.denied}
    return all_forms(word for word in words(statement.text) if word.start not in starts)


def _values(reference: Statement) -> list[str]:
    return [reference.text.strip(" .!"), *(quantity.text for quantity in reference.quantities)]


def _is_denied(text: str, value: str) -> bool:
    """Whether "not" stands to this very value: not 8 euros, 8유로가 아닙니다."""
    places = [match.span() for match in re.finditer(re.escape(value), text, re.IGNORECASE)] if value else []
    return bool(places) and all(
        _NOT_BEFORE.search(text[:start]) or _NOT_AFTER.search(text[end:]) for start, end in places
    )
