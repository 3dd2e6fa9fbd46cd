from typing import Any

import pytest

from runner.config import arguments
from runner.config.compose import Plan, plan_of
from runner.config.references import reference_overrides
from runner.errors import ConfigError


def planned(*words: str) -> Plan:
    return plan_of(arguments.read(words))


def settings(cfg: Any, *, without: str) -> dict[str, Any]:
    return {str(name): cfg[name] for name in cfg if name not in (without, "evaluation")}


def test_they_share_everything_but_the_retriever_with_the_first_run() -> None:
    plan = planned("+experiment=full_rag", "k=3,5", "retriever=keyword", "retriever.k1=2", "seed=7", "baselines=auto")
    first = plan.cells[0].cfg
    assert list(plan.references) == ["none", "random", "gold"]
    for name, cell in plan.references.items():
        assert settings(cell.cfg, without="retriever") == settings(first, without="retriever")
        assert (cell.cfg.retriever.mode, cell.cfg.retriever.seed, cell.cfg.k) == (name, 7, 3)
        assert cell.swept == ["retriever=oracle", f"retriever.mode={name}"]
    assert plan.runs == [*plan.cells, *plan.references.values()]


def test_a_sweep_over_retrievers() -> None:
    plan = planned("+experiment=retrieval_only", "retriever=keyword,semantic", "baselines=auto")
    assert [cell.swept for cell in plan.cells] == [["retriever=keyword"], ["retriever=semantic"]]
    assert plan.references["gold"].cfg.retriever._target_ == "plugins.retriever.oracle.OracleRetriever"


def test_the_sweep_itself_is_the_same_with_and_without_them() -> None:
    """So that they can be added to one that has run."""
    words = ("+experiment=full_rag", "k=3,5")
    assert planned(*words, "baselines=auto").fingerprint == planned(*words).fingerprint
    assert planned(*words).references == {}


def test_a_single_run_becomes_a_sweep() -> None:
    assert planned("+experiment=full_rag", "baselines=auto").is_sweep
    assert not planned("+experiment=full_rag").is_sweep


def test_what_is_required_of_retrieval_is_not_required_of_a_floor() -> None:
    plan = planned("+experiment=full_rag", "evaluation.require.recall_at_k=0.5", "baselines=auto")
    assert plan.cells[0].cfg.evaluation.require.recall_at_k == 0.5
    assert [cell.cfg.evaluation.require for cell in plan.references.values()] == [None] * 3


def test_unknown_words() -> None:
    with pytest.raises(ConfigError, match="baselines: expected"):
        planned("baselines=all")


def test_an_evaluation_without_a_retriever_has_no_gold_context() -> None:
    cfg = planned("+experiment=retrieval_only", "baselines=auto").cells[0].cfg.copy()
    cfg.evaluation = {"_target_": "plugins.tracking.none.NoTracking"}
    with pytest.raises(ConfigError, match="baselines: none has no retriever, so there is no gold context"):
        reference_overrides(cfg, [])
