"""dry_run=true: the configuration is valid; load and check the data, run nothing, write nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.config.components import build
from runner.config.compose import Plan
from runner.config.options import options_of
from runner.records import CaseSet, DataProblem
from runner.run.comparing import look_up
from runner.run.preflight import preflight
from runner.run.selection import select_cases
from runner.system import terminal
from runner.words.bilingual import in_language
from runner.words.wording import LANGUAGES, Wording

SHOWN = 10  # problems shown a file; verbose=true shows all


def problem_lines(problems: Sequence[tuple[str, str]], say: Wording, *, verbose: bool) -> list[str]:
    """The first problems (severity, what is wrong), errors before warnings, and how many more there are."""
    ordered = problems if verbose else sorted(problems, key=lambda problem: problem[0] != "error")
    shown, further = (ordered, ()) if verbose else (ordered[:SHOWN], ordered[SHOWN:])
    lines = [f"{say.name('severity', severity)}: {in_language(text, say.language)}" for severity, text in shown]
    if further:
        lines.append(say("dry_run.more", n=len(further)))
    return lines


def dry_run(plan: Plan, *, demands_gold: bool = False) -> int:
    """Check the data of every cell. Returns 0 where they are sound, 1 where a record would be skipped or, with
    `demands_gold`, where a label names an unknown document. Raises what loading raises."""
    preflight(plan.runs)
    look_up(plan.cells)
    say = LANGUAGES[plan.cells[0].cfg.report.language]
    is_unsound_by_text: dict[str, int] = {}
    for cell in plan.runs:
        options = options_of(cell.cfg)
        case_set: CaseSet[Any] = build(cell.cfg.evaluation).root.load()
        cases = select_cases(case_set.cases, options)
        problems = [(problem.severity, str(problem)) for problem in case_set.problems]
        lines = problem_lines(problems, say, verbose=options.verbose)
        lines.append(say("dry_run.cases", experiment=cell.experiment, n=len(cases), total=len(case_set.cases)))
        is_unsound = any(
            problem.severity == "error" or (demands_gold and is_of_gold(problem)) for problem in case_set.problems
        )
        is_unsound_by_text.setdefault("\n".join(lines), is_unsound)
    terminal.lines(*is_unsound_by_text)
    terminal.note(say("dry_run.one") if len(plan.runs) == 1 else say("dry_run.many", n=len(plan.runs)))
    return int(any(is_unsound_by_text.values()))


def is_of_gold(problem: DataProblem) -> bool:
    """Whether a label names an unknown document or chunk (runner.data.gold). A run keeps such a question and counts the
    gold as missing."""
    field = problem.field or ""
    return field.startswith("expected_") or field in ("document", "notes")
