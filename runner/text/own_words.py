"""What a text says itself: without code, data, hidden characters, forged roles and what it quotes of others."""

from __future__ import annotations

import re

QUOTED_WORDS = 3  # up to so many are a name in quotation marks
_UNREAD = re.compile(  # what reads backwards, code, data, markup, quoted lines, roles that nobody here has
    "[\u202d\u202e][^\u202c\n]*\u202c?|(?:```|~~~)(?:.|\n)*?(?:```|~~~|\\Z)|\\{[^\n]*\\}|</?[A-Za-z][^<>\n]{0,80}>"
    r"|^\s*(?:>.*|(?:assistant|user|system|human|ai|bot|developer|사용자|어시스턴트|시스템|도우미|봇)\s*[:：].*"
    r"|#+\s*(?:system|assistant|user|시스템).*)$",
    re.IGNORECASE | re.MULTILINE,
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_QUOTED = re.compile(
    r"“([^”]{1,5000})”|「([^」]{1,5000})」|『([^』]{1,5000})』|(?<![A-Za-z0-9])\"([^\"]{1,5000})\""
    r"|(?<![\w'])'([^'\n]{1,500})'(?![A-Za-z0-9])|‘([^’\n]{1,500})’(?![A-Za-z0-9])"
)
_SPOKEN = re.compile(
    r"(?:님이|께서|[가이]|\b(?:said|told \w+|goes|wrote:?|emailed:?|keeps (?:saying|going)))\s$", re.IGNORECASE
)
_SAYING = re.compile(r"[:：=?!]|\b(?:is|are|was|am)\b|[가-힣](?:다|요)$")


def own_words(text: str) -> str:
    """What stands in quotation marks stays where it is a name, or where it is what a person is told to have said."""
    return _QUOTED.sub(_unquoted, _INVISIBLE.sub("", _UNREAD.sub(" ", text)))


def _unquoted(match: re.Match[str]) -> str:
    inner = next(group for group in match.groups() if group is not None)
    is_name = len(inner.split()) <= QUOTED_WORDS and not _SAYING.search(inner)
    is_of_a_person = _SPOKEN.search(match.string, max(0, match.start() - 20), match.start()) is not None
    return match[0] if is_name or (is_of_a_person and not inner.endswith("?")) else "…"
