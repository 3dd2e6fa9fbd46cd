"""Checks regression rules on two runs.

A rule fires where the candidate lost more than the margin and, where it demands significance, the loss has a verdict: p
is that of the comparison, two-sided and adjusted in its families (runner.compare.verdicts), so that a rule on a main
metric without a margin fires exactly where the verdict on it is "worse". p of rules on slices, which the comparison
does not test alone, is adjusted (Holm) over these rules. A rule that demands significance and does not fire is
underpowered where it would not have found the loss that matters in four of five tries: its margin, or that of
`regression` if that is larger.

A rule is an error where its name is only similar to that of a metric. It is not evaluated where a run lacks its metric,
where neither the metric nor the rule has a direction, where a run has no value (latency of a replayed run), or where
fewer than half of the cases of a run are decided; it is not comparable where the metric differs in meaning between the
runs. None of these counts as passed. p of a latency is that of runner.compare.timed, so that a varying load of the
machine does not fire. A rule for `main` stands for one rule for each main metric of the two runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from runner.compare import comparability
from runner.compare.comparability import Reason, comparable_pairs
from runner.compare.differences import PairedRuns
from runner.compare.expense import DIRECTION, Expense, is_expense
from runner.compare.flips import LABEL, RIGHT, UNTOLD, deciding_name, states
from runner.compare.regression import Regression, Rule
from runner.compare.slices import slices_of
from runner.compare.snapshots import Bools, Cases, Snapshot
from runner.compare.timed import Doubt
from runner.compare.verdicts import Adjusted
from runner.errors import InputError, did_you_mean
from runner.metrics import paired
from runner.metrics.catalogue import built_in_catalogue
from runner.metrics.metric import Catalogue
from runner.metrics.paired import PairedResult
from runner.metrics.swaps import ALPHA

Status = Literal["passed", "fired", "underpowered", "not_evaluated", "not_comparable"]
MAIN = "main"  # stands for every main metric
ROUNDING = 1e-9  # a loss of exactly the margin does not fire
POWER = 0.8416212335729143  # standard errors that a loss lies beyond the margin in four of five tries


@dataclass(frozen=True, slots=True)
class RuleResult:
    """`loss`: by how much the candidate is worse: absolute, or as a share of the baseline for a relative rule; so are
    `detectable`, the smallest loss with which the rule fires in four of five tries, and `matters`, the loss that a rule
    which demands significance is to find. `detectable`: None where no loss is found, or nothing says which. `doubt`:
    why a loss of latency is not significant."""

    rule: Rule
    status: Status
    n: int = 0
    baseline: float | None = None
    candidate: float | None = None
    loss: float | None = None
    p: float | None = None
    p_holm: float | None = None
    reasons: tuple[Reason, ...] = ()
    detectable: float | None = None
    matters: float | None = None
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case that must not break. `was_right`: in the baseline; None where it is unknown."""

    id: str
    status: Status
    was_right: bool | None = None
    lost_at: str | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """The results of the rules of `regression`, and of the cases that must not break."""

    rules: Sequence[RuleResult]
    cases: Sequence[CaseResult]

    @property
    def fired(self) -> bool:
        """Whether any rule or any case fired."""
        return "fired" in [*(rule.status for rule in self.rules), *(case.status for case in self.cases)]


def gate_of(
    regression: Regression,
    runs: PairedRuns,
    expenses: Sequence[Expense],
    adjusted: Mapping[str, Adjusted],
    *,
    main: Sequence[str] = (),
    allow_incomparable: bool,
) -> Gate:
    """Evaluate the regression rules.

    Args:
        regression: the rules.
        runs: a pair of runs.
        expenses: latencies and costs of both runs.
        adjusted: p of the comparison, by metric.
        main: the main metrics of both runs.
        allow_incomparable: whether metrics that were measured differently are compared, too.

    Returns:
        The result of each rule and of each case that must not break.

    Raises:
        InputError: a rule names an unknown metric or case.
    """
    rules = [
        (replace(rule, metric=metric), f"regression.rules.{number}")
        for number, rule in enumerate(regression.rules)
        for metric in (main if rule.metric == MAIN else [_name_of(rule, runs)])
    ]
    n_apart = sum(rule.significant and _is_apart(rule, adjusted) for rule, _ in rules)
    given = {expense.name: expense for expense in expenses}
    checked = _RuleCheck(runs, given, adjusted, n_apart, regression.margin, allow_incomparable)
    results = [checked.result(rule, key) for rule, key in rules]
    cases = [checked.case(id) for id in regression.must_not_break]
    return Gate(_decide(results, adjusted), cases)


def _name_of(rule: Rule, runs: PairedRuns) -> str:
    """How the runs call the metric of a rule."""
    names = [*runs.candidate.metrics, *runs.baseline.metrics]
    return runs.catalogue.name_among(rule.metric, names) or rule.metric


def demand_known(regression: Regression, metrics: Collection[str], side: str, catalogue: Catalogue) -> None:
    """Refuse rules with misspelt metrics.

    Args:
        regression: the rules.
        metrics: the names of a run.
        side: which run has them, for the message.
        catalogue: the metrics that the runs declare.

    Raises:
        InputError: the metric of a rule is unknown, and similar to one of the run or to a declared one.
    """
    for number, rule in enumerate(regression.rules):
        if rule.metric != MAIN and not is_expense(rule.metric) and catalogue.name_among(rule.metric, metrics) is None:
            _refuse_misspelt(rule.metric, metrics, f"regression.rules.{number}", side, catalogue)


def _refuse_misspelt(metric: str, known: Collection[str], key: str, side: str, catalogue: Catalogue) -> None:
    declared = Catalogue([*catalogue.metrics, *built_in_catalogue().metrics])
    variant = declared.variant(declared.normal_name(metric))
    if variant.metric is None:
        near = did_you_mean(metric, [*known, *declared.spellings])
    else:
        near = did_you_mean(metric, known) if variant.fixed is not None else ""
    if "did you mean" in near:
        raise InputError(f"{key}: the {side} has no metric '{metric}'{near}")


def _is_apart(rule: Rule, adjusted: Mapping[str, Adjusted]) -> bool:
    """Whether the comparison has no p for the rule, so that it is adjusted here."""
    return bool(rule.slice) or rule.metric not in adjusted


def _decide(results: Sequence[RuleResult], adjusted: Mapping[str, Adjusted]) -> list[RuleResult]:
    tested = [place for place, result in enumerate(results) if result.p is not None and result.rule.significant]
    apart = [place for place in tested if _is_apart(results[place].rule, adjusted)]
    p_holm = {place: adjusted[results[place].rule.metric].p for place in tested if place not in apart}
    p_holm |= zip(apart, paired.holm([results[place].p or 0.0 for place in apart]), strict=True)
    return [_decide_one(replace(result, p_holm=p_holm.get(place))) for place, result in enumerate(results)]


def _decide_one(result: RuleResult) -> RuleResult:
    if result.status != "passed" or result.loss is None:
        return result
    is_certain = result.p_holm is not None and result.p_holm < ALPHA
    if result.loss > result.rule.margin + ROUNDING and (is_certain or not result.rule.significant):
        return replace(result, status="fired")
    return result if _finds_what_matters(result) else replace(result, status="underpowered")


def _finds_what_matters(result: RuleResult) -> bool:
    """True also where nothing says which losses matter, as of latencies."""
    if not result.rule.significant or result.matters is None:
        return True
    return result.detectable is not None and result.detectable <= result.matters + ROUNDING


class _RuleCheck:
    """Evaluates rules on one comparison."""

    def __init__(
        self,
        runs: PairedRuns,
        expenses: Mapping[str, Expense],
        adjusted: Mapping[str, Adjusted],
        n_apart: int,
        margin: float,
        allow_incomparable: bool,
    ) -> None:
        """`n_apart`: rules whose p is adjusted by themselves; `margin`: the least difference that counts, a share of
        the range of a metric."""
        self._runs, self._expenses, self._allow = runs, expenses, allow_incomparable
        self._adjusted, self._n_apart, self._margin = adjusted, n_apart, margin

    def result(self, rule: Rule, key: str) -> RuleResult:
        if is_expense(rule.metric):
            return self._of_expense(rule, key)
        baseline, candidate, catalogue = self._runs.baseline.metrics, self._runs.candidate.metrics, self._runs.catalogue
        if rule.metric not in candidate and rule.metric not in baseline:
            _refuse_misspelt(rule.metric, candidate, key, "candidate", catalogue)
        if rule.metric not in baseline or rule.metric not in candidate:
            return RuleResult(
                rule, "not_evaluated", reasons=tuple(comparability.missing_reasons(self._runs, rule.metric))
            )
        rule = replace(rule, direction=rule.direction or self._runs.catalogue.direction(rule.metric))
        if rule.direction is None:
            return RuleResult(rule, "not_evaluated", reasons=(Reason("direction"),))
        obstacles = tuple(comparability.reasons(self._runs, rule.metric))
        if any(reason.kind == "missing" for reason in obstacles):
            return RuleResult(rule, "not_evaluated")
        if any(not reason.is_note and not (reason.is_grave and self._allow) for reason in obstacles):
            return RuleResult(rule, "not_comparable", reasons=obstacles)
        chosen = self._choose(rule, obstacles)
        compared = self._runs.differences([rule.metric], chosen)[rule.metric]
        difference = compared.numbers
        if difference is None:
            return RuleResult(rule, "not_evaluated")
        if compared.is_undecided:
            n_undecided = max(compared.undecided_baseline, compared.undecided_candidate)
            return RuleResult(rule, "not_evaluated", reasons=(Reason("undecided", n_cases=n_undecided),))
        numbers = (difference.baseline, difference.candidate)
        found = RuleResult(rule, "passed", difference.n, *numbers, _loss(rule, *numbers), reasons=obstacles)
        return replace(
            found,
            p=difference.p if difference.is_enough else None,
            detectable=self._detectable(rule, difference),
            matters=max(rule.margin, _as_loss(rule, self._margin * self._runs.catalogue.span(rule.metric), difference))
            or None,
        )

    def _detectable(self, rule: Rule, difference: PairedResult) -> float | None:
        """The smallest loss with which the rule fires in four of five tries."""
        beyond = rule.margin + _as_loss(rule, POWER * difference.power.error, difference)
        if not rule.significant:
            return beyond
        tests = self._n_apart if _is_apart(rule, self._adjusted) else self._adjusted[rule.metric].tests
        found = difference.detectable(tests) if difference.is_enough else None
        return None if found is None else max(_as_loss(rule, found, difference), beyond)

    def _of_expense(self, rule: Rule, key: str) -> RuleResult:
        """Evaluate a rule on latency or cost, over all cases, since slices have none."""
        known = {*self._expenses, "latency.case.p50_ms", "latency.case.p95_ms", "cost.usd", "cost.tokens"}
        if rule.metric not in known:
            raise InputError(f"{key}: neither run has '{rule.metric}'{did_you_mean(rule.metric, known)}")
        if rule.slice:
            raise InputError(f"{key}: '{rule.metric}' is that of all cases; leave out the slice")
        rule = replace(rule, direction=rule.direction or DIRECTION)
        expense = self._expenses.get(rule.metric)
        if expense is None or expense.baseline is None or expense.candidate is None:
            return RuleResult(rule, "not_evaluated")
        n, is_lower = min(expense.n_baseline, expense.n_candidate), rule.direction == "lower"
        p = expense.p if is_lower else expense.p_faster
        if rule.significant and p is None:
            raise InputError(f"{key}: significance cannot be tested for '{rule.metric}'; leave out significant")
        loss = _loss(rule, expense.baseline, expense.candidate)
        doubt = expense.doubt if is_lower and rule.significant else None
        return RuleResult(rule, "passed", n, expense.baseline, expense.candidate, loss, p, doubt=doubt)

    def _choose(self, rule: Rule, reasons: Sequence[Reason]) -> Bools:
        """The pairs of the slice, without those with changed questions or labels."""
        pairs_mask = comparable_pairs(self._runs, rule.metric, reasons)
        for dimension, value in rule.slice.items():
            masks = {(name, label): mask for name, label, mask in slices_of(self._runs)}
            pairs_mask = pairs_mask & masks.get((dimension, value), np.zeros(len(pairs_mask), dtype=bool))
        return pairs_mask

    def case(self, id: str) -> CaseResult:
        by = deciding_name(self._runs.baseline, self._runs.candidate)
        if by is None:
            raise InputError("regression.must_not_break: these runs do not record which cases are right")
        before, after = self._places(id)
        if before is None and after is None:
            raise InputError(f"regression.must_not_break: no case has the id '{id}'")
        cases = self._runs.candidate.cases
        was_right, is_right = _is_right(self._runs.baseline.cases, by, before), _is_right(cases, by, after)
        if after is None or is_right is None:
            return CaseResult(id, "not_evaluated", was_right)
        lost_at = cases.labels[LABEL][after] if LABEL in cases.labels else None
        return CaseResult(id, "passed" if is_right else "fired", was_right, lost_at)

    def _places(self, id: str) -> tuple[int | None, int | None]:
        """The places of a case in both runs; where a run has it under another id, that of its pair."""
        runs, pairing = self._runs, self._runs.pairing
        before, after = (_place(run, id) for run in (runs.baseline, runs.candidate))
        if after is None and before is not None:
            after = next(iter(pairing.candidate[pairing.baseline == before].tolist()), None)
        elif before is None and after is not None:
            before = next(iter(pairing.baseline[pairing.candidate == after].tolist()), None)
        return before, after


def _is_right(cases: Cases, by: str, place: int | None) -> bool | None:
    """Whether a case is right; None where the run lacks it, or where nothing decides, such as exact match without a
    known answer."""
    state = UNTOLD if place is None else int(states(cases, by)[place])
    return None if state == UNTOLD else state == RIGHT


def _place(run: Snapshot, id: str) -> int | None:
    return run.cases.ids.index(id) if id in run.cases.ids else None


def _as_loss(rule: Rule, difference: float, numbers: PairedResult) -> float:
    """A difference in the unit of the rule."""
    if not rule.relative:
        return difference
    return difference / abs(numbers.baseline) if numbers.baseline else float("inf")


def _loss(rule: Rule, baseline: float, candidate: float) -> float:
    loss = baseline - candidate if rule.direction == "higher" else candidate - baseline
    if not rule.relative:
        return loss
    if baseline == 0:
        return 0.0 if loss <= 0 else float("inf")
    return loss / abs(baseline)
