from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from runner.records import Assessment, ToolCall, Trajectory, trajectory_of, trajectory_record

LITTLE = Trajectory((ToolCall("search_all", {"query": "q"}, ("a#0",), Assessment(("a#0",))),), "sufficient")
ids = st.lists(st.text(max_size=3), max_size=3).map(tuple)
calls = st.builds(
    ToolCall,
    tool=st.sampled_from(["search_all", "search_by_metadata", "get_section"]),
    arguments=st.dictionaries(st.text(max_size=3), st.text(max_size=3) | st.booleans(), max_size=2),
    found=ids,
    assessment=st.builds(
        Assessment,
        ranked=ids,
        sufficient=st.none() | st.booleans(),
        confidence=st.none() | st.floats(0, 1),
        missing=ids,
        next_action=st.sampled_from([None, "get_section", "search_again"]),
        refined_query=st.none() | st.text(max_size=3),
    ),
    input_tokens=st.integers(0, 9),
    output_tokens=st.integers(0, 9),
    cost_usd=st.none() | st.floats(0, 1),
    error=st.none() | st.text(max_size=3),
)
trajectories = st.builds(
    Trajectory,
    calls=st.lists(calls, max_size=3).map(tuple),
    stopped=st.sampled_from(["sufficient", "calls_spent", "nothing_new", "failed"]),
    fallback=st.sampled_from([None, "not_ready", "not_found", "best_effort"]),
    message=st.none() | st.text(max_size=3),
    confidence=st.none() | st.floats(0, 1),
    facts=st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(trajectories)
def test_what_is_written_is_read_again(trajectory: Trajectory) -> None:
    assert trajectory_of(json.loads(json.dumps(trajectory_record(trajectory)))) == trajectory


def test_what_has_its_default_is_not_written() -> None:
    assert trajectory_record(LITTLE) == {
        "calls": [{"tool": "search_all", "arguments": {"query": "q"}, "found": ["a#0"], "ranked": ["a#0"]}],
        "stopped": "sufficient",
    }
