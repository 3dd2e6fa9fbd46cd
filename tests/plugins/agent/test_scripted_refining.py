from __future__ import annotations

import pytest

from plugins.agent.scripted import asks_for_steps, refined_queries
from runner.domains.agent.candidate import Candidate
from runner.domains.agent.coverage import Coverage, form_counts
from tests.corpora import corpus_of

CORPUS = corpus_of(
    {
        "a": "Budget alerts arrive by mail.",
        "b": "Alerts of a forecast arrive by mail.",
        "c": "A forecast arrives.",
        "d": "Mail unheard.",
    }
)
COVERAGE = Coverage(4, form_counts(CORPUS))
BEST = [Candidate("a#0", "Budget alerts arrive by mail. Forecast of something unheard.")]


def ways(question: str, ranked: list[Candidate], n_words: int = 2) -> list[str]:
    return list(refined_queries(question, ranked, COVERAGE, n_words))


def test_words_that_no_chunk_holds_are_dropped_and_rare_words_of_the_best_are_added() -> None:
    # alerts and forecast are in 2 chunks, arrive and mail in 3, unheard in one: it leads nowhere else
    assert ways("Is there some budget wizardry?", BEST) == ["budget", "budget alerts Forecast"]
    assert ways("Is there some budget wizardry?", BEST, 9) == ["budget", "budget alerts Forecast arrive mail"]


def test_without_anything_to_add_only_words_are_dropped() -> None:
    assert ways("budget", BEST, 0) == ["budget"]
    assert ways("budget", []) == ["budget"]


def test_a_question_of_nothing_but_unknown_words_borrows_those_of_the_best() -> None:
    assert ways("wizardry", BEST) == ["alerts Forecast"]
    assert ways("wizardry", []) == []


@pytest.mark.parametrize(
    "question", ["How do I save?", "Which steps are there?", "연결하는 방법은?", "어떻게 바꾸나요?"]
)
def test_questions_for_steps(question: str) -> None:
    assert asks_for_steps(question)


@pytest.mark.parametrize("question", ["How many clouds are there?", "왜 안 되나요?", "What is a budget?"])
def test_other_questions(question: str) -> None:
    assert not asks_for_steps(question)
