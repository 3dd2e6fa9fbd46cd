"""Rankings as flat arrays, in memory and on disk.

table.npy table_offsets.npy        UTF-8 of all ids that occur, and where each begins
latency_ms.npy                     float64 [n_queries], NaN where no live search was timed
<n>-begins.npy <n>-lengths.npy     int64 [n_queries]: places in the next; n = 0 for the ranking, 1 … for its legs
<n>-ids.npy <n>-scores.npy <n>-relevance.npy    int32 (place in the table), float64, float64
legs.json                          names of the legs
trajectories.npy trajectories_offsets.npy       JSON of each trajectory, empty where there is none; only if any has one
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.records import Ranking
from runner.trajectory import Trajectory, trajectory_of, trajectory_record

COLUMNS = ("ids", "scores", "relevance")
SMALL = 4096  # bytes; smaller files are read, not mapped


@dataclass
class RankingArrays:
    """`ranking(n)` is made of slices when it is asked for; strings are decoded once."""

    arrays: Mapping[str, NDArray[Any]]
    legs: tuple[str, ...]
    strings: dict[int, str] = field(default_factory=dict)

    def latency_ms(self, place: int) -> float | None:
        latency = float(self.arrays["latency_ms"][place])
        return None if np.isnan(latency) else latency

    def latencies_ms(self) -> list[float]:
        latencies = self.arrays["latency_ms"]
        return [float(latency) for latency in latencies[~np.isnan(latencies)]]

    def ranking(self, place: int) -> Ranking:
        legs = {name: self._part(number, place, {}) for number, name in enumerate(self.legs, start=1)}
        return replace(self._part(0, place, legs), trajectory=self._trajectory(place))

    def _trajectory(self, place: int) -> Trajectory | None:
        if "trajectories" not in self.arrays:
            return None
        begin, end = self.arrays["trajectories_offsets"][place : place + 2]
        told = self.arrays["trajectories"][begin:end].tobytes().decode("utf-8", "surrogatepass")
        return trajectory_of(json.loads(told)) if told else None

    def _part(self, number: int, place: int, legs: Mapping[str, Ranking]) -> Ranking:
        begin = self.arrays[f"{number}-begins"][place]
        end = begin + self.arrays[f"{number}-lengths"][place]
        numbers, scores, relevance = (self.arrays[f"{number}-{column}"][begin:end].tolist() for column in COLUMNS)
        return Ranking(tuple(map(self._string, numbers)), tuple(scores), tuple(relevance), legs)

    def _string(self, number: int) -> str:
        if number not in self.strings:
            begin, end = self.arrays["table_offsets"][number : number + 2]
            self.strings[number] = self.arrays["table"][begin:end].tobytes().decode("utf-8", "surrogatepass")
        return self.strings[number]

    def write(self, folder: Path) -> None:
        for name, values in self.arrays.items():
            np.save(folder / f"{name}.npy", values, allow_pickle=False)
        (folder / "legs.json").write_text(json.dumps(self.legs, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> RankingArrays:
        legs = json.loads((folder / "legs.json").read_text(encoding="utf-8"))
        arrays = {
            file.stem: np.load(file, mmap_mode="r" if file.stat().st_size > SMALL else None, allow_pickle=False)
            for file in folder.glob("*.npy")
        }
        return cls(arrays, tuple(legs))


@dataclass
class _Column:
    """One ranking a query, one after the other as they come: where each begins, how long it is, and what it holds."""

    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]
    parts: tuple[array[Any], array[Any], array[Any]] = field(
        default_factory=lambda: (array("i"), array("d"), array("d"))
    )

    def add(self, place: int, ids: Sequence[int], ranking: Ranking) -> None:
        self.begins[place], self.lengths[place] = len(self.parts[0]), len(ids)
        for part, values in zip(self.parts, (ids, ranking.scores, ranking.relevance), strict=True):
            part.extend(values)

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        yield "begins", self.begins
        yield "lengths", self.lengths
        dtypes: tuple[np.dtype[Any], ...] = (np.dtype(np.int32), np.dtype(np.float64), np.dtype(np.float64))
        for name, part, dtype in zip(COLUMNS, self.parts, dtypes, strict=True):
            yield name, np.frombuffer(part, dtype=dtype) if part else np.empty(0, dtype)


class RankingPacker:
    """Collects rankings in any order; about 20 bytes for each id that was found."""

    def __init__(self, n_queries: int) -> None:
        self._n_queries = n_queries
        self._latency_ms = np.full(n_queries, np.nan)
        self._columns: dict[str, _Column] = {"": self._column()}
        self._numbers: dict[str, int] = {}
        self._trajectories: dict[int, bytes] = {}

    def add(self, place: int, ranking: Ranking, latency_ms: float | None) -> None:
        if latency_ms is not None:
            self._latency_ms[place] = latency_ms
        for name, leg in {"": ranking, **ranking.legs}.items():
            if name not in self._columns:
                self._columns[name] = self._column()
            ids = [self._numbers.setdefault(id, len(self._numbers)) for id in leg.ids]
            self._columns[name].add(place, ids, leg)
        if ranking.trajectory is not None:
            told = json.dumps(trajectory_record(ranking.trajectory), ensure_ascii=False)
            self._trajectories[place] = told.encode("utf-8", "surrogatepass")

    def arrays(self) -> RankingArrays:
        encoded = [name.encode("utf-8", "surrogatepass") for name in self._numbers]
        arrays = {
            "latency_ms": self._latency_ms,
            "table": np.frombuffer(b"".join(encoded), dtype=np.uint8),
            "table_offsets": _offsets([len(name) for name in encoded]),
        }
        for number, column in enumerate(self._columns.values()):
            arrays |= {f"{number}-{name}": values for name, values in column.arrays()}
        if self._trajectories:
            told = [self._trajectories.get(place, b"") for place in range(self._n_queries)]
            arrays["trajectories"] = np.frombuffer(b"".join(told), dtype=np.uint8)
            arrays["trajectories_offsets"] = _offsets([len(one) for one in told])
        return RankingArrays(arrays, tuple(name for name in self._columns if name))

    def _column(self) -> _Column:
        return _Column(np.zeros(self._n_queries, np.int64), np.zeros(self._n_queries, np.int64))


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.asarray(lengths, dtype=np.int64)))).astype(np.int64)
