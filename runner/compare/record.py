"""compare.json: a comparison as JSON. Reports are made from it.

verdict, exit_code, baseline, candidate, pairing, config_difference, not_comparable
corpus      null, or what changed in the documents: added, removed, edited (null where that is not known), and the
            cases with changed documents among their gold or retrieved ones
declared    what the metrics are (runner.metrics.metric); one that nobody declared has no direction and no verdict
metrics     name, role (main | other | leg), direction, n_paired, baseline, candidate, difference, ci_low, ci_high, p,
            p_holm (adjusted for `tests`), effect_size (d_z), mde (the difference that gets a verdict in four of five
            tries; null where even the largest does not), finds {difference: of .05 of the range, share: of tries in
            which it gets a verdict}, n_differing, n_clusters (null: independent cases), widening
            (of the interval by the clusters), verdict,
            mcnemar {b: only the baseline is right, c: only the candidate, p}, judge_noise, left_out (pairs in
            which a run could not be scored), failed {baseline, candidate} (of which some count as 0), undecided
            {baseline, candidate} (which count as the middle of the range), caveats
clusters    what makes cases depend on each other: the choice of the baseline and of the candidate, which counts, the
            field (null for several), the number `n` of clusters among the pairs, n_alone: pairs that belong to none
slices      the same of main metrics, with dimension and value
latency, cost, gate {fired, rules, cases}, flips {by, right_in_both, wrong_in_both, lost, won}
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from runner.compare.compare import ComparedMetric, Comparison
from runner.compare.expense import Expense
from runner.compare.gate import RuleResult
from runner.compare.sides import Side
from runner.metrics.catalogue import DECLARED
from runner.metrics.metric import Catalogue
from runner.metrics.swaps import ALPHA

SCHEMA = 1
KIND = "runner.comparison"
FIVE_POINTS = 0.05  # of the range of a metric: a loss that people ask about
ANCHORED = ("cases", "moved", "vanished")
OF_RUN = ("id", "experiment", "evaluation_type", "k", "status", "created_at", "git", "choices", "sweep_id")


def record_of(comparison: Comparison, *, fail_on_regression: bool) -> dict[str, Any]:
    """Args:
        comparison: of two runs.
        fail_on_regression: whether a rule that fires ends the command with exit code 4.

    Returns:
        The content of compare.json: JSON values without NaN and infinity.
    """
    flips, gate = comparison.flips, comparison.gate
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "verdict": comparison.verdict,
        "exit_code": comparison.exit_code(fail_on_regression=fail_on_regression),
        "baseline": _side(comparison.baseline),
        "candidate": _side(comparison.candidate),
        "alpha": ALPHA,
        "margin": comparison.margin,
        "family": comparison.family,
        "clusters": asdict(comparison.clusters),
        "allow_incomparable": comparison.allow_incomparable,
        "comparability": "strict" if comparison.strict else "lenient",
        "corpus": None if comparison.corpus is None else asdict(comparison.corpus),
        "pairing": _pairing(comparison),
        "config_difference": [asdict(setting) for setting in comparison.config_difference],
        DECLARED: comparison.catalogue.record(_names(comparison)),
        "metrics": [_metric(compared, comparison.catalogue) for compared in comparison.metrics],
        "not_comparable": [asdict(entry) for entry in comparison.not_comparable],
        "slices": [
            {"dimension": row.dimension, "value": row.value, **_metric(row.compared, comparison.catalogue)}
            for row in comparison.slices
        ],
        "latency": [_expense(expense) for expense in comparison.latency],
        "cost": [_expense(expense) for expense in comparison.cost],
        "gate": {
            "fired": gate.fired,
            "fails": fail_on_regression,
            "rules": [_rule(result) for result in gate.rules],
            "cases": [asdict(result) for result in gate.cases],
        },
        "flips": {
            "by": flips.by,
            "right_in_both": flips.right_in_both,
            "wrong_in_both": flips.wrong_in_both,
            "lost": [asdict(flip) for flip in flips.lost],
            "won": [asdict(flip) for flip in flips.won],
        },
    }


def _names(comparison: Comparison) -> list[str]:
    """The names of all metrics in the record."""
    compared = [each.difference.metric for each in comparison.metrics]
    rules = [result.rule.metric for result in comparison.gate.rules]
    by = [comparison.flips.by or ""]
    return [*compared, *(entry.metric for entry in comparison.not_comparable), *rules, *by]


def _side(side: Side) -> dict[str, Any]:
    run = side.snapshot.run
    return {"label": side.label, **{name: run.get(name) for name in OF_RUN}, "n_cases": len(side.snapshot.cases)}


def _pairing(comparison: Comparison) -> dict[str, Any]:
    anchored = comparison.anchored
    pairing, ids = comparison.pairing, comparison.candidate.snapshot.cases.ids
    return {
        "n_paired": len(pairing),
        "by_id": pairing.by_id,
        "by_content": pairing.by_content,
        "only_baseline": list(pairing.only_baseline),
        "only_candidate": list(pairing.only_candidate),
        "new_question": [ids[place] for place in pairing.candidate[pairing.new_question]],
        "anchored": None if anchored is None else {name: getattr(anchored, name) for name in ANCHORED},
        "new_gold": [ids[place] for place in pairing.candidate[pairing.new_gold]],
    }


def _metric(compared: ComparedMetric, catalogue: Catalogue) -> dict[str, Any]:
    difference, numbers = compared.difference, compared.numbers
    chances = difference.mcnemar
    return {
        "name": difference.metric,
        "role": compared.role,
        "direction": catalogue.direction(difference.metric),
        "n_paired": numbers.n,
        "baseline": numbers.baseline,
        "candidate": numbers.candidate,
        "difference": numbers.difference,
        "ci_low": numbers.low,
        "ci_high": numbers.high,
        "p": numbers.p,
        "p_holm": compared.adjusted.p,
        "tests": compared.adjusted.tests,
        "effect_size": numbers.effect_size,
        "mde": compared.detectable,
        "finds": {"difference": looked_for, "share": numbers.power.finds(looked_for, compared.adjusted.tests)}
        if (looked_for := FIVE_POINTS * catalogue.span(difference.metric)) and numbers.is_enough
        else None,
        "n_differing": numbers.power.differing,
        "n_clusters": numbers.n_clusters,
        "widening": numbers.widening,
        "verdict": compared.verdict,
        "mcnemar": None if chances is None else {"b": chances.lost, "c": chances.won, "p": chances.p},
        "judge_noise": difference.judge_noise,
        "left_out": difference.left_out,
        "failed": {"baseline": difference.failed_baseline, "candidate": difference.failed_candidate},
        "undecided": {"baseline": difference.undecided_baseline, "candidate": difference.undecided_candidate},
        "caveats": [asdict(reason) for reason in compared.caveats],
    }


def _expense(expense: Expense) -> dict[str, Any]:
    return {**asdict(expense), "difference": expense.difference}


def _rule(result: RuleResult) -> dict[str, Any]:
    found = asdict(result)
    known = {name: None if found[name] == float("inf") else found[name] for name in ("loss", "detectable", "matters")}
    return {**found.pop("rule"), **found, **known}
