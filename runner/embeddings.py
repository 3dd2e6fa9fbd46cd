"""Embeddings on disk: each (model, kind, text) is computed once, whoever asks, in whichever process.

One SQLite database for each model, under `<root>/embeddings/`. It grows while it is used and outlives
`cold_start`: what was paid for is not paid for twice.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from runner.errors import EvaluationError
from runner.store import fingerprint

Kind = Literal["query", "passage"]
T = TypeVar("T")

SCHEMA = """
CREATE TABLE IF NOT EXISTS model (description TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS embedding (digest BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL);
"""
LOOKUP = 500  # digests in one SELECT
WAIT_S = 60.0  # for another process that writes
# SQLite's codes for a file that is another database, a damaged one, or none at all.
UNUSABLE = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})


class EmbeddingStore:
    """The embeddings of one model. `model` (JSON) says everything that decides what a vector is.

    A damaged vector is computed anew; a damaged or foreign file is set aside (`.damaged`) and a new one begun.
    """

    def __init__(self, root: Path, model: Mapping[str, Any]) -> None:
        self._path = root / "embeddings" / f"{fingerprint(model)[:32]}.sqlite"
        self._model = json.dumps(model, ensure_ascii=False, sort_keys=True)
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def has(self, texts: Sequence[str], kind: Kind) -> list[bool]:
        """Which texts would be answered without the model. A blank one always is."""
        digests = [_digest(text, kind) for text in texts]
        known = self._read({digest for digest in digests if digest})
        return [not digest or digest in known for digest in digests]

    def embed(
        self,
        texts: Sequence[str],
        kind: Kind,
        compute: Callable[[list[str]], NDArray[np.float32]],
        *,
        batch_size: int,
    ) -> NDArray[np.float32]:
        """float32 [n_texts, dim], rows of length 1, or of zeros for blank texts.

        `compute` gets at most `batch_size` texts, none blank, none twice, none that is stored; what it
        returns is on disk before the next batch begins.
        """
        digests = [_digest(text, kind) for text in texts]
        wanted = {digest: text for digest, text in zip(digests, texts, strict=True) if digest}
        vectors = self._read(wanted)
        missing = [digest for digest in wanted if digest not in vectors]
        for start in range(0, len(missing), batch_size):
            batch = missing[start : start + batch_size]
            rows = _unit_rows(compute([wanted[digest] for digest in batch]), len(batch))
            computed = dict(zip(batch, rows, strict=True))
            self._write(computed)
            vectors |= computed
        return _stacked(digests, vectors)

    # --- the database -----------------------------------------------------------------------------

    def _read(self, digests: Iterable[bytes]) -> dict[bytes, NDArray[np.float32]]:
        asked = list(digests)
        return self._with_database(lambda database: dict(_rows(database, asked))) if asked else {}

    def _write(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        insert = "INSERT OR REPLACE INTO embedding VALUES (?, ?, ?)"
        encoded = [(digest, vector.astype("<f4").tobytes()) for digest, vector in vectors.items()]
        rows = [(digest, data, _checksum(digest, data)) for digest, data in encoded]
        self._with_database(lambda database: database.executemany(insert, rows))

    def _with_database(self, use: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._open() as database:
                return use(database)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in UNUSABLE:
                raise EvaluationError(f"{self._path}: {error}") from error
        self._set_aside()
        with self._open() as database:
            return use(database)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each use: any thread, any process."""
        with closing(sqlite3.connect(self._path, timeout=WAIT_S)) as database, database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.executescript(SCHEMA)
            database.execute("INSERT OR IGNORE INTO model VALUES (?)", (self._model,))
            yield database

    def _set_aside(self) -> None:
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        with suppress(FileNotFoundError):  # another process did
            self._path.replace(self._path.with_suffix(".damaged"))


def _rows(database: sqlite3.Connection, digests: Sequence[bytes]) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    for start in range(0, len(digests), LOOKUP):
        batch = digests[start : start + LOOKUP]
        marks = ",".join("?" * len(batch))
        select = f"SELECT digest, vector, checksum FROM embedding WHERE digest IN ({marks})"  # noqa: S608
        for digest, data, checksum in database.execute(select, batch):
            if checksum == _checksum(digest, data):
                yield digest, np.frombuffer(data, dtype="<f4")


def _digest(text: str, kind: Kind) -> bytes:
    """Nothing for a blank text, which no model is asked about."""
    if not text.strip():
        return b""
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _checksum(digest: bytes, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(digest))


def _unit_rows(vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != count:
        raise EvaluationError(f"the embedding model returned an array of shape {rows.shape} for {count} texts")
    if not np.isfinite(rows).all():
        raise EvaluationError("the embedding model returned numbers that are not finite")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit.astype(np.float32)


def _stacked(digests: Sequence[bytes], vectors: Mapping[bytes, NDArray[np.float32]]) -> NDArray[np.float32]:
    dims = {vector.size for vector in vectors.values()} or {1}
    if len(dims) > 1:
        raise EvaluationError(f"one embedding model returned vectors of different lengths: {sorted(dims)}")
    rows = np.zeros((len(digests), dims.pop()), dtype=np.float32)
    for place, digest in enumerate(digests):
        if digest:
            rows[place] = vectors[digest]
    return rows
