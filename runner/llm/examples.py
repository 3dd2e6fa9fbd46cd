"""Example values of a JSON schema, for the made-up replies of a rehearsal."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from re import _parser  # type: ignore[attr-defined]
from typing import Any

DEEPEST = 12  # depth beyond which optional properties of a recursive schema are left out
SEVERAL = ("anyOf", "oneOf")
FORMATS = {
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "name@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
# The type of a schema without `type`, by a keyword in it.
KINDS = {
    "object": ("properties", "required", "additionalProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "contains"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


class ImpossibleError(Exception):
    """No example can be made for this schema."""


def example_of(schema: Mapping[str, Any], text: str) -> Any:
    """A value that is valid under a JSON schema: strings are `text` unless a pattern, format or length forbids it,
    lists are as short and numbers as low as allowed, and optional properties are included. `not`, `if` and
    contradictions are ignored."""
    try:
        return _Example(schema, text).of(schema)
    except (ImpossibleError, RecursionError):
        return text


class _Example:
    def __init__(self, root: Mapping[str, Any], text: str) -> None:
        self.root, self.text = root, text

    def of(self, schema: Any, depth: int = 0, number: int = 0) -> Any:
        """`number`: counts examples of one schema that must differ."""
        if schema is False or depth > 3 * DEEPEST:
            raise ImpossibleError
        if not isinstance(schema, Mapping):
            return self.text
        schema = self._merge(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._choices(schema)[number % len(self._choices(schema))]
        for name in SEVERAL:
            if name in schema:
                return self._one_of(schema, name, depth, number)
        return self._value_of(schema, depth, number)

    def _value_of(self, schema: Mapping[str, Any], depth: int, number: int) -> Any:
        match _kind(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer" | "number" as kind:
                return _number(schema, number, is_whole=kind == "integer")
            case "boolean":
                return bool(number % 2)
            case "null":
                return None
        return self._string(schema, number)

    def _merge(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema with its references resolved and its `allOf` merged."""
        conjunction = {name: value for name, value in schema.items() if name not in ("$ref", "allOf")}
        parts = [self._resolve(str(schema["$ref"]))] if "$ref" in schema else []
        for part in [*parts, *schema.get("allOf", ())]:
            conjunction = _conjunction(conjunction, self._merge(part) if isinstance(part, Mapping) else {})
        return conjunction

    def _resolve(self, reference: str) -> Any:
        """The schema at `#/$defs/name`; a reference to another document accepts anything."""
        node: Any = self.root if reference.startswith("#") else {}
        for part in filter(None, reference.lstrip("#").split("/")):
            name = part.replace("~1", "/").replace("~0", "~")
            node = node[int(name)] if isinstance(node, list) else node.get(name, {})
        return node

    def _choices(self, schema: Mapping[str, Any]) -> Sequence[Any]:
        return schema["enum"] or [None]

    def _one_of(self, schema: Mapping[str, Any], name: str, depth: int, number: int) -> Any:
        """An example of the first alternative that has one. Beyond DEEPEST the last alternatives are tried first, to
        end a recursion."""
        without_options = {key: value for key, value in schema.items() if key != name}
        for option in _in_trial_order(schema[name], depth > DEEPEST):
            try:
                return self.of(
                    _conjunction(without_options, option) if isinstance(option, Mapping) else option, depth + 1, number
                )
            except ImpossibleError:
                continue
        raise ImpossibleError

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        schema_by_name, required = schema.get("properties") or {}, schema.get("required") or ()
        example = {}
        for name in dict.fromkeys([*schema_by_name, *required]):
            try:
                if name not in required and depth > DEEPEST:
                    continue
                example[name] = self.of(schema_by_name.get(name, schema.get("additionalProperties", True)), depth + 1)
            except ImpossibleError:
                if name in required:
                    raise
        for number in range(len(example), schema.get("minProperties", 0)):
            example[f"{self.text[:8]}{number}"] = self.of(schema.get("additionalProperties", True), depth + 1)
        return example

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = schema.get("prefixItems") or ()
        length = max(schema.get("minItems", 0), schema.get("minContains", 1) if "contains" in schema else 0)
        rest = schema.get("contains", schema.get("items", True))
        return [self.of(first[n] if n < len(first) else rest, depth + 1, n) for n in range(length)]

    def _string(self, schema: Mapping[str, Any], number: int) -> str:
        if (pattern := schema.get("pattern")) is not None:
            return _matching_text(pattern, schema.get("minLength", 0)) or self.text
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        text = f"{number} {self.text}" if number else self.text
        return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return str(kinds[0]) if kinds else "null"
    if kinds is not None:
        return str(kinds)
    return next((kind for kind, words in KINDS.items() if any(word in schema for word in words)), "string")


def _conjunction(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The conjunction of two schemas, exact where they use different keywords."""
    conjunction: dict[str, Any] = {**first, **second}
    if "properties" in first and "properties" in second:
        conjunction["properties"] = {**first["properties"], **second["properties"]}
    if "required" in first and "required" in second:
        conjunction["required"] = [*first["required"], *second["required"]]
    ways: dict[str, Callable[[Any, Any], Any]] = {"minimum": max, "maximum": min, "minItems": max, "minLength": max}
    for name, way in ways.items():
        if name in first and name in second:
            conjunction[name] = way(first[name], second[name])
    return conjunction


def _in_trial_order(options: Sequence[Any], is_deep: bool) -> Iterable[Any]:
    """Recursive schemas often list the alternative that ends the recursion last."""
    return reversed(options) if is_deep else options


def _number(schema: Mapping[str, Any], number: int, *, is_whole: bool) -> float | int:
    """The lowest allowed number; 0 where there is no lower bound and 0 is not too high."""
    low, above = _bounds(schema, "minimum", "exclusiveMinimum")
    high, below = _bounds(schema, "maximum", "exclusiveMaximum")
    if low is None and above is None:
        low = 0 if (high is None or high >= 0) and (below is None or below > 0) else _just_under(high, below)
    step = schema.get("multipleOf") or (1 if is_whole else None)
    if step:
        places = [] if low is None else [math.ceil(low / step)]
        places += [] if above is None else [math.floor(above / step) + 1]
        value: float | int = (max(places) + number) * step
        return int(value) if is_whole else value
    ceiling = min((each for each in (high, below) if each is not None), default=math.inf)
    if above is None or (low is not None and low > above):
        low = low or 0
        return low + number if low + number < ceiling else low
    return above + 1 + number if above + 1 + number < ceiling else (above + ceiling) / 2


def _bounds(schema: Mapping[str, Any], inclusive: str, exclusive: str) -> tuple[float | None, float | None]:
    """In draft 4, `exclusive` is a boolean about the inclusive bound."""
    bound, strict_bound = schema.get(inclusive), schema.get(exclusive)
    if isinstance(strict_bound, bool):
        return (None, bound) if strict_bound else (bound, None)
    return bound, strict_bound


def _just_under(high: float | None, below: float | None) -> float:
    return math.floor(below) - 1 if below is not None and (high is None or below <= high) else (high or 0)


# --- patterns ---------------------------------------------------------------------------------------------


def _matching_text(pattern: str, length: int) -> str:
    """A text in which the pattern matches; empty where none can be made."""
    try:
        parsed = _parser.parse(pattern)
        for more in range(max(1, length) + 1):  # add optional repetitions until the text is long enough
            text = "".join(_write(parsed, more, {}))
            if len(text) >= length and re.search(pattern, text):
                return text
    except (re.error, ValueError, OverflowError, RecursionError):
        pass
    return ""


def _write(parsed: Iterable[Any], more: int, groups: dict[int, str]) -> Iterator[str]:
    """The pieces of a text: the fewest repetitions plus `more`, and the first of alternatives."""
    for operation, argument in parsed:
        match str(operation):
            case "LITERAL":
                yield chr(argument)
            case "NOT_LITERAL":
                yield _member([("NEGATE", None), ("LITERAL", argument)])
            case "IN" | "ANY":
                yield _member(argument or [])
            case "BRANCH":
                yield from _write(argument[1][0], more, groups)
            case "SUBPATTERN":
                group = "".join(_write(argument[3], more, groups))
                groups[argument[0]] = group
                yield group
            case "GROUPREF":
                yield groups.get(argument, "")
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = argument
                for _ in range(min(int(most), max(least, more))):
                    yield from _write(inner, more, groups)


def _member(members: Sequence[Any]) -> str:
    """A character of a class such as [a-z] or [^,]."""
    pattern = re.compile(_class_of(members) if members else ".")
    return next(letter for letter in map(chr, [*range(97, 123), *range(32, 127), 0xAC00]) if pattern.match(letter))


def _class_of(members: Sequence[Any]) -> str:
    words = {"CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s"}
    words |= {"CATEGORY_NOT_SPACE": r"\S", "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W"}
    pieces = []
    for operation, argument in members:
        match str(operation):
            case "NEGATE":
                pieces.append("^")
            case "LITERAL":
                pieces.append(re.escape(chr(argument)))
            case "RANGE":
                pieces.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
            case "CATEGORY":
                pieces.append(words[str(argument)])
    return f"[{''.join(pieces)}]"
