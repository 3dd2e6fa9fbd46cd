"""What a tracking store receives of a run folder or a sweep folder, whichever store it is."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.config.arguments import command_of
from runner.config.options import NOT_IN_FINGERPRINT
from runner.metrics.catalogue import catalogue_in
from runner.report.trust import warnings
from runner.report.usage import models
from runner.system.folder import identities, is_sweep, legible, open_run, open_sweep, read_json
from runner.tracking.metrics import RunNumbers, numbers_of
from runner.tracking.tables import Table, tables_of
from runner.words.wording import LANGUAGES, Wording, wording_of

# No property of an experiment. A logged param cannot change, and a resumed run may have another budget.
NOT_PARAMS = NOT_IN_FINGERPRINT | {"tracking", "regression", "models", "case"}
OFFERED = re.compile(r"\.profiles\.|\.metrics\.[^.]+\.names$")  # what a component chooses from, or measures anyway
OUR_CLASSES = ("plugins.", "runner.")
UNSET = ("null", "{}", "[]")
BETWEEN = " · "  # the parts of a name
BASELINE = "baseline"  # a run of its recipe as it is
UNNAMED = NOT_PARAMS | {"experiment", "dataset"}  # settings that the name of a run leaves out
CHOICES = ("dataset", "retriever", "tokenizer", "embedder", "generator", "judge")
MODEL_PARAMS = ("system", "retriever", "tokenizer", "embedder", "reranker", "memory", "agent", "generator")
PASSING = ("error_message", "verdict", "baseline", "regression", "baseline_run")  # tags that a later upload may lack
SCRATCH = (".lock", ".writing", ".compacting")
LOCAL_FILES = (
    ".lock",
    ".cases.index",
    ".progress.json",
    ".outcome.json",
    ".state.json",
    ".mlflow_run.json",
)  # locks, caches, the state of the command that is running, and which run this is
HYDRA = ".hydra"  # the folder of the composed configuration


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """`digest` is a hash over everything that was read; `source` holds the hashes it was made from."""

    name: str
    digest: str
    source: Mapping[str, str]
    n_cases: int | None


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """The evaluated system: a name of its components, and its distinguishing settings."""

    name: str
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """Names are ours; a store that refuses some of their characters translates them. `metrics` are all numbers of the
    run, `headline` the names of those that stand for it, and both are logged at `step`: k of the run, 0 where it has
    none. `swept`: the settings by which runs of its sweep differ, or k; `axes`:
    those of them, without k, that are numbers."""

    experiment: str
    name: str
    description: str
    status: str  # completed | partial | failed
    tags: Mapping[str, str]
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    headline: Sequence[str]
    step: int
    swept: Sequence[str]
    axes: Sequence[str]
    tables: Sequence[Table]
    dataset: DatasetEntry | None
    model: ModelEntry | None
    folder: Path
    files: Sequence[Path]
    commit: str | None
    say: Wording
    created_ms: int
    updated_ms: int


def run_entry(folder: Path, *, slices: Collection[str] = ()) -> Entry:
    """The entry of a run. `slices` names the dimensions whose main metrics are kept. Raises InputError when `folder` is
    no run folder, or a damaged one: checked here, so that it is not reported as a fault of the store."""
    with legible(folder):
        return _run_entry(folder, slices)


def _run_entry(folder: Path, slices: Collection[str]) -> Entry:
    folder_of_run = open_run(folder)
    run, summary = folder_of_run.run, folder_of_run.summary
    baselines = _baselines(summary.get("facts") or {})
    cells = _cells(folder, run)
    numbers = numbers_of(summary, slices, catalogue_in(run), _added_choices(run))
    return Entry(
        experiment=str(run["experiment"]),
        name=_run_name(run, cells.get(folder.name) or {}),
        description=_run_description(run, summary, baselines),
        status=str(run["status"]),
        tags={**_run_tags(run, summary, baselines), **_comparison_tags(folder)},
        params=_params(run),
        metrics=numbers.metrics,
        headline=[number.name for number in numbers.headline],
        step=_step(run.get("k")),
        swept=_varied_settings(cells) or ([] if run.get("k") is None else ["k"]),
        axes=_axes(cells),
        tables=tables_of(folder_of_run, numbers, catalogue_in(run)),
        dataset=_dataset(run, summary),
        model=_model(run),
        folder=folder,
        files=_files(folder),
        commit=(run.get("git") or {}).get("commit"),
        say=wording_of(run),
        created_ms=_milliseconds(run["created_at"]),
        updated_ms=_milliseconds(run["updated_at"]),
    )


def _step(k: object) -> int:
    """k of a run, 0 where it has none."""
    return k if isinstance(k, int) else 0


def sweep_entry(folder: Path) -> Entry:
    """The summary of a sweep: the headline numbers of its best run, the values that were swept as settings, the verdict
    on the best run as tags, its table as files and description."""
    with legible(folder):
        return _sweep_entry(folder)


def _sweep_entry(folder: Path) -> Entry:
    sweep = open_sweep(folder)
    summary = read_json(folder / "summary.json", "sweep")
    cells = summary.get("cells") or ()
    tags = {
        "experiment": sweep.get("experiment"),
        "status": sweep.get("status"),
        "sweep_id": sweep.get("id"),
        "sweep_role": "summary",
        "cells": _counts(str(cell.get("status")) for cell in cells),
        "baselines": _baselines(
            {"baselines": sorted({name for cell in cells for name in cell.get("baselines") or ()})}
        ),
    }
    report = folder / "summary.md"
    best = _best_cell(summary)
    numbers = numbers_of(best, (), catalogue_in(summary)) if best else RunNumbers((), ())
    return Entry(
        experiment=str(sweep["experiment"]),
        name=_sweep_name(summary, str(sweep["id"])),
        description=_escape_for_mlflow(report.read_text(encoding="utf-8")) if report.is_file() else "",
        status=str(sweep["status"]),
        tags=_texts(tags | _best_tags(summary, best)),
        params=_swept_values(summary),
        metrics=RunNumbers(numbers.headline, ()).metrics,
        headline=[],
        step=_step(best.get("k")),
        swept=list(summary.get("params") or ()),
        axes=[],
        tables=[],
        dataset=None,
        model=None,
        folder=folder,
        files=_files(folder),
        commit=None,
        say=LANGUAGES["ko" if summary.get("language") == "ko" else "en"],
        created_ms=_milliseconds(sweep["created_at"]),
        updated_ms=_milliseconds(sweep.get("updated_at") or sweep["created_at"]),
    )


def _escape_for_mlflow(markdown: str) -> str:
    """Its view of descriptions takes `[0.75, 0.82] (458)` for a link and hides the number, which no other view does."""
    return markdown.replace("] (", r"] \(")


def _counts(statuses: Iterable[str]) -> str:
    return ", ".join(f"{status} {count}" for status, count in sorted(Counter(statuses).items()))


def draw(folder: Path, target: Path) -> list[Path]:
    """Draw the figures of a run or sweep folder into `target`."""
    from runner.report.figures import draw_run, draw_sweep

    return draw_sweep(folder, target) if is_sweep(folder) else draw_run(folder, target)


def _files(folder: Path) -> list[Path]:
    """Every file of the folder itself and of Hydra's part of it, but locks, caches and leftovers of writing."""
    paths = [*folder.iterdir(), *(folder / HYDRA).glob("*")]
    kept = (path for path in paths if path.is_file() and path.name not in LOCAL_FILES)
    return sorted(path for path in kept if path.suffix not in SCRATCH)


def _cells(folder: Path, run: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """The overrides of the runs of the sweep that the run in `folder` is one of, by their folders; none where it is
    none."""
    if not run.get("sweep_id") or not is_sweep(folder.parent):
        return {}
    split = {cell["folder"]: cell.get("overrides") or () for cell in open_sweep(folder.parent).get("cells") or ()}
    return {
        name: {key.lstrip("+~"): value for key, _, value in (override.partition("=") for override in overrides)}
        for name, overrides in split.items()
    }


def _varied_settings(cells: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The settings by which runs of a sweep differ."""
    names = dict.fromkeys(name for cell in cells.values() for name in cell)
    return [name for name in names if len({cell.get(name) for cell in cells.values()}) > 1]


def _axes(cells: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The settings that a sweep varies and that are numbers in all its runs, without k, which is the step."""
    return [
        name
        for name in _varied_settings(cells)
        if name != "k" and all(re.fullmatch(r"[0-9]+(\.[0-9]+)?", cell.get(name, "")) for cell in cells.values())
    ]


def _added_choices(run: Mapping[str, Any]) -> list[str]:
    """The choices of the group `metric` that are more than names of what the evaluation measures anyway."""
    chosen = (run.get("config") or {}).get("metric") or {}
    return [name for name, choice in chosen.items() if "names" not in choice]


def _run_name(run: Mapping[str, Any], overrides: Mapping[str, str]) -> str:
    """What tells a run from others: in a sweep its overrides, else the settings of its command; then its data set and
    when it was made. A run of the recipe as it is is a `baseline`."""
    dataset = (run.get("choices") or {}).get("dataset")
    if run.get("reference"):
        own = f"reference: {run['reference']} context"
    else:
        settings = overrides or _command_settings(run)
        own = ", ".join(f"{name}={value}" for name, value in settings.items()) or BASELINE
    if "dataset" in overrides:
        dataset = None
    moment = _moment_of(str(run["sweep_id"])) if run.get("sweep_id") else _moment(str(run["created_at"]))
    return BETWEEN.join(str(part) for part in (own, dataset, moment) if part)


def _command_settings(run: Mapping[str, Any]) -> dict[str, str]:
    """The settings of the command that made a run, but those that name the recipe or the data set, and those that are
    no property of the experiment."""
    words = (str(word).lstrip("+~").partition("=") for word in run.get("overrides") or ())
    return {key: value for key, equals, value in words if equals and key.partition(".")[0] not in UNNAMED}


def _moment(created_at: str) -> str:
    """`1128-051121` of `2026-11-28T05:11:21Z`."""
    return datetime.fromisoformat(created_at).strftime("%m%d-%H%M%S")


def _moment_of(sweep_id: str) -> str:
    """`1128-051121` of `20261128-051121-full_rag-48da4939`; an id that was chosen stays."""
    found = re.match(r"[0-9]{4}([0-9]{4}-[0-9]{6})-", sweep_id)
    return found[1] if found else sweep_id


def _sweep_name(summary: Mapping[str, Any], sweep_id: str) -> str:
    """`summary of k=3,5,10 · 1128-051121`."""
    swept = " ".join(f"{name}={values}" for name, values in _swept_values(summary).items())
    return f"summary of {swept or 'a sweep'}{BETWEEN}{_moment_of(sweep_id)}"


def _swept_values(summary: Mapping[str, Any]) -> dict[str, str]:
    """`3,5,10` of k for a sweep over it."""
    cells = [cell.get("params") or {} for cell in summary.get("cells") or ()]
    found = {name: dict.fromkeys(str(cell[name]) for cell in cells if name in cell) for name in summary["params"]}
    return {name: ",".join(values) for name, values in found.items()}


def _compared_metric(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """What decides which run is the best: the first metric by which the runs were compared; empty without one."""
    compared = (summary.get("comparison") or {}).get("metrics") or ()
    return compared[0] if compared else {}


def _best_cell(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """The run that is best by the first compared metric; empty where none was compared."""
    folder = _compared_metric(summary).get("best")
    return next((cell for cell in summary.get("cells") or () if cell.get("folder") == folder), {})


def _best_tags(summary: Mapping[str, Any], best: Mapping[str, Any]) -> dict[str, str]:
    """Which run is the best, by which metric, and how it compares with the baseline."""
    if not best:
        return {}
    compared = _compared_metric(summary)
    own: Mapping[str, Any] = next(
        (cell for cell in compared.get("cells") or () if cell["folder"] == best["folder"]), {}
    )
    names = {cell["folder"]: _cell_name(cell) for cell in summary.get("cells") or ()}
    tied = [names[each] for each in compared.get("within_noise_of_best") or () if each != best["folder"]]
    return {
        "best": names[best["folder"]],
        "best_by": compared["name"],
        "verdict": own.get("verdict") or BASELINE,
        "tied_with_best": "; ".join(tied),
    }


def _cell_name(cell: Mapping[str, Any]) -> str:
    """`k=3` by the values that were swept."""
    return ", ".join(f"{axis}={value}" for axis, value in (cell.get("params") or {}).items()) or str(cell["folder"])


def _run_description(run: Mapping[str, Any], summary: Mapping[str, Any], baselines: str) -> str:
    """Markdown: what the scores are worth, how it ended, how to run it again."""
    lines = [f"    {command_of(run.get('overrides') or (), run.get('frozen'), run.get('config_folders') or ())}"]
    if run.get("error_message"):
        lines.insert(0, f"{run['status']}: {run['error_message']}")
    if baselines != "none":
        lines.insert(0, f"Baselines without a language model: {baselines}. Their scores are rough estimates.")
    lines[:0] = warnings(summary, LANGUAGES["en"].of(run.get("evaluation_type")).about(catalogue_in(run)))
    if run.get("reference"):
        lines.insert(0, LANGUAGES["en"](f"reference.{run['reference']}"))
    return "\n\n".join(lines)


def _run_tags(run: Mapping[str, Any], summary: Mapping[str, Any], baselines: str) -> dict[str, str]:
    choices, git = run.get("choices") or {}, run.get("git") or {}
    tags = {
        "experiment": run.get("experiment"),
        "evaluation": run.get("evaluation_type"),
        **{name: choices.get(name) for name in CHOICES},
        "system": None if choices.get("system") == "none" else choices.get("system"),
        "git_commit": git.get("commit"),
        "git_dirty": str(git["dirty"]).lower() if git.get("commit") else None,
        "fingerprint": run.get("fingerprint"),
        "status": run.get("status"),
        "cases": ", ".join(f"{name} {count}" for name, count in (summary.get("cases") or {}).items()),
        "error_message": run.get("error_message"),
        "sweep_id": run.get("sweep_id"),
        "sweep_role": "reference" if run.get("reference") else "cell" if run.get("sweep_id") else None,
        "reference": run.get("reference"),
        "baselines": baselines,
    }
    return _texts(tags)


def _comparison_tags(folder: Path) -> dict[str, str]:
    """Tags of the comparison with a baseline, if there was one."""
    path = folder / "compare.json"
    if not path.is_file():
        return {}
    record = read_json(path, "run")
    statuses = {rule["status"] for rule in record["gate"]["rules"]}
    found = "fired" if record["gate"]["fired"] else "underpowered" if "underpowered" in statuses else "none"
    tags = {"verdict": record["verdict"], "baseline": record["baseline"]["label"], "regression": found}
    return _texts({**tags, "baseline_run": record["baseline"]["id"]})


def _baselines(facts: Mapping[str, Any]) -> str:
    return ", ".join(facts.get("baselines") or ()) or "none"


def _texts(tags: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in tags.items() if value}


def _params(run: Mapping[str, Any]) -> dict[str, str]:
    """What users compare: the chosen components, the models by role, and every setting that is set, under its dotted
    key. run.json has all of it."""
    config = run.get("config") or {}
    settings = {name: value for name, value in config.items() if name not in NOT_PARAMS}
    choices = {_place_of(name): str(choice) for name, choice in (run.get("choices") or {}).items()}
    params = {name: choice for name, choice in choices.items() if name not in NOT_PARAMS}
    role_models = {f"{role}_model": ", ".join(names) for role, names in models(run).items()}
    all_params = params | role_models | dict(flatten(settings, config))
    return {name: value for name, value in all_params.items() if _is_compared(name, value)}


def _is_compared(name: str, value: str) -> bool:
    """Whether a setting is more than an offer, a place that is not filled, or one of our own classes, which the choices
    name."""
    return not (OFFERED.search(name) or value in UNSET or (name.endswith("_target_") and value.startswith(OUR_CLASSES)))


def _place_of(choice: str) -> str:
    """Where in the configuration a choice stands: `retriever.keyword` of `retriever@retriever.keyword`,
    `dataset.chunker` of `dataset/chunker`."""
    group, _, place = choice.partition("@")
    return place or group.replace("/", ".")


def flatten(node: Mapping[str, Any], config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every setting of `node`, a part of `config`, as text under its dotted key. What a component shares with the
    top level (`evaluation.retriever`, `judge.models`) is not repeated."""
    for name, value in node.items():
        if prefix and name in config and config[name] == value:
            continue
        if isinstance(value, Mapping) and value:
            yield from flatten(value, config, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _dataset(run: Mapping[str, Any], summary: Mapping[str, Any]) -> DatasetEntry | None:
    identity, _ = identities(run)
    if not identity:
        return None
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    name = (run.get("choices") or {}).get("dataset") or run["experiment"]
    return DatasetEntry(str(name), digest, identity, (summary.get("cases") or {}).get("total"))


def _model(run: Mapping[str, Any]) -> ModelEntry:
    """Named by the running system, or by what retrieves, remembers and answers."""
    choices = {name: str(choice) for name, choice in (run.get("choices") or {}).items() if choice != "none"}
    role_models = {f"{role}_model": ", ".join(names) for role, names in models(run).items()}
    parts = ["system"] if "system" in choices else ["retriever", "memory", "agent", "generator"]
    part_names = [role_models.get(f"{part}_model") or choices.get(part) for part in parts]
    params = {name: choices[name] for name in MODEL_PARAMS if name in choices} | role_models
    name = "-".join(part for part in part_names if part) or str(run["evaluation_type"])
    return ModelEntry(name, params | ({} if run.get("k") is None else {"k": str(run["k"])}))


def _milliseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000)
