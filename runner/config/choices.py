"""The groups of the configuration and their choices; a group may stand in another one (`memory/store`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from runner.errors import Problem, did_you_mean, installing

LAUNCHER = "hydra/launcher"
LAUNCHERS = {  # choice -> the extra that brings it, and its module among the plugins of Hydra
    "joblib": ("joblib", "hydra_joblib_launcher"),
    "ray": ("ray", "hydra_ray_launcher"),
    "slurm": ("slurm", "hydra_submitit_launcher"),
    "submitit": ("slurm", "hydra_submitit_launcher"),
}
SWEEPER = "hydra/sweeper"
SEARCH = "optuna"  # of the sweepers
ENTRY_POINTS = "runner.conf"  # by which an installed package names the folder of its own choices


def conf_packages() -> tuple[EntryPoint, ...]:
    """The entry points by which installed packages name folders of choices. They are looked for once, as Python loads
    a module once: to read what all installed packages say of themselves takes as long as to compose a run."""
    return _conf_packages(tuple(sys.path))


@lru_cache(maxsize=1)
def _conf_packages(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINTS))


def known_groups(search_path: Sequence[str]) -> dict[str, list[str]]:
    """Config groups with their choices, those on `search_path` (an override of hydra.searchpath) included."""
    return {name: found for name, found in _all_groups(search_path).items() if not _is_hydra(name)}


def group_problem(override: Any, search_path: Sequence[str]) -> Problem | None:
    """Of an override (parsed by Hydra): a group that does not exist, or a choice that it does not have."""
    group, groups = str(override.key_or_group), _all_groups(search_path)
    if group == LAUNCHER and not override.is_delete() and (problem := launcher_problem(str(override.value()))):
        return problem
    if group == SWEEPER and str(override.value()) == SEARCH and find_spec(SEARCH) is None:
        return Problem(SWEEPER, f"{SEARCH} needs the extra `{SEARCH}`: {installing(SEARCH)}")
    if group in groups:
        return None if override.is_delete() else choice_problem(group, override.value(), groups[group])
    if group.startswith("hydra/") or override.package is not None:
        alike = [name for name in groups if _is_hydra(name) == _is_hydra(group)]
        return Problem(group, f"no such group{did_you_mean(group, alike)}")
    return None


def launcher_problem(choice: str) -> Problem | None:
    """Of a launcher whose extra is not installed."""
    extra, module = LAUNCHERS.get(choice, ("", ""))
    if not extra or find_spec(f"hydra_plugins.{module}") is not None:
        return None
    return Problem(LAUNCHER, f"{choice} needs the extra `{extra}`: {installing(extra)}")


def _is_hydra(group: str) -> bool:
    return group.partition("/")[0] == "hydra"


def _all_groups(search_path: Sequence[str]) -> dict[str, list[str]]:
    from hydra.core.global_hydra import GlobalHydra

    return _groups_of(GlobalHydra.instance().config_loader(), tuple(search_path))


@lru_cache(maxsize=1)
def _groups_of(loader: Any, search_path: tuple[str, ...]) -> dict[str, list[str]]:
    """Of a command; listed again by the next one where a file came, went or changed."""
    from runner.config.hydra_internals import state_of_files

    state = state_of_files(loader, search_path)
    if state is None or _listed.get("state") != state:
        _listed.update(state=state, groups=_list_groups(loader, search_path))
    groups: dict[str, list[str]] = _listed["groups"]
    return groups


_listed: dict[str, Any] = {}  # the groups that were listed last, and the state of the files that they were listed from


def _list_groups(loader: Any, search_path: Sequence[str]) -> dict[str, list[str]]:
    from hydra.core.object_type import ObjectType

    from runner.config.hydra_internals import repository

    files = repository(loader, search_path)

    def options(group: str, kind: ObjectType) -> list[str]:
        return list(files.get_group_options(group, kind))

    names = options("", ObjectType.GROUP)
    nested = [f"{name}/{inner}" for name in names for inner in options(name, ObjectType.GROUP)]
    found = {name: options(name, ObjectType.CONFIG) for name in [*names, *nested] if name != "hydra"}
    return {name: choices for name, choices in found.items() if choices}


def choice_problem(group: str, choice: Any, options: Sequence[str]) -> Problem | None:
    """What is wrong with the choice, or list of choices, of a group; None where all are known."""
    for one in choice if isinstance(choice, list) else [choice]:
        if isinstance(one, dict):
            return Problem(group, f"expected the name of a choice{did_you_mean('', options)}")
        name = "null" if one is None else str(one)
        if name not in options:
            from runner.system.metadata import without_credentials

            return Problem(group, f"no choice '{without_credentials(name)}'{did_you_mean(name, options)}")
    return None


def of_all_jobs(jobs: Sequence[tuple[Sequence[str], Sequence[Problem]]]) -> list[Problem]:
    """The problems of all jobs of a sweep, given with their overrides, each once. A setting that only some of the
    swept choices have is told with their names."""
    found = {str(problem): problem for _, problems in jobs for problem in problems}
    for key in dict.fromkeys(problem.key for problem in found.values() if _is_unknown(problem)):
        lacking, having = set[str](), set[str]()
        for overrides, problems in jobs:
            lacks = any(problem.key == key and _is_unknown(problem) for problem in problems)
            (lacking if lacks else having).update(each for each in overrides if f"{key}.".startswith(_path(each)))
        without, with_it = sorted(lacking - having), sorted(having - lacking)
        if without and with_it:
            found = {told: each for told, each in found.items() if each.key != key or not _is_unknown(each)}
            one = Problem(
                key,
                f"a setting of {', '.join(with_it)}, not of {', '.join(without)}; sweep those apart, or "
                f"{_as_choice(key, with_it[0], without)}",
            )
            found[str(one)] = one
    return list(_lists_swept(found.values(), [overrides for overrides, _ in jobs]))


def _lists_swept(problems: Iterable[Problem], jobs: Sequence[Sequence[str]]) -> Iterator[Problem]:
    """`cutoffs=1,3` is a sweep over two numbers, each of which is no list."""
    told = set()
    for problem in problems:
        key = problem.key
        words = (word.lstrip("+") for job in jobs for word in job)
        values = list(dict.fromkeys(word.removeprefix(f"{key}=") for word in words if word.startswith(f"{key}=")))
        is_swept = len(values) > 1 and not any(value.startswith("[") for value in values)
        if not (is_swept and problem.message.startswith("expected a list (")):
            yield problem
        elif key not in told:
            told.add(key)
            typed = ",".join(values)
            yield Problem(key, f"expected a list; {key}={typed} is a sweep, {key}=[{typed}] is a list")


def _as_choice(key: str, having: str, without: Sequence[str]) -> str:
    """How to sweep over choices of which only one has the setting: a choice of one's own holds it."""
    group, _, choice = having.lstrip("+").partition("=")
    *outer, last = key.removeprefix(_path(having)).split(".")
    setting = "".join(f"{name}: {{" for name in outer) + f"{last}: VALUE" + "}" * len(outer)
    others = ",".join(each.partition("=")[2] for each in without)
    return (
        f"write 'defaults: [{choice}]' and '{setting}' into FOLDER/{group}/NAME.yaml and sweep "
        f"--config-dir=FOLDER {group}={others},NAME"
    )


def _is_unknown(problem: Problem) -> bool:
    return problem.message.startswith("unknown setting")


def _path(override: str) -> str:
    """`memory.store.` of `memory/store=local`."""
    return f"{override.lstrip('+').partition('=')[0].replace('/', '.')}."


def nested_problem(key: str, value: Any, known: Mapping[str, Sequence[str]]) -> Problem | None:
    """`memory.store=redis` would store a word where `memory/store=redis` chooses a component, and settings go by
    dots only."""
    dotted = {group.replace("/", "."): group for group in known if "/" in group}
    path = key.replace("/", ".")
    if key in dotted and isinstance(value, list | int | float):
        group = dotted[key]
        return Problem(key, f"expected a component; {group}=NAME chooses one{did_you_mean('', known[group])}")
    if key in dotted and isinstance(value, str):
        problem = choice_problem(key, value, known[dotted[key]])
        return problem or Problem(key, f"a setting of this name is no choice; {dotted[key]}={value} chooses it")
    if key not in known and key != path and key.partition("/")[0] in known:
        return Problem(key, f"a setting goes by dots: {path}=VALUE")
    return None
