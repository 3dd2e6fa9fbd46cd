"""Names on disk, found by their place and by their text, so that a process that opens millions of them reads none.

names.bin           UTF-8 of all names, one after the other
names_ends.npy      int64 [n_names + 1]: where each begins; the last value is the end
names_hashes.npy    uint64 [n_names], ascending
names_places.npy    int32 [n_names]: the places of the names with these hashes
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.system.spool import Lazy

HASH_BYTES = 8
SMALL = 4096  # bytes of a file that is read instead; one without numbers cannot be mapped


def write_names(folder: Path, names: Iterable[str]) -> int:
    """Write distinct names in their order and return their number; of each, 16 bytes stay in memory."""
    ends, hashes = array("q", [0]), bytearray()
    with (folder / "names.bin").open("wb") as file:
        for name in names:
            encoded = name.encode("utf-8", "surrogatepass")
            file.write(encoded)
            ends.append(ends[-1] + len(encoded))
            hashes += _hash(encoded)
    numbers = np.frombuffer(bytes(hashes), dtype="<u8")
    order = np.argsort(numbers, kind="stable")
    np.save(folder / "names_ends.npy", np.frombuffer(ends, dtype=np.int64))
    np.save(folder / "names_hashes.npy", numbers[order])
    np.save(folder / "names_places.npy", order.astype(np.int32))
    return len(numbers)


class Names(Lazy[str]):
    """The names that `write_names` wrote; each is read on access. Several threads may read at the same time."""

    def __init__(self, folder: Path) -> None:
        self._bytes, self._ends, self._hashes, self._places = (
            map_array(folder / name) for name in ("names.bin", "names_ends.npy", "names_hashes.npy", "names_places.npy")
        )

    def __len__(self) -> int:
        return len(self._hashes)

    def record(self, place: int) -> str:
        return self._bytes_at(place).decode("utf-8", "surrogatepass")

    def place(self, name: str) -> int | None:
        """The place of a name; None where it is not there."""
        encoded = name.encode("utf-8", "surrogatepass")
        number = np.frombuffer(_hash(encoded), dtype="<u8")[0]
        at = int(self._hashes.searchsorted(number))
        while at < len(self._hashes) and self._hashes[at] == number:  # two names may have one hash
            place = int(self._places[at])
            if self._bytes_at(place) == encoded:
                return place
            at += 1
        return None

    def _bytes_at(self, place: int) -> bytes:
        begin, end = self._ends[place : place + 2].tolist()
        return self._bytes[begin:end].tobytes()


class Places(Mapping[str, int]):
    """The place of each name. `found`: the place of one; None where it is not there."""

    def __init__(self, names: Sequence[str], found: Callable[[str], int | None]) -> None:
        self._names, self._place_of = names, found

    def __getitem__(self, name: str) -> int:
        place = self._place_of(name)
        if place is None:
            raise KeyError(name)
        return place

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


def _hash(encoded: bytes) -> bytes:
    return hashlib.blake2b(encoded, digest_size=HASH_BYTES).digest()


def map_array(path: Path) -> NDArray[Any]:
    """An array in a file, as a plain view of the map, which is cheaper to slice; bytes where it is no file of numpy."""
    if path.suffix == ".npy":
        return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > SMALL else None))
    return np.asarray(np.memmap(path, dtype=np.uint8, mode="r")) if path.stat().st_size else np.zeros(0, np.uint8)
