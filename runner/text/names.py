"""Proper names and identifiers: the words of a claim that a source must contain literally."""

from __future__ import annotations

import re
import unicodedata

from runner.text.words import STOPWORDS

_IDENTIFIER = re.compile(r"\b(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*\b|\b\d+(?:\.\d+){2,}\b")
_QUANTITY_LIKE = re.compile(r"^\d+(?:\.\d+)?[A-Za-z]{1,6}$|^\d+(?:-[a-z]+)+$|^v?\d+$")
_CAPITALISED = re.compile(r"(?<![\w.])[A-Z][A-Za-zÀ-ɏ]*(?:[-'’&][A-Z]?[A-Za-zÀ-ɏ]+)*")
_ACRONYM = re.compile(r"\b[A-Z]{2,}s?\b")
_KOREAN_PERSON = re.compile(
    r"(?<![가-힣])(?P<name>[김이박최정강조윤장임한오서신권황안송류홍][가-힣]{2})(?=(?:은|는|이|가|을|를|의|에게|씨|님|과|와|도|이다|입니다|이며)(?![가-힣]))"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n]\s+|[-*•]\s+|\*\*|[\"“(])$")


def names(text: str) -> list[str]:
    """Names in order, each once: capitalised words inside a sentence, acronyms, identifiers with digits, Korean
    names of persons (a family name and two syllables before a particle)."""
    found: dict[str, None] = {}
    for match in _IDENTIFIER.finditer(text):
        if not _QUANTITY_LIKE.match(match[0]):
            found[match[0]] = None
    for match in _CAPITALISED.finditer(text):
        word = re.sub(r"['’]s$", "", match[0])
        if len(word) > 1 and word.lower() not in STOPWORDS and _is_name(text, match.start(), word):
            found[word] = None
    for match in _KOREAN_PERSON.finditer(text):
        found[match["name"]] = None
    return list(found)


def _is_name(text: str, start: int, word: str) -> bool:
    """A capital at the start of a sentence tells nothing, unless the word is an acronym."""
    return _ACRONYM.fullmatch(word) is not None or _SENTENCE_START.search(text[:start]) is None


def contains_name(text: str, name: str) -> bool:
    """Whether the text holds the name, whatever its case, accents and hyphens."""
    return _folded(name) in _folded(text)


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return re.sub(r"[\s\-‐-―.'’]+", "", "".join(c for c in letters if not unicodedata.combining(c)))
