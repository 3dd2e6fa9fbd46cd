"""frozen.yaml: a configuration with every default written out; options and groups can still be overridden.

    frozen:
      schema: 1 digest: … # hash over the rest: a frozen file must not be edited choices: {evaluation: full_rag,
      retriever: hybrid, …} # the choices that stand below sweep: {k: 3,5,10} # of a sweep: its axes, as they are typed
      others: {retriever/keyword: {…}} # of a sweep over choices: the other choices
    k: 3
    retriever: {_target_: …}

Hydra chooses groups from folders of files. A frozen file is therefore unfolded into such a folder, which precedes the
configuration of the program: frozen choices have their frozen content, all others that of the installed version.
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
MOST_ENTRIES = 10_000  # most files and folders in a configuration folder
LARGEST_FILE = 2_000_000  # most bytes of a configuration file
CONF = Path(__file__).resolve().parent.parent.parent / "conf"
UNFOLDED = ".frozen"  # in a run folder: the unfolded files, which jobs on any machine compose
SOURCE = "source.txt"
NAME = re.compile(r"(?!\.)[^\x00-\x1f\\/:]+(/(?!\.)[^\x00-\x1f\\/:]+){0,3}")  # a group or a choice, never a path


@dataclass(frozen=True)
class FrozenConfig:
    """A frozen configuration. `values`: plain values with unresolved interpolations; `name`: its name in messages."""

    name: str
    choices: Mapping[str, str]
    values: Mapping[str, Any]
    sweep: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)

    def yaml(self, head: str = "") -> str:
        """The text of frozen.yaml, with `head` as comment lines above."""
        comment = "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines())
        frozen = {"schema": SCHEMA, "digest": self._digest(), "choices": dict(self.choices)}
        frozen |= {name: dict(value) for name, value in (("sweep", self.sweep), ("others", self.others)) if value}
        return comment + yaml_of({"frozen": frozen, **self.values})

    @classmethod
    def read(cls, path: Path) -> FrozenConfig:
        """Read a frozen configuration. Raises InputError for a missing file, and for an edited one."""
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
            with suppress(TypeError, ValueError):  # for values that are no configuration
                if head.get("digest") == frozen._digest():
                    frozen._demand_names()
                    return frozen
        raise InputError(
            f"{path}: not as it was frozen: damaged, cut off or edited "
            "(a frozen file is not edited: give OPTION=VALUE and GROUP=CHOICE on top of it)"
        )

    def overrides_with(self, overrides: Sequence[str], keys: Sequence[str]) -> list[str]:
        """The overrides of a command line (with these `keys`) on top of this: the axes of the sweep are swept again,
        unless the command line sets them or their group."""
        added = [
            f"{key}={value}"
            for key, value in self.sweep.items()
            if not any(key == given or key.startswith(f"{given}.") for given in keys)
        ]
        chosen = "experiment" in self.choices  # one exists already
        given = [word[1:] if chosen and word.startswith("+experiment=") else word for word in overrides]
        return [*added, *given]

    def _demand_names(self) -> None:
        """Raises InputError for invalid names of groups and choices, which become file names."""
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
def unfolded_folder(frozen: FrozenConfig | None) -> Iterator[Path | None]:
    """A temporary configuration folder with the unfolded files; None for None."""
    if frozen is None:
        yield None
        return
    with TemporaryDirectory(prefix="frozen-") as folder:
        unfold(frozen, Path(folder))
        yield Path(folder)


def unfold(frozen: FrozenConfig, folder: Path) -> None:
    """Write the files of a configuration folder. Options that are newer than the record get their defaults."""
    main = read_mapping(CONF / "config.yaml")
    main_groups = {group for entry in main["defaults"] if isinstance(entry, dict) for group in entry}
    groups = {name: choice for name, choice in frozen.choices.items() if name != "experiment" and "@" not in name}
    nodes = {f"{group}/{choice}": _value_at(frozen.values, group.split("/")) for group, choice in groups.items()}
    if missing := [place for place, node in {**frozen.others, **nodes}.items() if not isinstance(node, Mapping)]:
        raise InputError(f"{frozen.name}: damaged: {missing[0]} is chosen and does not stand there")
    parts = {group: choice for group, choice in groups.items() if group not in main_groups and "/" not in group}
    for place, node in {**frozen.others, **nodes}.items():
        group = place.rpartition("/")[0]
        inner = {name.rpartition("/")[2]: choice for name, choice in groups.items() if name.rpartition("/")[0] == group}
        parts_here = _parts_of(place, frozen, parts) if group == "evaluation" else []
        nested = [{name: choice} for name, choice in inner.items()]
        rest = {name: value for name, value in node.items() if name not in inner}
        _write(folder, place, {"defaults": [*parts_here, *nested, "_self_"], **rest})
    for path in (CONF / "evaluation").glob("*.yaml"):
        if f"evaluation/{path.stem}" not in {**frozen.others, **nodes}:
            _write(folder, f"evaluation/{path.stem}", _with_choices(read_mapping(path), parts))
    _write(folder, "config", _main(frozen, main, folder))
    if "experiment" in frozen.choices:  # its values stand among the options
        _write(folder, f"experiment/{frozen.choices['experiment']}", {}, package="_global_")
    (folder / SOURCE).write_text(frozen.name + "\n", encoding="utf-8")


def _parts_of(place: str, frozen: FrozenConfig, parts: Mapping[str, str]) -> list[Any]:
    """The components of an evaluation: the frozen ones, as far as the evaluation uses them."""
    path = CONF / f"{place}.yaml"
    if place != f"evaluation/{frozen.choices['evaluation']}" and path.is_file():
        return [part for part in _with_choices(read_mapping(path), parts)["defaults"] if part != "_self_"]
    return [{f"/{part}@_global_.{part}": choice} for part, choice in parts.items()]


def source_of(folder: Path) -> str | None:
    """The frozen file that was unfolded for a run or sweep; None where it ran on the configuration of the program."""
    path = folder / UNFOLDED / SOURCE
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None


def _main(frozen: FrozenConfig, main: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Write config.yaml of the program with the frozen choices and options. In a group with several choices, such as
    provider, each entry becomes a file."""
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
    """Another evaluation with the frozen choices, as far as it has the groups."""
    defaults: list[Any] = []
    for entry in evaluation.get("defaults", []):
        (place, choice), *_ = entry.items() if isinstance(entry, dict) else ((str(entry), ""),)
        group = place.partition("@")[0].lstrip("/")
        defaults.append({place: choices.get(group, choice)} if isinstance(entry, dict) else entry)
    return {**evaluation, "defaults": defaults}


def _value_at(values: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path; None where it is missing."""
    node: Any = values
    for name in path:
        node = node.get(name) if isinstance(node, Mapping) else None
    return node


def _write(folder: Path, place: str, values: Mapping[str, Any], package: str | None = None) -> None:
    path = folder / f"{place}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"# @package {package}\n" if package else ""
    path.write_text(head + yaml_of(values), encoding="utf-8")


def files_of(folder: str | Path) -> list[Path]:
    """The YAML files below a configuration folder, also behind links. Raises InputError for more than MOST_ENTRIES
    files and folders."""
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


def check_file_size(path: Path) -> None:
    """Check the size of a configuration file before it is loaded. Raises OSError, ValueError, and InputError for a file
    that is too large."""
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(f"{path}: expected at most {LARGEST_FILE:,} bytes of configuration")
    try:
        check_growth(path.read_text(encoding="utf-8"))
    except GrowthError as problem:
        raise InputError(f"{path}: {problem}") from None


def read_mapping(path: Path) -> dict[str, Any]:
    """A YAML file as plain values with unresolved interpolations."""
    from yaml import YAMLError

    try:
        check_file_size(path)
        values = load(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError, RecursionError, YAMLError, OmegaConfBaseException) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: expected a mapping")
    return {str(name): value for name, value in values.items()}
