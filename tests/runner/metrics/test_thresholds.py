"""Values that a run must reach, held against summaries made by hand."""

from typing import Any

import pytest

from runner.config.arguments import quote_argument, unquote
from runner.metrics.catalogue import built_in_catalogue
from runner.metrics.metric import Catalogue, Metric
from runner.metrics.thresholds import Threshold, check, exit_code, metric_problems, read, slice_problems

OWN = Catalogue(
    [
        Metric(name="tone", better="higher", label={"en": "Tone"}),
        Metric(name="risk", better="lower", label={"en": "Risk"}),
        Metric(name="words", better="neither", label={"en": "Words"}),
    ]
)


def summary(**values: float | None) -> dict[str, Any]:
    estimates = {name: {"value": value, "n": 10, "n_scored": 9, "ci_low": 0.1} for name, value in values.items()}
    return {"metrics": estimates, "slices": {"language": {"ko": estimates}}}


@pytest.mark.parametrize(
    ("metric", "limit", "value", "status"),
    [
        ("tone", 0.8, 0.8, "passed"),
        ("tone", 0.8, 0.7999, "not_reached"),
        ("tone", 0.3, 0.1 + 0.2, "passed"),
        ("risk", 0.2, 0.2, "passed"),
        ("risk", 0.2, 0.3, "not_reached"),
        ("risk", 0.3, 0.1 + 0.2, "passed"),
        ("tone", 0.0, None, "no_value"),
    ],
)
@pytest.mark.parametrize("of_slice", [("", ""), ("language", "ko")])
def test_a_limit_follows_the_direction_of_its_metric(
    metric: str, limit: float, value: float | None, status: str, of_slice: tuple[str, str]
) -> None:
    found = check([Threshold(metric, limit, *of_slice)], summary(**{metric: value}), OWN)
    assert [record["status"] for record in found] == [status]
    assert exit_code(found) == (0 if status == "passed" else 4)
    assert found[0]["n"] == 10


@pytest.mark.parametrize(("n_undecided", "status", "code"), [(9, "not_reached", 4), (10, "undecided", 0)])
def test_what_is_mostly_undecided_is_neither_reached_nor_missed(n_undecided: int, status: str, code: int) -> None:
    found = summary(right=0.5)
    found["metrics"]["right"] |= {"n": 9 + n_undecided, "undecided": n_undecided}
    checked = check([Threshold("right", 0.8)], found, built_in_catalogue())
    assert ([record["status"] for record in checked], exit_code(checked)) == ([status], code)


def test_what_a_run_does_not_have() -> None:
    wanted = [
        Threshold("tone", 0.5, "language", "kr"), Threshold("mrr", 0.5), Threshold("keyword/recall_at_k", 0.5),
        Threshold("faithfulness", 0.5),
    ]  # fmt: skip
    found = check(wanted, summary(recall_at_k=1.0), built_in_catalogue())
    assert [record["status"] for record in found] == ["unknown", "unknown", "unknown", "no_value"]
    assert found[0]["problem"] == "threshold.language.kr.tone: no case has the language 'kr'; known: ko"
    assert found[1]["problem"] == "threshold.mrr: the run has no metric 'mrr'; known: recall_at_k"
    assert exit_code(found) == 1


def test_a_limit_holds_for_a_metric_by_any_of_its_names() -> None:
    estimates = summary(mean_faithfulness=0.9, recall_at_5=0.4, recall_at_k=0.6, mrr=0.7)
    names = ("faithfulness", "mean_faithfulness", "recall@5", "recall_at_5", "recall", "Recall@k", "MRR", "mrr@k")
    limits = [Threshold(name, 0.5) for name in names]
    assert list(metric_problems(limits, built_in_catalogue(), [1, 5])) == []
    found = check(limits, estimates, built_in_catalogue())
    assert [record["value"] for record in found] == [0.9, 0.9, 0.4, 0.4, 0.6, 0.6, 0.7, 0.7]
    assert {record["metric"] for record in found} == set(estimates["metrics"])
    (misspelt,) = metric_problems([Threshold("faithfulnes", 0.5)], built_in_catalogue(), [1, 5])
    assert str(misspelt).endswith("did you mean 'faithfulness'?")


def test_reading() -> None:
    given = {
        "right": 0.8, "mrr": None,
        "language": {"ko": {"right": 1}}, "tag": {2024: {"right": 0.5}, "v1": {"2": {"mrr": 0.4}}},
    }  # fmt: skip
    assert read(given) == (
        [
            Threshold("right", 0.8),
            Threshold("right", 1.0, "language", "ko"),
            Threshold("right", 0.5, "tag", "2024"),
            Threshold("mrr", 0.4, "tag", "v1.2"),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"right": "high"}, "threshold.right: expected a number, got 'high'"),
        ({"right": True}, "threshold.right: expected a number, got True"),
        ({"right": "0.7,0.8"}, "threshold.right: expected a number, got '0.7,0.8'; a threshold is one number, and no"),
        ({"lang": {"ko": {"right": 0.5}}}, "no slices go by 'lang'; did you mean 'language'?"),
        ({"language": {"ko": 0.5}}, "threshold.language.ko: expected threshold.METRIC=NUMBER or threshold.DIMENSION."),
    ],
)
def test_what_is_written_wrongly(given: dict[str, Any], problem: str) -> None:
    found, problems = read(given)
    assert not found and len(problems) == 1 and problem in str(problems[0])


@pytest.mark.parametrize(
    ("threshold", "problem"),
    [
        (Threshold("tome", 0.5), "threshold.tome: nothing declares which way 'tome' is better; did you mean 'tone'?"),
        (Threshold("xyz", 0.5), "nothing declares which way 'xyz' is better; declared are tone, risk"),
        (Threshold("words", 5), "threshold.words: 'words' is better neither when higher nor when lower"),
        (Threshold("tone", 80), "threshold.tone: 'tone' goes from 0 to 1, got 80"),
    ],
)
def test_what_can_be_known_before_a_run(threshold: Threshold, problem: str) -> None:
    assert [problem in str(each) for each in metric_problems([threshold], OWN, [1, 5])] == [True]


def test_cutoffs_and_slices_are_those_of_the_run() -> None:
    known = [Threshold("recall_at_5", 0.5), Threshold("recall_at_k", 0.5), Threshold("semantic/mrr_at_1", 0.5)]
    assert list(metric_problems(known, built_in_catalogue(), [1, 5])) == []
    found = [str(each) for each in metric_problems([Threshold("recall_at_4", 0.5)], built_in_catalogue(), [1, 5])]
    assert found == ["threshold.recall_at_4: the run has no cutoff 4; cutoffs=[1, 5], or _at_k"]
    wanted = [Threshold("mrr", 0.5, "tag", "dev"), Threshold("mrr", 0.5, "tag", "dew"), Threshold("mrr", 0.5)]
    problems = [str(each) for each in slice_problems(wanted, {"tag": {"dev"}})]
    assert problems == ["threshold.tag.dew.mrr: no case has the tag 'dew'; did you mean 'dev'?"]


@pytest.mark.parametrize(
    "word",
    ["threshold.right=0.8", "+threshold.tag.환불 요청.right=0.7", "threshold.tag.007.right=1", "threshold.tag.2.a=1"],
)
def test_names_of_slices_pass_the_grammar_of_overrides(word: str) -> None:
    assert unquote(quote_argument(word)) == word and quote_argument(quote_argument(word)) == quote_argument(word)
    assert quote_argument(word).isascii()
