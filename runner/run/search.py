"""hydra/sweeper=optuna: searches for the best configuration by trying some of many.

Every trial is a run of the sweep, in a folder named by its number, over the questions that the search sees; the first
trial is the default configuration. Optuna proposes the next trials from the results so far. At the end the best trial
(with several metrics: each one on the Pareto front) is compared with the default on the held-out questions.

Optuna's study is study.sqlite in the folder of the sweep. Proposals depend on the earlier trials and the seed only, so
an interrupted search resumes with the same proposals.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from omegaconf import DictConfig, OmegaConf

from runner.compare.sweep import compare_on
from runner.config.components import build
from runner.config.compose import Cell, Plan
from runner.config.options import SearchOptions, options_of
from runner.config.space import Axis, Space
from runner.errors import ConfigError, Problem
from runner.metrics.catalogue import catalogue_of
from runner.metrics.metric import Catalogue, K
from runner.metrics.thresholds import name_problem
from runner.run.job import Outcome
from runner.run.passes import HELD_OUT, serve_jobs
from runner.system import terminal
from runner.system.metadata import read_json, write_json
from runner.words.wording import LANGUAGES

if TYPE_CHECKING:
    import optuna

STUDY = "study.sqlite"
DEFAULT = "0"
REPEATS = 30  # consecutive proposals that were tried before
MOST_LISTED = 10_000  # configurations that are listed to find an untried one

RANKINGS = "retrieval"  # the group of the metrics of rankings
# Settings of retrieval that leave the rankings as they are.
AFTER_RANKING = frozenset({"k", "min_score", "timeout_ms", "warmup", "cutoffs", "high"})

Prepare = Callable[[Plan, Path, Collection[str]], None]
Words = tuple[str, ...]


@dataclass(frozen=True)
class Objective:
    """A metric to optimise; `normal_name`: that of Catalogue.normal_name."""

    normal_name: str
    catalogue: Catalogue

    @property
    def sign(self) -> float:
        """-1.0 where lower is better."""
        return -1.0 if self.catalogue.direction(self.normal_name) == "lower" else 1.0

    def name_in(self, metrics: Collection[str]) -> str:
        """Its name in a summary with these metrics."""
        return self.catalogue.name_among(self.normal_name, metrics) or self.normal_name

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """Optuna's name of the direction."""
        return "minimize" if self.sign < 0 else "maximize"


def objectives_of(cell: Cell, space: Space) -> list[Objective]:
    """The metrics to optimise. Raises ConfigError for a name that is no metric of the evaluation, for a metric without
    a direction, and for an axis that moves none of them."""
    catalogue, options = catalogue_of(build(cell.cfg.evaluation).root), options_of(cell.cfg)
    wanted, is_k_searched = options.search.metric, any(axis.name == K for axis in space.axes)
    names = [wanted] if isinstance(wanted, str) else wanted or _main(catalogue, options.cutoffs, is_k_searched)
    problems = []
    for name in names:
        problem = name_problem("search.metric", name, catalogue, options.cutoffs)
        variant = catalogue.variant(catalogue.normal_name(name))
        if problem is None and is_k_searched and variant.is_own_k:
            fixed = f"{variant.base}_at_{options.cutoffs[-1]}"
            problem = Problem("search.metric", f"'{name}' is cut off at another k in each trial; expected {fixed}")
        problems += [] if problem is None else [problem]
    if not names:
        problems = [Problem("search.metric", "the evaluation has no main metric; expected the name of one")]
    if len({catalogue.normal_name(name) for name in names}) < len(names):
        problems.append(Problem("search.metric", "the same metric twice"))
    if problems := problems or list(_idle_axes(names, space, catalogue)):
        raise ConfigError(problems)
    return [Objective(catalogue.normal_name(name), catalogue) for name in names]


def _idle_axes(names: Sequence[str], space: Space, catalogue: Catalogue) -> Iterator[Problem]:
    """The axes that leave all rankings as they are, where the search optimises metrics of rankings alone: those of a
    fixed cutoff do not depend on how many documents are used."""
    if not all(_is_of_rankings(name, catalogue) for name in names):
        return
    others = [metric.in_summaries for metric in catalogue.metrics if metric.main and metric.group != RANKINGS]
    advice = f"expected search.metric={others[0]}, which it moves" if others else "leave it out"
    for axis, cells in zip(space.axes, space.checked_by_axis, strict=True):
        settings = [_ranking_settings(cell.cfg) for cell in cells]
        if not _is_of_component(axis, cells[0].cfg) and axis.name not in AFTER_RANKING:
            continue  # an option of the run, such as sample
        if settings[0] is not None and all(each == settings[0] for each in settings):
            yield Problem(axis.name, f"does not move {', '.join(names)}; {advice}")


def _is_of_rankings(name: str, catalogue: Catalogue) -> bool:
    metric = catalogue.variant(catalogue.normal_name(name)).metric
    return metric is not None and metric.group == RANKINGS


def _is_of_component(axis: Axis, cfg: DictConfig) -> bool:
    """Whether an axis sets a component or a setting of one."""
    node = OmegaConf.select(cfg, axis.name.partition(".")[0].partition("/")[0])
    return isinstance(node, DictConfig) and "_target_" in node


def _ranking_settings(cfg: DictConfig) -> Any:
    """The settings that rankings depend on; None for an evaluation of another kind."""
    stage = OmegaConf.select(cfg, "evaluation.retrieval")
    if not isinstance(stage, DictConfig):
        return None
    settings: Any = OmegaConf.to_container(stage, resolve=True)
    system = OmegaConf.select(cfg, "system")  # its replies hold rankings, too
    return [
        {name: value for name, value in settings.items() if name not in AFTER_RANKING},
        OmegaConf.to_container(system, resolve=True) if isinstance(system, DictConfig) else None,
    ]


def _main(catalogue: Catalogue, cutoffs: Sequence[int], is_k_searched: bool) -> list[str]:
    """The first main metric, at the largest fixed cutoff where k differs between trials."""
    for metric in catalogue.metrics:
        if metric.main and not metric.main_beside and metric.better != "neither":
            end = cutoffs[-1] if is_k_searched else K
            return [f"{metric.in_summaries}_at_{end}" if metric.has_cutoffs else metric.in_summaries]
    return []


def search(plan: Plan, space: Space, folder: Path, prepare: Prepare) -> tuple[Plan, int]:
    """Make the trials and the runs on the held-out questions, and write the result to sweep.json under `search`.
    Returns the plan with all runs, and 130 when interrupted. `prepare` makes the folders."""
    objectives = objectives_of(plan.cells[0], space)
    with _study(folder / STUDY, objectives) as study:
        trials = _Trials(plan, folder, prepare, space, objectives, study)
        code = trials.make_all()
    return (trials.plan, code) if code else _conclude(trials)


@contextmanager
def _study(path: Path, objectives: Sequence[Objective]) -> Iterator[optuna.Study]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.RDBStorage(f"sqlite:///{path.resolve()}")
    try:
        yield optuna.create_study(
            storage=storage,
            study_name="search",
            directions=[objective.direction for objective in objectives],
            load_if_exists=True,
        )
    finally:
        storage.remove_session()
        storage.engine.dispose()


@dataclass
class _Trials:
    """The trials so far. Each trial adds a cell to `plan`; `folders`: overrides -> name of the folder."""

    plan: Plan
    folder: Path
    prepare: Prepare
    space: Space
    objectives: Sequence[Objective]
    study: optuna.Study
    folders: dict[Words, str] = field(default_factory=dict)
    stopped: str | None = None

    @cached_property
    def options(self) -> SearchOptions:
        return options_of(self.plan.cells[0].cfg).search

    @property
    def cells(self) -> dict[str, Cell]:
        """The cells by the names of their folders."""
        return {str(number): cell for number, cell in enumerate(self.plan.cells)}

    def make_all(self) -> int:
        """Make all trials. Returns 130 when interrupted; ends early where a budget or a deadline stopped a run."""
        self.folders[tuple(self.space.default)] = DEFAULT
        earlier = self._earlier()
        code = self._make(earlier)
        if code == 0 and self.value_of(DEFAULT) is None and self.stopped is None:
            self.stopped = f"the default has no value of {', '.join(each.normal_name for each in self.objectives)}"
        while code == 0 and self.stopped is None and (batch := self._next_batch()):
            code = self._make(batch)
        return code

    def _earlier(self) -> dict[str, int]:
        """Folder -> trial, of the trials of an earlier command including the default; adds their cells to the plan.
        Trials that Optuna proposed and the earlier command did not record are closed as failed."""
        from optuna.trial import TrialState

        earlier = {DEFAULT: -1}
        for trial in self.study.trials:
            words, name = trial.user_attrs.get("overrides"), trial.user_attrs.get("run")
            if name is not None and name != DEFAULT:
                self._add(tuple(words or ()))
                earlier[name] = trial.number
            elif trial.state == TrialState.RUNNING:
                self.study.tell(trial.number, state=TrialState.FAIL)
        return earlier

    def _add(self, words: Words) -> str:
        """Add a cell to the plan and return the name of its folder. Raises ConfigError for values that do not go
        together."""
        name = str(len(self.plan.cells))
        self.plan = replace(self.plan, cells=[*self.plan.cells, self.space.compose(words, "searched")])
        self.folders[words] = name
        return name

    def _make(self, batch: Mapping[str, int]) -> int:
        """Make the runs of these trials, and report their values to Optuna."""
        self.prepare(self.plan, self.folder, batch)
        code = serve_jobs(self.plan, self.folder, list(batch))
        for name, number in batch.items():
            outcome = Outcome.read(self.folder / name)
            if outcome is None or outcome.status == "partial":
                self.stopped = self.stopped or (f"run {name} did not finish" if outcome is None else _reason(outcome))
            elif number >= 0:
                self._report(number, name)
        return code

    def _report(self, number: int, name: str) -> None:
        """Report a trial to Optuna, unless an earlier command did."""
        from optuna.trial import TrialState

        if self.study.trials[number].state == TrialState.RUNNING:
            values = self.value_of(name)
            self.study.tell(number, values, state=TrialState.FAIL if values is None else None)

    def _next_batch(self) -> dict[str, int]:
        """Folder -> trial, of the next configurations to try; empty where there are no more."""
        batch: dict[str, int] = {}
        room = min(self.options.trials, self.space.count + (not self._is_default_inside())) - len(self.plan.cells)
        for _ in range(int(min(room, self.options.batch))):
            if (number := self._next_trial()) is None:
                break
            batch[str(len(self.plan.cells) - 1)] = number
        return batch

    def _is_default_inside(self) -> bool:
        return self._params(self.space.default) is not None

    def _params(self, words: Sequence[str]) -> dict[str, Any] | None:
        """The Optuna parameters of these overrides; None where the space does not hold them."""
        if len(words) < len(self.space.axes):
            return None
        values = {axis.name: axis.value_of(word) for axis, word in zip(self.space.axes, words, strict=True)}
        return None if None in values.values() else values

    def _next_trial(self) -> int | None:
        """The trial of a new configuration, which is added to the plan; None where Optuna proposes none."""
        seed = int(self.plan.cells[0].cfg.seed)
        for repeat in range(REPEATS + 1):
            self._enqueue(is_stuck=repeat == REPEATS)
            trial = self._propose(seed)
            words = tuple(axis.word(trial.params[axis.name]) for axis in self.space.axes)
            known = self.folders.get(words)
            if known is not None:
                self._report_again(trial, known)
                continue
            try:
                name = self._add(words)
            except ConfigError as error:
                self.folders[words] = ""
                trial.set_user_attr("refused", str(error))
                self._report_again(trial, "")
                continue
            trial.set_user_attr("overrides", list(words))
            trial.set_user_attr("run", name)
            return trial.number
        return None

    def _propose(self, seed: int) -> optuna.Trial:
        import optuna

        self.study.sampler = optuna.samplers.TPESampler(seed=(seed + len(self.study.trials)) % 2**32)
        return self.study.ask({axis.name: _distribution(axis) for axis in self.space.axes})

    def _enqueue(self, *, is_stuck: bool) -> None:
        """Enqueue the default first, and the first untried configuration where Optuna proposes only known ones."""
        params = self._params(self.space.default)
        if not self.study.trials and params is not None:
            self.study.enqueue_trial(params)
        elif is_stuck and self.space.count <= MOST_LISTED:
            every = product(*(axis.each() for axis in self.space.axes))
            untried = next((words for words in every if words not in self.folders), None)
            if untried is not None and (found := self._params(untried)) is not None:
                self.study.enqueue_trial(found)

    def _report_again(self, trial: optuna.Trial, name: str) -> None:
        """Report the known values of a proposal that was tried before."""
        from optuna.trial import TrialState

        values = self.value_of(name) if name else None
        if name == DEFAULT:
            trial.set_user_attr("run", DEFAULT)
            trial.set_user_attr("overrides", list(self.space.default))
        self.study.tell(trial, values, state=TrialState.FAIL if values is None else None)

    def value_of(self, name: str) -> list[float] | None:
        """The value of each objective of a completed run; None where one is missing."""
        outcome = Outcome.read(self.folder / name)
        if outcome is None or outcome.status != "completed":
            return None
        metrics = self._metrics(name)
        values: list[Any] = [(metrics.get(each.name_in(metrics)) or {}).get("value") for each in self.objectives]
        return None if None in values else values

    def _metrics(self, name: str) -> Mapping[str, Any]:
        return (read_json(self.folder / name / "summary.json") or {}).get("metrics") or {}

    @cached_property
    def metric_names(self) -> list[str]:
        """The objectives by their names in rows, once the default is there."""
        metrics = self._metrics(DEFAULT)
        return [each.catalogue.row_name(each.name_in(metrics)) for each in self.objectives]

    def best(self) -> list[str]:
        """The folders of the runs that no other run beats: one run for one metric, the earliest of equals."""
        values_by_cell = {name: self.value_of(name) for name in self.cells}
        signs = [objective.sign for objective in self.objectives]
        values = {
            name: tuple(sign * value for sign, value in zip(signs, each, strict=True))
            for name, each in values_by_cell.items()
            if each is not None
        }
        if len(signs) == 1:
            return [max(values, key=lambda name: values[name])] if values else []
        return [name for name in values if not any(_beats(other, values[name]) for other in values.values())]


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _reason(outcome: Outcome) -> str:
    return str(outcome.error_message)


def _distribution(axis: Axis) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if axis.words:
        return CategoricalDistribution(list(axis.words))
    if axis.is_whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.is_log, step=int(axis.step or 1))
    return FloatDistribution(axis.low, axis.high, log=axis.is_log, step=axis.step)


# --- the outcome of a search -----------------------------------------------------------------------


def _conclude(trials: _Trials) -> tuple[Plan, int]:
    best, plan, folder = trials.best(), trials.plan, trials.folder
    code = 0
    if best and trials.value_of(DEFAULT) is not None:
        chosen = {DEFAULT: plan.cells[0], **{name: plan.cells[int(name)] for name in best}}
        held_out = {f"{HELD_OUT}{name}": trials.space.compose(cell.swept, "held_out") for name, cell in chosen.items()}
        plan = replace(plan, references=held_out)
        trials.prepare(plan, folder, held_out)
        terminal.note(LANGUAGES[plan.language]("progress.held_out", count=len(held_out)))
        code = serve_jobs(plan, folder, list(held_out))
    state = read_json(folder / "sweep.json") or {}
    write_json(folder / "sweep.json", {**state, "search": _record(trials, plan, best)})
    return plan, code


def _record(trials: _Trials, plan: Plan, best: Sequence[str]) -> dict[str, Any]:
    cfg, folder = plan.cells[0].cfg, trials.folder
    held_out_runs = [f"{HELD_OUT}{name}" for name in best if name != DEFAULT]
    names = trials.metric_names
    comparisons: list[dict[str, Any]] = []
    if held_out_runs:
        comparisons = compare_on(
            folder, f"{HELD_OUT}{DEFAULT}", held_out_runs, names, seed=cfg.seed, margin=_margin(cfg)
        )
    return {
        "metrics": names,
        "space": {axis.name: axis.text.partition("=")[2] for axis in trials.space.axes},
        "trials": len(plan.cells),
        "completed": sum(trials.value_of(name) is not None for name in trials.cells),
        "stopped": trials.stopped,
        "holdout": trials.options.holdout,
        "n_searched": _n_cases(folder / DEFAULT),
        "n_held_out": _n_cases(folder / f"{HELD_OUT}{DEFAULT}"),
        "default": DEFAULT,
        "best": list(best),
        "values": {name: trials.value_of(name) for name in trials.cells},
        "held_out": {name.removeprefix(HELD_OUT): trials.value_of(name) for name in plan.references},
        "compared": comparisons,
    }


def _margin(cfg: DictConfig) -> float:
    return float(build(cfg.regression).root.margin)


def _n_cases(folder: Path) -> int | None:
    return ((read_json(folder / "summary.json") or {}).get("cases") or {}).get("total")
