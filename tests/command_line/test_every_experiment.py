"""What one evaluation can do, every evaluation can: a table over all of conf/experiment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.config.compose import compose_cells
from runner.run.planning import plan_cells
from tests.services.models_server import ModelsServer
from tests.small_data import small_data

ROOT = Path(__file__).resolve().parents[2]
RETRIEVAL = ("dataset=demo_ko", "retriever=keyword", "sample=24")
FEW = ("sample=8",)


@dataclass(frozen=True)
class Tried:
    """Overrides: of every run, of one that is worse, and of one that asks models."""

    usual: Sequence[str]
    worse: Sequence[str]
    asking: Sequence[str]


JUDGE = ("judge=openai", "judge.model=local:m", "judge.health=false")
EMBEDDER = ("embedder=openai", "embedder.model=local:m")
TABLE = {
    "retrieval_only": Tried(RETRIEVAL, ["tokenizer=word"], ["retriever=semantic", *EMBEDDER]),
    "full_rag": Tried(RETRIEVAL, ["generator.refuse_below=1"], JUDGE),
    "memory": Tried([], ["memory=none"], [*JUDGE, *FEW]),
    "copilot": Tried([], ["memory=none"], [*JUDGE, *FEW]),
    "links": Tried([], ["evaluation.min_confidence=1"], [*JUDGE, *FEW]),
    "trace_quality": Tried([], ["dataset.traces=worse.jsonl"], [*EMBEDDER, *FEW]),
}


def fewest(*names: str) -> list[Any]:
    """All experiments; those that are not named only in `make slow`: a file of their own holds most of it, too."""
    return [name if name in names else pytest.param(name, marks=pytest.mark.slow) for name in TABLE]


@pytest.fixture(autouse=True)
def folder() -> None:
    """With traces of which every agent failed."""
    lines = []
    for path in sorted((ROOT / "plugins/dataset/traces_data").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            trace = json.loads(line)
            trace["metadata"]["success"] = False
            lines.append(json.dumps(trace, ensure_ascii=False))
    Path("worse.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def summary(out: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(out, "summary.json").read_text(encoding="utf-8"))
    return {name: value for name, value in found.items() if name != "timing"}


def test_the_table_holds_every_experiment() -> None:
    assert {path.stem for path in (ROOT / "conf/experiment").glob("*.yaml")} == set(TABLE)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("name", fewest("trace_quality"))
def test_a_run_is_sampled_told_compared_held_to_rules_and_gone_on_with(name: str, mlflow_store: str) -> None:
    usual = [f"+experiment={name}", *TABLE[name].usual]
    assert main([*usual, f"tracking.uri={mlflow_store}", f"tracking.experiment=every {name}", "out=a"]) == 0
    told = summary("a")
    scored = [metric for metric in told["metrics"].values() if metric["n_scored"] > 1]
    assert scored and all(metric["ci_low"] <= metric["value"] <= metric["ci_high"] for metric in scored)
    assert any(told["slices"].values())
    assert all(Path("a", file).is_file() for file in ("summary.md", "report.html", "snapshot.json", "run.json"))
    _is_tracked(mlflow_store, name)

    journal = Path("a/per_item.jsonl")
    rows = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(rows[: len(rows) // 2]) + rows[-1][:20])  # killed in the middle of a line
    assert main([*usual, "tracking=none", "format=json", "out=a"]) == 0
    assert summary("a") == told

    assert main([*usual, "tracking=none", "format=json", "out=b", "compare=a", "fail_on_regression=true"]) == 0
    compared = json.loads(Path("b/compare.json").read_text(encoding="utf-8"))
    assert compared["status"] == "compared" if "status" in compared else compared
    assert main([*usual, *TABLE[name].worse, "tracking=none", "out=c", "compare=a", "fail_on_regression=true"]) == 4
    assert "worse" in Path("c/compare.md").read_text(encoding="utf-8")


def _is_tracked(uri: str, experiment: str) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    found = client.get_experiment_by_name(f"every {experiment}")
    assert found is not None
    (run,) = client.search_runs([found.experiment_id])
    files = {artifact.path for artifact in client.list_artifacts(run.info.run_id)}
    assert {"summary.json", "report.html", "figures"} <= files
    assert run.data.metrics and client.list_artifacts(run.info.run_id, "figures")


@pytest.mark.parametrize("name", fewest("full_rag"))
def test_what_is_asked_of_models_is_planned_and_capped(name: str, server: ModelsServer) -> None:
    words = [f"+experiment={name}", *TABLE[name].usual, *TABLE[name].asking, "tracking=none", "format=json"]
    words += [f"provider.local.base_url={server.url}", *(small_data(Path("data")) if name == "full_rag" else [])]
    planned = plan_cells(compose_cells(words)[1]).total.live
    assert planned > 1
    assert main([*words, "budget.requests=1", "out=capped"]) == 3
    assert server.count == 1
    assert json.loads(Path("capped/run.json").read_text(encoding="utf-8"))["status"] in ("partial", "failed")
    assert main([*words, "out=capped"]) == 0
    assert server.count == planned
