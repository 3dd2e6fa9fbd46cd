"""What was made of texts, kept on disk: a note that did not change is not parsed, cut or tokenised again.

One SQLite file. What is read from it is what would be computed: the key of a value is the text itself, what was asked
of it with which settings, and the code that makes it. Values of other code are thrown away with the next writing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

from runner.data.corpus import passages_of
from runner.data.notes import Outline, outlines_of
from runner.domains.links.links import NOTHING, Link, Markup, markup_of, may_hold_markup
from runner.protocols import Chunker, Tokenizer, attribute_of
from runner.system.database import DamagedError, Database
from runner.system.sources import code_digest
from runner.text.chunking import Cutter, Passage

FILE = "notes.sqlite"
SCHEMA = "CREATE TABLE made (digest BLOB PRIMARY KEY, value BLOB NOT NULL, code TEXT NOT NULL)"
LOOKUP = 500  # digests in one SELECT
CRC_BYTES = 4

Compute = Callable[[list[str]], Sequence[Any]]


class NoteStore:
    """`cold`: nothing stored is read; `read_only`: nothing is stored. Without `root` nothing is either. `reads`: a
    folder that is read beside `root` and not written. What a text was before it changed stays in the file."""

    def __init__(
        self, root: Path | None, *, cold: bool = False, read_only: bool = False, reads: Path | None = None
    ) -> None:
        self._path = None if root is None else root / FILE
        self._base = None if reads in (None, root) else reads / FILE
        self._is_cold, self._is_kept = cold, root is not None and not read_only
        self._code = code_digest(__name__)

    def recall(self, name: str, texts: Sequence[str], compute: Compute) -> list[Any]:
        """The results of `compute` for each text (JSON values). `compute` gets only the texts without a stored result,
        each once. `name` identifies everything else that the results depend on."""
        keys = [self._key(name, text) for text in texts]
        database = Database(self._path, SCHEMA, is_replaceable=self._is_kept, read_only=not self._is_kept)
        try:
            values = self._stored_elsewhere(keys) | self._read(database, list(dict.fromkeys(keys)))
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in values}
            if missing:
                computed = dict(zip(missing, map(_encode, compute(list(missing.values()))), strict=True))
                self._write(database, computed)
                values |= computed
        finally:
            database.close()
        return [_decode(values[key]) for key in keys]

    def markup(self, texts: Sequence[str]) -> list[Markup]:
        """runner.domains.links.links.markup_of each."""
        wanted = [text for text in texts if may_hold_markup(text)]
        found = self.recall("markup", wanted, lambda new: [_plain_markup(markup_of(text)) for text in new])
        made = dict(zip(wanted, map(_markup, found), strict=True))
        return [made.get(text, NOTHING) for text in texts]

    def outlines(self, texts: Sequence[str]) -> list[Outline]:
        """runner.data.notes.outlines_of."""
        found = self.recall("outline", texts, lambda new: [astuple(outline) for outline in outlines_of(new)])
        return [Outline(*outline) for outline in found]

    def passages(self, chunker: Chunker, texts: Sequence[str]) -> list[list[Passage]]:
        """runner.data.corpus.passages_of. What another makes than the `cutter` of this program is not kept: its code is
        not known here."""
        cutter = chunker if isinstance(chunker, Cutter) else attribute_of(chunker, "cutter")
        if not isinstance(cutter, Cutter):
            return [list(passages) for passages in passages_of(chunker, texts)]
        passages_of_texts = self.recall(
            f"passages {cutter!r}", texts, lambda new: [list(map(astuple, cutter.passages(text))) for text in new]
        )
        return [[Passage(start, end, tuple(above)) for start, end, above in passages] for passages in passages_of_texts]

    def terms(self, tokenizer: Tokenizer, identity: str, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text. `identity` of the tokenizer, its settings and what its results depend on."""
        return self.recall(f"terms {identity}", texts, lambda new: tokenizer.tokenize(new))

    # --- inside -----------------------------------------------------------------------------------

    def _key(self, name: str, text: str) -> bytes:
        data = f"{self._code}\0{name}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=20).digest()

    def _stored_elsewhere(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        if self._base is None or not self._base.exists():
            return {}
        base = Database(self._base, SCHEMA, read_only=True)
        try:
            return self._read(base, list(dict.fromkeys(keys)))
        except DamagedError:  # which a run sets aside
            return {}
        finally:
            base.close()

    def _read(self, database: Database, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        if database.path is None or self._is_cold or not database.path.exists():
            return {}
        rows: dict[bytes, bytes] = {}
        for start in range(0, len(keys), LOOKUP):
            batch = keys[start : start + LOOKUP]
            marks = ",".join("?" * len(batch))
            select = f"SELECT digest, value FROM made WHERE digest IN ({marks})"  # noqa: S608 - question marks
            rows |= dict(database.read(partial(_select, select, batch)))
        return {key: data[CRC_BYTES:] for key, data in rows.items() if data[:CRC_BYTES] == _checksum(key, data)}

    def _write(self, database: Database, values: dict[bytes, bytes]) -> None:
        if not self._is_kept:
            return
        entries = [(key, _checksum(key, b"0000" + data) + data, self._code) for key, data in values.items()]

        def write(rows: sqlite3.Connection) -> None:
            rows.execute("DELETE FROM made WHERE code != ?", (self._code,))
            rows.executemany("INSERT OR REPLACE INTO made VALUES (?, ?, ?)", entries)

        database.write(write)


def _select(select: str, keys: Sequence[bytes], rows: sqlite3.Connection) -> list[tuple[bytes, bytes]]:
    return rows.execute(select, keys).fetchall()


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> Any:
    return json.loads(data.decode("utf-8", "surrogatepass"))


def _checksum(key: bytes, value: bytes) -> bytes:
    """The checksum over the bytes behind it."""
    return zlib.crc32(value[CRC_BYTES:], zlib.crc32(key)).to_bytes(CRC_BYTES)


def _plain_markup(markup: Markup) -> list[Any]:
    return [[astuple(link) for link in links] for links in (markup.links, markup.code_links)] + [list(markup.tags)]


def _markup(plain: list[Any]) -> Markup:
    links, code_links, tags = plain
    return Markup(tuple(Link(*link) for link in links), tuple(Link(*link) for link in code_links), tuple(tags))
