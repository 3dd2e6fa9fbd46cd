from runner.regression import Regression


def test_a_rule_knows_which_way_its_metric_is_better() -> None:
    metrics = ("mrr", "latency.case.p95_ms", "cost.usd", "leakage")
    rules = Regression(rules=[{"metric": metric, "margin": 0.1} for metric in metrics], must_not_break=[]).rules
    assert [rule.direction for rule in rules] == ["higher", "lower", "lower", "lower"]
    told = Regression(rules=[{"metric": "leakage", "direction": "higher", "margin": 0.1}], must_not_break=[])
    assert told.rules[0].direction == "higher"
