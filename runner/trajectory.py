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
    """What a reranker made of the candidates so far. `ranked`: their ids, best first, without repeats; those it left
    out are of no use. `confidence` 0..1. `sufficient` None: it only orders."""

    ranked: tuple[str, ...]
    sufficient: bool | None = None
    confidence: float | None = None
    missing: tuple[str, ...] = ()
    next_action: NextAction | None = None
    refined_query: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. `found`: ids of chunks that came back, best first; `said`: what was made of all candidates after it,
    the order they have where nobody said anything. Tokens and cost are of the models asked for this step; `cost_usd`
    None: price unknown."""

    tool: Tool
    arguments: Mapping[str, Any]
    found: tuple[str, ...]
    said: Assessment
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
    """As JSON; what has its default is left out, and what was said of a call stands among what it is."""
    return {**_told(trajectory), "calls": [_told(call) for call in trajectory.calls]}


def trajectory_of(record: Mapping[str, Any]) -> Trajectory:
    """What `trajectory_record` wrote."""
    return Trajectory(**{**record, "calls": tuple(map(_call_of, record["calls"]))})


def _call_of(record: Mapping[str, Any]) -> ToolCall:
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
    said = {each.name: values.pop(each.name) for each in fields(Assessment) if each.name in values}
    return ToolCall(**values, said=Assessment(**said))


def _told(part: Trajectory | ToolCall | Assessment) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        if isinstance(value, Assessment):
            told |= _told(value)
        elif value != each.default and (value or each.name != "facts"):
            told[each.name] = list(value) if isinstance(value, tuple) else value
    return told
