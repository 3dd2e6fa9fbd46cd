"""BM25 on disk: the score of every term in every chunk, computed when the index is built, mapped when it is searched.

data.npy      float64 [n_postings]: scores, the chunks of the first term, then those of the second, …
indices.npy   int32 [n_postings]: the chunk of each score, ascending within a term
indptr.npy    int64 [n_terms + 1]: where the scores of a term begin
lengths.npy   float64 [2]: number of chunks, and their mean length in terms
names*        the terms, by their number (runner.system.names)

The arrays are those of bm25s in double precision, number for number. bm25s holds all terms of all chunks and sorts all
postings at once; here the counts of BATCH chunks at a time go to a spool, and the postings of so many terms at a time
as fit into ROOM are taken from it. Memory grows with the vocabulary alone, and by 4 bytes a chunk.
"""

from __future__ import annotations

import math
import os
import tempfile
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import IO, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from runner.system.names import Names, map_array, write_names

Method = Literal["lucene", "robertson", "atire"]
BATCH = 8192  # chunks whose counts are sorted and written at a time
ROOM = 1 << 24  # postings that are put in order at a time, 12 bytes each
FOUND = 1 << 14  # terms of queries whose place is remembered, about 200 bytes each

Span = tuple[int, int]  # where the scores of a term begin and end


@dataclass(frozen=True, slots=True)
class Bm25:
    """The variant and its parameters (Kamphuis et al. 2020, "Which BM25 do you mean?"). The formulas are those of
    bm25s, operation by operation; importing it, with scipy.sparse, would take a tenth of the memory of a small run."""

    method: Method
    k1: float
    b: float

    def idf(self, frequencies: NDArray[np.int64], n_chunks: int) -> NDArray[np.float64]:
        """The weight of terms that so many of the chunks hold."""
        kinds, places = np.unique(frequencies, return_inverse=True)
        weights = np.array([self._idf_of(frequency, n_chunks) for frequency in kinds.tolist()], dtype=np.float64)
        return weights[places]

    def _idf_of(self, frequency: int, n_chunks: int) -> float:
        if self.method == "atire":
            return math.log(n_chunks / frequency)
        odds = (n_chunks - frequency + 0.5) / (frequency + 0.5)
        return math.log(1 + odds) if self.method == "lucene" else math.log(max(1.0, odds))

    def shares(self, times: NDArray[np.int32], lengths: NDArray[np.int32], mean_length: float) -> NDArray[np.float64]:
        """The contribution of a term that occurs so many times in a chunk of such a length, before its weight."""
        norms = self.k1 * ((1 - self.b) + self.b * lengths / mean_length)
        shares: NDArray[np.float64]
        shares = (times * (self.k1 + 1)) / (times + norms) if self.method == "atire" else times / (norms + times)
        return shares


def build(
    folder: Path, chunks: Iterable[Sequence[str]], bm25: Bm25, *, batch_size: int = BATCH, room: int = ROOM
) -> None:
    """Write the index of the terms of chunks, which are taken one at a time, into a folder."""
    with tempfile.TemporaryFile(dir=folder) as file:
        spool = _Spool(file, batch_size)
        for terms in chunks:
            spool.add(terms)
        spool.flush()
        write_names(folder, spool.vocabulary)
        spool.vocabulary.clear()
        indptr = np.concatenate(([0], np.cumsum(spool.frequencies)))
        np.save(folder / "indptr.npy", indptr)
        np.save(folder / "lengths.npy", np.array([len(spool.lengths), spool.mean_length]))
        _write_scores(folder, spool, indptr, bm25, room)


def _write_scores(folder: Path, spool: _Spool, indptr: NDArray[np.int64], bm25: Bm25, room: int) -> None:
    """The scores by term, then by chunk: of as many terms at a time as have `room` postings, or of one term."""
    idf = bm25.idf(spool.frequencies, len(spool.lengths))
    lengths, first, n_terms = np.frombuffer(spool.lengths, dtype=np.int32), 0, len(indptr) - 1
    with (
        _Column(folder / "data.npy", "<f8", indptr) as scores,
        _Column(folder / "indices.npy", "<i4", indptr) as chunks,
    ):
        while first < n_terms:
            last = max(first + 1, int(np.searchsorted(indptr, indptr[first] + room, side="right")) - 1)
            free = indptr[first:last] - indptr[first]  # the place of the next posting of each term
            size = int(indptr[last] - indptr[first])
            scores_of_chunks, of_chunks = np.empty(size), np.empty(size, dtype=np.int32)
            for counts in spool.take_below(last):
                places = _places(counts.terms - first, free)
                shares = bm25.shares(counts.times, lengths[counts.chunks], spool.mean_length)
                scores_of_chunks[places], of_chunks[places] = idf[counts.terms] * shares, counts.chunks
            scores.write(scores_of_chunks)
            chunks.write(of_chunks)
            first = last


def _places(terms: NDArray[np.int32], free: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the postings of these terms, ascending, are placed; `free` is updated."""
    firsts = np.flatnonzero(np.diff(terms, prepend=-1))
    sizes = np.diff(firsts, append=len(terms))
    places = np.arange(len(terms)) + np.repeat(free[terms[firsts]] - firsts, sizes)
    free[terms[firsts]] += sizes
    return places


@dataclass(frozen=True, slots=True)
class _Counts:
    """How many times each chunk holds each term: int32 [n_counts] each, by term, then by chunk."""

    terms: NDArray[np.int32]
    chunks: NDArray[np.int32]
    times: NDArray[np.int32]


class _Spool:
    """The counts of batches of chunks in a file; in memory the terms, and the length of each chunk."""

    def __init__(self, file: IO[bytes], batch_size: int) -> None:
        self.vocabulary: defaultdict[str, int] = defaultdict()
        self.vocabulary.default_factory = self.vocabulary.__len__  # numbers in order of first occurrence
        self.lengths = array("i")
        self._file, self._batch_size = file, batch_size
        self._terms = array("i")  # of the chunks since the last batch
        self._n_written = 0  # chunks
        self._frequencies = array("q")
        self._batches: list[_BatchReader] = []

    def add(self, terms: Sequence[str]) -> None:
        """Take in the terms of the next chunk."""
        self._terms.extend(map(self.vocabulary.__getitem__, terms))
        self.lengths.append(len(terms))
        if len(self.lengths) - self._n_written >= self._batch_size:
            self.flush()

    def flush(self) -> None:
        """Count the terms of the chunks since the last time, and write the counts."""
        lengths = np.array(self.lengths[self._n_written :], dtype=np.int64)
        n_chunks = max(1, len(lengths))
        keys = np.array(self._terms, dtype=np.int64) * n_chunks + np.repeat(np.arange(len(lengths)), lengths)
        keys.sort()
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        numbers, places = np.divmod(keys[firsts], n_chunks)
        times = np.diff(firsts, append=len(keys))
        self._batches.append(_BatchReader(self._file.fileno(), self._file.tell(), len(firsts)))
        for column in (numbers, places + self._n_written, times):
            self._file.write(column.astype(np.int32).tobytes())
        self._file.flush()
        self._n_written = len(self.lengths)
        del self._terms[:]
        self._frequencies.frombytes(bytes(8 * (len(self.vocabulary) - len(self._frequencies))))
        held = np.frombuffer(self._frequencies, dtype=np.int64)
        held += np.bincount(numbers, minlength=len(held))

    @cached_property
    def frequencies(self) -> NDArray[np.int64]:
        """The document frequency of each term."""
        return np.array(self._frequencies, dtype=np.int64)

    @cached_property
    def mean_length(self) -> float:
        """The mean length of chunks, in terms."""
        return float(np.frombuffer(self.lengths, dtype=np.int32).mean())

    def take_below(self, last: int) -> Iterator[_Counts]:
        """The counts of terms below `last` that were not taken yet, one batch after the other."""
        return (batch.take(last) for batch in self._batches)


@dataclass(slots=True)
class _BatchReader:
    """The counts of one batch in a file: `size` terms, then their chunks, then how many times."""

    descriptor: int
    begin: int
    size: int
    read: int = 0

    def take(self, last: int) -> _Counts:
        """The next counts, of the terms below `last`."""
        end = bisect_left(range(self.size), last, lo=self.read, key=lambda place: int(self._part(0, place, 1)[0]))
        counts = _Counts(*(self._part(column, self.read, end - self.read) for column in range(3)))
        self.read = end
        return counts

    def _part(self, column: int, place: int, size: int) -> NDArray[np.int32]:
        offset = self.begin + 4 * (column * self.size + place)
        return np.frombuffer(os.pread(self.descriptor, 4 * size, offset), dtype=np.int32)


class _Column:
    """Writes an array of numpy piece by piece; as many numbers as the last of `indptr` says."""

    def __init__(self, path: Path, kind: str, indptr: NDArray[np.int64]) -> None:
        self._file = path.open("wb")
        header = {"descr": kind, "fortran_order": False, "shape": (int(indptr[-1]),)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def write(self, numbers: NDArray[Any]) -> None:
        """Append the next numbers."""
        self._file.write(numbers.tobytes())


class Postings:
    """The index that `build` wrote, mapped into memory."""

    def __init__(self, folder: Path) -> None:
        self._data, self._indices, self._indptr = (
            map_array(folder / f"{name}.npy") for name in ("data", "indices", "indptr")
        )
        self._vocabulary = Names(folder)
        self._span = lru_cache(FOUND)(partial(_find_span, self._vocabulary, self._indptr))
        n_chunks, mean_length = np.load(folder / "lengths.npy").tolist()
        self.n_chunks, self.mean_length = int(n_chunks), mean_length

    @property
    def n_terms(self) -> int:
        """How many different terms there are."""
        return len(self._vocabulary)

    def spans(self, terms: Iterable[str]) -> dict[str, Span]:
        """The scores of those terms that some chunk holds: as many as chunks hold the term."""
        return {term: span for term in dict.fromkeys(terms) if (span := self._span(term)) is not None}

    def scores(self, spans: Iterable[Span]) -> NDArray[np.float64]:
        """float64 [n_chunks]: the sum over the terms, in their order; a term that occurs twice in `spans` counts
        twice."""
        scores = np.zeros(self.n_chunks)
        for begin, end in spans:
            np.add.at(scores, self._indices[begin:end], self._data[begin:end])
        return scores


def _find_span(vocabulary: Names, indptr: NDArray[np.int64], term: str) -> Span | None:
    number = vocabulary.place(term)
    if number is None:
        return None
    begin, end = indptr[number : number + 2].tolist()
    return begin, end
