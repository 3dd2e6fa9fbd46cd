"""What was set differently in two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.compare.snapshots import Snapshot
from runner.tracking.entry import NOT_PARAMS, flat


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that is not the same in both, as text; None where a run does not have it."""

    key: str
    baseline: str | None
    candidate: str | None


def config_difference(baseline: Snapshot, candidate: Snapshot) -> list[Setting]:
    """Chosen components first, then settings by dotted key: what was evaluated, not where results went or what
    they cost."""
    one, other = _choices(baseline), _choices(candidate)
    choices = _differing(one, other)
    settings = _differing(_settings(baseline.config), _settings(candidate.config))
    told = {f"{choice.key}._target_" for choice in choices}
    return [*choices, *(setting for setting in settings if setting.key not in told)]


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[Setting]:
    keys = dict.fromkeys([*one, *other])
    return [Setting(key, one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key)]


def _choices(snapshot: Snapshot) -> dict[str, str]:
    choices = snapshot.run.get("choices") or {}
    return {str(name): str(choice) for name, choice in choices.items() if name not in (*NOT_PARAMS, "experiment")}


def _settings(config: Mapping[str, Any]) -> dict[str, str]:
    return dict(flat({name: value for name, value in config.items() if name not in NOT_PARAMS}, config))
