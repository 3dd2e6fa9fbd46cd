"""Fact matching: whether a text says something, in one of the forms in which it may be written.

A text and what is looked for are read into the same units: words without their inflection, amounts by value and unit,
dates and times of day. What is looked for stands where

- its letters stand, in the form of `runner.text.normal_form.fold`; white space is folded, counts for nothing beside
  Hangul, and stands for a hyphen or a full stop between words. An article in front does not count: the cat, a cat, cat.
- or its units stand one after the other: English words in any inflection (a capitalised word is a name and has none
  but 's), Korean words before any ending (runner.text.endings), amounts of the same value (runner.text.amounts):
  1억 5천만 = 150,000,000원 = 1.5억, 20% = 20퍼센트, 오후 3시 = 15:00, 11월 3일 = 2026-11-03.
- What has neither letter nor digit (++, 👍), or is markup itself, stands where the text contains it as it is.

It stands by itself:

- A number is not part of another one: 10 is not in 110, 10.5, 10:30, 10억 or 10 million, 1억 not in 1.2억 or in
  1억 5000만, 5 not in -5. A unit may follow in Hangul (10명, 1.5억 원); Latin letters may not (10k, 10GB).
- A word is not part of another one (cat is not in concat, 민수 not in 김민수), though a word of another script may
  be written next to it (AWS는). After Hangul only what may follow a noun does: 부산으로는, not 부산물. In scripts
  without spaces (東京), and in Korean that is written without them, a word may stand inside of a run.
- What tells it from something else stays with it: a symbol (C is not in C++), an article that is a name (Vitamin A, not
  "a vitamin"), letter case where a small word differs by it alone (US, us).

And the text states it (`shows`): one of its places is neither denied, given up or past, nor only asked, wished,
possible or under a condition (runner.text.stance). `mentions` asks only whether it stands there, `gives` whether it
is said as the answer to a question.

What may be dropped also depends on the other references of a data set (`Distinctions`): where another one of them
stands in the text as it is written, and this one does not, the text says the other one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from runner.text.amounts import Amount, amounts
from runner.text.endings import follows, follows_count, melts
from runner.text.markup import STRUCK
from runner.text.normal_form import NO_SPACES, cased, strip_accents
from runner.text.patterns import compile_late
from runner.text.words import FUNCTION_WORDS, english_stem
from runner.text.words import forms as word_forms

Span = tuple[int, int]

_ARTICLE = compile_late(r"^(?:[Aa]n?|[Tt]he) (?=[^\W_가-힣]{2}|\d)")
_FOLDED_ARTICLE = compile_late(r"(?:an?|the) ")
_OPTIONAL = str.maketrans("", "", " -.")
_HANGUL = compile_late(r"[가-힣]")
_LETTER = compile_late(rf"[^\W\d가-힣{NO_SPACES}]")  # of a script that puts spaces between words, but Hangul
_REST = compile_late(r"[가-힣]*")
_LAST_WORD = compile_late(r"[가-힣]+$")
_MARKUP = compile_late(r"[*_`~<>&#|\[\]^【()\\¹²³⁰⁴-⁹]")

# What may not precede or follow a number, and a number that ends with 억 and the like.
_BEFORE = compile_late(rf"(?:\d|\d[.:/]|(?<!\w)[.\-]|[^\W\d가-힣{NO_SPACES}])$")
_AFTER = compile_late(
    rf"\d|[.:/]\d|[^\W\d가-힣{NO_SPACES}]|\s?[조억만천백십万億亿兆千百十]|\s?(?:hundred|thousand|million|billion|trillion|bn)(?![a-z])"
)
_LARGE = compile_late(r"\d\s?[조억만천백십]+$")
_LARGE_AFTER = compile_late(r"[조억만천백십]|\s?\d+(?:\.\d+)?\s?[조억만천백원달불]")
_AMOUNT = compile_late(r"\d[\d.]*\s?(?:[조억만천백십]|원|달러|불)")
_AMOUNT_BEFORE = compile_late(r"\d\s?[조억만천백십]+\s?$")
_DIALLED = compile_late(r"\+?\d{2,4}(?:[-. ]?\d{3,4}){2}|\d{4}-\d{4}|\+\d{1,3}(?:[-. ]?\d{3,4}){2,3}")
_INITIALS = compile_late(r"(?:[A-Z][a-z]?\.){2,}|[A-Z]{2,4}|[A-Z][a-z][A-Z]")
_SHORTENED = {
    "담주": "다음 주", "담달": "다음 달", "카톡": "카카오톡", "알바": "아르바이트", "남친": "남자친구",
    "여친": "여자친구", "인스타": "인스타그램",
}  # fmt: skip
_SHORT = compile_late(
    "|".join(_SHORTENED).replace("알바", "알바(?!니)").replace("인스타", "인스타(?!그램)") + "|(?<=[월화수목금토일])욜"
)
MAX_REFERENCES = 20_000  # of a data set whose distinctions are found
WRAPPED = 60  # characters of a line that may continue in the next one
NEAR = 12  # characters before a number that show whether it continues there
TIGHT = 3  # syllables by which a run of Hangul is longer than what is looked for, where spaces were left out

# Symbols that belong to a word.
_SYMBOL = r"(?:\+{1,2}(?![\w+])|#(?!\w))"
_SYMBOL_AFTER = compile_late(_SYMBOL)
_SYMBOL_BEFORE = compile_late(r"(?:^|[\s(\"'`,])(?:--|\.)$")
_ONLY_AS_WRITTEN = compile_late(r"-[a-z]|.*\d\+", re.DOTALL)  # -y, 1++
_FOOTNOTE = compile_late(r"\d{1,2}(?!\w)")
_NOTED = compile_late(r"[a-z]{4}$")
_NAME_IN_CAPITALS = compile_late(r"(?:[A-Z]\.?){2,5}")

_WORD = compile_late(
    rf"(?:(?<![^\s(\"'`,])(?:--|\.)(?=[a-z]))?[^\W_가-힣{NO_SPACES}]+(?:['’][a-z]{{1,2}}(?![a-z]))?{_SYMBOL}?"
    rf"|[가-힣]+|[{NO_SPACES}]+"
)
_A = compile_late(r"\ba\b")
ARTICLES = frozenset(("a", "an", "the"))
_ARTICLE_OF_WORD = compile_late(r" ?[\"'(]?(?!(?:is|was|are|were|and|or|has|had|have|as|because|but)\b)[^\W_가-힣]{2}")
_POSSESSIVES = frozenset(
    (
        *("my", "your", "his", "her", "its", "our", "their", "some", "myself", "yourself", "himself"),
        *("herself", "ourselves", "themselves"),
    )
)
_TRIMMED = {
    "fri": "friday", "weds": "wednesday", "tues": "tuesday", "thurs": "thursday", "jan": "january", "feb": "february",
    "aug": "august", "sept": "september", "oct": "october", "nov": "november", "dec": "december",
}  # fmt: skip
_VERBAL = compile_late(r"[기다함음는한된할]$")
_LABEL = compile_late(
    r"(?:\b(?:table|figure|fig\.|section|page|p\.|chapter|appendix|footnote)|표|그림|부록) ?$"
)  # Table 12
_GOES_ON = compile_late(r"[.:]\d")  # v2 in v2.3
_COMPASS = compile_late(r"(?:^|[.!?,]|\b(?:in|to|from|of|at|near|around|for|than)) ?(?:new|west|north|south|east) $")


@dataclass(frozen=True, slots=True)
class Distinctions:
    """What tells the references of a data set apart: the references themselves, to be made once for all cases.

    A reference that a text says in another form than its own is not said where another reference stands in the text as
    it is written: Plan A is no answer to plan a where both are references.
    """

    references: frozenset[str]

    def written_in(self, text: str) -> tuple[str, ...]:
        """The references that a text contains as they are written."""
        normal = unicodedata.normalize("NFC", text)
        return tuple(each for each in self.references if each in normal)


def find_distinctions(references: Iterable[str]) -> Distinctions | None:
    """Returns the distinctions of all references of a data set; None for one of more than MAX_REFERENCES, all of which
    would have to be looked for in an answer."""
    all_references = frozenset(_strip(each) for each in references if each.strip())
    return Distinctions(all_references) if len(all_references) <= MAX_REFERENCES else None


def _strip(form: str) -> str:
    return unicodedata.normalize("NFC", form.strip())


def shows(text: str, forms: Iterable[str], *, besides: Iterable[str] = ()) -> bool:
    """Whether the text states one of the forms. What stands within one of `besides` does not count: 5월 shows in
    nothing that says 5월 20일, where that is what it was changed to."""
    from runner.text.stance import stance  # its patterns take a while to compile

    read = read_text(text)
    forms = list(forms)
    if any(_is_raw(text, form) for form in forms):
        return True
    return any(stance(read.lined, *span) == "stated" for span in _spans_outside(read, forms, besides))


def gives(answer: str, references: Iterable[str], distinctions: Distinctions | None = None) -> bool:
    """Whether an answer to a question gives one of the references: not where it says outright that this is not it
    (not 8 euros, 8유로가 아니라). What was, may be or would be can be what was asked for.

    Args:
        answer: of a system.
        references: right answers to the question.
        distinctions: of all references of the data set; None: nothing is known of others.
    """
    return any(_gives(answer, reference, distinctions) for reference in references)


def _gives(answer: str, reference: str, distinctions: Distinctions | None) -> bool:
    from runner.text.stance import is_refuted

    if is_same(answer, reference) or _is_raw(answer, reference):
        return True
    read = read_text(answer)
    is_stated = any(not is_refuted(read.plain, *span) for span in spans(answer, reference))
    return is_stated and not says_another(answer, reference, distinctions)


def says_another(answer: str, reference: str, distinctions: Distinctions | None) -> bool:
    """Whether the answer contains another reference of the data set that differs from this one by its form alone, and
    not this one."""
    if distinctions is None or is_written(answer, reference):
        return False
    return any(
        other != _strip(reference) and not is_written(other, reference) and mentions(other, [reference])
        for other in distinctions.written_in(answer)
    )


def is_told_by_case(form: str) -> bool:
    """Whether letter case alone tells a form from a common word: US, IT, a single capital letter."""
    return bool(_value(form).capitals)


def is_same(text: str, form: str) -> bool:
    """Whether a text is a form, and nothing else, as it is written."""
    return bool(form.strip()) and text.strip() == form.strip()


def is_written(text: str, form: str) -> bool:
    """Whether a text contains a form as it is written, in its letter case and with its symbols."""
    return bool(form.strip()) and _strip(form) in unicodedata.normalize("NFC", text)


def mentions(text: str, forms: Iterable[str]) -> bool:
    """Whether one of the forms occurs in the text, whether or not the text states it."""
    return any(_is_raw(text, form) or any(True for _ in spans(text, form)) for form in forms)


def shows_inside(text: str, forms: Iterable[str]) -> bool:
    """The same where longer words, but not longer numbers, may contain a form: for texts that must show nowhere."""
    plain = read_text(text).plain
    return any(
        _is_raw(text, form) or any(_is_whole_number(plain, span) for span in _occurrences(plain, form))
        for form in forms
    )


def _is_raw(text: str, form: str) -> bool:
    """Whether a form that has no letters and digits, or looks like markup, stands in the text as it is."""
    plain = form.strip()
    if not plain or (_has_letters(form) and not _MARKUP.search(form)):
        return False
    seen = text if STRUCK.search(form) else STRUCK.sub(" ", text)
    return plain in seen and (text.strip() == plain or not _has_letters(form) or _is_bordered(seen, plain))


@lru_cache(maxsize=65536)
def _has_letters(form: str) -> bool:
    return any(character.isalnum() for character in read_text(form).plain)


def _is_bordered(text: str, form: str) -> bool:
    """Whether the first occurrence of a form is not a part of a longer word."""
    start = text.index(form)
    before, after = text[max(0, start - 1) : start], text[start + len(form) : start + len(form) + 1]
    return not _join(before, form[0]) and not _join(form[-1], after)


def _join(one: str, other: str) -> bool:
    """Whether two characters beside each other are of one word."""
    return one.isalnum() and other.isalnum() and bool(_HANGUL.match(one)) == bool(_HANGUL.match(other))


def _spans_outside(read: Text, forms: Iterable[str], besides: Iterable[str]) -> Iterator[Span]:
    """The places of the forms outside of the spans of `besides`."""
    others = [span for form in besides for span in _spans(read, form)]
    return (
        span for form in forms for span in _spans(read, form) if not any(_is_within(span, other) for other in others)
    )


@dataclass(frozen=True, slots=True)
class Text:
    """A folded text with its lines, without them, and in its own letter case where that has the same length."""

    lined: str
    plain: str
    cased: str

    @property
    def has_capitals(self) -> bool:
        """Whether it has any letter in upper case."""
        return self.cased != self.plain


@lru_cache(maxsize=1024)
def read_text(text: str) -> Text:
    """A text as it is searched; line breaks within a sentence are spaces."""
    own = strip_accents(cased(text))
    folded = own.casefold()
    if not folded.isascii():
        folded = strip_accents(folded)
        folded = _SHORT.sub(lambda match: _SHORTENED.get(match[0], "요일"), folded)
    lined, lined_own = _join_wrapped_lines(folded), _join_wrapped_lines(own)
    plain = lined.replace("\n", " ")
    return Text(lined, plain, lined_own.replace("\n", " ") if len(lined_own) == len(plain) else plain)


def _join_wrapped_lines(text: str) -> str:
    """Replaces white space, and line breaks within a sentence, by one space."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    return "".join([line + (" " if len(line) > WRAPPED else "\n") for line in lines])[:-1]


@lru_cache(maxsize=8192)
def spans(text: str, form: str) -> tuple[Span, ...]:
    """The places of a form in the folded text (`read_text`), whether or not the text states it there: as it is written,
    or where it never stands so, by its units."""
    read = read_text(text)
    return tuple(_as_written(read, form)) or tuple(_in_other_words(read, form))


def _spans(text: Text, form: str) -> Iterator[Span]:
    yield from _as_written(text, form)
    yield from _in_other_words(text, form)


def _as_written(text: Text, form: str) -> Iterator[Span]:
    value, plain = _value(form), text.plain
    for span in _occurrences(plain, form) if value.is_literal else ():
        if _is_whole_number(plain, span) and _is_whole_word(plain, span) and _is_own(text, span, value):
            yield span


def _in_other_words(text: Text, form: str) -> Iterator[Span]:
    value = _value(form)
    for span in _by_units(text, value) if value.units else ():
        if (value.lone and not is_label(text, span)) or _is_own(text, span, value):
            yield span


def _is_own(text: Text, span: Span, value: _Value) -> bool:
    """Whether the place of an amount is not that of another (3시 in 3시간, 3시 30분), that of a name not within a
    longer one (York in New York), and that of a name in capitals not that of a common word (US in "us")."""
    plain = text.plain
    if value.lone is not None and value.lone.kind:
        return all(
            value.lone.is_same(amount)
            for amount in amounts(plain)
            if amount.kind and amount.start < span[1] and span[0] < amount.end
        )
    if value.lone is not None and is_label(text, span):
        return False
    if text.has_capitals and any(unit.word == "a" for unit in value.units) and _has_article(text, span):
        return False
    if value.capitals and not _is_in_capitals(text, span, value.capitals):
        return False
    return not (value.units and value.units[0].is_name and _COMPASS.search(plain[: span[0]]))


def _is_in_capitals(text: Text, span: Span, capitals: str) -> bool:
    """Whether a name in capitals that is a common word without them stands in capitals; a text without any shows it
    where it is no such word."""
    if text.cased[span[0] : span[1]].replace(".", "").strip() == capitals:
        return not is_article(text, span)
    return not text.has_capitals and not (capitals.lower() in FUNCTION_WORDS or is_article(text, span))


def _has_article(text: Text, span: Span) -> bool:
    """Whether an A of a name (Plan A) is an article in the text: plan a party."""
    return any(is_article(text, match.span()) for match in _A.finditer(text.plain, *span))


def is_label(text: Text, span: Span) -> bool:
    """Whether a number names a table, a page or the like: Table 12."""
    return _LABEL.search(text.plain, max(0, span[0] - NEAR), span[0]) is not None


def is_article(text: Text, span: Span) -> bool:
    """Whether a word is an article: in front of another word, in small letters or at the head of a sentence."""
    word = text.plain[span[0] : span[1]]
    if word not in ARTICLES or not _ARTICLE_OF_WORD.match(text.plain, span[1]):
        return False
    heads = not text.plain[: span[0]].rstrip("\"'( ") or text.plain[: span[0]].rstrip("\"'( ")[-1] in ".!?:"
    return heads or text.cased[span[0]].islower()


# --- as it is written -------------------------------------------------------------------------------


def _occurrences(plain: str, form: str) -> Iterator[Span]:
    """All occurrences of a form, overlapping ones too."""
    pattern = _pattern(form) if _squeezed(read_text(form).plain, article=True) in _squeezed(plain) else None
    match = pattern.search(plain) if pattern else None
    while pattern and match:
        yield match.span()
        match = pattern.search(plain, match.start() + 1)


@lru_cache(maxsize=8192)
def _squeezed(plain: str, *, article: bool = False) -> str:
    """A text without what a pattern makes optional: where that of a form is not in that of a text, no pattern need be
    compiled. `article`: without the one in front."""
    start = _FOLDED_ARTICLE.match(plain) if article else None
    return (plain[start.end() :] if start else plain).translate(_OPTIONAL)


@lru_cache(maxsize=65536)
def _pattern(form: str) -> re.Pattern[str] | None:
    """The pattern of a form, with an optional space beside Hangul, between a number and Hangul, before a currency; with
    a hyphen or a full stop where a space is, and the other way round."""
    own = read_text(form)
    article = _ARTICLE.match(own.cased)
    plain = own.plain[article.end() :] if article else own.plain
    if not any(character.isalnum() for character in plain):
        return None
    if len(_HANGUL.findall(plain)) > 2:
        plain = re.sub(r"(?<=[가-힣])(?=[가-힣])", " ", plain)
    tight = re.sub(r"(?<=[가-힣]) | (?=[가-힣])|(?<=\d)(?=[가-힣])|(?<=[조억만천백])(?=원|달러)", "\0", plain)
    if _DIALLED.fullmatch(plain):
        return re.compile("[-. ]?".join(re.escape(digit) for digit in re.sub(r"[-. ]", "", plain)))
    if _INITIALS.fullmatch(form.strip()):
        return re.compile("[.]?".join(re.escape(letter) for letter in plain.replace(".", "")))
    loose = re.sub(r"(?<=[a-z])-(?=[a-z0-9])", "\1", tight)
    loose = re.sub(r"(?<=[a-z]) ?(?=\d)", "\1", loose)
    loose = re.sub(r"(?<=[a-z])(?:\. ?| )(?=[a-z])", "\2", loose)
    if plain.isascii() and plain.isalpha() and 4 <= len(plain) <= 24:
        return re.compile("-?".join(plain))
    escaped = re.escape(loose).replace("\0", " ?").replace("\\ ?", " ?")
    return re.compile(escaped.replace("\1", "[- ]?").replace("\2", "(?:[.]? |-|[.])?"))


def _is_whole_number(plain: str, span: Span) -> bool:
    start, end = span
    before = plain[max(0, start - NEAR) : start]
    if plain[start].isdigit() and (
        _BEFORE.search(before) or (_AMOUNT.match(plain, start) and _AMOUNT_BEFORE.search(before))
    ):
        return False
    if plain[end - 1].isdigit():
        return _AFTER.match(plain, end) is None
    return not (_LARGE.search(plain, start, end) and _LARGE_AFTER.match(plain, end))


def _is_whole_word(plain: str, span: Span) -> bool:
    start, end = span
    before, after = plain[max(0, start - 1) : start], plain[end : end + 1]
    if _HANGUL.match(plain[start]) and _HANGUL.match(before):
        return False
    if _LETTER.match(plain[start]) and (
        before.isdigit() or _LETTER.match(before) or _SYMBOL_BEFORE.search(plain[max(0, start - 3) : start])
    ):
        return False
    if plain[end - 1] in "+#" and after in ("+", "#"):
        return False
    if _LETTER.match(plain[end - 1]):
        if _FOOTNOTE.match(plain, end) and _NOTED.search(plain, start, end):
            return True
        return not (after.isdigit() or _LETTER.match(after) or _SYMBOL_AFTER.match(plain, end))
    return _ends_as_word(plain, span)


def _ends_as_word(plain: str, span: Span) -> bool:
    """Whether the Hangul after the span, if there is any, belongs to the same word, or to the next one where spaces
    were left out."""
    ending = _REST.match(plain, span[1])
    if ending is None or not ending[0]:
        return True
    word = _LAST_WORD.search(plain, *span)
    if word is None:
        return not plain[span[1] - 1].isdigit() or _ends_as_number(plain, span)
    is_counted = plain[word.start() - 1 : word.start()].isdigit()
    if is_counted and follows_count(ending[0]):
        return True
    return follows(word[0], ending[0]) or _is_left_out(plain, span, ending[0], is_counted=is_counted)


def _is_left_out(plain: str, span: Span, ending: str, *, is_counted: bool) -> bool:
    """Whether the next word follows without a space: after a number with its unit, or after at least three syllables
    of which a run of Hangul goes on for as long."""
    if is_counted:
        return len(ending) >= TIGHT and ending[0] not in "십백천만억조간반"
    return len(ending) >= TIGHT and span[1] - span[0] >= TIGHT and " " not in plain[span[0] - 12 : span[1] + 12].strip()


def _ends_as_number(plain: str, span: Span) -> bool:
    """Whether a number ends where the span does: a unit or an ending follows."""
    return any(amount.start <= span[0] and amount.end >= span[1] for amount in amounts(plain)) or follows_count(
        _rest_of_word(plain, span[1])
    )


def _rest_of_word(plain: str, at: int) -> str:
    match = _REST.match(plain, at)
    return match[0] if match else ""


# --- by units ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unit:
    """A word or an amount. `stem`: of an English word; `is_name`: no inflection but 's; `is_skipped`: an article or a
    possessive, which may be missing or another one."""

    start: int
    end: int
    word: str = ""
    stem: str = ""
    is_name: bool = False
    amount: Amount | None = None
    is_skipped: bool = False

    def says(self, value: _Unit) -> bool:
        """Whether this unit of a text is that of a value."""
        if value.amount is not None:
            return self.amount is not None and value.amount.is_same(self.amount)
        if self.amount is not None:
            return False
        if _HANGUL.match(value.word):
            return _says_korean(self.word, value.word)
        if not value.stem:
            return self.word == value.word
        return value.word in (self.word, _TRIMMED.get(self.word)) if value.is_name else self.stem == value.stem


def _says_korean(word: str, value: str) -> bool:
    if word.startswith(value) and follows(value, word[len(value) :]):
        return True
    if melts(value, word):
        return True
    if value.endswith("기") and len(value) > 1 and _verb(value[:-1]).match(unicodedata.normalize("NFD", word)):
        return True
    return _VERBAL.search(value) is not None and not (word_forms(value) - {value}).isdisjoint(word_forms(word))


@lru_cache(maxsize=4096)
def _verb(stem: str) -> re.Pattern[str]:
    """A verb in any form: with its last vowel drawn into the ending (그리다, 그려요), with ㄷ as ㄹ (걷다, 걸어요)."""
    letters = unicodedata.normalize("NFD", stem)
    last = letters[-1]
    vowel_forms = {
        "\u1175": "(?:\u1175|\u1167)",
        "\u11ae": "(?:\u11ae|\u11af)",
        "\u1169": "(?:\u1169|\u116a)",
        "\u116e": "(?:\u116e|\u116f)",
    }
    return re.compile(re.escape(letters[:-1]) + vowel_forms.get(last, re.escape(last)))


@dataclass(frozen=True, slots=True)
class _Value:
    """`units`: none where what is looked for can only be found as it is written; `is_literal`: whether it can be found
    as it is written; `lone`: the amount that is all of it; `capitals`: a name in capitals that is all of it, and a
    common word without them (US, A)."""

    units: tuple[_Unit, ...]
    is_literal: bool = True
    lone: Amount | None = None
    capitals: str = ""


@lru_cache(maxsize=65536)
def _value(form: str) -> _Value:
    text = read_text(form)
    units = [unit for unit in _units(text) if not unit.is_skipped]
    capitals = _capitals(text)
    if _ONLY_AS_WRITTEN.match(text.plain) or not any(unit.amount or unit.word for unit in units):
        return _Value((), capitals=capitals)
    lone = units[0].amount if len(units) == 1 else None
    is_spelled = lone is not None and not any(character.isdigit() for character in text.plain)
    return _Value(_with_names(text.cased, units), not is_spelled, lone, capitals)


def _capitals(text: Text) -> str:
    """The letters of a name in capitals that is a common word without them, a single letter included."""
    name = text.cased.strip()
    letters = name.replace(".", "")
    if len(letters) == 1 and letters.isupper() and letters.isascii():
        return letters
    return letters if _NAME_IN_CAPITALS.fullmatch(name) and letters.lower() in FUNCTION_WORDS else ""


def _with_names(form: str, units: Sequence[_Unit]) -> tuple[_Unit, ...]:
    """Capitalised words count as names, which have no inflection; the first of several only where the next one is a
    name, too."""
    capitals = {match[0].casefold() for match in re.finditer(r"[^\W\d_]+", form) if match[0][0].isupper()}
    words = [unit for unit in units if unit.stem]
    is_name = [unit.word.split("'")[0] in capitals and not unit.word.endswith(("day", "days")) for unit in words]
    if len(words) > 1 and is_name[0] and not any(is_name[1:2]):
        is_name[0] = False
    flags = dict(zip((unit.start for unit in words), is_name, strict=True))
    return tuple(replace(unit, is_name=flags.get(unit.start, False)) for unit in units)


@lru_cache(maxsize=1024)
def _units(text: Text) -> tuple[_Unit, ...]:
    """Words and amounts in order."""
    numbers = [_Unit(amount.start, amount.end, amount=amount) for amount in amounts(text.plain)]
    at = 0
    words: list[_Unit] = []
    for match in _WORD.finditer(text.plain):
        while at < len(numbers) and numbers[at].end <= match.start():
            at += 1
        if at < len(numbers) and numbers[at].start < match.end():
            continue
        word = match[0].replace("’", "'").removesuffix("'s")
        stem = _stem(word) if _LETTER.search(word) else ""
        is_skipped = word in _POSSESSIVES or (word in ARTICLES and is_article(text, match.span()))
        words.append(_Unit(*match.span(), word, stem, is_skipped=is_skipped))
    return tuple(sorted([*numbers, *words], key=lambda unit: unit.start))


_SPELLINGS = (
    (compile_late(r"(?<=[^aeiou])re$"), "er"), (compile_late(r"our(?=s?$|ed$|ing$|ite)"), "or"),
    (compile_late(r"ogue$"), "og"),
    (compile_late(r"is(?=e$|ed$|ing$|ation$)"), "iz"), (compile_late(r"^grey"), "gray"),
)  # fmt: skip


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    word = _TRIMMED.get(word, word)
    for pattern, spelling in _SPELLINGS if len(word) > 3 else ():
        word = pattern.sub(spelling, word)
    stem = english_stem(word)
    return stem.removesuffix("e") if len(stem) > 3 else stem


@dataclass(frozen=True, slots=True)
class _Reading:
    """The units of a text that state something, and the numbers of those that may match a unit of a value: by stem, by
    the first syllable of a Korean word, and all amounts."""

    units: tuple[_Unit, ...]
    places: dict[str, list[int]]


@lru_cache(maxsize=1024)
def _reading(text: Text) -> _Reading:
    units = tuple(unit for unit in _units(text) if not unit.is_skipped)
    places: dict[str, list[int]] = {}
    for number, unit in enumerate(units):
        places.setdefault(_key(unit), []).append(number)
    return _Reading(units, places)


def _key(unit: _Unit) -> str:
    """A key that two units share if one matches the other; the first consonant of a Korean word, since its vowel may
    change (걷다, 걸어요)."""
    if unit.amount is not None:
        return "0"
    if _HANGUL.match(unit.word):
        return unicodedata.normalize("NFD", unit.word[0])[0]
    return unit.stem or unit.word


def _by_units(text: Text, value: _Value) -> Iterator[Span]:
    read, plain, units, n = _reading(text), text.plain, value.units, len(value.units)
    for first in read.places.get(_key(units[0]), ()):
        spoken_units = read.units[first : first + n]
        if len(spoken_units) == n and all(one.says(other) for one, other in zip(spoken_units, units, strict=True)):
            span = spoken_units[0].start, _end(spoken_units[-1], units[-1])
            if _are_together(plain, spoken_units) and not (units[-1].word and _GOES_ON.match(plain, span[1])):
                yield span


def _end(unit: _Unit, value: _Unit) -> int:
    """The end of a place, without the endings of a Korean word."""
    if value.amount is None and _HANGUL.match(value.word) and unit.word.startswith(value.word):
        return unit.start + len(value.word)
    return unit.end


def _are_together(plain: str, units: Sequence[_Unit]) -> bool:
    """Whether nothing but white space, a hyphen or an article stands between the units, or the mark of a sentence."""
    return not any(re.search(r"[.!?;:()\n]\s", plain[one.end : other.start]) for one, other in pairwise(units))


def _is_within(span: Span, other: Span) -> bool:
    return span != other and other[0] <= span[0] and span[1] <= other[1]
