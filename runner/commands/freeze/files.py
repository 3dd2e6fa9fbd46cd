"""Makes the files of a record, and writes all of them or none."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from runner.commands.freeze.configuration import frozen_of, variables
from runner.commands.freeze.environment import FILE as ENVIRONMENT
from runner.commands.freeze.environment import environment
from runner.commands.freeze.portable import outside, portable, portable_text
from runner.commands.freeze.readme import Record, readme
from runner.commands.freeze.source import Run, Source
from runner.compare.snapshot import FILE as SNAPSHOT
from runner.compare.snapshot import encode
from runner.compare.snapshots import parse_snapshot
from runner.config.arguments import WHERE, unquote
from runner.config.compose import Cell
from runner.config.frozen import FILE as FROZEN
from runner.config.frozen import FrozenConfig
from runner.config.options import plain_config
from runner.errors import InputError
from runner.report.document import Document
from runner.report.summary import render
from runner.system.writing import write_bytes

SHORTEST_SECRET = 8  # characters; shorter values may be ordinary words


@dataclass(frozen=True)
class Contents:
    """The content of a record before it is written. `files`: path in the record -> content; `outside`: (key, path) of
    files that it reads outside the working directory."""

    files: Mapping[str, bytes]
    outside: Sequence[tuple[str, str]]


def contents_of(source: Source, place: Path, question: str | None, *, trusts: bool = False) -> Contents:
    """The content of a record. Raises InputError for runs that cannot be frozen."""
    frozen, cells = frozen_of(source, str(place / FROZEN), trusts=trusts)
    versions = environment(source.runs, _variables_read(source, frozen))
    record = Record(source, frozen, place, versions, list(outside(frozen.values)), question)
    head = (
        f"What `{place.name}` ran, every default written out. A record is not edited.\n"
        f"  python -m runner -cd {place} -cn frozen [OPTION=VALUE GROUP=CHOICE ...]"
    )
    files = {FROZEN: frozen.yaml(head), ENVIRONMENT: _json(versions), "README.md": readme(record)}
    if source.sweep is not None:
        files |= {"sweep.json": _json(_sweep(source.sweep)), "summary.md": _text(source.folder / "summary.md")}
    for run, cell in zip(source.runs, cells, strict=True):
        prefix = "" if source.sweep is None else f"{run.name}/"
        files |= {f"{prefix}{SNAPSHOT}": _snapshot(run, cell), f"{prefix}summary.md": _summary(run)}
    _demand_no_secret(files, frozen)
    return Contents({name: text.encode("utf-8", "replace") for name, text in files.items()}, record.outside)


def write(files: Mapping[str, bytes], place: Path) -> bool:
    """Write a record; false where the same record exists. Raises InputError for a folder with another content, which is
    left alone."""
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        if _is_same_record(files, place):
            return False
        raise InputError(f"{place} is there already; a record is not overwritten: choose another name, or remove it")
    scratch = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        for name, content in files.items():
            path = scratch / name
            path.parent.mkdir(exist_ok=True)
            write_bytes(path, content)
        scratch.chmod(0o755)
        os.rename(scratch, place)  # noqa: PTH104  of folders: onto nothing, or onto an empty one
    except OSError as error:
        raise InputError(f"cannot write to {place}: {error.strerror}") from None
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
    return True


def _is_same_record(files: Mapping[str, bytes], place: Path) -> bool:
    """Whether the record in a folder holds the same runs, whatever its environment."""
    try:
        kept = [name for name in files if Path(name).name in (SNAPSHOT, FROZEN)]
        return all((place / name).read_bytes() == files[name] for name in kept)
    except OSError:
        return False


def _variables_read(source: Source, frozen: FrozenConfig) -> set[str]:
    """The environment variables that the runs read."""
    providers = frozen.values.get("provider") or {}
    asked = {name: providers.get(name) for name in {model.partition(":")[0] for model in source.models}}
    rest = {name: value for name, value in frozen.values.items() if name != "provider"}
    return {*variables(rest), *variables(asked)}


def _snapshot(run: Run, cell: Cell) -> str:
    """The snapshot of a run with the configuration of the record."""
    path = run.folder.path / SNAPSHOT
    data = path.read_bytes() if path.is_file() else encode(run.folder)
    parse_snapshot(data, str(path))
    snapshot = orjson.loads(data)
    snapshot["config"] = plain_config(cell.cfg)
    words = [word for word in snapshot["run"].get("overrides") or () if not word.lstrip("+").startswith(WHERE)]
    snapshot["run"] = portable({**snapshot["run"], "overrides": [portable_text(unquote(word)) for word in words]})
    return orjson.dumps(snapshot, option=orjson.OPT_APPEND_NEWLINE).decode()


def _summary(run: Run) -> str:
    path = run.folder.path / "summary.md"
    return _text(path) if path.is_file() else portable_text(render(Document.of(run.folder)))


def _text(path: Path) -> str:
    try:
        return portable_text(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def _sweep(head: Mapping[str, Any]) -> dict[str, Any]:
    """sweep.json without reference runs, which are made again with the systems."""
    return {name: value for name, value in head.items() if name not in ("updated_at", "references")}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _demand_no_secret(files: Mapping[str, str], frozen: FrozenConfig) -> None:
    for variable in sorted(set(variables(frozen.values))):
        secret = os.environ.get(variable, "")
        leaking_files = [name for name, text in files.items() if secret in text]
        if len(secret) >= SHORTEST_SECRET and leaking_files:
            raise InputError(
                f"{leaking_files[0]} would hold the value of the environment variable {variable}; "
                "run it with the name of the variable where its value stands"
            )
