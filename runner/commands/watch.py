"""Run again when notes, prompts or configuration change, and print the differences in a few lines."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from runner.commands import Command
from runner.config import arguments
from runner.config.help import CONF
from runner.config.language import language_of
from runner.errors import InputError
from runner.report import metric
from runner.report.document import Document
from runner.system import terminal
from runner.system.folder import open_run, open_sweep
from runner.system.metadata import read_json
from runner.words.wording import LANGUAGES, Wording, wording

COMMAND = Command("watch", words="OPTION=VALUE")
POLL_S = 1.0
NAMED = 5  # most changed files and questions that are listed
LARGEST = 20_000  # most watched files
APART = ("out", "cache_dir", "tracking", "compare", "junit", "save_snapshot", "models", "provider")
INTERRUPTED = 130

State = Mapping[Path, tuple[int, int]]  # path -> (modification time, size)


def main(argv: Sequence[str]) -> int:
    """Returns 0 when Ctrl-C ends it between runs, 130 within one. Raises InputError for words that no run takes."""
    words = COMMAND.read(argv).words
    _demand_runs(words)
    say = wording(language_of(words), "watch")
    folder: Path | None = None
    try:
        for number in count():
            before, folder = folder, _new_folder()
            at_start = _state(_places(words, before))
            code = _run(words, folder, is_shown=number == 0)
            if code == INTERRUPTED:
                return code
            folder = _report_change(before, folder, code, say)
            watched = {**_state(_places(words, folder)), **at_start}  # changes during the run count for the next one
            terminal.note(say("watching", files=f"{len(watched):,}"))
            names = _changes(words, folder, watched)
            terminal.note(say("changed", names=_first_names(names, say)))
    except KeyboardInterrupt:
        terminal.note(say("stopped") if folder is None else say("ended", folder=folder))
    return 0


def _demand_runs(words: Sequence[str]) -> None:
    arguments.read(words)
    if not words or any(word.lstrip("+").startswith(("out=", "dry_run=")) for word in words):
        raise InputError(
            "watch takes the words of a run, without out= (each run has a folder of its own): "
            "python -m runner watch +experiment=full_rag"
        )


def _run(words: Sequence[str], folder: Path, *, is_shown: bool) -> int:
    """Run in a new process, which reads code and configuration again. Ctrl-C in a terminal reaches it, too; a signal
    to this process alone ends the watch after the run."""
    own = [word for word in ("tracking=none",) if not any(each.startswith("tracking") for each in words)]
    command = [sys.executable, "-m", "runner", *words, *own, f"out={folder}"]
    process = subprocess.Popen(command, stdout=None if is_shown else subprocess.DEVNULL)  # noqa: S603
    is_interrupted = False
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            is_interrupted = True
        else:
            return INTERRUPTED if is_interrupted else code


def _new_folder() -> Path:
    start = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{start}{'' if n == 1 else f'.{n}'}-watch" for n in count(1))
    return next(folder for folder in (Path("outputs") / name for name in names) if not folder.exists())


# --- what is watched ------------------------------------------------------------------------------


def _places(words: Sequence[str], folder: Path | None) -> set[Path]:
    """The watched places: the configuration, and all files and folders that the words or the run's configuration
    name."""
    folders, others = arguments.split_flags(words, arguments.CONFIG_FOLDER)
    values = {word.partition("=")[2] for word in others if not word.startswith(APART)}
    for run in _runs(folder) if folder is not None else ():
        config = (read_json(run / "run.json") or {}).get("config") or {}
        values |= set(_texts(config))
    return {CONF, *map(Path, folders), *(Path(text).expanduser() for text in values if _is_there(text))}


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value at any depth, without the keys APART: each run writes to the `cache_dir` of its
    components."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        inner = [each for key, each in value.items() if key not in APART] if isinstance(value, Mapping) else value
        for each in inner:
            yield from _texts(each)


def _is_there(text: str) -> bool:
    """Whether a text is a path to watch. A bare name (`keyword`) may match a folder by chance, and the root and the
    working folder are too large."""
    try:
        path = Path(text).expanduser()
        return bool(text) and path.exists() and path.resolve() not in (Path.cwd(), Path("/"), Path.home())
    except (OSError, ValueError, RuntimeError):
        return False


def _state(places: Iterable[Path]) -> State:
    """The state of all files at the places, without hidden and generated ones."""
    state: dict[Path, tuple[int, int]] = {}
    for place in places:
        for path in _files(place):
            try:
                status = path.stat()
            except OSError:  # it was deleted meanwhile
                continue
            state[path] = (status.st_mtime_ns, status.st_size)
            if len(state) >= LARGEST:
                return state
    return state


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for folder, inner, names in os.walk(place):
        inner[:] = [name for name in inner if name[0] not in "._" and name != "outputs"]
        yield from (Path(folder, name) for name in names if name[0] != ".")


def _changes(words: Sequence[str], folder: Path | None, watched: State) -> list[str]:
    """Wait for changed files that stay unchanged for a moment, since editors write in several steps."""
    last = watched
    while True:
        time.sleep(POLL_S)
        now = _state(_places(words, folder))
        if now != watched and now == last:
            return sorted(str(path) for path in watched.keys() | now.keys() if watched.get(path) != now.get(path))
        last = now


# --- what changed against the run before ----------------------------------------------------------


def _report_change(before: Path | None, folder: Path, code: int, say: Wording) -> Path | None:
    """Print the differences; returns the folder to compare the next run with."""
    if code not in (0, 4, 5):
        terminal.note(say("failed", code=code))
        return before
    if before is not None:
        lines = [line for one, other in _pairs(before, folder) for line in _differences(one, other, say)]
        terminal.lines(*(lines or [say("same")]))
    return folder


def _runs(folder: Path) -> list[Path]:
    if not (folder / "sweep.json").is_file():
        return [folder]
    return [folder / str(cell["folder"]) for cell in open_sweep(folder).get("cells") or ()]


def _pairs(before: Path, folder: Path) -> Iterator[tuple[Document, Document]]:
    """The pairs of runs with the same name and with results."""
    for one, other in zip(_runs(before), _runs(folder), strict=False):
        if all((run / "summary.json").is_file() for run in (one, other)):
            yield Document.of(open_run(one)), Document.of(open_run(other))


def _differences(before: Document, after: Document, say: Wording) -> Iterator[str]:
    """The main metrics with changed values, and the questions whose result changed."""
    path, words = after.folder.path, LANGUAGES[say.language].about(after.say.catalogue)
    run = f"{path.name}: " if path.parent.name != "outputs" else ""
    main = [each.name for each in words.catalogue.metrics if each.main]
    values = [(name, _value(before, name), _value(after, name)) for name in _summary_names(main, after)]
    changes = [
        say(
            "change",
            metric=metric.label(name, after.k, words),
            before=metric.four(was, words),
            after=metric.four(now, words),
        )
        for name, was, now in values
        if was != now
    ]
    if changes:
        yield say("metrics", run=run, metrics=", ".join(changes))
    was, now = _right(before), _right(after)
    for key, side in (("right", 1.0), ("wrong", 0.0)):
        if ids := [id for id, value in now.items() if value == side and was.get(id) not in (side, None)]:
            yield say(key, run=run, ids=_first_names(ids, say))


def _summary_names(main: Sequence[str], document: Document) -> list[str]:
    """The names of main metrics in the summary (`mean_faithfulness`, `recall_at_k`)."""
    known = document.summary.get("metrics") or {}
    forms = [form for name in main for form in (name, f"mean_{name}", f"{name}_at_k")]
    return [form for form in dict.fromkeys(forms) if form in known]


def _value(document: Document, name: str) -> float | None:
    value = ((document.summary.get("metrics") or {}).get(name) or {}).get("value")
    return None if value is None else float(value)


def _right(document: Document) -> dict[str, float | None]:
    return {str(row.get("id")): (row.get("metrics") or {}).get("right") for row in document.folder.rows()}


def _first_names(names: Sequence[str], say: Wording) -> str:
    shown = ", ".join(names[:NAMED])
    return say("more", names=shown, n=len(names) - NAMED) if len(names) > NAMED else shown
