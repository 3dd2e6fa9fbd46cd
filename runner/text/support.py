"""How far texts support the claims of an answer, judged by words, numbers, names and negation alone.

The coverage of a claim is the share of its words that one passage holds, at best, and of its quantities
that the sources hold; a passage is `PASSAGE` consecutive sentences of one source. A Korean word may be part of
a longer one (인물 of 등장인물), and one that says how many (모두, 만) counts as a word. How much must be covered
depends on the length: of a short claim hardly a word may miss, since that word makes it another claim. A claim
conflicts with the sources, whatever its coverage, when

- they do not hold one of its numbers (a small bare number may count what they list), or the sentences
  closest to it hold only other numbers of that unit,
- they do not hold one of its names, or the sentences closest to it hold only other names,
- in Korean, where no capital tells a name, the closest sentences hold another noun in its place,
- it says the opposite of a word of a sentence that is otherwise the same (cheap, expensive), or two change places
  in it ("A hired B"),
- it denies what the closest sentences affirm, or the other way round, or it denies and nothing in the sources does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from runner.system.shared import are_several, make_once
from runner.text.names import NameIndex, names
from runner.text.negation import denied_words
from runner.text.numbers import Quantity, quantities
from runner.text.opposites import comparison_standard, exchanged_roles, opposites, unheld_quantifiers
from runner.text.sentences import split_sentences
from runner.text.words import Word, all_forms, content_words, particle

PASSAGE = 5  # sentences: about a paragraph
CHANCE = 1 / 3  # coverage below which words are shared by chance: any two texts on one subject share some
CLOSE = 0.75  # share of a claim's words from which a sentence states the same
MARGIN = 0.15  # a sentence this little behind the closest one is as good a witness
PART = 2  # syllables of a Korean word that may be part of a longer one
COMPOUND = 4  # syllables of a Korean word that may be written as several
COPIED = 3  # words in common from which one sentence may copy another
RELATED = 0.5  # share of a claim's words above which a sentence has the same subject
# What a claim needs. Chosen on two thirds of samples of KLUE-NLI, WiCE and FEVER Symmetric (benchmarks/judge.py).
SHORT, LONG = 8, 16  # words: between these lengths the share that must be covered falls to ENOUGH
SPARE = 1.5  # words that may miss of a short claim: one, but not two
ANCHOR = 0.25  # of a word more for each of its numbers and names, which the sources hold, or there is a conflict
ENOUGH = 0.5  # share of a long claim
LACKING = 0.49  # the most for a claim that lacks more: just below ENOUGH

OF_SWEEP = 4_000  # texts, of some 10 KB when taken apart, that the cells of a sweep share

_TEXTS = r"(?:documents?|contexts?|sources?|passages?|texts?|articles?)"
_FRAME = re.compile(  # speaks of the sources or to the reader, and states nothing
    rf"\b(?:according to|based on) (?:the |these )?(?:(?:provided|given|available) )?{_TEXTS}\b"
    rf"|\b(?:the |these )(?:(?:provided|given|available) )?{_TEXTS} (?:also )?"
    r"(?:mention|state|say|indicate|note|suggest)s? that\b"
    r"|\bit (?:is|'s) (?:also )?(?:important|worth) (?:to note|to mention|noting|mentioning)(?: that)?\b"
    r"|\bplease note(?: that)?\b"
    r"|(?<![가-힣])(?:제공된 |주어진 )?(?:문서|자료|컨텍스트|본문|출처)(?:에|들에) (?:따르면|의하면)",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(  # Korean verbs that only carry tense, politeness or denial, however they are inflected
    r"(?:있|없|않|싶)[다는은을던고지으어아었았습게기음네나도][가-힣]*|같(?:다|았|습|아요|네)[가-힣]*"
    r"|하(?:다|였|게|기|여|니|면|며|고|지)[가-힣]*|되(?:었|어|다|고|며|지|기)[가-힣]*|(?:해|했|됐|돼)[가-힣]{0,2}|[한할함된될됨]"
)
_CALENDAR = frozenset([
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence that shares most with a claim: number of its source from 1 (0: none) and its text."""

    source: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The contradictions of a claim to the sources: numbers and names that they lack, those for which they have others,
    exchanged words, or only a denial on one side."""

    kind: Literal["absent", "number", "name", "word", "role", "denied"]
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """`score` 0..1 is the coverage, at most LACKING where the claim needs more, and 0 where the coverage is below
    CHANCE or there is a `conflict`."""

    score: float
    coverage: float
    missing: tuple[str, ...] = ()
    conflict: Conflict | None = None
    evidence: Evidence = Evidence()


class Statement:
    """One sentence, analysed on demand."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> list[Word]:
        """Content words, without phrases that frame a statement and without auxiliaries."""
        plain = _FRAME.sub(lambda match: " " * len(match[0]), self.text)
        return [word for word in content_words(plain) if not _AUXILIARY.fullmatch(word.text)]

    @cached_property
    def forms(self) -> frozenset[str]:
        """All forms that its words may stand for."""
        return all_forms(self.words)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Numbers with their units."""
        return quantities(self.text)

    @cached_property
    def names(self) -> list[str]:
        """Proper names, as far as their spelling tells."""
        return names(self.text)

    @cached_property
    def name_index(self) -> NameIndex:
        """The names, for comparison with those of others."""
        return NameIndex(self.text)

    @cached_property
    def denied(self) -> list[Word]:
        """The words that it denies."""
        return denied_words(self.text)

    @cached_property
    def affirmed(self) -> frozenset[str]:
        """Forms of the words that no negation stands to."""
        starts = {word.start for word in self.denied}
        return all_forms(word for word in self.words if word.start not in starts)

    @cached_property
    def joined(self) -> str:
        """The text without spaces."""
        return "".join(self.text.split())

    @property
    def size(self) -> int:
        """How much the sentence says: its words and quantities."""
        return len(self.words) + len(self.quantities)


class _Passage:
    """An analysed text, cached, since a chunk among the first hits of many questions is judged for each of them."""

    def __init__(self, text: str) -> None:
        self.sentences = [Statement(sentence) for sentence in split_sentences(text)]
        self.quantities = quantities(text)


_recent = lru_cache(maxsize=512)(_Passage)


def _passage(text: str) -> _Passage:
    """Taken apart; each cell of a sweep holds its claims against the same texts."""
    if not are_several():
        return _recent(text)
    passages: dict[str, _Passage] = make_once("passages", "", dict)
    passage = passages.get(text) or _recent(text)
    if len(passages) < OF_SWEEP:
        passages[text] = passage
    return passage


class Sources:
    """The texts that claims are compared with, numbered from 1 in the order given. `known` is text that a claim may
    take names from without support, such as the question."""

    def __init__(self, texts: Sequence[str], known_text: str = "") -> None:
        passages = [_passage(text) for text in texts]
        self.sentences = [sentence for passage in passages for sentence in passage.sentences]
        self._numbers = [number for number, passage in enumerate(passages, 1) for _ in passage.sentences]
        self._text = "\n".join(texts)
        self._quantities = [quantity for passage in passages for quantity in passage.quantities]
        self._names = NameIndex("\n".join((*texts, known_text)))
        self._passages: dict[str, set[int]] = {}
        for first, statement in enumerate(self.sentences):
            for form in statement.forms:
                self._passages.setdefault(form, set()).update(self._passages_with(first))

    def _passages_with(self, position: int) -> Iterable[int]:
        """Numbers of the passages that hold a sentence; a passage has the number of its first sentence."""
        number = self._numbers[position]
        opening = max(0, position - PASSAGE + 1)
        return (first for first in range(opening, position + 1) if self._numbers[first] == number)

    def support(self, claim: Statement) -> Support:
        """How far the sources support a claim, and what of it they lack or contradict."""
        if not claim.size:
            return Support(0.0, 0.0)
        unknown = [quantity.text for quantity in claim.quantities if not self._has_of(quantity, claim)]
        counted = unheld_quantifiers(claim.text, self._text)
        absent = [*self._missing_words(claim), *counted]
        size = claim.size + len(counted)
        coverage = 1 - (len(absent) + len(unknown)) / size
        conflict = self._conflict(claim)
        score = 0.0 if conflict or coverage < CHANCE else _score(coverage, claim, size)
        return Support(score, coverage, (*absent, *unknown), conflict, self._evidence(claim))

    def _conflict(self, claim: Statement) -> Conflict | None:
        return self._foreign(claim) or self._contradiction(claim) or self._opposite(claim) or self._denial(claim)

    def _has(self, quantity: Quantity) -> bool:
        return any(quantity.matches(other) for other in self._quantities)

    def _has_of(self, quantity: Quantity, claim: Statement) -> bool:
        """Whether a sentence with the quantity has a word of the claim, too: 14 days of a trial are not day 14 of a
        declined card. A claim of nothing but numbers has no word to share."""
        named = all_forms(word for word in claim.words if word.text not in quantity.text)
        holders = (each for each in self.sentences if any(quantity.matches(other) for other in each.quantities))
        return self._has(quantity) and (not named or any(not named.isdisjoint(each.forms) for each in holders))

    def _missing_words(self, claim: Statement) -> list[str]:
        """The words of a claim that the passage with most of them lacks."""
        places = [self._places(word) for word in claim.words]
        counts = Counter(place for each in places for place in each)
        best = min(counts, key=lambda place: (-counts[place], place), default=-1)
        return [word.text for word, each in zip(claim.words, places, strict=True) if best not in each]

    def _places(self, word: Word) -> set[int]:
        """Passages with the word, or else, in Korean, with a longer word or several short ones that hold it."""
        places = set().union(*(self._passages.get(form, ()) for form in word.forms))
        if places or not _is_hangul(word.text):
            return places
        for at, sentence in enumerate(self.sentences):
            if _part(word, sentence):
                places.update(self._passages_with(at))
        return places

    def _evidence(self, claim: Statement) -> Evidence:
        shares = self._shares(claim.words)
        best = max(range(len(shares)), key=lambda position: (shares[position], -position), default=-1)
        if best < 0 or not shares[best]:
            return Evidence()
        return Evidence(self._numbers[best], self.sentences[best].text)

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
        """A difference between the claim and every sentence that is nearly the same. Names do not count for which
        sentences are close (they may be the difference), but for which are closest."""
        named = {part for name in claim.names for part in name.split()}
        without_names = self._shares([word for word in claim.words if word.text not in named] or claim.words)
        shares = self._shares(claim.words)
        close = [at for at, share in enumerate(without_names) if share >= CLOSE]
        least = max((shares[at] for at in close), default=0.0) - MARGIN
        related = [self.sentences[at] for at, share in enumerate(without_names) if share > RELATED]
        witnesses = sorted((at for at in close if shares[at] >= least), key=lambda at: -shares[at])
        differences = [_difference(claim, self.sentences[at], related) for at in witnesses]
        return differences[0] if differences and all(differences) else None

    def _opposite(self, claim: Statement) -> Conflict | None:
        """Words that no source holds, where a sentence that holds nearly all others has their opposites; and words that
        have changed places in every sentence that holds them all."""
        turned = {word: opposites(word) for word in claim.words if not self._places(word)}
        opposite_words: dict[str, None] = {}
        for sentence in self.sentences if any(turned.values()) else ():
            opposite_words.update(dict.fromkeys(_contradicted_words(claim, sentence, turned)))
        if opposite_words:
            return Conflict("word", tuple(opposite_words))
        copies = (
            [] if turned else [each for each in self.sentences if claim.forms & each.forms and _copies(claim, each)]
        )
        roles = [exchanged_roles(claim.text, each.text) for each in copies]
        return Conflict("role", roles[0]) if roles and roles[0] and all(roles) else None

    def _denial(self, claim: Statement) -> Conflict | None:
        """A denial where no sentence is denied (no sentence with its words, where the sources hold all of them), unless
        it denies the opposite of what the sources say."""
        if not claim.denied:
            return None
        forms = all_forms(claim.denied)
        about = [each for each in self.sentences if not forms.isdisjoint(each.forms)]
        where = about if about and not self._missing_words(claim) else self.sentences
        if any(sentence.denied for sentence in where):
            return None
        agrees = any(form in self._passages for word in claim.denied for form in opposites(word))
        return None if agrees else Conflict("denied")


def _score(coverage: float, claim: Statement, size: int) -> float:
    spare = SPARE + ANCHOR * (len(claim.quantities) + len(claim.names))
    return coverage if coverage >= _needed_share(size, spare) else min(coverage, LACKING)


def _needed_share(size: int, spare: float) -> float:
    """The share of a claim of so many words that must be covered."""
    short = max(1 - spare / min(size, SHORT), ENOUGH)
    far = min(1.0, max(0.0, (size - SHORT) / (LONG - SHORT)))
    return short * (1 - far) + ENOUGH * far


def _copies(claim: Statement, sentence: Statement) -> bool:
    return all(not word.forms.isdisjoint(sentence.forms) for word in claim.words)


def _contradicted_words(claim: Statement, sentence: Statement, turned: Mapping[Word, frozenset[str]]) -> list[str]:
    """Words of the claim whose opposite is in a sentence that has nearly all of its other words; empty where exactly
    one of the two is a denial, or where they compare with different things."""
    n_held = sum(not word.forms.isdisjoint(sentence.forms) for word in claim.words)
    opposite_forms = {
        word: forms & sentence.forms for word, forms in turned.items() if not forms.isdisjoint(sentence.forms)
    }
    n_others = len(claim.words) - n_held - len(opposite_forms)
    if not opposite_forms or not n_held or n_others > 1 or n_others > len(claim.words) * (1 - CLOSE):
        return []
    if comparison_standard(claim.text) != comparison_standard(sentence.text):
        return []
    denied, there = {word.start for word in claim.denied}, all_forms(sentence.denied)
    return [word.text for word, forms in opposite_forms.items() if (word.start in denied) != forms.isdisjoint(there)]


def _part(word: Word, sentence: Statement) -> bool:
    """Whether a sentence holds a Korean word within a longer one, or written as several."""
    parts = [form for form in word.forms if len(form) >= PART and _is_hangul(form)]
    return any(part in sentence.text or (len(part) >= COMPOUND and part in sentence.joined) for part in parts)


def _is_hangul(word: str) -> bool:
    return "가" <= word[0] <= "힣"


def _countable(quantity: Quantity) -> bool:
    """A bare number up to ten may count what a source lists."""
    return quantity.unit in ("", "count") and quantity.face <= 10 and quantity.face == int(quantity.face)


def _difference(claim: Statement, witness: Statement, related: Sequence[Statement]) -> Conflict | None:
    """The contradiction of a claim to a similar sentence: in a number, a name, a word or a negation. None without
    any."""
    if wrong := [quantity.text for quantity in claim.quantities if _other_quantity(quantity, claim, witness, related)]:
        return Conflict("number", tuple(dict.fromkeys(wrong)))
    if wrong := [name for name in claim.names if _other_name(name, claim, witness, related)]:
        return Conflict("name", tuple(wrong))
    if wrong := _exchanged_nouns(claim, witness):
        return Conflict("word", tuple(wrong))
    return Conflict("denied") if _differ_in_denial(claim, witness) else None


def _other_quantity(quantity: Quantity, claim: Statement, witness: Statement, related: Sequence[Statement]) -> bool:
    """Whether the witness lacks the quantity and holds one of its unit that the claim lacks.

    A claim of several such quantities may take them from several related sentences.
    """
    several = sum(other_claimed.unit == quantity.unit for other_claimed in claim.quantities) > 1
    if any(
        quantity.matches(other) for sentence in (related if several else [witness]) for other in sentence.quantities
    ):
        return False
    others = (other for other in witness.quantities if other.unit == quantity.unit)
    return any(not any(other.matches(other_claimed) for other_claimed in claim.quantities) for other in others)


def _other_name(name: str, claim: Statement, witness: Statement, related: Sequence[Statement]) -> bool:
    """Whether no related sentence has the name and the witness has one that the claim lacks. A claim of several names
    must share one with the witness, else they may be about different things. A month or weekday must be replaced by
    another one."""
    if any(name in sentence.name_index for sentence in related):
        return False
    if len(claim.names) > 1 and not any(each in witness.name_index for each in claim.names):
        return False
    others = (other for other in witness.names if name not in _CALENDAR or other in _CALENDAR)
    return any(other not in claim.name_index for other in others)


def _exchanged_nouns(claim: Statement, witness: Statement) -> list[str]:
    """Korean nouns in whose place the witness, otherwise the same, has another noun with the same particle. Korean has
    no capitals to recognise a name by, so any noun may be one."""
    missing = [word.text for word in claim.words if word.forms.isdisjoint(witness.forms) and not _part(word, witness)]
    if len(claim.words) - len(missing) < COPIED:
        return []
    roles = {particle(word.text) for word in witness.words if word.forms.isdisjoint(claim.forms)} - {""}
    return [word for word in missing if particle(word) in roles]


def _differ_in_denial(claim: Statement, witness: Statement) -> bool:
    """Whether one denies a word that the other affirms; as many denials on both sides are a paraphrase."""
    return len(claim.denied) != len(witness.denied) and (_denies(claim, witness) or _denies(witness, claim))


def _denies(denier: Statement, other: Statement) -> bool:
    return any(
        not word.forms.isdisjoint(other.affirmed) and word.forms.isdisjoint(denier.affirmed) for word in denier.denied
    )
