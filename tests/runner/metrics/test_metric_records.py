"""What a metric says of itself, and what a name in a file means."""

import math
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.compare.flips import deciding_name
from runner.compare.verdicts import main_metrics
from runner.errors import ConfigError
from runner.metrics.catalogue import built_in_catalogue, catalogue_in, catalogue_of, merge_catalogues
from runner.metrics.judged import ANSWER_METRICS
from runner.metrics.metric import Catalogue, Grades, Metric, word
from tests.comparison_runs import cases, snapshot

BUILT_IN = built_in_catalogue()
TOXICITY = Metric(name="toxicity", better="lower", label={"en": "Toxicity", "ko": "유해성"}, main=True)


@pytest.mark.parametrize(
    "name",
    [
        *("stale_present", "answer_stale", "leakage", "memory_noise", "tool_calls"),
        *("memory_tokens", "memory_sentences", "documents_tokens", "context_tokens"),
    ],
)
def test_lower_is_better(name: str) -> None:
    assert BUILT_IN.direction(name) == "lower"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "recall_at_5",
            "recall_at_k",
            "mrr",
            "mrr_at_10",
            "chunk/ndcg_at_k",
            "keyword/map_at_3",
            "exact_match_patched",
        ),
        *("mean_faithfulness", "faithfulness", "facts_present", "memory_overall", "link_novelty", "score"),
    ],
)
def test_higher_is_better(name: str) -> None:
    assert BUILT_IN.direction(name) == "higher"


@pytest.mark.parametrize(
    "name",
    ["latency", "stale_present_x", "toxicity", "toxicity_at_5", "score_at_5", "exact_match_at_k", "recall_at_x", ""],
)
def test_nothing_is_known_of_what_nobody_declared(name: str) -> None:
    variant = BUILT_IN.variant(name)
    assert (variant.metric, variant.direction, variant.depends, variant.is_main) == (None, None, None, False)


@pytest.mark.parametrize(
    ("name", "span"),
    [("recall_at_5", 1), ("facts_present", 1), ("memory_overall", 100), ("memory_noise", 10), ("documents_tokens", 0)],
)
def test_how_far_a_metric_goes(name: str, span: float) -> None:
    assert BUILT_IN.span(name) == span


def test_a_name_is_taken_apart() -> None:
    found = BUILT_IN.variant("chunk/recall_at_5")
    assert (found.part, found.base, found.cutoff, found.fixed, found.is_own_k) == ("chunk", "recall", "5", 5, False)
    assert found.depends == ("k", "queries", "gold", "documents", "metric_code.ranking", "chunks")
    assert BUILT_IN.variant("mrr").is_own_k and BUILT_IN.variant("ndcg_at_k").is_own_k
    assert not BUILT_IN.variant("mrr_at_5").is_own_k and not BUILT_IN.variant("token_f1").is_own_k
    assert BUILT_IN.variant("evidence_recall_patched").patched
    assert not BUILT_IN.variant("evidence_recall_patched").is_main


def test_only_the_whole_at_its_own_k_is_a_headline() -> None:
    names = [
        "recall_at_5",
        "mrr",
        "keyword/recall_at_k",
        "map_at_k",
        "recall_at_k",
        "mean_faithfulness",
        "precision_at_k",
    ]
    assert BUILT_IN.headlines(names) == ["recall_at_k", "mrr", "mean_faithfulness"]


def test_main_metrics_are_headlines_where_nobody_says_which_are() -> None:
    catalogue = Catalogue([replace(TOXICITY, name="shouting", main=False), TOXICITY])
    assert catalogue.headlines(["shouting", "toxicity", "undeclared"]) == ["toxicity"]


def test_rows_and_summaries_call_it_each_in_their_way() -> None:
    assert BUILT_IN.summary_names == {metric.name: f"mean_{metric.name}" for metric in ANSWER_METRICS}
    assert BUILT_IN.row_name("mean_faithfulness") == "faithfulness"
    for name in ("recall_at_5", "token_f1", "toxicity"):
        assert BUILT_IN.row_name(name) == name


@given(st.floats(0, 10))
def test_goodness_runs_from_the_worst_value_to_the_best(value: float) -> None:
    accuracy, noise = (BUILT_IN.variant(f"memory_{name}").goodness(value) for name in ("accuracy", "noise"))
    assert accuracy is not None and noise is not None
    assert 0 <= noise <= 1 and accuracy + noise == pytest.approx(1)
    assert BUILT_IN.variant("context_tokens").goodness(value) is None  # nobody knows the worst one
    assert BUILT_IN.variant("toxicity").goodness(value) is None


def test_records_come_back_from_json() -> None:
    again = Catalogue.of(orjson.loads(orjson.dumps(BUILT_IN.record())))
    assert again.metrics == BUILT_IN.metrics
    assert again.variant("context_tokens").metric.range == (0, math.inf)  # type: ignore[union-attr]


def test_only_the_records_behind_some_names() -> None:
    record = BUILT_IN.record(["chunk/recall_at_5", "mean_faithfulness", "toxicity"])
    assert [each["name"] for each in record] == ["recall", "faithfulness"]


def test_what_a_newer_version_says_beside_is_passed_over() -> None:
    record = {**TOXICITY.record(), "needs": ["answers"], "group": "safety"}
    assert Catalogue.of([record]).metrics == (TOXICITY,)


def test_of_two_runs_the_first_one_counts() -> None:
    other = Catalogue([replace(TOXICITY, better="higher"), replace(TOXICITY, name="anger")])
    both = merge_catalogues([Catalogue([TOXICITY]), other])
    assert [(metric.name, metric.better) for metric in both.metrics] == [("toxicity", "lower"), ("anger", "lower")]


def test_an_older_run_says_nothing_beside_one_that_declares() -> None:
    """`score` of a package is not that of reasoning traces because the run before it has no records."""
    declared = Catalogue([TOXICITY])
    assert merge_catalogues([declared, BUILT_IN]) is declared and merge_catalogues([BUILT_IN, declared]) is declared
    assert merge_catalogues([Catalogue(), BUILT_IN]).direction("score") is None
    assert merge_catalogues([BUILT_IN, BUILT_IN]) is BUILT_IN


def test_a_file_that_is_older_than_the_records_is_of_a_built_in_evaluation() -> None:
    assert catalogue_in({}) is BUILT_IN
    assert catalogue_in({"declared": []}).direction("recall_at_5") is None


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({}, "declared: expected a list, found dict"),
        ([1], "declared.0: no record of a metric: "),
        ([{"name": "x"}], "declared.0: no record of a metric: better: Field required"),
        (
            [{**TOXICITY.record(), "better": "up"}],
            "declared.0: no record of a metric: better: Input should be 'higher', 'lower' or 'neither'",
        ),
        (
            [{**TOXICITY.record(), "label": "Toxicity"}],
            "declared.0: no record of a metric: label: Input should be a valid",
        ),
        ([{**TOXICITY.record(), "headline": "first"}], "declared.0: no record of a metric: headline: Input should be"),
        (
            [{**TOXICITY.record(), "range": [None]}],
            "declared.0: no record of a metric: range.0: Input should be a valid number",
        ),
        ([{**TOXICITY.record(), "shown": ["walls"]}], "declared.0: no record of a metric: shown.0: Input should be"),
        ([TOXICITY.record(), {**TOXICITY.record(), "range": [1, 0]}], "declared.1: .*range: expected the lowest"),
    ],
)
def test_a_damaged_record_is_told_with_its_place(declared: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        catalogue_in({"declared": declared})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "a/b"}, "metric 'a/b': name: expected a name without spaces, without '/'"),
        ({"name": "a b"}, "metric 'a b': name"),
        ({"name": "a_patched"}, "metric 'a_patched': name"),
        ({"better": "less"}, "metric 'toxicity': better: expected one of higher, lower, neither, found 'less'"),
        ({"label": {}}, "metric 'toxicity': label: expected texts by language"),
        ({"range": (1, 1)}, "metric 'toxicity': range: expected the lowest and then the highest value, found 1 and 1"),
        ({"grades": Grades()}, "metric 'toxicity': grades: only a metric that is better when higher"),
    ],
)
def test_a_record_that_says_nothing_usable_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(TOXICITY, **changes)


class Undeclared:
    pass


class Declared:
    metrics: Any = (TOXICITY,)


def test_an_evaluation_need_not_declare_anything() -> None:
    assert catalogue_of(Undeclared()).metrics == ()
    assert catalogue_of(Declared()).metrics == (TOXICITY,)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (
            ["toxicity"],
            "evaluation: Declared.metrics: expected a sequence of runner.metrics.metric.Metric, found a sequence",
        ),
        ({"toxicity": TOXICITY}, "Declared.metrics: expected a sequence of runner.metrics.metric.Metric, found dict"),
        (lambda: (TOXICITY,), "Declared.metrics: expected a sequence of runner.metrics.metric.Metric, found function"),
        ((TOXICITY, TOXICITY), "Declared.metrics: declared more than once: toxicity"),
    ],
)
def test_what_are_no_records_is_an_error_that_names_the_evaluation(metrics: Any, message: str) -> None:
    evaluation = Declared()
    evaluation.metrics = metrics
    with pytest.raises(ConfigError, match=message):
        catalogue_of(evaluation)


def test_a_word_is_there_in_one_language_at_least() -> None:
    assert word({"en": "Tone", "ko": "어조"}, "ko") == "어조"
    assert word({"en": "Tone"}, "ko") == "Tone" and word({"ko": "어조"}, "en") == "어조"
    assert word({}, "en") == ""


def test_a_new_metric_is_one_record() -> None:
    """Wherever there is room for few it is the first, and it decides verdicts, because its record says so."""
    safe = Metric(
        name="safe",
        better="higher",
        label={"en": "Safe", "ko": "안전"},
        grades=Grades(),
        main=True,
        group="answers",
        headline=0,
        quality=0,
        tells_right=True,
    )
    catalogue = Catalogue([safe, *BUILT_IN.metrics])
    names = ["recall_at_k", "mean_faithfulness", "token_f1", "safe"]
    assert catalogue.headlines(names) == ["safe", "recall_at_k", "mean_faithfulness"]
    assert catalogue.names_for(names, "sweeps") == ["safe", "recall_at_k", "mean_faithfulness", "token_f1"]
    assert main_metrics(names, catalogue) == ["safe", "recall_at_k", "mean_faithfulness"]
    values = {"safe": [0.0, 1.0], "exact_match": [1.0, 0.0], "hit_rate_at_k": [1.0, 1.0]}
    run = snapshot(cases(["a", "b"], values), catalogue=catalogue)
    assert deciding_name(run, run) == "safe"
