"""Finds which overrides a configuration refuses, and why: Hydra's errors name no key. Values are never shown, since
they may be secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, ListConfig
from omegaconf.errors import OmegaConfBaseException

from runner.config import arguments
from runner.config.components import PROVIDERS
from runner.config.hydra_internals import node_of
from runner.errors import Problem, did_you_mean, not_a_mapping
from runner.system.metadata import without_credentials


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """Compose a configuration with its `hydra` node. Raises HydraException and OmegaConfBaseException."""
    from hydra import compose
    from hydra.errors import ConfigCompositionException, HydraException

    try:
        return compose("config", list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException):
        raise
    except (
        ValueError,
        AssertionError,
        TypeError,
    ) as error:  # a name as the index of a list, or a key below null
        raise ConfigCompositionException(str(error)) from error


def refused_problems(groups: Sequence[str], values: Sequence[str]) -> list[Problem]:
    """The problems of the overrides with which composing fails: `values`, or `groups` where these alone fail."""
    from hydra.errors import HydraException

    try:
        cfg = compose_config(groups)
    except (HydraException, OmegaConfBaseException):
        return _nowhere(groups)
    problems = [problem for value in values if (problem := _misplaced_override(value, cfg))]
    if problems:
        return problems
    for value in values:
        try:
            compose_config([*groups, value])
        except (HydraException, OmegaConfBaseException) as error:
            problems.append(_unfit(str(arguments.parse(value).key_or_group), error))
    return problems


def _nowhere(groups: Sequence[str]) -> list[Problem]:
    """The problem of `dataset@elsewhere=demo`, where the group has another place."""
    from hydra.errors import HydraException

    elsewhere = {each: parsed for each in groups if (parsed := arguments.parse(each)).package is not None}
    try:
        places = compose_config([each for each in groups if each not in elsewhere]).hydra.runtime.choices
    except (HydraException, OmegaConfBaseException):
        return []
    overrides_by_place = {f"{parsed.key_or_group}@{parsed.package}": each for each, parsed in elsewhere.items()}
    return [
        Problem(place, f"there is no component here; +{override} adds one{did_you_mean(place, _places(places))}")
        for place, override in overrides_by_place.items()
        if place not in places and not override.startswith("+")
    ]


def _places(choices: Mapping[str, Any]) -> list[str]:
    return [str(name) for name in choices if "@" in str(name)]


def _misplaced_override(override: str, cfg: DictConfig) -> Problem | None:
    parsed_override = arguments.parse(override)
    key = str(parsed_override.key_or_group)
    node: Any = cfg
    path = key.split(".")
    for place, name in enumerate(path):
        if isinstance(node, ListConfig) and not (name.isdecimal() and int(name) < len(node)):
            whole = ".".join(path[:place])
            return Problem(key, f"expected the list as a whole: {whole}=[…]")
        if isinstance(node, DictConfig) and name not in node and parsed_override.is_delete():
            return Problem(key, f"there is nothing of this name to take out{did_you_mean(name, _names(node))}")
        if not isinstance(node, DictConfig | ListConfig) or (isinstance(node, DictConfig) and name not in node):
            return None
        node = node_of(node, int(name) if isinstance(node, ListConfig) else name)
    if parsed_override.is_delete():
        return None if parsed_override.value() in (None, "") else Problem(key, f"expected ~{key}, without a value")
    return _shape_problem(key, node, parsed_override.value())


def _shape_problem(key: str, node: Any, value: Any) -> Problem | None:
    """Whether a value replaces a mapping by a list or a list by a mapping; among Hydra's own settings, a mapping by
    anything else."""
    if isinstance(node, DictConfig) and (isinstance(value, list) or key.startswith("hydra")):
        return None if isinstance(value, Mapping) else not_a_mapping(key, _describe_kind(value), _names(node))
    if isinstance(node, ListConfig) and isinstance(value, Mapping):
        return Problem(key, f"expected a list ({key}=[…]){_describe_kind(value)}")
    return None


def _names(node: DictConfig) -> list[str]:
    return [str(name) for name in node if not str(name).startswith("_")]


def _describe_kind(value: Any) -> str:
    kind = "a list" if isinstance(value, list) else "a mapping" if isinstance(value, Mapping) else "one value"
    return f", got {kind}"


def _unfit(key: str, error: Exception) -> Problem:
    reason = "" if f"{key}.".startswith(PROVIDERS) else f" ({' '.join(str(error.__cause__ or error).split())})"
    return Problem(key, f"cannot be set to this value{without_credentials(reason)}")
