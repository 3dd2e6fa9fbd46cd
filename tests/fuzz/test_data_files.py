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
from runner.commands import score
from runner.commands.traces import document
from runner.data.problems import ProblemLog
from runner.domains.traces import score_trace
from runner.domains.traces.chat_logs import read_chat_logs
from runner.domains.traces.mlflow_traces import read_mlflow
from runner.domains.traces.otel_spans import read_otel
from runner.metrics.aggregate import aggregate, latency
from runner.metrics.catalogue import built_in_catalogue
from runner.records import DataSet, Row
from runner.retrieval.stage import Retrieval
from runner.run.engine import run_case
from runner.system.journal import encode
from runner.system.store import Store
from tests.fuzz.damage import altered, damaged, encoded, files_of, jsonl
from tests.fuzz.inputs import FOREIGN, inputs, refused
from tests.fuzz.samples import (
    CHAT,
    DOCUMENTS,
    NOTE,
    QRELS,
    QUERIES,
    RANKED,
    SQUAD,
    TOPICS,
    TRACE,
)


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
    orjson.dumps([aggregate(made, built_in_catalogue(), seed=1, resamples=50), latency(made)])


@inputs(70)
@given(content=files_of(QUERIES))
def test_queries(folder: Path, content: bytes) -> None:
    path = folder / "queries.jsonl"
    path.write_bytes(content)
    checked(JsonlDataset(corpus=str(folder / "corpus.jsonl"), queries=str(path)).load, path, "dataset.queries")


@inputs(30)
@given(content=files_of(DOCUMENTS))
def test_documents(folder: Path, content: bytes) -> None:
    path = folder / "corpus.jsonl"
    path.write_bytes(content)
    checked(JsonlDataset(corpus=str(path), queries=str(folder / "queries.jsonl")).load, path, "dataset.corpus")


@inputs(25)
@given(content=damaged(TOPICS))
def test_topics(folder: Path, content: bytes) -> None:
    path, qrels = folder / "topics", folder / "qrels"
    path.write_bytes(content)
    qrels.write_bytes(QRELS)
    data = TrecDataset(corpus=str(folder / "corpus.jsonl"), topics=str(path), qrels=str(qrels))
    checked(data.load, path, "dataset.qrels")


@inputs(25)
@given(content=damaged(QRELS))
def test_qrels(folder: Path, content: bytes) -> None:
    topics, path = folder / "topics", folder / "qrels"
    topics.write_bytes(TOPICS)
    path.write_bytes(content)
    data = TrecDataset(
        corpus=str(folder / "corpus.jsonl"), topics=str(topics), qrels=str(path), unjudged="unanswerable"
    )
    checked(data.load, path, "dataset.topics")


@inputs(25)
@given(judged=damaged(QRELS) | st.just(QRELS), ranked=damaged(RANKED))
def test_rankings_and_judgements_to_score(tmp_path: Path, judged: bytes, ranked: bytes) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_bytes(judged)
    run.write_bytes(ranked)
    refused(lambda: score.main([str(qrels), str(run), "--per-query"]), names=[str(qrels), str(run)])


@inputs(40)
@given(value=altered(SQUAD), broken=st.booleans(), data=st.data())
def test_squad(folder: Path, value: Any, broken: bool, data: st.DataObject) -> None:
    path = folder / "squad.json"
    path.write_bytes(data.draw(damaged(encoded(SQUAD))) if broken else encoded(value))
    checked(SquadDataset(path=str(path)).load, path, "dataset.path")


@inputs(35)
@given(content=damaged(NOTE), name=st.sampled_from(["b.md", "a b.md", "가.md", "x/c.md", ".md", "d.MD"]))
def test_notes(folder: Path, content: bytes, name: str) -> None:
    notes = folder / "notes"
    for path, text in ((notes / "a.md", b"# A\n\nThe Moon.\n"), (notes / name, content)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    load = VaultDataset(notes=str(notes), queries=str(folder / "queries.jsonl")).load
    checked(load, folder / "queries.jsonl", "dataset.notes")


@inputs(40)
@given(content=files_of([TRACE, {**TRACE, "id": "t2"}]))
def test_traces(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(content)
    found = refused(TracesDataset(traces=str(path)).read, names=[str(path)])
    for trace in found[0] if found else ():
        assert 0 <= score_trace(trace).score <= 1


@inputs(25)
@given(content=files_of([CHAT]))
def test_chat_logs(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_bytes(content)
    log = ProblemLog()
    read = refused(lambda: list(read_chat_logs(str(path), log, domain="default", confidence=0.5)), names=[str(path)])
    for trace in read or ():
        assert 0 <= score_trace(trace).score <= 1


EXPORTS = Path(__file__).parents[1] / "runner" / "domains" / "traces" / "exports"


def exports(name: str) -> list[Any]:
    """What an instrumentation wrote, an object a line."""
    return [orjson.loads(line) for line in (EXPORTS / name).read_text(encoding="utf-8").splitlines()[:4]]


@inputs(25)
@given(
    content=files_of(exports("otel_pydantic_ai.jsonl"))
    | files_of(exports("otel_events.jsonl"))
    | files_of(exports("otel_openinference.jsonl"))
)
def test_spans(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(content)
    log = ProblemLog()
    read = refused(lambda: list(read_otel(str(path), log, domain="default", confidence=0.5)), names=[str(path)])
    for trace in read or ():
        orjson.dumps(document(trace))


@inputs(25)
@given(content=files_of(exports("mlflow_2_22.jsonl")) | files_of(exports("mlflow_2_14_rows.jsonl")))
def test_traces_of_mlflow(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(content)
    log = ProblemLog()
    read = refused(lambda: list(read_mlflow(str(path), log, domain="default", confidence=0.5)), names=[str(path)])
    for trace in read or ():
        orjson.dumps(document(trace))
