"""Answers with the ratings of people."""

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
    """The scale of ratings: from `low` (worst) to `high` (best)."""

    low: float
    high: float

    def share(self, rating: float) -> float:
        """A rating as 0..1."""
        return (rating - self.low) / (self.high - self.low)

    @property
    def steps(self) -> int | None:
        """The number of steps from worst to best, for a scale of a few whole numbers."""
        span = self.high - self.low
        whole = self.low % 1 == 0 and self.high % 1 == 0
        return int(span) if whole and 2 <= span <= MOST_STEPS else None

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


UNIT = Scale(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """`ratings`: rubric -> one number (0..1) a person. Answers of one `group` are not independent of each other.
    `fields`: further values of the record, for rubrics that need them."""

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
class FieldSpec:
    """A field that a rubric reads. `optional`: it may be missing."""

    name: str
    kind: Literal["text", "list"]
    optional: bool


ANSWER = FieldSpec("answer", "text", optional=False)


@dataclass(frozen=True, slots=True)
class RatingSpec:
    """Which ratings to read. `names`: rubric -> its name in the data; `scale` None: 0..1, unless the form of the data
    has its own scale. `sees`: fields by rubric; a rubric without an entry needs the answer and reads everything."""

    names: Mapping[str, str]
    scale: Scale | None = None
    sees: Mapping[str, Sequence[FieldSpec]] = field(default_factory=dict)

    def read(self, fields: Fields, place: str, rated: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
        """The wanted ratings of `rated` ({name: a number or a list of numbers}) on 0..1; `place`: the field that holds
        them. Raises DataError for a number outside 0..1 without a known scale."""
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
