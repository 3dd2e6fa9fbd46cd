"""Further ranking measures: by hand, and as trec_eval and ir_measures have them."""

import json
import random
from collections.abc import Mapping
from math import isclose
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval

from plugins.evaluation.retrieval_only import RetrievalOnly
from plugins.metric.ranking import RankingMeasure
from runner.metrics.further_ranking import (
    binary_preference,
    expected_reciprocal_rank,
    judged_share,
    r_precision,
    rank_biased_precision,
    success,
)
from tests.plugins.evaluation.small_rag import Alphabetical, Data, query, ran
from tests.plugins.evaluation.small_retrieval import retrieval

# Five documents of which a (2) and d (1) are relevant, b and x were judged not to be, and nobody looked at c and e.
RANKED = ["a", "b", "c", "d", "e"]
GRADES = {"a": 2, "b": 0, "d": 1, "x": 0}


def test_rank_biased_precision_by_hand() -> None:
    assert rank_biased_precision(RANKED, GRADES, 0.5) == 0.5 * (1 + 0.5**3)
    assert isclose(rank_biased_precision(RANKED, GRADES, 0.8) or 0, 0.2 * (1 + 0.8**3))
    assert rank_biased_precision([], GRADES, 0.8) == 0.0


def test_expected_reciprocal_rank_by_hand() -> None:
    # with a highest grade of 2, a is enough with 3/4 and d with 1/4
    assert expected_reciprocal_rank(RANKED, GRADES, 5, 2) == 3 / 4 + (1 / 4) * (1 / 4) / 4
    assert expected_reciprocal_rank(RANKED, GRADES, 3, 2) == 3 / 4
    assert expected_reciprocal_rank(RANKED, GRADES, 1, 4) == 3 / 16
    assert expected_reciprocal_rank(["d"], {"d": -1, "a": 1}, 5, 1) == 0.0


def test_r_precision_by_hand() -> None:
    assert r_precision(RANKED, GRADES) == 1 / 2  # a among a, b
    assert r_precision(["d", "a"], GRADES) == 1.0


def test_bpref_by_hand() -> None:
    # nothing before a; before d one (b) of the lesser of two relevant and two judged not to be
    assert binary_preference(RANKED, GRADES) == (1 + (1 - 1 / 2)) / 2
    assert binary_preference(["x", "b", "a"], GRADES) == 0.0
    assert binary_preference(["c", "e", "a", "d"], GRADES) == 1.0


def test_judged_and_success_by_hand() -> None:
    assert [judged_share(RANKED, GRADES, k) for k in (1, 2, 3, 5)] == [1.0, 1.0, 2 / 3, 3 / 5]
    assert judged_share(["a"], GRADES, 5) == 1.0 and judged_share([], GRADES, 5) == 0.0
    assert [success(["b", "a"], GRADES, k) for k in (1, 2)] == [0.0, 1.0]


def test_a_query_without_a_relevant_document_has_no_scores() -> None:
    for relevance in ({}, {"b": 0}):
        assert rank_biased_precision(RANKED, relevance, 0.8) is None
        assert expected_reciprocal_rank(RANKED, relevance, 5, 2) is None
        assert r_precision(RANKED, relevance) is None and binary_preference(RANKED, relevance) is None
        assert success(RANKED, relevance, 5) is None
    assert judged_share(RANKED, {}, 5) is None and judged_share(RANKED, {"b": 0}, 2) == 0.5


def drawn(seed: int) -> tuple[list[str], dict[str, int]]:
    rng = random.Random(seed)
    ids = [f"d{number:02}" for number in range(30)]
    ranked = rng.sample(ids, rng.randint(1, 25))
    return ranked, {id: rng.choice([-1, 0, 0, 1, 2, 3]) for id in rng.sample(ids, rng.randint(3, 20))}


@pytest.mark.parametrize("seed", range(60))
def test_trec_eval_says_the_same(seed: int) -> None:
    ranked, relevance = drawn(seed)
    if not any(grade > 0 for grade in relevance.values()):
        return
    run = {"q": {id: float(len(ranked) - place) for place, id in enumerate(ranked)}}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": relevance}, {"Rprec", "bpref", "success.1,5,10"})
    theirs = evaluator.evaluate(run)["q"]
    assert isclose(r_precision(ranked, relevance) or 0.0, theirs["Rprec"])
    assert isclose(binary_preference(ranked, relevance) or 0.0, theirs["bpref"], abs_tol=1e-9)
    for k in (1, 5, 10):
        assert success(ranked, relevance, k) == theirs[f"success_{k}"]


# --- as metrics of a run ------------------------------------------------------------------------------


def row(relevance: Mapping[str, int], **measures: dict[str, Any]) -> Mapping[str, float | None]:
    chosen = {name: RankingMeasure(measure=name, **settings) for name, settings in measures.items()}  # type: ignore[arg-type]
    case = query(relevance=relevance, answerable=any(grade > 0 for grade in relevance.values()))
    evaluation = RetrievalOnly(retrieval=retrieval(Data(case), Alphabetical()), metrics=chosen)  # type: ignore[arg-type]
    return ran(evaluation, Path("store")).metrics  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_each_is_measured_at_its_cutoffs_or_over_all() -> None:
    at = {"k": 2, "cutoffs": [1, 3]}
    found = row({"b": 2, "a": 0}, rbp={"p": 0.5}, err=at, r_precision={}, bpref={}, judged=at, success=at)
    assert found["rbp"] == 0.25 and found["r_precision"] == 0.0 and found["bpref"] == 0.0
    assert [found[f"err_at_{k}"] for k in ("k", 1, 3)] == [3 / 8, 0.0, 3 / 8]
    assert [found[f"judged_at_{k}"] for k in ("k", 1, 3)] == [1.0, 1.0, 2 / 3]
    assert [found[f"success_at_{k}"] for k in ("k", 1, 3)] == [1.0, 0.0, 1.0]
    assert "recall_at_k" not in found


def test_a_question_without_an_answer_is_no_ranking_query() -> None:
    assert row({}, rbp={}, judged={"k": 1})["rbp"] is None


def test_the_patience_of_the_reader_is_part_of_the_identity() -> None:
    def identity(p: float) -> str:
        chosen = {"rbp": RankingMeasure(measure="rbp", p=p)}
        evaluation = RetrievalOnly(retrieval=retrieval(Data(query()), Alphabetical()), metrics=chosen)  # type: ignore[arg-type]
        return evaluation.load().identity["metric.rbp"]

    assert identity(0.8) == identity(0.8) != identity(0.9)


def test_ir_measures_says_the_same() -> None:
    """Its values for the drawn rankings, made once with ir_measures: RBP(p=0.8, rel=1), ERR@10, Judged@10."""
    stored = json.loads(Path(__file__).with_name("ir_measures.json").read_text("utf-8"))
    assert len(stored) > 20
    for seed, theirs in stored.items():
        ranked, relevance = drawn(int(seed))
        relevance = {id: max(grade, 0) for id, grade in relevance.items()}
        assert isclose(rank_biased_precision(ranked, relevance, 0.8) or 0.0, theirs["rbp"], abs_tol=1e-4)
        assert isclose(expected_reciprocal_rank(ranked, relevance, 10, 4) or 0.0, theirs["err"], abs_tol=1e-4)
        assert isclose(judged_share(ranked, relevance, 10) or 0.0, theirs["judged"], abs_tol=1e-9)
