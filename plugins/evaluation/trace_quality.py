"""What reasoning traces are worth under domain profiles: four dimensions, a weighted sum, three rules. No model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.errors import ConfigError, Problem
from runner.metrics.trace import DIMENSIONS
from runner.protocols import Workspace
from runner.records import CaseSet, Judgements, Preparation, Scores, Timing
from runner.store import fingerprint
from runner.text.language import detect_language
from runner.trace.profile import DEFAULT, Profile, ProfileChoice
from runner.trace.protocols import Novelty, Traces
from runner.trace.records import Trace, TraceScore
from runner.trace.scoring import dimensions_of, scored
from runner.trace.sums import sums

METRICS = ("score", *DIMENSIONS)


@dataclass(frozen=True, slots=True)
class TraceCase:
    trace: Trace

    @property
    def id(self) -> str:
        return self.trace.id

    @property
    def language(self) -> str | None:
        return self.trace.language or detect_language(self.trace.objective)

    @property
    def difficulty(self) -> str | None:
        return None

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (self.trace.domain, self.trace.quality))))

    @property
    def gold(self) -> str:
        """What decides by which weights it is scored, and what it was said to be worth."""
        return fingerprint([self.trace.domain, self.trace.rating])[:16]


@dataclass(frozen=True, slots=True)
class TraceOutput:
    """`scores`: under every profile there is."""

    case: TraceCase
    result: TraceScore
    scores: Mapping[str, float]
    timings: Mapping[str, Timing] = field(default_factory=dict)

    def record(self) -> Mapping[str, Any]:
        trace, result = self.case.trace, self.result
        return {
            "query": trace.objective,
            "gold": self.case.gold,
            "domain": trace.domain,
            "profile": result.profile,
            "rules": list(result.rules),
            "weights": dict(result.weights),
            "before_rules": result.before_rules,
            "rating": trace.rating,
            "steps": len(trace.steps),
            "success": trace.success,
            "confidence": trace.confidence,
            "scores": dict(self.scores),
        }


class TraceQuality:
    """One case is one trace. Novelty, which hangs on the order of traces, is settled before the first case."""

    def __init__(
        self, *, dataset: Traces, profile: ProfileChoice, profiles: dict[str, Profile], novelty: Novelty
    ) -> None:
        if not isinstance(dataset, Traces):
            raise ConfigError([Problem("dataset", "holds no traces; dataset=traces does")])
        if DEFAULT not in profiles:
            raise ConfigError([Problem("evaluation.profiles", f"the profile '{DEFAULT}' is missing")])
        self.dataset, self.profile, self.profiles, self.novelty = dataset, profile, profiles, novelty
        self._traces: Sequence[Trace] = ()
        self._novelty: Mapping[str, float] = {}

    def load(self) -> CaseSet[TraceCase]:
        self._traces, problems = self.dataset.read()
        embedder = {"embedder": fingerprint(getattr(self.novelty, "provenance", {}))}
        cases = tuple(TraceCase(trace) for trace in self._traces)
        return CaseSet(cases, problems, {**_identity(cases), **embedder})

    async def prepare(self, cases: Sequence[TraceCase], workspace: Workspace) -> Preparation:
        self._novelty = self.novelty.of(self._traces, {case.id for case in cases}, workspace)
        steps = sum(len(case.trace.steps) for case in cases)
        return Preparation({"traces": {"n": len(cases), "steps": steps, "order": self.novelty.order}})

    async def run(self, case: TraceCase) -> TraceOutput:
        trace = case.trace
        dimensions = dimensions_of(trace, self._novelty[case.id])
        result = scored(trace, self.profile.among(self.profiles, trace.domain), dimensions)
        scores = {name: scored(trace, profile, dimensions).score for name, profile in self.profiles.items()}
        return TraceOutput(case, result, scores)

    async def judge(self, case: TraceCase, output: TraceOutput) -> Judgements:
        return {}

    def score(self, case: TraceCase, output: TraceOutput | None, judgements: Judgements) -> Scores:
        if output is None:
            return Scores({}, unscored=METRICS)
        result = output.result
        dimensions = {name: getattr(result.dimensions, name) for name in DIMENSIONS}
        labels = {"rule": "+".join(result.rules) or "none", "domain": case.trace.domain}
        return Scores({"score": result.score, **dimensions}, labels=labels)

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        return sums(rows)


def _identity(cases: Sequence[TraceCase]) -> dict[str, str]:
    """Hashes of what was to be done, and of what was done."""
    tasks, traces = hashlib.sha256(), hashlib.sha256()
    for case in cases:
        trace = case.trace
        tasks.update(fingerprint([trace.id, trace.objective, case.gold]).encode())
        steps = [[step.type, step.content, step.tool] for step in trace.steps]
        traces.update(fingerprint([trace.id, steps, trace.success, trace.confidence, str(trace.created_at)]).encode())
    return {"tasks": tasks.hexdigest(), "traces": traces.hexdigest()}
