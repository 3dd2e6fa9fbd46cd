"""Hydra gets the configurations that were composed and checked before, in place of composing each of them again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from runner.config import arguments
from runner.config.compose import Cell

LATE = ("out", "hydra.mode", "hydra.sweep.subdir")  # what is known only when the runs start


class Composed:
    """The loader of Hydra, with what is in `cells` taken from there. In another process it is Hydra's own again."""

    def __init__(self, loader: ConfigLoader, cells: Sequence[Cell]) -> None:
        self.loader, self.cells = loader, {_key(cell.overrides): cell for cell in cells}

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.loader,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """In a sweep that of the whole is wanted first, for what it says of launcher and folders: it is that of the
        first cell."""
        cell = next(iter(self.cells.values())) if run_mode == RunMode.MULTIRUN else self.cells.get(_key(overrides))
        if cell is None or cell.hydra is None:
            return self.loader.load_configuration(
                config_name, overrides, run_mode, from_shell, validate_sweep_overrides
            )
        cfg = deepcopy(cell.cfg)
        cfg["hydra"] = cell.hydra
        parsed = [arguments.parse(override) for override in overrides]
        for override in parsed:
            if override.key_or_group in LATE:
                OmegaConf.update(cfg, str(override.key_or_group), override.value(), force_add=True)
        cfg.hydra.overrides.hydra = [one.input_line for one in parsed if one.is_hydra_override()]
        cfg.hydra.overrides.task = [one.input_line for one in parsed if not one.is_hydra_override()]
        with open_dict(cfg):
            cfg.hydra.job.config_name = config_name
        OmegaConf.set_struct(cfg, True)
        return cfg

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        words = [*master_config.hydra.overrides.hydra, *sweep_overrides]
        cfg = self.load_configuration(master_config.hydra.job.config_name, words, RunMode.RUN)
        OmegaConf.copy_cache(from_config=master_config, to_config=cfg)
        return cfg


def _itself(loader: ConfigLoader) -> ConfigLoader:
    return loader


def _key(overrides: Sequence[str]) -> tuple[str, ...]:
    """What a job is told of the runs: Hydra lists overrides of its own first, and writes all in its own way."""
    parsed = [arguments.parse(override) for override in overrides]
    told = [one for one in parsed if not one.is_hydra_override() and one.key_or_group != "out"]
    return tuple(f"{one.get_key_element()}={one.get_value_element_as_str()}" for one in told)
