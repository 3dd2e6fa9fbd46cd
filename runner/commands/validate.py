"""Check a folder of notes, and data files against it: every problem with file and line. Runs and writes nothing.

  python -m runner validate NOTES                       links that are broken, ambiguous, or stand in code
  python -m runner validate NOTES queries.jsonl links.jsonl
  python -m runner validate +experiment=full_rag dataset=squad 'dataset.path=[dev.json]'

A file with `source_note` in its first line is one of links, any other one of queries. Exit code 1 when a line would be
skipped; links of notes are warnings.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from runner import arguments, terminal
from runner.commands import Parser
from runner.compose import plan_of
from runner.data.files import open_file
from runner.data.notes import read_notes
from runner.data.problems import ProblemLog
from runner.dry_run import dry_run
from runner.errors import DataError, InputError
from runner.vault.checking import check_links, links_in_code
from runner.vault.graph import VaultGraph


@dataclass(frozen=True, slots=True)
class Words:
    notes: str | None
    files: Sequence[str]
    options: Sequence[str]


def main(argv: Sequence[str]) -> int:
    """The gravest exit code of what is checked. Raises what composing and loading raise."""
    parser = Parser(
        prog="python -m runner validate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", metavar="NOTES FILE OPTION=VALUE")
    words = _read(parser.parse_args(argv).words)
    if words.notes is None:
        return _dry_run(words.options)
    failed = _check_notes(words.notes)
    for file in words.files:
        failed |= _dry_run([*_choices(words.notes, file), *words.options])
    return failed


def _read(words: Sequence[str]) -> Words:
    paths = [word for word in words if "=" not in word]
    options = [word for word in words if "=" in word]
    if not words:
        raise InputError("expected a folder of notes, or the words of a run (OPTION=VALUE)")
    if len(paths) == 1 and options:
        raise InputError(
            f"{paths[0]}: options say how a data file is read, and there is none; expected NOTES FILE OPTION=VALUE"
        )
    return Words(paths[0] if paths else None, paths[1:], options)


def _dry_run(options: Sequence[str]) -> int:
    return dry_run(plan_of(arguments.read([*options, "dry_run=true"])))


def _check_notes(folder: str) -> int:
    log = ProblemLog()
    notes = read_notes(folder, "notes", log)
    graph = VaultGraph(notes)
    check_links(folder, notes, graph, log)
    told = f"{terminal.counted(len(graph.edges), 'link')}, {len(graph.broken)} broken, {len(graph.ambiguous)} ambiguous"
    code = f"; {len(graph.in_code)} in code, which count as none" if graph.in_code else ""
    terminal.lines(
        *[f"{problem.severity}: {problem}" for problem in log.problems],
        *links_in_code(folder, notes, graph),
        f"{folder}: {terminal.counted(len(notes), 'note')}, {told}{code}",
    )
    return int(bool(log.errors))


def _choices(notes: str, file: str) -> list[str]:
    if _is_of_links(file):
        return ["+experiment=links", f"dataset.notes={notes}", f"dataset.links={file}"]
    return ["dataset=vault", f"dataset.notes={notes}", f"dataset.queries={file}"]


def _is_of_links(file: str) -> bool:
    with open_file(file, "FILE", DataError) as lines:
        first = next((line for line in lines if line.strip()), b"")
    try:
        record: Any = orjson.loads(first)
    except orjson.JSONDecodeError:
        return False
    return isinstance(record, dict) and "source_note" in record
