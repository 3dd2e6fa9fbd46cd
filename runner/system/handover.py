"""What one process has read and hashed, left in a folder for others that do a part of the same work.

    leave(folder)                        in the first process, within `sharing`
    with share_folder(folder): ...        in the others: `make_once` and `shared_of` return what the first one had

Records of a data set stay in a file, from which a process reads those of its own part. Where something cannot be
pickled, or the folder holds nothing, the others build it again. The folder is one that only the user of the run writes,
for this is pickle.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from runner.system.shared import PortableObject, portable_objects, sharing, take_over
from runner.system.spool import Spool
from runner.system.writing import replacing

FILE = "made.pickle"
RECORDS = "records-{}"


def leave(folder: Path) -> None:
    """Write the portable objects of this process. An earlier set of them is gone in any case."""
    clear(folder)
    foreign = suppress(pickle.PicklingError, TypeError, AttributeError, RecursionError)  # objects of other packages
    with foreign, replacing(folder / FILE, redacts=False) as scratch, scratch.open("wb") as file:
        _Pickler(file, folder).dump(portable_objects())


def clear(folder: Path) -> None:
    """Remove what was left."""
    for path in [folder / FILE, *folder.glob(RECORDS.format("*"))]:
        path.unlink(missing_ok=True)


@contextmanager
def share_folder(folder: Path) -> Iterator[None]:
    """Share objects while the body runs, those of the folder to begin with."""
    with sharing(several=False):
        take_over(_read(folder))
        yield


def _read(folder: Path) -> list[PortableObject]:
    try:
        with (folder / FILE).open("rb") as file:
            made: list[PortableObject] = _Unpickler(file, folder).load()
            return made
    except Exception:  # of any kind, by what is pickled: no folder of this host, another version, a torn file
        return []


class _Pickler(pickle.Pickler):
    """Writes the records of a Spool to a file of their own."""

    def __init__(self, file: IO[bytes], folder: Path) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._folder = folder
        self._spools: dict[int, tuple[str, array[int]]] = {}

    def persistent_id(self, value: Any) -> tuple[str, array[int]] | None:
        if type(value) is not Spool:
            return None
        if id(value) not in self._spools:
            name = RECORDS.format(len(self._spools))
            with replacing(self._folder / name, redacts=False) as scratch:
                self._spools[id(value)] = name, value.copy_to(scratch)
        return self._spools[id(value)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], folder: Path) -> None:
        super().__init__(file)
        self._folder = folder
        self._spools: dict[str, Spool[Any]] = {}

    def persistent_load(self, reference: tuple[str, array[int]]) -> Spool[Any]:
        name, begins = reference
        if name not in self._spools:
            self._spools[name] = Spool.open_copy(self._folder / name, begins)
        return self._spools[name]
