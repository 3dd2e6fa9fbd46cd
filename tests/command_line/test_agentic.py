"""Runs with an agent, without a model: from the data that come with the program to the pages of the report."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main


@pytest.fixture(scope="module")
def sweep(common_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """hybrid and agentic, on the FAQ and guides that come with the program."""
    folder = tmp_path_factory.mktemp("agentic")
    words = ["retriever=hybrid,agentic", "dataset=faq_guide", "tracking=none", "report.language=ko"]
    kept = [f"cache_dir={common_cache}", f"out={folder / 'out'}"]
    assert main(["+experiment=full_rag", *words, *kept]) == 0
    return folder / "out"


def rows(run: Path) -> dict[str, dict[str, Any]]:
    lines = (run / "per_item.jsonl").read_text("utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def summary(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "summary.json").read_text("utf-8"))
    return found


def test_two_collections_are_indexed_beside_the_whole(sweep: Path) -> None:
    index = summary(sweep / "1")["facts"]["index"]
    assert (index["faq"]["n_documents"], index["guide"]["n_documents"], index["n_documents"]) == (32, 30, 62)
    assert index["faq"]["n_chunks"] + index["guide"]["n_chunks"] == index["base"]["n_chunks"] == index["n_chunks"]


def test_the_agent_is_hardly_worse_than_the_retriever_in_it(sweep: Path) -> None:
    hybrid, agentic = (summary(sweep / cell)["metrics"] for cell in "01")
    for name in ("hit_rate_at_1", "hit_rate_at_3", "hit_rate_at_k", "hit_rate_at_10"):
        assert agentic[name]["value"] >= hybrid[name]["value"] - 1 / 64  # one question
        assert agentic[f"base/{name}"]["value"] == hybrid[name]["value"]


def test_each_row_tells_what_the_agent_did(sweep: Path) -> None:
    assert not any("trajectory" in row["output"] for row in rows(sweep / "0").values())
    found = rows(sweep / "1")
    first = found["ko-q-01"]["output"]["trajectory"]
    assert (first["stopped"], first["confidence"]) == ("sufficient", 1.0)
    (call,) = first["calls"]
    assert (call["tool"], call["arguments"]) == ("search_all", {"query": "비용 데이터는 하루에 몇 번 갱신되나요?"})
    kinds = [id.split("-")[1] for id in call["found"]]
    assert kinds == ["faq"] * 3 + ["guide"] * 7
    assert all(len(row["output"]["trajectory"]["calls"]) <= 3 for row in found.values())


def test_what_cannot_be_answered_is_told_in_the_language_of_the_question(sweep: Path) -> None:
    found = rows(sweep / "1")
    asked_off_topic = {id: found[id] for id in ("ko-q-35", "en-q-35")}
    answers = {id: row["output"]["answer"].splitlines() for id, row in asked_off_topic.items()}
    assert answers["ko-q-35"] == [
        "관련 문서를 찾지 못했습니다. 아래 메뉴를 확인해 주세요.",
        "- [자주 묻는 질문](/faq)",
        "- [사용 가이드](/guide)",
        "- [문의하기](/support)",
    ]
    assert answers["en-q-35"][0] == "No related documents were found. Please check the menu below."
    for row in asked_off_topic.values():
        assert row["labels"]["answerability"] == "true_positive"
        assert row["output"]["declined"] is True
        assert len(row["output"]["retrieved"]) == 10  # the ranking stays
        assert "generation" not in row["timings"]
        assert row["judgements"] == {}  # a refusal claims nothing


def test_rankings_of_agents_are_kept(sweep: Path, common_cache: Path) -> None:
    words = ["retriever=agentic", "dataset=faq_guide", "tracking=none", "format=json", f"cache_dir={common_cache}"]
    assert main(["+experiment=retrieval_only", *words, f"out={sweep.parent / 'again'}"]) == 0
    again = summary(sweep.parent / "again")
    assert again["timing"]["rankings_reused"] is True
    before, after = rows(sweep / "1"), rows(sweep.parent / "again")
    assert {id: row["output"]["trajectory"] for id, row in after.items()} == {
        id: row["output"]["trajectory"] for id, row in before.items()
    }


def test_the_pages_show_what_was_said(sweep: Path) -> None:
    page, text = ((sweep / "1" / name).read_text("utf-8") for name in ("report.html", "summary.md"))
    assert "관련 문서를 찾지 못했습니다" in page
    assert "| 에이전트 | scripted |\n| 리랭커 | lexical |" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["retriever.min_confidence=2"], "retriever.min_confidence: expected 1 or less, got 2"),
        (["retriever.menu.ko=[{title: a}]"], "retriever.menu.ko.0.url: a value is required"),
        (["agent=nobody"], "agent: no choice 'nobody'; known: pydantic_ai, scripted"),
        (["dataset=faq_guide", "dataset.faq=x.jsonl"], "dataset.guide: a file is required beside the others"),
    ],
)
def test_settings_that_are_wrong(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retriever=agentic", "tracking=none", *words]) == 1
    assert told in capsys.readouterr().err
