"""frozen.yaml: a configuration with every default written out, over which options and groups can still be chosen.

    frozen:
      schema: 1
      digest: …                                  # of everything else: a frozen file is not edited
      choices: {evaluation: full_rag, retriever: hybrid, …}   # what stands below under these names
      sweep: {k: 3,5,10}                         # of a sweep: what it varied, as it is typed
      others: {retriever/keyword: {…}}           # of a sweep over choices: the ones that do not stand below
    k: 3
    retriever: {_target_: …}

Hydra chooses groups from folders of files, not over a file of values. So a frozen file is unfolded into such a
folder, which comes before the configuration of the program: the choices that were made are there as they were
frozen, all others are those of today.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from omegaconf.errors import OmegaConfBaseException

from runner.config.hydra_internals import load, yaml_of
from runner.data.files import GrowthError, check_growth
from runner.errors import InputError
from runner.system.store import fingerprint

SCHEMA = 1
FILE = "frozen.yaml"
MOST_ENTRIES = 10_000  # files and folders in a folder of configuration
LARGEST_FILE = 2_000_000  # bytes of a file of configuration
CONF = Path(__file__).resolve().parent.parent.parent / "conf"
UNFOLDED = ".frozen"  # in the folder of a run: what Hydra composes, wherever its jobs run
SOURCE = "source.txt"
NAME = re.compile(
    r"(?!\.)[^\x00-\x1f\\/:]+(/(?!\.)[^\x00-\x1f\\/:]+){0,3}"
)  # of a group or a choice: no path to elsewhere


@dataclass(frozen=True)
class Frozen:
    """A frozen configuration. `values` are plain, with their interpolations; `name` is how messages call it."""

    name: str
    choices: Mapping[str, str]
    values: Mapping[str, Any]
    sweep: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)

    def yaml(self, head: str = "") -> str:
        """What frozen.yaml holds, below `head` as comment lines."""
        comment = "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines())
        frozen = {"schema": SCHEMA, "digest": self._digest(), "choices": dict(self.choices)}
        frozen |= {name: dict(value) for name, value in (("sweep", self.sweep), ("others", self.others)) if value}
        return comment + yaml_of({"frozen": frozen, **self.values})

    @classmethod
    def read(cls, path: Path) -> Frozen:
        """Raises InputError for a file that is not there, or not as it was frozen."""
        values = read_mapping(path)
        head = values.pop("frozen", None)
        if not isinstance(head, dict):
            raise InputError(f"{path}: no frozen configuration (python -m runner freeze RUN FOLDER writes one)")
        if head.get("schema") != SCHEMA:
            found = head.get("schema")
            raise InputError(f"{path}: of schema {found!r}, this version reads {SCHEMA}; freeze its run again")
        parts = [head.get(name, {}) for name in ("choices", "sweep", "others")]
        if all(isinstance(part, dict) for part in parts):
            choices, sweep, others = parts
            frozen = cls(str(path), choices, values, sweep, others)
            with suppress(TypeError, ValueError):  # of values that no configuration has
                if head.get("digest") == frozen._digest():
                    frozen._demand_names()
                    return frozen
        raise InputError(
            f"{path}: not as it was frozen: damaged, cut off or edited "
            "(a frozen file is not edited: give OPTION=VALUE and GROUP=CHOICE on top of it)"
        )

    def over(self, overrides: Sequence[str], keys: Sequence[str]) -> list[str]:
        """The overrides of a command line, whose keys are `keys`, on top of this: what the sweep varied is varied
        again unless it is given, or the group that it belongs to."""
        added = [
            f"{key}={value}"
            for key, value in self.sweep.items()
            if not any(key == given or key.startswith(f"{given}.") for given in keys)
        ]
        chosen = "experiment" in self.choices  # then one is there already
        given = [word[1:] if chosen and word.startswith("+experiment=") else word for word in overrides]
        return [*added, *given]

    def _demand_names(self) -> None:
        """Files of a folder of configuration get these names."""
        providers = self.values.get("provider")
        names = [
            *self.choices,
            *self.choices.values(),
            *self.others,
            *(providers if isinstance(providers, dict) else ()),
        ]
        if wrong := [str(name) for name in names if not NAME.fullmatch(str(name))]:
            raise InputError(f"{self.name}: {wrong[0]!r} is no name of a group, a choice or a provider")

    def _digest(self) -> str:
        return fingerprint([SCHEMA, self.choices, self.sweep, self.others, self.values])


@contextmanager
def unfolded(frozen: Frozen | None) -> Iterator[Path | None]:
    """A folder of configuration that Hydra composes, for as long as it is needed. None stays None."""
    if frozen is None:
        yield None
        return
    with TemporaryDirectory(prefix="frozen-") as folder:
        unfold(frozen, Path(folder))
        yield Path(folder)


def unfold(frozen: Frozen, folder: Path) -> None:
    """Write the files of a folder of configuration. Options that are newer than the record have their defaults."""
    main = read_mapping(CONF / "config.yaml")
    shared = {group for entry in main["defaults"] if isinstance(entry, dict) for group in entry}
    groups = {name: choice for name, choice in frozen.choices.items() if name != "experiment" and "@" not in name}
    nodes = {f"{group}/{choice}": _value_at(frozen.values, group.split("/")) for group, choice in groups.items()}
    if missing := [place for place, node in {**frozen.others, **nodes}.items() if not isinstance(node, Mapping)]:
        raise InputError(f"{frozen.name}: damaged: {missing[0]} is chosen and does not stand there")
    parts = {group: choice for group, choice in groups.items() if group not in shared and "/" not in group}
    for place, node in {**frozen.others, **nodes}.items():
        group = place.rpartition("/")[0]
        inner = {name.rpartition("/")[2]: choice for name, choice in groups.items() if name.rpartition("/")[0] == group}
        own = _parts_of(place, frozen, parts) if group == "evaluation" else []
        nested = [{name: choice} for name, choice in inner.items()]
        rest = {name: value for name, value in node.items() if name not in inner}
        _write(folder, place, {"defaults": [*own, *nested, "_self_"], **rest})
    for path in (CONF / "evaluation").glob("*.yaml"):
        if f"evaluation/{path.stem}" not in {**frozen.others, **nodes}:
            _write(folder, f"evaluation/{path.stem}", _with_choices(read_mapping(path), parts))
    _write(folder, "config", _main(frozen, main, folder))
    if "experiment" in frozen.choices:  # its values are in the options
        _write(folder, f"experiment/{frozen.choices['experiment']}", {}, package="_global_")
    (folder / SOURCE).write_text(frozen.name + "\n", encoding="utf-8")


def _parts_of(place: str, frozen: Frozen, parts: Mapping[str, str]) -> list[Any]:
    """The components of an evaluation: as frozen, or, of another one that a sweep took, as far as both have them."""
    path = CONF / f"{place}.yaml"
    if place != f"evaluation/{frozen.choices['evaluation']}" and path.is_file():
        return [part for part in _with_choices(read_mapping(path), parts)["defaults"] if part != "_self_"]
    return [{f"/{part}@_global_.{part}": choice} for part, choice in parts.items()]


def source_of(folder: Path) -> str | None:
    """The frozen file that was unfolded for a run or sweep; None where it ran on the configuration of the program."""
    path = folder / UNFOLDED / SOURCE
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None


def _main(frozen: Frozen, main: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """config.yaml of the program, with the frozen choices and options. Of a group with several choices at once,
    as of providers, each entry becomes a file."""
    defaults: list[Any] = []
    groups = {name.partition("/")[0] for name in frozen.choices}
    for entry in main["defaults"]:
        (group, choice), *_ = entry.items() if isinstance(entry, dict) else ((str(entry), ""),)
        if isinstance(choice, list):
            choice = list(frozen.values.get(group, choice))
            for name in choice:
                _write(folder, f"{group}/{name}", frozen.values[group][name], package=f"{group}.{name}")
            groups.add(group)
        known = frozen.choices.get(group, choice)
        defaults.append({group: known} if isinstance(entry, dict) else entry)
        if entry == "_self_" and "experiment" in frozen.choices:
            defaults.append({"experiment": frozen.choices["experiment"]})
    options = {name: value for name, value in frozen.values.items() if name not in groups}
    return {**main, **options, "defaults": defaults}


def _with_choices(evaluation: dict[str, Any], choices: Mapping[str, str]) -> dict[str, Any]:
    """Another evaluation, with the frozen choices for what it has in common."""
    defaults: list[Any] = []
    for entry in evaluation.get("defaults", []):
        (place, choice), *_ = entry.items() if isinstance(entry, dict) else ((str(entry), ""),)
        group = place.partition("@")[0].lstrip("/")
        defaults.append({place: choices.get(group, choice)} if isinstance(entry, dict) else entry)
    return {**evaluation, "defaults": defaults}


def _value_at(values: Mapping[str, Any], path: Sequence[str]) -> Any:
    """None where nothing stands there."""
    found: Any = values
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _write(folder: Path, place: str, values: Mapping[str, Any], package: str | None = None) -> None:
    path = folder / f"{place}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"# @package {package}\n" if package else ""
    path.write_text(head + yaml_of(values), encoding="utf-8")


def files_of(folder: str | Path) -> list[Path]:
    """The YAML files below a folder of configuration, those behind links too. Raises InputError where there is more
    than a folder of configuration holds."""
    files: list[Path] = []
    visited: set[str] = set()
    n_entries = 0
    for place, inner, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in visited:
            inner.clear()
            continue
        visited.add(real)
        n_entries += len(inner) + len(names)
        if n_entries > MOST_ENTRIES:
            raise InputError(
                f"--config-dir: {folder}: expected a folder of configuration, found more than {MOST_ENTRIES:,} files "
                "and folders in it"
            )
        files += [Path(place, name) for name in names if name.endswith(".yaml")]
    return sorted(files)


def check_bounded(path: Path) -> None:
    """Before a file of configuration is made into values. Raises OSError, ValueError, and InputError for one that says
    too much."""
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(f"{path}: expected at most {LARGEST_FILE:,} bytes of configuration")
    try:
        check_growth(path.read_text(encoding="utf-8"))
    except GrowthError as problem:
        raise InputError(f"{path}: {problem}") from None


def read_mapping(path: Path) -> dict[str, Any]:
    """A YAML file as plain values, interpolations as they stand."""
    from yaml import YAMLError

    try:
        check_bounded(path)
        values = load(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError, YAMLError, OmegaConfBaseException) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: expected a mapping")
    return {str(name): value for name, value in values.items()}
