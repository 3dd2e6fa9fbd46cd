"""The score of one trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.domains.traces.reading import trace_of
from runner.domains.traces.records import Dimensions, Trace, TraceScore
from runner.metrics import trace as metrics
from runner.metrics.profile import AUTO, Profile, ProfileChoice, profile_by_name, shipped_profiles


def score_trace(
    trace: Trace | Mapping[str, Any],
    profile: str | ProfileChoice = AUTO,
    *,
    novelty: float = metrics.UNKNOWN_NOVELTY,
) -> TraceScore:
    """The score of a trace (or of an object in the JSON-LD form) under a profile: a name of conf/profile, `auto` for
    that of the trace's domain, or a Profile. `novelty` is computed elsewhere (runner.domains.traces.novelty).

    Raises DataError for an object that is no trace and InputError for an unknown profile.
    """
    read = trace if isinstance(trace, Trace) else trace_of(trace)
    choice = profile_by_name(profile) if isinstance(profile, str) else profile
    return score_with_profile(read, choice.profile_for(shipped_profiles(), read.domain), dimensions_of(read, novelty))


def dimensions_of(trace: Trace, novelty: float) -> Dimensions:
    """The four dimensions of a trace; `novelty` is computed by the caller. Outcome is None without success."""
    types, tools = [step.type for step in trace.steps], [step.tool for step in trace.steps]
    return Dimensions(
        complexity=metrics.complexity(types),
        novelty=novelty,
        diversity=metrics.diversity(tools),
        outcome=None if trace.success is None else metrics.outcome(trace.confidence, trace.success),
    )


def score_with_profile(trace: Trace, profile: Profile, dimensions: Dimensions) -> TraceScore:
    """The score of a trace, mixed by a profile and bounded by the rules; None where success is not known."""
    if trace.success is None:
        return TraceScore(None, dimensions, None, (), profile.name, profile.weights)
    types, tools = [step.type for step in trace.steps], [step.tool for step in trace.steps]
    values = {name: getattr(dimensions, name) for name in metrics.DIMENSIONS}
    before = metrics.weighted_sum(values, profile.weights)
    score, rules = metrics.apply_rules(before, types, tools, trace.success)
    return TraceScore(score, dimensions, before, rules, profile.name, profile.weights)
