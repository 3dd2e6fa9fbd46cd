"""Korean particles that fit the word before them.

A text leaves the choice open in brackets, first the form after a final consonant: `예산[은/는] 1.5억[이에요/예요]`.
Digits and capital letters are read aloud as in Korean (3 삼, L 엘), `%` as 퍼센트.
"""

from __future__ import annotations

import re

_CHOICE = re.compile(r"(?P<last>\w|%)(?P<between>[^\w%\[]*)\[(?P<closed>[^/\[\]]+)/(?P<open>[^/\[\]]*)\]")
_CLOSED = frozenset("013678LMNR")  # of digits and letters, those whose names end with a consonant
_RIEUL = frozenset("178LR")  # of these, those that end with ㄹ
_FINALS = 28  # kinds of final consonants, none included
_FINAL_RIEUL = 8


def with_particles(text: str) -> str:
    """Every choice made. After ㄹ, 으로 is 로."""
    return _CHOICE.sub(_fitting_particle, text)


def _fitting_particle(match: re.Match[str]) -> str:
    last, closed = match["last"], match["closed"]
    takes_open = not _ends_closed(last) or (closed.startswith("으로") and _ends_with_rieul(last))
    return last + match["between"] + (match["open"] if takes_open else closed)


def _ends_closed(last: str) -> bool:
    return _final(last) > 0 if "가" <= last <= "힣" else last in _CLOSED


def _ends_with_rieul(last: str) -> bool:
    return _final(last) == _FINAL_RIEUL if "가" <= last <= "힣" else last in _RIEUL


def _final(syllable: str) -> int:
    return (ord(syllable) - ord("가")) % _FINALS
