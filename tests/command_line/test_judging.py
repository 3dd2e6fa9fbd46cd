"""Runs that are judged by a model: every request is planned, and controls are asked once for each run."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.cli import main
from runner.compose import compose_cells
from runner.llm.controls import controls
from runner.planning import plan_cells
from tests.services.models_server import ModelsServer, serving_models
from tests.small_data import small_data

CONTROLS = sum(len(control.expected) for control in controls())


@pytest.fixture
def server() -> Iterator[ModelsServer]:
    with serving_models() as server:
        yield server


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    model = ["judge=openai", "judge.model=local:small", f"provider.local.base_url={server.url}"]
    return ["+experiment=full_rag", *small_data(tmp_path), "tracking=none", "format=json", "out=o", *model]


@pytest.mark.parametrize("cache", ["use", "none"])
def test_a_sweep_in_waves_asks_what_its_plan_says(cache: str, words: list[str], server: ModelsServer) -> None:
    sweep = [*words, "retriever=keyword", "k=1,2", "budget.requests=1000", f"cache={cache}"]
    planned = plan_cells(compose_cells(sweep)[1]).total.live
    assert main(sweep) == 0
    assert server.count == planned
    totals = [json.loads(Path("o", cell, "summary.json").read_text("utf-8"))["timing"]["usage_total"] for cell in "01"]
    assert sum(total["live"]["requests"] for total in totals) == planned
    if cache == "none":
        assert [total["cached"]["requests"] for total in totals] == [0, 0]
    else:
        assert totals[1]["cached"]["requests"] >= CONTROLS > totals[0]["cached"]["requests"]


def test_controls_are_planned_where_it_is_open_whether_retrieval_is_good_enough(
    words: list[str], server: ModelsServer
) -> None:
    embedded = [*words, "retriever=semantic", "embedder=openai", "embedder.model=local:small"]
    (cell,) = plan_cells(compose_cells([*embedded, "evaluation.require.recall_at_k=1.0", "k=1"])[1]).cells
    judged = sum(expected.live for account, expected in cell.expected.items() if account.role == "judge")
    assert judged >= CONTROLS
    assert server.count == 0
