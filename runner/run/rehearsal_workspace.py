"""Where a rehearsal keeps what is expensive to build. It reads what is stored, and writes only to a folder of its own:
what follows from vectors and replies that are made up is for no run."""

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

EMBEDDINGS, NOTES = "embeddings", "notes.sqlite"  # stores that grow while they are used, of what was computed


class Scratch:
    """The folder of one rehearsal, beside what is stored under `root`; `workspace` for each of its cells."""

    def __init__(self, root: Path, folder: Path, rehearsal: Rehearsal) -> None:
        self.root, self.folder, self.rehearsal = root, folder, rehearsal
        self.made_up: set[Path] = set()

    def workspace(self, real: Store) -> RehearsalWorkspace:
        """The workspace of a rehearsal; it reads what the real one has stored."""
        return RehearsalWorkspace(real, self)

    def hand_over(self) -> None:
        """For the runs that follow: moves what was built of nothing but what is stored to where they look for it,
        unless something is there. What they would build is the same."""
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
    """On the disk of `root`, so that what was built can be moved; elsewhere where nothing can be written there. A root
    that was made for it and is still empty goes again."""
    is_new = not root.exists()
    try:
        root.mkdir(parents=True, exist_ok=True)
        remove_leftovers(root)
        made = tempfile.TemporaryDirectory(prefix=SCRATCH, dir=root)
    except OSError:
        made = tempfile.TemporaryDirectory(prefix=SCRATCH)
    try:
        with made as folder:
            yield Scratch(root, Path(folder), rehearsal)
    finally:
        if is_new:
            with suppress(OSError):  # something is in it
                root.rmdir()


class RehearsalWorkspace:
    """A Workspace for one cell. What a run has stored is read where it is, all else is built in the scratch folder,
    which cells share unless they are cold, as runs share what is stored. `is_made_up` tells whether this cell was given
    something that follows from made-up vectors or replies."""

    def __init__(self, real: Store, scratch: Scratch) -> None:
        self._real, self._scratch, self._rehearsal = real, scratch, scratch.rehearsal
        root = scratch.folder / f"cold-{secrets.token_hex(8)}" if real.cold else scratch.folder
        self._store = Store(root, real.identities)
        self.is_made_up = False

    @property
    def root(self) -> Path:
        return self._store.root

    @property
    def stored(self) -> Path:
        return self._real.root

    @property
    def cold(self) -> bool:
        return self._real.cold

    def identity(self, component: object) -> str:
        return self._real.identity(component)

    def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        code = module_of(build)
        if (found := self._real.found(kind, key, code)) is not None:
            return found

        replies = self._rehearsal.n_made_up
        built = []

        def build_and_note(folder: Path) -> None:
            build(folder)
            built.append(folder)

        build_and_note.__module__ = code
        folder = self._store.folder(kind, key, build_and_note)
        if built and (self._rehearsal.has_vectors or self._rehearsal.n_made_up > replies):
            self._scratch.made_up.add(folder)
        self.is_made_up |= folder in self._scratch.made_up
        return folder


def _merge(source: Path, target: Path) -> None:
    """What one SQLite file has and the other, of the same tables, lacks. One that cannot be used is left alone: the run
    computes what is missing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        os.link(source, target)  # which replaces nothing
        return
    with suppress(sqlite3.Error), closing(sqlite3.connect(target, timeout=60.0, isolation_level=None)) as connection:
        connection.execute("ATTACH ? AS other", (str(source),))
        connection.execute("BEGIN IMMEDIATE")
        for (table,) in connection.execute("SELECT name FROM other.sqlite_master WHERE type = 'table'").fetchall():
            connection.execute(f'INSERT OR IGNORE INTO main."{table}" SELECT * FROM other."{table}"')  # noqa: S608
        connection.execute("COMMIT")
