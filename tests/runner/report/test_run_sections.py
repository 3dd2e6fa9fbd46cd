"""Sections of a report about the run itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.report.run import cases_line, failures_by_stage, index_facts, latency
from runner.words.wording import LANGUAGES
from tests.run_documents import as_markdown, document_of

INDEX: dict[str, Any] = {
    "n_documents": 224, "n_chunks": 337, "kind": "convex", "size_bytes": 844_783, "n_stems": 7,
    "keyword": {"kind": "bm25", "n_terms": 4430, "n_stems": 7, "graph": {"links": 3, "broken": 1, "ambiguous": 0}},
    "semantic": {"kind": "ivf", "dim": 256, "recall_at_10": 0.98},
    "base": {"n_chunks": 337},
}  # fmt: skip
ENGLISH = {
    "documents": "224", "chunks": "337", "kind": "convex", "size": "0.8 MiB", "n_stems": "7",
    "kind (keyword)": "bm25", "terms (keyword)": "4430", "keyword.n_stems": "7",
    "links (keyword, note graph)": "3", "broken links (keyword, note graph)": "1",
    "ambiguous links (keyword, note graph)": "0", "kind (semantic)": "ivf", "dimensions (semantic)": "256",
    "Recall@10 against an exact search (semantic)": "0.9800", "chunks (base)": "337",
}  # fmt: skip
KOREAN = {
    "문서 수": "224", "청크 수": "337", "종류": "convex", "크기": "0.8 MiB", "n_stems": "7",
    "종류 (keyword)": "bm25", "용어 수 (keyword)": "4430", "keyword.n_stems": "7",
    "링크 수 (keyword, 노트 그래프)": "3", "끊긴 링크 수 (keyword, 노트 그래프)": "1",
    "모호한 링크 수 (keyword, 노트 그래프)": "0", "종류 (semantic)": "ivf", "차원 수 (semantic)": "256",
    "정확한 검색 대비 Recall@10 (semantic)": "0.9800", "청크 수 (기반 검색기)": "337",
}  # fmt: skip


@pytest.mark.parametrize(("language", "expected"), [("en", ENGLISH), ("ko", KOREAN)])
def test_facts_of_the_index_have_words(tmp_path: Path, language: str, expected: dict[str, str]) -> None:
    """Those that the program does not know, of a plugin, keep their names."""
    document = document_of(tmp_path / "run", {"facts": {"index": INDEX}}, language)
    assert dict(list(index_facts(document))[: len(expected)]) == expected


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "40 (ok 40, failed 0, timeout 0); 30 without all scores"),
        ("ko", "40 (성공 40, 실패 0, 시간 초과 0), 점수 빠짐 30"),
    ],
)
def test_cases_that_lack_a_score_are_counted_beside_those_that_failed(language: str, line: str) -> None:
    cases = {"total": 40, "ok": 40, "failed": 0, "timeout": 0, "pending": 0, "unscored": 30}
    assert cases_line({"cases": cases}, LANGUAGES[language]) == line


@pytest.mark.parametrize(
    ("declined", "gate", "line"),
    [
        (3, None, "but min_score (0.3) calls 3 of 10 answerable questions unanswerable."),
        (0, None, "No question failed."),
        (3, {"false_positive": 3}, "No question failed."),  # an answer that was delivered decides
    ],
)
def test_questions_that_min_score_declines_are_no_clean_result(
    tmp_path: Path, declined: int, gate: dict[str, int] | None, line: str
) -> None:
    table = {"true_positive": 0, "false_positive": declined, "false_negative": 0, "true_negative": 10 - declined}
    lost = {"none": 10, "not_retrieved": 0, "below_k": 0, "wrong_answer": 0, "refused_answerable": 0}
    counts = {"lost_at": lost, "answerability": table, **({"retrieval_gate": gate} if gate else {})}
    assert line in " ".join(as_markdown([failures_by_stage(document_of(tmp_path, {"counts": counts}))]).split())


TIMED: dict[str, Any] = {
    "cases": {"total": 400, "ok": 400, "failed": 0, "timeout": 0, "pending": 0, "unscored": 0},
    "timing": {
        "latency": {"case": {"p50_ms": 101.0, "p95_ms": 317.0, "n": 358, "n_repeated": 42, "p95_repeated_ms": 2210.0}},
        "usage": {"system": {"http://127.0.0.1/ask": {"live": {"requests": 400}}}},
        "loop_lag_ms": 31.0,
    },
}


@pytest.mark.parametrize(
    ("language", "note", "lag"),
    [
        (
            "en",
            "42 cases needed a second attempt; with it p95 2,210.0 ms",
            "31 ms late on average, beside a p50 of 101 ms",
        ),
        (
            "ko",
            "사례 42개는 다시 요청해야 했고, 그 시간까지 더한 p95는 2,210.0 ms",
            "평균 31 ms 늦었습니다(p50 101 ms)",
        ),
    ],
)
def test_latency_names_second_attempts_the_number_in_flight_and_a_late_loop(
    tmp_path: Path, language: str, note: str, lag: str
) -> None:
    config = {"report": {"language": language}, "max_concurrency": 128}
    text = as_markdown([latency(document_of(tmp_path, TIMED, run={"config": config}))])
    assert f"| 101.0 | 317.0 | 358 | 128 | {note} |" in text
    assert lag in text
    timing = {**TIMED["timing"], "loop_lag_ms": 10.0}
    assert lag[:5] not in as_markdown([latency(document_of(tmp_path / "b", {**TIMED, "timing": timing}))])
