"""`baseline=…` of a sweep: the number of a run, or its swept overrides, such as `k=5` or `k=5,retriever=keyword`.

A baseline in a configuration file, such as a record, belongs to the sweep of that file: for another sweep the first run
is the baseline.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from runner.config.compose import Cell
from runner.errors import ConfigError, Problem


def chosen_baseline(cells: Sequence[Cell]) -> int:
    """The place of the baseline among the cells. Raises ConfigError where the option names none or several."""
    baseline = cells[0].cfg.baseline
    if baseline is None:
        return 0
    snapshots = _places(cells, str(baseline).strip())
    if not _is_typed(cells[0]) and (len(cells) == 1 or len(snapshots) != 1):
        return 0
    if len(cells) == 1:
        needs = "this command has one run; compare=BASELINE compares it with an earlier one"
        raise ConfigError([Problem("baseline", needs)])
    if len(snapshots) == 1:
        return snapshots[0]
    what = f"'{baseline}' names {len(snapshots)} runs" if snapshots else f"no run of this sweep is '{baseline}'"
    runs = ", ".join(f"{place} ({' '.join(cell.swept)})" for place, cell in enumerate(cells))
    raise ConfigError([Problem("baseline", f"{what}; expected one of {runs}")])


def _is_typed(cell: Cell) -> bool:
    return any(word.lstrip("+").startswith("baseline=") for word in cell.overrides)


def _places(cells: Sequence[Cell], words: str) -> list[int]:
    if words.isdecimal():
        return [place for place in range(len(cells)) if place == int(words)]
    wanted = _settings(re.split(r"[,\s]+", words)).items()
    return [place for place, cell in enumerate(cells) if wanted <= _settings(cell.swept).items()]


def _settings(overrides: Sequence[str]) -> Mapping[str, str]:
    split = (override.partition("=") for override in overrides)
    return {name.lstrip("+~"): value.strip("'\"") for name, _, value in split}
