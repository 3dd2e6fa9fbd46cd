"""The one form in which texts are compared: `fold` to find something in a text, `normalise` to compare all of it.

Both start from what a reader sees (runner.text.markup) in Unicode NFC. Forms of a character that mean the same are one
(full width, ligatures, ㎏, Ⅳ, no-break space, every dash, curly quotes); ½ and 10² stay. Letters without a width,
accents of Latin letters, letter case and thousands separators (1,000; 1.000,50) go.

`normalise` goes on from there as the scripts of SQuAD (Rajpurkar et al., 2016) and KorQuAD 1.0 (Lim et al., 2019) do,
for exact match and token F1, and keeps accents as they do. It differs from them in what tells answers apart:

- Symbols between two letters are deleted (U.S. = US), as SQuAD does; elsewhere they are spaces. A symbol that belongs
  to a word stays: C++, C#, .NET, --force. Numbers keep what changes their value: a decimal point and a minus sign (2.5
  is not 25, -5 is not 5, .5 = 0.5); other marks between digits separate (1939-1945 is two numbers).
- An article goes only in front of another word: the answers A, Vitamin A and The The remain.
- Text of which nothing would be left (++, 👍) stays as it is, so that it equals only itself.
- Tokens are words, except that each Hangul syllable, Chinese character or kana is a token of its own (the mixed
  segmentation of CMRC 2018, Cui et al., 2019). KorQuAD compares all single characters; here a number or a Latin word is
  compared whole, so 1989 and 1998 have nothing in common.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from runner.text.markup import visible_text
from runner.text.patterns import compile_late

NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that put no space between words: Han, kana, Thai, Lao, Burmese, Khmer."""

_SAME = compile_late(
    "[\u00a0\u2000-\u200a\u202f\u205f\u3000\u2100-\u214e\u2160-\u217f\u2460-\u24ff\u2026\u3200-\u33ff\uf900-\ufaff\ufb00-\ufb06\uff01-\uff5e"
    "\uffe0-\uffe6\u00aa\u00ba]|(?<=[^\\W\\d_])[\u00b2\u00b3\u00b9\u2070-\u208e]"
)
_INVISIBLE = compile_late("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe0e\ufe0f\ufeff]")
_ACCENT = compile_late("(?<=[a-zA-Z\u0370-\u03ff])[\u0300-\u036f]+")
_EM_DASH = compile_late(r"(?<=[^\W\d])[—―](?=[^\W\d])")
_DASH = compile_late("[\u2010-\u2015\u2212\ufe58\ufe63]")
_SPACED_RANGE = compile_late(r"(?<=\d) ?- ?(?=\d)")
_CONTROL = compile_late(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "‛": "'", "´": "'", "“": '"', "”": '"', "„": '"', "′": "'"})
_THOUSANDS = compile_late(r"(?<=\d),(?=\d{3}(?!\d))")
_CONTINENTAL = compile_late(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+),(\d{1,2})(?!\d)")
_CJK = r"\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_PUNCTUATION = compile_late(r"(?:[^\w\s]|_)+")
_ARTICLE = compile_late(rf"\b(?:a|an|the)\s+(?=[^\W{_CJK}])")
_TOKEN = compile_late(rf"[{_CJK}]|[^\s{_CJK}]+")
_ONLY_CJK = compile_late(rf"[{_CJK}]")
_POINT = compile_late(r"(?<!\.)\.$")
_SUFFIX = compile_late(r"\+{1,2}|#")
_PREFIX = compile_late(r"(?<![-.])(--?|[.])$")


@lru_cache(maxsize=2048)
def cased(text: str) -> str:
    """What a reader sees, in one form of each character; letter case, accents and line breaks stay."""
    plain = unicodedata.normalize("NFC", _INVISIBLE.sub("", _CONTROL.sub(" ", visible_text(text))))
    if plain.isascii():
        return _decimal(plain)
    plain = _SAME.sub(lambda match: unicodedata.normalize("NFKC", match[0]), plain).translate(_QUOTES)
    return _decimal(unicodedata.normalize("NFC", _DASH.sub("-", _EM_DASH.sub(" - ", plain))))


def fold(text: str) -> str:
    """The form in which something is found in a text: without case and accents. Line breaks stay."""
    return strip_accents(cased(text).casefold())


def strip_accents(text: str) -> str:
    """Returns the text without the accents of Latin and Greek letters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """The form in which whole answers are compared: words and numbers, one space between them."""
    plain = unicodedata.normalize("NFC", cased(text).casefold())
    words = _ARTICLE.sub("", " ".join(_PUNCTUATION.sub(_mark, plain).split()))
    return words or " ".join(plain.split()) or " ".join(text.split())


def tokens(text: str) -> list[str]:
    """Words of the normalised text; Hangul syllables, Chinese characters and kana one by one."""
    return _TOKEN.findall(normalise(text))


def _decimal(text: str) -> str:
    """Numbers without thousands separators, with a decimal point."""
    text = _CONTINENTAL.sub(lambda match: f"{match[1].replace('.', '')}.{match[2]}", text)
    return _SPACED_RANGE.sub("-", _THOUSANDS.sub("", text))


def _mark(match: re.Match[str]) -> str:
    """The replacement of a run of characters that are neither letters, digits nor space."""
    run, text = match[0], match.string
    before = text[match.start() - 1 : match.start()]
    after = text[match.end() : match.end() + 1]
    accents = "".join(char for char in run if unicodedata.category(char).startswith("M"))
    if accents:
        return accents
    if after.isdigit() and _POINT.search(run) and not (run == "." and before.isalpha()):
        return "." if before.isdigit() and run == "." else " 0."
    if run[-1] in "-−" and after.isdigit() and not before.isalnum():
        return " -"
    between = before.isalnum() and after.isalnum() and not _ONLY_CJK.search(before + after)
    return "" if between and not (before.isdigit() and after.isdigit()) else _symbol_of_word(run, before, after)


def _symbol_of_word(run: str, before: str, after: str) -> str:
    """A symbol that belongs to the word before it (C++) or after it (.NET, --force), else a space."""
    if suffix := _SUFFIX.match(run) if before.isalnum() else None:
        return f"{suffix[0]} "
    prefix = _PREFIX.search(run) if after.isascii() and after.isalpha() and not before.isalnum() else None
    return f" {prefix[1]}" if prefix else " "
