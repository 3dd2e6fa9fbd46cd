"""Delete old outputs and stored indexes: lists what would be deleted; --yes deletes it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.commands import LANGUAGE, Command, Option, Place, whole_number_reader
from runner.config.language import language_of
from runner.errors import InputError
from runner.run.folders import is_locked
from runner.system import terminal
from runner.system.store import MANIFEST
from runner.tracking.mlflow_client import COPIES
from runner.words.wording import Wording, wording

DAY_S = 24 * 3600
MB = 1_000_000
OPTIONS = (
    Option("older_than", "DAYS", whole_number_reader(0)),
    Option("at_most", "MB", whole_number_reader(0)),
    Option("yes"),
    LANGUAGE,
)
USUAL = (Path("outputs"), Path(".runner_cache"))
OUTPUTS = Command("clean outputs", (Place("folder", Path, USUAL[0]),), OPTIONS)
CACHE = Command("clean cache", (Place("folder", Path, USUAL[1]),), OPTIONS)
MADE = ("run.json", "sweep.json", "compare.json", "calibration.json", "min_score.json")  # by commands, in outputs
FROZEN = ("frozen.yaml", "environment.json")
RECORDS = Path("experiments")
TELLING = (
    "run.json",
    "sweep.json",
    "compare.json",
    "reproduction.json",
    "frozen.yaml",
    "environment.json",
    "README.md",
)
LONGEST = 20 * MB  # most bytes of a file that is searched for names of folders


@dataclass(frozen=True, slots=True)
class Removable:
    """A folder that may be deleted. `keep_reason`: why it must stay; empty where it may be deleted."""

    path: Path
    size: int
    used_at: float
    keep_reason: str = ""

    @property
    def days(self) -> int:
        """Days since something in it was written or, in the cache, last used."""
        return max(0, int((time.time() - self.used_at) // DAY_S))


def outputs(argv: Sequence[str]) -> int:
    """Clean runs, sweeps, comparisons and calibrations in a folder. Raises InputError where there is no such folder."""
    options = OUTPUTS.read(argv)
    say = wording(options.language or language_of(argv), "clean")
    return _clean(options, _outputs_in(options.folder, say), say)


def cache(argv: Sequence[str]) -> int:
    """Clean indexes, rankings and the like; replies of models stay. Raises InputError while a run uses the cache."""
    options = CACHE.read(argv)
    say = wording(options.language or language_of(argv), "clean")
    busy = next((path.parent for path in Path("outputs").glob("*/.lock") if is_locked(path.parent)), None)
    if busy is not None and options.yes:
        raise InputError(say("files.busy", path=busy))
    code = _clean(options, _cache_entries(options.folder), say)
    terminal.show(*_replies_in(options.folder, say))
    return code


def list_all(say: Wording) -> None:
    """Print how much space the usual folders of outputs, cache and MLflow take, and how to clean them."""
    there = (("outputs", _outputs_in(USUAL[0], say)), ("cache", _cache_entries(USUAL[1])))
    for folder, (part, entries) in zip(USUAL, there, strict=True):
        if not entries:
            terminal.lines(say("files.nothing", folder=folder))
            continue
        size, days = _size(sum(entry.size for entry in entries)), max(entry.days for entry in entries)
        terminal.lines(say(f"files.{part}", folder=folder, n=len(entries), size=size, days=days), say(f"next.{part}"))
    terminal.show(*_replies_in(USUAL[1], say))
    copies = Path(COPIES)
    if copies.is_dir():
        terminal.lines(say("files.copies", folder=copies, size=_size(_removable(copies, "").size)), say("next.copies"))


def _clean(options: Any, candidates: Sequence[Removable], say: Wording) -> int:
    """Exit code 3 where something could not be deleted."""
    folder, older_than, at_most = (getattr(options, name) for name in ("folder", "older_than", "at_most"))
    if folder in USUAL and not folder.exists():
        terminal.lines(say("files.empty", folder=folder))
        return 0
    if not folder.is_dir():
        raise InputError(f"FOLDER: folder not found: {folder}")
    size = sum(entry.size for entry in candidates)
    chosen = list(_choose(candidates, older_than, at_most))
    going = [entry for entry in chosen if not entry.keep_reason]
    terminal.lines(*(say("kept", path=entry.path, reason=entry.keep_reason) for entry in chosen if entry.keep_reason))
    if not going:
        terminal.lines(say("files.none", folder=folder, n=len(candidates), size=_size(size)))
        terminal.lines(*[say("files.choose")] * (older_than is None and at_most is None))
        return 0
    removed = [entry for entry in going if _remove(entry, say, is_sure=options.yes)]
    freed = _size(sum(entry.size for entry in removed))
    key = "files.done" if options.yes else "files.would"
    terminal.lines(say(key, folder=folder, n=len(removed), total=len(candidates), freed=freed, size=_size(size)))
    return 0 if len(removed) == len(going) else 3


def _choose(folders: Sequence[Removable], older_than: int | None, at_most: int | None) -> Iterator[Removable]:
    """The folders older than `older_than` days, and the oldest of the others until all take at most `at_most` MB."""
    total = sum(thing.size for thing in folders)
    for folder in sorted(folders, key=lambda folder: folder.used_at):
        is_old = older_than is not None and time.time() - folder.used_at >= older_than * DAY_S
        if is_old or (at_most is not None and total > at_most * MB):
            total -= 0 if folder.keep_reason else folder.size
            yield folder


def _remove(entry: Removable, say: Wording, *, is_sure: bool) -> bool:
    values = {"path": entry.path, "size": _size(entry.size), "days": entry.days}
    if not is_sure:
        terminal.lines(say("would_go", **values))
        return True
    try:
        _delete(entry.path)
    except OSError as error:
        terminal.note(say("not_deleted", path=entry.path, reason=error.strerror))
        return False
    terminal.lines(say("gone", **values))
    return True


def _delete(folder: Path) -> None:
    """Rename and then delete a folder, so that no process sees it half deleted; of a link only the link. Raises
    OSError, also where a run has started in it meanwhile."""
    if folder.is_symlink():
        folder.unlink()
        return
    if is_locked(folder):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    aside = folder.with_name(f".deleted-{os.getpid()}-{folder.name}")
    folder.rename(aside)
    shutil.rmtree(aside)


# --- what there is --------------------------------------------------------------------------------


def _cache_entries(folder: Path) -> list[Removable]:
    """The entries of a cache: indexes, rankings and the like, each in a folder of its own."""
    return [_removable(path.parent, "") for path in sorted(folder.glob(f"*/*/{MANIFEST}"))]


def _replies_in(folder: Path, say: Wording) -> list[str]:
    """The line on replies of models, where there are any."""
    size = sum(path.stat().st_size for path in folder.glob("*.sqlite*"))
    return [say("files.replies", size=_size(size))] if size else []


def _outputs_in(folder: Path, say: Wording) -> list[Removable]:
    """The folders that commands left in a folder, with reasons to keep them; other folders are ignored."""
    paths = [path for path in sorted(folder.glob("*")) if any((path / name).is_file() for name in MADE)]
    naming_folder = _reference_finder([*paths, *sorted(RECORDS.glob("*"))])

    def reason_to_keep(path: Path) -> str:
        if is_locked(path):
            return say("why.running")
        if any((path / name).exists() for name in FROZEN):
            return say("why.record")
        by = naming_folder(path)
        return "" if by is None else say("why.named", by=by)

    return [_removable(path, reason_to_keep(path)) for path in paths]


def _reference_finder(folders: Sequence[Path]) -> Callable[[Path], Path | None]:
    """For a folder, the first of `folders` that names it (a record of it, a comparison or a run with it), if any."""
    texts = {folder: "\0".join(_texts(folder)) for folder in folders}

    def naming_folder(path: Path) -> Path | None:
        name = re.compile(rf"(?<![\w.-]){re.escape(path.name)}(?![\w-])")
        return next((by for by, text in texts.items() if by.name != path.name and name.search(text)), None)

    return naming_folder


def _texts(folder: Path) -> Iterator[str]:
    """The texts of the files that may name other folders."""
    for place in (folder, *(path for path in folder.glob("*") if path.is_dir() and not path.is_symlink())):
        for path in (place / name for name in TELLING):
            if path.is_file() and path.stat().st_size <= LONGEST:
                yield path.read_text(encoding="utf-8", errors="replace")


def _removable(path: Path, keep_reason: str) -> Removable:
    """The entry of a folder with the size and age of its files; links are not followed."""
    found = [entry.lstat() for entry in path.rglob("*") if not entry.is_dir()] or [path.lstat()]
    return Removable(path, sum(entry.st_size for entry in found), max(entry.st_mtime for entry in found), keep_reason)


def _size(size: int) -> str:
    return f"{size / MB:,.1f} MB"
