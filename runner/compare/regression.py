"""Which losses count as a regression: settings of the gate between two runs (conf/regression)."""

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
    """conf/regression/default.yaml says what each means."""

    metric: Required[str]
    direction: Direction
    margin: Required[Margin]
    relative: bool
    slice: Annotated[dict[Dimension, str], Field(min_length=1)] | None
    significant: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """A loss of more than `margin`, absolute or as a share of the baseline, over the cases of `slice` (all cases
    where it is empty). `direction`: None where it is the metric's own. `significant`: and the loss is more than
    chance."""

    metric: str
    direction: Direction | None
    margin: float
    relative: bool = False
    slice: Mapping[str, str] = field(default_factory=dict)
    significant: bool = False


class Regression:
    """`margin` is the difference below which two runs are the same in practice, whatever a test says: an interval
    that lies within it is noise."""

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
        """With the margins of a domain profile, absolute ones, for the metrics that have one there. Rules for a slice
        of the cases stay as they are."""
        changed = copy(self)
        changed.rules = [
            rule
            if rule.slice or rule.metric not in margins
            else replace(rule, margin=float(margins[rule.metric]), relative=False)
            for rule in self.rules
        ]
        return changed


def margins_of(config: Mapping[str, Any]) -> Mapping[str, float]:
    """Of the profile of a run, by metric; none where it has no profile, or one for each domain."""
    found: Mapping[str, float] = (config.get("profile") or {}).get("margins") or {}
    return found


def _rule(settings: RuleSettings) -> Rule:
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    margin = float(given["margin"])  # a whole number of any size is one, too, which no file of results can hold
    return Rule(**{"direction": None, **given, "margin": margin})
