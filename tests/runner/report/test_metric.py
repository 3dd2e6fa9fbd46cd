import pytest

from runner.metrics.catalogue import built_in_catalogue
from runner.metrics.memory import CRITERIA
from runner.report import metric
from runner.words.wording import LANGUAGES, Wording
from tests.run_folders import METRICS, estimate

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]
COUNTED = ("memory", "answers", "unanswerable")


@pytest.mark.parametrize(
    ("value", "grade"),
    [
        (1.0, "excellent"),
        (0.8001, "excellent"),
        (0.8, "good"),
        (0.6, "good"),
        (0.6 - 1e-16, "good"),  # 0.6 but for the last bit
        (0.8 + 2e-16, "good"),
        (0.5999, "fair"),
        (0.4, "fair"),
        (0.3999, "needs_work"),
        (0.0, "needs_work"),
        (22.35, None),
        (-0.1, None),
        (None, None),
    ],
)
def test_grades_at_their_borders(value: float | None, grade: str | None) -> None:
    assert metric.grade(value) == grade


@pytest.mark.parametrize(
    ("name", "english", "korean"),
    [
        ("recall_at_k", "Recall@5", "Recall@5"),
        ("ndcg_at_10", "nDCG@10", "nDCG@10"),
        ("hit_rate_at_k", "Hit Rate@5", "Hit Rate@5"),
        ("mrr", "MRR", "MRR"),
        ("chunk/map_at_k", "Chunk MAP@5", "청크 MAP@5"),
        ("keyword/recall_at_3", "keyword Recall@3", "keyword Recall@3"),
        ("mean_faithfulness", "Faithfulness", "충실도 (Faithfulness)"),
        ("memory_noise", "Memory Noise (0-10, lower is better)", "메모리 노이즈 (0-10, 낮을수록 좋음)"),
        ("diversity", "Tool Diversity", "도구 다양성"),
        ("something_new", "something_new", "something_new"),
    ],
)
def test_labels(name: str, english: str, korean: str) -> None:
    assert metric.label(name, 5, EN) == english
    assert metric.label(name, 5, KO) == korean


@pytest.mark.parametrize(
    "name",
    [
        *("precision_at_k", "chunk/precision_at_5", "memory_overall", "memory_accuracy", "stale_present", "leakage"),
        *("score", "complexity", "novelty", "diversity", "outcome"),
    ],
)
def test_no_grade_for_what_is_no_share_of_the_best(name: str) -> None:
    assert metric.grade_of(metric.value_of({name: estimate(0.9, 5)}, name), EN) is None


def test_a_grade_for_a_share() -> None:
    assert metric.grade_of(metric.value_of({"facts_present": estimate(0.9, 5)}, "facts_present"), EN) == "excellent"


def test_label_without_a_k() -> None:
    assert metric.label("recall_at_k", None, EN) == "Recall@k"


def test_cutoffs_are_those_of_documents_not_of_legs() -> None:
    assert metric.cutoffs({"recall_at_k": {}, "recall_at_10": {}, "mrr_at_3": {}, "keyword/recall_at_7": {}}) == [3, 10]


def test_the_score_of_traces_stands_before_what_it_is_made_of() -> None:
    metrics = {name: estimate(0.5, 3) for name in ("complexity", "novelty", "score", "another")}
    shown = [value.name for value in metric.values(metrics, metric.result_names(metrics, EN))]
    assert shown == ["score", "complexity", "novelty", "another"]


def test_legs_are_prefixes_but_for_chunks() -> None:
    assert metric.legs(METRICS) == ["keyword", "semantic"]


def test_a_metric_that_applies_to_no_case_is_left_out() -> None:
    metrics = {"mrr": estimate(0.5, 3), "mean_faithfulness": estimate(None, 0)}
    assert [value.name for value in metric.values(metrics, ["mean_faithfulness", "mrr", "absent"])] == ["mrr"]


def test_a_metric_that_applies_but_was_never_scored_has_no_value() -> None:
    metrics = {"mrr": estimate(None, 3, 0)}
    assert [value.name for value in metric.values(metrics, ["mrr"])] == ["mrr"]
    assert metric.scores(metrics, ["mrr"]) == []


def test_metrics_of_an_unknown_kind_are_among_the_results() -> None:
    assert "novelty" in metric.result_names({**METRICS, "novelty": estimate(0.5, 3)}, EN)
    assert not {"mean_faithfulness", "recall_at_3", "keyword/recall_at_k"} & set(metric.result_names(METRICS, EN))


@pytest.mark.parametrize(
    ("text", "narrow"),
    [
        ("[0.35, 0.58]", "[.35, .58]"),
        ("[+0.36 −0.05]", "[+.36 −.05]"),
        ("[10.00, 40.55]", "[10.00, 40.55]"),
        ("[+35.31 +40.55]", "[+35.31 +40.55]"),
        ("<0.001", "<.001"),
    ],
)
def test_only_numbers_below_1_lose_their_zero(text: str, narrow: str) -> None:
    assert metric.drop_zero(text) == narrow


@pytest.mark.parametrize("say", [EN, KO])
def test_every_metric_that_is_counted_but_those_of_rankings_says_what_it_counts(say: Wording) -> None:
    names = [each.in_summaries for each in built_in_catalogue().metrics if each.group in COUNTED]
    judged = {name for name in names if name.startswith("mean_") or name.removeprefix("memory_") in CRITERIA}
    assert len(names) > 20 and {name for name in names if not metric.meaning(name, say)} == judged
    assert [name for name in names if metric.meaning(f"{name}_patched", say)] == []


def test_a_grade_reads_as_something_of_its_own() -> None:
    value = metric.value_of({"mean_faithfulness": {"value": 0.3, "n": 1}}, "mean_faithfulness")
    assert metric.reading(value, EN) == "Serious hallucination."
