"""Which of many names occur in a text, in whole or in part, in any inflection."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.text.words import forms, is_content

PART = 0.5  # strength where all words of a name stand apart; of fewer, times the square of their share

_TERM = re.compile(r"[A-Za-zÀ-ɏ]+|[가-힣]+|\d+|[^\W\d_A-Za-zÀ-ɏ가-힣]+")
_HANGUL = re.compile(r"[가-힣]")


@dataclass(frozen=True, slots=True)
class Term:
    """A run of letters of one script, or of digits, where it stands, and its forms (runner.text.words)."""

    text: str
    start: int
    end: int
    forms: frozenset[str]


def terms(text: str) -> list[Term]:
    """The words of a text with their positions in it (after NFC) and the forms that they may be inflections of."""
    text = unicodedata.normalize("NFC", text)
    return [Term(match[0], *match.span(), _forms(match[0])) for match in _TERM.finditer(text)]


def _forms(run: str) -> frozenset[str]:
    is_word = run[0].isascii() or "À" <= run[0] <= "ɏ" or "가" <= run[0] <= "힣"
    return forms(run) if is_word and not run.isdigit() else frozenset({run})


@dataclass(frozen=True, slots=True)
class Mention:
    """`words`: those of the text that are in the name; `is_whole`: all of the name, without anything between.
    `strength` is 0..1: 1 for a whole name."""

    name: str
    words: str
    is_whole: bool
    strength: float


@dataclass(frozen=True, slots=True)
class _Name:
    owner: str
    text: str
    terms: tuple[frozenset[str], ...]
    joined: str  # lower-cased, nothing between its terms


class MentionIndex:
    """Finds names in texts. A word that few names have counts more (log of names / names with it)."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        """`names`: (owner, name)."""
        terms_of_names = ((owner, name, terms(name)) for owner, name in names)
        self._names = [
            _Name(owner, name, tuple(term.forms for term in parsed_terms), _join(parsed_terms))
            for owner, name, parsed_terms in terms_of_names
            if parsed_terms
        ]
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._by_start: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(self._names):
            for place, term_forms in enumerate(name.terms):
                for form in term_forms:
                    self._postings[form].append((number, place))
            if _HANGUL.search(name.joined):
                self._by_start[name.joined[:2]].append(number)
        self._weights = [[self._weight(term_forms) for term_forms in name.terms] for name in self._names]

    def _weight(self, term: frozenset[str]) -> float:
        return 0.2 + math.log((len(self._names) + 1) / (1 + max(len(self._postings[form]) for form in term)))

    def mentions(self, text: str) -> dict[str, Mention]:
        """The strongest mention of each owner that has any of its words in the text."""
        text_terms = terms(text)
        spans = {number: (first, last) for number, first, last in self._verbatim(text_terms)}
        best: dict[str, Mention] = {}
        for number, places in self._parts(text_terms).items():
            name = self._names[number]
            strength = 1.0 if number in spans else self._strength(number, places)
            before = best.get(name.owner)
            if before is None or strength > before.strength:
                best[name.owner] = self._mention(number, text, text_terms, spans.get(number), places, strength)
        return best

    def _parts(self, text_terms: Sequence[Term]) -> Mapping[int, dict[int, int]]:
        """name -> {term of the name: the first term of the text that says it}."""
        first_places: dict[int, dict[int, int]] = defaultdict(dict)
        for at, term in enumerate(text_terms):
            for form in term.forms:
                for number, place in self._postings.get(form, ()):
                    first_places[number].setdefault(place, at)
        for number, first, _ in self._joined_names(text_terms):
            first_places[number].setdefault(0, first)
        return first_places

    def _strength(self, number: int, places: Iterable[int]) -> float:
        weights = self._weights[number]
        share = sum(weights[place] for place in places) / sum(weights)
        return PART * share * share

    def _verbatim(self, text_terms: Sequence[Term]) -> Iterator[tuple[int, int, int]]:
        """(name, first term, last term) of names that occur verbatim."""
        for first, term in enumerate(text_terms):
            starts = {number for form in term.forms for number, place in self._postings.get(form, ()) if place == 0}
            for number in starts:
                name_terms = self._names[number].terms
                stretch = text_terms[first : first + len(name_terms)]
                if len(stretch) == len(name_terms) and all(
                    each.forms & name for each, name in zip(stretch, name_terms, strict=True)
                ):
                    yield number, first, first + len(name_terms) - 1
        yield from self._joined_names(text_terms)

    def _joined_names(self, text_terms: Sequence[Term]) -> Iterator[tuple[int, int, int]]:
        """Names with Hangul, which people space as they like: 위키 링크를 says 위키링크."""
        for first in range(len(text_terms)):
            ahead = "".join(term.text.lower() for term in text_terms[first : first + 8])
            for number in self._by_start.get(ahead[:2], ()):
                name = self._names[number].joined
                if ahead.startswith(name) and (last := _last_term(text_terms, first, len(name))) is not None:
                    yield number, first, last

    def _mention(
        self,
        number: int,
        text: str,
        text_terms: Sequence[Term],
        span: tuple[int, int] | None,
        places: Mapping[int, int],
        strength: float,
    ) -> Mention:
        name = self._names[number].text
        if span is not None:
            return Mention(name, text[text_terms[span[0]].start : text_terms[span[1]].end], True, strength)
        words = dict.fromkeys(text_terms[at].text for at in sorted(set(places.values())))
        telling = [word for word in words if is_content(word)]
        return Mention(name, ", ".join(telling or words), False, strength)


def _join(found: Iterable[Term]) -> str:
    return "".join(term.text.lower() for term in found)


def _last_term(text_terms: Sequence[Term], first: int, size: int) -> int | None:
    """The term with which a name of `size` letters ends; None where the rest of that term is no ending of it."""
    for at in range(first, len(text_terms)):
        term = text_terms[at].text
        if size <= len(term):
            return at if size == len(term) or term[:size] in text_terms[at].forms else None
        size -= len(term)
    return None
