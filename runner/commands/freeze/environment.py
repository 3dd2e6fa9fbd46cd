"""environment.json: the environment of a run beyond its configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from pathlib import Path
from typing import Any

from runner import DISTRIBUTION
from runner.commands.freeze.source import Run
from runner.config.choices import ENTRY_POINTS
from runner.errors import InputError
from runner.system.metadata import git_state, read_json, versions

SCHEMA = 1
KIND = "runner.environment"
FILE = "environment.json"
NOT_DISTRIBUTIONS = ("runner", "python", "platform")
OURS = {DISTRIBUTION, *NOT_DISTRIBUTIONS}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[(?P<extras>[^\]]*)\])?[^;]*(?:;(?P<marker>.*))?", re.S)
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
FOR_TESTS = ("test",)


def environment(runs: Sequence[Run], variables: Iterable[str]) -> dict[str, Any]:
    """Values that differ between runs are listed by run. `variables`: names of environment variables that the runs
    read.

    Distributions have the versions that the runs recorded, else those of this environment.
    """
    versions_by_run = {run.name: run.folder.run.get("versions") or {} for run in runs}
    ran = {
        name: version
        for run_versions in versions_by_run.values()
        for name, version in run_versions.items()
        if name not in NOT_DISTRIBUTIONS
    }
    return {
        "schema": SCHEMA,
        "kind": KIND,
        **{
            name: _merge_equal({run: run_versions.get(name) for run, run_versions in versions_by_run.items()})
            for name in NOT_DISTRIBUTIONS
        },
        "git": _merge_equal({run.name: run.folder.run.get("git") for run in runs}),
        "distributions": dict(sorted({**distributions(), **ran}.items())),
        "variables": sorted(variables),
        "data": _data(runs),
    }


def read_environment(folder: Path) -> Mapping[str, Any]:
    """Raises InputError for a missing or damaged file."""
    path = folder / FILE
    record = read_json(path)
    if record is None or record.get("kind") != KIND or not isinstance(record.get("distributions"), dict):
        raise InputError(f"{path}: {'damaged or cut off' if path.is_file() else 'no such file'}; freeze the run again")
    if record.get("schema") != SCHEMA:
        raise InputError(f"{path}: of schema {record.get('schema')!r}, this version reads {SCHEMA}; freeze it again")
    return record


def changes(recorded: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(what, in the record, here) of everything that differs here."""
    current, installed = versions(), distributions()
    was: Mapping[str, str] = recorded["distributions"]
    compared = {
        "commit": (_commit(recorded.get("git")), _commit(git_state())),
        **{name: (recorded.get(name), current.get(name)) for name in NOT_DISTRIBUTIONS},
        **{name: (was.get(name), installed.get(name)) for name in sorted({*was, *installed})},
    }
    return [(name, _text_of(before), _text_of(after)) for name, (before, after) in compared.items() if before != after]


def _commit(git: Any) -> str | None:
    """The commits of the runs, each once."""
    if not isinstance(git, Mapping) or not git:
        return str(git) if git else None
    if "commit" not in git:
        return ", ".join(dict.fromkeys(filter(None, map(_commit, git.values())))) or None
    return f"{str(git['commit'])[:12]}{'+' if git.get('dirty') else ''}"


def _text_of(value: Any) -> str:
    return "–" if value is None else str(value)


def distributions() -> dict[str, str]:
    """Name -> version of the installed dependencies of this program, of its extras, and of packages that extend it."""
    return dict(_distributions())


@cache
def _distributions() -> Mapping[str, str]:
    """Cached: reading the requirements of some hundred packages takes a fifth of a second."""
    installed_versions: dict[str, str] = {}
    visited: set[tuple[str, str]] = set()
    extended = [point.dist.name for point in entry_points(group=ENTRY_POINTS) if point.dist is not None]
    pending = [(name, extra) for name in (DISTRIBUTION, *extended) for extra in ("", *_extras(name))]
    while pending:
        name, extra = pending.pop()
        key = _normal(name), extra
        if key in visited:
            continue
        visited.add(key)
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        installed_versions[key[0]] = installed.version
        pending += _requirements(installed.requires or (), extra)
    return {name: version for name, version in sorted(installed_versions.items()) if name not in OURS}


def _extras(name: str) -> list[str]:
    try:
        return [each for each in distribution(name).metadata.get_all("Provides-Extra") or () if each not in FOR_TESTS]
    except PackageNotFoundError:
        return []


def _requirements(requirements: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    """(name, extra) of the requirements of a distribution with one of its extras; extra "" for the distribution
    alone."""
    for text in requirements:
        match = REQUIREMENT.match(text)
        wanted = EXTRA.search(match["marker"] or "") if match else None
        if match and (wanted.group(1) if wanted else "") in ("", extra):
            extras = (each.strip() for each in (match["extras"] or "").split(","))
            yield from ((match["name"], each) for each in {"", *extras})


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _data(runs: Sequence[Run]) -> dict[str, Any]:
    found = {run.name: run.folder.run.get("identity") or {} for run in runs}
    names = dict.fromkeys(name for identity in found.values() for name in identity)
    return {name: _merge_equal({run: identity.get(name) for run, identity in found.items()}) for name in names}


def _merge_equal(values: Mapping[str, Any]) -> Any:
    """The value where it is the same for all runs, else that of each."""
    first, *others = values.values()
    return first if all(other == first for other in others) else dict(values)
