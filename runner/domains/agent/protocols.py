"""What an agentic retriever is made of: an agent that decides, and a reranker that says what is there.

Both are called in worker threads; what asks a model does so through `Models.blocking`, and has an attribute
`concurrency`: how many questions may be under way at once, each in a thread of its own. Without it questions go one
after the other. `provenance` and `preflight` are as in runner.protocols.
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
    """Orders what an agent has found, and says whether it is enough.

    class ByRelevance:
        def prepare(self, corpus: Corpus, workspace: Workspace) -> None: ...

        def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
            best = sorted(candidates, key=lambda candidate: (candidate.relevance, candidate.id), reverse=True)
            is_enough = bool(best) and best[0].relevance > 0.8
            return Assessment(tuple(candidate.id for candidate in best), sufficient=is_enough)
    """

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        """Called once before `rerank`, which has little time: for what takes long to count or load. Asks no model."""

    def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
        """What the candidates, all that were found so far, are worth for the question. `past_queries`: the
        searches so far, which a refined query must not repeat. Raises EvaluationError (a reply that is of no use), and
        StopRunError or InputError for what holds for every question."""


class Agent(Protocol):
    """Decides which tool to call next, and when to end.

    class OneSearch:
        def prepare(self, corpus: Corpus, workspace: Workspace) -> None: ...

        def run(self, question: Query, toolbox: Toolbox) -> Trajectory:
            toolbox.search_all(question.text)
            return toolbox.finished("sufficient")
    """

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        """As that of a reranker, before `run`."""

    def run(self, question: Query, toolbox: Toolbox) -> Trajectory:
        """Looks for what answers the question, and ends with `toolbox.finished(…)`."""
