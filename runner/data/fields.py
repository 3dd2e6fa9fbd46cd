"""Typed values of one JSON object. Wrong values are logged with file, line and field."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from runner.data.jsonl import describe_value
from runner.data.problems import ProblemLog
from runner.errors import similar

_NEAR = 0.8  # similarity from which an unknown key counts as a misspelling of a known one


def clean(text: str) -> str:
    """The text as NFC, with U+FFFD for NUL, at which many programs cut texts."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


class Fields:
    """The object of one line. After its values were read, `failed` says whether any was wrong.

    null counts as an absent field.
    """

    __slots__ = ("_outer", "data", "failed", "line", "log", "path")

    def __init__(
        self,
        data: Mapping[str, Any],
        path: str,
        line: int | None,
        log: ProblemLog,
        outer: tuple[Fields, str, int | None] | None = None,
    ) -> None:
        """`outer`: the object that holds this one, with its field, and the place where that is a list."""
        self.data = data
        self.path = path
        self.line = line
        self.log = log
        self._outer = outer
        self.failed = False

    @property
    def prefix(self) -> str:
        """The path of the object in that of the line: `steps[0].tool.`."""
        if self._outer is None:
            return ""
        outer, field, index = self._outer
        return f"{outer.prefix}{field}." if index is None else f"{outer.prefix}{field}[{index}]."

    @property
    def place(self) -> str:
        """FILE:LINE, or the file and the path of the record in it."""
        return f"{self.path}:{self.line}" if self.line is not None else f"{self.path}, {self.prefix.rstrip('.')}"

    def error(self, field: str, message: str) -> None:
        """Log an error about a field, which makes the record unusable."""
        self.failed = True
        self.log.error(self.path, message, self.line, self.prefix + field)

    def warning(self, field: str, message: str) -> None:
        """Log a warning about a field."""
        self.log.warning(self.path, message, self.line, self.prefix + field)

    def wrong(self, field: str, expected: str, value: object) -> None:
        """Log that a field has another type than expected."""
        found = "nothing" if value is None and field not in self.data else describe_value(value)
        self.error(field, f"expected {expected}, found {found}")

    def text(self, *names: str) -> str | None:
        """The first present field of these, NFC; None where none is."""
        for name in names:
            value = self.data.get(name)
            if isinstance(value, str):
                return clean(value)
            if value is not None:
                self.wrong(name, "text", value)
                return None
        return None

    def required_text(self, *names: str) -> str:
        """A text that is not blank; an error and "" otherwise. Messages use the first name."""
        for name in names:
            value = self.data.get(name)
            if isinstance(value, str) and value and not value.isspace():
                return clean(value)
            if value is not None:
                self.wrong(name, "text that is not blank", value)
                return ""
        self.wrong(names[0], "text", None)
        return ""

    def flag(self, name: str) -> bool | None:
        """A required boolean; None and an error where it is missing or of another type."""
        value = self.data.get(name)
        if isinstance(value, bool):
            return value
        self.wrong(name, "true or false", value)
        return None

    def amount(self, name: str) -> float | None:
        """A number of 0 or more; None where it is absent, and with an error where it is anything else."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
            return float(value)
        self.wrong(name, "a number of 0 or more", value)
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; () when it is absent."""
        value = self.data.get(name)
        if value is None or value == []:
            return ()
        if not isinstance(value, list):
            self.wrong(name, "a list of texts", value)
            return ()
        texts = [clean(item) for item in value if isinstance(item, str)]
        if len(texts) < len(value):
            for index, item in enumerate(value):
                if not isinstance(item, str):
                    self.wrong(f"{name}[{index}]", "text", item)
        return tuple(texts)

    def integer(self, name: str, at_least: int = 0) -> int | None:
        """A whole number from `at_least`; None where it is missing or, with an error, anything else."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
            self.wrong(name, f"a whole number from {at_least}", value)
            return None
        return value

    def time(self, name: str) -> datetime | None:
        """A time in ISO 8601, UTC without an offset; None where it is absent."""
        text = self.text(name)
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (OverflowError, ValueError):  # invalid, or outside of the years 1 to 9999 in UTC
            self.wrong(name, "a time such as 2026-03-01T09:00:00Z", text)
            return None

    def tags(self) -> tuple[str, ...]:
        """The texts of `tags`, then `team:NAME` and `domain:NAME` where these fields are present."""
        groups = (("team", self.text("team")), ("domain", self.text("domain")))
        return tuple(dict.fromkeys((*self.texts("tags"), *(f"{name}:{value}" for name, value in groups if value))))

    def items(self, name: str) -> list[Any] | None:
        """A list of anything; None when it is absent."""
        value = self.data.get(name)
        if value is not None and not isinstance(value, list):
            self.wrong(name, "a list", value)
            return None
        return value

    def inner(self, field: str, data: Mapping[str, Any], index: int | None = None) -> Fields:
        """An object inside this one; its problems carry the outer field name."""
        return Fields(data, self.path, self.line, self.log, (self, field, index))

    def object(self, name: str) -> Fields:
        """The object of this name; where it is missing, an empty one and an error."""
        value = self.data.get(name)
        if isinstance(value, dict):
            return self.inner(name, value)
        self.wrong(name, "an object", value)
        return self.inner(name, {})

    def objects(self, name: str) -> Iterator[Fields]:
        """Yield the objects of a list, none where it is absent. A wrong object marks this one as failed when the next
        is taken."""
        for index, item in enumerate(self.items(name) or ()):
            if isinstance(item, dict):
                inner = self.inner(name, item, index)
                yield inner
                self.failed |= inner.failed
            else:
                self.wrong(f"{name}[{index}]", "an object", item)

    def warn_of_unknown(self, known_keys: frozenset[str]) -> None:
        """Warn of every unknown key, once in a file, with the known one that it may be a misspelling of."""
        for name in self.data:
            if name not in known_keys:
                meant = _similar_name(name, known_keys)
                hint = f"; did you mean '{meant}'?" if meant is not None and meant not in self.data else ""
                self.log.warn_once(self.path, f"unknown, ignored{hint}", self.line, name)

    def warn_of_misspellings(self, known_keys: frozenset[str]) -> None:
        """Warn of unknown keys that are similar to an absent known one; other unknown keys are allowed."""
        for name in self.data:
            if name not in known_keys:
                meant = _similar_name(name, known_keys)
                if meant is not None and meant not in self.data:
                    self.log.warn_once(self.path, f"unknown, ignored; did you mean '{meant}'?", self.line, name)


@lru_cache(maxsize=1024)
def _similar_name(name: str, known: frozenset[str]) -> str | None:
    """The known name that this may be a misspelling of."""
    names = {_bare_name(each): each for each in sorted(known)}
    near = similar(_bare_name(name), names, cutoff=_NEAR)
    return names[near] if near else None


def _bare_name(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
