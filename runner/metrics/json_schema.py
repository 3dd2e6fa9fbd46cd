"""Whether a JSON value fits a schema, by the keywords of JSON Schema (draft 2020-12) that describe data. Others, such
as `format`, are refused where a schema is read: what is not checked must not look as if it were."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runner.errors import did_you_mean

KINDS: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and value == math.floor(value),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
INNER = ("items", "not", "additionalProperties")  # keywords that hold a schema
INNERS = ("anyOf", "allOf", "oneOf")  # a list of schemas
BY_NAME = ("properties", "$defs", "definitions")  # schemas by name
NUMBERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "exclusiveMaximum": lambda value, limit: value < limit,
    "multipleOf": lambda value, limit: math.isclose(value / limit, round(value / limit), abs_tol=1e-9),
}
LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
NOTES = ("title", "description", "default", "examples", "$schema", "$id", "$comment")
OTHERS = ("type", "enum", "const", "required", "pattern", "uniqueItems", "$ref")
KNOWN = frozenset([*INNER, *INNERS, *BY_NAME, *NUMBERS, *LENGTHS, *NOTES, *OTHERS])
SIMPLE = re.compile(r"[^*+{]*(?:[*+][^*+{]*)?")  # patterns that take little time on any text: at most one repeat


def schema_problem(schema: Any, place: str = "") -> str:
    """The problem of a schema, with its place; empty without one."""
    return next(_problems(schema, schema, place), "")


def _problems(schema: Any, root: Any, place: str) -> Iterator[str]:
    at = f"{place}: " if place else ""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{at}expected a JSON schema, got {schema!r}"
        return
    for name, inner in schema.items():
        keyword_place = f"{place}.{name}".strip(".")
        if name not in KNOWN:
            yield f"{keyword_place}: unknown keyword of a schema{did_you_mean(str(name), KNOWN)}"
        elif problem := _keyword_problem(str(name), inner, root):
            yield f"{keyword_place}: {problem}"
        else:
            for key, each in _inner(str(name), inner):
                yield from _problems(each, root, f"{keyword_place}.{key}".rstrip("."))


def _inner(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The schemas in a keyword, with where in it they stand."""
    if name in INNER:
        yield "", value
    elif name in INNERS:
        yield from ((str(number), each) for number, each in enumerate(value))
    elif name in BY_NAME:
        yield from value.items()


def _keyword_problem(name: str, value: Any, root: Any) -> str:
    if name == "type":
        kinds = value if isinstance(value, list) else [value]
        wrong = [str(kind) for kind in kinds if kind not in KINDS]
        return f"no type '{wrong[0]}'{did_you_mean(wrong[0], KINDS)}" if wrong else ""
    if name in INNERS or name == "enum":
        return "" if isinstance(value, list) and value else "expected a list"
    if name in BY_NAME:
        return "" if isinstance(value, Mapping) else "expected schemas by name"
    if name == "required":
        return "" if isinstance(value, list) and all(isinstance(each, str) for each in value) else "expected names"
    if name in NUMBERS and not _is_number(value):
        return f"expected a number, got {value!r}"
    if name == "multipleOf" and not value > 0:
        return f"expected a number above 0, got {value!r}"
    if name in LENGTHS and not (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return f"expected a whole number of 0 or more, got {value!r}"
    if name == "pattern":
        return _pattern_problem(value)
    if name == "$ref":
        return "" if _resolve(value, root) is not None else f"nothing in the schema is called '{value}'"
    return ""


def _pattern_problem(pattern: Any) -> str:
    try:
        re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        return f"no pattern: {error}"
    if not SIMPLE.fullmatch(pattern):
        return "expected at most one of * and + and no {}: other patterns may take for ever; use a check of regex"
    return ""


def violation(value: Any, schema: Any) -> str | None:
    """The first fault of a value, and where it is; None where the value fits."""
    return next(_violations(value, schema, schema, "", 0), None)


def _violations(value: Any, schema: Any, root: Any, place: str, depth: int) -> Iterator[str]:
    at = f"{place}: " if place else ""
    if schema is False:
        yield f"{at}nothing may stand here"
    if isinstance(schema, bool):
        return
    if depth > 100:  # of a schema that refers to itself
        yield f"{at}nested too deeply"
        return
    if "$ref" in schema:
        yield from _violations(value, _resolve(schema["$ref"], root), root, place, depth + 1)
    yield from (f"{at}{problem}" for problem in _scalar_faults(value, schema))
    yield from _in_parts(value, schema, root, place, depth)
    yield from _by_others(value, schema, root, place, depth)


def _scalar_faults(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    kinds = schema.get("type", [])
    listed: list[str] = kinds if isinstance(kinds, list) else [kinds]
    if listed and not any(KINDS[kind](value) for kind in listed):
        yield f"expected {' or '.join(listed)}, got {_shorten(value)}"
    if "enum" in schema and not any(_is_same_value(value, each) for each in schema["enum"]):
        yield f"expected one of {_shorten(schema['enum'])}, got {_shorten(value)}"
    if "const" in schema and not _is_same_value(value, schema["const"]):
        yield f"expected {_shorten(schema['const'])}, got {_shorten(value)}"
    yield from _size_faults(value, schema)
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"expected the pattern {schema['pattern']}, got {_shorten(value)}"
    if schema.get("uniqueItems") and isinstance(value, list) and _has_twice(value):
        yield "expected no item twice"


def _size_faults(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    for name, holds in NUMBERS.items():
        if name in schema and _is_number(value) and not holds(value, schema[name]):
            yield f"{name} is {schema[name]}, got {value}"
    for name in LENGTHS:
        kind = {"Length": str, "Items": list, "Properties": dict}[name[3:]]
        if name in schema and isinstance(value, kind):
            is_fine = len(value) >= schema[name] if name.startswith("min") else len(value) <= schema[name]
            if not is_fine:
                yield f"{name} is {schema[name]}, got {len(value)}"


def _has_twice(items: list[Any]) -> bool:
    return any(_is_same_value(one, other) for number, one in enumerate(items) for other in items[:number])


def _in_parts(value: Any, schema: Mapping[str, Any], root: Any, place: str, depth: int) -> Iterator[str]:
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _violations(item, schema["items"], root, f"{place}.{number}".strip("."), depth + 1)
    if not isinstance(value, dict):
        return
    at = f"{place}: " if place else ""
    yield from (f"{at}'{name}' is missing" for name in schema.get("required", ()) if name not in value)
    properties = schema.get("properties", {})
    for name, item in value.items():
        inner = properties.get(name, schema.get("additionalProperties", True))
        if name not in properties and inner is False:
            yield f"{at}'{name}' is not expected"
        else:
            yield from _violations(item, inner, root, f"{place}.{name}".strip("."), depth + 1)


def _by_others(value: Any, schema: Mapping[str, Any], root: Any, place: str, depth: int) -> Iterator[str]:
    at = f"{place}: " if place else ""

    def fits(inner: Any) -> bool:
        return next(_violations(value, inner, root, place, depth + 1), None) is None

    for inner in schema.get("allOf", ()):
        yield from _violations(value, inner, root, place, depth + 1)
    if "anyOf" in schema and not any(map(fits, schema["anyOf"])):
        yield f"{at}expected what anyOf allows, got {_shorten(value)}"
    if "oneOf" in schema and (count := sum(map(fits, schema["oneOf"]))) != 1:
        yield f"{at}expected what exactly one of oneOf allows, {count} do"
    if "not" in schema and fits(schema["not"]):
        yield f"{at}expected what `not` does not allow, got {_shorten(value)}"


def _resolve(reference: Any, root: Any) -> Any:
    """None where nothing stands there."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target = root
    for part in filter(None, reference.removeprefix("#").split("/")):
        plain = part.replace("~1", "/").replace("~0", "~")
        target = target.get(plain) if isinstance(target, Mapping) else None
    return target


def _is_same_value(first: Any, second: Any) -> bool:
    """1 is 1.0 in JSON, and no truth value."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    return bool(first == second)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
