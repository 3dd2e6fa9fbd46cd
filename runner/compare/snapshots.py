"""Reads and checks snapshot.json; an unusable file raises DataError with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, with_config
from typing_extensions import TypedDict

from runner.compare.snapshot import KIND, SCHEMA
from runner.errors import DataError, rephrase
from runner.metrics.catalogue import DECLARED, catalogue_in
from runner.metrics.metric import Catalogue
from runner.metrics.statistics import Floats
from runner.system.journal import LARGEST

Bools = NDArray[np.bool_]
MAYBE = (str, type(None))
AGAIN = "make it again from its run folder: python -m runner snapshot RUN"
OTHER_FILES = ("fingerprint", "evaluation_type", "cells", "per_query")  # keys of run.json and the like


class ChunkGold(BaseModel):
    """The places of gold chunks of a case (runner.retrieval.stage.record_of): document, start, end, and rank."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    labels: dict[str, tuple[str, int, int] | None]
    spans: list[str]
    chunks: dict[str, tuple[str, int, int, int | None]]


@dataclass(frozen=True, slots=True)
class Cases:
    """Columns with one entry for each case, by ascending id. Numbers are float64 [n_cases], NaN for missing ones;
    `unscored`, `weights` and `noise` hold only metrics with entries (the default weight is 1)."""

    ids: Sequence[str]
    content: Sequence[str | None]
    gold: Sequence[str | None]
    failed: Bools  # status is not ok
    language: Sequence[str | None]
    difficulty: Sequence[str | None]
    tags: Sequence[Sequence[str]]
    latency_ms: Floats
    values: Mapping[str, Floats]
    unscored: Mapping[str, Bools]
    weights: Mapping[str, Floats]
    noise: Mapping[str, Floats]
    labels: Mapping[str, Sequence[str | None]]
    chunk_gold: Mapping[int, ChunkGold] = field(default_factory=dict)
    cluster: Sequence[str | None] = field(default_factory=list)  # of each case; empty in older files

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run as comparison reads it: settings, identities, aggregates, and per-case values without texts."""

    run: Mapping[str, Any]
    config: Mapping[str, Any]
    identity: Mapping[str, str]
    depends: Mapping[str, Sequence[str]]
    metrics: Mapping[str, Mapping[str, Any]]
    counts: Mapping[str, Mapping[str, int]]
    cases_count: Mapping[str, int]
    timing: Mapping[str, Any]
    cases: Cases
    catalogue: Catalogue
    cost: Mapping[str, Any] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)

    @property
    def k(self) -> int | None:
        """The cutoff of the run; None where it has none."""
        k: int | None = self.run.get("k")
        return k


_OPEN = ConfigDict(strict=True, extra="allow")
_Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
_Usd = Annotated[float | int, Field(ge=0, le=LARGEST)]


@with_config(_OPEN)
class _Run(TypedDict, total=False):
    """The parts of `run` that a comparison uses."""

    k: int | None
    status: str | None
    experiment: str | None
    evaluation_type: str | None
    fingerprint: str | None
    created_at: str | None
    choices: dict[str, Any] | None
    git: dict[str, Any] | None


@with_config(_OPEN)
class _Profile(TypedDict, total=False):
    margins: dict[str, float | int] | None


@with_config(_OPEN)
class _Report(TypedDict, total=False):
    language: str | None


@with_config(_OPEN)
class _Config(TypedDict, total=False):
    profile: _Profile | None
    report: _Report | None


@with_config(_OPEN)
class _Latency(TypedDict, total=False):
    n: int | None
    p50_ms: float | None
    p95_ms: float | None


@with_config(_OPEN)
class _Timing(TypedDict, total=False):
    """`usage`: role, model, live or cached, unit."""

    latency: dict[str, _Latency]
    usage: dict[str, dict[str, dict[str, dict[str, float | int | None]]]]


@with_config(_OPEN)
class _RoleCost(TypedDict):
    """The cost of all cases."""

    requests: _Count
    input_tokens: _Count
    output_tokens: _Count
    usd: _Usd | None


@with_config(_OPEN)
class _Cost(TypedDict, total=False):
    """The cost of the models in cases (runner.metrics.aggregate.cost)."""

    cases: _Count
    roles: dict[str, _RoleCost]


class _Head(BaseModel):
    """Everything but the columns of the cases."""

    model_config = ConfigDict(strict=True, extra="ignore")

    run: _Run
    config: _Config
    identity: dict[str, str]
    depends: dict[str, list[str]]
    metrics: dict[str, dict[str, float | int | None]]
    counts: dict[str, dict[str, int]]
    cases_count: dict[str, int]
    timing: _Timing
    declared: list[dict[str, Any]] | None = None  # missing in older files
    cases: dict[str, Any]
    cost: _Cost = {}
    documents: dict[str, str] = {}


def read_snapshot(path: Path) -> Snapshot:
    """Args:
        path: of a snapshot file.

    Returns:
        The snapshot.

    Raises:
        DataError: the file is missing, damaged, no snapshot, or of another schema.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    return parse_snapshot(data, str(path))


def parse_snapshot(data: bytes, name: str) -> Snapshot:
    """Parse a snapshot. `name`: its name in errors."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        what = "it is empty" if not data.strip() else f"not complete JSON ({error})"
        raise DataError(f"{name}: damaged or cut off: {what}; {AGAIN}") from None
    _demand_ours(value, name)
    try:
        head = _Head.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{name}: damaged: {where}: {_lower(first['msg'])}; {AGAIN}") from None
    try:
        cases = _Columns(head.cases).read()
    except _DamagedError as problem:
        raise DataError(f"{name}: damaged: cases.{problem}; {AGAIN}") from None
    try:
        catalogue = catalogue_in({} if head.declared is None else {DECLARED: head.declared})
    except ValueError as problem:
        raise DataError(f"{name}: damaged: {problem}; {AGAIN}") from None
    kept = {field: getattr(head, field) for field in _Head.model_fields if field not in ("cases", DECLARED)}
    return Snapshot(**kept, cases=cases, catalogue=catalogue)


def _demand_ours(value: Any, name: str) -> None:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind != KIND:
        kind_text = f"its kind is {kind!r}" if kind is not None else "it has no kind"
        near = isinstance(value, dict) and any(key in value for key in OTHER_FILES)
        hint = "; give the run folder that it stands in" if near else ""
        raise DataError(f"{name}: not a snapshot of a run ({kind_text}; expected {KIND!r}){hint}")
    schema = value.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int):
        raise DataError(f"{name}: damaged: schema: expected a number, found {schema!r}; {AGAIN}")
    if schema > SCHEMA:
        raise DataError(f"{name}: schema {schema} is of a newer runner, this one reads schema {SCHEMA}; update runner")
    if schema < SCHEMA:
        raise DataError(f"{name}: schema {schema} is of an older runner, this one reads schema {SCHEMA}; {AGAIN}")


def _lower(message: str) -> str:
    told = rephrase(message)
    return told[:1].lower() + told[1:]


# --- columns --------------------------------------------------------------------------------------


class _DamagedError(Exception):
    """An error in the columns; the message begins with the name of the column."""


class _Columns:
    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = columns
        self._n = len(self._texts("ids", columns.get("ids"), (str,), n=None))

    def read(self) -> Cases:
        ids = self._columns["ids"]
        for before, after in pairwise(ids):
            if not before < after:
                raise _DamagedError(f"ids: expected in ascending order, each once; found '{after}' after '{before}'")
        texts = {name: self._column(name, MAYBE) for name in ("content", "gold", "language", "difficulty")}
        return Cases(
            ids=ids,
            failed=np.array([status != "ok" for status in self._column("status", (str,))], dtype=bool),
            **texts,
            tags=self._tags(),
            latency_ms=self._numbers("latency_ms", self._columns.get("latency_ms")),
            values={name: self._numbers(f"values.{name}", column) for name, column in self._group("values")},
            unscored={name: array == 1 for name, array in self._sparse("unscored", 0.0)},
            weights=dict(self._sparse("weights", 1.0)),
            noise=dict(self._sparse("noise", np.nan)),
            labels={name: self._labels(name, column) for name, column in self._group("labels")},
            chunk_gold=dict(self._chunk_gold()),
            cluster=self._column("cluster", MAYBE) if "cluster" in self._columns else [],
        )

    def _column(self, name: str, types: tuple[type, ...]) -> list[Any]:
        return self._texts(name, self._columns.get(name), types, self._n)

    def _chunk_gold(self) -> Iterator[tuple[int, ChunkGold]]:
        for place, found in self._group("chunk_gold"):
            try:
                yield self._place("chunk_gold", place), ChunkGold.model_validate(found)
            except ValidationError as error:
                where = ".".join(map(str, (place, *error.errors()[0]["loc"])))
                raise _DamagedError(f"chunk_gold.{where}: {_lower(error.errors()[0]['msg'])}") from None

    def _place(self, column: str, place: str) -> int:
        if not place.isdecimal() or int(place) >= self._n:
            raise _DamagedError(f"{column}: no case has the place '{place}'")
        return int(place)

    def _labels(self, name: str, column: Any) -> list[Any]:
        """Of few different texts, each in memory once."""
        texts = self._texts(f"labels.{name}", column, MAYBE, self._n)
        known = {text: text for text in texts}
        return [known[text] for text in texts]

    def _tags(self) -> list[list[str]]:
        tags = self._texts("tags", self._columns.get("tags"), (list,), self._n)
        if any(not isinstance(tag, str) for entry in tags for tag in entry):
            raise _DamagedError("tags: expected lists of texts")
        return tags

    def _group(self, name: str) -> Iterator[tuple[str, Any]]:
        group = self._columns.get(name)
        if not isinstance(group, dict):
            raise _DamagedError(f"{name}: expected an object, found {_kind(group)}")
        yield from group.items()

    def _texts(self, name: str, column: Any, types: tuple[type, ...], n: int | None) -> list[Any]:
        if not isinstance(column, list):
            raise _DamagedError(f"{name}: expected a list, found {_kind(column)}")
        if n is not None and len(column) != n:
            raise _DamagedError(f"{name}: {len(column)} entries for {n} cases")
        wrong = set(map(type, column)) - set(types)
        if wrong:
            expected = " or ".join(dict.fromkeys(_NAMES[each] for each in types))
            raise _DamagedError(f"{name}: expected {expected}, found {_NAMES.get(wrong.pop(), 'something else')}")
        return column

    def _numbers(self, name: str, column: Any) -> Floats:
        """A column of numbers; orjson has refused NaN and infinities."""
        numbers = np.array(self._texts(name, column, (float, int, type(None)), self._n), dtype=np.float64)
        if (np.abs(numbers) > LARGEST).any():
            raise _DamagedError(f"{name}: expected numbers from -{LARGEST:.0e} to {LARGEST:.0e}")
        return numbers

    def _sparse(self, kind: str, default: float) -> Iterator[tuple[str, Floats]]:
        for name, entries in self._group(kind):
            if not isinstance(entries, dict):
                raise _DamagedError(f"{kind}.{name}: expected an object, found {_kind(entries)}")
            array = np.full(self._n, default)
            for place, number in entries.items():
                index = self._place(f"{kind}.{name}", place)
                if type(number) not in (int, float) or not 0 <= number <= LARGEST:
                    raise _DamagedError(f"{kind}.{name}.{place}: expected a number of at least 0, found {number!r}")
                array[index] = number
            yield name, array


_NAMES: Mapping[type, str] = {
    str: "text", float: "number", int: "number", bool: "true or false", list: "list", dict: "object",
    type(None): "null",
}  # fmt: skip


def _kind(value: Any) -> str:
    return _NAMES.get(type(value), type(value).__name__)
