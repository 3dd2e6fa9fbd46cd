from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from plugins.agent.scripted import ScriptedAgent
from plugins.reranker.lexical import LexicalReranker
from plugins.reranker.none import NoReranker
from plugins.retriever.agentic import AgenticRetriever, MenuSettings, MessageSettings
from runner.domains.agent.toolbox import Toolbox
from runner.errors import EvaluationError, StopRunError
from runner.protocols import CachedRetriever, Workspace
from runner.records import Corpus, Query, Ranking, Trajectory
from runner.retrieval.rankings import rank_all
from runner.retrieval.searching import Searcher
from tests.corpora import corpus_of, question, workspace
from tests.runner.domains.agent.shelves import Counting, sectioned

MESSAGES: MessageSettings = {
    "not_ready": {"ko": "준비 중", "en": "not ready"},
    "not_found": {"ko": "없음", "en": "not found"},
}
MENU: MenuSettings = {"ko": [{"title": "문의", "url": "/help"}], "en": []}
ONE = corpus_of({"a": "budget alerts", "b": "budget owners", "c": "mail budget", "d": "budget"})
TWO = sectioned(faq=[("", "budget alerts"), ("", "budget")], guide=[("", "budget mail"), ("", "budget")])


class Once:
    """Searches for the question and stops; `concurrency` agents wait for each other, to show that all are at it."""

    def __init__(self, concurrency: int = 1) -> None:
        if concurrency > 1:
            self.concurrency = concurrency
        self._all = threading.Barrier(concurrency, timeout=120)
        self._runs = 0

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        self._corpus = corpus

    def run(self, question: Query, toolbox: Toolbox) -> Trajectory:
        self._runs += 1
        self._all.wait()
        toolbox.search_all(question.text)
        return toolbox.finish("sufficient")


class Failing:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        pass

    def run(self, question: Query, toolbox: Toolbox) -> Trajectory:
        toolbox.search_all(question.text)
        raise self.error


def agentic(corpus: Corpus, folder: Path, **parts: Any) -> AgenticRetriever:
    settings = {"base": Counting(), "agent": Once(), "reranker": NoReranker(), "k": 1, "faq_count": 1, "guide_count": 1}
    retriever = AgenticRetriever(**{**settings, "messages": MESSAGES, "menu": MENU, **parts})
    retriever.index(corpus, workspace(folder, retriever.base))
    return retriever


def test_what_the_agent_found_stands_before_the_ranking_of_the_base(tmp_path: Path) -> None:
    """The base has d, c, b, a (ties by id descending) with the same relevance; alerts are only in a."""
    retriever = agentic(ONE, tmp_path, reranker=LexicalReranker(), agent=ScriptedAgent(expand=0), faq_count=3)
    found = retriever.search([question("budget alerts")], 10)[0]
    assert found.ids == ("a#0", "d#0", "c#0", "b#0")
    assert found.scores == (4.0, 3.0, 2.0, 1.0)
    assert found.relevance == (1.0, 0.5, 0.5, 0.5)
    assert found.legs == {"base": Ranking(("a#0", "d#0", "c#0", "b#0"), (1.0, 0.5, 0.5, 0.5), (1.0, 0.5, 0.5, 0.5))}
    assert found.trajectory is not None
    assert found.trajectory.calls[0].found == ("a#0", "d#0", "c#0", "b#0")
    assert retriever.search([question("budget alerts", id="other")], 2)[0].ids == ("a#0", "d#0")


def test_a_fallback_changes_the_answer_and_not_the_ranking(tmp_path: Path) -> None:
    retriever = agentic(ONE, tmp_path, reranker=LexicalReranker(), agent=ScriptedAgent())
    found = retriever.search([question("예산 budget 마법 지팡이")], 10)[0]
    assert found.trajectory is not None
    assert (found.trajectory.fallback, found.trajectory.message) == ("not_found", "없음\n- [문의](/help)")
    assert set(found.ids) == {"a#0", "b#0", "c#0", "d#0"}
    retriever = agentic(ONE, tmp_path, reranker=LexicalReranker(), agent=ScriptedAgent(), min_confidence=0.0)
    bold = retriever.search([question("예산 budget 마법 지팡이")], 10)[0]
    assert bold.trajectory is not None
    assert (bold.trajectory.fallback, bold.trajectory.message) == ("best_effort", None)
    assert bold.ids == found.ids


def test_an_agent_makes_no_more_calls_than_it_may(tmp_path: Path) -> None:
    def calls(max_calls: int) -> int:
        parts = {"reranker": LexicalReranker(), "agent": ScriptedAgent(), "max_calls": max_calls}
        found = agentic(ONE, tmp_path, **parts).search([question("budget alerts of the mail server")], 10)[0]
        assert found.trajectory is not None
        return len(found.trajectory.calls)

    assert [calls(most) for most in (1, 2)] == [1, 2]


def test_one_collection_gets_the_sum_of_both_counts_at_least_k(tmp_path: Path) -> None:
    def found(**settings: int) -> int:
        ranking = agentic(ONE, tmp_path, **settings).search([question("budget")], 10)[0]
        assert ranking.trajectory is not None
        return len(ranking.trajectory.calls[0].found)

    assert found(faq_count=1, guide_count=1) == 2
    assert found(faq_count=1, guide_count=1, k=3) == 3
    assert found(faq_count=1, guide_count=2, k=1) == 3


def test_two_collections_get_their_counts_from_an_index_each(tmp_path: Path) -> None:
    retriever = agentic(TWO, tmp_path, faq_count=1, guide_count=2, k=9)
    facts = retriever.index(TWO, workspace(tmp_path, retriever.base))
    assert facts["size_bytes"] == 15
    assert (facts["faq"]["n_documents"], facts["guide"]["n_documents"], facts["n_chunks"]) == (1, 1, 4)
    found = retriever.search([question("budget mail")], 10)[0]
    assert found.trajectory is not None
    assert found.trajectory.calls[0].found == ("faq#1", "guide#0", "guide#1")
    assert found.ids == ("guide#0", "faq#1", "guide#1", "faq#0")


def test_asked_for_more_it_does_not_run_the_agent_again(tmp_path: Path) -> None:
    agent = Once()
    retriever = agentic(ONE, tmp_path, agent=agent)
    first = retriever.search([question("budget"), question("mail", id="r")], 1)
    deeper = retriever.search([question("budget")], 4)[0]
    assert agent._runs == 2
    assert deeper.trajectory == first[0].trajectory
    assert (len(first[0].ids), len(deeper.ids)) == (1, 4)
    assert retriever.search([question("budget")], 8)[0].ids == deeper.ids
    assert agent._runs == 2
    retriever.search([question("budget")], 1)  # timed again, say: a search of its own
    assert agent._runs == 3


def test_the_whole_corpus_is_ranked_whatever_the_agent_does(tmp_path: Path) -> None:
    corpus = corpus_of({name: ["budget", f"{name} budget"] for name in "abcdef"})
    retriever = agentic(corpus, tmp_path)
    store = workspace(tmp_path, retriever)
    rankings = rank_all(Searcher(retriever, corpus, depth=6, timeout_ms=9000, seed=1), [question("budget")], store)
    ranked = rankings["q"]
    assert {corpus.document_of(id) for id in ranked.ranking.ids} == set("abcdef")
    assert ranked.ranking.trajectory is not None


# --- agents that ask models ---------------------------------------------------------------------------


def test_agents_that_ask_models_are_under_way_side_by_side(tmp_path: Path) -> None:
    retriever = agentic(ONE, tmp_path, agent=Once(concurrency=4))
    questions = [question("budget", id=str(n)) for n in range(8)]
    found = retriever.search(questions, 4)
    assert [ranking.ids for ranking in found] == [found[0].ids] * 8
    assert retriever.concurrency == 4


def test_whether_it_may_ask_models(tmp_path: Path) -> None:
    class Paid(Counting):
        caches = True

        def is_cached(self, queries: Sequence[Query]) -> list[bool]:
            return [query.id == "known" for query in queries]

        def warm_up(self) -> None:
            self._warm = True

    free, asking = agentic(ONE, tmp_path), agentic(ONE, tmp_path, agent=Once(concurrency=2))
    paid = agentic(ONE, tmp_path, base=Paid())
    assert [each.caches for each in (free, asking, paid)] == [False, True, True]
    asked = [question("budget", id="known"), question("budget")]
    assert [each.is_cached(asked) for each in (free, asking, paid)] == [[False] * 2, [False] * 2, [True, False]]
    assert isinstance(free, CachedRetriever)
    paid.warm_up()
    assert paid.base._warm  # type: ignore[attr-defined]


@pytest.mark.parametrize(("error", "told"), [(EvaluationError("it went in circles"), "it went in circles")])
def test_an_agent_that_fails_has_found_what_it_found(tmp_path: Path, error: Exception, told: str) -> None:
    found = agentic(ONE, tmp_path, agent=Failing(error)).search([question("budget")], 4)[0]
    assert found.trajectory is not None
    assert (found.trajectory.stopped, found.trajectory.fallback) == ("failed", "best_effort")
    assert found.trajectory.facts == {"error": told}
    assert len(found.ids) == 4


@pytest.mark.parametrize("n", [1, 5])
def test_what_is_wrong_for_every_question_ends_the_run(tmp_path: Path, n: int) -> None:
    agent = Failing(StopRunError("the key is refused"))
    agent.concurrency = 2  # type: ignore[attr-defined]
    with pytest.raises(StopRunError, match=r"^the key is refused$"):
        agentic(ONE, tmp_path, agent=agent).search([question("budget", id=str(i)) for i in range(n)], 4)


def test_the_parts_tell_what_results_depend_on(tmp_path: Path) -> None:
    class Versioned(Once):
        provenance: Mapping[str, Any] = {"model": "test:a"}

    found = agentic(ONE, tmp_path, agent=Versioned()).provenance
    assert found == {"base": {}, "agent": {"model": "test:a"}, "reranker": {}}
