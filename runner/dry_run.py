"""dry_run=true: the configuration is valid; load and check the data, run nothing, write nothing."""

from __future__ import annotations

from typing import Any

from runner import terminal
from runner.comparing import look_up
from runner.components import build
from runner.compose import Plan
from runner.config import validate
from runner.preflight import preflight
from runner.records import CaseSet
from runner.run import selected


def dry_run(plan: Plan) -> int:
    """0 when the data of every cell is sound, 1 when a record would be skipped. Raises as loading does."""
    preflight(plan.runs)
    look_up(plan.cells)
    seen: dict[str, int] = {}
    for cell in plan.runs:
        options = validate(cell.cfg)
        case_set: CaseSet[Any] = build(cell.cfg.evaluation).root.load()
        chosen = selected(case_set.cases, options)
        lines = [f"{problem.severity}: {problem}" for problem in case_set.problems]
        lines.append(f"{cell.experiment}: {len(chosen)} of {len(case_set.cases)} cases would run")
        seen.setdefault("\n".join(lines), any(problem.severity == "error" for problem in case_set.problems))
    terminal.lines(*seen)
    terminal.note(f"dry run: {len(plan.runs)} run(s) composed and checked, nothing was run")
    return int(any(seen.values()))
