"""Three documents, a retriever that goes by letters, a generator that says what it is told, and a judge."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from plugins.evaluation.full_rag import FullRag, RequireSettings
from plugins.metric.offered import Offered
from runner.protocols import Scorer
from runner.records import Answer, Chunk, Context, Corpus, DataSet, Document, Judgement, Query, Ranking, Row
from runner.run.engine import run_case
from runner.system.stopwatch import note
from runner.system.store import Store
from tests.plugins.evaluation.small_retrieval import retrieval

TEXTS = {"a": "Alpha is first.", "b": "Beta is second.", "c": "Gamma is third."}
CORPUS = Corpus(
    documents=[Document(id, text, title=id.upper()) for id, text in TEXTS.items()],
    chunks=[Chunk(f"{id}#0", id, text, 0, len(text)) for id, text in TEXTS.items()],
    fingerprint="f",
)


class Data:
    def __init__(self, *queries: Query) -> None:
        self.queries = queries

    def load(self) -> DataSet:
        return DataSet(CORPUS, self.queries)


class Alphabetical:
    """a (relevance .9), b (.6), c (.3) for every query; nothing for the query `nothing`; no index."""

    def index(self, corpus: Corpus, workspace: Any) -> Mapping[str, Any]:
        return {"kind": "alphabetical"}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        found = Ranking(("a#0", "b#0", "c#0"), (3.0, 2.0, 1.0), (0.9, 0.6, 0.3))
        return [Ranking((), (), ()) if query.text == "nothing" else found for query in queries]


class Says:
    refuse_below: float | None = None

    def __init__(self, answer: Answer, live: bool = True) -> None:
        self.answer, self.live = answer, live
        self.contexts: Sequence[Context] = ()

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        self.contexts = contexts
        note(live=self.live)
        return self.answer


class Judges:
    """Of correctness it says 0.5 where it is not told what to say; `baseline`: it is taken for a rule, not a model."""

    baseline = True

    def __init__(self, on_failure: Literal["zero", "exclude"] = "zero", **scores: float | None) -> None:
        self.on_failure: Literal["zero", "exclude"] = on_failure
        self.scores = scores
        self.fields: dict[str, Mapping[str, Any]] = {}

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        self.fields[rubric] = fields
        score = self.scores.get(rubric, 0.5) if rubric == "answer_correctness" else self.scores[rubric]
        return Judgement(score, "because", error="no JSON" if score is None else None)


def query(**fields: Any) -> Query:
    return Query(**{"id": "q", "text": "which?", "answerable": True, "relevance": {"b": 1}, **fields})


def full_rag(
    cases: Sequence[Query],
    retriever: Alphabetical,
    generator: Says,
    judge: Judges,
    k: int,
    require: RequireSettings | None = None,
    min_score: float = 0.3,
    metrics: Sequence[str] | None = None,
) -> FullRag:
    """`metrics`: those of the evaluation that are reported; None: all."""
    found = retrieval(Data(*cases), retriever, k=k, cutoffs=[1, 3], min_score=min_score)
    chosen: dict[str, Scorer] | None = None if metrics is None else {name: Offered(names=[name]) for name in metrics}
    return FullRag(retrieval=found, generator=generator, judge=judge, high=0.6, require=require, metrics=chosen)


def ran(evaluation: FullRag, folder: Path) -> Row:
    """The row of its first case."""

    async def run() -> Row:
        cases = evaluation.load().cases
        await evaluation.prepare(cases, Store(folder, {id(evaluation.retrieval.retriever): "alphabetical"}))
        return await run_case(evaluation, cases[0], 5)

    return asyncio.run(run())


def row(
    tmp_path: Path,
    case: Query,
    *,
    k: int = 2,
    answer: Answer | None = None,
    judge: Judges | None = None,
    retriever: Alphabetical | None = None,
    min_score: float = 0.3,
    metrics: Sequence[str] | None = None,
    generator: Says | None = None,
) -> tuple[Row, Says, Judges]:
    generator = generator or Says(answer or Answer("Beta is second. [2]", citations=(2,)))
    judge = judge or Judges(faithfulness=0.9, answer_relevancy=0.8)
    evaluation = full_rag(
        [case], retriever or Alphabetical(), generator, judge, k, min_score=min_score, metrics=metrics
    )
    return ran(evaluation, tmp_path), generator, judge
