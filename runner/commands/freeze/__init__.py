"""Freeze a finished run or sweep as a reproducible record: experiments/NAME."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.commands import LANGUAGE, TRUST, Command, Option, Place
from runner.config.arguments import shell
from runner.config.language import language_of
from runner.errors import InputError
from runner.system import terminal
from runner.system.folder import legible
from runner.words.wording import wording

COMMAND = Command(
    "freeze",
    (Place("run", Path), Place("folder", Path)),
    (Option("question", "TEXT"), Option("partial"), TRUST, LANGUAGE),
)


def main(argv: Sequence[str]) -> int:
    """Raises InputError for a run that cannot be frozen, or for a folder that exists."""
    from runner.commands.freeze.files import contents_of, write
    from runner.commands.freeze.portable import portable
    from runner.commands.freeze.source import open_source

    options = COMMAND.read(argv)
    say = wording(language_of(argv), "outcomes")
    if "=" in options.folder.name:
        raise InputError(f"FOLDER: '{options.folder}' is a setting; expected the place of the record: experiments/NAME")
    place = Path(portable(str(options.folder.absolute())))
    with legible(options.run):
        source = open_source(options.run, partial=options.partial)
        contents = contents_of(source, place, options.question, trusts=options.trust)
    if not write(contents.files, place):
        terminal.note(say("freeze.there", place=place))
        return 0
    for key, path in contents.outside:
        terminal.note(say("freeze.outside", key=key, path=path))
    if any((run.folder.run.get("git") or {}).get("dirty") for run in source.runs):
        terminal.note(say("freeze.dirty"))
    size = sum(map(len, contents.files.values())) / 2**20
    counts = {"runs": say.count("run", len(source.runs)), "files": say.count("file", len(contents.files))}
    again = f"python -m runner reproduce {shell(str(place))}"
    terminal.lines(say("freeze.written", place=place, size=f"{size:.1f}", **counts), say("freeze.again", command=again))
    return 0
