"""What a run of memories will ask of models, counted by hand. No server is up: a plan asks nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from runner.cli import main
from runner.config.compose import compose_cells
from runner.run.plan_report import cost_line
from runner.run.planning import CellPlan, plan_cells
from tests.small_data import write_jsonl

TURNS = 24


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Two conversations of 24 turns, asked the same after turns 4 and 24; nothing but the memory uses a model unless
    told otherwise."""
    records = [
        {
            "id": name,
            "language": "en",
            "turns": [{"user": f"Remark {turn} of {name}.", "assistant": "OK."} for turn in range(1, TURNS + 1)],
            "probes": [
                {"id": f"p{after}", "question": f"What did {name} say?", "after_turn": after, "answers": ["x"]}
                for after in (4, TURNS)
            ],
        }
        for name in ("ada", "bob")
    ]
    path = write_jsonl(tmp_path / "talks.jsonl", records)
    return [
        "+experiment=memory", "scenario=file", f"scenario.path={path}", "tracking=none", f"out={tmp_path / 'o'}",
        f"cache_dir={tmp_path / 'cache'}", "memory/store=local", "provider.local.base_url=http://127.0.0.1:9/v1",
        "judge.health=false",
    ]  # fmt: skip


SUMMARISER = ["memory/summariser=openai", "memory.summariser.model=local:small"]
GENERATOR = ["generator=openai", "generator.model=local:small"]
JUDGE = ["judge=openai", "judge.model=local:small"]


def planned(words: Sequence[str]) -> list[CellPlan]:
    return list(plan_cells(compose_cells(list(words))[1]).cells)


def asked(cell: CellPlan) -> dict[str, tuple[int, int]]:
    """Role -> (requests to be sent, those that another one answers)."""
    return {account.role: (expected.live, expected.shared) for account, expected in cell.expected.items()}


def test_updates_come_whenever_a_batch_has_left_the_window(words: list[str]) -> None:
    """Window 5, batches of 5: after turns 10, 15 and 20 of each conversation."""
    (cell,) = planned([*words, "memory=recursive_summary", *SUMMARISER])
    assert cell.n_cases == 4
    assert asked(cell) == {"summariser": (6, 0)}


def test_runs_that_summarise_the_same_turns_pay_once(words: list[str]) -> None:
    """Window 10: after turns 15 and 20, of the same batches as the first two with a window of 5."""
    narrow, wide = planned([*words, "memory=recursive_summary", "memory.window=5,10", *SUMMARISER])
    assert asked(narrow) == {"summariser": (6, 0)}
    assert asked(wide) == {"summariser": (0, 4)}


def test_larger_batches_are_other_requests(words: list[str]) -> None:
    """Batches of 10: after turn 15 only."""
    (cell,) = planned([*words, "memory=recursive_summary", "memory.update_every=10", *SUMMARISER])
    assert asked(cell) == {"summariser": (2, 0)}


def test_probes_that_show_the_same_share_their_answer(words: list[str]) -> None:
    """Without a memory, both probes of a conversation are one question with nothing to it, and their answer is held
    against the known one once. An empty memory is graded by nobody."""
    none, window = planned([*words, "memory=none,window", *GENERATOR, *JUDGE])
    assert asked(none) == {"generator": (2, 2), "judge": (2, 2)}
    assert asked(window) == {"generator": (4, 0), "judge": (8, 0)}


def test_a_memory_without_models_asks_nothing(words: list[str]) -> None:
    assert [cell.expected for cell in planned([*words, "memory=none,window,recursive_summary,combined"])] == [{}] * 4


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "No run of this command calls a model."), ("ko", "이 명령의 어떤 실행도 모델을 호출하지 않습니다.")],
)
def test_a_summariser_that_no_strategy_uses_is_told_to_cost_nothing(words: list[str], language: str, said: str) -> None:
    plan = plan_cells(compose_cells([*words, "memory=window", *SUMMARISER])[1])
    assert cost_line(plan, language) == said


# --- a copilot ----------------------------------------------------------------------------------------


@pytest.fixture
def copilot(tmp_path: Path) -> list[str]:
    """Two questions after eleven turns: one update of the memory, two answers."""
    turns = [{"user": f"Remark {turn} on exports.", "assistant": "OK."} for turn in range(1, 12)]
    turns += [
        {"user": f"How are {what} of the workspace exported?", "assistant": "As files."} for what in ("logs", "links")
    ]
    probes = [{"id": f"p{turn}", "turn": turn} for turn in (12, 13)]
    path = write_jsonl(tmp_path / "talks.jsonl", [{"id": "ada", "language": "en", "turns": turns, "probes": probes}])
    return [
        "+experiment=copilot", "retriever=keyword", "dataset=demo_en", "scenario=file", f"scenario.path={path}",
        f"out={tmp_path / 'o'}", f"cache_dir={tmp_path / 'cache'}", "memory/store=local", "tracking=none",
        "provider.local.base_url=http://127.0.0.1:9/v1", "judge.health=false",
    ]  # fmt: skip


def test_a_copilot_asks_for_a_month_what_it_asks_for_a_question(copilot: list[str]) -> None:
    prices = ["provider.local.prices.usd_per_million={small:{input:1,output:2}}"]
    (cell,) = planned([*copilot, *SUMMARISER, *GENERATOR, *JUDGE, *prices])
    assert asked(cell) == {"summariser": (1, 0), "generator": (2, 0), "judge": (4, 0)}
    own = [expected for account, expected in cell.expected.items() if account.role != "judge"]
    tokens = [sum(getattr(expected, name) for expected in own) for name in ("input_tokens", "output_tokens")]
    assert cell.nano_usd_a_case == round((tokens[0] * 1000 + tokens[1] * 2000) / 2)


def test_a_plan_of_a_copilot_ends_with_a_month(copilot: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["plan", *copilot, "memory=none,recursive_summary", "evaluation.projection.turns_per_session=[20,100]"])
        == 0
    )
    shown = capsys.readouterr().out
    assert shown.startswith("No run of this command calls a model.")
    assert shown.count("A month of 30 days") == 1
    assert "$726" in shown and "$3,630" in shown


def test_other_plans_have_no_month(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *words]) == 0
    shown = capsys.readouterr().out
    assert "month" not in shown
    assert main(["plan", "--json", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["runs", "total", "seconds", "receivers", "line"]
    assert told["line"] in " ".join(shown.split())
    assert told["total"]["requests"] == sum(each["requests"] for run in told["runs"] for each in run["asked"])
