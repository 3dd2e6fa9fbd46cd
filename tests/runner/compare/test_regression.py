from runner.compare.regression import Regression, margins_of


def test_a_rule_may_say_which_way_its_metric_is_better() -> None:
    own = Regression(rules=[{"metric": "leakage", "margin": 0.1}], must_not_break=[])
    assert own.rules[0].direction is None
    told = Regression(rules=[{"metric": "leakage", "direction": "higher", "margin": 0.1}], must_not_break=[])
    assert told.rules[0].direction == "higher"


def test_the_margins_of_a_profile_take_the_place_of_those_for_all_cases() -> None:
    rules = Regression(
        rules=[
            {"metric": "score", "margin": 0.1, "relative": True, "significant": True},
            {"metric": "score", "margin": 0.05, "slice": {"tag": "medical"}},
            {"metric": "outcome", "margin": 0.2},
        ],
        must_not_break=["a"],
        margin=0.03,
    )
    within = rules.within({"score": 0.01, "elsewhere": 0.5})
    assert [(rule.margin, rule.relative) for rule in within.rules] == [(0.01, False), (0.05, False), (0.2, False)]
    assert within.rules[0].significant
    assert (within.must_not_break, within.margin) == (["a"], 0.03)
    assert rules.rules[0].margin == 0.1
    assert rules.within({}).rules == rules.rules


def test_a_run_has_the_margins_of_its_profile() -> None:
    assert margins_of({"profile": {"name": "finance", "margins": {"score": 0.01}}}) == {"score": 0.01}
    for config in ({}, {"profile": None}, {"profile": {"name": "old"}}, {"profile": {"margins": None}}):
        assert margins_of(config) == {}
