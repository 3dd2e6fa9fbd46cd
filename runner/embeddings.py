"""Embeddings on disk: each (model, kind, text) is computed once, whoever asks, in whichever process.

One SQLite database for each model, under `<root>/embeddings/`. It grows while it is used and outlives
`cold_start`: what was paid for is not paid for twice.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from runner import terminal
from runner.database import Database
from runner.errors import EvaluationError
from runner.llm.settings import CacheMode
from runner.store import fingerprint

Kind = Literal["query", "passage"]
Vectors = dict[bytes, NDArray[np.float32]]
Done = Callable[[int, NDArray[np.float32]], None]
Compute = Callable[[Sequence[list[str]], Done], None]

SCHEMA = """
CREATE TABLE model (description TEXT PRIMARY KEY);
CREATE TABLE embedding (
    digest BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL, sweep TEXT NOT NULL
)
"""
LOOKUP = 500  # digests in one SELECT


class EmbeddingStore:
    """The embeddings of one model. `model` (JSON) says everything that decides what a vector is.

    `mode`: `use` reads and stores; `read` and `replay` store nothing; `refresh` reads only what this `sweep` has
    stored; `none` neither reads nor stores. What may not be stored is remembered by this object. `made_up`: vectors
    are those of a rehearsal, which are never stored; there they are for all stores that it is handed to.

    A damaged vector is computed anew; a damaged or foreign file is set aside (`.damaged`), which is told, and a new
    one begun.
    """

    def __init__(
        self,
        root: Path,
        model: Mapping[str, Any],
        mode: CacheMode = "use",
        *,
        sweep: str = "",
        made_up: MutableMapping[Path, Vectors] | None = None,
    ) -> None:
        self._path = root / "embeddings" / f"{fingerprint(model)[:32]}.sqlite"
        self._model = json.dumps(model, ensure_ascii=False, sort_keys=True)
        self._mode, self._sweep = mode, sweep
        self._is_kept = mode in ("use", "refresh")  # what is computed, for others
        self._is_rehearsal = made_up is not None
        self._memory = made_up.setdefault(self._path, {}) if made_up is not None and self._is_kept else {}
        self._seen: set[bytes] = set()

    def has(self, texts: Sequence[str], kind: Kind) -> list[bool]:
        """Which texts would be answered without the model. A blank one always is."""
        digests = [_digest(text, kind) for text in texts]
        with self._database() as database:
            known = self._known(database, [digest for digest in dict.fromkeys(digests) if digest])
        return [not digest or digest in known for digest in digests]

    def embed(
        self,
        texts: Sequence[str],
        kind: Kind,
        compute: Compute,
        *,
        batch_size: int,
        stored: Callable[[list[str]], None] = lambda texts: None,
    ) -> NDArray[np.float32]:
        """float32 [n_texts, dim], rows of length 1, or of zeros for blank texts.

        `compute(batches, done)` gets batches of at most `batch_size` texts, none blank, none twice, none that is
        stored. It calls `done(number, vectors)` for each batch that comes back, from any thread: its vectors
        are on disk then, whatever happens to the other batches. `stored` is told the texts that came from
        elsewhere, each once.
        """
        digests = [_digest(text, kind) for text in texts]
        wanted = {digest: text for digest, text in zip(digests, texts, strict=True) if digest}
        with self._database() as database:
            vectors = self._known(database, list(wanted))
            if found := [wanted[digest] for digest in vectors if digest not in self._seen]:
                stored(found)
            missing = [digest for digest in wanted if digest not in vectors]
            batches = [missing[start : start + batch_size] for start in range(0, len(missing), batch_size)]

            def done(number: int, rows: NDArray[np.float32]) -> None:
                batch = batches[number]
                computed = dict(zip(batch, _unit_rows(rows, len(batch)), strict=True))
                self._keep(database, computed)
                vectors.update(computed)

            self._seen.update(wanted)
            if batches:
                compute([[wanted[digest] for digest in batch] for batch in batches], done)
        return self._stacked(digests, vectors)

    # --- where they are -----------------------------------------------------------------------------

    @contextmanager
    def _database(self) -> Iterator[Database]:
        database = Database(self._path, SCHEMA, is_replaceable=self._is_kept, read_only=not self._is_kept)
        try:
            yield database
        finally:
            database.close()
            if (aside := database.set_aside) is not None:
                terminal.note(
                    f"note: the stored embeddings were damaged or of another version, and are now {aside}; they count "
                    "as not there"
                )

    def _known(self, database: Database, digests: Sequence[bytes]) -> Vectors:
        known = {digest: self._memory[digest] for digest in digests if digest in self._memory}
        if self._mode == "none" or not self._path.exists():
            return known
        sweep = self._sweep if self._mode == "refresh" else ""
        asked = [digest for digest in digests if digest not in known]
        return known | database.read(lambda rows: dict(_rows(rows, asked, sweep)))

    def _keep(self, database: Database, vectors: Vectors) -> None:
        if self._is_rehearsal or not self._is_kept:
            self._memory.update(vectors)
            return
        encoded = [(digest, vector.astype("<f4").tobytes()) for digest, vector in vectors.items()]
        entries = [(digest, data, _checksum(digest, data), self._sweep) for digest, data in encoded]

        def write(rows: sqlite3.Connection) -> None:
            rows.execute("INSERT OR IGNORE INTO model VALUES (?)", (self._model,))
            rows.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?, ?)", entries)

        database.write(write)

    def _stacked(self, digests: Sequence[bytes], vectors: Vectors) -> NDArray[np.float32]:
        dims = {vector.size for vector in vectors.values()} or {1}
        if len(dims) > 1 and not self._is_rehearsal:
            raise EvaluationError(f"one embedding model returned vectors of different lengths: {sorted(dims)}")
        rows = np.zeros((len(digests), max(dims)), dtype=np.float32)
        for place, digest in enumerate(digests):
            if digest:
                vector = vectors[digest]
                rows[place] = vector if len(dims) == 1 else np.resize(vector, max(dims))
        return rows


def in_turn(compute: Callable[[list[str]], NDArray[np.float32]]) -> Compute:
    """One batch after the other."""

    def all_batches(batches: Sequence[list[str]], done: Done) -> None:
        for number, batch in enumerate(batches):
            done(number, compute(batch))

    return all_batches


def _rows(
    database: sqlite3.Connection, digests: Sequence[bytes], sweep: str
) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    for start in range(0, len(digests), LOOKUP):
        batch = digests[start : start + LOOKUP]
        marks = ",".join("?" * len(batch))
        select = f"SELECT digest, vector, checksum FROM embedding WHERE digest IN ({marks}) AND (? = '' OR sweep = ?)"  # noqa: S608
        for digest, data, checksum in database.execute(select, (*batch, sweep, sweep)):
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
