import math
import re
from functools import partial
from typing import Any

import numpy as np
import pytest

from runner.compare.comparability import Reason
from runner.compare.expense import latencies
from runner.compare.gate import Gate, RuleResult, _decide, demand_known, gate_of
from runner.compare.regression import Regression, Rule
from runner.compare.verdicts import Adjusted
from runner.errors import InputError
from runner.metrics.catalogue import built_in_catalogue
from runner.metrics.metric import Catalogue, Metric
from tests.comparison_runs import cases, paired, snapshot

IDS = [f"{number:02d}" for number in range(20)]
HALF = [0.0, 1.0] * 10


def rule(metric: str = "mrr_at_10", margin: float = 0.05, **settings: Any) -> dict[str, Any]:
    return {"metric": metric, "margin": margin, **settings}


def gate(
    rules: list[dict[str, Any]], baseline: Any = None, candidate: Any = None, cases_: list[str] | None = None,
    allow: bool = False, adjusted: dict[str, Adjusted] | None = None,
) -> Gate:  # fmt: skip
    one, other = baseline or run(HALF), candidate or run(HALF)
    runs = paired(one, other)
    regression = Regression(rules=rules, must_not_break=cases_ or [])  # type: ignore[arg-type]
    return gate_of(regression, runs, latencies(one, other, seed=1), adjusted or {}, allow_incomparable=allow)


def run(values: list[float], p95_ms: float | None = None, **columns: Any) -> Any:
    changes = {name: columns.pop(name) for name in ("run", "identity", "catalogue") if name in columns}
    timing = {"latency": {"case": {"p50_ms": p95_ms, "p95_ms": p95_ms, "n": 0 if p95_ms is None else 20}}}
    latency = [np.nan if p95_ms is None else p95_ms] * 20
    found = cases(IDS, {"mrr_at_10": values, "recall_at_k": values}, latency_ms=latency, **columns)
    return snapshot(found, timing=timing, metrics=["mrr_at_10", "recall_at_k", "mean_faithfulness"], **changes)


def loses(share: float) -> Any:
    """Half the cases are right in the baseline; the candidate has `share` of all less."""
    n = round(share * 20)
    return run([0.0 if number < 2 * n else value for number, value in enumerate(HALF)])


def test_a_relative_margin_is_a_share_of_the_size_of_a_negative_mean() -> None:
    catalogue = Catalogue([Metric(name="mrr_at_10", better="higher", label={"en": "Profit"}, range=(-10.0, 10.0))])
    before, after = (run(values, catalogue=catalogue) for values in ([-4.0] * 20, [-5.0] * 20))
    (worse,) = gate([rule(margin=0.2, relative=True)], before, after).rules
    (better,) = gate([rule(margin=0.2, relative=True)], after, before).rules
    assert (worse.status, worse.loss, better.status, better.loss) == ("fired", 0.25, "passed", -0.2)


@pytest.mark.parametrize(("share", "status"), [(0.0, "passed"), (0.05, "passed"), (0.1, "fired")])
def test_a_loss_beyond_the_margin_fires(share: float, status: str) -> None:
    """A loss of exactly the margin does not: a drop of more than 5 points is a regression."""
    (result,) = gate([rule()], candidate=loses(share)).rules
    assert (result.status, result.n, result.baseline) == (status, 20, 0.5)
    assert result.loss == pytest.approx(share)


def test_a_rule_takes_the_direction_of_its_metric_where_it_has_none() -> None:
    catalogue = Catalogue([Metric(name="mrr_at_10", better="lower", label={"en": "Wrong"})])
    run_of = partial(run, catalogue=catalogue)
    higher, lower = run_of(HALF), run_of([0.0] * 20)
    (found,) = gate([rule()], lower, higher).rules
    assert (found.status, found.rule.direction, found.loss) == ("fired", "lower", 0.5)
    assert gate([rule()], higher, lower).rules[0].status == "passed"
    (told,) = gate([rule(direction="higher")], lower, higher).rules
    assert (told.status, told.rule.direction) == ("passed", "higher")


@pytest.mark.parametrize("declared", [[], [Metric(name="mrr_at_10", better="neither", label={"en": "Size"})]])
def test_a_rule_on_a_metric_of_which_nothing_says_which_way_is_better_is_not_evaluated(declared: list[Metric]) -> None:
    run_of = partial(run, catalogue=Catalogue(declared))
    found = gate([rule()], run_of(HALF), run_of([0.0] * 20))
    assert (found.rules[0].status, found.fired) == ("not_evaluated", False)
    assert [reason.kind for reason in found.rules[0].reasons] == ["direction"]
    assert gate([rule(direction="higher")], run_of(HALF), run_of([0.0] * 20)).fired


def test_a_gain_is_no_loss() -> None:
    found = gate([rule(margin=0.0)], candidate=run([1.0] * 20))
    assert not found.fired and found.rules[0].loss == pytest.approx(-0.5)


def test_relative_margins() -> None:
    """Losing .1 of .5 is 20 %."""
    assert not gate([rule(margin=0.21, relative=True)], candidate=loses(0.1)).fired
    found = gate([rule(margin=0.19, relative=True)], candidate=loses(0.1))
    assert found.fired and found.rules[0].loss == pytest.approx(0.2)
    nothing = run([0.0] * 20)
    assert not gate([rule(margin=0.5, relative=True)], nothing, nothing).fired
    (endless,) = gate([rule(margin=9.0, relative=True, direction="lower")], nothing, run(HALF)).rules
    assert (endless.status, endless.loss) == ("fired", math.inf)


def test_lower_may_be_better() -> None:
    found = gate([rule(direction="lower")], candidate=loses(0.2))
    assert not found.fired and found.rules[0].loss == pytest.approx(-0.2)
    assert gate([rule(direction="lower")], loses(0.2), run(HALF)).fired


def test_significance_is_demanded() -> None:
    """Two of 20 questions lost: p = 1/2. Six lost: 1/32."""
    few = gate([rule(margin=0.05, significant=True)], candidate=loses(0.1))
    assert not few.fired and few.rules[0].p == few.rules[0].p_holm == 0.5
    many = gate([rule(margin=0.05, significant=True)], candidate=loses(0.3))
    assert many.fired and many.rules[0].p == pytest.approx(1 / 32)
    assert gate([rule(margin=0.05)], candidate=loses(0.1)).fired


def test_what_is_more_than_chance_goes_by_the_direction() -> None:
    """Six of 20 higher is a loss where lower is better; six lower is none, however certain."""
    down = rule(direction="lower", significant=True)
    (lost,), (won,) = (gate([down], *sides).rules for sides in ((loses(0.3), loses(0.0)), (loses(0.0), loses(0.3))))
    assert lost.p == won.p == pytest.approx(1 / 32)
    assert (lost.status, won.status) == ("fired", "underpowered")


def test_a_rule_takes_the_p_of_the_comparison() -> None:
    """Six lost, p = 1/32: beside other metrics that may be chance. A rule on a metric that the comparison tests alone
    is not adjusted for the other rules."""
    rules = [rule(margin=0.0, significant=True)]
    beside = gate(rules, candidate=loses(0.3), adjusted={"mrr_at_10": Adjusted(4 / 32, 4)})
    assert (beside.rules[0].p_holm, beside.fired) == (4 / 32, False)
    alone = gate(rules * 3, candidate=loses(0.3), adjusted={"mrr_at_10": Adjusted(1 / 32, 1)})
    assert [result.status for result in alone.rules] == ["fired"] * 3


def test_rules_on_slices_are_adjusted_together() -> None:
    """Six lost: p = 1/32, twice that for two rules; the rule that demands nothing does not count."""
    tagged = partial(run, tags=[["billing"]] * 20)
    before, after = tagged(HALF), tagged([0.0] * 12 + HALF[12:])
    in_slice = rule(margin=0.0, significant=True, slice={"tag": "billing"})
    one = gate([in_slice, rule(margin=0.0)], before, after)
    assert [result.status for result in one.rules] == ["fired", "fired"]
    assert (one.rules[0].p_holm, one.rules[1].p_holm) == (pytest.approx(1 / 32), None)
    two = gate([in_slice] * 2, before, after, adjusted={"mrr_at_10": Adjusted(1 / 32, 1)})
    assert [result.p_holm for result in two.rules] == pytest.approx([1 / 16, 1 / 16])
    assert not two.fired
    unknown = rule("mean_faithfulness", margin=0.0, significant=True)  # has no value: it is no test
    told = gate([in_slice, unknown], before, after).rules
    assert [result.p_holm for result in told] == [pytest.approx(1 / 32), None]


def test_a_gate_says_what_it_would_have_found() -> None:
    """Four of 20 lost, none won: chance, p = 1/8. With four that change, 20 cases find a loss of .37, not one of .02; a
    rule with a margin finds .84 standard errors more than that in four of five tries."""
    significant, plain = rule(margin=0.0, significant=True), rule(margin=0.25)
    found = gate([significant, plain], candidate=loses(0.2)).rules
    assert [result.status for result in found] == ["underpowered", "passed"]
    assert found[0].detectable == pytest.approx(0.366, abs=0.001) and found[0].matters == 0.02
    error = np.std([1.0] * 4 + [0.0] * 16, ddof=1) / math.sqrt(20)
    assert found[1].detectable == pytest.approx(0.25 + 0.8416 * error, abs=1e-4)


def test_a_rule_that_sees_its_own_margin_passes() -> None:
    (result,) = gate([rule(margin=0.4, significant=True)], candidate=loses(0.2)).rules
    assert (result.status, result.matters) == ("underpowered", 0.4)  # .366, and .4 by chance more
    assert result.detectable is not None and result.detectable > 0.4
    level, wavy = run([0.5] * 20), run([0.5 + 0.001 * (-1) ** n for n in range(20)])
    (steady,) = gate([rule(margin=0.0, significant=True)], level, wavy).rules
    assert steady.status == "passed" and steady.detectable is not None and steady.detectable < 0.001


def test_a_rule_on_too_few_cases_neither_fires_nor_passes() -> None:
    tagged = partial(run, tags=[["rare"]] * 8 + [[]] * 12)
    before, after = tagged([1.0] * 20), tagged([0.0] * 20)
    (result,) = gate([rule(margin=0.0, significant=True, slice={"tag": "rare"})], before, after).rules
    assert (result.n, result.status, result.detectable) == (8, "underpowered", None)


def test_a_p_that_is_too_small_for_a_number_is_no_chance() -> None:
    """Of 1,100 pairs that all lost it is 2**-1100, which is stored as 0."""
    lost = RuleResult(Rule("recall_at_k", "higher", 0.05, significant=True), "passed", n=1100, loss=0.5, p=2.0**-1100)
    assert [(result.status, result.p_holm) for result in _decide([lost], {})] == [("fired", 0.0)]


def test_a_slice() -> None:
    """The Korean half loses everything."""
    languages = ["ko", "ko", "en", "en"] * 5
    candidate = run([0.0 if language == "ko" else value for language, value in zip(languages, HALF, strict=True)])
    candidate = snapshot(cases(IDS, {"mrr_at_10": candidate.cases.values["mrr_at_10"]}, language=languages))
    korean, english, french = gate(
        [rule(slice={"language": name}) for name in ("ko", "en", "fr")], candidate=candidate
    ).rules
    assert (korean.status, korean.n, korean.loss) == ("fired", 10, pytest.approx(0.5))
    assert (english.status, english.loss) == ("passed", 0.0)
    assert (french.status, french.n, french.loss) == ("not_evaluated", 0, None)


def test_a_misspelt_metric_is_an_error() -> None:
    with pytest.raises(
        InputError, match=r"^regression\.rules\.1: the candidate has no metric 'mrr_at_1O'; did you mean 'mrr_at_10'\?$"
    ):
        gate([rule(), rule("mrr_at_1O")])
    with pytest.raises(
        InputError, match=r"^regression\.rules\.0: neither run has 'latency\.cace\.p95_ms'; did you mean"
    ):
        gate([rule("latency.cace.p95_ms")])


def test_a_metric_that_the_candidate_lacks_is_not_evaluated() -> None:
    (found,) = gate([rule()], run(HALF), snapshot(cases(IDS, {"recall_at_k": HALF}))).rules
    assert found.status == "not_evaluated"
    assert found.reasons == (Reason("missing", ("candidate",)),)


def test_a_metric_that_neither_run_has_is_not_evaluated() -> None:
    found = gate([rule("toxicity"), rule("right"), rule()], run(HALF), run(HALF)).rules
    assert [result.status for result in found] == ["not_evaluated", "not_evaluated", "passed"]
    assert [reason.kind for reason in found[0].reasons] == ["missing", "missing"]


def test_a_metric_that_is_newer_than_the_baseline_is_not_evaluated() -> None:
    """All that is older than a metric would have to be measured anew before anything could be compared."""
    baseline = snapshot(cases(IDS, {"recall_at_k": HALF}))
    (found,) = gate([rule()], baseline, run(HALF)).rules
    assert (found.status, [reason.names for reason in found.reasons]) == ("not_evaluated", [("baseline",)])


def test_a_rule_for_main_is_one_for_each_main_metric() -> None:
    values = {"recall_at_k": HALF, "mrr_at_10": HALF}
    runs = paired(*(snapshot(cases(IDS, values)) for _ in range(2)))
    rules = Regression(rules=[rule("main", 0.0, significant=True)], must_not_break=[])
    found = gate_of(rules, runs, [], {}, main=["recall_at_k", "mrr_at_10"], allow_incomparable=False)
    assert [result.rule.metric for result in found.rules] == ["recall_at_k", "mrr_at_10"]
    demand_known(rules, {"recall_at_k": 1}, "baseline", built_in_catalogue())


def test_before_a_run_starts() -> None:
    regression = Regression(rules=[rule("latency.case.p95_ms"), rule("hitrate_at_1")], must_not_break=[])
    with pytest.raises(InputError, match=r"^regression\.rules\.1: the baseline has no metric 'hitrate_at_1'; did you"):
        demand_known(regression, {"hit_rate_at_1": 1}, "baseline", built_in_catalogue())
    misspelt = Regression(rules=[rule("faithfulnes")], must_not_break=[])
    with pytest.raises(InputError, match=r"no metric 'faithfulnes'; did you mean 'faithfulness'\?$"):
        demand_known(misspelt, {"right": 1}, "baseline", built_in_catalogue())
    by_other_names = Regression(rules=[rule("recall@5"), rule("MRR"), rule("faithfulness")], must_not_break=[])
    demand_known(by_other_names, {"mean_faithfulness": 1}, "baseline", built_in_catalogue())


def test_a_rule_names_a_metric_as_people_do() -> None:
    found = gate([rule("MRR@10"), rule("recall")], run(HALF), run(HALF)).rules
    assert [(result.rule.metric, result.status) for result in found] == [
        ("mrr_at_10", "passed"),
        ("recall_at_k", "passed"),
    ]


def test_a_metric_without_a_value_is_not_evaluated() -> None:
    found = gate([rule("mean_faithfulness"), rule("latency.case.p95_ms", 500.0), rule("cost.usd", 0.0)])
    assert [result.status for result in found.rules] == ["not_evaluated"] * 3
    assert not found.fired


def test_latency() -> None:
    found = gate([rule("latency.case.p95_ms", 500.0)], run(HALF, 100.0), run(HALF, 601.0)).rules[0]
    assert (found.status, found.loss, found.rule.direction) == ("fired", 501.0, "lower")
    assert not gate([rule("latency.case.p95_ms", 500.0)], run(HALF, 100.0), run(HALF, 600.0)).fired
    assert not gate([rule("latency.case.p95_ms", 0.0)], run(HALF, 600.0), run(HALF, 100.0)).fired
    certain = gate([rule("latency.case.p95_ms", 500.0, significant=True)], run(HALF, 317.0), run(HALF, 1036.0))
    assert certain.fired and certain.rules[0].p == pytest.approx(2 / 1001)
    same = gate([rule("latency.case.p95_ms", 0.0, significant=True)], run(HALF, 100.0), run(HALF, 100.0))
    assert not same.fired and (same.rules[0].p, same.rules[0].doubt) == (1.0, "chance")
    slower = rule("latency.case.p95_ms", 0.0, significant=True, direction="higher")  # is better, somebody says
    for before, after, p in ((1100.0, 100.0, 2 / 1001), (100.0, 1100.0, 1.0)):
        (result,) = gate([slower], run(HALF, before), run(HALF, after)).rules
        assert (result.p, result.loss) == (pytest.approx(p), before - after)
    with pytest.raises(
        InputError, match=r"rules\.0: 'latency\.case\.p95_ms' is that of all cases; leave out the slice"
    ):
        gate([rule("latency.case.p95_ms", 1.0, slice={"language": "ko"})], run(HALF, 1.0), run(HALF, 1.0))


def test_a_metric_that_is_not_comparable_has_not_passed() -> None:
    other = run([0.0] * 20, identity={"documents": "other"})
    (result,) = gate([rule()], candidate=other).rules
    assert (result.status, [reason.kind for reason in result.reasons]) == ("not_comparable", ["identity"])
    assert gate([rule()], candidate=other, allow=True).fired
    (own_k,) = gate([rule("recall_at_k")], candidate=run(HALF, run={"k": 3}), allow=True).rules
    assert own_k.status == "not_comparable"


def test_cases_that_must_not_break() -> None:
    def labelled(**wrong: str) -> Any:
        labels = [wrong.get(f"q{id}", "none") for id in IDS]
        return run(HALF, labels={"lost_at": labels})

    found = gate([], labelled(q02="below_k"), labelled(q01="below_k", q02="wrong_answer"), ["00", "01", "02"])
    assert [(case.status, case.was_right, case.lost_at) for case in found.cases] == [
        ("passed", True, "none"),
        ("fired", True, "below_k"),
        ("fired", False, "wrong_answer"),
    ]
    assert found.fired
    with pytest.raises(InputError, match=re.escape("regression.must_not_break: no case has the id 'nobody'")):
        gate([], labelled(), labelled(), ["nobody"])
    with pytest.raises(InputError, match=r"must_not_break: these runs do not record which cases are right"):
        gate([], cases_=["00"])


def test_a_case_that_the_candidate_did_not_run() -> None:
    labels = {"lost_at": ["none"]}
    one, other = snapshot(cases(["a"], labels=labels)), snapshot(cases(["b"], labels=labels))
    (found,) = gate([], one, other, ["a"]).cases
    assert (found.status, found.was_right) == ("not_evaluated", True)


def test_a_case_of_which_nothing_tells_has_neither_broken_nor_passed() -> None:
    """Exact match decides, and no answer to b is known; c failed."""
    one, other = (
        snapshot(cases(["a", "b", "c"], {"exact_match": [1.0, None, None]}, failed=failed)) for failed in ([], ["c"])
    )
    found = gate([], one, other, ["a", "b", "c"])
    assert [(case.status, case.was_right) for case in found.cases] == [
        ("passed", True),
        ("not_evaluated", None),
        ("fired", None),
    ]


def test_a_case_whose_id_changed_is_held_to_its_pair() -> None:
    content = ["why", "how"]
    one = snapshot(cases(["a", "b"], labels={"lost_at": ["none", "none"]}, content=content))
    other = snapshot(cases(["x", "y"], labels={"lost_at": ["none", "below_k"]}, content=content))
    found = gate([], one, other, ["a", "b", "y"]).cases
    assert [(case.id, case.status, case.was_right, case.lost_at) for case in found] == [
        ("a", "passed", True, "none"),
        ("b", "fired", True, "below_k"),
        ("y", "fired", True, "below_k"),
    ]


def test_settings() -> None:
    regression = Regression(
        rules=[rule("cost.usd", 1, slice=None), rule("mrr", 0.1, direction="lower")], must_not_break=["\u1100\u1161"]
    )
    assert list(regression.rules) == [Rule("cost.usd", None, 1), Rule("mrr", "lower", 0.1)]
    assert list(regression.must_not_break) == ["\uac00"] and regression.margin == 0.02
