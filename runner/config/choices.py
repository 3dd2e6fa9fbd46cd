"""The configuration groups and their choices; groups may be nested (`memory/store`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from runner.errors import Problem, did_you_mean, install_command, similar

LAUNCHER = "hydra/launcher"
LAUNCHERS = {  # choice -> its extra and its module among Hydra's plugins
    "joblib": ("joblib", "hydra_joblib_launcher"),
    "ray": ("ray", "hydra_ray_launcher"),
    "slurm": ("slurm", "hydra_submitit_launcher"),
    "submitit": ("slurm", "hydra_submitit_launcher"),
}
SWEEPER = "hydra/sweeper"
SEARCH = "optuna"  # the same for sweepers
ENTRY_POINTS = "runner.conf"  # entry point group with which installed packages name their configuration folders


def conf_packages() -> tuple[EntryPoint, ...]:
    """The entry points with which installed packages name configuration folders; read once, since reading the metadata
    of all packages takes as long as composing a run."""
    return _conf_packages(tuple(sys.path))


@lru_cache(maxsize=1)
def _conf_packages(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINTS))


def conf_folders() -> Iterator[tuple[EntryPoint, str]]:
    """The entry points with the packages of their configuration folders. One that names the package which holds the
    folder `conf` is taken for that folder; one that offers nothing is left out."""
    for point in conf_packages():
        if (package := _conf_package(point.value)) is not None:
            yield point, package


def idle_points() -> list[str]:
    """The values of entry points that offer no configuration."""
    return [point.value for point in conf_packages() if _conf_package(point.value) is None]


@lru_cache(maxsize=100)
def _conf_package(value: str) -> str | None:
    """The package of a configuration folder that an entry point names; None where none of its folders has YAML."""
    name = value.partition(":")[0].strip()
    for package in (name, f"{name}.conf"):
        with suppress(ImportError, ValueError, AttributeError):
            spec = find_spec(package)
            places = (spec.submodule_search_locations if spec is not None else None) or ()
            if any(next(Path(place).glob("*/*.yaml"), None) for place in places):
                return package
    return None


def known_groups(search_path: Sequence[str]) -> dict[str, list[str]]:
    """Config groups with their choices, those on `search_path` (an override of hydra.searchpath) included."""
    return {name: choices for name, choices in _all_groups(search_path).items() if not _is_hydra(name)}


def group_problem(override: Any, search_path: Sequence[str]) -> Problem | None:
    """The problem of a parsed override with an unknown group or choice."""
    group, groups = str(override.key_or_group), _all_groups(search_path)
    if group == LAUNCHER and not override.is_delete() and (problem := launcher_problem(str(override.value()))):
        return problem
    if group == SWEEPER and str(override.value()) == SEARCH and find_spec(SEARCH) is None:
        return Problem(SWEEPER, f"{SEARCH} needs the extra `{SEARCH}`: {install_command(SEARCH)}")
    if group in groups:
        return None if override.is_delete() else choice_problem(group, override.value(), groups[group])
    if group.startswith("hydra/") or override.package is not None:
        alike = [name for name in groups if _is_hydra(name) == _is_hydra(group)]
        return Problem(group, f"no such group{did_you_mean(group, alike)}")
    return None


def launcher_problem(choice: str) -> Problem | None:
    """The problem of a launcher whose extra is not installed."""
    extra, module = LAUNCHERS.get(choice, ("", ""))
    if not extra or _is_installed(module):
        return None
    return Problem(LAUNCHER, f"{choice} needs the extra `{extra}`: {install_command(extra)}")


def _is_installed(launcher: str) -> bool:
    """Whether a plugin of Hydra is there; without any, their common package is missing too."""
    return find_spec("hydra_plugins") is not None and find_spec(f"hydra_plugins.{launcher}") is not None


def with_other_choices(problem: Problem, search_path: Sequence[str]) -> Problem:
    """The problem of a setting that a component lacks, with the choices of its group that have it, or one of a like
    name; and of an option that is the last part of a group: `chunker` of `dataset/chunker`. Only while Hydra is
    initialised."""
    group, _, name = problem.key.rpartition(".")
    group = group.replace(".", "/")
    if not group and problem.message.startswith("unknown option; known"):
        nested = [path for path in known_groups(search_path) if path.endswith(f"/{name}") and not _is_hydra(path)]
        return replace(problem, message=f"unknown option; did you mean '{nested[0]}'?") if nested else problem
    if not _is_unknown(problem) or group not in known_groups(search_path):
        return problem
    owners: dict[str, list[str]] = {}
    for choice, settings in _settings_of_choices(group, search_path):
        for setting in settings:
            owners.setdefault(setting, []).append(f"{group}={choice}")
    if name in owners:
        message = problem.message.partition("; did you mean")[0]
        return replace(problem, message=f"{message}; it is a setting of {', '.join(owners[name])}")
    near = similar(name, owners, cutoff=0.75)
    if not near or "did you mean" in problem.message:
        return problem
    return replace(problem, message=f"{problem.message}; did you mean '{near}' of {', '.join(owners[near])}?")


def _settings_of_choices(group: str, search_path: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    from hydra.core.global_hydra import GlobalHydra

    from runner.config.hydra_internals import repository

    files = repository(GlobalHydra.instance().config_loader(), search_path)
    for choice in known_groups(search_path)[group]:
        loaded = files.load_config(f"{group}/{choice}")
        config = None if loaded is None else loaded.config
        yield choice, [str(name) for name in config if not str(name).startswith("_")] if config else []


def _is_hydra(group: str) -> bool:
    return group.partition("/")[0] == "hydra"


def _all_groups(search_path: Sequence[str]) -> dict[str, list[str]]:
    from hydra.core.global_hydra import GlobalHydra

    return _groups_of(GlobalHydra.instance().config_loader(), tuple(search_path))


@lru_cache(maxsize=1)
def _groups_of(loader: Any, search_path: tuple[str, ...]) -> dict[str, list[str]]:
    """The groups; listed again where a file was added, removed or changed since the last command."""
    from runner.config.hydra_internals import state_of_files

    state = state_of_files(loader, search_path)
    if state is None or _listed.get("state") != state:
        _listed.update(state=state, groups=_list_groups(loader, search_path))
    groups: dict[str, list[str]] = _listed["groups"]
    return groups


_listed: dict[str, Any] = {}  # the last list of groups, and the state of the files that it was made from


def _list_groups(loader: Any, search_path: Sequence[str]) -> dict[str, list[str]]:
    from hydra.core.object_type import ObjectType

    from runner.config.hydra_internals import repository

    files = repository(loader, search_path)

    def options(group: str, kind: ObjectType) -> list[str]:
        return list(files.get_group_options(group, kind))

    names = options("", ObjectType.GROUP)
    nested = [f"{name}/{inner}" for name in names for inner in options(name, ObjectType.GROUP)]
    choices_of = {name: options(name, ObjectType.CONFIG) for name in [*names, *nested] if name != "hydra"}
    return {name: choices for name, choices in choices_of.items() if choices}


def choice_problem(group: str, choice: Any, options: Sequence[str]) -> Problem | None:
    """The problem of the choice, or list of choices, of a group; None where all are known."""
    for entry in choice if isinstance(choice, list) else [choice]:
        if isinstance(entry, dict):
            return Problem(group, f"expected the name of a choice{did_you_mean('', options)}")
        name = "null" if entry is None else str(entry)
        if name not in options:
            from runner.system.metadata import without_credentials

            return Problem(group, f"no choice '{without_credentials(name)}'{did_you_mean(name, options)}")
    return None


def of_all_jobs(jobs: Sequence[tuple[Sequence[str], Sequence[Problem]]]) -> list[Problem]:
    """The problems of all jobs of a sweep, each once; `jobs` holds the overrides and the problems of each. The message
    about a setting that only some of the swept choices have names these choices."""
    by_text = {str(problem): problem for _, problems in jobs for problem in problems}
    for key in dict.fromkeys(problem.key for problem in by_text.values() if _is_unknown(problem)):
        lacking, having = set[str](), set[str]()
        for overrides, problems in jobs:
            lacks = any(problem.key == key and _is_unknown(problem) for problem in problems)
            (lacking if lacks else having).update(each for each in overrides if f"{key}.".startswith(_path(each)))
        without, with_it = sorted(lacking - having), sorted(having - lacking)
        if without and with_it:
            by_text = {text: each for text, each in by_text.items() if each.key != key or not _is_unknown(each)}
            combined = Problem(
                key,
                f"a setting of {', '.join(with_it)}, not of {', '.join(without)}; sweep those apart, or "
                f"{_as_choice(key, with_it[0], without)}",
            )
            by_text[str(combined)] = combined
    return list(_explain_swept_lists(by_text.values(), [overrides for overrides, _ in jobs]))


def _explain_swept_lists(problems: Iterable[Problem], jobs: Sequence[Sequence[str]]) -> Iterator[Problem]:
    """Explain `cutoffs=1,3`, which is a sweep over two numbers where a list is needed."""
    reported = set()
    for problem in problems:
        key = problem.key
        words = (word.lstrip("+") for job in jobs for word in job)
        values = list(dict.fromkeys(word.removeprefix(f"{key}=") for word in words if word.startswith(f"{key}=")))
        is_swept = len(values) > 1 and not any(value.startswith("[") for value in values)
        if not (is_swept and problem.message.startswith("expected a list (")):
            yield problem
        elif key not in reported:
            reported.add(key)
            typed = ",".join(values)
            yield Problem(key, f"expected a list; {key}={typed} is a sweep, {key}=[{typed}] is a list")


def _as_choice(key: str, having: str, without: Sequence[str]) -> str:
    """How to sweep over choices of which only some have the setting: write it into a choice of its own."""
    group, _, choice = having.lstrip("+").partition("=")
    *outer, last = key.removeprefix(_path(having)).split(".")
    setting = "".join(f"{name}: {{" for name in outer) + f"{last}: VALUE" + "}" * len(outer)
    other_choices = ",".join(each.partition("=")[2] for each in without)
    return (
        f"write 'defaults: [{choice}]' and '{setting}' into FOLDER/{group}/NAME.yaml and sweep "
        f"--config-dir=FOLDER {group}={other_choices},NAME"
    )


def _is_unknown(problem: Problem) -> bool:
    return problem.message.startswith("unknown setting")


def _path(override: str) -> str:
    """`memory.store.` of `memory/store=local`."""
    return f"{override.lstrip('+').partition('=')[0].replace('/', '.')}."


def nested_problem(key: str, value: Any, choices_of: Mapping[str, Sequence[str]]) -> Problem | None:
    """The problem of `memory.store=redis`, which would set a text where `memory/store=redis` chooses a component, and
    of settings with slashes."""
    dotted = {group.replace("/", "."): group for group in choices_of if "/" in group}
    path = key.replace("/", ".")
    if key in dotted and isinstance(value, list | int | float):
        group = dotted[key]
        return Problem(key, f"expected a component; {group}=NAME chooses one{did_you_mean('', choices_of[group])}")
    if key in dotted and isinstance(value, str):
        problem = choice_problem(key, value, choices_of[dotted[key]])
        return problem or Problem(key, f"a setting of this name is no choice; {dotted[key]}={value} chooses it")
    if key not in choices_of and key != path and key.partition("/")[0] in choices_of:
        return Problem(key, f"a setting goes by dots: {path}=VALUE")
    return None
