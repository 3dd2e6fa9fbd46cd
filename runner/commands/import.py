"""Make a queries file from the log of another system, so that its answers can be evaluated."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from runner.commands import LANGUAGE, Command, Option, Place, demand_new_file
from runner.data.columns import FIELDS
from runner.data.logs import Logs, logs_of
from runner.data.problems import ProblemLog, skipped_lines
from runner.data.tables import read_table
from runner.errors import DataError
from runner.system import terminal
from runner.system.writing import replacing
from runner.words.wording import Wording, wording

WIDTH = 14  # columns of the field names
OF_ITS_OWN = ("checks", "language")  # no options: the checks of promptfoo, and the language of messages

COMMAND = Command(
    "import",
    (Place("file"),),
    (
        Option("out", "FILE", Path, Path("queries.jsonl")),
        *(Option(field, "COLUMN") for field in FIELDS if field not in OF_ITS_OWN),
        Option("separator", "TEXT"),
        Option("encoding", "NAME"),
        Option("sheet", "NAME"),
        Option("strict"),
        LANGUAGE,
    ),
)


def main(argv: Sequence[str]) -> int:
    """Raises InputError for wrong arguments, and DataError for a file that cannot be read or holds no question."""
    options = COMMAND.read(argv)
    out: Path = options.out
    demand_new_file(out, "out")
    log = ProblemLog(strict=options.strict)
    columns = {
        field: getattr(options, field) for field in FIELDS if field not in OF_ITS_OWN and getattr(options, field)
    }
    separator = options.separator.replace("\\n", "\n").replace("\\t", "\t") if options.separator else None
    table = read_table(options.file, "FILE", log, DataError, encoding=options.encoding, sheet=options.sheet)
    logs = logs_of(table, options.file, "FILE", log, DataError, columns=columns, separator=separator)
    written = {_file_of(out, system): cases for system, cases in logs.by_system.items()}
    for path in written:
        demand_new_file(path, "out")
    written = written or {out: [case for _, case in logs.cases]}
    for path, cases in written.items():
        with replacing(path) as scratch, scratch.open("wb") as file:
            file.writelines(orjson.dumps(case) + b"\n" for case in cases)
    say = wording(options.language or "en", "import")
    for line in skipped_lines(log.problems, wording(say.language, "outcomes")):
        terminal.note(line)
    terminal.lines(*_overview(options.file, written, logs, say))
    return 0


def _file_of(out: Path, system: str) -> Path:
    """The file of one of several systems: queries.openai-gpt-4o-0.jsonl."""
    name = re.sub(r"[^\w.-]+", "-", system).strip("-.")
    return out.with_name(f"{out.stem}.{name}{out.suffix}")


def _overview(path: str, written: Mapping[Path, Sequence[Any]], logs: Logs, say: Wording) -> list[str]:
    """What was read, what was left out, what cannot be judged, and the command that evaluates the cases."""
    n, counts = len(logs.cases), logs.counts
    taken_lines = [
        f"  {field:<{WIDTH}} {name}{_part(_count(logs, field), n, say)}" for field, name in logs.column_names.items()
    ]
    left_lines = [f"  {say('left'):<{WIDTH}} {', '.join(logs.unused_columns)}"] if logs.unused_columns else []
    remarks = [
        *([say("blank_answers", n=logs.blank_answers)] if logs.blank_answers else []),
        *([say("repeated_ids", n=logs.repeated_ids)] if logs.repeated_ids else []),
        *([say("left_checks", types=_with_counts(logs.left_checks))] if logs.left_checks else []),
        *missing_metric_lines(logs, say),
    ]
    return [
        say("read", path=path, form=logs.form, n=n),
        *taken_lines,
        *left_lines,
        *remarks,
        *(say("written", out=out, n=len(cases)) for out, cases in written.items()),
        "",
        say("next"),
        *_next_commands(list(written), counts),
    ]


def _next_commands(files: Sequence[Path], counts: dict[str, int] | object) -> list[str]:
    """The run of each file, and the comparison of the runs of several."""
    if len(files) == 1:
        return [f"  python -m runner {shlex.join(next_words(files[0], counts))}"]
    folders = [(Path("outputs") / path.stem).as_posix() for path in files]
    runs = [
        shlex.join([*next_words(path, counts), f"out={folder}"]) for path, folder in zip(files, folders, strict=True)
    ]
    return [*(f"  python -m runner {words}" for words in runs), f"  python -m runner compare {shlex.join(folders)}"]


def _with_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({n})" for name, n in sorted(counts.items()))


LINES = {"question": "query", "reference": "answers"}  # fields with another name in a queries file


def _count(logs: Logs, field: str) -> int:
    return logs.counts.get(LINES.get(field, field), 0)


def _part(count: int, n: int, say: Wording) -> str:
    return "" if count in (n,) else f"  ({say('of', count=count, n=n)})"


def missing_metric_lines(logs: Logs, say: Wording) -> list[str]:
    """Lines on metrics that cannot be computed, and the missing fields."""
    has = {field for field in ("answer", "contexts", "reference", "expected_notes") if _count(logs, field)}
    reference = "no_references" if "contexts" in has else "nothing_to_tell_right"
    return [
        *([] if "answer" in has else [say("no_answers")]),
        *([] if "contexts" in has else [say("no_contexts")]),
        *([] if "reference" in has else [say(reference)]),
        *([] if "expected_notes" in has else [say("no_notes")]),
    ]


def next_words(out: Path, counts: dict[str, int] | object) -> list[str]:
    """The overrides of a run that evaluates the file."""
    has = dict(counts) if isinstance(counts, dict) else {}
    data = ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={out}"]
    if has.get("answer"):
        return ["+experiment=full_rag", *data, "retriever=given", "generator=given"]
    if has.get("contexts"):
        return ["+experiment=full_rag", *data, "retriever=given", "generator=extractive"]
    if has.get("ranking"):
        return ["+experiment=retrieval_only", *data, "retriever=given"]
    return ["+experiment=full_rag", "dataset=jsonl", "dataset.corpus=CORPUS.jsonl", f"dataset.queries={out}"]
