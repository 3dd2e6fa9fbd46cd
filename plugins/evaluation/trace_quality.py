"""What reasoning traces are worth under domain profiles: four dimensions, a weighted sum, three rules; and whether they
did what they were asked, where a model judges that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.domains.traces import report
from runner.domains.traces.completion import RUBRIC, completion_controls, fields_of
from runner.domains.traces.protocols import Novelty, Shared, Traces
from runner.domains.traces.records import Trace, TraceScore
from runner.domains.traces.scoring import dimensions_of, score_with_profile
from runner.domains.traces.sums import sums
from runner.errors import ConfigError, Problem
from runner.llm.chosen import HEALTH, ChosenMetrics
from runner.llm.health import check_health
from runner.llm.votes import judge_missing
from runner.metrics.judged import TRACE_METRICS
from runner.metrics.metric import Metric
from runner.metrics.profile import DEFAULT, Profile, ProfileChoice
from runner.metrics.tool_use import METRICS as TOOL_METRICS
from runner.metrics.tool_use import tool_use
from runner.metrics.trace import DIMENSIONS, METRICS
from runner.protocols import Judge, Scorer, Workspace, attribute_of, can_judge
from runner.records import CaseSet, Judgement, Judgements, Preparation, Scores, Timing
from runner.system.stopwatch import stopwatch
from runner.system.store import fingerprint
from runner.text.language import detect_language

NAMES = tuple(metric.name for metric in METRICS)
TOOL_NAMES = tuple(metric.name for metric in TOOL_METRICS)
SHOWN = ("question", "answer", "trace")  # to rubrics of one's own: the objective, the result, the steps


@dataclass(frozen=True, slots=True)
class TraceCase:
    """The facts of a trace before it is scored. `place`: its number in the data set; `gold`: the settings of its
    weights, and its given rating and quality; `has_reference`: whether its expected tools are given."""

    id: str
    place: int
    n_steps: int
    language: str | None
    tags: tuple[str, ...]
    gold: str
    has_reference: bool = False

    @property
    def difficulty(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class TraceOutput:
    """`scores`: under every profile there is."""

    case: TraceCase
    trace: Trace
    result: TraceScore
    scores: Mapping[str, float | None]
    timings: Mapping[str, Timing] = field(default_factory=dict)

    def record(self) -> Mapping[str, Any]:
        trace, result = self.trace, self.result
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
    """One case is one trace. Novelty depends on the order of all traces, so it is computed before the first case."""

    pipeline = report.PIPELINE
    run_facts = staticmethod(report.run_facts)
    sections = staticmethod(report.sections)
    sweep_sections = staticmethod(report.sweep_sections)
    case_facts = staticmethod(report.case_facts)

    def __init__(
        self,
        *,
        dataset: Traces,
        profile: ProfileChoice,
        profiles: dict[str, Profile],
        novelty: Novelty,
        judge: Judge,
        judge_completion: bool = True,
        metrics: dict[str, Scorer] | None = None,
    ) -> None:
        if not isinstance(dataset, Traces):
            raise ConfigError([Problem("dataset", "holds no traces; dataset=traces does")])
        if DEFAULT not in profiles:
            raise ConfigError([Problem("evaluation.profiles", f"the profile '{DEFAULT}' is missing")])
        self.dataset, self.profile, self.profiles, self.novelty = dataset, profile, profiles, novelty
        self.judge_, self.judge_completion = judge, judge_completion
        self.chosen_metrics = ChosenMetrics(metrics, (), judge=judge, fields=SHOWN)
        self._traces: Sequence[Trace] = ()
        self._novelty: Mapping[str, float] = {}
        self._shares: Mapping[str, Timing] = {}

    @property
    def metrics(self) -> Sequence[Metric]:
        return (*METRICS, *TOOL_METRICS, *TRACE_METRICS, *self.chosen_metrics.metrics)

    def preflight(self) -> list[Problem]:
        return list(self.chosen_metrics.problems())

    def load(self) -> CaseSet[TraceCase]:
        cases = _Cases()
        self._traces, problems = self.dataset.read(cases.add)
        embedder = {"embedder": fingerprint(attribute_of(self.novelty, "provenance"))}
        weights = {domain: self.profile.profile_for(self.profiles, domain).weights for domain in sorted(cases.domains)}
        identity = {**cases.identity, **embedder, "trace_weights": fingerprint(weights)}
        if self._asks_judge:
            identity["judge"] = fingerprint(attribute_of(self.judge_, "provenance"))
        identity |= self.chosen_metrics.identity
        return CaseSet(cases.cases, problems, identity)

    @property
    def idle(self) -> Sequence[str]:
        """A judge that cannot say whether a task was done is not called."""
        return () if self._asks_judge else ("judge",)

    @property
    def _asks_judge(self) -> bool:
        return self._is_judged or bool(self.chosen_metrics.rubrics)

    @property
    def _is_judged(self) -> bool:
        return self.judge_completion and can_judge(self.judge_, RUBRIC)

    async def prepare(self, cases: Sequence[TraceCase], workspace: Workspace) -> Preparation:
        self._novelty = await self.novelty.of(self._traces, {case.id for case in cases}, workspace)
        await self.chosen_metrics.prepare(cases, workspace)
        self._shares = dict(self.novelty.shares) if isinstance(self.novelty, Shared) else {}
        steps = sum(case.n_steps for case in cases)
        return Preparation({"traces": {"n": len(cases), "steps": steps, "order": self.novelty.order}})

    async def run(self, case: TraceCase) -> TraceOutput:
        with stopwatch() as watch:
            trace = self._traces[case.place]
            dimensions = dimensions_of(trace, self._novelty[case.id])
            result = score_with_profile(trace, self.profile.profile_for(self.profiles, trace.domain), dimensions)
            scores = {
                name: score_with_profile(trace, profile, dimensions).score for name, profile in self.profiles.items()
            }
        share = self._shares.get(case.id)
        timings = {} if share is None else {"embedding_share": share, "scoring": watch.timing}
        return TraceOutput(case, trace, result, scores, timings)

    async def check_judge(self) -> Mapping[str, Any]:
        if not (self._asks_judge and attribute_of(self.judge_, "health")):
            return {}
        controls = [*([completion_controls()] if self._is_judged else []), *self.chosen_metrics.controls]
        return {HEALTH: await check_health(self.judge_, controls), **self.chosen_metrics.unchecked_facts}

    async def judge(self, case: TraceCase, output: TraceOutput) -> Judgements:
        judgements, fields = dict[str, Judgement](), _rubric_fields(output.trace)
        await self.chosen_metrics.add_own(case, fields, judgements)
        own = {RUBRIC: fields_of(output.trace)} if self._is_judged else {}
        await judge_missing(self.judge_, {**own, **self.chosen_metrics.judge_fields(fields)}, judgements)
        return judgements

    def score(self, case: TraceCase, output: TraceOutput | None, judgements: Judgements) -> Scores:
        if output is None:
            names = (*NAMES, *(TOOL_NAMES if case.has_reference else ()), *([RUBRIC] if self._is_judged else []))
            return self.chosen_metrics.merge_scores(Scores({}, unscored=names), case, None, judgements)
        result = output.result
        dimensions = {name: getattr(result.dimensions, name) for name in DIMENSIONS}
        rule = {} if result.score is None else {"rule": "+".join(result.rules) or "none"}
        labels = {**rule, "domain": output.trace.domain}
        expected = output.trace.expected_tools
        matches = {} if expected is None else tool_use(output.trace.calls, expected)
        judged, failed = self._judge_scores(judgements)
        own = Scores({"score": result.score, **dimensions, **matches, **judged}, unscored=failed, labels=labels)
        return self.chosen_metrics.merge_scores(
            own, case, output, judgements, self.chosen_metrics.judge_fields(_rubric_fields(output.trace))
        )

    def _judge_scores(self, judgements: Judgements) -> tuple[dict[str, float | None], tuple[str, ...]]:
        """A failed judgement counts as 0 or not at all."""
        judgement: Judgement | None = judgements.get(RUBRIC)
        if judgement is None:
            return {}, ()
        if judgement.error is None and judgement.score is not None:
            return {RUBRIC: judgement.score}, ()
        return {RUBRIC: 0.0 if self.judge_.on_failure == "zero" else None}, (RUBRIC,)

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        totals = sums(rows)
        if self.judge_completion and not self._is_judged:
            totals["trace"] = {**totals.get("trace", {}), "completion_not_judged": True}
        return totals


def _rubric_fields(trace: Trace) -> dict[str, Any]:
    """The fields of a trace for rubrics of users."""
    fields = fields_of(trace)
    shown = {"question": fields["objective"], "trace": fields["steps"], "language": fields["language"]}
    return {**shown, **({"answer": fields["result"]} if fields["result"] else {})}


class _Cases:
    """The stored parts of traces that come one after the other: cases, and hashes of their tasks and of their steps."""

    def __init__(self) -> None:
        self.cases: list[TraceCase] = []
        self.domains: set[str] = set()
        self._tasks, self._traces = hashlib.sha256(), hashlib.sha256()
        self._labels: dict[Any, Any] = {}  # what many traces share

    def add(self, trace: Trace) -> None:
        tags = tuple(dict.fromkeys(filter(None, (trace.domain, trace.quality))))
        expected = trace.expected_tools
        reference = [] if expected is None else [[[use.name, use.arguments] for use in expected]]
        gold = fingerprint([trace.domain, trace.rating, *reference])[:16]
        labels = (trace.language or detect_language(trace.objective), tags, gold, expected is not None)
        labels = self._labels.setdefault(labels, labels)
        self.domains.add(trace.domain)
        self.cases.append(TraceCase(trace.id, len(self.cases), len(trace.steps), *labels))
        self._tasks.update(fingerprint([trace.id, trace.objective, gold]).encode())
        steps = [[step.type, step.content, step.tool] for step in trace.steps]
        steps += [] if expected is None else [[use.name, use.arguments] for use in trace.calls]
        ended = [trace.success, trace.confidence, str(trace.created_at)]
        self._traces.update(fingerprint([trace.id, steps, *ended]).encode())

    @property
    def identity(self) -> dict[str, str]:
        return {"tasks": self._tasks.hexdigest(), "traces": self._traces.hexdigest()}
