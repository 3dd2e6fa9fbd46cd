"""Check a folder of notes, and data files against it: every problem with file and line. Runs and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from runner import report
from runner.commands import Command, Place
from runner.config import arguments
from runner.config.components import build
from runner.config.compose import plan_of
from runner.config.language import language_of
from runner.data.files import open_file
from runner.data.notes import read_notes
from runner.data.problems import ProblemLog
from runner.domains.links.checking import check_links, links_in_code
from runner.domains.links.graph import VaultGraph
from runner.errors import DataError, InputError
from runner.records import CaseSet
from runner.run.dry_run import SHOWN, dry_run, is_of_gold, problem_lines
from runner.system import terminal
from runner.words.wording import LANGUAGES, Wording

SAYING = ("verbose=", "report.language=")  # settings of messages, not of reading files
COMMAND = Command(
    "validate", (Place("notes", default=None), Place("file", default=(), several=True)), words="OPTION=VALUE"
)


@dataclass(frozen=True, slots=True)
class Words:
    """The arguments: a notes folder, files of questions, and overrides."""

    notes: str | None
    files: Sequence[str]
    options: Sequence[str]

    @property
    def is_verbose(self) -> bool:
        """Whether all problems are shown."""
        return "verbose=true" in self.options

    @property
    def say(self) -> Wording:
        """The wording in the language that the overrides name."""
        return LANGUAGES[language_of(self.options)]


def main(argv: Sequence[str]) -> int:
    """Returns the most severe exit code of the checks. Raises what composing and loading raise."""
    options = COMMAND.read(argv)
    words = _read(options.notes, options.file, options.words)
    if words.notes is None:
        plan = plan_of(arguments.read([*words.options, "dry_run=true"]))
        failed = bool(dry_run(plan, demands_gold=True))
        say, runs = LANGUAGES[plan.language], [words.options]
    else:
        printed: set[str] = set()
        failed = _check_notes(words, printed)
        for file in words.files:
            failed |= _check_file(words, file, printed)
        say, runs = (
            words.say,
            [[*_without_answers(words, file), *_choices(words.notes, file), *words.options] for file in words.files],
        )
    if not failed:
        terminal.show(*report.next_steps((way for run in runs for way in _ways(run)), say))
    return int(failed)


def _ways(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    kept = [word for word in words if word not in ("verbose=true", "dry_run=true")]
    yield "brief.plan", arguments.to_type("plan", *kept)
    yield "brief.run", arguments.to_type(*kept)


def _read(notes: str | None, files: Sequence[str], options: Sequence[str]) -> Words:
    if notes is None and not options:
        raise InputError("expected a folder of notes, or the words of a run (OPTION=VALUE)")
    if notes is not None and not files and not all(option.startswith(SAYING) for option in options):
        raise InputError(
            f"{notes}: options say how a data file is read, but none is given; expected NOTES FILE OPTION=VALUE"
        )
    return Words(notes, files, options)


def _check_notes(words: Words, reported: set[str]) -> bool:
    """Print what is wrong with the notes, add it to `reported`, and return whether one of them cannot be read."""
    folder, say, log = str(words.notes), words.say, ProblemLog()
    notes = read_notes(folder, "notes", log)
    graph = VaultGraph(notes)
    check_links(folder, notes, graph, log)
    counts = {"notes": len(notes), "links": graph.n_links, "broken": len(graph.broken)}
    line = say("validate.notes", folder=folder, **counts, ambiguous=len(graph.ambiguous))
    problems = [(problem.severity, str(problem)) for problem in log.problems]
    reported.update(text for _, text in problems)
    in_code = links_in_code(folder, notes, graph)
    terminal.lines(
        *problem_lines(problems, say, verbose=words.is_verbose),
        *(in_code if words.is_verbose or len(in_code) <= SHOWN else ()),
        line + (say("validate.in_code", n=len(graph.in_code)) if graph.in_code else ""),
    )
    return bool(log.errors)


def _check_file(words: Words, file: str, reported: set[str]) -> bool:
    """Print what is wrong with a file but what is `reported` already, and return whether a line cannot be used."""
    failed, say = False, words.say
    for cell in plan_of(arguments.read([*_choices(str(words.notes), file), *words.options, "dry_run=true"])).runs:
        case_set: CaseSet[Any] = build(cell.cfg.evaluation).root.load()
        problems = [(problem.severity, str(problem)) for problem in case_set.problems]
        fresh = [(severity, text) for severity, text in problems if text not in reported]
        n = sum(severity == "error" for severity, _ in fresh)
        terminal.lines(
            *problem_lines(fresh, say, verbose=words.is_verbose),
            say("validate.file", file=file, usable=len(case_set.cases), unusable=n),
        )
        failed |= any(problem.severity == "error" or is_of_gold(problem) for problem in case_set.problems)
    return failed


def _choices(notes: str, file: str) -> list[str]:
    if _is_of_links(file):
        return ["+experiment=links", f"dataset.notes={notes}", f"dataset.links={file}"]
    return ["dataset=vault", f"dataset.notes={notes}", f"dataset.queries={file}"]


def _without_answers(words: Words, file: str) -> list[str]:
    """Questions are asked to be answered, unless the words say what is evaluated."""
    is_named = any(word.lstrip("+").startswith(("experiment=", "evaluation=")) for word in words.options)
    return [] if is_named or _is_of_links(file) else ["+experiment=full_rag"]


def _is_of_links(file: str) -> bool:
    with open_file(file, "FILE", DataError) as lines:
        first = next((line for line in lines if line.strip()), b"")
    try:
        record: Any = orjson.loads(first)
    except orjson.JSONDecodeError:
        return False
    return isinstance(record, dict) and "source_note" in record
