"""How good a memory is for a question, judged by words, numbers, names and negation alone: four scores from 0 to 10.

relevance     The share of the question's words that the memory has; a word that asks for what is told in others (over
              the budget: cost, spent) counts for those. Where the question asks for something (what, when, how much),
              half of its words are enough for the full score, and the score is 5 at most if no sentence may answer it.
              The score is at least 6 if a fact that is true now shows, and at least 1 always. Where facts are known,
              the words of the one best passage count, rare words weigh more, and outdated facts alone are worth 6.
completeness  The share of the currently true facts that show. A fact that does not show counts by the words of it and
              of the question that one passage has: 0.9 at most, and 0 if the passage has nothing of its value. One
              that shows beside the outdated one counts 0.4: the memory does not tell which of them holds. Without such
              facts, the score is that of relevance if a sentence may answer the question; else one less, and 4 at most.
accuracy      10 if facts show, 8 if none does; with an error 5 and 1. Errors are a fact that is no longer true (unless
              the same sentence says what replaced it), another number, time, name or state in place of that of a fact,
              and a memory that speaks only of another year or month than the question names, or of something else in
              capitals (GCP for AWS).
noise         Of a memory of no use, the share of the sentences that concern neither the question nor a fact. Of one of
              use, up to 2 for these, 1.5 for each sentence that could be taken for the answer, and 3 at most; 6
              more for each outdated fact. Its types are those of the specification: resolved, off_topic, boilerplate,
              outdated.

A fact is a text such as `budget: 1.5억` or `1.5억`. The text after the colon is its value, whose parts may stand in
different passages. Sentences that address whoever grades are ignored, and so is what says nothing, whatever stands
beside it: questions, replies that found nothing, acknowledgements. A memory of nothing else counts as empty.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from runner.domains.memory.recall import (
    CUES,
    is_acknowledgement,
    is_question,
    is_reply,
    spoken_lines,
    with_other_words,
    without_speaker,
)
from runner.text.courtesies import is_courtesy
from runner.text.cues import cue_pattern
from runner.text.matching import mentions, shows
from runner.text.names import names
from runner.text.negation import denied_words
from runner.text.numbers import Quantity, quantities
from runner.text.refusals import says_unknown
from runner.text.relevancy import ENOUGH, asked_kind, holds_kind
from runner.text.sentences import split_sentences
from runner.text.support import PASSAGE, Statement
from runner.text.words import Word, all_forms, content_words

Inaccuracy = Literal["number", "time", "target", "state"]
Noise = Literal["resolved", "off_topic", "boilerplate", "outdated"]

MAX = 10.0
MONEY = frozenset(("won", "dollar", "euro", "yen", "pound"))  # units
FULL = 0.7  # share of a fact's words from which a sentence says it
HELPFUL = 10  # sentences named

PERIODS = {kind: tuple(f"{which}_{kind}" for which in ("last", "this", "next")) for kind in ("year", "month", "week")}
DATED = ("date.year", "date.month", "quarter")  # units of periods
_ACRONYM = re.compile(r"(?<![A-Za-z])[A-Z][A-Z0-9]+(?![a-z])")
CURRENCIES = frozenset(("KRW", "USD", "EUR", "JPY", "GBP", "CNY", "VAT"))
_COMPOUND = re.compile(r"[가-힣]{3}")
_TIMES = ("date.", "clock", "quarter")
_PARAGRAPH = re.compile(r"\n\s*\n")
_LISTED = re.compile(r"[,;] (?!\d{4}\b)")  # a list, no date (May 7, 2023)
OTHERS = 10  # passages
UNTOLD = 0.4  # of a fact that shows beside what it replaced
MIXED, PARTLY = 5.0, 6.0  # accuracy of true facts beside errors; the most relevance of outdated facts alone
USEFUL = 5.0  # relevance above which a memory is of use
USEFUL_NOISE = 3.0  # the most noise of a memory of use without outdated facts
LIGHT = 2.0  # noise of a memory of use that has hardly anything else to do with the question
DISTURBING, OUTDATED = 1.5, 6.0  # noise of a sentence that could be taken for the answer, and of an outdated fact
ALMOST = 0.9  # of a fact that does not show


@dataclass(frozen=True, slots=True)
class Recollection:
    """The four scores of a memory, each 0..10, and what they rest on."""

    relevance: float
    completeness: float
    accuracy: float
    noise: float
    inaccuracies: tuple[Inaccuracy, ...] = ()
    noises: tuple[Noise, ...] = ()
    helpful: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    n_sentences: int = 0
    n_related: int = 0


def recollection(
    question: str, memory: str, entities: str, reference: Sequence[str], stale: Sequence[str]
) -> Recollection:
    """`entities`: one a line. Of nothing at all, 0 in everything."""
    sentences = [piece for text in (memory, *entities.splitlines()) for piece in _informing(text)]
    statements = [Statement(piece) for piece in sentences if not cue_pattern("grader", *CUES).search(piece)]
    if all(is_courtesy(without_speaker(statement.text)) for statement in statements):
        return NOTHING
    return _Reading(question, statements, [_Fact(text) for text in reference], stale, (memory, entities)).grades


NOTHING = Recollection(0.0, 0.0, 0.0, 0.0)


def _informing(text: str) -> Iterator[str]:
    """The sentences that say something: no questions, no acknowledgements, nothing of a reply that found nothing."""
    for line in spoken_lines(text):
        pieces = split_sentences(line)
        unknown = [piece for piece in pieces if says_unknown(without_speaker(piece))]
        if unknown and is_reply(line) and not any(quantities(piece) for piece in pieces if piece not in unknown):
            continue
        for number, piece in enumerate(pieces):
            plain = without_speaker(piece)
            if piece not in unknown and not is_question(plain) and not is_acknowledgement(piece, line):
                yield piece if number else plain


class Passages:
    """PASSAGE consecutive sentences of each text, with the date that it begins with. A word weighs
    ln(1 + (N - n + 0.5) / (n + 0.5)) where n of the N passages have it, as in BM25, with OTHERS more that have none:
    in a short memory too, what is there says more than what is not."""

    def __init__(self, texts: Iterable[str], left_out: Collection[str] = ()) -> None:
        self.all = [passage for text in texts for passage in _passages(text, left_out)]

    def best_share(self, value_parts: Sequence[Part], question_parts: Sequence[Part]) -> float:
        """The share of the weight of both that the best passage holds, 0 where none has anything of `value_parts`."""
        parts = [*value_parts, *question_parts]
        places = [[part.is_in(passage) for passage in self.all] for part in parts]
        weights = [self._weight(sum(flags)) for flags in places]
        has_own = [any(flags) for flags in zip(*places[: len(value_parts)], strict=True)]
        shares = (
            sum(weight for weight, flags in zip(weights, places, strict=True) if flags[number]) / sum(weights)
            for number, is_candidate in enumerate(has_own)
            if is_candidate
        )
        return max(shares, default=0.0)

    def _weight(self, n: int) -> float:
        return math.log(1 + (len(self.all) + OTHERS - n + 0.5) / (n + 0.5))


@dataclass(frozen=True, slots=True)
class Part:
    """A word or a quantity that is looked for in passages."""

    word: Word | None = None
    quantity: Quantity | None = None

    def is_in(self, passage: Statement) -> bool:
        """Whether a sentence has the word, in any form, or the quantity."""
        if self.word is not None:
            return not self.word.forms.isdisjoint(passage.forms)
        return self.quantity is not None and any(self.quantity.matches(other) for other in passage.quantities)


def parts_of(text: str) -> list[Part]:
    """The words of a text that carry its topic, then its quantities."""
    words = [Part(word=word) for word in _topical(text)]
    return [*words, *(Part(quantity=quantity) for quantity in quantities(text))]


def _passages(text: str, left_out: Collection[str]) -> Iterator[Statement]:
    read = (piece for piece in _informing(text) if piece not in left_out)
    sentences = [piece for piece in read if not cue_pattern("grader", *CUES).search(piece)]
    title = sentences[0] if sentences and sentences[0].startswith("# ") else ""
    for start in range(max(1, len(sentences) - PASSAGE + 1)):
        window = sentences[start : start + PASSAGE]
        if window:
            yield Statement("\n".join(window if not title or start == 0 else [title, *window]))


class _Fact:
    def __init__(self, text: str) -> None:
        self.text = text
        self.value = value_of(text)
        self.statement = Statement(text)

    @cached_property
    def words(self) -> list[Word]:
        return _topical(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        return _names(self.text)

    def is_said(self, statement: Statement) -> bool:
        """Whether a statement gives its value word for word, or all its numbers with most of its words, and is about
        nothing else."""
        if _other_name(self, statement):
            return False
        if shows(statement.text, [self.text, self.value]):
            return not _other_state(self.text, statement.text) or self.value != self.text
        has_numbers = all(
            any(quantity.matches(other) for other in statement.quantities) for quantity in self.statement.quantities
        )
        return (
            len(self.words) > 1
            and has_numbers
            and _known_share(self.words, statement.forms) >= FULL
            and not _other_state(self.text, statement.text)
            and not _is_denied(self, statement)
        )


def value_of(fact: str) -> str:
    """The text after the first colon with a space."""
    return fact.partition(": ")[2].strip() or fact


def _key(fact: str) -> str:
    """What a fact is of: the text before the colon."""
    return fact.partition(": ")[0] if ": " in fact else ""


class _Reading:
    def __init__(
        self,
        question: str,
        statements: Sequence[Statement],
        facts: Sequence[_Fact],
        stale: Sequence[str],
        texts: tuple[str, str],
    ) -> None:
        """`texts`: memory and entities."""
        self.question, self.statements, self.facts, self.stale = question, statements, facts, stale
        self.topic_words = with_other_words(question, _topical(question))
        self.of_another = {
            statement: error for statement in statements if (error := self._is_of_another(statement)) is not None
        }
        left_out = {statement.text for statement in self.of_another}
        memory, entities = texts
        self.passages = Passages([*_PARAGRAPH.split(memory), *entities.splitlines()], left_out)
        self.kind = asked_kind(question)
        self.words = all_forms([*self.topic_words, *(word for fact in facts for word in fact.words)])
        related = [(statement, self._is_related(statement)) for statement in statements]
        self.about = [statement for statement, is_related in related if is_related]
        self.unrelated = [statement for statement, is_related in related if not is_related]
        self.stated_facts = [
            fact for fact in facts if any(fact.is_said(statement) for statement in self._statements_for(fact))
        ]

    @property
    def grades(self) -> Recollection:
        relevance, errors = self._relevance(), self._errors()
        return Recollection(
            relevance,
            self._completeness(relevance),
            self._accuracy(errors),
            self._noise(relevance),
            tuple(dict.fromkeys(errors)),
            tuple(dict.fromkeys(self._noises())),
            tuple(statement.text for statement in self.about[:HELPFUL]),
            tuple(fact.text for fact in self.facts if fact not in self.stated_facts),
            len(self.statements),
            len(self.about),
        )

    def _is_of_another(self, statement: Statement) -> Inaccuracy | None:
        """The error of taking a sentence on the topic for an answer: what it says is of another time, or it has none of
        the capitalised names of the question, but another one: GCP costs, where the question is what AWS costs."""
        asked, told = _acronyms(self.question), _acronyms(statement.text)
        topic = [word for word in self.topic_words if word.text not in asked]
        if all(word.forms.isdisjoint(statement.forms) for word in topic):
            return None
        if _other_period(self.question, statement.text):
            return "time"
        if not asked or not told or not asked.isdisjoint(told) or shows(statement.text, asked):
            return None
        return "target"

    def _statements_for(self, fact: _Fact | None = None) -> list[Statement]:
        """The statements without those about something other than the question names; a fact may name that itself."""
        if fact is not None and fact.names:
            return list(self.statements)
        return [statement for statement in self.statements if statement not in self.of_another]

    def _is_related(self, statement: Statement) -> bool:
        return (
            not statement.forms.isdisjoint(self.words)
            or any(fact.is_said(statement) for fact in self.facts)
            or any(mentions(statement.text, [value_of(text)]) for text in self.stale)
        )

    def _relevance(self) -> float:
        by_facts = 6 + 4 * len(self.stated_facts) / len(self.facts) if self.stated_facts else 0.0
        if self.facts:
            degrees = [self._degree(fact) for fact in self.facts]
            by_words = MAX * max(self.passages.best_share([Part(word=word) for word in self.topic_words], ()), *degrees)
            is_outdated = self.shown_stale and not self.stated_facts
            return max(1.0, min(PARTLY, by_words) if is_outdated else by_words, by_facts)
        topic = _known_share(
            self.topic_words, all_forms(word for statement in self._statements_for() for word in statement.words)
        )
        by_words = MAX * topic
        if self.seeks:
            by_words = MAX * min(1.0, topic / ENOUGH) * (1.0 if self.holds_answer else 0.5)
        return max(1.0, by_words, by_facts)

    def _completeness(self, relevance: float) -> float:
        if self.facts:
            return MAX * sum(map(self._held, self.facts)) / len(self.facts)
        return relevance if self.holds_answer else min(4.0, relevance - 1)

    @cached_property
    def seeks(self) -> bool:
        """Whether the question asks for something that is not in it."""
        return cue_pattern("seeks", *CUES).search(self.question) is not None

    @cached_property
    def holds_answer(self) -> bool:
        """Whether one of the sentences about the question may answer it: it has the number, the time or the reason that
        is asked for; else most of the words of the question, and something that the question lacks."""
        about = [statement for statement in self.about if statement not in self.of_another]
        if not self.seeks:
            return any(statement.quantities or self._n_added(statement) > 1 for statement in about)
        if self.kind in ("quantity", "time", "reason"):
            return any(holds_kind(statement.text, self.kind) for statement in about)
        return any(
            self._n_added(statement) and _known_share(self.topic_words, statement.forms) > ENOUGH for statement in about
        )

    def _n_added(self, statement: Statement) -> int:
        """How many words and quantities a sentence has that the question lacks."""
        asked = all_forms(content_words(self.question)) | all_forms(self.topic_words)
        return len([word for word in _topical(statement.text) if word.forms.isdisjoint(asked)]) + len(
            statement.quantities
        )

    def _noise(self, relevance: float) -> float:
        """Of a memory that is of no use, the share of its sentences that have nothing to do with the question. Where it
        is of use they disturb little: up to LIGHT together, and what could be taken for the answer, DISTURBING each; no
        more than USEFUL_NOISE, but for outdated facts."""
        share = len(self.unrelated) / len(self.statements)
        if relevance <= USEFUL:
            return MAX * share
        rivals = sum(bool(statement.quantities) for statement in self.of_another)
        noise = min(USEFUL_NOISE, LIGHT * share + DISTURBING * rivals)
        return min(MAX, noise + OUTDATED * len(self.shown_stale))

    def _noises(self) -> Iterator[Noise]:
        yield from (_noise_of(statement.text) for statement in self.unrelated)
        if self.shown_stale or "time" in self.of_another.values():
            yield "outdated"

    def _held(self, fact: _Fact) -> float:
        """How far a memory holds a fact, 0..1: one that shows beside what it replaced, without a word on which of the
        two holds now, is not told from it."""
        if fact not in self.stated_facts:
            return self._degree(fact)
        return UNTOLD if any(_key(text) == _key(fact.text) for text in self.shown_stale) else 1.0

    def _degree(self, fact: _Fact) -> float:
        """The degree (0..1) to which the memory holds a fact that it does not state."""
        question_parts = [Part(word=word) for word in self.topic_words]
        question_forms = all_forms(self.topic_words)
        shares = []
        for value in _LISTED.split(fact.value):
            value_parts = [
                part for part in parts_of(value) if part.word is None or part.word.forms.isdisjoint(question_forms)
            ]
            shares.append(self.passages.best_share(value_parts, question_parts))
        return min(ALMOST, sum(shares) / len(shares))

    def _accuracy(self, errors: Sequence[Inaccuracy]) -> float:
        if errors:
            return MIXED if self.stated_facts else 1.0
        return MAX if self.stated_facts else 8.0

    def _errors(self) -> list[Inaccuracy]:
        """The errors of a memory, outdated facts first."""
        errors: list[Inaccuracy] = ["time" for _ in self.shown_stale]
        all_quantities = [
            quantity for fact in (*self.facts, *map(_Fact, self.stale)) for quantity in fact.statement.quantities
        ]
        for fact in self.facts:
            about = [statement for statement in self.statements if self._is_about(statement, fact)]
            errors += [
                error
                for statement in about
                if (error := _error(fact, statement, all_quantities, fact in self.stated_facts))
            ]
        own = [statement for statement in self.about if statement not in self.of_another]
        names_subject = any(shows(statement.text, _acronyms(self.question)) for statement in own)
        of_another = [error for error in self.of_another.values() if not (own if error == "time" else names_subject)]
        return errors or of_another[:1]

    @cached_property
    def shown_stale(self) -> list[str]:
        """The outdated facts that the memory still states."""
        return [text for text in self.stale if self._shows_stale(value_of(text))]

    def _shows_stale(self, value: str) -> bool:
        """Whether an outdated value shows in a sentence without its successor."""
        now = [fact.value for fact in self.facts]
        return any(
            shows(statement.text, [value], besides=now) and not shows(statement.text, now)
            for statement in self.statements
        )

    def _is_about(self, statement: Statement, fact: _Fact) -> bool:
        topic = fact.words or self.topic_words
        return not statement.forms.isdisjoint(all_forms(topic)) or mentions(statement.text, [fact.value])


def _error(fact: _Fact, statement: Statement, quantities: Sequence[Quantity], is_shown: bool) -> Inaccuracy | None:
    """The contradiction of a sentence to a fact. For a fact that shows elsewhere, another number belongs to another
    fact."""
    if _other_name(fact, statement):
        return "target" if _has_same_details(fact, statement) else None
    if _other_state(fact.text, statement.text) or _is_denied(fact, statement):
        return "state"
    wrong = None if is_shown else _other_quantity(fact, statement, quantities)
    return None if wrong is None else "time" if wrong.unit.startswith(_TIMES) else "number"


def _other_quantity(fact: _Fact, statement: Statement, all_quantities: Sequence[Quantity]) -> Quantity | None:
    """A quantity in the unit of one of the fact's, which the sentence lacks; one that no fact has or had."""
    missing_units = [
        quantity.unit
        for quantity in fact.statement.quantities
        if not any(quantity.matches(other) for other in statement.quantities)
    ]
    unmatched = (
        quantity for quantity in statement.quantities if not any(quantity.matches(other) for other in all_quantities)
    )
    return next(
        (quantity for quantity in unmatched if any(_same_kind(quantity.unit, unit) for unit in missing_units)), None
    )


def _same_kind(unit: str, other_unit: str) -> bool:
    """A number without a unit may be an amount of money."""
    return unit == other_unit or ("" in (unit, other_unit) and not MONEY.isdisjoint((unit, other_unit)))


def _other_name(fact: _Fact, statement: Statement) -> bool:
    """Whether the sentence has none of the fact's names, but others of their kind: AWS is no other name than Kim."""
    theirs = _names(statement.text)
    if any(mentions(statement.text, [name]) for name in fact.names):
        return False
    ours, others = ({_ACRONYM.fullmatch(name) is None for name in group} for group in (fact.names, theirs))
    return not ours.isdisjoint(others)


def _has_same_details(fact: _Fact, statement: Statement) -> bool:
    if fact.statement.quantities:
        return any(quantity.matches(other) for quantity in fact.statement.quantities for other in statement.quantities)
    return _known_share([word for word in fact.words if word.text not in fact.names], statement.forms) >= FULL


def _other_state(fact: str, statement: str) -> bool:
    states = [
        {name for name in ("open", "done") if cue_pattern(name, *CUES).search(text)} for text in (fact, statement)
    ]
    return bool(states[0]) and bool(states[1]) and states[0].isdisjoint(states[1])


def _is_denied(fact: _Fact, statement: Statement) -> bool:
    ours, theirs = denied_words(fact.text), denied_words(statement.text)
    if bool(ours) == bool(theirs) or _known_share(fact.words, statement.forms) < FULL:
        return False
    return any(not word.forms.isdisjoint(all_forms(fact.words)) for word in (*ours, *theirs))


def _names(text: str) -> frozenset[str]:
    """Words of names; what is written in capitals is one wherever it stands."""
    candidates = [*names(text), *(match[0] for match in _ACRONYM.finditer(text))]
    return frozenset(part for name in candidates for part in name.split())


def _acronyms(text: str) -> frozenset[str]:
    return frozenset(match[0] for match in _ACRONYM.finditer(text) if match[0].isalpha()) - CURRENCIES


def _topical(text: str) -> list[Word]:
    """The content words, with the first part of possible Korean compounds (출시일, 출시)."""
    topic_words = (word for word in content_words(text) if not cue_pattern("talk", *CUES).fullmatch(word.text))
    return [
        replace(word, forms=word.forms | {form[:-1] for form in word.forms if _COMPOUND.match(form)})
        for word in topic_words
    ]


def _other_period(question: str, statement: str) -> bool:
    """Whether a sentence tells of another year, quarter, month or week than a question asks for."""
    asked, told = _periods(question), _periods(statement)
    return any(not asked[kind] & told[kind] for kind in asked.keys() & told.keys())


def _periods(text: str) -> dict[str, frozenset[object]]:
    """Which years, months and weeks a text names, by kind; relative and absolute ones are different kinds."""
    named: dict[str, frozenset[object]] = {
        kind: frozenset(each for each in groups if cue_pattern(each, *CUES).search(text))
        for kind, groups in PERIODS.items()
    }
    dated = {unit: frozenset(each.face for each in quantities(text) if each.unit == unit) for unit in DATED}
    return {kind: periods for kind, periods in {**named, **dated}.items() if periods}


def _known_share(words: Sequence[Word], forms: Iterable[str]) -> float:
    form_set = frozenset(forms)
    return sum(not word.forms.isdisjoint(form_set) for word in words) / len(words) if words else 0.0


def _noise_of(sentence: str) -> Noise:
    if is_courtesy(sentence):
        return "boilerplate"
    return "resolved" if cue_pattern("done", *CUES).search(sentence) else "off_topic"
