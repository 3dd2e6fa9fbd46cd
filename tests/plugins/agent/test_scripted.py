from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from plugins.agent.scripted import ScriptedAgent, kind_in
from plugins.reranker.none import NoReranker
from runner.errors import ReplyError
from runner.records import Assessment, Trajectory
from tests.corpora import workspace
from tests.runner.domains.agent.shelves import Says, sectioned, shelf_of, toolbox_of

GUIDE = [
    ("Guide", "about the budget"),
    ("Guide/Create", "to create a budget open it"),
    ("Guide/Create", "and enter the amount"),
    ("Guide/Delete", "1. open the budget\n2. remove it"),
]
CORPUS = sectioned(guide=GUIDE, faq=[("", "alerts of a budget arrive by mail")], other=[("", "mail servers")])


def run(question: str, reranker: Any, *, corpus: Any = CORPUS, count: int = 1, expand: int = 3) -> Trajectory:
    box, agent = toolbox_of(shelf_of(corpus, count), reranker, question), ScriptedAgent(expand=expand)
    with TemporaryDirectory() as folder:
        agent.prepare(corpus, workspace(Path(folder)))
    return agent.run(box.question, box)


def steps(found: Trajectory) -> list[tuple[Any, ...]]:
    return [(call.tool, *call.arguments.values()) for call in found.calls]


def test_what_is_sufficient_needs_one_call() -> None:
    found = run("amount", Says(lambda call, ids: Assessment((ids[0],), True, 0.9)))
    assert steps(found) == [("search_all", "amount")]
    assert (found.stopped, found.fallback, found.confidence) == ("sufficient", None, 0.9)


def test_the_reranker_says_what_to_do_next() -> None:
    said = [
        Assessment(("guide#0",), False, 0.6, ("x",), "search_again", "amount"),
        Assessment(("guide#0", "guide#2"), False, 0.6, ("x",), "get_section"),
        Assessment(("guide#2",), True, 0.9),
    ]
    found = run("about", Says(lambda call, ids: said[call - 1]))
    assert steps(found) == [("search_all", "about"), ("search_all", "amount"), ("get_section", "guide#0")]
    assert found.calls[-1].found == ("guide#0", "guide#1", "guide#2", "guide#3")
    assert (found.stopped, found.calls[-1].assessment.ranked) == ("sufficient", ("guide#2",))


def test_a_refined_query_that_was_asked_before_is_not_asked_again() -> None:
    again = Assessment(("guide#2",), False, 0.6, (), "search_again", "amount")
    found = run("amount", Says(lambda call, ids: again), expand=0)
    assert steps(found) == [("search_all", "amount")]
    assert (found.stopped, found.fallback) == ("nothing_new", "best_effort")


def test_a_section_is_opened_where_it_holds_what_is_missing() -> None:
    def lacks(call: int, ids: Sequence[str]) -> Assessment:
        enough = "guide#2" in ids
        return Assessment(tuple(ids), enough, 0.9 if enough else 0.6, () if enough else ("amount",))

    found = run("create a budget to open", Says(lacks))
    assert steps(found) == [("search_all", "create a budget to open"), ("get_section", "guide#1")]
    assert found.calls[1].found == ("guide#1", "guide#2")
    assert found.stopped == "sufficient"


def test_a_section_without_anything_else_in_it_does_not_make_enough_of_what_was_not() -> None:
    never = Says(lambda call, ids: Assessment((ids[0],), False, 0.6, ("x",), "get_section"))
    found = run("alerts arrive by mail", never, expand=0)
    assert [call.tool for call in found.calls] == ["search_all", "get_section", "search_all"]
    assert (found.calls[1].found, found.calls[1].assessment.sufficient) == ((), None)
    assert (found.stopped, found.fallback, found.confidence) == ("calls_spent", "best_effort", 0.6)


def test_steps_are_looked_for_where_the_question_asks_how() -> None:
    never = Says(lambda call, ids: Assessment(tuple(ids), False, 0.6))
    found = run("about budget steps", never)
    assert found.calls[0].found == ("guide#0",)
    assert found.calls[1].tool == "search_by_metadata"
    assert found.calls[1].arguments == {"query": "about budget steps", "has_steps": True}
    assert found.calls[1].found == ("guide#3",)


def test_other_words_are_tried_and_three_calls_are_all() -> None:
    never = Says(lambda call, ids: Assessment(tuple(ids), False, 0.6))
    found = run("alerts wizardry", never)
    assert steps(found) == [
        ("search_all", "alerts wizardry"),
        ("search_all", "alerts"),
        ("search_all", "alerts mail budget"),
    ]
    assert (found.stopped, found.fallback, found.message) == ("calls_spent", "best_effort", None)


def test_a_question_of_which_no_chunk_holds_a_word() -> None:
    found = run("wizardry", Says(lambda call, ids: Assessment((), False, 0.0)))
    assert steps(found) == [("search_all", "wizardry")]
    assert (found.stopped, found.fallback, found.message) == ("nothing_new", "not_ready", "not ready")


def test_a_reranker_that_does_not_tell_leaves_sufficiency_to_the_words() -> None:
    enough = run("alerts arrive by mail", NoReranker())
    assert (enough.stopped, enough.confidence, enough.calls[0].assessment.sufficient) == ("sufficient", 1.0, True)
    lacking = run("alerts of AWS", NoReranker())
    assert lacking.calls[0].assessment.sufficient is False
    assert lacking.calls[0].assessment.missing == ("AWS",)
    alerts, aws = log(1 + 5.5 / 1.5), log(1 + 6.5 / 0.5)  # in one of the six chunks, and in none
    assert lacking.confidence == pytest.approx(2 * alerts / (alerts + aws) * 0.4)  # the name is another one
    assert (lacking.fallback, lacking.message) == ("not_found", "not found\n- [Help](/help)")


@pytest.mark.parametrize("question", ["alerts wizardry", "amount"])
def test_a_reranker_that_fails_each_time_ends_in_an_answer_from_what_is_there(question: str) -> None:
    def fails(call: int, ids: Sequence[str]) -> Assessment:
        raise ReplyError("no JSON")

    found = run(question, Says(fails))
    assert [call.error for call in found.calls] == ["no JSON"] * len(found.calls)
    assert (found.fallback, found.message) == ("best_effort", None)


def test_the_same_question_is_answered_the_same() -> None:
    assert run("alerts wizardry", NoReranker()) == run("alerts wizardry", NoReranker())


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which FAQ entries speak of mail?", {"doc_type": "faq"}),
        ("자주 묻는 질문에 메일이 있나요?", {"doc_type": "faq"}),
        ("내보내기 오류 해결 가이드가 있나요?", {"guide_type": "troubleshooting"}),
        ("Is there a troubleshooting guide?", {"guide_type": "troubleshooting"}),
        ("예산 가이드를 찾아 줘", {"doc_type": "guide"}),
        ("개발 가이드라인은?", {}),
        ("Who is misguided?", {}),
    ],
)
def test_kinds_of_documents_that_a_question_names(question: str, expected: dict[str, str]) -> None:
    assert kind_in(question) == expected


def test_a_kind_that_is_named_is_searched_for_and_comes_first() -> None:
    corpus = sectioned(a=[("", "mail of a budget")], b=[("", "mail arrives")], c=[("", "mail by post")])
    kinds = {"a": "guide", "b": "faq", "c": "guide"}
    documents = [replace(each, metadata={"doc_type": kinds[each.id]}) for each in corpus.documents]
    found = run("FAQ about mail", NoReranker(), corpus=replace(corpus, documents=documents))
    assert steps(found)[:2] == [("search_all", "FAQ about mail"), ("search_by_metadata", "FAQ about mail", "faq")]
    assert found.calls[1].assessment.ranked[0] == "b#0"


def test_a_kind_that_the_corpus_lacks_is_not_searched_for() -> None:
    assert "search_by_metadata" not in [
        call.tool for call in run("A troubleshooting guide about mail?", NoReranker()).calls
    ]
