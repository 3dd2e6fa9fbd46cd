"""The workspace of a rehearsal. It reads stored data and writes only to a scratch folder: results of made-up vectors
and replies must not reach a run."""

from __future__ import annotations

import os
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from runner.llm.rehearsal import Rehearsal
from runner.system.store import MANIFEST, SCRATCH, Store, module_of, remove_leftovers

EMBEDDINGS, NOTES = "embeddings", "notes.sqlite"  # stores of computed values that grow while they are used


class Scratch:
    """The scratch folder of one rehearsal, beside the store `root`; `workspace` is called for each cell."""

    def __init__(self, root: Path, folder: Path, rehearsal: Rehearsal) -> None:
        self.root, self.folder, self.rehearsal = root, folder, rehearsal
        self.made_up: set[Path] = set()

    def workspace(self, real: Store) -> RehearsalWorkspace:
        """A workspace that reads what the real one has stored."""
        return RehearsalWorkspace(real, self)

    def hand_over(self) -> None:
        """Move what was built without made-up data to the store of the runs that follow, unless it is there already.
        They would build the same."""
        store = Store(self.root)
        for manifest in sorted(self.folder.glob(f"*/*/{MANIFEST}")):
            if manifest.parent not in self.made_up:
                store.take(manifest.parent)
        if not self.rehearsal.has_vectors:
            for path in self.folder.rglob(f"{EMBEDDINGS}/*.sqlite"):
                _merge(path, self.root / EMBEDDINGS / path.name)
        if (notes := self.folder / NOTES).exists():
            _merge(notes, self.root / NOTES)


@contextmanager
def scratch_for(root: Path, rehearsal: Rehearsal) -> Iterator[Scratch]:
    """A scratch folder on the disk of `root`, so that results can be moved; in the temporary folder where `root` is not
    writable. A root that was made for it and is still empty is removed."""
    is_new = not root.exists()
    try:
        root.mkdir(parents=True, exist_ok=True)
        remove_leftovers(root)
        scratch = tempfile.TemporaryDirectory(prefix=SCRATCH, dir=root)
    except OSError:
        scratch = tempfile.TemporaryDirectory(prefix=SCRATCH)
    try:
        with scratch as folder:
            yield Scratch(root, Path(folder), rehearsal)
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                root.rmdir()


class RehearsalWorkspace:
    """The workspace of one cell. It reads what runs have stored and builds the rest in the scratch folder, which cells
    share unless they start cold. `is_made_up`: whether the cell used results of made-up vectors or replies."""

    def __init__(self, real: Store, scratch: Scratch) -> None:
        self._real, self._scratch, self._rehearsal = real, scratch, scratch.rehearsal
        root = scratch.folder / f"cold-{secrets.token_hex(8)}" if real.cold else scratch.folder
        self._store = Store(root, real.identities)
        self.is_made_up = False

    @property
    def root(self) -> Path:
        return self._store.root

    @property
    def stored_root(self) -> Path:
        return self._real.root

    @property
    def cold(self) -> bool:
        return self._real.cold

    def identity(self, component: object) -> str:
        return self._real.identity(component)

    def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        code = module_of(build)
        if (found := self._real.find_folder(kind, key, code)) is not None:
            return found

        replies = self._rehearsal.n_made_up
        built_folders = []

        def build_and_note(folder: Path) -> None:
            build(folder)
            built_folders.append(folder)

        build_and_note.__module__ = code
        folder = self._store.folder(kind, key, build_and_note)
        if built_folders and (self._rehearsal.has_vectors or self._rehearsal.n_made_up > replies):
            self._scratch.made_up.add(folder)
        self.is_made_up |= folder in self._scratch.made_up
        return folder


def _merge(source: Path, target: Path) -> None:
    """Copy the rows that another SQLite file with the same tables lacks. An unusable file is left alone: the run
    computes what is missing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        os.link(source, target)  # never replaces a file
        return
    with suppress(sqlite3.Error), closing(sqlite3.connect(target, timeout=60.0, isolation_level=None)) as connection:
        connection.execute("ATTACH ? AS other", (str(source),))
        connection.execute("BEGIN IMMEDIATE")
        for (table,) in connection.execute("SELECT name FROM other.sqlite_master WHERE type = 'table'").fetchall():
            connection.execute(f'INSERT OR IGNORE INTO main."{table}" SELECT * FROM other."{table}"')  # noqa: S608
        connection.execute("COMMIT")
