"""Calls of tools held against those that a trace should have made (`expected_tools`).

An expected call that names no arguments is met by any call of its tool. Each call meets one expected call at most, so
that a tool that is expected twice has to be called twice. Arguments are equal as JSON values: 1 and 1.0 are the same,
the order of keys tells nothing.

Strict, unordered, subset and superset are the modes of trajectory match of LangChain's agentevals.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.metrics.metric import Metric, Words

DEPENDS = ("tasks", "metric_code.tool_use")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call. `arguments`: None where an expected call does not state them."""

    name: str
    arguments: Any = None

    @property
    def key(self) -> str:
        """The same for the same call."""
        return f"{self.name} {json.dumps(_plain_numbers(self.arguments), sort_keys=True)}"


def _match(name: str, label: Words, meaning: Words) -> Metric:
    return Metric(
        name=name, better="higher", label=label, meaning=meaning, depends=DEPENDS, group="traces", quality=None
    )


METRICS = (
    _match(
        "tool_match_strict",
        {"en": "Tool Match, strict", "ko": "도구 일치(순서까지)"},
        {
            "en": "Share of traces that make exactly the expected calls of tools, in the expected order.",
            "ko": "기대한 도구 호출만을 기대한 순서대로 빠짐없이 한 추적의 비율",
        },
    ),
    _match(
        "tool_match_unordered",
        {"en": "Tool Match, unordered", "ko": "도구 일치(순서 무관)"},
        {
            "en": "Share of traces that make exactly the expected calls of tools, in any order.",
            "ko": "기대한 도구 호출만을 순서와 상관없이 빠짐없이 한 추적의 비율",
        },
    ),
    _match(
        "tool_match_subset",
        {"en": "Tool Match, subset", "ko": "도구 일치(부분집합)"},
        {
            "en": "Share of traces that make no call of a tool beyond the expected ones; some may be missing.",
            "ko": "기대하지 않은 도구 호출이 없는 추적의 비율(빠진 호출은 있어도 됨)",
        },
    ),
    _match(
        "tool_match_superset",
        {"en": "Tool Match, superset", "ko": "도구 일치(상위집합)"},
        {
            "en": "Share of traces that make every expected call of a tool; there may be others.",
            "ko": "기대한 도구 호출을 빠짐없이 한 추적의 비율(다른 호출이 더 있어도 됨)",
        },
    ),
    Metric(
        name="redundant_calls",
        better="lower",
        label={"en": "Redundant Calls", "ko": "중복 호출"},
        meaning={
            "en": "Calls in a trace that repeat an earlier one: the same tool with the same arguments.",
            "ko": "추적 안에서 같은 도구를 같은 인자로 다시 호출한 횟수",
        },
        range=(0.0, math.inf),
        depends=DEPENDS,
        group="traces",
        quality=None,
    ),
    Metric(
        name="steps_over_reference",
        better="lower",
        label={"en": "Steps over Reference", "ko": "기대를 넘는 호출 수"},
        meaning={
            "en": "Calls of tools beyond the number of expected ones; 0 where there are fewer.",
            "ko": "도구 호출 수가 기대한 호출 수를 넘는 만큼(더 적으면 0)",
        },
        range=(0.0, math.inf),
        depends=DEPENDS,
        group="traces",
        quality=None,
    ),
)


def tool_use(calls: Sequence[ToolUse], expected: Sequence[ToolUse]) -> dict[str, float]:
    """The metrics of one trace; `calls` in the order in which they were made."""
    n_met = _n_met(calls, expected)
    nothing_more, nothing_missing = n_met == len(calls), n_met == len(expected)
    in_order = len(calls) == len(expected) and all(map(_meets, calls, expected))
    return {
        "tool_match_strict": float(in_order),
        "tool_match_unordered": float(nothing_more and nothing_missing),
        "tool_match_subset": float(nothing_more),
        "tool_match_superset": float(nothing_missing),
        "redundant_calls": float(len(calls) - len({call.key for call in calls})),
        "steps_over_reference": float(max(0, len(calls) - len(expected))),
    }


def _meets(call: ToolUse, expected: ToolUse) -> bool:
    return call.name == expected.name if expected.arguments is None else call.key == expected.key


def _n_met(calls: Sequence[ToolUse], expected: Sequence[ToolUse]) -> int:
    """The most expected calls that can be matched. Those with arguments are matched first: no other call matches them,
    while any call of the tool matches the others."""
    exact = Counter(use.key for use in expected if use.arguments is not None)
    by_name = Counter(use.name for use in expected if use.arguments is None)
    unmatched: Counter[str] = Counter()
    n_exact = 0
    for call in calls:
        if exact[call.key] > 0:
            exact[call.key] -= 1
            n_exact += 1
        else:
            unmatched[call.name] += 1
    return n_exact + (unmatched & by_name).total()


def _plain_numbers(value: Any) -> Any:
    """Whole floats as integers, at any depth."""
    if isinstance(value, Mapping):
        return {name: _plain_numbers(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
