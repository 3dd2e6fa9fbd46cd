"""Where a rehearsal keeps what is expensive to build: what follows from vectors and replies that are made up is for
no run."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner.llm.rehearsal import Rehearsal
from runner.protocols import Workspace
from runner.store import fingerprint


class RehearsalWorkspace:
    """A Workspace for one cell. As long as no vector was made up, what is built is stored in `real`, where the runs
    will find it; from then on in `scratch`, as is whatever a reply was made up for while it was built. Cells share
    `scratch` unless they are cold, as runs share what is stored. `is_made_up` tells whether this cell was given
    anything from there."""

    def __init__(self, real: Workspace, rehearsal: Rehearsal, scratch: Path) -> None:
        self._real, self._rehearsal = real, rehearsal
        self._scratch = scratch / secrets.token_hex(8) if real.cold else scratch
        self.is_made_up = False

    @property
    def root(self) -> Path:
        return self._real.root

    @property
    def cold(self) -> bool:
        return self._real.cold

    def identity(self, component: object) -> str:
        return self._real.identity(component)

    def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        own = self._scratch / kind / fingerprint(key)

        def build_for_all(folder: Path) -> None:
            replies = self._rehearsal.n_made_up
            build(folder)
            if self._rehearsal.has_vectors or self._rehearsal.n_made_up > replies:
                shutil.copytree(folder, own)
                raise _MadeUpError

        try:
            if not own.exists():
                return self._real.folder(kind, key, build_for_all)
        except _MadeUpError:
            pass
        self.is_made_up = True
        return own


class _MadeUpError(Exception):
    """Nothing to keep."""
