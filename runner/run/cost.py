"""Prints the expected requests and cost of a command before it starts, and asks for consent to a high cost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from omegaconf import DictConfig

from runner.config.components import build
from runner.config.compose import Cell
from runner.errors import ConfigError, InputError, StopRunError
from runner.llm.models import Models, models_among
from runner.llm.rehearsal import ExpectedRequests
from runner.run.planning import CommandPlan, plan_cells
from runner.system import terminal
from runner.words.wording import LANGUAGES, wording


def agree_on_cost(cells: Sequence[Cell], times: int = 1) -> None:
    """Does nothing for runs that call no model. `times`: how many runs each cell stands for. Raises what `agree`
    raises."""
    cfg = cells[0].cfg
    if not any("models" in cell.used for cell in cells):
        return
    found = (models_among(build(cell.cfg.evaluation).parts.values()) for cell in cells)
    models = next(one for one in found if one is not None)
    plan_cells(cells, lambda planned: agree(replace(planned, cells=[*planned.cells] * times), models, cfg))


def agree(plan: CommandPlan, models: Models, cfg: DictConfig) -> None:
    """Raises ConfigError for missing keys, StopRunError where cache=replay lacks a reply, and InputError where the
    person at the terminal refuses."""
    _check(plan, models)
    from runner.run.plan_report import cost_line

    terminal.note(cost_line(plan, cfg.report.language))
    total = plan.total
    for line in _exceeded_limits(total, cfg):
        terminal.note(line)
    if _is_much(total, cfg) and sys.stdin.isatty() and sys.stderr.isatty():
        terminal.ask(wording(cfg.report.language, "plan")("question"))
        if sys.stdin.readline().strip().casefold() not in ("y", "yes", "예", "네"):
            raise InputError("not started; budget.confirm_over=null starts without asking")


def _check(planned: CommandPlan, models: Models) -> None:
    missing_replies = planned.live + planned.system_requests
    if missing_replies and models.cache_mode == "replay":
        missing = ", ".join(f"{count:,} of {model}" for model, count in sorted(missing_replies.items()))
        raise StopRunError(f"cache=replay: replies are not stored: {missing}")
    if problems := models.keys_missing(planned.live):
        raise ConfigError(problems)


def _exceeded_limits(total: ExpectedRequests, cfg: DictConfig) -> list[str]:
    """The budget limits that the plan exceeds."""
    say = LANGUAGES[cfg.report.language]
    amount_by_limit = {
        "usd": None if total.nano_usd is None else total.nano_usd / 1e9,
        "tokens": total.input_tokens + total.output_tokens,
        "requests": total.live,
    }
    return [
        say("progress.beyond", name=name, limit=cfg.budget[name])
        for name, amount in amount_by_limit.items()
        if amount is not None and cfg.budget[name] is not None and amount > cfg.budget[name]
    ]


def _is_much(total: ExpectedRequests, cfg: DictConfig) -> bool:
    limit = cfg.budget.confirm_over
    return limit is not None and total.nano_usd is not None and total.nano_usd / 1e9 > limit
