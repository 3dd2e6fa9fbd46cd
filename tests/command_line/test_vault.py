"""A vault of linked notes, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.small_data import small_data, write_jsonl, write_texts

NOTES = {
    "여우.md": "# 여우\n\n붉은 여우는 밤에 사냥한다. [[굴|집]]",
    "닭.md": "# 닭\n\n붉은 닭은 마당에서 벌레를 사냥한다.",
    "굴.md": "# 굴\n\n나무 뿌리 아래 붉은 흙집. [숲](숲.md)",
    "숲.md": "# 숲\n\n나무가 많다. ![[여우]]",
}


@pytest.fixture
def vault() -> list[str]:
    write_texts(Path("notes"), NOTES)
    query = {"id": "q", "query": "붉은 동물은 밤에 어디서 사냥하나", "answerable": True, "expected_notes": ["굴"]}
    write_jsonl(Path("q.jsonl"), [query])
    where = ["dataset=vault", "dataset.notes=notes", "dataset.queries=q.jsonl", "tracking=none"]
    return ["+experiment=retrieval_only", *where, "retriever.graph_weight=3"]


def metrics_of(folder: str) -> dict[str, Any]:
    summary = json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))
    return {name: found["value"] for name, found in summary["metrics"].items()}


def test_with_and_without_the_graph(vault: list[str]) -> None:
    assert main([*vault, "retriever=keyword", "out=with"]) == 0
    assert main([*vault, "retriever=keyword", "retriever.graph_rerank=false", "out=without"]) == 0
    reranked, plain = metrics_of("with"), metrics_of("without")
    assert reranked["mrr"] > plain["mrr"]
    beside = {name: value for name, value in reranked.items() if name.startswith("no_graph/")}
    assert beside and all(plain[name.removeprefix("no_graph/")] == value for name, value in beside.items())
    assert not any("/" in name for name in plain)
    facts = json.loads(Path("with/summary.json").read_text(encoding="utf-8"))["facts"]
    assert facts["index"]["graph"] == {"links": 3, "broken": 0, "ambiguous": 0}
    told = Path("with/summary.md").read_text(encoding="utf-8")
    assert "### With and without the links between documents\n\n| Metric | with links | without links |\n" in told
    assert "<h3>With and without the links between documents</h3>" in Path("with/report.html").read_text("utf-8")


def test_the_legs_of_a_fusion_and_the_graph(vault: list[str]) -> None:
    assert main([*vault, "retriever=hybrid", "report.language=ko", "out=o"]) == 0
    told = Path("o/summary.md").read_text(encoding="utf-8")
    assert "### 결합 검색의 구성 요소\n\n| 메트릭 | 결합 | keyword | 링크 미반영 | semantic |\n" in told


def test_documents_without_links_are_ranked_as_ever(tmp_path: Path) -> None:
    assert main(["+experiment=retrieval_only", *small_data(tmp_path), "tracking=none", "out=o"]) == 0
    assert {name.split("/")[0] for name in metrics_of("o") if "/" in name} == {"keyword", "semantic"}


def test_where_notes_are_kept_is_no_part_of_what_is_measured(vault: list[str]) -> None:
    assert main([*vault, "retriever=keyword", "out=a"]) == 0
    assert main([*vault, "retriever=keyword", "cache_dir=elsewhere", "cold_start=true", "out=b"]) == 0
    runs = [json.loads(Path(folder, "run.json").read_text(encoding="utf-8")) for folder in "ab"]
    assert runs[0]["fingerprint"] == runs[1]["fingerprint"]
    assert Path("elsewhere/notes.sqlite").exists()


def test_a_note_that_changed_is_found_by_what_it_says_now(vault: list[str]) -> None:
    assert main([*vault, "retriever=keyword", "retriever.graph_rerank=false", "out=before"]) == 0
    Path("notes/굴.md").write_text("# 굴\n\n붉은 동물은 밤에 어디서 사냥하나", encoding="utf-8")
    assert main([*vault, "retriever=keyword", "retriever.graph_rerank=false", "out=after"]) == 0
    assert (metrics_of("before")["mrr"], metrics_of("after")["mrr"]) == (pytest.approx(1 / 3), 1.0)


@pytest.mark.parametrize("model", [[], ["+experiment=full_rag", "judge=openai", "judge.model=local:small"]])
def test_a_plan_keeps_nothing_of_what_it_reads(vault: list[str], model: list[str]) -> None:
    words = [*(model or vault[:1]), *vault[1:-1], "retriever=keyword"]
    before = sorted(Path().rglob("*"))
    assert main(["plan", *words]) == 0
    assert sorted(Path().rglob("*")) == before
