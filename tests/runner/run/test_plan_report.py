"""What `plan` shows, in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runner.llm.ledger import Account
from runner.llm.rehearsal import ExpectedRequests
from runner.run.plan_report import plan_view
from runner.run.planning import CellPlan, CommandPlan
from tests.shown_panels import lines_of


def run(number: int, swept: Sequence[str], stopped: str | None = None) -> CellPlan:
    asked = ExpectedRequests(live=24, input_tokens=22_424, output_tokens=2_880, nano_usd=5_100_000)
    account = Account(str(number), "generator", "openai:gpt-4o-mini")
    return CellPlan(swept, 24, {} if stopped else {account: asked}, stopped)


def shown(*cells: CellPlan, language: str = "en") -> list[str]:
    return [line.rstrip() for line in lines_of(plan_view(CommandPlan(cells, 4), language))]


@pytest.mark.parametrize(("language", "head", "total"), [("en", "role      model", "all"), ("ko", "역할 모델", "합계")])
def test_a_run_alone_has_no_name(language: str, head: str, total: str) -> None:
    lines = shown(run(0, ()), language=language)
    assert lines[0].startswith(head)
    role = {"en": "generator", "ko": "생성"}[language]
    assert lines[1].split() == [role, "openai:gpt-4o-mini", "24", "0", "22,424", "2,880", "$0.0051"]
    assert lines[2].split() == [total, "24", "0", "22,424", "2,880", "$0.0051"]


@pytest.mark.parametrize(("language", "head", "role"), [("en", "run role", "generator"), ("ko", "실행 역할", "생성")])
def test_runs_of_a_sweep_are_told_apart(language: str, head: str, role: str) -> None:
    lines = shown(run(0, ["k=3"]), run(1, ["k=5"]), language=language)
    assert lines[0].startswith(head)
    assert [line.split()[:3] for line in lines[1:3]] == [[name, role, "openai:gpt-4o-mini"] for name in ("k=3", "k=5")]


@pytest.mark.parametrize(
    ("language", "one", "several"),
    [
        ("en", "The run will end before it calls a model: why", "run k=3 will end before it calls a model: why"),
        ("ko", "이 실행은 모델을 호출하기 전에 끝납니다: why", "모델을 호출하기 전에 끝나는 실행: k=3 (why)"),
    ],
)
def test_what_ends_before_it_asks(language: str, one: str, several: str) -> None:
    """There is no table of nothing, and nothing is assumed."""
    lines = shown(run(0, (), "why"), language=language)
    assert lines[0] == one and len(lines) == 2
    assert several in shown(run(0, ["k=3"], "why"), run(1, ["k=5"]), language=language)


@pytest.mark.parametrize(
    ("stored", "counts", "reason"),
    [
        (0, "Planned: 24, of which 24 are sent and 0 come from the cache", "Fewer are planned"),
        (48, "Planned: 72, of which 24 are sent and 48 come from the cache", ""),
        (60, "Planned: 84, of which 24 are sent and 60 come from the cache", "More are planned"),
    ],
)
def test_the_requests_of_the_method_stand_beside_the_planned_ones(stored: int, counts: str, reason: str) -> None:
    cell = replace(run(0, ()), calls_per_case=3)
    asked = {account: replace(expected, stored=stored) for account, expected in cell.expected.items()}
    text = " ".join(shown(replace(cell, expected=asked)))
    assert "3 requests a case (an answer, two judgements) are 72 for 24 cases" in text
    assert counts in text and "Refusals are not judged" in text
    assert [each for each in ("Fewer are planned", "More are planned") if each in text] == [reason] * bool(reason)
    assert "a case (an answer" not in " ".join(shown(run(0, ())))


def test_what_a_comparison_of_so_many_cases_will_find() -> None:
    """24 cases of which two change, or seven: McNemar's test finds .31, or .43."""
    text = " ".join(shown(replace(run(0, ()), is_clustered=True)))
    assert (
        "Comparing runs over 24 cases finds a difference in right answers, in four of five tries, from 0.31 on" in text
    )
    assert text.endswith("together they tell less (cluster).")
    assert "no difference on" in " ".join(shown(replace(run(0, ()), n_cases=5)))
    assert "정답률의 차이는 0.31부터" in " ".join(shown(run(0, ()), language="ko"))
