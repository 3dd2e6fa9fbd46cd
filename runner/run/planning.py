"""Counts the model requests of a command before it sends any, by rehearsing every cell."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config.components import build
from runner.config.compose import Cell
from runner.config.options import options_of
from runner.errors import ComponentError, RunnerError, StopRunError
from runner.llm.ledger import Account
from runner.llm.messages import SERVICES
from runner.llm.models import Models, models_among
from runner.llm.projection import Projection
from runner.llm.rehearsal import Expected, Rehearsal
from runner.protocols import Case, JudgeChecking, Workspace, offered
from runner.run.rehearsal_workspace import RehearsalWorkspace, Scratch, scratch_for
from runner.run.run import selected
from runner.run.serving import opened_with
from runner.system import terminal
from runner.system.shared import sharing
from runner.system.store import Store
from runner.words.wording import spoken

SECONDS = 1.5  # assumed duration of a request


@dataclass(frozen=True)
class CellPlan:
    """The plan of one cell. `stopped`: why the run will end before it calls a model. `projection`: the monthly cost of
    what is evaluated."""

    swept: Sequence[str]
    n_cases: int
    expected: Mapping[Account, Expected]
    stopped: str | None = None
    projection: Projection | None = None

    @property
    def nano_usd_a_case(self) -> int | None:
        """The average cost of its models for a case, without judges and without stored replies; None where a price is
        unknown."""
        own = [found for account, found in self.expected.items() if account.role != "judge"]
        costs = [cost for found in own for cost in (found.nano_usd, found.saved_nano_usd)]
        known = [cost for cost in costs if cost is not None]
        return round(sum(known) / max(1, self.n_cases)) if len(known) == len(costs) else None


@dataclass(frozen=True)
class Planned:
    """The plan of a command. `concurrency`: requests in flight at once."""

    cells: Sequence[CellPlan]
    concurrency: int

    @property
    def total(self) -> Expected:
        """Requests and cost of all cells."""
        total = Expected()
        for cell in self.cells:
            for expected in cell.expected.values():
                total.add(expected)
        return total

    @property
    def seconds(self) -> float:
        """The estimated duration: SECONDS a request, `concurrency` at a time."""
        return self.total.live * SECONDS / self.concurrency

    @property
    def live(self) -> Counter[str]:
        """Requests to be sent, by model."""
        return self._live(lambda account: account.role not in SERVICES)

    @property
    def asked(self) -> Counter[str]:
        """Requests to be sent to running systems, by their names."""
        return self._live(lambda account: account.role == "system")

    @property
    def remembered(self) -> Counter[str]:
        """Requests to be sent to memories of other systems, by their addresses."""
        return self._live(lambda account: account.role == "memory")

    def _live(self, is_counted: Callable[[Account], bool]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for cell in self.cells:
            for account, expected in cell.expected.items():
                counts[account.model] += expected.live if is_counted(account) else 0
        return +counts


def plan_cells(cells: Sequence[Cell], agree: Callable[[Planned], None] | None = None) -> Planned:
    """Load, index and rank as the runs will, then rehearse all cases. Nothing is stored where runs look for it, except
    with `agree`: it raises where the runs will not follow; otherwise they get what was built here.

    The number of requests is exact unless replies have to be retried, or two runs get the same answer to different
    prompts; the tokens of future replies are assumed. Raises what loading raises.
    """
    rehearsal = Rehearsal()
    with ExitStack() as opened:
        opened.enter_context(sharing())
        roots = dict.fromkeys(Path(options_of(cell.cfg).cache_dir) for cell in cells)
        scratches = {root: opened.enter_context(scratch_for(root, rehearsal)) for root in roots}
        runs = [_plan(cell, number, scratches) for number, cell in enumerate(cells)]
        planned = Planned(runs, min(int(cell.cfg.max_concurrency) for cell in cells))
        if agree is not None:
            agree(planned)
            for scratch in scratches.values():
                scratch.hand_over()
    return planned


def _plan(cell: Cell, number: int, scratches: Mapping[Path, Scratch]) -> CellPlan:
    options = options_of(cell.cfg)
    built = build(cell.cfg.evaluation)
    models = models_among(built.parts.values())
    cases = selected(built.root.load().cases, options)
    projection = offered(built.root, "projection")
    if models is None:
        return CellPlan(cell.swept, len(cases), {}, projection=projection)
    root = Path(options.cache_dir)
    rehearsal = scratches[root].rehearsal
    with models.rehearsing(rehearsal, str(number)):
        workspace = scratches[root].workspace(Store(root, built.identities, cold=options.cold_start))
        stopped = asyncio.run(rehearse(built.root, models, cases, workspace))
    expected = {account: found for account, found in rehearsal.expected.items() if account.cell == str(number)}
    return CellPlan(cell.swept, len(cases), expected, stopped, projection)


async def rehearse(evaluation: Any, models: Models, cases: Sequence[Case], workspace: Workspace) -> str | None:
    """Run the cases with counted instead of sent requests. Returns why the run would stop, or None."""
    async with models.opened(), opened_with(evaluation):
        try:
            await evaluation.prepare(cases, workspace)
        except StopRunError as error:
            if not (isinstance(workspace, RehearsalWorkspace) and workspace.is_made_up):
                return str(error)  # made-up vectors say nothing about the real run
        except ComponentError as error:
            return str(error)
        if isinstance(evaluation, JudgeChecking):
            with suppress(ComponentError):  # it will end the run; the cases are counted nevertheless
                await evaluation.check_judge()
        for case in cases:
            with suppress(RunnerError, TimeoutError):  # the case will fail in the run, too
                output = await evaluation.run(case)
                await evaluation.judge(case, output)
    if (aside := models.replies_set_aside) is not None:
        terminal.note(spoken()("progress.aside.replies", aside=aside))
    return None
