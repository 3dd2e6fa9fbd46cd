"""Counts the model requests of a command before it sends any, by rehearsing every cell."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.config.components import build
from runner.config.compose import Cell
from runner.config.options import options_of
from runner.errors import ComponentError, RunnerError, StopRunError
from runner.llm.ledger import Account
from runner.llm.messages import SERVICES
from runner.llm.models import Models, models_among
from runner.llm.rehearsal import ExpectedRequests, Rehearsal
from runner.metrics.clusters import Clusters, cluster_key
from runner.protocols import Case, JudgeChecking, Workspace, attribute_of
from runner.records import Answer
from runner.run.rehearsal_workspace import RehearsalWorkspace, Scratch, scratch_for
from runner.run.selection import select_cases
from runner.run.serving import open_evaluation
from runner.system import terminal
from runner.system.shared import sharing
from runner.system.spool import Part
from runner.system.store import Store
from runner.words.wording import current_wording

if TYPE_CHECKING:
    from runner.llm.projection import Projection

SECONDS = 1.5  # assumed duration of a request
SAMPLED = 100  # cases from which the requests of twice as many and more are estimated; if none of a further run of a
# sweep asks for something new, at most 3% of all do, at 95%: 1 - .05 ** (1 / 100)


@dataclass(frozen=True)
class CellPlan:
    """The plan of one cell. `stopped`: why the run will end before it calls a model. `projection`: the monthly cost of
    what is evaluated. `is_estimated`: from a sample of the cases. `is_clustered`: cases depend on each other.
    `calls_per_case`: requests that the method of the evaluation needs; None where it does not say."""

    swept: Sequence[str]
    n_cases: int
    expected: Mapping[Account, ExpectedRequests]
    stopped: str | None = None
    projection: Projection | None = None
    is_estimated: bool = False
    is_clustered: bool = False
    calls_per_case: int | None = None

    @property
    def nano_usd_a_case(self) -> int | None:
        """The average cost of its models for a case, without judges and without stored replies; None where a price is
        unknown."""
        own = [expected for account, expected in self.expected.items() if account.role != "judge"]
        costs = [cost for expected in own for cost in (expected.nano_usd, expected.saved_nano_usd)]
        known = [cost for cost in costs if cost is not None]
        return round(sum(known) / max(1, self.n_cases)) if len(known) == len(costs) else None


@dataclass(frozen=True)
class CommandPlan:
    """The plan of a command. `concurrency`: requests in flight at once."""

    cells: Sequence[CellPlan]
    concurrency: int

    @property
    def total(self) -> ExpectedRequests:
        """Requests and cost of all cells."""
        total = ExpectedRequests()
        for cell in self.cells:
            for expected in cell.expected.values():
                total.add(expected)
        return total

    @property
    def is_estimated(self) -> bool:
        """Whether a sample of the cases was rehearsed."""
        return any(cell.is_estimated for cell in self.cells)

    @property
    def seconds(self) -> float:
        """The estimated duration: SECONDS a request, `concurrency` at a time."""
        return self.total.live * SECONDS / self.concurrency

    @property
    def live(self) -> Counter[str]:
        """Requests to be sent, by model."""
        return self._live(lambda account: account.role not in SERVICES)

    @property
    def system_requests(self) -> Counter[str]:
        """Requests to be sent to running systems, by their names."""
        return self._live(lambda account: account.role == "system")

    @property
    def memory_requests(self) -> Counter[str]:
        """Requests to be sent to memories of other systems, by their addresses."""
        return self._live(lambda account: account.role == "memory")

    def _live(self, is_counted: Callable[[Account], bool]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for cell in self.cells:
            for account, expected in cell.expected.items():
                counts[account.model] += expected.live if is_counted(account) else 0
        return +counts


def plan_cells(cells: Sequence[Cell], agree: Callable[[CommandPlan], None] | None = None) -> CommandPlan:
    """Load, index and rank as the runs will, then rehearse all cases. Nothing is stored where runs look for it, except
    with `agree`: it raises where the runs will not follow; otherwise they get what was built here.

    The number of requests is exact unless replies have to be retried, or two runs get the same answer to different
    prompts; the tokens of future replies are assumed. With `agree` a run of many cases, each of which asks for itself,
    is estimated from a sample of them: a single run where no reply to these is stored, a further run of a sweep where
    all replies to these are stored or shared. Raises what loading raises.
    """
    rehearsal = Rehearsal()
    with ExitStack() as stack:
        stack.enter_context(sharing())
        roots = dict.fromkeys(Path(options_of(cell.cfg).cache_dir) for cell in cells)
        scratches = {root: stack.enter_context(scratch_for(root, rehearsal)) for root in roots}
        may_estimate = agree is not None and len(cells) == 1, agree is not None  # the first run, a further one
        runs = [_plan(cell, number, scratches, may_estimate[number > 0]) for number, cell in enumerate(cells)]
        planned = CommandPlan(runs, min(int(cell.cfg.max_concurrency) for cell in cells))
        if agree is not None:
            agree(planned)
            for scratch in scratches.values():
                scratch.hand_over()
    return planned


def _plan(cell: Cell, number: int, scratches: Mapping[Path, Scratch], may_estimate: bool) -> CellPlan:
    options = options_of(cell.cfg)
    components = build(cell.cfg.evaluation)
    models = models_among(components.parts.values())
    cases = select_cases(components.root.load().cases, options)
    projection = attribute_of(components.root, "projection")
    keys = [cluster_key(attribute_of(case, "clusters"), case.tags, options.cluster) for case in cases]
    is_clustered = Clusters.of(keys) is not None
    if models is None:
        return CellPlan(cell.swept, len(cases), {}, projection=projection, is_clustered=is_clustered)
    root = Path(options.cache_dir)
    rehearsal = scratches[root].rehearsal
    with models.rehearsing(rehearsal, str(number)):
        workspace = scratches[root].workspace(Store(root, components.identities, cold=options.cold_start))
        may_sample = may_estimate and models.cache_mode != "replay" and attribute_of(components.root, "is_separable")
        sample = Sample.of(len(cases), is_further=number > 0) if may_sample else Sample()
        rehearsed = asyncio.run(rehearse(components.root, models, cases, workspace, rehearsal, sample))
    own = {account: expected for account, expected in rehearsal.expected.items() if account.cell == str(number)}
    calls = attribute_of(components.root, "calls_per_case")
    return CellPlan(
        cell.swept, len(cases), own, rehearsed.stopped, projection, rehearsed.is_estimated, is_clustered, calls
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """The places of cases from which the requests of all are estimated, where none of their replies is saved or, for a
    further run of a sweep, all are."""

    places: Sequence[int] = ()
    is_further: bool = False

    @classmethod
    def of(cls, n_cases: int, *, is_further: bool) -> Sample:
        """The sample; empty where it would hold most of the cases."""
        is_large = n_cases > 2 * SAMPLED
        return cls(random.Random(0).sample(range(n_cases), SAMPLED) if is_large else (), is_further)


@dataclass(frozen=True, slots=True)
class RunRehearsal:
    """`stopped`: why the run would stop before the first case."""

    stopped: str | None = None
    is_estimated: bool = False


async def rehearse(
    evaluation: Any,
    models: Models,
    cases: Sequence[Case],
    workspace: Workspace,
    rehearsal: Rehearsal,
    sample: Sample = Sample(),
) -> RunRehearsal:
    """Run the cases with requests that are counted into `rehearsal` instead of sent. `sample`: cases from which the
    requests of all are estimated, where they can be."""
    async with models.open(), open_evaluation(evaluation):
        try:
            await evaluation.prepare(cases, workspace)
        except StopRunError as error:
            if not (isinstance(workspace, RehearsalWorkspace) and workspace.is_made_up):
                return RunRehearsal(str(error))  # made-up vectors say nothing about the real run
        except ComponentError as error:
            return RunRehearsal(str(error))
        if isinstance(evaluation, JudgeChecking):
            with suppress(ComponentError):  # it will end the run; the cases are counted nevertheless
                await evaluation.check_judge()
        before = rehearsal.snapshot()
        is_made_up = isinstance(workspace, RehearsalWorkspace) and workspace.is_made_up
        await _rehearse_cases(evaluation, Part(cases, sample.places), is_made_up=is_made_up)
        factor = len(cases) / max(1, len(sample.places))
        is_estimated = factor < len(cases) and rehearsal.extrapolate(before, factor, are_saved=sample.is_further)
        if not is_estimated:
            others = sorted({*range(len(cases))}.difference(sample.places))
            await _rehearse_cases(evaluation, Part(cases, others), is_made_up=is_made_up)
    if (aside := models.replies_set_aside) is not None:
        terminal.note(current_wording()("progress.aside.replies", aside=aside))
    return RunRehearsal(is_estimated=is_estimated)


async def _rehearse_cases(evaluation: Any, cases: Iterable[Case], *, is_made_up: bool) -> None:
    """`is_made_up`: the vectors are, so that an answer that refuses for what they found may be judged in the run."""
    for case in cases:
        with suppress(RunnerError, TimeoutError):  # the case will fail in the run, too
            output = await evaluation.run(case)
            await evaluation.judge(case, _as_answered(output) if is_made_up else output)


def _as_answered(output: Any) -> Any:
    answer = getattr(output, "answer", None)
    return replace(output, answer=replace(answer, refused=False)) if isinstance(answer, Answer) else output
