"""How far texts support the claims of an answer, judged by words, numbers, names and negation alone.

The coverage of a claim is the share of its words that one passage holds, at best, and of its quantities
that the sources hold; a passage is `PASSAGE` consecutive sentences of one source. A claim conflicts
with the sources, whatever its coverage, when

- they do not hold one of its numbers (a small bare number may count what they list), or the sentences
  closest to it hold only other numbers of that unit,
- they do not hold one of its names, or the sentences closest to it hold only other names,
- it denies what the closest sentences affirm, or the other way round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from runner.text.names import NameIndex, names
from runner.text.negation import denied
from runner.text.numbers import Quantity, quantities
from runner.text.sentences import split_sentences
from runner.text.words import Word, all_forms, content_words

PASSAGE = 5  # sentences: about a paragraph
CLOSE = 0.75  # share of a claim's words from which a sentence says the same thing
MARGIN = 0.15  # a sentence this little behind the closest one is as good a witness
RELATED = 0.5  # share of a claim's words above which a sentence is about the same thing


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence that shares most with a claim: number of its source from 1 (0: none) and its text."""

    source: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """`score` 0..1 is the coverage, or 0 where `conflict` says what contradicts the sources."""

    score: float
    coverage: float
    missing: tuple[str, ...] = ()
    conflict: str = ""
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
        shares = self._shares(claim)
        conflict = self._foreign(claim) or self._contradiction(claim, shares)
        best = max(zip(shares, self.sentences, strict=True), key=lambda pair: pair[0], default=(0.0, None))[1]
        evidence = Evidence(best.source, best.text) if best and max(shares) > 0 else Evidence()
        return Support(0.0 if conflict else coverage, coverage, (*absent, *unknown), conflict, evidence)

    def _has(self, quantity: Quantity) -> bool:
        return any(quantity.matches(other) for other in self._quantities)

    def _missing_words(self, claim: Statement) -> list[str]:
        """The words of a claim that the passage with most of them lacks."""
        places = [set().union(*(self._passages.get(form, ()) for form in word.forms)) for word in claim.words]
        counts = Counter(place for each in places for place in each)
        best = min(counts, key=lambda place: (-counts[place], place), default=-1)
        return [word.text for word, each in zip(claim.words, places, strict=True) if best not in each]

    def _shares(self, claim: Statement) -> list[float]:
        """The share of a claim's words, names aside, that each sentence holds."""
        named = {part for name in claim.names for part in name.split()}
        words = [word for word in claim.words if word.text not in named] or claim.words
        return [
            sum(not word.forms.isdisjoint(sentence.forms) for word in words) / max(1, len(words))
            for sentence in self.sentences
        ]

    def _foreign(self, claim: Statement) -> str:
        """Numbers and names that the sources do not hold."""
        wrong = [q.text for q in claim.quantities if not self._has(q) and not _countable(q)]
        wrong += [name for name in claim.names if name not in self._names]
        return f"not in the sources: {', '.join(dict.fromkeys(wrong))}" if wrong else ""

    def _contradiction(self, claim: Statement, shares: Sequence[float]) -> str:
        """What the sentences that say nearly the same thing say differently."""
        least = max(CLOSE, max(shares, default=0.0) - MARGIN)
        witnesses = [sentence for share, sentence in zip(shares, self.sentences, strict=True) if share >= least]
        if not witnesses:
            return ""
        if wrong := [q.text for q in claim.quantities if all(_other_quantity(q, claim, each) for each in witnesses)]:
            return f"another number in the sources: {', '.join(wrong)}"
        if len(claim.names) == 1:
            related = [sentence for share, sentence in zip(shares, self.sentences, strict=True) if share > RELATED]
            if all(claim.names[0] not in sentence.name_index for sentence in related) and witnesses[0].names:
                return f"another name in the sources: {claim.names[0]}"
        return "denied on one side only" if all(_opposed(claim, each) for each in witnesses) else ""


def _countable(quantity: Quantity) -> bool:
    """A bare number up to ten may count what a source lists."""
    return quantity.unit in ("", "count") and quantity.face <= 10 and quantity.face == int(quantity.face)


def _other_quantity(quantity: Quantity, claim: Statement, witness: Statement) -> bool:
    """Whether the witness holds only other quantities of the same unit."""
    same_unit = [other for other in witness.quantities if other.unit == quantity.unit]
    return bool(same_unit) and not any(each.matches(other) for each in claim.quantities for other in same_unit)


def _opposed(claim: Statement, witness: Statement) -> bool:
    """Whether one denies a word that the other affirms; as many denials on both sides are a paraphrase."""
    return len(claim.denied) != len(witness.denied) and (_denies(claim, witness) or _denies(witness, claim))


def _denies(denier: Statement, other: Statement) -> bool:
    return any(
        not word.forms.isdisjoint(other.affirmed) and word.forms.isdisjoint(denier.affirmed) for word in denier.denied
    )
