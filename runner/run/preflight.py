"""Checks what the runs of a command need from outside before the first one starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from omegaconf import DictConfig, OmegaConf
from typing_extensions import get_protocol_members

from runner.config.components import BuiltComponents, build, keys
from runner.config.compose import Cell
from runner.config.hydra_internals import key_of, value_of
from runner.config.schema import load, similar_attributes
from runner.errors import ConfigError, Problem
from runner.llm.address import ADDRESS_KEY, server_of
from runner.llm.models import Models, models_among
from runner.metrics.catalogue import catalogue_of
from runner.protocols import Preflight
from runner.system import terminal
from runner.words.wording import LANGUAGES

FILES = ("sqlite:", "unix:", "file:")


def preflight(cells: Sequence[Cell]) -> list[str]:
    """The result of `receivers`. Raises ConfigError with everything that components of the cells lack."""
    problems: dict[Problem, None] = {}
    hosts: dict[str, None] = {}
    targets: dict[str, None] = {}
    for cell in cells:
        targets[str(cell.cfg.evaluation._target_)] = None
        try:
            components = build(cell.cfg.evaluation)
        except ConfigError as error:
            problems |= dict.fromkeys(error.problems)
            continue
        except Exception:  # a bug of one component: its own run reports it, with a log
            components = None
        problems |= dict.fromkeys(() if components is None else _problems(components))
        hosts |= dict.fromkeys(_hosts_of(cell, components))
    if problems:
        raise ConfigError(list(problems))
    _note_misspelt(targets, cells)
    return list(hosts)


def _note_misspelt(targets: Iterable[str], cells: Sequence[Cell]) -> None:
    """Print a note for each attribute of an evaluation that looks like a misspelt one of those that reports ask for."""
    from runner.report.reporting import Reporting

    members = get_protocol_members(Reporting)
    for target in targets:
        for name, near in similar_attributes(load(target), frozenset(), frozenset({Reporting})).items():
            if near in members:
                say = LANGUAGES[cells[0].cfg.report.language]
                terminal.note(say("progress.misspelt", target=target, name=name, near=near))


def receivers(cells: Sequence[Cell]) -> list[str]:
    """The servers that get prompts, texts or results of these runs: `https://api.openai.com (openai)`. A run whose
    components cannot be built ends before it calls a model, so its models are left out."""
    return list(dict.fromkeys(host for cell in cells for host in _hosts_of(cell, _build(cell))))


def _hosts_of(cell: Cell, components: BuiltComponents | None) -> Iterator[str]:
    if components is None:
        yield from _hosts(cell.cfg, None, {*keys(cell.cfg.evaluation), "tracking"})
    else:
        yield from _hosts(cell.cfg, models_among(components.parts.values()), {*components.parts, "tracking"})


def announce(cfg: DictConfig, built: BuiltComponents, language: str) -> None:
    """Print which servers get data, before the first request of a command without a run."""
    hosts = dict.fromkeys(_hosts(cfg, models_among(built.parts.values()), set(built.parts)))
    if hosts:
        terminal.note(LANGUAGES[language]("progress.receivers", hosts=", ".join(hosts)))


def _hosts(cfg: DictConfig, models: Models | None, parts: Set[str]) -> Iterator[str]:
    """The servers of one configuration. `parts`: keys of components."""
    if models is not None and models.cache_mode != "replay":
        yield from models.servers
    for key in sorted(parts):
        yield from _servers(OmegaConf.select(cfg, key))


def _build(cell: Cell) -> BuiltComponents | None:
    try:
        return build(cell.cfg.evaluation)
    except Exception:  # its own run reports it, with a log
        return None


def _servers(node: Any) -> Iterator[str]:
    """Addresses among the settings of a store, a system or a tracking store."""
    if not isinstance(node, DictConfig) or "providers" in node:  # `models` knows which of them are used
        return
    for name in node:
        value = value_of(node, name)
        if isinstance(value, str) and ADDRESS_KEY.fullmatch(str(name)) and not value.startswith(FILES):
            yield f"{server_of(value)} ({key_of(node).partition('.')[0]})"


def _problems(components: BuiltComponents) -> Iterator[Problem]:
    """The problems of components, and the errors in the metrics that the evaluation declares."""
    for part in components.parts.values():
        if isinstance(part, Preflight):
            yield from part.preflight()
    try:
        catalogue_of(components.root)
    except ConfigError as error:
        yield from error.problems
