"""What an agent did to find an answer to one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Tool = Literal["search_all", "search_by_metadata", "get_section"]
NextAction = Literal["get_section", "search_again"]
Fallback = Literal["not_ready", "not_found", "best_effort"]
Stopped = Literal["sufficient", "calls_spent", "nothing_new", "failed"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a reranker made of the candidates so far. `ranked`: places in the list of candidates, best first, without
    repeats; those it left out are of no use. `confidence` 0..1. `sufficient` None: it only orders. Tokens and cost
    are of the models it asked; `cost_usd` None: price unknown."""

    ranked: tuple[int, ...]
    sufficient: bool | None = None
    confidence: float | None = None
    missing: tuple[str, ...] = ()
    next_action: NextAction | None = None
    refined_query: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. `found`: ids of chunks that came back, best first; `ranked`: all candidates so far as the reranker
    ordered them. Tokens and cost are of the models asked for this step; `cost_usd` None: price unknown."""

    tool: Tool
    arguments: Mapping[str, Any]
    found: tuple[str, ...]
    ranked: tuple[str, ...]
    sufficient: bool | None = None
    confidence: float | None = None
    missing: tuple[str, ...] = ()
    next_action: NextAction | None = None
    refined_query: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The calls in order, why it stopped, and what the user is told. `fallback` None: an ordinary answer. `message`:
    the text that takes the place of a generated answer (not_ready, not_found)."""

    calls: tuple[ToolCall, ...]
    stopped: Stopped
    fallback: Fallback | None = None
    message: str | None = None
    confidence: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def trajectory_record(trajectory: Trajectory) -> dict[str, Any]:
    """As JSON; what has its default is left out."""
    return {**_told(trajectory), "calls": [_told(call) for call in trajectory.calls]}


def trajectory_of(record: Mapping[str, Any]) -> Trajectory:
    """What `trajectory_record` wrote."""
    calls = tuple(ToolCall(**_with_tuples(call)) for call in record["calls"])
    return Trajectory(**{**record, "calls": calls})


def _with_tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}


def _told(part: ToolCall | Trajectory) -> dict[str, Any]:
    values = {each.name: (getattr(part, each.name), each.default) for each in fields(part)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, (value, default) in values.items()
        if value != default and (value or name != "facts")
    }
