"""Replies of models on disk, so that no process pays twice for the same request.

One SQLite file, `<root>/models.sqlite`. A row holds the whole request beside the reply; a lookup compares the requests,
not only their hashes.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from runner.errors import StopRunError
from runner.llm.messages import request_digest
from runner.llm.presence import Presence, is_present
from runner.llm.settings import CacheMode
from runner.system.database import Database

SCHEMA = """
CREATE TABLE reply (
    digest BLOB PRIMARY KEY, request BLOB NOT NULL, reply BLOB NOT NULL, checksum INTEGER NOT NULL,
    sweep TEXT NOT NULL
);
CREATE TABLE claim (digest BLOB PRIMARY KEY, owner TEXT NOT NULL)
"""
ADVICE = "cache=use sets the damaged file aside and begins a new one"
SELECT = "SELECT request, reply, checksum FROM reply WHERE digest = ? AND (? = '' OR sweep = ?)"
USELESS = "useless"  # of a stored reply: the command that could not use it

Reply = Mapping[str, Any]


class ReplyCache:
    """`mode`: `use` reads and stores; `read` and `replay` store nothing; `refresh` ignores replies that other sweeps
    stored and replaces them; `none` neither reads nor stores.

    A request is given as bytes that hold everything its reply depends on. A damaged row counts as missing. `sweep`
    returns the name of this sweep. While one process waits for a reply, the others wait for that process. A reply that
    was marked useless answers its request only in the `command` that marked it, and in mode `replay`; later commands
    send the request again.
    """

    def __init__(
        self, root: Path, mode: CacheMode, sweep: Callable[[], str], command: Callable[[], str] = lambda: ""
    ) -> None:
        self.mode = mode
        self.stores = mode in ("use", "refresh")
        self._sweep, self._command = sweep, command
        self._root, self._path = root, root / "models.sqlite"
        self._presence: Presence | None = None
        self._database = Database(
            self._path, SCHEMA, is_replaceable=self.stores, read_only=not self.stores, advice=ADVICE
        )
        self.problem: StopRunError | None = None  # why nothing could be looked up

    @property
    def set_aside(self) -> Path | None:
        """The place to which an unusable file was moved; None where there was none."""
        return self._database.set_aside

    def find(self, request: bytes, *, for_plan: bool = False) -> Reply | None:
        """`for_plan`: find what the next command would find; it requests useless replies again."""
        makes_file = self.stores and not for_plan
        if self.mode == "none" or not (makes_file or self._path.exists()):
            return None
        digest, sweep = request_digest(request), self._own_sweep()
        serves = self._serves if not for_plan or self.mode == "replay" else _is_of_use
        try:
            return self._database.read(lambda rows: _read(rows, digest, request, sweep, serves))
        except StopRunError as error:
            self.problem = error
            raise

    def claim(self, request: bytes) -> tuple[bool, Reply | None]:
        """True where this process must send the request, and then call `store` or `give_up`; else the reply, or None
        while another process waits for it."""
        if not self.stores:
            return True, None
        digest, sweep = request_digest(request), self._own_sweep()

        def write(rows: sqlite3.Connection) -> tuple[bool, Reply | None]:
            if (stored := _read(rows, digest, request, sweep, self._serves)) is not None:
                return False, stored
            if self._presence is None:
                self._presence = Presence(self._root)
            owner = rows.execute("SELECT owner FROM claim WHERE digest = ?", (digest,)).fetchone()
            if owner is not None and owner[0] != self._presence.name and is_present(self._root, owner[0]):
                return False, None
            rows.execute("INSERT OR REPLACE INTO claim VALUES (?, ?)", (digest, self._presence.name))
            return True, None

        return self._database.write(write)

    def give_up(self, request: bytes) -> None:
        """Release a claim without a reply."""
        if self.stores:
            self._database.write(lambda rows: _unclaim(rows, request_digest(request)))

    def store(self, request: bytes, reply: Reply) -> Reply:
        """Store a reply and return the one to use: that of another process where it was stored first, else this one. A
        power cut may lose the last replies."""
        if not self.stores:
            return reply
        digest, sweep, encoded = request_digest(request), self._own_sweep(), orjson.dumps(reply)
        row = (digest, request, encoded, _checksum(digest, request, encoded), sweep)

        def write(rows: sqlite3.Connection) -> Reply:
            _unclaim(rows, digest)
            if (stored := _read(rows, digest, request, sweep, self._serves)) is not None:
                return stored
            rows.execute("INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?)", row)
            return reply

        return self._database.write(write)

    def mark_useless(self, requests: Iterable[bytes]) -> None:
        """Mark the replies to these requests as useless."""
        if not self.stores:
            return
        digests = [(request_digest(request), request) for request in requests]
        sweep, command = self._own_sweep(), self._command()

        def write(rows: sqlite3.Connection) -> None:
            for digest, request in digests:
                if (stored := _read(rows, digest, request, sweep, self._serves)) is not None:
                    encoded = orjson.dumps({**stored, USELESS: command})
                    checksum = _checksum(digest, request, encoded)
                    rows.execute(
                        "UPDATE reply SET reply = ?, checksum = ? WHERE digest = ?", (encoded, checksum, digest)
                    )

        self._database.write(write)

    def check(self) -> None:
        """Raises StopRunError where replies could not be stored, before any is paid for."""
        if self.stores:
            try:
                self._database.write(lambda rows: None)
            except StopRunError as error:
                raise StopRunError(f"cache={self.mode} cannot store answers (cache=read would not): {error}") from error

    def close(self) -> None:
        """Close the database, and say that this process no longer uses it."""
        self._database.close()
        if self._presence is not None:
            self._presence.close()
            self._presence = None

    def _serves(self, reply: Reply) -> bool:
        return _is_of_use(reply) or self.mode == "replay" or reply[USELESS] == self._command()

    def _own_sweep(self) -> str:
        """The sweep whose replies are accepted; empty for those of all sweeps."""
        return self._sweep() if self.mode == "refresh" else ""


def _is_of_use(reply: Reply) -> bool:
    return USELESS not in reply


def _read(
    rows: sqlite3.Connection, digest: bytes, request: bytes, sweep: str, serves: Callable[[Reply], bool]
) -> Reply | None:
    row = rows.execute(SELECT, (digest, sweep, sweep)).fetchone()
    if row is None or _checksum(digest, *row[:2]) != row[2] or row[0] != request:
        return None
    reply: Reply = orjson.loads(row[1])
    return reply if serves(reply) else None


def _unclaim(rows: sqlite3.Connection, digest: bytes) -> None:
    rows.execute("DELETE FROM claim WHERE digest = ?", (digest,))


def _checksum(digest: bytes, request: bytes, reply: bytes) -> int:
    return zlib.crc32(reply, zlib.crc32(request, zlib.crc32(digest)))
