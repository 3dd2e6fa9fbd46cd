"""How far texts support the claims of an answer, judged by words, numbers, names and negation alone.

The coverage of a claim is the share of its words that one passage holds, at best, and of its quantities
that the sources hold; a passage is `PASSAGE` consecutive sentences of one source. A claim conflicts
with the sources, whatever its coverage, when

- they do not hold one of its numbers (a small bare number may count what they list), or the sentences
  closest to it hold only other numbers of that unit,
- they do not hold one of its names, or the sentences closest to it hold only other names,
- in Korean, where no capital tells a name, the closest sentences hold another noun in its place,
- it denies what the closest sentences affirm, or the other way round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from runner.text.names import NameIndex, names
from runner.text.negation import denied
from runner.text.numbers import Quantity, quantities
from runner.text.sentences import split_sentences
from runner.text.words import Word, all_forms, content_words, particle

PASSAGE = 5  # sentences: about a paragraph
CHANCE = 1 / 3  # coverage below which words are shared by chance: any two texts on one subject share some
CLOSE = 0.75  # share of a claim's words from which a sentence says the same thing
MARGIN = 0.15  # a sentence this little behind the closest one is as good a witness
COPIED = 3  # words in common from which one sentence may copy another
RELATED = 0.5  # share of a claim's words above which a sentence is about the same thing


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence that shares most with a claim: number of its source from 1 (0: none) and its text."""

    source: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What of a claim contradicts the sources: numbers and names that they do not hold, those for which they hold
    others, or nothing but that one of the two denies."""

    kind: Literal["absent", "number", "name", "word", "denied"]
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """`score` 0..1 is the coverage, or 0 where that is below CHANCE or there is a `conflict`."""

    score: float
    coverage: float
    missing: tuple[str, ...] = ()
    conflict: Conflict | None = None
    evidence: Evidence = Evidence()


class Statement:
    """One sentence, taken apart on demand."""

    def __init__(self, text: str, source: int = 0) -> None:
        self.text = text
        self.source = source

    @cached_property
    def words(self) -> list[Word]:
        return content_words(self.text)

    @cached_property
    def forms(self) -> frozenset[str]:
        return all_forms(self.words)

    @cached_property
    def quantities(self) -> list[Quantity]:
        return quantities(self.text)

    @cached_property
    def names(self) -> list[str]:
        return names(self.text)

    @cached_property
    def name_index(self) -> NameIndex:
        return NameIndex(self.text)

    @cached_property
    def denied(self) -> list[Word]:
        return denied(self.text)

    @cached_property
    def affirmed(self) -> frozenset[str]:
        """Forms of the words that no negation stands to."""
        starts = {word.start for word in self.denied}
        return all_forms(word for word in self.words if word.start not in starts)

    @property
    def size(self) -> int:
        """How much the sentence says: its words and quantities."""
        return len(self.words) + len(self.quantities)


class Sources:
    """Texts that claims are held against, numbered from 1 in the order given.

    `known` is text that a claim may take names from without support, such as the question.
    """

    def __init__(self, texts: Sequence[str], known: str = "") -> None:
        self.sentences = [
            Statement(sentence, number) for number, text in enumerate(texts, 1) for sentence in split_sentences(text)
        ]
        self._quantities = [quantity for text in texts for quantity in quantities(text)]
        self._names = NameIndex("\n".join((*texts, known)))
        self._passages: dict[str, set[int]] = {}
        for first, statement in enumerate(self.sentences):
            for form in statement.forms:
                self._passages.setdefault(form, set()).update(self._passages_with(first))

    def _passages_with(self, position: int) -> Iterable[int]:
        """Numbers of the passages that hold a sentence; a passage has the number of its first sentence."""
        source = self.sentences[position].source
        return (
            first
            for first in range(max(0, position - PASSAGE + 1), position + 1)
            if self.sentences[first].source == source
        )

    def support(self, claim: Statement) -> Support:
        if not claim.size:
            return Support(0.0, 0.0)
        unknown = [quantity.text for quantity in claim.quantities if not self._has(quantity)]
        absent = self._missing_words(claim)
        coverage = 1 - (len(absent) + len(unknown)) / claim.size
        conflict = self._foreign(claim) or self._contradiction(claim)
        score = 0.0 if conflict or coverage < CHANCE else coverage
        return Support(score, coverage, (*absent, *unknown), conflict, self._evidence(claim))

    def _has(self, quantity: Quantity) -> bool:
        return any(quantity.matches(other) for other in self._quantities)

    def _missing_words(self, claim: Statement) -> list[str]:
        """The words of a claim that the passage with most of them lacks."""
        places = [set().union(*(self._passages.get(form, ()) for form in word.forms)) for word in claim.words]
        counts = Counter(place for each in places for place in each)
        best = min(counts, key=lambda place: (-counts[place], place), default=-1)
        return [word.text for word, each in zip(claim.words, places, strict=True) if best not in each]

    def _evidence(self, claim: Statement) -> Evidence:
        shares = self._shares(claim.words)
        best = max(range(len(shares)), key=lambda position: (shares[position], -position), default=-1)
        if best < 0 or not shares[best]:
            return Evidence()
        return Evidence(self.sentences[best].source, self.sentences[best].text)

    def _shares(self, words: Sequence[Word]) -> list[float]:
        """The share of the words that each sentence holds."""
        return [
            sum(not word.forms.isdisjoint(sentence.forms) for word in words) / max(1, len(words))
            for sentence in self.sentences
        ]

    def _foreign(self, claim: Statement) -> Conflict | None:
        """Numbers and names that the sources do not hold."""
        wrong = [q.text for q in claim.quantities if not self._has(q) and not _countable(q)]
        wrong += [name for name in claim.names if name not in self._names]
        return Conflict("absent", tuple(dict.fromkeys(wrong))) if wrong else None

    def _contradiction(self, claim: Statement) -> Conflict | None:
        """What every sentence that says nearly the same thing says differently.

        Names do not count in what is close (they may be what differs), but in what is closest.
        """
        named = {part for name in claim.names for part in name.split()}
        without_names = self._shares([word for word in claim.words if word.text not in named] or claim.words)
        shares = self._shares(claim.words)
        close = [at for at, share in enumerate(without_names) if share >= CLOSE]
        least = max((shares[at] for at in close), default=0.0) - MARGIN
        related = [self.sentences[at] for at, share in enumerate(without_names) if share > RELATED]
        witnesses = sorted((at for at in close if shares[at] >= least), key=lambda at: -shares[at])
        differences = [_difference(claim, self.sentences[at], related) for at in witnesses]
        return differences[0] if differences and all(differences) else None


def _countable(quantity: Quantity) -> bool:
    """A bare number up to ten may count what a source lists."""
    return quantity.unit in ("", "count") and quantity.face <= 10 and quantity.face == int(quantity.face)


def _difference(claim: Statement, witness: Statement, related: Sequence[Statement]) -> Conflict | None:
    """Where a claim contradicts a similar sentence: in a number, a name, a word or a negation. None if nowhere."""
    if wrong := [quantity.text for quantity in claim.quantities if _other_quantity(quantity, claim, witness, related)]:
        return Conflict("number", tuple(dict.fromkeys(wrong)))
    if wrong := [name for name in claim.names if _other_name(name, claim, witness, related)]:
        return Conflict("name", tuple(wrong))
    if wrong := _exchanged_nouns(claim, witness):
        return Conflict("word", tuple(wrong))
    return Conflict("denied") if _opposed(claim, witness) else None


def _other_quantity(quantity: Quantity, claim: Statement, witness: Statement, related: Sequence[Statement]) -> bool:
    """Whether the witness lacks the quantity and holds one of its unit that the claim lacks.

    A claim of several such quantities may take them from several related sentences.
    """
    several = sum(each.unit == quantity.unit for each in claim.quantities) > 1
    if any(
        quantity.matches(other) for sentence in (related if several else [witness]) for other in sentence.quantities
    ):
        return False
    others = (other for other in witness.quantities if other.unit == quantity.unit)
    return any(not any(other.matches(each) for each in claim.quantities) for other in others)


def _other_name(name: str, claim: Statement, witness: Statement, related: Sequence[Statement]) -> bool:
    """Whether no related sentence holds the name and the witness holds one that the claim lacks.

    A claim of several names must share one with the witness, else they may speak of different things.
    """
    if any(name in sentence.name_index for sentence in related):
        return False
    if len(claim.names) > 1 and not any(each in witness.name_index for each in claim.names):
        return False
    return any(other not in claim.name_index for other in witness.names)


def _exchanged_nouns(claim: Statement, witness: Statement) -> list[str]:
    """Korean nouns that stand where the witness, otherwise the same, has another with the same particle.

    Korean has no capitals that would tell a name, so any noun may be one.
    """
    missing = [word.text for word in claim.words if word.forms.isdisjoint(witness.forms)]
    if len(claim.words) - len(missing) < COPIED:
        return []
    roles = {particle(word.text) for word in witness.words if word.forms.isdisjoint(claim.forms)} - {""}
    return [word for word in missing if particle(word) in roles]


def _opposed(claim: Statement, witness: Statement) -> bool:
    """Whether one denies a word that the other affirms; as many denials on both sides are a paraphrase."""
    return len(claim.denied) != len(witness.denied) and (_denies(claim, witness) or _denies(witness, claim))


def _denies(denier: Statement, other: Statement) -> bool:
    return any(
        not word.forms.isdisjoint(other.affirmed) and word.forms.isdisjoint(denier.affirmed) for word in denier.denied
    )
