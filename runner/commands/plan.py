"""Count the model requests of a command: requests, tokens and USD, per role and run. Calls no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from runner.commands import Command, Option
from runner.config import arguments
from runner.config.compose import plan_of
from runner.errors import InputError
from runner.llm.rehearsal import ExpectedRequests
from runner.run.plan_report import cost_line, plan_view
from runner.run.planning import CommandPlan, plan_cells
from runner.run.preflight import receivers
from runner.system import terminal
from runner.words.wording import LANGUAGES

COMMAND = Command("plan", options=(Option("json"),), words="OPTION=VALUE")


def main(argv: Sequence[str]) -> int:
    """Raises ConfigError for a command that could not run, and what loading raises."""
    options = COMMAND.read(argv)
    line = arguments.read(options.words)
    if line.asks_hydra:
        raise InputError("plan takes the words of a run: python -m runner plan +experiment=full_rag k=3,5,10")
    cells = plan_of(line).runs
    hosts, language = receivers(cells), str(cells[0].cfg.report.language)
    if hosts and not options.json:
        terminal.lines(LANGUAGES[language]("progress.receivers", hosts=", ".join(hosts)))
    for cell in cells:
        cell.nodes.set("dry_run", True)  # data sets cache nothing
    planned = plan_cells(cells)
    if options.json:
        terminal.lines(orjson.dumps(record(planned, hosts, language), option=orjson.OPT_INDENT_2).decode())
    else:
        terminal.show(*plan_view(planned, language))
    return 0


def record(plan: CommandPlan, hosts: Sequence[str], language: str) -> dict[str, Any]:
    """The values of the table; `usd` is None where a price is unknown."""
    return {
        "runs": [
            {
                "overrides": list(cell.swept),
                "cases": cell.n_cases,
                "stopped": cell.stopped,
                "asked": [
                    {"role": account.role, "model": account.model, **_numbers(expected)}
                    for account, expected in sorted(cell.expected.items(), key=lambda item: item[0].role)
                ],
            }
            for cell in plan.cells
        ],
        "total": _numbers(plan.total),
        "seconds": round(plan.seconds, 1),
        "receivers": list(hosts),
        "line": cost_line(plan, language),
    }


def _numbers(expected: ExpectedRequests) -> dict[str, Any]:
    return {
        "requests": expected.live,
        "stored": expected.n_saved,
        "input_tokens": expected.input_tokens,
        "output_tokens": expected.output_tokens,
        "usd": None if expected.nano_usd is None else expected.nano_usd / 1e9,
    }
