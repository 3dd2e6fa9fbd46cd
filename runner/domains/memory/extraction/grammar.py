"""The purpose of a sentence, and the facts that it states, by the words and forms of words.LANGUAGE.yaml beside this
module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml

from runner.text.names import names
from runner.text.numbers import quantities
from runner.text.stance import stance
from runner.text.words import content_words
from runner.text.words import forms as forms_of

Mood = Literal[
    "question", "wish", "condition", "possibility", "cancellation", "correction", "hearsay", "changed", "chatter",
    "newly", "statement",
]  # fmt: skip
_MOODS: tuple[Mood, ...] = Mood.__args__[:-1]  # type: ignore[attr-defined]
UNREAL = _MOODS[:4]  # of these nothing is kept
LONG = 6  # words of a sentence that says something for all that there is small talk in it
LONGEST_KEY, LONGEST_VALUE = 9, 10  # words
_HANGUL, _ASKS = re.compile(r"[가-힣]"), re.compile(r"[?？]\W*$")
_MARK = re.compile(r"\\.|\s…\s|.")
_MARKS = {"*": r"\w*", "<": r"(?<!\w)", ">": r"(?!\w)", "'": "['’]", "$": r"[\s.!?~^…;ㄱ-ㅎㅏ-ㅣ]*$", "^": "^"}
_QUOTES = " .,!;'\"“”‘’*_`"
WEEKDAY = re.compile(
    r"\b(?:mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:days?)?\b|[월화수목금토일]요일", re.IGNORECASE
)
VERSION = re.compile(r"\bv?\d+(?:\.\d+){2,}\b|\bv\d+(?:\.\d+)*\b", re.IGNORECASE)
_MOMENTS = frozenset(["date", "clock", "weekday", "quarter"])
_CODE = re.compile(r"\w*\d[\w.-]*|\bother\b|다른", re.IGNORECASE)  # the group size is not the other group's
_PERIOD = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|q[1-4])\b"
    r"|(?<!\d)\d{1,2}월(?!\s?\d)|(?<![\d.,$-])(?:19|20)\d\d년?(?![\d.,-])|\d분기"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """`old`: the value that the clause itself says is no longer true. Without a key, `old` identifies the fact that has
    changed. `is_loose`: the key is only the topic of the clause, so that facts of one key with values of different
    kinds are different facts."""

    key: str
    value: str
    old: str = ""
    is_loose: bool = False


# --- words and forms --------------------------------------------------------------------------------


def language_of(sentence: str) -> Literal["en", "ko"]:
    """Korean where a sentence has any Hangul, else English."""
    return "ko" if _HANGUL.search(sentence) else "en"


@cache
def table(language: str) -> dict[str, Any]:
    """The word table of a language. All leaves are texts."""
    text = Path(__file__).with_name(f"words.{language}.yaml").read_text(encoding="utf-8")
    return dict(yaml.load(text, yaml.BaseLoader))  # noqa: S506 - makes nothing but text: no is a word


def any_of(phrases: Iterable[str]) -> str:
    """A pattern for one of the phrases, the longest first."""
    return "(?:" + "|".join(_pattern(each) for each in sorted(phrases, key=len, reverse=True)) + ")"


def _pattern(phrase: str) -> str:
    is_korean = _HANGUL.search(phrase) is not None
    marks = _MARKS | {" ": r"\s?" if is_korean else r"\s+", " … ": r"\s(?:\S+\s+){0,4}?"}
    pattern = "".join(marks.get(mark, re.escape(mark.removeprefix("\\"))) for mark in _MARK.findall(phrase))
    starts, ends = phrase[0].isalnum() and not is_korean, phrase[-1].isalnum() and not is_korean
    return (r"(?<!\w)" if starts else "") + pattern + (r"(?![\w'’])" if ends else "")


@cache
def phrases(language: str, *path: str) -> re.Pattern[str]:
    """A pattern of any of the phrases at a path of the table."""
    entry = table(language)
    for key in path:
        entry = entry[key]
    return re.compile(any_of(entry), re.IGNORECASE)


def has(sentence: str, *path: str) -> bool:
    """Whether a sentence has any of the phrases at a path of its language's table."""
    return phrases(language_of(sentence), *path).search(sentence) is not None


@cache
def _form(language: str, form: str) -> re.Pattern[str]:
    """`form` with slots and the lists of the table in place of their names."""
    grammar = table(language)
    lists = {f"<{name}>": any_of(words) for name, words in grammar.items() if isinstance(words, list)}
    pattern = re.sub(r"\((?!\?)", "(?:", form).replace(" ", r"\s+")
    for places in (grammar["slots"], lists):
        pattern = re.sub(r"(?<!P)<\w+>|\b[A-Z]{3,}(?![A-Z])", lambda match: places.get(match[0], match[0]), pattern)  # noqa: B023
    return re.compile(pattern, re.IGNORECASE)


def _first_match(language: str, forms: Iterable[str], text: str) -> re.Match[str] | None:
    matches = (_form(language, f"^(?:{form})").match(text) for form in forms)
    return next((match for match in matches if match), None)


# --- what a sentence is for -------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def mood(sentence: str) -> Mood:
    """The first in the order of `Mood` that the sentence has a phrase of, or that runner.text.stance sees in it. Of a
    request and of a quotation, too: what it would be without them."""
    language = language_of(sentence)
    if _ASKS.search(sentence):
        return "question"
    plain = _form(language, r"^<greetings>[\s,!.~]+(?=\S+\s)").sub("", sentence)
    plain = phrases(language, "moods", "neutral").sub(lambda match: "ㅡ" * len(match[0]), plain)
    is_settled = phrases(language, "moods", "settled").search(plain) is not None
    is_long = len(sentence.split()) >= LONG and not has(sentence, "weather")
    for name in _MOODS:
        if name == "cancellation" and not is_settled and 2 * len(words_in(sentence, "open")) > len(words_in(sentence)):
            return "possibility"
        is_out = (name == "possibility" and is_settled) or (name == "chatter" and is_long)
        if not is_out and phrases(language, "moods", name).search(plain):
            return name
    return "statement"


def words_in(sentence: str, how: str = "") -> list[frozenset[str]]:
    """The content words of a sentence by their forms: all, or those that the sentence says hold no longer or never held
    (`denied`), or that it leaves open (`open`)."""
    plain = re.sub(r"\?(?=\S)", " ", sentence.lower())  # the question mark of an address is no question
    words = content_words(plain)
    return [word.forms for word in words if not how or stance(plain, word.start, word.start + len(word.text)) == how]


def without(sentence: str, *moods: Mood) -> str:
    """A sentence without the phrases of these moods."""
    for name in moods:
        sentence = phrases(language_of(sentence), "moods", name).sub(" ", sentence)
    return sentence


def is_request(sentence: str) -> bool:
    """Whether a sentence asks for something to be done, and so states no fact."""
    if re.search(r"[가-힣](?:가|께서)\s.*(?<!주)세요\W*$", sentence):  # 어머니가 요리를 하세요
        return False
    edge = r"^<requests>" if language_of(sentence) == "en" else r"<requests>(\s*<standing>)?[\W_ㄱ-ㅣ]*$"
    return _form(language_of(sentence), edge).search(sentence) is not None


def is_standing(sentence: str) -> bool:
    """Whether a request is made once and for all."""
    return is_request(sentence) and has(sentence, "standing") and not has(sentence, "once")


# --- what it says of what ---------------------------------------------------------------------------


def facts_of(sentence: str) -> tuple[Fact, ...]:
    """Facts of all clauses of a sentence, in order, at most one of each."""
    language, start, subject, facts = language_of(sentence), 0, "", list[Fact]()
    plain = _bare_clause(sentence.strip(), language)
    for match in [*_form(language, table(language)["ends"]).finditer(plain), None]:
        end = len(plain) if match is None else match.end() if language == "ko" else match.start()
        clause = _bare_clause(plain[start:end], language)
        clause = re.sub(r"^(?:it|that|he|she)(?:\s+is|['’]s)\s+", f"{subject} is ", clause) if subject else clause
        facts += _of_korean(clause) if language == "ko" else _of_english(clause)
        about = _form("en", "^KEY(HELPED) (<is>|<changes>)").match(clause) if language == "en" else None
        subject = about["key"] if about else subject
        start = match.end() if match else end
    return tuple(fact for fact in facts if any(map(str.isalnum, fact.value)) and (fact.key or fact.old))


def clauses_of(sentence: str) -> list[str]:
    """The independent clauses, Korean ones with their conjunctive endings."""
    language = language_of(sentence)
    joint = r"(?<=[고서니며])\s+|,\s+" if language == "ko" else r",?\s+(?:so|and|but)\s+|[,;]\s+"
    return re.split(joint, sentence)


def _bare_clause(clause: str, language: str) -> str:
    """A clause without phrases around the statement: by the way, as of now."""
    plain = _form(language, r"^(<asides>[,:.!]*(\s+|$))+").sub("", clause.strip(" ,.;!~"))
    return plain if language == "ko" else _form("en", r"(,?\s+<trailing>)+$").sub("", plain)


def _of_english(clause: str) -> list[Fact]:
    lead = re.match(r"[^:]{1,60}:\s+(?=\S+\s+\S)", clause)
    if lead and (facts := _of_english(_bare_clause(clause[lead.end() :], "en"))):
        return facts
    for key, openings in table("en")["self"].items():
        first = {"age": r"\d{1,3}(?=$|\syears?\sold)", "home": "", "job": ""}.get(key, "(?-i:[A-Z])")
        if match := _form("en", rf"^(i(HELPED)\s+|please\s+)?{any_of(openings)}\s+(?P<value>{first}.*)$").match(clause):
            return [Fact(key, _value(match["value"].removesuffix(" years old")))]
    match = _first_match("en", table("en")["clauses"], clause)
    return _english_fact(**match.groupdict()) if match else []


def _english_fact(value: str, key: str = "", old: str | None = None, **parts: str | None) -> list[Fact]:
    is_loose = parts.get("loose") is not None
    if "does" in parts:  # of these, a number or a name
        terms = [each.text for each in quantities(value)] or names(value)
        value = value[max(0, value.find(terms[0])) :] if terms else ""
    change = _first_match("en", table("en")["not_old"], value)
    new, before = (_value(change["value"]), _value(change["old"])) if change else (_value(value), _value(old or ""))
    is_loose_name = is_loose and re.match(r"[A-Z]\S*\s(?:and\s)?[A-Z]", key)  # who is a violinist may be a mother, too
    is_one_of_many = re.match(r"(?!(?:The|Our|My)\s)[A-Z]", key) and re.match(r"an?\s|one of\s|\w+ing\b", new)
    is_passing = _form("en", r"^((very|so|really|too)\s)*<passing>$|^not ([$€£]?\d|(?-i:[A-Z]))").match(new)
    is_no_key = _form("en", r"^(<no_keys>(\s|$)|\d)|\b<no_key_ends>$").search(key)
    lengths = len(key.split()) <= LONGEST_KEY and len(new.split()) <= LONGEST_VALUE
    if is_loose_name or is_one_of_many or is_passing or is_no_key or not lengths:
        return []
    full_key = " ".join(_key(part) for part in (parts.get("whom"), key, parts.get("what")) if part)
    return [Fact(full_key or ("version" if VERSION.fullmatch(new) else ""), new, before, is_loose)]


def _of_korean(clause: str) -> Iterator[Fact]:
    words, old = table("ko"), ""
    colon, *forms = words["clauses"]
    if match := _first_match("ko", [colon], clause):
        yield from _facts_of(match["key"], match["value"])
        return
    about = _first_match("ko", [words["subject"]], clause)
    parts = about.groupdict() if about else {}
    key, end = " ".join(parts.get(name) or "" for name in ("key", "what", "subject")).strip(), clause
    if about:
        key, end = (
            _form("ko", r"^.*<after_which>\s+(?=\S)").sub("", key),
            clause[about.start("rest") if parts["rest"] else about.start("more") :],
        )
    plain = _form("ko", r"^(<adverbs>\s+)+").sub("", end)
    for fact_key, ends in words["self"].items() if not key else ():
        if match := re.match(rf"(?:(?P<old>\S+)에서\s+)?(?P<value>\S+?(?:\s\S+?)??){any_of(ends)}", plain):
            yield Fact(fact_key, _value(match["value"]), _value(match["old"] or ""))
            return
    if not key and (match := _first_match("ko", words["jobs_and_ages"], plain)):
        yield from _facts_of(*((name, value) for name, value in match.groupdict().items() if value).__next__())
        return
    if match := _first_match("ko", words["instead"], end):
        old, end = match["old"], match["value"]
    if re.search(r"(?:^|\s|[이가])아(?:니|닙니|녜|닌)[가-힣]{0,4}$", end) and not re.search("이제|더는|더 이상", end):
        return  # a negated value is no value
    end = re.sub(r"(?:이고|이며|인데|이지만|이라서|이니까|이니)$", "이에요", end)
    if match := _first_match("ko", forms if not _form("ko", "<not_copulas>$").search(end) else (), end):
        yield from _facts_of(key, match["value"], match.groupdict().get("old") or old)
    elif key and (numbers := quantities(end)):
        yield from _facts_of(key, end if end.endswith(numbers[-1].text) else numbers[0].text, old, is_loose=True)


def _facts_of(key: str, value: str, old: str = "", *, is_loose: bool = False) -> Iterator[Fact]:
    new = _value(value)
    is_key = not re.search(r"(?:면|는지|부터|라도|에게|께|[을를])(?:\s|$)|^\d[\d월일시분년\s]*\S*$", key)
    if is_key and len(new.split()) <= LONGEST_VALUE:
        yield Fact(_key(key) or ("버전" if VERSION.fullmatch(new) else ""), new, _value(old), is_loose)


def _key(text: str) -> str:
    plain = _form(language_of(text), r"^(<owners>\s+)+").sub("", " ".join(text.split()).strip(_QUOTES))
    return re.sub(r"\s+(?:for|of|to|about) (?:it|that|this|them)$", "", plain)


def _value(text: str) -> str:
    plain = " ".join(text.split()).strip(_QUOTES)
    around = r"^(<adverbs>\s+)+|\s?<suffixes>$" if language_of(plain) == "ko" else r"^(<of> )+|(,?\s+<trailing>)+$"
    return _form(language_of(plain), around).sub("", plain).strip(_QUOTES)


# --- whether two facts have the same subject --------------------------------------------------------


def stem(word: str) -> str:
    """The shortest form that a word may be an inflection of; of equally short ones the first in code point order."""
    return min(forms_of(word), key=lambda form: (len(form), form))


@cache
def _stems_of(name: str) -> frozenset[str]:
    """Stems of words that do not distinguish two keys: fillers, words of moments, words of names."""
    return frozenset(stem(word) for language in ("en", "ko") for word in table(language)[name])


def same_thing(first_fact: Fact, second_fact: Fact) -> bool:
    """Whether both facts state the value of the same subject."""
    kinds = {kind(first_fact.value), kind(second_fact.value)}
    first, second = (
        identity(fact.key) | (frozenset() if kinds & _MOMENTS else frozenset(_PERIOD.findall(fact.value.lower())))
        for fact in (first_fact, second_fact)
    )
    if kinds <= _MOMENTS or kinds == {"text"}:
        same = _stems_of("called" if kinds == {"text"} else "moments")
        return (first - same or first) == (second - same or second)
    return first == second and (len(kinds) == 1 or not (first_fact.is_loose or second_fact.is_loose))


@lru_cache(maxsize=65536)
def identity(key: str) -> frozenset[str]:
    """The words that distinguish a key from others, reduced to one form each; 출시일 is read as 출시."""
    exact = {match.lower() for match in (*_CODE.findall(key), *_PERIOD.findall(key.lower()))}
    words = content_words(_CODE.sub(" ", key))
    stems = {re.sub(r"(?<=[가-힣]{2})일$", "", stem(word.text)) for word in words} - _stems_of("fillers")
    return frozenset(exact | stems or {word.text.lower() for word in words} or {" ".join(key.lower().split())})


@lru_cache(maxsize=65536)
def kind(value: str) -> str:
    """The kind of a value: its unit, what is counted, a moment; `text` for other words."""
    amounts = quantities(value)
    if not amounts:
        return "weekday" if WEEKDAY.search(value) else "text"
    unit = "date" if amounts[0].unit.startswith("date.") else amounts[0].unit
    if unit and unit != "count":
        return unit
    counted_noun = re.search(r"\d[\d,.]*(?!\s?[조억만천백십]+(?:\s?원)?$)[^\w]*([^\W\d_]+)", value)
    return stem(counted_noun[1]) if counted_noun else "number"
