"""Checks of an answer that need no judge: which there are, what one must say, and whether an answer passes.

Names and meaning are those of promptfoo where it has them, with `-` or `_`; `not-` before a name turns it round.

contains, icontains              the answer holds the value (i: whatever the case of its letters)
contains-any, contains-all       one of the values, or all of them; icontains-any, icontains-all likewise
equals                           it is the value; a mapping or list is compared with the answer as JSON
starts-with                      it begins with the value
regex                            the pattern (of Python) is found in it
is-json, json-schema             it is JSON, that fits a schema where one is given
cites                            it cites: anything (no value), the context of a number, or one of a document
max-words                        it has no more words than that (white space between them)
max-latency-ms, max-cost-usd     the case took and cost no more (`latency` and `cost` of promptfoo, with `threshold`);
                                 what was not measured, as a reply from the cache, is not checked
similar                          the cosine of its vector and that of the value is `threshold` (0.75) at least
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.errors import did_you_mean
from runner.metrics.json_schema import schema_problem, violation
from runner.records import Check
from runner.text.language import Language

TEXT, TEXTS, NUMBER, ANYTHING, SCHEMA, NOTHING = "text", "texts", "number", "anything", "schema", "nothing"
TAKES: Mapping[str, str] = {  # type -> what its value is
    "contains": TEXT,
    "icontains": TEXT,
    "contains-any": TEXTS,
    "contains-all": TEXTS,
    "icontains-any": TEXTS,
    "icontains-all": TEXTS,
    "equals": ANYTHING,
    "starts-with": TEXT,
    "regex": TEXT,
    "is-json": SCHEMA,
    "json-schema": SCHEMA,
    "cites": NOTHING,
    "max-words": NUMBER,
    "max-latency-ms": NUMBER,
    "max-cost-usd": NUMBER,
    "similar": TEXT,
}
BY_THRESHOLD = {"latency": "max-latency-ms", "cost": "max-cost-usd"}  # of promptfoo -> ours
KEYS = ("type", "value", "threshold", "weight")
SIMILAR = 0.75
LONGEST_SHOWN = 80  # characters of a value in a reason

Search = Callable[[str, str], bool | None]
Cosine = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class CheckInput:
    """The input of checks. `documents` are those of the contexts by their number; `latency_ms` and `cost_usd` None: not
    measured. `search`: whether a pattern is found in a text, None where that took too long; `cosine`: the similarity of
    two texts."""

    answer: str
    citations: Sequence[int] = ()
    documents: Sequence[Sequence[str]] = ()
    latency_ms: float | None = None
    cost_usd: float | None = None
    search: Search = lambda pattern, text: re.search(pattern, text) is not None
    cosine: Cosine | None = None


# --- reading ------------------------------------------------------------------------------------------


def read_check(entry: Any) -> Check:
    """Read a check.

    Args:
        entry: `{type: contains, value: x}` or `{contains: x}`.

    Returns:
        The check.

    Raises:
        ValueError: where in the entry something is wrong, and what: `value: expected …`.
    """
    if not isinstance(entry, Mapping):
        raise ValueError(f"expected a check such as {{contains: TEXT}}, got {entry!r}")
    keys = dict(entry)
    if "type" not in keys:
        names = sorted((name for name in keys if name not in KEYS), key=lambda name: not _is_type(name))
        if not names:
            raise ValueError(f"type: missing{did_you_mean('', TAKES)}")
        keys = {"type": names[0], "value": keys.pop(names[0]), **keys}
    if unknown := [str(name) for name in keys if name not in KEYS]:
        raise ValueError(f"{unknown[0]}: unknown key{did_you_mean(unknown[0], KEYS)}")
    name, is_not = _type_of(keys["type"])
    value, threshold = keys.get("value"), _number(keys, "threshold")
    if str(keys["type"]).replace("_", "-").removeprefix("not-") in BY_THRESHOLD:
        value = threshold if threshold is not None else value
    if problem := _value_problem(name, value):
        raise ValueError(f"value: {problem}")
    weight = _number(keys, "weight")
    if weight is not None and weight < 0:
        raise ValueError(f"weight: expected a number of 0 or more, got {weight:g}")
    return Check(name, value, threshold, 1.0 if weight is None else weight, is_not)


def _is_type(named: Any) -> bool:
    return str(named).replace("_", "-").removeprefix("not-") in {*TAKES, *BY_THRESHOLD}


def _type_of(typed: Any) -> tuple[str, bool]:
    plain = str(typed).replace("_", "-")
    name = plain.removeprefix("not-")
    name = BY_THRESHOLD.get(name, name)
    if name not in TAKES:
        raise ValueError(f"type: no check '{typed}'{did_you_mean(name, [*TAKES, *BY_THRESHOLD])}")
    return name, plain.startswith("not-")


def _number(given: Mapping[str, Any], key: str) -> float | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ValueError(f"{key}: expected a number, got {value!r}")
    return float(value)


def _value_problem(name: str, value: Any) -> str:
    """The problem of the value of a check; empty without one."""
    takes = TAKES[name]
    if takes == TEXT and (isinstance(value, bool) or not isinstance(value, str | int | float) or value == ""):
        return f"expected text, got {value!r}"
    if takes == TEXTS and not (isinstance(value, list) and value and all(map(_is_text, value))):
        return f"expected a list of texts, got {value!r}"
    if takes == NUMBER and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
        return f"expected a number of 0 or more, got {value!r}"
    if takes == SCHEMA:
        needed = "expected a JSON schema, got nothing" if name == "json-schema" and value is None else ""
        return needed or ("" if value is None else schema_problem(value))
    if name == "equals" and value is None:
        return "expected what the answer is to be, got nothing"
    if name == "cites" and not (value is None or value is True or isinstance(value, str) or _is_place(value)):
        return f"expected nothing, the number of a context or the id of a document, got {value!r}"
    return pattern_problem(str(value)) if name == "regex" else ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def _is_place(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def pattern_problem(pattern: str) -> str:
    """Why a regular expression cannot be used; empty where it can."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"'{_excerpt(pattern)}' is no pattern: {error}"
    return ""


# --- passing ------------------------------------------------------------------------------------------

_TEXTS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "expected": "expected {}",
        "not": "expected not: {}",
        "contains": "{} in the answer",
        "one_of": "one of {}",
        "equals": "{} as the whole answer",
        "starts": "{} at the start of the answer",
        "regex": "the pattern {} in the answer",
        "too_long": "an end of the search for the pattern {} in time",
        "json": "JSON",
        "no_json": "JSON ({})",
        "schema": "JSON that fits the schema",
        "no_schema": "JSON that fits the schema ({})",
        "cites": "a citation of a context",
        "cites_one": "a citation of {}",
        "words": "at most {:g} words, found {}",
        "latency": "at most {:g} ms, took {:.0f}",
        "cost": "at most ${:g}, cost ${:.6g}",
        "similar": "a similarity of {:g} to {}, found {:.2f}",
    },
    "ko": {
        "expected": "기대: {}",
        "not": "기대하지 않음: {}",
        "contains": "답변에 {} 포함",
        "one_of": "{} 중 하나 포함",
        "equals": "답변 전체가 {}",
        "starts": "답변 첫머리에 {} 있음",
        "regex": "답변에 패턴 {} 있음",
        "too_long": "패턴 {} 검색이 제때 끝남",
        "json": "JSON",
        "no_json": "JSON ({})",
        "schema": "스키마에 맞는 JSON",
        "no_schema": "스키마에 맞는 JSON ({})",
        "cites": "컨텍스트 인용",
        "cites_one": "{} 인용",
        "words": "최대 {:g}단어, 실제 {}단어",
        "latency": "최대 {:g} ms, 실제 {:.0f} ms",
        "cost": "최대 ${:g}, 실제 ${:.6g}",
        "similar": "유사도 {0:g} 이상(비교 대상: {1}), 실제 {2:.2f}",
    },
}


def failure_of(check: Check, checked: CheckInput, language: Language = "en") -> str | None:
    """Evaluate a check.

    Args:
        check: one check.
        checked: the answer, and what else checks look at.
        language: of the text.

    Returns:
        Why the check fails; empty where it passes, None where it cannot be evaluated.
    """
    result = CHECKING[check.type](check, checked)
    if result is None:
        return None
    passed, key, *values = result
    if passed != check.is_not:
        return ""
    words = _TEXTS[language]
    return words["not" if check.is_not else "expected"].format(words[key].format(*values))


Found = tuple[Any, ...] | None  # whether it holds, and what was expected: the key of a text, and its values


def _contains(check: Check, checked: CheckInput) -> Found:
    fold = str.lower if check.type.startswith("i") else str
    answer = fold(checked.answer)
    values = check.value if isinstance(check.value, list) else [check.value]
    contained = [fold(str(value)) in answer for value in values]
    if check.type.endswith("-any"):
        return any(contained), "one_of", _quote(values)
    missing = [value for value, is_there in zip(values, contained, strict=True) if not is_there]
    return all(contained), "contains", _quote(missing or values)


def _equals(check: Check, checked: CheckInput) -> Found:
    if not isinstance(check.value, dict | list):
        return checked.answer == str(check.value), "equals", _quote([check.value])
    try:
        return json.loads(checked.answer) == check.value, "equals", _quote([check.value])
    except (ValueError, RecursionError):
        return False, "equals", _quote([check.value])


def _starts_with(check: Check, checked: CheckInput) -> Found:
    return checked.answer.startswith(str(check.value)), "starts", _quote([check.value])


def _regex(check: Check, checked: CheckInput) -> Found:
    is_found = checked.search(str(check.value), checked.answer)
    if is_found is None:  # fails either way round
        return check.is_not, "too_long", _quote([check.value])
    return is_found, "regex", _quote([check.value])


def _is_json(check: Check, checked: CheckInput) -> Found:
    try:
        value = json.loads(checked.answer)
    except (ValueError, RecursionError) as error:
        return False, "no_json", error
    if check.value is None:
        return True, "json"
    problem = violation(value, check.value)
    return (True, "schema") if problem is None else (False, "no_schema", problem)


def _cites(check: Check, checked: CheckInput) -> Found:
    cited = [number for number in checked.citations if number <= len(checked.documents)]
    if check.value is None or check.value is True:
        return bool(cited), "cites"
    if isinstance(check.value, int):
        return check.value in cited, "cites_one", f"[{check.value}]"
    ids = {id for number in cited for id in checked.documents[number - 1]}
    return str(check.value) in ids, "cites_one", check.value


def _max_words(check: Check, checked: CheckInput) -> Found:
    count = len(checked.answer.split())
    return count <= check.value, "words", check.value, count


def _latency(check: Check, checked: CheckInput) -> Found:
    if checked.latency_ms is None:
        return None
    return checked.latency_ms <= check.value, "latency", check.value, checked.latency_ms


def _cost(check: Check, checked: CheckInput) -> Found:
    if checked.cost_usd is None:
        return None
    return checked.cost_usd <= check.value, "cost", check.value, checked.cost_usd


def _similar(check: Check, checked: CheckInput) -> Found:
    if checked.cosine is None:
        return None
    least = SIMILAR if check.threshold is None else check.threshold
    cosine = checked.cosine(checked.answer, str(check.value))
    # cosines are float32, so that those of equal texts may miss 1.0
    return cosine >= least - 1e-6, "similar", least, _quote([check.value]), cosine


CHECKING: Mapping[str, Callable[[Check, CheckInput], Found]] = {
    **{name: _contains for name in TAKES if "contains" in name},
    "equals": _equals,
    "starts-with": _starts_with,
    "regex": _regex,
    "is-json": _is_json,
    "json-schema": _is_json,
    "cites": _cites,
    "max-words": _max_words,
    "max-latency-ms": _latency,
    "max-cost-usd": _cost,
    "similar": _similar,
}


def _excerpt(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def _quote(values: Sequence[Any]) -> str:
    return ", ".join(f"“{_excerpt(value)}”" for value in values)


def title(check: Check) -> str:
    """`not-contains: refund`"""
    name = f"not-{check.type}" if check.is_not else check.type
    return name if check.value is None or isinstance(check.value, dict) else f"{name}: {_excerpt(check.value)}"
