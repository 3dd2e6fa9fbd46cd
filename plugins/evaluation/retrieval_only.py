"""Retrieval alone: does the ranking hold the gold documents?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from runner.errors import Problem
from runner.llm.chosen import ChosenMetrics
from runner.metrics.judged import ANSWER_METRICS
from runner.metrics.metric import Metric
from runner.metrics.ranking import METRICS
from runner.protocols import Scorer, Workspace
from runner.records import CaseSet, Judgements, Preparation, Query, Scores, Timing
from runner.report.reporting import Pipeline
from runner.retrieval.stage import Retrieval, RetrievalResult, record_of

if TYPE_CHECKING:
    from runner.report.blocks import Fact, Section
    from runner.report.document import Document
    from runner.words.wording import Wording

PIPELINE = Pipeline(("dataset", "retriever", "agent", "reranker", "tokenizer", "embedder", "generator", "judge"))

# There is no answer to judge; the summary says so instead of leaving the names out.
NOT_JUDGED = dict.fromkeys(metric.name for metric in ANSWER_METRICS)


@dataclass(frozen=True, slots=True)
class RetrievalOutput:
    """The result of one query: its hits, and what its row keeps of them."""

    retrieved: RetrievalResult
    recorded: Mapping[str, Any]

    @property
    def timings(self) -> Mapping[str, Timing]:
        return self.retrieved.timings

    def record(self) -> Mapping[str, Any]:
        return self.recorded


class RetrievalOnly:
    """Ranks the corpus for every query; no generator, no judge. `metrics`: those that are reported, and what is
    measured beside them."""

    pipeline = PIPELINE

    @staticmethod
    def sections(document: Document) -> Iterator[Section | None]:
        from runner.domains.agent import report as agent_report  # read where a report is made

        return agent_report.sections(document)

    @staticmethod
    def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
        from runner.domains.agent import report as agent_report

        return agent_report.case_facts(row, say)

    def __init__(self, *, retrieval: Retrieval, metrics: dict[str, Scorer] | None = None) -> None:
        self.retrieval = retrieval
        self.chosen_metrics = ChosenMetrics(metrics, METRICS)

    def load(self) -> CaseSet[Query]:
        loaded = self.retrieval.load()
        return replace(loaded, identity={**loaded.identity, **self.chosen_metrics.identity})

    @property
    def metrics(self) -> Sequence[Metric]:
        return (*self.retrieval.metrics, *ANSWER_METRICS, *self.chosen_metrics.metrics)

    def preflight(self) -> Sequence[Problem]:
        return list(self.chosen_metrics.problems())

    async def prepare(self, cases: Sequence[Query], workspace: Workspace) -> Preparation:
        preparation = await self.retrieval.prepare(cases, workspace)
        await self.chosen_metrics.prepare(cases, workspace)
        return preparation

    async def run(self, case: Query) -> RetrievalOutput:
        found = self.retrieval.charged_result(case)
        return RetrievalOutput(found, record_of(case, found, self.retrieval.corpus, self.retrieval.k))

    async def judge(self, case: Query, output: RetrievalOutput) -> Judgements:
        return {}

    def score(self, case: Query, output: RetrievalOutput | None, judgements: Judgements) -> Scores:
        if output is None:
            return self.chosen_metrics.merge_scores(
                Scores({}, unscored=self.retrieval.names(case)), case, None, judgements
            )
        scores = self.retrieval.scores(case, output.retrieved)
        labels = {**scores.labels, "lost_at": self.retrieval.lost_at(case, output.retrieved)}
        own = Scores({**scores.values, **NOT_JUDGED}, weights=scores.weights, labels=labels)
        return self.chosen_metrics.merge_scores(own, case, output, judgements)

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        return self.retrieval.sums(rows)
