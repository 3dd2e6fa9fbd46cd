"""What an agent did, by numbers worked out by hand."""

from typing import Any

import pytest

from runner.metrics.agent import AgentSums, recall_of, trajectory_labels, trajectory_values
from runner.records import Assessment, ToolCall, Trajectory, trajectory_record


def call(*ranked: str, sufficient: bool | None = None, **more: Any) -> ToolCall:
    return ToolCall("search_all", {"query": "q"}, ranked, Assessment(ranked, sufficient), **more)


def document_of(id: str) -> str:
    return id.rpartition("#")[0]


@pytest.mark.parametrize(
    ("calls", "calls_made", "precision", "recall"),
    [
        ([call("a#0", sufficient=True)], 1, 1.0, 1.0),
        ([call("b#0", sufficient=True)], 1, 0.0, None),
        ([call("b#0", "a#0", sufficient=True)], 1, 1.0, 1.0),  # one gold document is enough
        ([call("a#1", sufficient=False)], 1, None, 0.0),
        ([call("b#0", sufficient=False)], 1, None, None),
        ([call("b#0", sufficient=True), call("a#0", sufficient=False)], 2, None, 0.0),  # the last word counts
        ([call("a#0", sufficient=True), call("c#0")], 2, 1.0, 1.0),  # of a call of which something is said
    ],
)
def test_sufficiency_of_one_question(
    calls: list[ToolCall], calls_made: int, precision: float | None, recall: float | None
) -> None:
    assert trajectory_values(Trajectory(tuple(calls), "nothing_new"), {"a"}, document_of) == {
        "tool_calls": calls_made,
        "sufficiency_precision": precision,
        "sufficiency_recall": recall,
    }


def test_nobody_said_whether_it_was_enough() -> None:
    assert trajectory_values(Trajectory((call("a#0"),), "failed"), {"a"}, document_of) == {"tool_calls": 1.0}
    assert trajectory_values(Trajectory((), "failed"), {"a"}, document_of) == {"tool_calls": 0.0}


def test_labels() -> None:
    assert trajectory_labels(Trajectory((), "sufficient")) == {"fallback": "none", "stopped": "sufficient"}
    assert trajectory_labels(Trajectory((), "failed", "not_ready")) == {"fallback": "not_ready", "stopped": "failed"}


@pytest.mark.parametrize(
    ("ranked", "k", "expected"),
    [
        (["b#0", "a#0", "a#1", "c#0"], 1, 0.0),
        (["b#0", "b#1", "a#0", "c#0"], 2, 0.5),  # a document stands where its first chunk does
        (["b#0", "a#0", "c#0"], 3, 1.0),
        ([], 3, 0.0),
    ],
)
def test_recall_of_the_best_documents(ranked: list[str], k: int, expected: float) -> None:
    assert recall_of(ranked, ["a", "c"], k) == expected


def row(trajectory: Trajectory | None, expected: list[str], *, answerable: bool = True) -> dict[str, Any]:
    kept = {} if trajectory is None else {"trajectory": trajectory_record(trajectory)}
    return {"output": {"answerable": answerable, "expected": expected, "retrieved": [], **kept}}


ROWS = [
    row(
        Trajectory(
            (
                call("b#0", input_tokens=100, output_tokens=10, cost_usd=0.001),
                call("a#0", "b#0", input_tokens=300, cost_usd=None),
            ),
            "sufficient",
        ),
        ["a"],
    ),
    row(Trajectory((call("a#0", input_tokens=200, cost_usd=0.003),), "sufficient"), ["a", "c"]),
    row(Trajectory((call("x#0", error="late"),), "nothing_new", "not_found", "None."), [], answerable=False),
    {"output": None, "error": "timeout"},
]


def test_all_questions_by_hand() -> None:
    found = AgentSums(2).over(ROWS)["agent"]
    assert found["n"] == 3
    assert found["calls"] == {"1": 2, "2": 1}
    assert found["tools"] == {"search_all": 4}
    assert found["stopped"] == {"nothing_new": 1, "sufficient": 2}
    assert found["fallbacks"] == {
        "none": {"n": 2, "answerable": 2, "unanswerable": 0},
        "not_found": {"n": 1, "answerable": 0, "unanswerable": 1},
    }
    first, second = found["steps"]
    assert first == {
        "n": 3,
        "n_gold": 2,
        "recall": 0.25,  # (0 + 1/2) / 2
        "gain": 0.25,
        "input_tokens": 100.0,
        "output_tokens": pytest.approx(10 / 3),
        "usd": pytest.approx(0.004 / 3),
        "errors": 1,
    }
    assert second == {
        "n": 1,
        "n_gold": 1,
        "recall": 1.0,
        "gain": 1.0,
        "input_tokens": 300.0,
        "output_tokens": 0.0,
        "usd": None,
        "errors": 0,
    }


def test_without_an_agent_there_is_nothing_and_one_row_tells() -> None:
    def rows() -> Any:
        yield {"output": None}
        yield row(None, ["a"])
        raise AssertionError("read on")

    assert AgentSums(5).over(rows()) == {}
    assert AgentSums(5).over([]) == {}


def test_rows_pass_for_whoever_else_reads_them() -> None:
    sums = AgentSums(2)
    assert list(sums.pass_through(ROWS)) == ROWS
    assert sums.as_block() == AgentSums(2).over(ROWS)
