from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.toolbox import CallsSpentError
from runner.errors import EvaluationError, InputError, ReplyError, StopRunError
from runner.llm import metering
from runner.llm.ledger import Cost
from runner.llm.messages import Usage
from runner.records import Assessment, Query, Ranking, Trajectory, trajectory_of, trajectory_record
from tests.runner.domains.agent.shelves import Counting, Says, sectioned, shelf_of, toolbox_of

CORPUS = sectioned(x=[("", "a b"), ("", "a")], y=[("", "c"), ("", "c d")])


def backwards(call: int, ids: Sequence[str]) -> Assessment:
    """All candidates, the newest first."""
    metering.note("reranker", f"{call}".encode(), Cost(Usage(10, 1), 500_000_000))
    return Assessment(tuple(reversed(ids)), True, 0.9)


def test_every_call_shows_the_reranker_all_that_was_found() -> None:
    reranker = Says(backwards)
    box = toolbox_of(shelf_of(CORPUS), reranker, "a b")
    first = box.search_all("a b")
    assert (first.tool, first.arguments) == ("search_all", {"query": "a b"})
    assert (first.found, first.assessment.ranked) == (("x#0", "x#1"), ("x#1", "x#0"))
    second = box.get_section("y#0")
    assert (second.arguments, second.found) == ({"chunk_id": "y#0"}, ("y#0", "y#1"))
    assert second.assessment.ranked == ("y#1", "y#0", "x#1", "x#0")
    third = box.search_by_metadata("a", has_steps=False)
    assert third.arguments == {"query": "a", "has_steps": False}
    assert third.found == ("x#1", "x#0")
    assert reranker.seen == [
        (["x#0", "x#1"], ["a b"]),
        (["x#0", "x#1", "y#0", "y#1"], ["a b"]),
        (["x#0", "x#1", "y#0", "y#1"], ["a b", "a"]),
    ]
    assert [each.id for each in box.candidates] == ["y#1", "y#0", "x#1", "x#0"]
    assert box.calls_left == 0
    assert box.finish("sufficient") == Trajectory(tuple(box.calls), "sufficient", confidence=0.9)


def test_the_call_after_the_last_is_no_call() -> None:
    box = toolbox_of(shelf_of(CORPUS), Says(backwards), max_calls=1)
    box.search_all("a")
    with pytest.raises(CallsSpentError, match=r"^no call is left of 1; answer from what is there$"):
        box.search_all("b")
    assert len(box.calls) == 1


def test_calls_that_come_at_once_are_counted_one_by_one() -> None:
    box = toolbox_of(shelf_of(CORPUS), Says(backwards))

    def ask(query: str) -> bool:
        try:
            return bool(box.search_all(query))
        except CallsSpentError:
            return False

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(ask, ["a", "b", "c", "d", "a b", "c d", "a c", "b d"]))
    assert sum(outcomes) == len(box.calls) == 3


def test_candidates_of_no_use_are_last() -> None:
    box = toolbox_of(shelf_of(CORPUS), Says(lambda call, ids: Assessment(("x#1",), False, 0.7)))
    assert box.search_all("a b").assessment.ranked == ("x#1",)
    assert [each.id for each in box.candidates] == ["x#1", "x#0"]


def test_what_the_reranker_said_is_told() -> None:
    said = Assessment(("x#0",), False, 0.6, ("price",), "search_again", "price list")
    box = toolbox_of(shelf_of(CORPUS), Says(lambda call, ids: said))
    assert box.search_all("a").assessment == said
    assert box.finish("calls_spent").fallback == "best_effort"


def test_a_search_that_finds_nothing_is_not_reranked() -> None:
    reranker = Says(backwards)
    box = toolbox_of(shelf_of(CORPUS), reranker, "아무것도 없는 질문")
    call = box.search_all("zzz")
    assert (call.found, call.assessment.ranked, call.error) == ((), (), None)
    assert reranker.seen == []
    found = box.finish("nothing_new")
    assert (found.fallback, found.message, found.confidence) == ("not_ready", "준비 중", None)


def test_what_is_known_of_the_first_search_is_not_searched() -> None:
    shelf = shelf_of(CORPUS)
    known = [shelf.candidate("y#0", 0.4)]
    box = toolbox_of(shelf, Says(backwards), "a b", first=known)
    assert box.search_all("a b").found == ("y#0",)
    assert box.search_all("a").found == ("x#1", "x#0")
    base = shelf._base
    assert isinstance(base, Counting)
    assert base.asked == [["a"]]


def test_a_tool_that_fails_is_a_call_that_says_so() -> None:
    box = toolbox_of(shelf_of(CORPUS), Says(backwards))
    assert box.get_section("nowhere").error == "there is no chunk 'nowhere'"
    assert box.calls_left == 2
    found = box.finish("failed", reason="test")
    assert (found.fallback, found.message) == ("not_ready", "not ready")
    assert found.facts == {"reason": "test"}


def test_a_reranker_that_fails_leaves_the_order_in_which_things_were_found() -> None:
    def fails(call: int, ids: Sequence[str]) -> Assessment:
        raise ReplyError("no JSON")

    box = toolbox_of(shelf_of(CORPUS), Says(fails))
    call = box.search_all("a b")
    assert (call.assessment, call.error) == (Assessment(("x#0", "x#1")), "no JSON")
    assert box.finish("failed").fallback == "best_effort"


def test_what_was_said_before_a_failure_still_holds() -> None:
    def fails_later(call: int, ids: Sequence[str]) -> Assessment:
        if call > 1:
            raise ReplyError("no JSON")
        return Assessment(("x#1",), False, 0.2)

    box = toolbox_of(shelf_of(CORPUS), Says(fails_later))
    box.search_all("a b")
    assert box.search_all("c").assessment.ranked == ("x#1", "y#1", "y#0")
    found = box.finish("calls_spent")
    assert (found.fallback, found.confidence) == ("not_found", 0.2)
    assert found.message == "not found\n- [Help](/help)"


@pytest.mark.parametrize("error", [StopRunError("no key"), InputError("no such file")])
def test_what_is_wrong_for_every_question_ends_the_run(error: Exception) -> None:
    def stops(call: int, ids: Sequence[str]) -> Assessment:
        raise error

    with pytest.raises(type(error), match=str(error)):
        toolbox_of(shelf_of(CORPUS), Says(stops)).search_all("a")


def test_an_index_that_fails_is_an_error_of_the_call() -> None:
    class Broken(Counting):
        def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
            raise EvaluationError("the server is away")

    shelf = shelf_of(CORPUS)
    shelf._collections[0].retriever.search = Broken().search  # type: ignore[method-assign]
    assert toolbox_of(shelf, Says(backwards)).search_all("a").error == "the server is away"


def test_an_agent_may_judge_itself() -> None:
    box = toolbox_of(shelf_of(CORPUS), Says(lambda call, ids: Assessment(tuple(ids))))
    box.search_all("a b")
    call = box.assess(sufficient=False, confidence=0.3, missing=("c",), ranked=["x#1", "y#1", "x#1"])
    assert call.assessment == box.assessment == Assessment(("x#1",), False, 0.3, ("c",))
    assert box.calls[-1] == call
    assert [each.id for each in box.candidates] == ["x#1", "x#0"]
    assert box.finish("calls_spent").fallback == "not_found"


def test_what_models_cost_is_part_of_the_step_it_was_for() -> None:
    box = toolbox_of(shelf_of(CORPUS), Says(backwards))
    box.note(input_tokens=100, output_tokens=20, cost_usd=0.25)  # to decide on the first call
    first = box.search_all("a")
    assert (first.input_tokens, first.output_tokens, first.cost_usd) == (110, 21, 0.75)
    box.search_all("b")
    box.note(input_tokens=5, cost_usd=None)
    second = box.calls[1]
    assert (second.input_tokens, second.output_tokens, second.cost_usd) == (15, 1, None)
    assert box.calls[0] == first


def test_a_trajectory_is_kept_as_json() -> None:
    box = toolbox_of(shelf_of(CORPUS), Says(backwards))
    box.search_all("a")
    box.get_section("nowhere")
    found = box.finish("sufficient", requests=2)
    assert trajectory_of(trajectory_record(found)) == found


def test_the_language_is_that_of_the_question() -> None:
    def language(question: str) -> Any:
        return toolbox_of(shelf_of(CORPUS), Says(backwards), question).language

    assert (language("비용은?"), language("What does it cost?")) == ("ko", "en")


def test_a_candidate_keeps_what_the_first_search_said_of_it() -> None:
    seen: list[Candidate] = []

    class Looks(Says):
        def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
            seen[:] = candidates
            return super().rerank(question, candidates, past_queries)

    box = toolbox_of(shelf_of(CORPUS), Looks(backwards))
    box.search_all("a z")
    box.search_all("a")
    assert {each.id: each.relevance for each in seen} == {"x#0": 0.5, "x#1": 0.5}


def test_relevance_is_to_the_question_whatever_was_searched_for() -> None:
    seen: dict[str, float] = {}

    class Looks(Says):
        def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
            seen.update({each.id: each.relevance for each in candidates})
            return super().rerank(question, candidates, past_queries)

    shelf = shelf_of(CORPUS)
    box = toolbox_of(shelf, Looks(backwards), "a z", relevance={"x#0": 0.1, "y#1": 0.2})
    box.search_all("a z")
    box.search_all("c")
    assert seen == {"x#0": 0.5, "x#1": 0.5, "y#0": 0.0, "y#1": 0.2}
