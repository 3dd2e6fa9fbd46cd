from __future__ import annotations

from plugins.reranker.none import NoReranker
from runner.domains.agent.candidate import Candidate
from runner.records import Assessment, Query


def test_the_most_relevant_first_and_ties_as_they_were_found() -> None:
    candidates = [Candidate(id, id, relevance=relevance) for id, relevance in (("a", 0.2), ("b", 0.9), ("c", 0.9))]
    assert NoReranker().rerank(Query("q", "q", True, {}), candidates, ["q"]) == Assessment(("b", "c", "a"))
    assert NoReranker().rerank(Query("q", "q", True, {}), [], []) == Assessment(())
