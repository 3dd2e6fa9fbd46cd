"""What a judge is shown of a trace, and the control items of the rubric."""

from collections import Counter

import pytest

from runner.domains.traces.completion import FIRST, LAST, STEP_CHARS, completion_controls, fields_of
from runner.llm.rubrics import built_in_rubric
from tests.runner.domains.traces.examples import finance, trace


def test_steps_are_shown_with_tool_arguments_and_content() -> None:
    steps = [("thought", "hm", None), ("tool_call", "", "search"), ("observation", "found", None)]
    fields = fields_of(trace("1", steps, objective="환불 규정을 찾아 줘", summary="7일 이내"))
    assert fields == {
        "objective": "환불 규정을 찾아 줘",
        "steps": ["thought: hm", "tool_call: search", "observation: found"],
        "result": "7일 이내",
        "language": "ko",
    }
    assert fields_of(finance())["language"] == "en"


@pytest.mark.parametrize(
    ("language", "left_out", "cut"),
    [
        ("en", "(20 steps are left out here)", "… (of 2,005 characters)"),
        ("ko", "(이 자리의 단계 20개 생략)", "… (전체 2,005자)"),
    ],
)
def test_a_long_trace_is_shown_in_part_and_says_so(language: str, left_out: str, cut: str) -> None:
    steps = [("thought", f"{place:05}" + "a" * STEP_CHARS, None) for place in range(FIRST + LAST + 20)]
    shown = fields_of(trace("1", steps, objective="-", language=language))["steps"]
    assert len(shown) == FIRST + 1 + LAST
    assert shown[FIRST] == left_out
    assert [int(line[9:14]) for line in (shown[FIRST - 1], shown[FIRST + 1])] == [FIRST - 1, FIRST + 20]
    assert shown[0] == f"thought: 00000{'a' * (STEP_CHARS - 5)}{cut}"
    whole = fields_of(trace("1", steps[: FIRST + LAST], objective="-"))["steps"]
    assert len(whole) == FIRST + LAST and "left out" not in "".join(whole)


def test_controls_have_both_sides_and_injections_in_both_languages() -> None:
    items = completion_controls().items
    assert len({item.id for item in items}) == len(items) == 16
    for language in ("en", "ko"):
        own = [item for item in items if item.fields["language"] == language]
        assert Counter((item.side, item.without is None) for item in own) == {
            ("pass", True): 2,
            ("fail", True): 3,
            ("fail", False): 3,
        }
    known = {item.id: item for item in items}
    for item in items:
        built_in_rubric("task_completion").messages("score", item.fields)  # all that the rubric asks for is there
        if item.without is not None:
            before = known[item.without]
            changed = [name for name in before.fields if before.fields[name] != item.fields[name]]
            assert changed in (["steps"], ["result"]) and before.side == item.side
