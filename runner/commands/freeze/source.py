"""The source of a record: the folder of a run, or of a sweep with all of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config.frozen import read_mapping
from runner.errors import InputError
from runner.system.folder import RunFolder, is_sweep, open_run, open_sweep

COMPOSED = Path(".hydra") / "config.yaml"


@dataclass(frozen=True)
class Run:
    """One run. `name`: its folder in the sweep ("." for a single run); `swept`: its swept overrides; `values`: its
    configuration with interpolations."""

    name: str
    swept: Sequence[str]
    folder: RunFolder
    values: Mapping[str, Any]

    @property
    def choices(self) -> dict[str, str]:
        """The choice of each group."""
        return {str(group): str(choice) for group, choice in (self.folder.run.get("choices") or {}).items()}


@dataclass(frozen=True)
class Source:
    """The folder to freeze: its runs, and sweep.json (None for a single run)."""

    folder: Path
    runs: Sequence[Run]
    sweep: Mapping[str, Any] | None

    @property
    def first(self) -> Run:
        """The first run of a sweep, or the only one."""
        return self.runs[0]

    @property
    def models(self) -> list[str]:
        """Names of the models that were called."""
        used = [names for run in self.runs for names in (run.folder.run.get("models") or {}).values()]
        return sorted({name for names in used for name in names})


def open_source(folder: Path, *, partial: bool) -> Source:
    """Raises InputError for a folder without a run or sweep, for one without results and, unless `partial`, for an
    incomplete one."""
    if not is_sweep(folder):
        runs, sweep = [_run(".", (), open_run(folder))], None
    else:
        sweep = open_sweep(folder)
        cells = [(str(cell["folder"]), cell.get("overrides") or ()) for cell in sweep.get("cells") or ()]
        runs = [_run(name, overrides, open_run(folder / name)) for name, overrides in cells]
        if len(runs) == 1:
            runs, sweep = [_run(".", (), runs[0].folder)], None
    problems = [problem for run in runs if (problem := _problem(run.folder, partial))]
    if problems or not runs:
        raise InputError("\n".join(problems) or f"{folder}: the sweep has no runs")
    return Source(folder, runs, sweep)


def _run(name: str, overrides: Sequence[str], opened: RunFolder) -> Run:
    return Run(name, tuple(map(str, overrides)), opened, _compose(opened.path / COMPOSED))


def _compose(path: Path) -> Mapping[str, Any]:
    """The composed configuration with unresolved interpolations."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; it holds the configuration of the run")
    values = read_mapping(path)
    if "evaluation" not in values:
        raise InputError(f"{path}: damaged: no configuration of a run")
    return values


def _problem(folder: RunFolder, partial: bool) -> str | None:
    status = folder.run.get("status")
    reason = folder.run.get("error_message") or "it did not finish"
    if not folder.summary:
        return f"{folder.path}: the run has no results ({status}: {reason})"
    if status == "completed":
        return None
    if status not in ("partial", "failed"):
        return f"{folder.path}: the run is at work, or was killed ({status}); the same command resumes it"
    if partial:
        return None
    hint = "the same command resumes it; " if status == "partial" else ""
    return f"{folder.path}: the run is {status} ({reason}); {hint}--partial freezes the finished cases"
