"""Cases of which nothing tells whether they are right, and cases that were decided in different ways."""

from collections.abc import Sequence

import numpy as np
import pytest

from runner.compare.cells import Cells
from runner.compare.comparability import reasons
from runner.compare.compare import Comparison, compare
from runner.compare.regression import Regression, RuleSettings
from runner.compare.snapshots import Snapshot
from tests.comparison_runs import cases, paired, side, snapshot

NOTHING = float("nan")
IDS = [f"{number:02}" for number in range(20)]


def answered(values: Sequence[float], by: str | Sequence[str] = "words", **columns: object) -> Snapshot:
    """Twenty answers; `by` names the rule of each."""
    rules = [by] * len(values) if isinstance(by, str) else list(by)
    pairs = zip(values, rules, strict=True)
    rules = ["undecided" if np.isnan(value) and rule == "words" else rule for value, rule in pairs]
    return snapshot(cases(IDS, {"right": values}, labels={"right_by": rules}, **columns))


def compared(baseline: Snapshot, candidate: Snapshot, *, rules: Sequence[RuleSettings] = ()) -> Comparison:
    before, after = side(baseline.cases, "before"), side(candidate.cases, "after")
    return compare(before, after, Regression(margin=0.02, rules=list(rules), must_not_break=[]), seed=1)


def test_an_undecided_case_counts_half_and_its_pair_stays_in() -> None:
    before, after = [1.0] * 10 + [0.0] * 10, [1.0] * 8 + [NOTHING] * 4 + [0.0] * 8
    difference = paired(answered(before), answered(after)).differences(["right"])["right"]
    assert difference.numbers is not None
    assert (difference.numbers.n, difference.numbers.baseline, difference.numbers.candidate) == (20, 0.5, 0.5)
    assert (difference.undecided_baseline, difference.undecided_candidate, difference.left_out) == (0, 4, 0)
    assert not difference.is_undecided


def test_a_case_whose_judge_failed_is_left_out() -> None:
    failed = answered([NOTHING] + [1.0] * 19, "correctness", unscored={"right": {"00": 1.0}})
    difference = paired(answered([1.0] * 20, "correctness"), failed).differences(["right"])["right"]
    assert difference.numbers is not None and difference.numbers.n == 19
    assert (difference.left_out, difference.undecided_candidate) == (1, 0)


@pytest.mark.parametrize(
    ("n_undecided", "verdict", "status"), [(10, "better", "passed"), (11, "undecided", "not_evaluated")]
)
def test_fewer_than_half_decided_decides_no_verdict_and_no_gate(n_undecided: int, verdict: str, status: str) -> None:
    after = [NOTHING] * n_undecided + [1.0] * (20 - n_undecided)
    found = compared(answered([0.0] * 20), answered(after), rules=[{"metric": "right", "margin": 0.0}])
    assert found.verdict == verdict
    (rule,) = found.gate.rules
    assert (rule.status, [reason.kind for reason in rule.reasons]) == (status, ["undecided"] * (n_undecided == 11))
    assert found.exit_code(fail_on_regression=True) == 0


def test_pairs_that_were_decided_in_different_ways_are_left_out_and_listed() -> None:
    after = answered([1.0] * 20, ["correctness"] * 3 + ["words"] * 17)
    found = compared(answered([1.0] * 20), after)
    (right,) = found.metrics
    assert right.numbers.n == 17
    assert [(reason.kind, reason.n_cases, reason.cases) for reason in right.caveats] == [
        ("new_rule", 3, ("00", "01", "02"))
    ]
    assert found.exit_code(fail_on_regression=True) == 0


def test_all_pairs_decided_in_different_ways_are_not_comparable() -> None:
    """A refusal is a refusal, whoever would have compared the answer: it alone does not make two runs comparable."""
    before, after = answered([1.0] * 20, ["declined", *["words"] * 19]), answered([0.0] * 20, "correctness")
    found = compared(before, after)
    assert [reason.kind for reason in reasons(paired(before, after), "right")] == ["rule"]
    assert (found.verdict, found.exit_code(fail_on_regression=False)) == ("not_comparable", 5)
    assert [flip.id for flip in found.flips.lost] == ["00"]


@pytest.mark.parametrize("rule", ["declined", "unknown", "reference", "undecided", "needs_model"])
def test_rules_of_one_kind_are_compared(rule: str) -> None:
    assert reasons(paired(answered([1.0] * 20), answered([1.0] * 20, rule)), "right") == []


def test_a_sweep_counts_half_too_and_its_means_are_those_of_decided_cases() -> None:
    runs = {"0": answered([1.0] * 10 + [0.0] * 10), "1": answered([1.0] * 10 + [NOTHING] * 10)}
    cells = Cells(runs, seed=1)
    rows = cells.rows("right", list(runs))
    assert rows.all() and cells.mean("right", "1", rows) == 1.0
    assert cells.between("0", "1", {"right": rows})["right"].difference == 0.25
    assert not cells.is_undecided("right", "1", rows)
