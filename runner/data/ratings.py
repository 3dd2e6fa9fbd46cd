"""Answers with what people said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from runner.data.fields import Fields
from runner.errors import DataError
from runner.records import Context, Turn

MOST_STEPS = 10


@dataclass(frozen=True, slots=True)
class Scale:
    """What people were asked for: from `low` (worst) to `high` (best)."""

    low: float
    high: float

    def share(self, rating: float) -> float:
        """0..1"""
        return (rating - self.low) / (self.high - self.low)

    @property
    def steps(self) -> int | None:
        """From worst to best, where a scale has a few whole numbers between them."""
        span = self.high - self.low
        whole = self.low % 1 == 0 and self.high % 1 == 0
        return int(span) if whole and 2 <= span <= MOST_STEPS else None

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


UNIT = Scale(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """`ratings` maps a rubric to what people said, one number (0..1) a person. Answers of one `group` are not
    independent of each other. `fields`: what else stands beside an answer, for rubrics that ask for it."""

    id: str
    question: str
    answer: str
    contexts: tuple[Context, ...]
    ratings: Mapping[str, tuple[float, ...]]
    group: str
    system: str | None = None
    language: str | None = None
    history: tuple[Turn, ...] = ()
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """A field that a rubric sees. `optional`: it may be missing."""

    name: str
    kind: Literal["text", "list"]
    optional: bool


ANSWER = Seen("answer", "text", optional=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which ratings to read. `names` maps a rubric to what the data call it; `scale` None: 0..1 unless the form
    of the data has a scale of its own. `sees`: fields by rubric; one that is not there needs the answer and sees
    everything."""

    names: Mapping[str, str]
    scale: Scale | None = None
    sees: Mapping[str, Sequence[Seen]] = field(default_factory=dict)

    def read(self, fields: Fields, place: str, rated: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
        """The wanted ones among `rated` ({name: a number or a list of numbers}), on 0..1; `place` is the field that
        they stand in. Raises DataError for a number beyond 0..1 when no scale is known."""
        shares = {}
        for rubric, name in self.names.items():
            values = rated.get(name)
            numbers = [value for value in (values if isinstance(values, list) else [values]) if value is not None]
            if numbers:
                shares[rubric] = tuple(self._share(fields, f"{place}.{name}", number) for number in numbers)
        return shares

    def _share(self, fields: Fields, field: str, value: Any) -> float:
        scale = self.scale or UNIT
        if isinstance(value, bool) or not isinstance(value, int | float):
            fields.wrong(field, "a number or a list of numbers", value)
            return 0.0
        if scale.low <= value <= scale.high:
            return scale.share(value)
        if self.scale is None:
            hint = "give the scale of the ratings, such as scale=1,5"
            raise DataError(f"{fields.place}: {field}: {value} is not within 0..1; {hint}")
        fields.wrong(field, f"a number from {scale}", value)
        return 0.0
