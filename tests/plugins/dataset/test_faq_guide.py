from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from plugins.dataset.faq_guide import FaqGuideDataset
from runner.domains.agent.tags import chunk_tags
from runner.errors import CorpusError, DataError
from runner.records import DataSet


def lines(path: Path, records: Sequence[Mapping[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return str(path)


def question(id: str, *notes: str) -> dict[str, Any]:
    return {"id": id, "query": "어떻게 하나요?", "answerable": bool(notes), "expected_notes": list(notes)}


@pytest.fixture(scope="module")
def built_in() -> DataSet:
    return FaqGuideDataset().load()


def test_what_comes_with_the_program_is_without_fault(built_in: DataSet) -> None:
    assert built_in.problems == ()
    kinds = Counter((document.metadata["doc_type"], document.language) for document in built_in.corpus.documents)
    assert kinds == {("faq", "ko"): 16, ("guide", "ko"): 15, ("faq", "en"): 16, ("guide", "en"): 15}
    asked = Counter((query.language, query.answerable) for query in built_in.queries)
    assert asked == {("ko", True): 32, ("ko", False): 6, ("en", True): 32, ("en", False): 6}
    for query in built_in.queries:
        for note, answer in zip(query.relevance, query.answers, strict=True):
            assert answer in built_in.corpus.document_by_id[note].text
            assert query.language is not None and note.startswith(query.language)


def test_sections_of_guides_are_chunks_with_tags_of_their_own(built_in: DataSet) -> None:
    tags = chunk_tags(built_in.corpus)
    sections = {tags[chunk.id]["section"]: tags[chunk.id] for chunk in built_in.corpus.chunks_of("ko-guide-01")}
    assert {name: tag["has_steps"] for name, tag in sections.items()} == {
        "AWS 계정 연결하기": False,
        "AWS 계정 연결하기 > 준비할 것": False,
        "AWS 계정 연결하기 > 연결 절차": True,
        "AWS 계정 연결하기 > 연결이 실패할 때": False,
    }
    one = sections["AWS 계정 연결하기 > 연결 절차"]
    assert (one["doc_type"], one["guide_type"], one["language"]) == ("guide", "how_to", "ko")
    faq = tags["en-faq-01#0"]
    assert (faq["doc_type"], faq["has_steps"], "guide_type" in faq) == ("faq", False, False)
    kinds = Counter(document.metadata.get("guide_type") for document in built_in.corpus.documents)
    assert kinds["how_to"] >= 10
    assert kinds["concept"] >= 2


def test_files_of_ones_own(tmp_path: Path) -> None:
    faq = lines(tmp_path / "faq.jsonl", [{"id": "f", "text": "짧은 답.", "doc_type": "other"}])
    more = lines(tmp_path / "more.jsonl", [{"id": "f2", "text": "First open it, then close it."}])
    guide = lines(
        tmp_path / "guide.jsonl",
        [{"id": "g", "title": "Errors", "text": "text"}, {"id": "g2", "text": "text", "guide_type": "tutorial"}],
    )
    queries = [
        lines(tmp_path / f"{name}.jsonl", [question(name, note), question(f"{name}-none")])
        for name, note in (("one", "f"), ("two", "g"))
    ]
    data = FaqGuideDataset(faq=[faq, more], guide=guide, queries=queries).load()
    assert [document.id for document in data.corpus.documents] == ["f", "f2", "g", "g2"]
    assert [document.metadata for document in data.corpus.documents] == [
        {"has_steps": False, "doc_type": "faq"},
        {"has_steps": True, "doc_type": "faq"},
        {"has_steps": False, "guide_type": "troubleshooting", "doc_type": "guide"},
        {"has_steps": False, "guide_type": "tutorial", "doc_type": "guide"},
    ]
    assert [query.id for query in data.queries] == ["one", "one-none", "two", "two-none"]


def test_all_files_or_none(tmp_path: Path) -> None:
    faq = lines(tmp_path / "faq.jsonl", [{"id": "f", "text": "답"}])
    told = "a file is required beside the others; give faq, guide and queries, or none of them for what comes with"
    problems = FaqGuideDataset(faq=faq).preflight()
    assert [str(each) for each in problems] == [f"dataset.{name}: {told} the program" for name in ("guide", "queries")]
    absent = str(tmp_path / "absent.jsonl")
    problems = FaqGuideDataset(faq=faq, guide=absent, queries=absent).preflight()
    assert [(each.key, each.exit_code) for each in problems] == [("dataset.guide", 2), ("dataset.queries", 1)]
    assert FaqGuideDataset().preflight() == []


def test_documents_without_questions(tmp_path: Path) -> None:
    files = {name: lines(tmp_path / f"{name}.jsonl", [{"id": name, "text": "text"}]) for name in ("faq", "guide")}
    dataset = FaqGuideDataset(**files)
    assert dataset.preflight() == []
    data = dataset.load()
    assert ([document.id for document in data.corpus.documents], list(data.queries)) == (["faq", "guide"], [])


def test_an_id_in_both_collections_or_both_files_of_questions(tmp_path: Path) -> None:
    faq = lines(tmp_path / "faq.jsonl", [{"id": "x", "text": "답"}])
    guide = lines(tmp_path / "guide.jsonl", [{"id": "g", "text": "text"}])
    asked = lines(tmp_path / "queries.jsonl", [question("q", "x")])
    with pytest.raises(CorpusError, match=r"dataset.guide: 'x' is an id of a document in dataset.faq, too; rename one"):
        FaqGuideDataset(faq=faq, guide=faq, queries=asked).load()
    with pytest.raises(DataError, match=r"dataset.queries: the id 'q' in .* is one in a file before, too"):
        FaqGuideDataset(faq=faq, guide=guide, queries=[asked, asked]).load()
