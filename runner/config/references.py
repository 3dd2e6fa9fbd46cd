"""`baselines=auto`: reference runs for the systems of a sweep, derived from its first run.

none     the generator gets no context           a floor
random   it gets random chunks                   a floor
gold     it gets chunks of the gold documents    the ceiling that retrieval can reach

Everything but the retriever is as in the first run, including k and all models.
"""

from __future__ import annotations

from collections.abc import Sequence

from omegaconf import DictConfig, OmegaConf

from runner.config import arguments
from runner.config.options import evaluation_name, used_keys
from runner.config.schema import load
from runner.errors import ConfigError, Problem
from runner.protocols import attribute_of

FLOORS = ("none", "random")
CEILING = "gold"
NAMES = (*FLOORS, CEILING)
KEY = "retriever"


def reference_overrides(cfg: DictConfig, overrides: Sequence[str]) -> dict[str, list[str]]:
    """The overrides of the reference runs by name, from the configuration of the first run and its overrides; empty for
    baselines=none. Raises ConfigError for an evaluation without a retriever."""
    if cfg.baselines == "none":
        return {}
    if KEY not in used_keys(cfg):
        what = f"{evaluation_name(cfg)} has no retriever, so there is no gold context"
        raise ConfigError([Problem("baselines", what)])
    if "system" in used_keys(cfg) and not attribute_of(load(str(cfg.system._target_)), "is_within"):
        what = "a running system retrieves and answers by itself, so no other contexts can be put before it"
        raise ConfigError([Problem("baselines", f"{what}; expected baselines=none")])
    shared_overrides = [override for override in overrides if not _is_of_retriever(override)]
    required = OmegaConf.select(cfg, "evaluation.require") is not None  # a floor would not reach it
    return {
        name: [*shared_overrides, *oracle_overrides(name), *(["evaluation.require=null"] if required else [])]
        for name in NAMES
    }


def oracle_overrides(name: str) -> list[str]:
    """The overrides that distinguish a reference from the first run."""
    return [f"{KEY}=oracle", f"{KEY}.mode={name}"]


def _is_of_retriever(override: str) -> bool:
    key = str(arguments.parse(override).key_or_group)
    return key == KEY or key.startswith((f"{KEY}.", f"{KEY}/"))
