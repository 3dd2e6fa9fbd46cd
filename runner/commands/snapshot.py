"""Write the snapshot of a finished run, for comparisons with later runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.commands import LANGUAGE, Command, Place
from runner.compare.snapshot import FILE, encode, write_bytes
from runner.compare.snapshots import parse_snapshot, read_snapshot
from runner.config.language import language_of
from runner.errors import DataError, InputError
from runner.system import terminal
from runner.system.folder import legible, open_run
from runner.words.wording import wording

COMMAND = Command("snapshot", (Place("run", Path), Place("path", Path, default=None)), (LANGUAGE,))


def main(argv: Sequence[str]) -> int:
    """Raises InputError for a folder without results, and for a PATH with another file."""
    options = COMMAND.read(argv)
    run = open_run(options.run)
    if not run.summary:
        raise InputError(f"{options.run}: the run has no results ({run.run.get('status')})")
    path = options.path or options.run / FILE
    if options.path is not None:
        _demand_free(path)
    with legible(options.run):
        data = encode(run)
    snapshot = parse_snapshot(data, str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, data)
    say = wording(language_of(argv), "outcomes")
    cases, metrics = say.count("case", len(snapshot.cases)), say.count("metric", len(snapshot.cases.values))
    terminal.lines(say("snapshot.written", path=path, cases=cases, metrics=metrics))
    return 0


def _demand_free(path: Path) -> None:
    """Raises InputError unless the path is free or holds a snapshot."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected the name of a file")
    if path.exists():
        try:
            read_snapshot(path)
        except DataError as error:
            raise InputError(f"PATH would overwrite a file that is no complete snapshot: {error}") from None
