"""The components of an agentic retriever: an agent that decides, and a reranker that assesses the results.

Both are called in worker threads. A component that calls a model does so through `Models.blocking`, and has an
attribute `concurrency`: the number of questions in flight, each in its own thread. Without it questions run one after
the other. `provenance` and `preflight` are as in runner.protocols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from runner.domains.agent.candidate import Candidate
from runner.protocols import Workspace
from runner.records import Assessment, Corpus, Query, Trajectory

if TYPE_CHECKING:
    from runner.domains.agent.toolbox import Toolbox


class Reranker(Protocol):
    """Orders the candidates that an agent has found, and decides whether they are sufficient.

    class ByRelevance:
        def prepare(self, corpus: Corpus, workspace: Workspace) -> None: ...

        def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
            best = sorted(candidates, key=lambda candidate: (candidate.relevance, candidate.id), reverse=True)
            is_enough = bool(best) and best[0].relevance > 0.8
            return Assessment(tuple(candidate.id for candidate in best), sufficient=is_enough)
    """

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        """Called once before `rerank`, to count or load what takes long. Calls no model.

        Args:
            corpus: documents and chunks.
            workspace: where expensive results are kept.
        """

    def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
        """Assess all candidates that were found so far for a question.

        Args:
            question: as it was asked.
            candidates: chunks of all searches, without repeats.
            past_queries: the searches so far, which a refined query must not repeat.

        Returns:
            The best candidates, whether they are enough, and what to do next.

        Raises:
            EvaluationError: the reply of a model cannot be used.
            StopRunError, InputError: no question can be assessed.
        """


class Agent(Protocol):
    """Decides which tool to call next, and when to end.

    class OneSearch:
        def prepare(self, corpus: Corpus, workspace: Workspace) -> None: ...

        def run(self, question: Query, toolbox: Toolbox) -> Trajectory:
            toolbox.search_all(question.text)
            return toolbox.finish("sufficient")
    """

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        """Called once before `run`, as for a reranker.

        Args:
            corpus: documents and chunks.
            workspace: where expensive results are kept.
        """

    def run(self, question: Query, toolbox: Toolbox) -> Trajectory:
        """Search for documents that answer the question.

        Args:
            question: as it was asked.
            toolbox: the searches that the agent may call, within their limits.

        Returns:
            What `toolbox.finish(…)` returns.
        """
