"""Data files that somebody else has written: whatever is in them, they are read, or refused with file and place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.dataset.jsonl import JsonlDataset
from plugins.dataset.squad import SquadDataset
from plugins.dataset.traces import TracesDataset
from plugins.dataset.trec import TrecDataset
from plugins.dataset.vault import VaultDataset
from plugins.evaluation.full_rag import FullRag
from plugins.generator.given import GivenGenerator
from plugins.judge.lexical import LexicalJudge
from plugins.retriever.given import GivenRetriever
from plugins.scenario.file import FileScenarios
from runner.aggregate import aggregate, latency
from runner.commands import score
from runner.data.labels import read_labels
from runner.data.problems import ProblemLog
from runner.data.ratings import Wanted
from runner.engine import run_case
from runner.journal import encode
from runner.records import DataSet, Row
from runner.retrieval import Retrieval
from runner.store import Store
from runner.trace import score_trace
from runner.trace.chat_logs import read_chat_logs
from tests.fuzz.damage import altered, damaged, encoded, files_of, jsonl
from tests.fuzz.inputs import FOREIGN, inputs, refused

DOCUMENTS = [
    {"id": "a", "title": "A", "text": "The Moon circles the Earth in 27 days.", "lang": "en"},
    {"id": "가", "title": "가", "text": "달은 지구를 27일에 한 바퀴 돈다.", "lang": "ko"},
]
QUERIES: list[dict[str, Any]] = [
    {
        "id": "q1", "query": "How long does the Moon need?", "answerable": True, "expected_notes": ["a"],
        "expected_chunks": ["a#0"],
        "expected_spans": [{"note": "a", "start": 4, "end": 20}, {"note": "a", "text": "27"}],
        "answers": ["27 days"], "language": "en", "difficulty": "easy", "tags": ["space"],
        "history": [{"role": "user", "text": "The Moon?"}, {"role": "assistant", "text": "Yes."}],
        "ranking": [{"id": "a", "score": 0.9}, {"id": "가", "score": 0.2}],
        "contexts": [{"id": "a", "text": "The Moon circles the Earth in 27 days.", "title": "A"}],
        "answer": "27 days [1].",
    },
    {
        "id": "q2", "query": "달은?", "answerable": True, "expected_notes": {"가": 2}, "ranking": ["가", "a"],
        "contexts": ["달은 27일에 돈다."], "answer": "27일",
    },
    {"id": "q3", "query": "Lunch?", "answerable": False, "ranking": [], "contexts": [], "answer": ""},
]  # fmt: skip
TOPICS = b"""<top>
<num> Number: 1
<title> moon days
<desc> Description: How long?
</top>
<topic number="2"><title>\xeb\x8b\xac</title></topic>
"""
QRELS = "1 0 a 1\n1 0 가 0\n2 0 가 2\n".encode()
RANKED = "1 Q0 a 1 2.5 x\n1 Q0 가 2 1.5 x\n2 Q0 가 1 0.5 x\n".encode()
SQUAD: dict[str, Any] = {
    "version": "2.0",
    "data": [
        {
            "title": "Moon",
            "paragraphs": [
                {
                    "context": "The Moon circles the Earth in 27 days.",
                    "qas": [
                        {"id": "1", "question": "How long?", "answers": [{"text": "27 days", "answer_start": 30}]},
                        {"id": "2", "question": "Why?", "is_impossible": True, "answers": []},
                    ],
                }
            ],
        }
    ],
}
NOTE = "---\ntitle: 달\naliases: [moon]\ntags: [space]\nlang: ko\n---\n# 달\n\n[[a]] 달은 27일에 돈다. #x\n".encode()
TRACE: dict[str, Any] = {
    "@type": "ReasoningTrace", "id": "t1", "task": {"objective": "Find it"},
    "metadata": {
        "task_domain": "code", "success": True, "created_at": "2026-01-02T03:04:05Z", "rating": 3, "language": "en",
    },
    "steps": [
        {"type": "thought", "content": "Look."}, {"type": "tool_call", "tool": {"name": "grep"}},
        {"type": "observation", "content": "Found."}, {"type": "error_recovery", "content": "Again."},
    ],
    "outcome": {"confidence": 0.9, "result_summary": "Done"},
}  # fmt: skip
CHAT: dict[str, Any] = {
    "id": "c1", "task_domain": "code", "success": True, "confidence": 0.5, "rating": 2,
    "messages": [
        {"role": "system", "content": "Help."}, {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "grep", "arguments": "{\"a\": 1}"}}]},
        {"role": "tool", "tool_call_id": "x", "content": "found"}, {"role": "assistant", "content": "Done."},
    ],
}  # fmt: skip
CONVERSATION: dict[str, Any] = {
    "id": "c", "language": "ko", "tenant": "acme", "tags": ["x"],
    "sessions": [
        {"date": "2025-11-03", "turns": [{"user": "예산은 1억이에요.", "assistant": "네."}]},
        {"turns": [{"speaker": "A", "text": "예산이 1.5억으로 늘었어요.", "id": "t2", "date": "2025-11-04T09:30"}]},
    ],
    "facts": [
        {"id": "old", "key": "예산", "value": "1억", "turn": 1},
        {"id": "new", "key": "예산", "value": "1.5억", "aliases": ["1억 5천만 원"], "turn": 2},
    ],
    "probes": [
        {
            "id": "p1", "question": "지금 예산이 얼마야?", "after_turn": 2, "expected": ["new"], "forbidden": ["old"],
            "answers": ["1.5억"], "evidence": ["t2"], "canaries": ["secret"], "category": "update",
        }
    ],
}  # fmt: skip
YAML = """version: 1
conversations:
  - id: c
    language: ko
    turns:
      - {user: 예산은 1억이에요., assistant: 네.}
      - {user: "예산이 1.5억으로 늘었어요.", assistant: 알겠습니다.}
    facts:
      - {id: new, key: 예산, value: 1.5억, turn: 2}
    probes:
      - {id: p1, question: 얼마야?, after_turn: 2, expected: [new], answers: [1.5억]}
""".encode()
RATED: dict[str, Any] = {
    "id": "1", "question": "How long?", "answer": "27 days.", "contexts": ["In 27 days."], "language": "en",
    "system": "s", "group": "g", "ratings": {"faithfulness": [1, 0.5], "answer_relevancy": 1},
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_bytes(jsonl(DOCUMENTS))
    (tmp_path / "queries.jsonl").write_bytes(jsonl(QUERIES))
    return tmp_path


def checked(load: Callable[[], DataSet], path: Path, key: str) -> None:
    """Read, or refused; what is read goes through a whole evaluation."""
    data = refused(load, names=[str(path), key])
    if data is not None:
        assert all(problem.path and problem.message for problem in data.problems)
        evaluated(data, path.parent)


class Loaded:
    def __init__(self, data: DataSet) -> None:
        self.data = data

    def load(self) -> DataSet:
        return self.data


def evaluated(data: DataSet, folder: Path) -> None:
    """No row tells of an error that is not one of ours, and everything can be written and summed up."""
    retriever = GivenRetriever()
    retrieval = Retrieval(
        dataset=Loaded(data),
        retriever=retriever,
        k=2,
        cutoffs=[1, 3],
        min_score=0.3,
        timeout_ms=10_000,
        warmup=0,
        seed=1,
    )
    evaluation = FullRag(retrieval=retrieval, generator=GivenGenerator(), judge=LexicalJudge(), high=0.6)

    async def rows() -> list[Row]:
        found = evaluation.load()
        await evaluation.prepare(found.cases, Store(folder / "cache", {id(retriever): "given"}))
        return [await run_case(evaluation, case, 10) for case in found.cases]

    made = asyncio.run(rows())
    for row in made:
        assert row.error is None or not FOREIGN.search(row.error), row
        assert orjson.loads(encode(row))["id"] == row.id
    orjson.dumps([aggregate(made, seed=1, resamples=50), latency(made)])


@inputs(110)
@given(content=files_of(QUERIES))
def test_queries(folder: Path, content: bytes) -> None:
    path = folder / "queries.jsonl"
    path.write_bytes(content)
    checked(JsonlDataset(corpus=str(folder / "corpus.jsonl"), queries=str(path)).load, path, "dataset.queries")


@inputs(50)
@given(content=files_of(DOCUMENTS))
def test_documents(folder: Path, content: bytes) -> None:
    path = folder / "corpus.jsonl"
    path.write_bytes(content)
    checked(JsonlDataset(corpus=str(path), queries=str(folder / "queries.jsonl")).load, path, "dataset.corpus")


@inputs(40)
@given(content=damaged(TOPICS))
def test_topics(folder: Path, content: bytes) -> None:
    path, qrels = folder / "topics", folder / "qrels"
    path.write_bytes(content)
    qrels.write_bytes(QRELS)
    data = TrecDataset(corpus=str(folder / "corpus.jsonl"), topics=str(path), qrels=str(qrels))
    checked(data.load, path, "dataset.qrels")


@inputs(40)
@given(content=damaged(QRELS))
def test_qrels(folder: Path, content: bytes) -> None:
    topics, path = folder / "topics", folder / "qrels"
    topics.write_bytes(TOPICS)
    path.write_bytes(content)
    data = TrecDataset(
        corpus=str(folder / "corpus.jsonl"), topics=str(topics), qrels=str(path), unjudged="unanswerable"
    )
    checked(data.load, path, "dataset.topics")


@inputs(40)
@given(judged=damaged(QRELS) | st.just(QRELS), ranked=damaged(RANKED))
def test_rankings_and_judgements_to_score(tmp_path: Path, judged: bytes, ranked: bytes) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_bytes(judged)
    run.write_bytes(ranked)
    refused(lambda: score.main([str(qrels), str(run), "--per-query"]), names=[str(qrels), str(run)])


@inputs(60)
@given(value=altered(SQUAD), broken=st.booleans(), data=st.data())
def test_squad(folder: Path, value: Any, broken: bool, data: st.DataObject) -> None:
    path = folder / "squad.json"
    path.write_bytes(data.draw(damaged(encoded(SQUAD))) if broken else encoded(value))
    checked(SquadDataset(path=str(path)).load, path, "dataset.path")


@inputs(50)
@given(content=damaged(NOTE), name=st.sampled_from(["b.md", "a b.md", "가.md", "x/c.md", ".md", "d.MD"]))
def test_notes(folder: Path, content: bytes, name: str) -> None:
    notes = folder / "notes"
    for path, text in ((notes / "a.md", b"# A\n\nThe Moon.\n"), (notes / name, content)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    load = VaultDataset(notes=str(notes), queries=str(folder / "queries.jsonl")).load
    checked(load, folder / "queries.jsonl", "dataset.notes")


@inputs(60)
@given(content=files_of([TRACE, {**TRACE, "id": "t2"}]))
def test_traces(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(content)
    found = refused(TracesDataset(traces=str(path)).read, names=[str(path)])
    for trace in found[0] if found else ():
        assert 0 <= score_trace(trace).score <= 1


@inputs(40)
@given(content=files_of([CHAT]))
def test_chat_logs(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_bytes(content)
    log = ProblemLog()
    read = refused(lambda: list(read_chat_logs(str(path), log, domain="default", confidence=0.5)), names=[str(path)])
    for trace in read or ():
        assert 0 <= score_trace(trace).score <= 1


@inputs(60)
@given(content=files_of([CONVERSATION, {**CONVERSATION, "id": "d"}]))
def test_scenarios(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "scenarios.jsonl"
    path.write_bytes(content)
    refused(FileScenarios(path=str(path)).load, names=[str(path)])


@inputs(60)
@given(content=damaged(YAML))
def test_scenarios_in_yaml(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "scenarios.yaml"
    path.write_bytes(content)
    refused(FileScenarios(path=str(path)).load, names=[str(path)])


@inputs(40)
@given(content=files_of([RATED, {**RATED, "id": "2"}]))
def test_rated_answers(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rated.jsonl"
    path.write_bytes(content)
    wanted = Wanted({"faithfulness": "faithfulness", "answer_relevancy": "answer_relevancy"}, None)
    refused(lambda: read_labels(str(path), wanted, ProblemLog()), names=[str(path)])
