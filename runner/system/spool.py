"""Records that stay on disk until they are accessed, so that memory does not grow with a data set."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Generic, Self, TypeVar, overload
from weakref import finalize

from runner.system.shared import are_several, is_sharing

# Of the file; as records three times as much. A run asks for each record a dozen times.
KEPT_BYTES = 2_000_000  # by the command of one run
KEPT_BY_SWEEP = 8_000_000
COPIED_BYTES = 1 << 20  # at a time

T = TypeVar("T")


class Lazy(Sequence[T], Generic[T]):
    """A sequence whose records are made when they are asked for; a slice of it is one too.

    class Squares(Lazy[int]):
        def __len__(self) -> int:
            return 10

        def record(self, place: int) -> int:
            return place * place
    """

    @abstractmethod
    def record(self, place: int) -> T:
        """The record at a place from 0, read again on each access."""

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        places = range(len(self))[place]
        return Part(self, places) if isinstance(places, range) else self.record(places)

    def __iter__(self) -> Iterator[T]:
        return map(self.record, range(len(self)))


class Part(Lazy[T], Generic[T]):
    """The records of `whole` at these places, in this order, each looked up on access."""

    def __init__(self, whole: Sequence[T], places: Sequence[int]) -> None:
        self._items, self._places = whole, places

    def __len__(self) -> int:
        return len(self._places)

    def record(self, place: int) -> T:
        return self._items[self._places[place]]

    def __iter__(self) -> Iterator[T]:
        return map(self._items.__getitem__, self._places)


class Spool(Lazy[T], Generic[T]):
    """Records in a file without a name, which is gone with the process; 8 bytes of each stay in memory. What is
    asked for twice is made twice, but the first KEPT_BYTES once a command, or KEPT_BY_SWEEP for all runs of a sweep.
    Threads may ask at once."""

    def __init__(self, records: Iterable[T]) -> None:
        self._keep(tempfile.TemporaryFile())  # noqa: SIM115 - stays open
        self._begins = array("q", [0])
        pickler, room = _Pickler(self._file, pickle.HIGHEST_PROTOCOL), _room()
        for place, record in enumerate(records):
            pickler.dump(record)
            pickler.clear_memo()
            self._begins.append(self._file.tell())
            if self._begins[-1] <= room:
                self._records[place] = record
        self._file.flush()

    def copy_to(self, scratch: Path) -> array[int]:
        """Write the records to a new file for another process. Returns what `open_copy` needs beside it."""
        with os.fdopen(os.dup(self._file.fileno()), "rb") as file, scratch.open("wb") as copy:
            file.seek(0)
            shutil.copyfileobj(file, copy, COPIED_BYTES)
        return self._begins

    @classmethod
    def open_copy(cls, path: Path, begins: array[int]) -> Self:
        """The records of a file that `copy_to` wrote; it may be deleted meanwhile."""
        spool = cls.__new__(cls)
        spool._keep(path.open("rb"))
        spool._begins = begins
        return spool

    def _keep(self, file: IO[bytes]) -> None:
        """The file stays open as long as the records are wanted."""
        self._file = file
        self._records: dict[int, T] = {}
        finalize(self, file.close)

    def __len__(self) -> int:
        return len(self._begins) - 1

    def record(self, place: int) -> T:
        if place in self._records:
            return self._records[place]
        begin, end = self._begins[place], self._begins[place + 1]
        record: T = pickle.loads(os.pread(self._file.fileno(), end - begin, begin))  # noqa: S301 - written above
        if end <= _room():
            self._records[place] = record
        return record


def _room() -> int:
    """Bytes of a file whose records are kept until the command ends."""
    if are_several():
        return KEPT_BY_SWEEP
    return KEPT_BYTES if is_sharing() else 0


class _Pickler(pickle.Pickler):
    """Writes a frozen dataclass as the call that makes it, which is read in half the time."""

    def reducer_override(self, value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return type(value), _values(type(value))(value)
        return NotImplemented


@cache
def _values(kind: type) -> attrgetter[tuple[Any, ...]]:
    return attrgetter(*(field.name for field in fields(kind)))
