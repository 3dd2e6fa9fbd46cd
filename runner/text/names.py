"""Proper names and identifiers: words of a claim that a source must hold literally."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property, lru_cache

from runner.text.language import other_language
from runner.text.units import UNITS
from runner.text.words import FUNCTION_WORDS, english_stem

_IDENTIFIER = re.compile(r"\b(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*\b|\b\d+(?:\.\d+){2,}\b")
_QUANTITY = re.compile(
    r"\d+(?i:st|nd|rd|th)(?:-[A-Za-z]+)*|\d+(?:\.\d+)?[A-Za-z]{1,6}|\d+(?:-[A-Za-z]+)+|\d+(?:\.\d+)?[A-Z]"
)
_CAPITALISED = re.compile(
    r"(?<![\w.'’-])[A-ZÀ-Þ][A-Za-zÀ-ɏ]+(?:['’](?!s\b)[A-Za-zÀ-ɏ]+)*(?:-[A-Z][A-Za-zÀ-ɏ]+)*(?![\w])"
)
_FAMILY_NAMES = (
    "김이박최정강조윤장임한오서신권황안송류홍전고문손양배백허남심노하곽성차주우구민유나진지엄채원천방공현함변염"
    "추도석선설마길연위표명기반왕금옥육인맹제모탁"
)
_PLACES = (
    "서울|부산|대구|인천|광주|대전|울산|세종|수원|성남|판교|제주|강남|경기|강원|충북|충남|전북|전남|경북|경남|한국|미국|일본|중국|영국|독일"
    "|프랑스|런던|파리|뉴욕|도쿄|베이징|싱가포르"
)
_KOREAN_NAME = re.compile(
    rf"(?<![가-힣])(?:(?P<person>[{_FAMILY_NAMES}][가-힣]{{2}})"
    r"(?=(?:씨|님|은|는|이|가|을|를|의|에게|과|와|도|이다|입니다|이며|이고)(?![가-힣]))"
    rf"|(?P<place>{_PLACES})(?=(?:시|도|특별시|광역시|에서|에|은|는|이|가|을|를|의|로|으로|과|와|입니다|이다|에는|에도"
    r"|까지|부터|점|지사|사무소)?(?![가-힣])))"
)
_INTRODUCED = re.compile(r"\(\s*[A-Z]{2,}s?\s*\)")
_PART = re.compile(r"[^\W_]+")
_HANGUL = re.compile(r"[가-힣]")
_KOREAN_WEEKDAY = re.compile(r"[월화수목금토일]요일")
_LABEL = re.compile(r"^\W*[A-Z][\w'’/-]*(?:[ ,&]+(?:[A-Z][\w'’/-]*|and|or|of|the|to|for|in|a|with|your)){0,8}:(?=\s|$)")
_NEAR = 20  # characters before a word that show whether a sentence starts with it
_SENTENCE_START = re.compile(r"(?:[.!?:;\n]\s+|[-*•]\s+|\*\*|[\"“(])$")
_COMMON_ACRONYMS = frozenset(["TV", "OK", "ID", "FAQ", "AKA", "US", "USA", "UK"])


def names(text: str) -> list[str]:
    """Names in order of kind, each once: identifiers with digits, capitalised words (not at the start of a
    sentence or in a label such as "Next Steps:", and not in German, where all nouns have a capital), Korean persons
    before a particle, places and weekdays."""
    plain = _INTRODUCED.sub("", _LABEL.sub(lambda match: " " * len(match[0]), text))
    unique: dict[str, None] = {}
    for match in _IDENTIFIER.finditer(plain):
        if not _QUANTITY.fullmatch(match[0]):
            unique[match[0]] = None
    plain = _IDENTIFIER.sub(lambda match: "0" * len(match[0]), plain)
    if other_language(text) != "de":
        unique.update(dict.fromkeys(_capitalised_names(plain)))
    for match in _KOREAN_NAME.finditer(plain):
        unique[match["person"] or match["place"]] = None
    unique.update(dict.fromkeys(_KOREAN_WEEKDAY.findall(plain)))
    return list(unique)


def _capitalised_names(text: str) -> Iterator[str]:
    """Capitalised words, those next to each other as one name."""
    name, end = "", -1
    for match in _CAPITALISED.finditer(text):
        if match[0].lower() in FUNCTION_WORDS or not _is_name(text, match):
            continue
        if name and text[end : match.start()] == " ":
            name = f"{name} {match[0]}"
        else:
            if name:
                yield name
            name = match[0]
        end = match.end()
    if name:
        yield name


def _is_name(text: str, match: re.Match[str]) -> bool:
    """A capital at the start of a sentence does not make a name, unless all letters are capitals or a name follows."""
    if match[0] in _COMMON_ACRONYMS or (match[0].isupper() and match[0].lower() in UNITS):
        return False
    if match[0].isupper() or not _starts_sentence(text, match.start()):
        return True
    following = _CAPITALISED.match(text, match.end() + 1)
    return following is not None and following[0].lower() not in FUNCTION_WORDS


def _starts_sentence(text: str, position: int) -> bool:
    before = text[max(0, position - _NEAR) : position]
    return not before.strip() or _SENTENCE_START.search(before) is not None


class NameIndex:
    """The words of a text, for asking whether it holds a name."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _folded_text(self) -> str:
        return _fold(self._text)

    @cached_property
    def _parts(self) -> list[str]:
        return _PART.findall(self._folded_text)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(map(english_stem, self._parts))

    @cached_property
    def _joined_parts(self) -> str:
        return "".join(self._parts)

    @cached_property
    def _initials(self) -> str:
        return "".join(part[0] for part in self._parts)

    @cached_property
    def _after_capital(self) -> frozenset[str]:
        return frozenset(map(_fold, re.findall(r"\b[A-Z][\w.'’-]*\s+([A-Z]\w+)", self._text)))

    def __contains__(self, name: str) -> bool:
        """Regardless of case, accents and hyphens: American matches America, an acronym the initials of words, a full
        name its family name alone (Greg Daniels: Daniels, unless another capitalised word precedes it)."""
        if not name.isascii() and _HANGUL.search(name):
            return _fold(name) in self._folded_text
        *first, last = name.split()
        return self._holds(last) and (all(map(self._holds, first)) or _fold(last) not in self._after_capital)

    def _holds(self, word: str) -> bool:
        parts = _PART.findall(_fold(word))
        letters = "".join(parts)
        acronym = word.removesuffix("s")
        return (
            all(english_stem(part) in self._words for part in parts)
            or (len(letters) >= 5 and letters in self._joined_parts)
            or (len(acronym) >= 3 and acronym.isupper() and acronym.lower() in self._initials)
            or any(_same_nation(letters, known) for known in self._words if known[:3] == letters[:3])
        )


def _same_nation(first: str, second: str) -> bool:
    """America and American, Italy and Italian, China and Chinese."""
    short, long = sorted((first, second), key=len)
    added = re.fullmatch(rf"{re.escape(short)}(?:n|an|ian|ese|ish|i)|{re.escape(short[:-1])}(?:ian|ese|ish)", long)
    return len(short) >= 4 and added is not None


@lru_cache(maxsize=4096)
def _fold(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize(
        "NFC", "".join(letter for letter in letters if not unicodedata.combining(letter) or "ᄀ" <= letter <= "ᇿ")
    )
