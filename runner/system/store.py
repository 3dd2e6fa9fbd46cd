"""Folders of derived data on disk: built once, checked on every opening, shared by all processes.

    <root>/<kind>/<hash of key>/manifest.json   key, and size and digest of every file
    <root>/<kind>/<hash of key>/…               what `build` wrote

A folder appears by one rename, so a reader sees all of it or none. What is damaged, incomplete or of another key, or
built by other code (runner.system.sources), is rebuilt, never read. Nothing in it is ever unpickled by this module.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from runner.system.locks import lock
from runner.system.redaction import mark_secrets
from runner.system.sources import code_digest
from runner.system.writing import ignore_in_git

MANIFEST = "manifest.json"
SCHEMA = 1
SCRATCH = ".building-"
DAY_S = 24 * 3600
CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
# In the words of the system and faiss, and of numpy, whose errors have no number.
DISK_FULL = re.compile(r"No space left on device|Not enough free space|\d+ requested and \d+ written")


def fingerprint(value: Any) -> str:
    """SHA-256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(_canonical(value)).hexdigest()


class ListFingerprint:
    """`fingerprint` of a list whose values come one by one; none of them stays in memory."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256(b"[")
        self._separator = b""

    def add(self, value: Any) -> None:
        """Add the next value to the hash."""
        self._digest.update(self._separator + _canonical(value))
        self._separator = b","

    def hexdigest(self) -> str:
        """The fingerprint of the values so far."""
        whole = self._digest.copy()
        whole.update(b"]")
        return whole.hexdigest()


def fingerprint_of_each(values: Iterable[Any]) -> str:
    """`fingerprint` of the list of these values, one of which is in memory at a time."""
    digest = ListFingerprint()
    for value in values:
        digest.add(value)
    return digest.hexdigest()


def _canonical(value: Any) -> bytes:
    return CANONICAL.encode(value).encode("utf-8", "surrogatepass")


def file_digest(path: Path) -> str:
    """SHA-256 of the content of a file, in hexadecimal digits; processors compute it twice as fast as BLAKE2b."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Store:
    """A Workspace over one root folder. `identities` maps `id(component)` to its fingerprint."""

    def __init__(self, root: Path, identities: Mapping[int, str] | None = None, *, cold: bool = False) -> None:
        self.root = root
        self.identities = identities or {}
        self.cold = cold
        self._fresh: set[Path] = set()

    @property
    def stored_root(self) -> Path:
        return self.root

    def identity(self, component: object) -> str:
        try:
            return self.identities[id(component)]
        except KeyError:
            name = f"{type(component).__module__}.{type(component).__qualname__}"
            raise LookupError(f"{name} was not built from a configuration, so its identity is unknown") from None

    def folder(self, kind: str, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        folder, key = self._place(kind, key, module_of(build))
        if self._usable(folder, key):
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._ignore_in_git()
        with _lock_file(folder.with_suffix(".lock")):
            if not self._usable(folder, key):
                self._build(folder, key, build)
        self._fresh.add(folder)
        return folder

    def find_folder(self, kind: str, key: Mapping[str, Any], module: str) -> Path | None:
        """The folder that is there, built by code of `module`; None where it would have to be built."""
        folder, key = self._place(kind, key, module)
        return folder if self._usable(folder, key) else None

    def take(self, folder: Path) -> None:
        """Moves a folder of another Store on the same disk to its place in this one, unless one is there."""
        place = self.root / folder.parent.name / folder.name
        place.parent.mkdir(parents=True, exist_ok=True)
        self._ignore_in_git()
        with _lock_file(place.with_suffix(".lock")), suppress(OSError):
            if not place.exists():
                folder.rename(place)

    def _place(self, kind: str, key: Mapping[str, Any], module: str) -> tuple[Path, Mapping[str, Any]]:
        key = mark_secrets({**key, "code": code_digest(module)})
        return self.root / kind / fingerprint([SCHEMA, kind, key])[:32], key

    def _usable(self, folder: Path, key: Mapping[str, Any]) -> bool:
        if folder in self._fresh:
            return True
        return not self.cold and _intact(folder, key)

    def _build(self, folder: Path, key: Mapping[str, Any], build: Callable[[Path], None]) -> None:
        remove_leftovers(folder.parent)
        scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder.parent))
        try:
            build(scratch)
            files = {
                path.relative_to(scratch).as_posix(): {"size": path.stat().st_size, "digest": file_digest(path)}
                for path in sorted(scratch.rglob("*"))
                if path.is_file()
            }
            manifest = json.dumps({"schema": SCHEMA, "key": key, "files": files}, ensure_ascii=False, indent=1)
            (scratch / MANIFEST).write_text(manifest, encoding="utf-8")
            if folder.exists():  # rename cannot replace a folder that has files
                folder.rename(scratch.with_name(scratch.name + "-old"))
            scratch.rename(folder)
        except (OSError, RuntimeError) as error:
            if DISK_FULL.search(str(error)):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            shutil.rmtree(scratch.with_name(scratch.name + "-old"), ignore_errors=True)

    def _ignore_in_git(self) -> None:
        ignore_in_git(self.root)


def module_of(build: Callable[[Path], None]) -> str:
    """The module with the code that builds."""
    while isinstance(build, partial):
        build = build.func
    return str(getattr(build, "__module__", type(build).__module__))


def _intact(folder: Path, key: Mapping[str, Any]) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["schema"] != SCHEMA or fingerprint(manifest["key"]) != fingerprint(key):
            return False
        return all(
            (folder / name).stat().st_size == entry["size"] and file_digest(folder / name) == entry["digest"]
            for name, entry in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def remove_leftovers(folder: Path) -> None:
    """Remove the folders of builds that were killed more than a day ago."""
    for path in folder.glob(f"{SCRATCH}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > DAY_S:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        lock(descriptor, "cache_dir", path, waits=True)
        yield
    finally:
        os.close(descriptor)
