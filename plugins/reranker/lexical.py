"""Order and sufficiency by words: how much of the question each candidate holds."""

from __future__ import annotations

from collections.abc import Sequence

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.coverage import coverage_of
from runner.protocols import Workspace
from runner.records import Assessment, Corpus, Query

BEST = 3  # candidates of which the most confident one speaks for all


class LexicalReranker:
    """A baseline: it sees words, not meaning; no model, deterministic. Candidates are ordered by the sum of their
    relevance and their coverage of the question (runner.domains.agent.coverage), ties in the order in which they were
    found; one without a word of the question is of no use. Confidence is the highest of the first three. They are
    sufficient where it is 1: some candidate holds half of what is asked about, by weight, and all names and figures."""

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        self._coverage = coverage_of(corpus, workspace)

    def rerank(self, question: Query, candidates: Sequence[Candidate], asked: Sequence[str]) -> Assessment:
        about = self._coverage.asked(question.text)
        covered = [self._coverage.of(about, each.passage) for each in candidates]
        useful = [place for place, each in enumerate(covered) if each.coverage > 0]
        useful.sort(key=lambda place: -(candidates[place].relevance + covered[place].coverage))
        if not useful:
            return Assessment((), False, 0.0, tuple(word.text for word in about.words))
        best = max(useful[:BEST], key=lambda place: covered[place].confidence)
        confidence = covered[best].confidence
        ranked = tuple(candidates[place].id for place in useful)
        return Assessment(ranked, confidence >= 1, confidence, covered[best].missing)
