"""Rankings on disk, written and read one by one, so that memory does not grow with their number.

table.npy table_offsets.npy    UTF-8 of all ids that occur, and where each begins
latency_ms.npy                 float64 [n_queries], NaN where no live search was timed
legs.json                      names of the legs
<n>.bin                        hits (HIT) of one query after the other; n = 0 for the ranking, 1 … for its legs
trajectory.bin                 JSON of each trajectory; only if any query has one
cost.bin                       JSON of what models came to, by role; only if any was asked for a query
<n>.npy trajectory.npy cost.npy  int64 [n_queries, 2]: the bytes in the file beside it at which a query begins and ends
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import astuple, replace
from pathlib import Path
from typing import Self
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from runner.records import Ranking, RoleCost, Trajectory, trajectory_of, trajectory_record

HIT = np.dtype([("id", "<i4"), ("score", "<f8"), ("relevance", "<f8")])  # id: place in the table
TRAJECTORY, COST = "trajectory", "cost"
FORMAT = 2  # version of these files, for keys in the cache


class RankingFiles:
    """Reads what a RankingWriter wrote to `folder`, which may be deleted meanwhile. Strings are decoded once.
    `identity`: unique for each writing."""

    def __init__(self, folder: Path) -> None:
        self.legs: tuple[str, ...] = tuple(json.loads((folder / "legs.json").read_text(encoding="utf-8")))
        self._latency_ms = np.load(folder / "latency_ms.npy")
        self._table = np.load(folder / "table.npy", mmap_mode="r" if _is_mapped(folder / "table.npy") else None)
        self._offsets = np.load(folder / "table_offsets.npy")
        self._parts = [_Stretches(folder, str(number)) for number in range(len(self.legs) + 1)]
        self._trajectories, self._costs = (
            _Stretches(folder, name) if (folder / f"{name}.bin").exists() else None for name in (TRAJECTORY, COST)
        )
        self._strings: dict[int, str] = {}
        written = (folder / "0.bin").stat()
        self.identity = written.st_dev, written.st_ino, written.st_mtime_ns

    def latency_ms(self, place: int) -> float | None:
        """Milliseconds of the query at a place; None where it was not timed."""
        latency = float(self._latency_ms[place])
        return None if np.isnan(latency) else latency

    def latencies_ms(self) -> list[float]:
        """Milliseconds of all queries that were timed."""
        return [float(latency) for latency in self._latency_ms[~np.isnan(self._latency_ms)]]

    def cost(self, place: int) -> dict[str, RoleCost]:
        """The cost by role of ranking the query at a place."""
        told = b"" if self._costs is None else self._costs[place]
        return {role: RoleCost(*numbers) for role, numbers in json.loads(told).items()} if told else {}

    def ranking(self, place: int) -> Ranking:
        """The ranking of the query at a place, with its legs and trajectory."""
        legs = {name: self._part(number, place, {}) for number, name in enumerate(self.legs, start=1)}
        ranking, trajectory = self._part(0, place, legs), self._trajectory(place)
        return ranking if trajectory is None else replace(ranking, trajectory=trajectory)

    def _trajectory(self, place: int) -> Trajectory | None:
        told = b"" if self._trajectories is None else self._trajectories[place]
        return trajectory_of(json.loads(told.decode("utf-8", "surrogatepass"))) if told else None

    def _part(self, number: int, place: int, legs: Mapping[str, Ranking]) -> Ranking:
        hits = np.frombuffer(self._parts[number][place], dtype=HIT)
        ids, scores, relevance = (hits[name].tolist() for name in ("id", "score", "relevance"))
        return Ranking(tuple(map(self._string, ids)), tuple(scores), tuple(relevance), legs)

    def _string(self, number: int) -> str:
        if number not in self._strings:
            begin, end = self._offsets[number : number + 2]
            self._strings[number] = self._table[begin:end].tobytes().decode("utf-8", "surrogatepass")
        return self._strings[number]


class RankingWriter:
    """Writes rankings into a folder in any order; 16 bytes stay in memory for each query and leg."""

    def __init__(self, folder: Path, n_queries: int) -> None:
        self._folder, self._n_queries = folder, n_queries
        self._latency_ms = np.full(n_queries, np.nan)
        self._numbers: dict[str, int] = {}
        self._legs: dict[str, _StretchWriter] = {}
        self._trajectories: _StretchWriter | None = None
        self._costs: _StretchWriter | None = None
        self._open = ExitStack()
        self._ranking_writer = self._writer("0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Write what is pending, and close all files."""
        with self._open:
            encoded = [name.encode("utf-8", "surrogatepass") for name in self._numbers]
            ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
            np.save(self._folder / "table.npy", np.frombuffer(b"".join(encoded), dtype=np.uint8))
            np.save(self._folder / "table_offsets.npy", np.concatenate(([0], ends)))
            np.save(self._folder / "latency_ms.npy", self._latency_ms)
            legs = json.dumps(list(self._legs), ensure_ascii=False)
            (self._folder / "legs.json").write_text(legs, encoding="utf-8")

    def add(
        self, place: int, ranking: Ranking, latency_ms: float | None, cost: Mapping[str, RoleCost] | None = None
    ) -> None:
        """Store the ranking of the query at a place."""
        if latency_ms is not None:
            self._latency_ms[place] = latency_ms
        self._ranking_writer.add(place, self._hits(ranking))
        for name, leg in ranking.legs.items():
            if name not in self._legs:
                self._legs[name] = self._writer(str(len(self._legs) + 1))
            self._legs[name].add(place, self._hits(leg))
        if ranking.trajectory is not None:
            self._trajectories = self._trajectories or self._writer(TRAJECTORY)
            told = json.dumps(trajectory_record(ranking.trajectory), ensure_ascii=False)
            self._trajectories.add(place, told.encode("utf-8", "surrogatepass"))
        if cost:
            self._costs = self._costs or self._writer(COST)
            self._costs.add(place, json.dumps({role: astuple(spent) for role, spent in cost.items()}).encode())

    def _hits(self, ranking: Ranking) -> bytes:
        hits = np.empty(len(ranking.ids), HIT)
        hits["id"] = [self._numbers.setdefault(id, len(self._numbers)) for id in ranking.ids]
        hits["score"], hits["relevance"] = ranking.scores, ranking.relevance
        return hits.tobytes()

    def _writer(self, name: str) -> _StretchWriter:
        return self._open.enter_context(_StretchWriter(self._folder, name, self._n_queries))


class _StretchWriter:
    """Writes the bytes of queries in order of arrival, and at the end the offsets of each."""

    def __init__(self, folder: Path, name: str, n_queries: int) -> None:
        self._file = (folder / f"{name}.bin").open("wb")
        self._stretches = np.zeros((n_queries, 2), np.int64)
        self._index = folder / f"{name}.npy"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._file:
            np.save(self._index, self._stretches)

    def add(self, place: int, data: bytes) -> None:
        begin = self._file.tell()
        self._file.write(data)
        self._stretches[place] = begin, begin + len(data)


class _Stretches:
    """Reads the bytes of each query; thread-safe."""

    def __init__(self, folder: Path, name: str) -> None:
        self._stretches: NDArray[np.int64] = np.load(folder / f"{name}.npy")
        self._file = (folder / f"{name}.bin").open("rb")
        finalize(self, self._file.close)

    def __getitem__(self, place: int) -> bytes:
        begin, end = self._stretches[place].tolist()
        return os.pread(self._file.fileno(), end - begin, begin)


def _is_mapped(path: Path) -> bool:
    """Whether to map a file into memory; small files are read."""
    return path.stat().st_size > 4096
