"""Answers of models on disk: a request that was answered is not paid for again, by whichever process.

One SQLite file, `<root>/models.sqlite`. A row holds the whole request beside the answer, and is an answer
only to that very request.
"""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from runner.database import Database
from runner.llm.settings import CacheMode

SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
    digest BLOB PRIMARY KEY, request BLOB NOT NULL, reply BLOB NOT NULL, checksum INTEGER NOT NULL,
    asked_at INTEGER NOT NULL
) WITHOUT ROWID;
"""


class ReplyCache:
    """`mode`: `use` reads and stores; `read` and `replay` store nothing; `refresh` asks everything anew once and
    stores it; `none` neither. Damaged rows are missing rows, a damaged file is set aside.

    A request is bytes that say everything on which its answer depends.
    """

    def __init__(self, root: Path, mode: CacheMode) -> None:
        self.mode = mode
        self._database = Database(root / "models.sqlite", SCHEMA)
        self._refreshed: set[bytes] = set()

    def find(self, request: bytes) -> Mapping[str, Any] | None:
        digest = _digest(request)
        if self.mode == "none" or (self.mode == "refresh" and digest not in self._refreshed):
            return None
        select = "SELECT request, reply, checksum FROM reply WHERE digest = ?"
        row = self._database.use(lambda database: database.execute(select, (digest,)).fetchone())
        if row is None or _checksum(digest, *row[:2]) != row[2] or zlib.decompress(row[0]) != request:
            return None
        reply: Mapping[str, Any] = orjson.loads(row[1])
        return reply

    def store(self, request: bytes, reply: Mapping[str, Any]) -> None:
        """On disk, for every process, when this returns; a power cut may lose the last ones."""
        if self.mode not in ("use", "refresh"):
            return
        digest, packed, encoded = _digest(request), zlib.compress(request, 1), orjson.dumps(reply)
        self._refreshed.add(digest)
        row = (digest, packed, encoded, _checksum(digest, packed, encoded), int(time.time()))
        insert = "INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?)"
        self._database.use(lambda database: database.execute(insert, row))

    def close(self) -> None:
        self._database.close()


def _digest(request: bytes) -> bytes:
    return hashlib.sha256(request).digest()


def _checksum(digest: bytes, request: bytes, reply: bytes) -> int:
    return zlib.crc32(reply, zlib.crc32(request, zlib.crc32(digest)))
