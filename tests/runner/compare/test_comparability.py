from dataclasses import replace

import pytest

from runner.compare.comparability import Reason, comparable_pairs, reasons
from runner.compare.compare import Setting, config_difference
from tests.comparison_runs import cases, paired, snapshot

NAMES = ("recall_at_k", "recall_at_5", "mrr", "keyword/mrr", "chunk/recall_at_5", "mean_faithfulness", "exact_match")
IDS = ["a", "b"]
VALUES = {key: [0.5, 0.5] for key in NAMES}


def why(candidate: dict, columns: dict | None = None) -> dict[str, list[str]]:
    """Metric -> kinds of reasons, of those that are not comparable."""
    runs = paired(snapshot(cases(IDS, VALUES)), snapshot(cases(IDS, VALUES, **(columns or {})), **candidate))
    found = {name: [reason.kind for reason in reasons(runs, name)] for name in NAMES}
    return {name: kinds for name, kinds in found.items() if kinds}


def test_the_same() -> None:
    assert why({}) == {}


@pytest.mark.parametrize("treatment", ["retriever", "generator", "embedder", "tokenizer", "given", "slices"])
def test_what_an_experiment_varies_may_differ(treatment: str) -> None:
    assert why({"identity": {treatment: "other"}}) == {}


def test_another_k() -> None:
    assert why({"run": {"k": 3}}) == {"recall_at_k": ["k"], "mrr": ["k"], "keyword/mrr": ["k"]}


@pytest.mark.parametrize(
    ("identity", "concerned"),
    [
        ("documents", {"recall_at_k", "recall_at_5", "mrr", "keyword/mrr", "chunk/recall_at_5"}),
        ("metric_code.ranking", {"recall_at_k", "recall_at_5", "mrr", "keyword/mrr", "chunk/recall_at_5"}),
        ("metric_code.answers", {"exact_match"}),
        ("judge", {"mean_faithfulness"}),
        ("judge_prompt.faithfulness", {"mean_faithfulness"}),
        ("judge_prompt.answer_relevancy", set()),
        ("queries", set()),  # compared case by case
        ("gold", set()),
    ],
)
def test_what_was_measured_differently(identity: str, concerned: set[str]) -> None:
    assert why({"identity": {identity: "other"}}) == {key: ["identity"] for key in concerned}


def test_chunks_that_hold_other_documents_are_not_found_again() -> None:
    found = why({"identity": {"chunks": "other", "documents": "other"}})
    assert found["chunk/recall_at_5"] == ["identity"]


@pytest.mark.parametrize("knowing", [0, 1])
def test_what_either_run_says_that_a_metric_hangs_on_counts(knowing: int) -> None:
    sides = [snapshot(cases(IDS, VALUES), identity={"judge": judge}) for judge in ("one", "other")]
    sides[1 - knowing] = replace(sides[1 - knowing], depends={})
    assert reasons(paired(*sides), "mean_faithfulness") == [Reason("identity", ("judge",))]


def test_of_many_changed_questions_twenty_are_named() -> None:
    ids = [f"{number:02}" for number in range(25)]
    one = snapshot(cases(ids, {"mrr": [0.5] * 25}))
    other = snapshot(cases(ids, {"mrr": [0.5] * 25}, content=[f"changed {id}" for id in ids]))
    assert reasons(paired(one, other), "mrr") == [Reason("question", n_cases=25, cases=tuple(ids[:20]))]


def test_questions_and_labels_case_by_case() -> None:
    ranking = {"recall_at_k", "recall_at_5", "mrr", "keyword/mrr", "chunk/recall_at_5", "exact_match"}
    assert why({}, {"content": ["text of a", "changed"]}) == {key: ["question"] for key in NAMES}
    one = snapshot(cases(IDS, VALUES, gold=["g", "g"]))
    runs = paired(one, snapshot(cases(IDS, VALUES, gold=["g", "h"])))
    found = {name: reasons(runs, name) for name in NAMES}
    assert {name for name, kinds in found.items() if kinds} == ranking
    (reason,) = found["mrr"]
    assert reason == Reason("gold", n_cases=1, cases=("b",)) and reason.is_grave
    assert comparable_pairs(runs, "mrr", [reason]).tolist() == [True, False]
    assert comparable_pairs(runs, "mrr", []).tolist() == [True, True]


def test_a_metric_that_one_run_does_not_have() -> None:
    one, other = snapshot(cases(IDS, {"mrr": [0, 1]})), snapshot(cases(IDS, {"exact_match": [0, 1]}))
    runs = paired(one, other)
    assert reasons(runs, "mrr") == [Reason("missing", ("candidate",))]
    assert reasons(runs, "exact_match") == [Reason("missing", ("baseline",))]
    retrieval = snapshot(cases(IDS, {"mrr": [0, 1]}), identity={"judge": "none"})
    answers = snapshot(cases(IDS, {"mrr": [0, 1], "mean_faithfulness": [0, 1]}))
    assert reasons(paired(answers, retrieval), "mean_faithfulness") == [Reason("missing", ("candidate",))]
    assert not Reason("missing", ("baseline",)).is_grave and not Reason("k").is_grave


def test_a_metric_that_is_not_known_hangs_on_everything_but_treatments() -> None:
    values = {"steps": [1.0, 2.0]}
    for name, expected in (("documents", 1), ("judge", 1), ("metric_code.answers", 1), ("retriever", 0), ("chunks", 0)):
        runs = paired(snapshot(cases(IDS, values)), snapshot(cases(IDS, values), identity={name: "other"}))
        assert len(reasons(runs, "steps")) == expected, name


def test_settings_that_differ() -> None:
    tokenizer = {"_target_": "a.AutoTokenizer"}
    one = snapshot(
        cases(IDS),
        run={"choices": {"retriever": "keyword", "tracking": "none"}},
        config={
            "k": 5, "tokenizer": tokenizer, "out": "x", "cache": "use", "evaluation": {"k": 5, "high": 0.6},
            "retriever": {"_target_": "a.Keyword", "k1": 1.5, "tokenizer": tokenizer},
        },
    )  # fmt: skip
    other = snapshot(
        cases(IDS),
        run={"choices": {"retriever": "semantic", "tracking": "mlflow"}},
        config={
            "k": 3, "tokenizer": tokenizer, "out": "y", "cache": "none", "evaluation": {"k": 3, "high": 0.6},
            "retriever": {"_target_": "a.Semantic", "seed": 1, "tokenizer": tokenizer},
        },
    )  # fmt: skip
    assert config_difference(one, other) == [
        Setting("retriever", "keyword", "semantic"),
        Setting("k", "5", "3"),
        Setting("retriever.k1", "1.5", None),
        Setting("retriever.seed", None, "1"),
    ]
    assert config_difference(one, one) == []
