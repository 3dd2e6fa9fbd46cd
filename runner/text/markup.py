"""What a reader sees of a text in Markdown or HTML: its words, without the marks that set them, and without notes on
where they come from.

Removed are HTML tags and comments, entities, emphasis, code fences and back-ticks, headings, list marks, rules of
tables, link targets, and citations: [1], [^1], 【3†a.pdf】, (source: a.pdf), footnote digits. What is struck out is not
said. A cell of a table ends like a clause (" ; "), a block like a line.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from runner.text.citations import without_citations
from runner.text.patterns import compile_late

_MAY_HAVE_MARKUP = compile_late(
    r"[*_`~<&#|\[\]^>【†¹²³⁰⁴-⁹]|^\s*(?:[-•+]|\d{1,2}[.)])\s|[(](?:sources?|출처|see|cf|ref|참고|근거)\b"
    r"|[(][^()\n]*(?:\d{4}|p\. ?\d|쪽|참조|et al)|[가-힣]\d{1,2}[)]",
    re.MULTILINE | re.IGNORECASE,
)
STRUCK = compile_late(r"~~(?=\S).+?(?<=\S)~~|<(del|s|strike)\b[^<>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_UNSEEN = compile_late(r"<!--.*?-->|<(script|style)\b[^<>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_CELL_TAG = compile_late(r"</t[dh]\s*>", re.IGNORECASE)
_BLOCK_TAG = compile_late(
    r"</?(?:address|article|blockquote|br|dd|div|dl|dt|h[1-6]|hr|li|ol|p|pre|section|table|tbody|thead|tr|ul)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_INLINE_TAG = compile_late(
    r"</?(?:a|abbr|b|big|cite|code|em|font|i|img|ins|kbd|mark|q|samp|small|span|strong|sub|sup|td|th|tt|u|var)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_FENCE = compile_late(r"^[ \t]*(?:>[ \t]*)*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_LINK = compile_late(r"!?\[([^\]\[\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\)")
_NOTE = compile_late(
    r"\s?(?:\[\^[\w-]{1,12}\]|\^\d{1,2}\^|【[^】\n]*[\d†][^】\n]*】"
    r"|[(\[](?:sources?|ref|출처|참고|근거)\b ?\d*[:.][^)\]\n]*[)\]]"
    r"|\((?:see|cf\.?)\b[^()\n]*\)|\([^()\n]*(?:\bpp?\. ?\d|\d쪽|참조|\bet al\b)[^()\n]*\)"
    r"|\([^\W\d_][^()\d\n]{1,40}, (?:1[5-9]|20)\d\d[a-z]?(?:[,;:] [^()\n]*)?\))",
    re.IGNORECASE,
)
_FOOTNOTE_LINE = compile_late(r"^\s*(?:\[\^[\w-]+\]:|[¹²³⁰⁴-⁹]+\s).*$", re.MULTILINE)
_FOOTNOTE = compile_late(r"(?<=[^\W\d_]{3})[¹²³⁰⁴-⁹]{1,2}(?![^\W_])|(?<=[.,;:!?)\]])[¹²³⁰⁴-⁹]{1,2}(?![^\W_])")
_HANGUL_NOTE = compile_late(r"(?<=[가-힣])\d{1,2}\)(?=[.,\s]|$)")
_RULE = compile_late(
    r"^[ \t]*(?:\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?|[*_]{3,})[ \t]*$", re.MULTILINE
)
_ROW = compile_late(r"^[ \t]*\|(.*?)\|?[ \t]*$", re.MULTILINE)
_BULLET = compile_late(r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}|[-*+•◦▪])[ \t]+(?=\S)|^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_NUMBERED = compile_late(r"^[ \t]*\d{1,2}[.)][ \t]+(?=\S)", re.MULTILINE)
_EMPHASIS = compile_late(r"\*+(?=[^\s*])|(?<=[^\s*])\*+|(?<!\w)_+(?=[^\W_])|(?<=[^\W_])_+(?!\w)|`+")


@lru_cache(maxsize=1024)
def visible_text(text: str) -> str:
    """Returns the text as it is read; one that is nothing but marks comes out empty."""
    if _MAY_HAVE_MARKUP.search(text) is None:
        return text
    seen = STRUCK.sub(" ", _UNSEEN.sub(" ", text))
    if "<" in seen:
        seen = _INLINE_TAG.sub("", _BLOCK_TAG.sub("\n", _CELL_TAG.sub(" ; ", seen)))
    seen = _LINK.sub(r"\1", _FENCE.sub("", html.unescape(seen)))
    without_notes = _HANGUL_NOTE.sub(_note, _FOOTNOTE.sub("", _without_notes(seen)))
    seen = without_notes if any(map(str.isalnum, without_notes)) else seen
    seen = _BULLET.sub("", _ROW.sub(_cells, _RULE.sub("", seen)))
    if len(_NUMBERED.findall(seen)) > 1:
        seen = _NUMBERED.sub("", seen)
    return _EMPHASIS.sub("", seen)


def _without_notes(text: str) -> str:
    return _FOOTNOTE_LINE.sub("", _NOTE.sub("", without_citations(text)))


def _note(mark: re.Match[str]) -> str:
    """Nothing for the mark of a footnote, 3), that closes no bracket."""
    before = mark.string[: mark.start()]
    return mark[0] if before.count("(") > before.count(")") else ""


def _cells(row: re.Match[str]) -> str:
    return " ; ".join(cell.strip() for cell in row[1].split("|"))
