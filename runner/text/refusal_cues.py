"""The cues of refusals, read from `refusals.en.yaml` and `refusals.ko.yaml` when they are first used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

from runner.system.shipped import shipped_yaml
from runner.text.language import Language
from runner.text.patterns import compile_late

Kind = Literal["know", "able", "source", "told", "pending", "bare", "sends", "asks", "aside", "fact"]

UNKNOWN: frozenset[Kind] = frozenset(
    {"know", "able", "source", "told", "pending", "bare"}
)  # says that it has no answer


@dataclass(frozen=True, slots=True)
class CueGroup:
    """Cues of one kind, as one expression; `after`: what may stand before a Korean predicate, empty in English."""

    kind: Kind
    after: frozenset[str]
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of one language: `groups` in the order in which they are tried, the other expressions by name."""

    groups: tuple[CueGroup, ...]
    openers: re.Pattern[str]
    contrasts: re.Pattern[str]
    after_all: re.Pattern[str]
    hedges: re.Pattern[str]
    names: re.Pattern[str]
    questions: Mapping[str, re.Pattern[str]]
    evidence: Mapping[str, re.Pattern[str]]
    before: Mapping[str, re.Pattern[str]]


_SOFT = ("denies", "vague", "refers")
_WEAK = ("lost", "secret", "later", "only", "asks", "regrets", "hints")
_META = ("tells", "speaks", "source", "lost", "secret", "vague", "refers")
_SOURCES: Mapping[Language, str] = {"en": "paper", "ko": "source"}


@cache
def cues(language: Language) -> Cues:
    """The cues of a language."""
    data = load(language)
    classes = dict(resolve_classes(data["classes"]))
    start, end = expression_borders(language)
    groups = tuple(
        CueGroup(kind, after, one_of(entries, classes, start, end)) for kind, after, entries in cue_groups(data["cues"])
    )
    front = {
        name: one_of(data.get(name, {}), classes, start, "")
        for name in ("openers", "contrasts", "after_all", "hedges", "names")
    }
    questions = {name: compile_late(_fill_classes(each, classes)) for name, each in data["questions"].items()}
    listed = {name: _fill_classes(each, classes) for name, each in data["evidence"].items()} | {
        "source": classes[_SOURCES[language]]
    }
    evidence = {
        "soft": compile_late("|".join(listed[name] for name in _SOFT)),
        "any": compile_late("|".join(listed[name] for name in (*_SOFT, *_WEAK))),
        "meta": compile_late("|".join(listed[name] for name in _META)),
        "only": compile_late(listed["only"]),
        "limits": compile_late("|".join((listed["only"], listed["lost"]))),
        "speaks": compile_late(listed["speaks"]),
        "tells": compile_late(listed["tells"]),
        "source": compile_late(listed["source"]),
    }
    before = {name: compile_late(_fill_classes(each, classes)) for name, each in data.get("before", {}).items()}
    return Cues(groups, **front, questions=questions, evidence=evidence, before=before)


def load(language: Language) -> Mapping[str, Any]:
    """The content of the file of a language: every value is a text."""
    text = (files("runner.text") / f"refusals.{language}.yaml").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = shipped_yaml(text)
    return loaded


def cue_groups(entries: Mapping[str, Any]) -> Iterator[tuple[Kind, frozenset[str], Mapping[str, str]]]:
    """Kind, what may stand before, and the cues with their examples."""
    for name, content in entries.items():
        kind = cast("Kind", name)
        if isinstance(next(iter(content.values())), str):
            yield kind, frozenset(), content
        else:
            yield from ((kind, frozenset(after.split()), each) for after, each in content.items())


def resolve_classes(classes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The classes as expressions; one may use those above it."""
    known: dict[str, str] = {}
    for name, text in classes.items():
        known[name] = f"(?:{_fill_classes(text.replace(chr(10), ''), known)})"
        yield name, known[name]


_KOREAN_END = (  # of a predicate, up to the end of its clause
    r"(?:[가-힣]{0,9}|[가-힣]{0,3}게 ?(?:되어|돼) ?있[가-힣]{0,4}|(?:고|[가-힣]{0,2}어)? ?있[가-힣]{0,5}"
    r"|[가-힣]{0,2}[는은운을] ?(?:것|듯|걸|거|점|상태|상황|따름|뿐|터|듯싶|바)[가-힣 ]{0,14}"
    r"|[가-힣]{0,3} ?(?:어쩌|보입|보이|싶|하네|같|양해|참고|유감|아쉽|죄송|미안|그러)[가-힣 ]{0,10})$"
)
_OPENINGS = ("{np}{source}{gap}", "{np}{paper}{gap}", "{thing}", "{anything}", "{source}")
_CHARACTER_SET = re.compile(r"\\.|\[[^\]]*\]")
_BRACKETS = re.compile(r"\([^()]*\)")
_CLASS = re.compile(r"\{([a-z_]+)\}")


def _fill_classes(pattern: str, classes: Mapping[str, str]) -> str:
    return _CLASS.sub(lambda match: classes[match[1]], pattern)


def expression_borders(language: Language) -> tuple[str, str]:
    """What a cue stands between: an English one at the start of a clause, a Korean one at its end."""
    return ("^", "") if language == "en" else ("", _KOREAN_END)


def one_of(entries: Mapping[str, str], classes: Mapping[str, str], start: str, end: str) -> re.Pattern[str]:
    """The cues as one expression between its borders; what many cues open with stands in it once, as it is slow."""
    rests: dict[str, list[str]] = {}
    for pattern in entries:
        opening = next((each for each in _OPENINGS if pattern.startswith(each) and "|" not in _top_level(pattern)), "")
        rests.setdefault(opening, []).append(pattern.removeprefix(opening))
    joined = "|".join(f"{opening}(?:{'|'.join(each)})" for opening, each in rests.items()) or r"(?!)"
    return compile_late(f"{start}(?:{_fill_classes(joined, classes)}){end}")


def _top_level(pattern: str) -> str:
    """A pattern without what stands in brackets."""
    flat = _CHARACTER_SET.sub("", pattern)
    while (outer := _BRACKETS.sub("", flat)) != flat:
        flat = outer
    return flat
