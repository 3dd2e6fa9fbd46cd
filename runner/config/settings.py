"""The checked settings of a command without a run: conf/COMMAND.yaml with overrides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from runner.config import arguments
from runner.config.choices import choice_problem, known_groups, nested_problem
from runner.config.components import check, misspelt_attributes, note_misspelt
from runner.config.compose import initialise
from runner.config.folders import composable, search_path, with_search_path
from runner.config.hydra_internals import as_written, growth_problem
from runner.config.provider_files import place_problems
from runner.errors import ConfigError, InputError, Problem, did_you_mean
from runner.system.metadata import without_credentials
from runner.system.redaction import learn


def settings_of(command: str, words: Sequence[str], root: str, absent: Sequence[str] = ()) -> DictConfig:
    """`root`: the key of the component that is built from the settings. `absent`: required keys of a run that the
    command may leave null. Raises ConfigError with all problems, and InputError for words that are no settings."""
    from hydra import compose
    from hydra.errors import HydraException

    line = arguments.read(words)
    if line.asks_hydra or line.multirun or line.config_name:
        raise InputError(f"{command} takes settings (KEY=VALUE) and --config-dir only")
    overrides = with_search_path(line.overrides, line.config_folders)
    several = [str(arguments.parse(override).key_or_group) for override in overrides if arguments.is_sweep(override)]
    if several:
        raise ConfigError([Problem(key, "one value only; a list is written [a,b]") for key in several])
    with composable(line.config_folders), initialise(None):
        try:
            defaults = compose(command, with_search_path([], line.config_folders))
            chosen, problems = _sort_words(command, overrides, defaults)
            cfg = compose(command, chosen)
            _leave_out(cfg, absent)
            learn(as_written(cfg))
            if problem := growth_problem(cfg):
                raise ConfigError([problem])
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise ConfigError([Problem("configuration", without_credentials(" ".join(str(error).split())))]) from None
        problems += place_problems(_problems(cfg, defaults, root), search_path(overrides))
    found = {problem.key: problem for problem in reversed(problems)}
    if found:
        raise ConfigError(list(found.values())[::-1])
    note_misspelt(misspelt_attributes(cfg[root]), cfg.get("language"))
    return cfg


def _leave_out(cfg: DictConfig, absent: Sequence[str]) -> None:
    for key in absent:
        group, _, name = key.rpartition(".")
        node = OmegaConf.select(cfg, group)
        if isinstance(node, DictConfig) and OmegaConf.is_missing(node, name):
            node[name] = None


def _sort_words(command: str, overrides: Sequence[str], composed: DictConfig) -> tuple[list[str], list[Problem]]:
    """The choices of groups, the values as `++key=value` (so that our own check gets unknown keys), and the
    problems."""
    groups = known_groups(search_path(overrides))
    used_groups = [group for group in groups if OmegaConf.select(composed, group.replace("/", ".")) is not None]
    uses = [
        group for group in used_groups if not all(f"{group}/{inner}" in groups for inner in composed.get(group) or "-")
    ]
    words, problems = [], []
    for override in overrides:
        parsed_override = arguments.parse(override)
        key = str(parsed_override.key_or_group)
        if problem := nested_problem(key, None if parsed_override.is_delete() else parsed_override.value(), groups):
            problems.append(problem)
        elif key in groups and key not in uses and not parsed_override.is_delete():
            problems.append(Problem(key, f"{command} has no {key}; it uses {', '.join(_outermost(uses))}"))
        elif (
            key in groups
            and not parsed_override.is_delete()
            and (problem := choice_problem(key, parsed_override.value(), groups[key]))
        ):
            problems.append(problem)
        else:
            plain = key in groups or key == "hydra.searchpath" or parsed_override.is_delete()
            words.append(override if plain else f"++{override.lstrip('+')}")
    return words, problems


def _outermost(groups: Sequence[str]) -> list[str]:
    return [group for group in groups if group.partition("/")[0] not in groups or "/" not in group]


def _problems(cfg: DictConfig, known: DictConfig, root: str) -> list[Problem]:
    names = [str(name) for name in known if name not in ("models", root)]
    unknown = [str(name) for name in cfg if str(name) not in (*names, "models", root)]
    missing = [name for name in names if OmegaConf.is_missing(cfg, name)]
    return [
        *(Problem(name, f"unknown setting{did_you_mean(name, names)}") for name in unknown),
        *(Problem(name, f"a value is required; give one with {name}=VALUE") for name in missing),
        *check(cfg[root]),
    ]


def list_settings(command: str) -> str:
    """The settings in conf/COMMAND.yaml with their comments, for --help."""
    text = (Path(__file__).resolve().parent.parents[1] / "conf" / f"{command}.yaml").read_text(encoding="utf-8")
    return re.split(rf"\n(?:models|{command}):", text.partition("\n\n")[2])[0].rstrip()
