"""Opens a record: reads and checks all of it before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.commands.freeze.environment import read_environment
from runner.compare.sides import Place, Side, open_place
from runner.config.arguments import as_typed
from runner.config.frozen import FILE, FrozenConfig
from runner.errors import InputError, did_you_mean
from runner.system.folder import is_sweep, open_sweep


@dataclass(frozen=True, eq=False)
class RecordRun:
    """One run of a record: its folder, its swept overrides, and its results."""

    name: str
    swept: Sequence[str]
    side: Side


@dataclass(frozen=True, eq=False)
class Record:
    """A frozen experiment as `reproduce` reads it."""

    folder: Path
    frozen: FrozenConfig
    runs: Sequence[RecordRun]
    environment: Mapping[str, Any]

    def run_of(self, overrides: Sequence[str]) -> RecordRun | None:
        """The recorded run with the same overrides."""
        return next((run for run in self.runs if set(run.swept) <= set(overrides)), None)


def open_record(folder: Path) -> Record:
    """Open a record. Raises InputError for a folder that is not a record, or that was changed."""
    if not folder.is_dir():
        makes = f" (python -m runner freeze RUN {folder.parent}/NAME makes one)"
        raise InputError(f"{folder}: no such record{_nearby_records(folder) or makes}")
    if not (folder / FILE).is_file():
        raise InputError(f"{folder}: no record: no {FILE} in it (python -m runner freeze RUN {folder.parent}/NAME)")
    frozen = FrozenConfig.read(folder / FILE)
    return Record(folder, frozen, list(_runs(folder)), read_environment(folder))


def _runs(folder: Path) -> Iterator[RecordRun]:
    cells = open_sweep(folder).get("cells") if is_sweep(folder) else [{"folder": "."}]
    if not isinstance(cells, list) or not cells:
        raise InputError(f"{folder / 'sweep.json'}: damaged: no runs in it; freeze the sweep again")
    for cell in cells:
        name = str(cell["folder"])
        if Path(name).name != name and name != ".":
            raise InputError(f"{folder / 'sweep.json'}: {name!r} is no folder in the record")
        path = folder / name
        label = str(path)
        if not (path / "snapshot.json").is_file():
            raise InputError(f"{path / 'snapshot.json'}: no such file; freeze the run again")
        yield RecordRun(name, tuple(map(as_typed, cell.get("overrides") or ())), open_place(Place(path, label)))


def _nearby_records(folder: Path) -> str:
    others = [path for path in folder.parent.glob("*") if (path / FILE).is_file()]
    return did_you_mean(str(folder), map(str, others))
