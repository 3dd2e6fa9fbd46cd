"""Builds the configuration of a record from those of its runs, and checks that it composes to each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from omegaconf import DictConfig, OmegaConf

from runner.commands.freeze.portable import portable
from runner.commands.freeze.source import Run, Source
from runner.config import arguments
from runner.config.compose import Cell, compose_cells
from runner.config.folders import with_search_path
from runner.config.frozen import CONF, FrozenConfig, read_mapping, unfolded_folder
from runner.config.vetting import Vetting
from runner.errors import InputError

# Options of a single start of a run: a record has their defaults.
OF_ONE_START = (
    "out", "cache_dir", "dry_run", "cold_start", "compare", "save_snapshot", "fail_on_regression",
    "allow_incomparable", "threshold", "junit", "comparability",
)  # fmt: skip


def frozen_of(source: Source, name: str, *, trusts: bool = False) -> tuple[FrozenConfig, list[Cell]]:
    """The content of frozen.yaml, and the runs that it composes to. Raises InputError where these differ from the
    finished runs and, unless `trusts`, for classes of other packages: the folder may come from someone else."""
    runs = [(run, _values(run.values)) for run in source.runs]
    first, values = runs[0]
    # Components of later choices of the sweep: with retriever=hybrid,agentic only the second run has an agent.
    later = {
        group: (choice, choices_of_run[group])
        for run, choices_of_run in reversed(runs)
        for group, choice in run.choices.items()
        if group in choices_of_run and group not in values
    }
    values = {**values, **{group: node for group, (_, node) in later.items()}}
    choices = _ordered_choices({**first.choices, **{group: choice for group, (choice, _) in later.items()}}, values)
    further_choices = {
        f"{group}/{choice}": choices_of_run[group]
        for run, choices_of_run in runs
        for group, choice in run.choices.items()
        if group in choices_of_run and choices.get(group) != choice
    }
    frozen = FrozenConfig(name, choices, _sorted_values(values, choices), _sweep(source.runs), further_choices)
    vet = Vetting(replace(frozen, name=str(source.folder)), (), (), trusts).of_classes
    return frozen, _check(frozen, source, [values for _, values in runs], vet)


def variables(values: Any) -> Iterator[str]:
    """Names of the environment variables that a configuration reads."""
    if isinstance(values, Mapping):
        for name, value in values.items():
            if str(name).endswith("_env") and isinstance(value, str):
                yield value
            else:
                yield from variables(value)
    elif isinstance(values, list):
        for value in values:
            yield from variables(value)
    elif isinstance(values, str) and "${oc.env:" in values:
        yield from (part.partition("}")[0].partition(",")[0] for part in values.split("${oc.env:")[1:])


def _values(composed: Mapping[str, Any]) -> dict[str, Any]:
    defaults = read_mapping(CONF / "config.yaml")
    reset = {name: defaults[name] for name in OF_ONE_START if name in composed and name in defaults}
    return {**portable(dict(composed)), **reset}


def _ordered_choices(choices: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    """The experiment and the evaluation, then the components in the order of the configuration."""
    names = ["experiment", "evaluation", *values, *choices]
    return {name: choices[name] for name in dict.fromkeys(names) if name in choices}


def _sorted_values(values: Mapping[str, Any], choices: Mapping[str, str]) -> dict[str, Any]:
    """Options, then components in the order of the choices, then values derived from options."""
    parts = [name for name in choices if name in values]
    made = [name for name, value in values.items() if isinstance(value, Mapping) and "_target_" in value]
    options = [name for name in values if name not in (*parts, *made, "provider")]
    return {name: values[name] for name in dict.fromkeys([*options, *parts, *made, *values])}


def _sweep(runs: Sequence[Run]) -> dict[str, str]:
    """The axes of a sweep with their values in order, as they are typed."""
    varied: dict[str, dict[str, None]] = {}
    for run in runs:
        for override in run.swept:
            key, _, value = override.partition("=")
            varied.setdefault(key.lstrip("+"), {})[value] = None
    return {key: ",".join(found) for key, found in varied.items()}


def _check(
    frozen: FrozenConfig, source: Source, expected: Sequence[Mapping[str, Any]], vet: Callable[[DictConfig], None]
) -> list[Cell]:
    with unfolded_folder(frozen) as folder:
        overrides = arguments.check_overrides(frozen.overrides_with([], []))
        _, cells = compose_cells(with_search_path(overrides, [], frozen), folder, vet)
    ran = [run.swept for run in source.runs]
    again = [tuple(cell.swept) for cell in cells]
    if len(ran) != len(again):
        raise InputError(
            f"{source.folder}: its {len(ran)} runs are not all combinations of {frozen.sweep}, so they are no one "
            f"record; freeze them one by one{_one_by_one(source)}"
        )
    for run, cell, values in zip(source.runs, cells, expected, strict=True):
        options = {name: node for name, node in _plain_values(cell).items() if name in values}  # and no newer one
        if different := sorted(_different(values, options)):
            raise InputError(
                f"{run.folder.path}: would not be composed again as it was: {', '.join(different[:5])} "
                f"would differ{_one_by_one(source)}"
            )
    return cells


def _plain_values(cell: Cell) -> dict[str, Any]:
    values = OmegaConf.to_container(cell.cfg)
    return {str(name): value for name, value in values.items()} if isinstance(values, dict) else {}


def _one_by_one(source: Source) -> str:
    return f": freeze {source.first.folder.path} FOLDER" if source.sweep is not None else ""


def _different(first: Any, second: Any, key: str = "") -> Iterator[str]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for name in {*first, *second}:
            yield from _different(first.get(name), second.get(name), f"{key}.{name}".lstrip("."))
    elif first != second:
        yield key
