from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from plugins.reranker.lexical import LexicalReranker
from runner.domains.agent.candidate import Candidate
from runner.records import Assessment, Query
from tests.corpora import corpus_of, workspace

TEXTS = {"a": "Budget alerts arrive by mail.", "b": "Budget owners.", "c": "Mail servers.", "d": "달력"}
ONE, TWO = log(1 + 3.5 / 1.5), log(2)  # weight of a word that so many of the four chunks hold


def assessed(question: str, *candidates: Candidate) -> Assessment:
    reranker = LexicalReranker()
    with TemporaryDirectory() as folder:
        reranker.prepare(corpus_of(TEXTS), workspace(Path(folder)))
    return reranker.rerank(Query("q", question, True, {}), candidates, [question])


def found(name: str, relevance: float = 0.0) -> Candidate:
    return Candidate(f"{name}#0", TEXTS[name], relevance=relevance)


def test_order_and_sufficiency() -> None:
    said = assessed("How do budget alerts arrive?", found("c"), found("b"), found("a"))
    assert said == Assessment(("a#0", "b#0"), True, 1.0, ())  # a holds all, b one of three words, c none


def test_relevance_and_coverage_count_alike() -> None:
    share = TWO / (TWO + 2 * ONE)
    question = "How do budget alerts arrive?"
    assert assessed(question, found("a"), found("b", 1 - share + 0.01)).ranked == ("b#0", "a#0")
    assert assessed(question, found("a"), found("b", 1 - share - 0.01)).ranked == ("a#0", "b#0")
    assert assessed(question, found("b"), replace(found("b"), id="z#0")).ranked == ("b#0", "z#0")


def test_what_lacks_too_much_is_not_sufficient_and_says_what_is_missing() -> None:
    said = assessed("How do budget alerts arrive?", found("b"))
    assert (said.ranked, said.sufficient, said.missing) == (("b#0",), False, ("alerts", "arrive"))
    assert said.confidence == pytest.approx(2 * TWO / (TWO + 2 * ONE))
    assert (said.next_action, said.refined_query) == (None, None)


def test_the_most_confident_of_the_three_best_speaks_for_all() -> None:
    """The fourth has it all, but others are before it."""
    question, relevant = "How do budget alerts arrive?", [found("b", 1.0) for _ in range(3)]
    assert assessed(question, *relevant, found("a")).sufficient is False
    assert assessed(question, *relevant[:2], found("a")).sufficient is True


def test_nothing_of_use() -> None:
    assert assessed("Budget alerts?", found("d"), found("c")) == Assessment((), False, 0.0, ("Budget", "alerts"))
    assert assessed("Budget?") == Assessment((), False, 0.0, ("Budget",))


def test_titles_and_sections_count() -> None:
    chunk = Candidate("x#0", "Press save.", "Budget", {"section": "Alerts"})
    assert assessed("How do budget alerts arrive?", chunk).missing == ("arrive",)


# --- what one document says leads to the next -----------------------------------------------------

GUIDES = {
    "gpu": ("GPU costs", "To split GPU costs by job, the meter collector has to be there."),
    "meter": ("Meter collector", "Open [Integrations] and copy the command. Your tablets are not supported."),
    "links": ("Integrations", "Only technical leads see this page."),
    "other": ("Budgets", "A budget sends mail. Some tablets can be chosen."),
    "more": ("Reports", "Reports of a budget come by mail."),
}
QUESTION = "Can GPU costs be split on tablets?"


def led(asked: list[str], *names: str, question: str = QUESTION) -> Assessment:
    documents = {name: f"# {title}\n\n{text}" for name, (title, text) in GUIDES.items()}
    reranker = LexicalReranker()
    with TemporaryDirectory() as folder:
        corpus = corpus_of(documents, titles={name: title for name, (title, _) in GUIDES.items()})
        reranker.prepare(corpus, workspace(Path(folder)))
    candidates = [Candidate(f"{name}#0", GUIDES[name][1], GUIDES[name][0]) for name in names]
    return reranker.rerank(Query("q", question, True, {}), candidates, [question, *asked])


def test_a_word_that_is_missing_is_searched_for_with_what_leads_on() -> None:
    said = led([], "gpu")
    assert (said.sufficient, said.next_action) == (False, "search_again")
    assert said.refined_query == "tablets meter collector"


def test_what_it_leads_to_stands_behind_the_first_three() -> None:
    before = led(["something else"], "gpu", "other", "links", "more", "meter")
    assert before.refined_query == "tablets meter collector"
    said = led(["tablets meter collector"], "gpu", "other", "links", "more", "meter")
    assert said.ranked[:2] == before.ranked[:2] == ("gpu#0", "other#0")
    assert "meter#0" in said.ranked[2:4]


def test_what_holds_one_word_of_a_lead_is_not_what_it_leads_to() -> None:
    said = led(["tablets meter collector"], "gpu", "other", "more")
    assert said.ranked[0] == "gpu#0"
    assert said.next_action is None


def test_nothing_is_searched_for_that_no_other_chunk_holds() -> None:
    said = led([], "gpu", question="Can GPU costs be split on zebras?")
    assert said.next_action is None
