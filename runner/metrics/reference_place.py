"""What an answer says around a place at which a reference stands: whether it denies it, chooses none of several values,
or says it of something else than what was asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from runner.text.amounts import BARE, DATE, Amount, amounts
from runner.text.cues import cue_pattern
from runner.text.key_words import key_words
from runner.text.matching import Span, Text, gives, read_text
from runner.text.patterns import compile_late
from runner.text.yes_no import denies

NEAR = 60  # characters after a value in which the answer may say that it is one of several
CUES = "runner.text/answer_cues.yaml"
_END_OF_CHOICE = compile_late(r"[.!?;\n]\s|;|\bbut\b|(?<=[가-힣]고)\s")
_COORDINATE = compile_late(r"[;\n]\s|\b(?:while|whereas)\b|(?<=[가-힣][고며데])\s|(?<=지만)\s|, (?=[0-9가-힣])")
_CONTRAST = compile_late(r"[;\n]\s?|\b(?:while|whereas|but)\b|, and\b|(?<=[가-힣][고며데]),?\s|(?<=지만),?\s")
_ROW = compile_late(r"^[^;]*\w ?: \w[^;]*$")
_SUBJECT = compile_late(r"(?<=[\w,:;)] )[A-Z]\w+|\d+")
_LINE = compile_late(r"\n")
_ENDING = compile_late(
    r"취소|환불|반품|해지|탈퇴|중단|철회|폐기|퇴사|거절|제외|\b(?:cancel|return|exchang|replac|retir|reject|refus)[a-z]*"
)
_CLAUSE = compile_late(r"[.!?;\n]\s|[,;]\s|\s-\s|\b(?:and|while|whereas|but)\b|(?<=[가-힣][고며데])\s|(?<=지만)\s")


@dataclass(frozen=True, slots=True)
class Context:
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
        if stance(self._without_the_asked_ending, *place) == "denied":
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
        asked = self._question_words
        if " ; " in self.answer.plain or asked & key_words(mine):
            return False
        clauses = (text for _, text in _parts(self.answer.plain, _CLAUSE))
        return any(asked & key_words(clause) and self._rivals(clause) for clause in clauses)

    def is_beside_the_asked(self, place: Span) -> bool:
        """Whether another clause of its sentence, or another line, is nearer to what was asked: it has words of the
        question that its own lacks, all of those that this has, or the name or number that the question is of. And,
        to a question for what is not so, whether another clause denies something, and its own does not."""
        line, _ = _split(_parts(self.answer.lined, _LINE), place[0])
        if " ; " in line:  # of a table, whose rows are told apart
            return False
        mine, others = self._clauses(place, _CONTRAST)
        if denies(self.question) and not denies(mine) and any(map(denies, others)):
            return True
        ours = key_words(mine)
        return any(self._is_nearer(key_words(clause), ours) for clause in others)

    def _is_nearer(self, theirs: frozenset[str], ours: frozenset[str]) -> bool:
        gained, lost = (self._question_words & theirs) - ours, (self._question_words & ours) - theirs
        subjects = _subjects(self.question)
        has_subject = bool(subjects) and subjects <= ours
        return len(gained) >= max(1, len(lost)) and not has_subject and not theirs <= self._question_words

    def _is_amount_of_another(self, place: Span) -> bool:
        """Whether a clause with an amount of its own has the name or number that the question is of, and this lacks
        it."""
        mine, others = self._clauses(place, _CLAUSE) if self._own else ("", [])
        missing = _subjects(self.question) - key_words(mine)
        return any(missing & key_words(clause) and self._rivals(clause) for clause in others)

    def _clauses(self, place: Span, ends: re.Pattern[str]) -> tuple[str, list[str]]:
        """The clause of a place, and the others of its sentence, or the other rows of a list."""
        start, end = _sentence(self.answer.lined, place)
        mine, others = _split(_parts(self.answer.lined[start:end], ends), place[0] - start)
        if others or "\n" not in self.answer.lined:
            return mine, others
        rows = [row for row in _parts(self.answer.lined, _LINE) if _ROW.search(row[1])]
        return _split(rows, place[0])

    def is_one_of_several(self, place: Span) -> bool:
        """Whether the answer names it as one of several values, and chooses none or another one."""
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
            return not self._question_words & key_words(mine) and any(
                self._question_words & key_words(row) for row in others
            )
        start, end = _sentence(self.answer.plain, place)
        mine, others = _split(
            _parts(self.answer.plain[start:end], _CLAUSE if self._own else _COORDINATE), place[0] - start
        )
        return any(self._is_beside(mine, clause) for clause in others) or self._is_amount_of_another(place)

    def _is_beside(self, mine: str, other: str) -> bool:
        """Whether two clauses of a sentence say the same of two subjects, and the other one of that of the question."""
        asked = self._question_words
        ours, theirs = key_words(mine), key_words(other)
        if not (asked & theirs) - ours or (asked & ours) - theirs:
            return False
        if self._own:
            return bool(self._rivals(other))
        has_own_subject = bool(ours - asked - theirs - key_words(self.reference))
        return has_own_subject and bool(ours & theirs - key_words(self.reference))

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
    def _without_the_asked_ending(self) -> str:
        """The answer without the words for an end that the question is about: asked until when one may cancel, 취소할
        수 있습니다 denies nothing."""
        asked = {match[0][:5] for match in _ENDING.finditer(read_text(self.question).plain)}
        return _ENDING.sub(lambda match: "ㅡ" * len(match[0]) if match[0][:5] in asked else match[0], self.answer.lined)

    @property
    def _question_words(self) -> frozenset[str]:
        return _question_only(self.question, self.reference)

    @property
    def _own(self) -> tuple[Amount, ...]:
        return amounts(read_text(self.reference).plain)

    def _rivals(self, text: str) -> list[Amount]:
        """Other amounts of a text that could stand in the place of that of the reference."""
        own, asked = self._own, amounts(read_text(self.question).plain)
        return [
            each for each in amounts(text) if any(_are_rivals(each, mine) for mine in own) and not is_any(each, asked)
        ]

    def _around(self, place: Span) -> tuple[str, str]:
        """The sentence before and after a place."""
        start, end = _sentence(self.answer.plain, place)
        return self.answer.plain[start : place[0]], self.answer.plain[place[1] : end]


@lru_cache(maxsize=4096)
def _question_only(question: str, reference: str) -> frozenset[str]:
    """Forms of the words of a question that its reference lacks."""
    return key_words(question) - key_words(reference)


@lru_cache(maxsize=4096)
def _subjects(question: str) -> frozenset[str]:
    """Forms of the names and numbers of a question, which tell its subject from others of its kind."""
    names = _SUBJECT.findall(read_text(question).cased)
    return frozenset(form for name in names for form in key_words(name))


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


def is_any(amount: Amount, others: Iterable[Amount]) -> bool:
    """Whether an amount is the same as one of others."""
    return any(amount.is_same(other) or other.is_same(amount) for other in others)
