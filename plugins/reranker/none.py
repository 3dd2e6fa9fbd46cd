"""No reranking: the relevance of the retriever decides."""

from __future__ import annotations

from collections.abc import Sequence

from runner.domains.agent.candidate import Candidate
from runner.protocols import Workspace
from runner.records import Assessment, Corpus, Query


class NoReranker:
    """The most relevant first, by the retriever; ties in the order in which they were found. It states no sufficiency
    or confidence: an agent that needs them judges itself."""

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        """Do nothing."""

    def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
        return Assessment(tuple(each.id for each in sorted(candidates, key=lambda each: -each.relevance)))
