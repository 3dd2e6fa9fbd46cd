"""Explains settings of a provider or a metric without a name, on the command line or in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runner.config.choices import known_groups
from runner.config.hydra_internals import repository
from runner.errors import Problem
from runner.llm.settings import ProviderSettings

GROUP = "provider"
METRIC = "metric"
UNNAMED = f"{METRIC}._target_"  # a choice of metric in place of all choices
SETTINGS = frozenset(ProviderSettings.__annotations__)


def place_problems(problems: Sequence[Problem], search_path: Sequence[str]) -> list[Problem]:
    """The problems, where those that follow from a missing line in a file are replaced by one that names file and line.
    `search_path`: an override of hydra.searchpath. Only while Hydra is initialised."""
    if any(problem.key == UNNAMED for problem in problems):
        named = [Problem(METRIC, message) for message in _files(METRIC, search_path)]
        others = [problem for problem in problems if problem.key.partition(".")[0] not in (METRIC, "evaluation")]
        return [*(named or [Problem(METRIC, "expected metric.NAME._target_, such as metric.tone._target_")]), *others]
    without_name = sorted({setting for problem in problems if (setting := _setting(problem.key))})
    if not without_name:
        return [_with_choice(problem, search_path) for problem in problems]
    nameless = [Problem(GROUP, message) for message in _files(GROUP, search_path)] or [
        Problem(f"{GROUP}.{setting}", f"expected {GROUP}.NAME.{setting}, such as {GROUP}.local.{setting}")
        for setting in without_name
    ]
    return [*nameless, *(problem for problem in problems if not _follows(problem))]


def _with_choice(problem: Problem, search_path: Sequence[str]) -> Problem:
    """The problem of an unknown provider; for one that exists and was not chosen, how to choose it."""
    name = re.match(r"no provider '([^']+)'", problem.message)
    if name is None or name[1] not in known_groups(search_path).get(GROUP, ()):
        return problem
    return Problem(problem.key, f"the provider '{name[1]}' is not chosen; {GROUP}=[openai,local,{name[1]}] adds it")


def _setting(key: str) -> str | None:
    group, _, rest = key.partition(".")
    setting = rest.partition(".")[0]
    return setting if group == GROUP and setting in SETTINGS else None


def _follows(problem: Problem) -> bool:
    return _setting(problem.key) is not None or problem.message.startswith("no provider ")


def _files(group: str, search_path: Sequence[str]) -> Iterator[str]:
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.object_type import ObjectType

    choices = repository(GlobalHydra.instance().config_loader(), search_path)
    for name in choices.get_group_options(group, ObjectType.CONFIG):
        file = choices.load_config(f"{group}/{name}")
        if file.header["package"] is None:
            path = f"{file.path.removeprefix('file://')}/{group}/{name}.yaml"
            yield f"{path}: its first line has to be `# @package {group}.{name}`, which says whose settings these are"
