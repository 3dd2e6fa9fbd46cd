"""Embeddings on disk: each (model, kind, text) is computed once over all processes.

One SQLite database a model, under `<root>/embeddings/`. `cold_start` does not clear it, so that nothing is paid for
twice.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from runner.errors import EvaluationError, StopRunError
from runner.llm.settings import CacheMode
from runner.system import terminal
from runner.system.database import Database
from runner.system.store import fingerprint
from runner.words.wording import current_wording

Kind = Literal["query", "passage"]
Vectors = dict[bytes, NDArray[np.float32]]
Rows = Sequence[NDArray[np.floating[Any]]] | NDArray[np.floating[Any]]


class BatchSink(Protocol):
    """Receives the vectors of a batch by its number; `sent_by` is the server's name of its model.

    def keep(number: int, rows: Rows, sent_by: str = "", /) -> None:
        vectors[number] = rows
    """

    def __call__(self, number: int, rows: Rows, sent_by: str = "", /) -> None: ...


Compute = Callable[[Sequence[list[str]], BatchSink], None]

SCHEMA = """
CREATE TABLE model (description TEXT PRIMARY KEY);
CREATE TABLE embedding (
    digest BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL, sweep TEXT NOT NULL
)
"""
LOOKUP = 500  # digests in one SELECT
ALIKE = 3  # different texts that all have the same vector: the server does not compute embeddings
LARGEST = float(np.finfo(np.float32).max)
SHOWN = 40  # characters of a text in a message
ODD = 3  # vectors of another length without one of the right length: it is another model
SENT_BY = "sent_by"  # key of the description
ANEW = "cache=refresh cold_start=true requests all vectors again"


class EmbeddingStore:
    """The embeddings of one model. `model` (JSON) holds everything that a vector depends on.

    `mode`: `use` reads and stores; `read` and `replay` store nothing; `refresh` reads only what this `sweep` has
    stored; `none` neither reads nor stores. Vectors that may not be stored are kept in this object. `made_up`: the
    vectors of a rehearsal, which are never stored, shared by all stores that get it. `reads`: a folder that is read
    beside `root` and not written.

    `server` names a model on a server. Its vectors must have the length of the stored ones, be finite, not constant,
    and not the same for all texts. An invalid vector is not stored and not requested again by this object; the valid
    ones of its batch are stored.

    A damaged vector is computed again; a damaged or foreign file is set aside (`.damaged`) with a note, and a new one
    is begun.
    """

    def __init__(
        self,
        root: Path,
        model: Mapping[str, Any],
        mode: CacheMode = "use",
        *,
        sweep: str = "",
        made_up: MutableMapping[Path, Vectors] | None = None,
        reads: Path | None = None,
        server: str = "",
    ) -> None:
        file = Path("embeddings", f"{fingerprint(model)[:32]}.sqlite")
        self._path, self._stored_path = root / file, (reads or root) / file
        self._model = json.dumps(model, ensure_ascii=False, sort_keys=True)
        self._mode, self._sweep = mode, sweep
        self._is_kept = mode in ("use", "refresh")  # vectors that this process computes, for its other threads
        self._is_rehearsal = made_up is not None
        self._memory = made_up.setdefault(self._stored_path, {}) if made_up is not None and self._is_kept else {}
        self._known_digests: set[bytes] = set()
        self._name = server
        self._check = (
            None if made_up is not None or not server else ServerCheck(server, self._path if self._is_kept else None)
        )
        self._refused: dict[bytes, str] = {}  # digest of a text -> the fault of its vector

    @property
    def has_made_up(self) -> bool:
        """Whether there are made-up vectors of a rehearsal."""
        return self._is_rehearsal and bool(self._memory)

    def has(self, texts: Sequence[str], kind: Kind) -> list[bool]:
        """Which texts need no call of the model. A blank one never does."""
        digests = [_digest(text, kind) for text in texts]
        with self._databases() as databases:
            known = self._read_stored(databases, [digest for digest in dict.fromkeys(digests) if digest])
        return [not digest or digest in known for digest in digests]

    def embed(
        self,
        texts: Sequence[str],
        kind: Kind,
        compute: Compute,
        *,
        batch_size: int,
        note_stored: Callable[[list[str]], None] = lambda texts: None,
    ) -> NDArray[np.float32]:
        """float32 [n_texts, dim], rows of length 1, or of zeros for blank texts.

        `compute(batches, done)` gets batches of at most `batch_size` texts without blank, repeated and stored ones. It
        calls `done(number, vectors)` for each finished batch, from any thread; the vectors are then on disk, whatever
        happens to the other batches. `note_stored` is called with the texts whose vectors came from the store, each
        once.
        Raises EvaluationError for an invalid vector, and StopRunError where another model answers under this name.
        """
        digests = [_digest(text, kind) for text in texts]
        text_by_digest = {digest: text for digest, text in zip(digests, texts, strict=True) if digest}
        with self._databases() as databases:
            vectors = self._read_stored(databases, list(text_by_digest))
            if found := [text_by_digest[digest] for digest in vectors if digest not in self._known_digests]:
                note_stored(found)
            missing = [digest for digest in text_by_digest if digest not in vectors and digest not in self._refused]
            batches = [missing[start : start + batch_size] for start in range(0, len(missing), batch_size)]

            def store_batch(number: int, rows: Rows, sent_by: str = "", /) -> None:
                batch = {digest: text_by_digest[digest] for digest in batches[number]}
                computed = self._accept(databases, batch, rows, sent_by)
                self._keep(databases, computed, sent_by)
                vectors.update(computed)

            self._known_digests.update(text_by_digest)
            if batches:
                compute([[text_by_digest[digest] for digest in batch] for batch in batches], store_batch)
        self._raise_refused(text_by_digest)
        return self._stack(digests, vectors)

    # --- what a server sent -------------------------------------------------------------------------

    def _accept(self, databases: Sequence[Database], batch: Mapping[bytes, str], rows: Rows, sent_by: str) -> Vectors:
        """The valid vectors of a batch, after they were stored."""
        if self._check is None or len(rows) != len(batch):
            return dict(zip(batch, _unit_rows(np.asarray(rows), len(batch)), strict=True))
        if self._check.length is None and self._mode != "none":
            self._check.learn(databases, self._sweep if self._mode == "refresh" else "")
        faults = self._check.faults(list(batch), rows, sent_by)
        self._refused.update(faults)
        good = [(digest, row) for digest, row in zip(batch, rows, strict=True) if digest not in faults]
        unit = _unit_rows(np.array([row for _, row in good]), len(good)) if good else ()
        vectors = dict(zip((digest for digest, _ in good), unit, strict=True))
        if alike := self._check.texts_alike(batch, vectors):
            self._forget(databases, list(alike))
            texts = list(alike.values())
            raise StopRunError(
                f"{self._name} sends the same vector for different texts: {_excerpt(texts[0])}, {_excerpt(texts[1])} "
                f"and {len(texts) - 2} more; the server does not compute embeddings"
            )
        return vectors

    def _raise_refused(self, texts: Mapping[bytes, str]) -> None:
        faults = [(text, self._refused[digest]) for digest, text in texts.items() if digest in self._refused]
        if faults:
            text, fault = faults[0]
            more = f" (and so for {len(faults) - 1} more of {len(texts)} texts)" if len(faults) > 1 else ""
            raise EvaluationError(f"{self._name} sent no usable vector for {_excerpt(text)}: {fault}{more}")

    # --- where they are -----------------------------------------------------------------------------

    @contextmanager
    def _databases(self) -> Iterator[list[Database]]:
        """The database that is written, and the read-only one where there is one."""
        paths = dict.fromkeys((self._path, self._stored_path))
        with ExitStack() as opened:
            yield [opened.enter_context(self._database(path)) for path in paths]

    @contextmanager
    def _database(self, path: Path) -> Iterator[Database]:
        database = Database(path, SCHEMA, is_replaceable=self._is_kept, read_only=not self._is_kept)
        try:
            yield database
        finally:
            database.close()
            if (aside := database.set_aside) is not None:
                terminal.note(current_wording()("progress.aside.embeddings", aside=aside))

    def _read_stored(self, databases: Sequence[Database], digests: Sequence[bytes]) -> Vectors:
        vectors = {digest: self._memory[digest] for digest in digests if digest in self._memory}
        sweep = self._sweep if self._mode == "refresh" else ""
        for database in databases if self._mode != "none" else ():
            asked = [digest for digest in digests if digest not in vectors]
            if asked and database.path is not None and database.path.exists():
                vectors |= database.read(partial(_read, asked, sweep))
        if self._name:  # an earlier version stored vectors of zeros; a server never sends them
            return {digest: vector for digest, vector in vectors.items() if vector.any()}
        return vectors

    def _keep(self, databases: Sequence[Database], vectors: Vectors, sent_by: str) -> None:
        if self._is_rehearsal or not self._is_kept:
            self._memory.update(vectors)
            return
        encoded = [(digest, vector.astype("<f4").tobytes()) for digest, vector in vectors.items()]
        entries = [(digest, data, _checksum(digest, data), self._sweep) for digest, data in encoded]
        models = [(self._model,), *([(json.dumps({SENT_BY: sent_by}, ensure_ascii=False),)] if sent_by else [])]

        def write(rows: sqlite3.Connection) -> None:
            rows.executemany("INSERT OR IGNORE INTO model VALUES (?)", models)
            rows.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?, ?)", entries)

        if entries:
            databases[0].write(write)

    def _forget(self, databases: Sequence[Database], digests: Sequence[bytes]) -> None:
        for digest in digests:
            self._memory.pop(digest, None)
        if self._is_kept and self._path.exists():
            marks = [(digest,) for digest in digests]
            databases[0].write(lambda rows: rows.executemany("DELETE FROM embedding WHERE digest = ?", marks))

    def _stack(self, digests: Sequence[bytes], vectors: Vectors) -> NDArray[np.float32]:
        made_up = self._memory if self._is_rehearsal else {}
        dims = {vector.size for digest, vector in vectors.items() if digest not in made_up}
        if len(dims) > 1:
            lengths = ", ".join(map(str, sorted(dims)))
            raise EvaluationError(
                f"one embedding model returned vectors of different lengths: {self._name or self._model} has stored "
                f"some of {lengths} numbers in {self._stored_path}, as different models make them; {ANEW}"
            )
        dim = max(dims or {vector.size for vector in vectors.values()} or {1})
        rows = np.zeros((len(digests), dim), dtype=np.float32)
        for place, digest in enumerate(digests):
            if digest:
                vector = vectors[digest]
                rows[place] = np.resize(vector, dim) if digest in made_up else vector
        return rows


class ServerCheck:
    """Checks the vectors of a server. `length`: of the stored vectors, else the most frequent one of the first batch.
    `path`: of the database."""

    def __init__(self, name: str, path: Path | None) -> None:
        self._name, self._path = name, path
        self.length: int | None = None
        self._sent_by = ""  # the server's name of the model with vectors of this length
        self._odd: Counter[int] = Counter()  # lengths of the vectors since the last one that fits
        self._alike: dict[bytes, str] = {}
        self._first: NDArray[np.float32] | None = None
        self._differ = False

    def learn(self, databases: Sequence[Database], sweep: str) -> None:
        """Read the length of the stored vectors, or of the latest where there are several lengths."""
        for database in databases:
            if database.path is not None and database.path.exists():
                vector, self._sent_by = database.read(lambda rows: _latest(rows, sweep))
                if vector is not None:
                    self.length = vector.size
                    return

    def faults(self, batch: Sequence[bytes], rows: Rows, sent_by: str) -> dict[bytes, str]:
        """The faults of vectors, by the digest of their texts. Raises StopRunError where another model made them."""
        lengths = {digest: len(row) for digest, row in zip(batch, rows, strict=True)}
        wrong = {digest: fault for digest, row in zip(batch, rows, strict=True) if (fault := _fault(row))}
        sizes = Counter(length for digest, length in lengths.items() if digest not in wrong)
        if self.length is None and sizes:
            self.length, self._sent_by = max(sizes, key=lambda size: (sizes[size], size)), sent_by
        if sizes[self.length or 0]:
            self._odd.clear()
        else:
            self._odd.update(sizes)
        odd = {digest: size for digest, size in lengths.items() if digest not in wrong and size != self.length}
        if any(count >= ODD for count in self._odd.values()):
            raise StopRunError(
                f"{self._name} sends vectors {self._unlike(next(iter(odd.values())), sent_by)}: another model answers "
                f"under this name; bring the former back, give the new one another name, or: {ANEW}"
            )
        return wrong | {digest: f"one {self._unlike(size, sent_by)}" for digest, size in odd.items()}

    def _unlike(self, size: int, sent_by: str) -> str:
        now, before = (f" (as {name!r})" if name else "" for name in (sent_by, self._sent_by))
        others = f"those stored in {self._path}" if self._path is not None else "the others"
        return f"of {size} numbers{now}, and {others} have {self.length}{before}"

    def texts_alike(self, batch: Mapping[bytes, str], vectors: Vectors) -> Mapping[bytes, str]:
        """All texts so far where there are several and all have the same vector; else empty."""
        for digest, vector in vectors.items() if not self._differ else ():
            self._first = vector if self._first is None else self._first
            self._differ |= not np.array_equal(vector, self._first)
            self._alike[digest] = batch[digest]
        if self._differ:
            self._alike.clear()
        different = {" ".join(text.casefold().split()) for text in self._alike.values()}
        return dict(self._alike) if len(different) >= ALIKE else {}


def in_turn(compute: Callable[[list[str]], NDArray[np.float32]]) -> Compute:
    """A `compute` that handles one batch after the other."""

    def all_batches(batches: Sequence[list[str]], done: BatchSink) -> None:
        for number, batch in enumerate(batches):
            done(number, compute(batch))

    return all_batches


def _read(digests: Sequence[bytes], sweep: str, database: sqlite3.Connection) -> Vectors:
    return dict(_rows(database, digests, sweep))


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


def _fault(row: NDArray[np.floating[Any]]) -> str:
    """Why a row is an invalid vector; empty where it is valid."""
    if not len(row):
        return "an empty list"
    if not (np.abs(row) <= LARGEST).all():
        return "numbers that are not finite"
    if not row.any():
        return "nothing but zeros"
    return f"the same number {len(row)} times" if len(row) > 1 and (row == row[0]).all() else ""


def _excerpt(text: str) -> str:
    """An excerpt of a text for messages."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def _latest(rows: sqlite3.Connection, sweep: str) -> tuple[NDArray[np.float32] | None, str]:
    """The latest vector, and the server's name of its model."""
    select = "SELECT digest, vector, checksum FROM embedding WHERE ? = '' OR sweep = ? ORDER BY rowid DESC LIMIT 1"
    row = rows.execute(select, (sweep, sweep)).fetchone()
    descriptions = (json.loads(text) for (text,) in rows.execute("SELECT description FROM model ORDER BY rowid DESC"))
    names = [str(told[SENT_BY]) for told in descriptions if isinstance(told, dict) and SENT_BY in told]
    if row is None or row[2] != _checksum(*row[:2]):
        return None, ""
    return np.frombuffer(row[1], dtype="<f4"), names[0] if names else ""


def _digest(text: str, kind: Kind) -> bytes:
    """The key of a text; empty for a blank text, which is never sent to a model."""
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
