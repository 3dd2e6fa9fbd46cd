"""The runs of a sweep side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from runner.errors import InputError
from runner.metrics.catalogue import DECLARED, catalogue_in, merge_catalogues
from runner.metrics.clusters import AUTO
from runner.metrics.judged import ANSWER_MEANS
from runner.metrics.metric import Catalogue
from runner.report import metric
from runner.report.paired import CommonCases, pair_runs
from runner.report.reporting import offer_of
from runner.report.trust import warnings
from runner.report.usage import Consumption, Use, total, uses
from runner.system.folder import EqualParts, case_counts, open_run, open_sweep, read_json
from runner.words.wording import LANGUAGES, Wording, wording_of

SNAPSHOT = "snapshot.json"
# Of summary.json what every run has; the rest is what its evaluation sums up, which stays with its cell.
OF_EVERY_RUN = frozenset(
    {"schema", "status", "experiment", "evaluation", "k", "fingerprint", "cases", "metrics", "slices", "counts"}
    | {"judging", "facts", "data_problems", "timing", "thresholds", "measured", *ANSWER_MEANS}
)
# Of a cell in summary.json what its run's summary does not hold.
OF_A_CELL = frozenset(
    {"folder", "run_id", "overrides", "params", "status", "exit_code", "error_message", "fingerprint"}
    | {"baselines", "judge_health"}
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a sweep. `params` are its values of what differs between the runs."""

    folder: str
    overrides: Sequence[str]
    params: Mapping[str, str]
    status: str
    exit_code: int | None
    error_message: str | None
    run: Mapping[str, Any]
    summary: Mapping[str, Any]  # without slices, which are most of it

    @property
    def metrics(self) -> Mapping[str, Any]:
        return self.summary.get("metrics") or {}

    @property
    def spent(self) -> tuple[Consumption, Consumption]:
        """(asked of servers, answered from the cache)"""
        return total(use.live for use in self.uses), total(use.cached for use in self.uses)

    @property
    def uses(self) -> list[Use]:
        """The uses of its models."""
        return uses(self.summary)

    def with_shared(self, parts: EqualParts) -> Cell:
        """The same, with what other cells have as well kept once."""
        return replace(self, run=parts.share(self.run), summary=parts.share(self.summary))

    def record(self) -> dict[str, Any]:
        """The cell in summary.json."""
        timing, facts = self.summary.get("timing") or {}, self.summary.get("facts") or {}
        return {
            "folder": self.folder,
            "run_id": self.run.get("id"),
            "overrides": list(self.overrides),
            "params": {name: _number(value) for name, value in self.params.items()},
            "status": self.status,
            "exit_code": self.exit_code,
            "error_message": self.error_message,
            "fingerprint": self.run.get("fingerprint"),
            "k": self.summary.get("k"),
            "cases": self.summary.get("cases"),
            "baselines": facts.get("baselines") or [],
            **_if_set(facts, "judge_health"),
            "metrics": self.metrics,
            **{name: value for name, value in self.summary.items() if value and name not in OF_EVERY_RUN},
            **_if_set(self.summary, "cost"),
            "timing": {"latency": timing.get("latency") or {}, **_if_set(timing, "usage")},
        }


@dataclass(frozen=True, slots=True)
class View:
    """Runs that can be compared, by their folders, with what there is to say of the cases behind their means."""

    metrics: Mapping[str, Mapping[str, Any]]
    catalogue: Catalogue
    note: str = ""

    def best(self, name: str) -> float | None:
        """The best value of a metric, where the values differ and the metric has a direction."""
        values = [metric.value_of(metrics, name).value for metrics in self.metrics.values()]
        numbers = [value for value in values if value is not None]
        direction = self.catalogue.direction(name)
        if direction is None or len(set(numbers)) < 2:
            return None
        return max(numbers) if direction == "higher" else min(numbers)


@dataclass(frozen=True, slots=True)
class Sweep:
    """`paired` where some runs are incomplete, so that their own means cover different cases. `comparison` is the
    record of runner.compare.sweep. `references` are no systems, but what the cells are compared with."""

    head: Mapping[str, Any]
    cells: Sequence[Cell]
    say: Wording
    paired: CommonCases | None = None
    comparison: Mapping[str, Any] | None = None
    references: Sequence[Cell] = ()

    @property
    def runs(self) -> list[Cell]:
        """Cells and references."""
        return [*self.cells, *self.references]

    @property
    def params(self) -> list[str]:
        """Names of the overrides that differ between cells, in the order of the command line."""
        return list(dict.fromkeys(name for cell in self.cells for name in cell.params))

    @property
    def metrics(self) -> list[str]:
        """The metrics of the columns of a sweep that at least one cell has."""
        return columns([cell.metrics for cell in self.cells], self.say.catalogue)

    @property
    def baselines(self) -> list[str]:
        """The components that work by simple rules, of all cells."""
        return sorted({name for cell in self.cells for name in cell.record()["baselines"]})

    @property
    def goes_on(self) -> bool:
        """Whether the same command has something left to do that may end otherwise."""
        ended = [cell for cell in self.runs if cell.status == "completed" or cell.summary.get("measured")]
        return self.head.get("status") == "partial" and len(ended) < len(self.runs)

    @property
    def k(self) -> int | None:
        """k where all cells share it; None where it differs."""
        ks = {cell.summary.get("k") for cell in self.cells if cell.metrics}
        return ks.pop() if len(ks) == 1 else None

    @property
    def views(self) -> list[View]:
        """Completed runs by their own means, and runs that stopped before their end beside them over what all
        have finished."""
        catalogue = self.say.catalogue
        own_view = View({cell.folder: cell.metrics for cell in self.cells if cell.status == "completed"}, catalogue)
        if self.paired is None:
            return [own_view]
        common_view = View(self.paired.metrics, catalogue, coverage(self, self.paired))
        if not self.paired.n:
            return [View(own_view.metrics, catalogue, common_view.note)]
        return [own_view, common_view] if own_view.metrics else [common_view]

    def stands_out(self, view: View, folder: str, name: str) -> bool:
        """Whether a run may be the best one of a metric: within noise of the best where runs were compared, else the
        one with the best value."""
        if self.comparison is None:
            value = metric.value_of(view.metrics.get(folder, {}), name).value
            return value is not None and value == view.best(name)
        entries = (entry for entry in self.comparison["metrics"] if entry["name"] == name and not entry["same"])
        return any(folder in entry["within_noise_of_best"] for entry in entries)

    def legend(self, mark: str, views: Iterable[View], names: Iterable[str]) -> str:
        """The meaning of the mark of best values; empty where no value has it."""
        places = product(views, (cell.folder for cell in self.cells), names)
        if not any(self.stands_out(view, folder, name) for view, folder, name in places):
            return ""
        if self.comparison is None:
            return self.say("sweep.differs", mark=mark)
        return self.say("sweep.near", mark=mark, margin=f"{self.comparison['margin']:g}")

    @property
    def warnings(self) -> list[str]:
        """Warnings of the evaluations about runs that differ in a setting, then those about the judges; each once."""
        by_setting = [each for cell in self.cells for each in offer_of(cell.run).pipeline.warnings.items()]
        own = [self.say(key) for name, key in by_setting if name in self.params]
        return list(dict.fromkeys([*own, *(text for cell in self.cells for text in warnings(cell.summary, self.say))]))


def columns(metrics: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> list[str]:
    """The metrics that tables of several runs show: those declared for them, then undeclared ones. Without those that
    apply to no case of any run, and without legs and fixed cutoffs."""
    names = dict.fromkeys(name for each in metrics for name, entry in each.items() if metric.applies(entry))
    undeclared = [name for name in names if "/" not in name and catalogue.variant(name).metric is None]
    return [*catalogue.names_for(names, "sweeps"), *undeclared]


def coverage(sweep: Sweep, compared: CommonCases) -> str:
    """Over which cases the means are."""
    say = sweep.say
    if compared.same:
        return say("sweep.common_same", n=compared.n)
    counts = [
        say("sweep.done", run=_label(cell), done=compared.done[cell.folder], total=case_counts(cell.summary)["total"])
        for cell in sweep.cells
        if cell.folder in compared.done
    ]
    return say("sweep.common_explain" if compared.n else "sweep.common_none", n=compared.n, done=", ".join(counts))


def _label(cell: Cell) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.params.items()) or cell.folder


def read_sweep(folder: Path, comparison: Mapping[str, Any] | None = None) -> Sweep:
    """`comparison`: in place of what summary.json has. Raises InputError when `folder` is no sweep folder. Cells that
    never started have no metrics."""
    head = open_sweep(folder)
    entries = head.get("cells") or []
    overrides = [_pairs(cell.get("overrides") or ()) for cell in entries]
    differing = [
        name
        for name in dict.fromkeys(name for pairs in overrides for name in pairs)
        if len({pairs.get(name) for pairs in overrides}) > 1
    ]
    summary = read_json(folder / "summary.json", "sweep") if (folder / "summary.json").is_file() else {}
    records = {record.get("folder"): record for kind in ("cells", "references") for record in summary.get(kind) or ()}
    parts = EqualParts()
    cells = [
        _cell(folder, cell, {name: pairs[name] for name in differing if name in pairs}, records).with_shared(parts)
        for cell, pairs in zip(entries, overrides, strict=True)
    ]
    language = next((wording_of(cell.run).language for cell in cells if cell.run.get("config")), None)
    kinds = {cell.run.get("evaluation_type") for cell in cells}
    say = LANGUAGES[language or summary.get("language") or "en"].of(kinds.pop() if len(kinds) == 1 else None)
    say = say.about(_catalogue(cells, summary))
    compared = comparison or summary.get("comparison")
    references = [_cell(folder, entry, {}, records) for entry in head.get("references") or ()]
    return Sweep(head, cells, say, _pair(folder, cells, summary.get("paired"), say.catalogue), compared, references)


def _catalogue(cells: Sequence[Cell], record: Mapping[str, Any]) -> Catalogue:
    """The metrics that the runs declared. Where their folders are gone, those in an earlier summary.json. Raises
    InputError where only that has them and it is damaged."""
    catalogues = [catalogue_in(cell.run) for cell in cells if cell.run.get("config")]
    if catalogues and DECLARED not in record:
        return merge_catalogues(catalogues)
    try:
        return merge_catalogues([*catalogues, catalogue_in(record)])
    except ValueError as error:
        if catalogues:
            return merge_catalogues(catalogues)
        raise InputError(f"summary.json of the sweep: damaged: {error}") from None


def _pair(
    folder: Path, cells: Sequence[Cell], record: Mapping[str, Any] | None, catalogue: Catalogue
) -> CommonCases | None:
    """The pairing; where folders of runs are gone, that of an earlier summary.json."""
    compared = [cell for cell in cells if cell.status in ("completed", "partial")]
    if all(cell.status == "completed" for cell in compared):
        return None
    seed = next((cell.run["config"]["seed"] for cell in compared if "seed" in (cell.run.get("config") or {})), 0)
    cluster = next((str((cell.run.get("config") or {}).get("cluster", AUTO)) for cell in compared), AUTO)
    names = columns([cell.metrics for cell in compared], catalogue)
    common = pair_runs(folder, [cell.folder for cell in compared], names, seed, catalogue, cluster)
    return CommonCases(**record) if common is None and record else common


def _cell(
    folder: Path, entry: Mapping[str, Any], params: Mapping[str, str], records: Mapping[str, Mapping[str, Any]]
) -> Cell:
    """A cell from the folder of the run. Where that is gone (or was never made), from an earlier summary.json; of a
    record, which holds no more, from its snapshot."""
    run: Mapping[str, Any]
    summary: Mapping[str, Any]
    try:
        opened = open_run(folder / str(entry["folder"]))
        run, summary = opened.run, opened.summary
    except InputError:
        if (snapshot := folder / str(entry["folder"]) / SNAPSHOT).is_file():
            return _cell_of(read_json(snapshot, "snapshot"), entry, params)
        record = records.get(str(entry["folder"]), {})
        run = {"id": record.get("run_id"), "fingerprint": record.get("fingerprint")}
        summary = {name: value for name, value in record.items() if name not in OF_A_CELL}
        summary["facts"] = {name: record.get(name) for name in ("baselines", "judge_health")}
    return _make_cell(entry, params, run, summary)


def _cell_of(snapshot: Mapping[str, Any], listed: Mapping[str, Any], params: Mapping[str, str]) -> Cell:
    ran = snapshot.get("run") or {}
    run = {**ran, "config": snapshot.get("config"), DECLARED: snapshot.get(DECLARED) or []}
    parts = {name: snapshot.get(name) or {} for name in ("metrics", "counts", "cost", "timing")}
    return _make_cell(listed, params, run, {"k": ran.get("k"), "cases": snapshot.get("cases_count"), **parts})


def _make_cell(
    entry: Mapping[str, Any], params: Mapping[str, str], run: Mapping[str, Any], summary: Mapping[str, Any]
) -> Cell:
    return Cell(
        str(entry["folder"]),
        entry.get("overrides") or (),
        params,
        str(entry.get("status") or run.get("status") or "pending"),
        entry.get("exit_code"),
        entry.get("error_message"),
        run,
        {name: value for name, value in summary.items() if name != "slices"},
    )


def _if_set(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {name: values[name]} if values.get(name) else {}


def _pairs(overrides: Sequence[str]) -> dict[str, str]:
    """`k` and `3` of `k=3`; a leading + or ~ is not part of the name."""
    split = (override.partition("=") for override in overrides)
    return {name.lstrip("+~"): value.strip("'\"") for name, _, value in split}


def _number(value: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def swept_columns(sweep: Sweep) -> list[list[str]]:
    """Columns with what distinguishes the runs: a name and its values, or the folders."""
    params = [[name, *(cell.params.get(name, "") for cell in sweep.cells)] for name in sweep.params]
    return params or [[sweep.say("sweep.folder"), *(cell.folder for cell in sweep.cells)]]
