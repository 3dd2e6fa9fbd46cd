"""The latest vectors in a Redis, where several processes that score traces find them.

Every process holds a copy and asks the server only for what it does not know yet; a vector is looked up and added in
one request, so that of two traces scored at once one comes after the other for everybody. The scores are those of
VectorCache, which the copy is.
"""

from __future__ import annotations

import asyncio
import secrets
import struct
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np

from runner.domains.memory.redis_link import Link
from runner.domains.traces.novelty import Vector, VectorCache
from runner.errors import InputError, StopRunError
from runner.metrics.trace import novelty

MARK = 16  # bytes that name the trace of a vector
_HEAD = struct.Struct(f"<d{MARK}s")


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """Which cache. `form`: what all its vectors have in common (embedder, dimensions, how many it holds); `idle_ms`:
    how long it stays after it was last used."""

    name: str
    form: str
    idle_ms: int

    @property
    def keys(self) -> tuple[str, str]:
        """The keys of the cache, in one slot of a cluster."""
        name = quote(self.name, safe="", errors="surrogatepass")
        return f"novelty:{{{name}}}:state", f"novelty:{{{name}}}:vectors"


class SharedVectorCache:
    """`held` is the copy of this process, with its TTL, and its clock, which all processes share. `apart`: marks of
    traces whose vectors, where an earlier process added them, are no part of the past."""

    def __init__(self, link: Link, place: SharedPlace, held: VectorCache, apart: Collection[bytes] = ()) -> None:
        self._link, self._place, self._local, self._apart = link, place, held, apart
        self._generation, self._n_known = "", 0
        self._present: set[bytes] = set()  # of those that are set apart
        self._turn = asyncio.Lock()  # replies count in the order of the requests

    async def nearest(self, vector: Vector) -> float | None:
        """The largest cosine to a vector in the cache; None when it is empty."""
        async with self._turn:
            await self._ask(b"")
            return self._local.nearest(vector)

    async def add(self, vector: Vector, mark: bytes = bytes(MARK)) -> None:
        """Add a vector, in the place of the oldest one where the cache is full."""
        await self.novelty(vector, mark)

    async def novelty(self, vector: Vector, mark: bytes = bytes(MARK)) -> float:
        """The novelty of one more vector, which is added to the cache. Raises StopRunError where the server lost the
        cache or cannot be used, and InputError where the cache of this name holds other vectors."""
        placed, added_ms = self._local.to_row(vector), self._local.now_ms()
        async with self._turn:
            if not self._generation:
                await self._ask(b"")  # what is there, before anything is added to it
            if mark not in self._present:
                await self._ask(_HEAD.pack(added_ms, mark) + placed.astype("<f4").tobytes())
                self._n_known += 1
            nearest = self._local.nearest(vector)
            self._local.put(placed, added_ms)
        return novelty(nearest)

    async def size(self) -> int:
        """How many vectors there are to look at."""
        async with self._turn:
            await self._ask(b"")
            return len(self._local)

    async def clear(self) -> None:
        """Delete all vectors on the server."""
        await self._link.delete(self._place.keys)

    async def _ask(self, entry: bytes) -> None:
        """Copy new entries of the cache, then add the entry."""
        place = self._place
        known = (self._generation if self._n_known else "", self._n_known)
        settings = (place.form, self._local.max_elements, *known, place.idle_ms, secrets.token_hex(16), entry)
        reply = await self._link.run("novelty", place.keys, *settings, repeat=[secrets.token_hex(8), 0])
        first = bytes(reply[0]).decode()
        if first == "gone":
            there = self._link.place
            raise StopRunError(f"{there.name} has lost vectors of the novelty cache; {there.full}")
        if first == "form":
            theirs = bytes(reply[1]).decode()
            raise InputError(f"novelty.name: '{place.name}' holds other vectors ({theirs}, not {place.form})")
        self._generation, self._n_known = first, int(reply[1])
        for row in reply[2]:
            self._take(bytes(row))

    def _take(self, entry: bytes) -> None:
        added_ms, mark = _HEAD.unpack_from(entry)
        if mark in self._apart:
            self._present.add(mark)
        else:
            self._local.put(np.frombuffer(entry, dtype="<f4", offset=_HEAD.size).astype(np.float32), added_ms)
