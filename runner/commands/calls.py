"""Show the model requests and replies of one case of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import orjson

from runner.commands import LANGUAGE, Command, Option, Place
from runner.errors import InputError, did_you_mean
from runner.llm.calls import FILE, call_counts, calls_of
from runner.report.calls import in_order, shown_calls
from runner.report.reporting import words_of
from runner.system import terminal
from runner.system.folder import RunFolder, is_sweep, legible, open_run, open_sweep
from runner.words.wording import LANGUAGES, Wording

COMMAND = Command(
    "calls",
    (Place("run", Path), Place("case", default=None)),
    (Option("role", "NAME"), Option("json"), LANGUAGE),
)


def main(argv: Sequence[str]) -> int:
    """Print the calls of a case. Raises InputError for a folder or a case without calls."""
    options = COMMAND.read(argv)
    folder: Path = options.run
    if folder.is_dir() and is_sweep(folder):
        cells = ", ".join(str(folder / str(cell["folder"])) for cell in open_sweep(folder).get("cells") or ())
        raise InputError(f"{folder} is a sweep; expected one of its runs: {cells}")
    with legible(folder):
        run = open_run(folder)
        counts = call_counts(folder / FILE)
        if options.case is None:
            _list(run, counts, as_json=options.json)
            return 0
        if options.case not in counts:
            _refuse(run, options.case, counts)
        calls = _of_role(in_order(calls_of(folder / FILE, [options.case])[options.case]), options.role)
        say = words_of(run.run) if options.language is None else LANGUAGES[options.language]
        _show(calls, say, as_json=options.json)
    return 0


def _of_role(calls: list[dict[str, Any]], role: str | None) -> list[dict[str, Any]]:
    """The calls of a role: `judge` by all rubrics, `judge:faithfulness` by one."""
    if role is None:
        return calls
    name, _, rubric = role.partition(":")
    calls_of_role = [call for call in calls if call["role"] == name and rubric in ("", call["rubric"])]
    if not calls_of_role:
        roles = dict.fromkeys(f"{call['role']}:{call['rubric']}".rstrip(":") for call in calls)
        raise InputError(f"--role: no call of the case has the role '{role}'; it has {', '.join(roles)}")
    return calls_of_role


def _list(run: RunFolder, counts: dict[str, int], *, as_json: bool) -> None:
    if not counts:
        raise InputError(_why_no_calls(run))
    if as_json:
        terminal.write(orjson.dumps(counts, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        terminal.lines(*(f"{count:>6,}  {case}" for case, count in counts.items()))


def _refuse(run: RunFolder, case: str, counts: dict[str, int]) -> NoReturn:
    ids = [str(row.get("id")) for row in run.rows()]
    if case not in ids:
        known = list(dict.fromkeys([*ids, *counts]))[:10_000]
        raise InputError(f"{run.path}: no case has the id '{case}'{did_you_mean(case, known)}")
    if not counts:
        raise InputError(_why_no_calls(run))
    raise InputError(f"{run.path / FILE} has no call of the case '{case}'{_why_missing(run)}")


def _why_missing(run: RunFolder) -> str:
    """Why calls may be missing."""
    keep = (run.run.get("config") or {}).get("calls")
    if keep == "failed":
        return "; calls=failed keeps those of cases that are not finished"
    return "; it asked no model, or had all it needed from rankings that were stored"


def _why_no_calls(run: RunFolder) -> str:
    keep = (run.run.get("config") or {}).get("calls")
    if keep == "none":
        return f"{run.path} has no {FILE}: the run was made with calls=none; calls=all keeps all"
    return f"{run.path} has no {FILE}: the run asked no model{_why_missing(run) if keep == 'failed' else ''}"


def _show(calls: list[dict[str, Any]], say: Wording, *, as_json: bool) -> None:
    if as_json:
        terminal.write(orjson.dumps(calls, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        terminal.show(*shown_calls(calls, say))
