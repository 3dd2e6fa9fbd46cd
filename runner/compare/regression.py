"""The settings of the gate between two runs (conf/regression): which losses count as a regression."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.metrics.metric import Direction

Margin = Annotated[float, Field(ge=0, le=1e100)]
Dimension = Literal["language", "difficulty", "tag"]


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class RuleSettings(TypedDict, total=False):
    """conf/regression/default.yaml explains the settings."""

    metric: Required[str]
    direction: Direction
    margin: Required[Margin]
    relative: bool
    slice: Annotated[dict[Dimension, str], Field(min_length=1)] | None
    significant: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """Fires on a loss of more than `margin`, absolute or as a share of the baseline, over the cases of `slice` (all
    cases where it is empty). `direction`: None for that of the metric. `significant`: the loss must also be
    significant."""

    metric: str
    direction: Direction | None
    margin: float
    relative: bool = False
    slice: Mapping[str, str] = field(default_factory=dict)
    significant: bool = False


class Regression:
    """`margin`: the difference below which two runs are equivalent in practice: an interval within it is noise."""

    def __init__(
        self,
        *,
        rules: list[RuleSettings],
        must_not_break: list[str],
        margin: Margin = 0.02,
    ) -> None:
        self.rules: Sequence[Rule] = [_rule(settings) for settings in rules]
        self.must_not_break: Sequence[str] = [unicodedata.normalize("NFC", id) for id in must_not_break]
        self.margin = float(margin)

    def within(self, margins: Mapping[str, float]) -> Regression:
        """The rules with the absolute margins of a domain profile, for the metrics that it lists. Rules for slices are
        unchanged."""
        adjusted = copy(self)
        adjusted.rules = [
            rule
            if rule.slice or rule.metric not in margins
            else replace(rule, margin=float(margins[rule.metric]), relative=False)
            for rule in self.rules
        ]
        return adjusted


def margins_of(config: Mapping[str, Any]) -> Mapping[str, float]:
    """Metric -> margin, of the profile of a run; empty where it has no profile, or several."""
    found: Mapping[str, float] = (config.get("profile") or {}).get("margins") or {}
    return found


def _rule(settings: RuleSettings) -> Rule:
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    margin = float(given["margin"])  # integers may be too large for files of results
    return Rule(**{"direction": None, **given, "margin": margin})
