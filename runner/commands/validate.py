"""Check a folder of notes, and data files against it: every problem with file and line. Runs and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from runner.commands import Command, Place
from runner.config import arguments
from runner.config.components import build
from runner.config.compose import plan_of
from runner.data.files import open_file
from runner.data.notes import read_notes
from runner.data.problems import ProblemLog
from runner.domains.links.checking import check_links, links_in_code
from runner.domains.links.graph import VaultGraph
from runner.errors import DataError, InputError
from runner.records import CaseSet
from runner.run.dry_run import dry_run, is_of_gold
from runner.system import terminal

COMMAND = Command(
    "validate", (Place("notes", default=None), Place("file", default=(), several=True)), words="OPTION=VALUE"
)


@dataclass(frozen=True, slots=True)
class Words:
    """What stands behind `validate`: a notes folder, files of questions, options of the conf."""

    notes: str | None
    files: Sequence[str]
    options: Sequence[str]


def main(argv: Sequence[str]) -> int:
    """The most severe exit code of what is checked. Raises what composing and loading raise."""
    options = COMMAND.read(argv)
    words = _read(options.notes, options.file, options.words)
    if words.notes is None:
        return dry_run(plan_of(arguments.read([*words.options, "dry_run=true"])), demands_gold=True)
    told: set[str] = set()
    failed = _check_notes(words.notes, told)
    for file in words.files:
        failed |= _check_file(words.notes, file, words.options, told)
    return int(failed)


def _read(notes: str | None, files: Sequence[str], options: Sequence[str]) -> Words:
    if notes is None and not options:
        raise InputError("expected a folder of notes, or the words of a run (OPTION=VALUE)")
    if notes is not None and not files and options:
        raise InputError(
            f"{notes}: options say how a data file is read, but none is given; expected NOTES FILE OPTION=VALUE"
        )
    return Words(notes, files, options)


def _check_notes(folder: str, told: set[str]) -> bool:
    """Whether a note cannot be read. `told` gets the lines that were printed."""
    log = ProblemLog()
    notes = read_notes(folder, "notes", log)
    graph = VaultGraph(notes)
    check_links(folder, notes, graph, log)
    counts = f"{terminal.counted(len(notes), 'note')}, {terminal.counted(graph.n_links, 'link')}"
    wrong = f"{len(graph.broken)} broken, {len(graph.ambiguous)} ambiguous"
    code = f"; {len(graph.in_code)} in code, which count as none" if graph.in_code else ""
    problems = [f"{problem.severity}: {problem}" for problem in log.problems]
    told.update(problems)
    terminal.lines(
        *problems,
        *links_in_code(folder, notes, graph),
        f"{folder}: {counts}, {wrong}{code}",
    )
    return bool(log.errors)


def _check_file(notes: str, file: str, options: Sequence[str], told: set[str]) -> bool:
    """Whether a line cannot be used. What is `told` already, of the notes, is not told again."""
    failed = False
    for cell in plan_of(arguments.read([*_choices(notes, file), *options, "dry_run=true"])).runs:
        case_set: CaseSet[Any] = build(cell.cfg.evaluation).root.load()
        problems = [(problem.severity, f"{problem.severity}: {problem}") for problem in case_set.problems]
        fresh = [(severity, line) for severity, line in problems if line not in told]
        n = sum(severity == "error" for severity, _ in fresh)
        terminal.lines(*[line for _, line in fresh], f"{file}: {len(case_set.cases)} usable, {n} unusable")
        failed |= any(problem.severity == "error" or is_of_gold(problem) for problem in case_set.problems)
    return failed


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
