"""The nouns of reasoning traces: what an agent was asked, the steps that it took, how it ended, what that is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from runner.metrics.tool_use import ToolUse

StepType = Literal["thought", "tool_call", "observation", "error_recovery"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `tool`: the name of the tool, on any type of step. `more`: the other fields as they were read
    (step_id, input, latency_ms …)."""

    type: StepType
    content: str = ""
    tool: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """The work of one agent on one objective. `success` is None where it is not stated. `confidence` is 0..1, as the
    agent stated it. `rating`: the grade that a person gave it, on any scale on which more is better. `expected_tools`:
    the calls of tools that it should have made; None where they are not given. `quality`: its intended quality (good,
    mediocre, bad), in data made for that. `metadata` is complete, unknown fields included; `more` holds unknown fields
    beside metadata, task, steps and outcome, and those within task and outcome under these names."""

    id: str
    objective: str
    domain: str
    steps: tuple[Step, ...]
    success: bool | None
    confidence: float
    created_at: datetime | None = None
    rating: float | None = None
    quality: str | None = None
    language: str | None = None
    summary: str = ""
    expected_tools: tuple[ToolUse, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        """The calls of tools, in order, and recoveries that call a tool."""
        return tuple(
            ToolUse(step.tool, {} if step.more.get("input") is None else step.more["input"])
            for step in self.steps
            if step.tool is not None and step.type in ("tool_call", "error_recovery")
        )

    @property
    def text(self) -> str:
        """The text that its vector is made of: the objective and the contents of its steps."""
        return " ".join([self.objective, *[step.content for step in self.steps]])


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The parts of a score, each 0..1; `novelty` exceeds 1 where a trace is the opposite of all earlier ones. `outcome`
    is None where success is unknown."""

    complexity: float
    novelty: float
    diversity: float
    outcome: float | None


@dataclass(frozen=True, slots=True)
class TraceScore:
    """`before_rules` is the weighted sum of the dimensions; `rules` are those that fired, in their order; `score` is
    the result, 0..1. A trace of unknown success has neither of the two, and no rule is tried. `profile` names the
    profile of the weights."""

    score: float | None
    dimensions: Dimensions
    before_rules: float | None
    rules: tuple[str, ...]
    profile: str
    weights: Mapping[str, float]
