"""What a run of memories will ask of models, counted by hand. No server is up: a plan asks nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from runner.cli import main
from runner.config.compose import compose_cells
from runner.errors import StopRunError
from runner.llm.ledger import Account
from runner.llm.rehearsal import ExpectedRequests
from runner.run.cost import agree_on_cost
from runner.run.plan_report import cost_line
from runner.run.planning import SAMPLED, CellPlan, CommandPlan, plan_cells
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


# --- many cases ---------------------------------------------------------------------------------------


def questions(tmp_path: Path, count: int, *, are_alike: bool = False) -> list[str]:
    """Two requests to the judge of each case, and one more of every fifth, which has a known answer; or all the same
    as those of the first."""
    records = [
        {
            "id": f"q{number}",
            "query": f"When was house {0 if are_alike else number} built?",
            "answerable": True,
            "expected_notes": ["a"],
            "contexts": [{"id": "a", "text": "It was built in 1907."}],
            "answer": "It was built in 1907 [1].",
            **({"answers": ["1907"]} if number % 5 == 0 and not are_alike else {}),
        }
        for number in range(count)
    ]
    return [
        "+experiment=full_rag", "retriever=given", "generator=given", "dataset=jsonl", "dataset.corpus=null", *JUDGE,
        f"dataset.queries={write_jsonl(tmp_path / 'questions.jsonl', records)}", "tracking=none", "judge.health=false",
        f"out={tmp_path / 'o'}", f"cache_dir={tmp_path / 'cache'}", "provider.local.base_url=http://127.0.0.1:9/v1",
        "provider.local.prices.usd_per_million={small:{input:1,output:2}}",
    ]  # fmt: skip


def agreed(words: Sequence[str]) -> CommandPlan:
    """The plan that a run shows before it starts."""
    shown: list[CommandPlan] = []
    plan_cells(compose_cells(list(words))[1], shown.append)
    return shown[0]


def exactly(words: Sequence[str]) -> CommandPlan:
    return plan_cells(compose_cells(list(words))[1])


@pytest.mark.parametrize(("language", "said"), [("en", "about {} requests"), ("ko", "모델 요청 약 {}건")])
def test_a_run_of_many_cases_is_estimated_from_a_sample(tmp_path: Path, language: str, said: str) -> None:
    words = questions(tmp_path, 5 * SAMPLED)
    estimate, exact = agreed(words), exactly(words)
    assert estimate.is_estimated and not exact.is_estimated
    assert exact.total.live == 11 * SAMPLED
    assert estimate.total.live % 5 == 0 and estimate.total.live == pytest.approx(exact.total.live, rel=0.06)
    for name in ("input_tokens", "output_tokens", "nano_usd"):
        assert getattr(estimate.total, name) == pytest.approx(getattr(exact.total, name), rel=0.06)
    assert cost_line(estimate, language).startswith(said.format(f"{estimate.total.live:,}"))
    assert "약 1,1" not in cost_line(exact, language) and not cost_line(exact, language).startswith("about")


def test_what_a_sample_cannot_tell_is_counted(tmp_path: Path) -> None:
    """Few cases, requests that one reply answers, and the runs of a sweep."""
    few = agreed(questions(tmp_path, 2 * SAMPLED))
    assert not few.is_estimated and few.total.live == 440
    alike = agreed(questions(tmp_path, 2 * SAMPLED + 1, are_alike=True))
    assert not alike.is_estimated
    assert (alike.total.live, alike.total.shared) == (2, 4 * SAMPLED)
    sweep = agreed([*questions(tmp_path, 2 * SAMPLED), "evaluation.high=0.7,0.8"])
    assert not sweep.is_estimated
    assert (sweep.total.live, sweep.total.shared) == (440, 440)


def test_a_further_run_of_a_sweep_is_estimated_where_all_is_shared(tmp_path: Path) -> None:
    words, n_cases = questions(tmp_path, 9 * SAMPLED), 9 * SAMPLED
    shared, exact = (plan([*words, "evaluation.high=0.7,0.8,0.9"]) for plan in (agreed, exactly))
    assert [cell.is_estimated for cell in shared.cells] == [False, True, True] and not exact.is_estimated
    assert shared.total.live == exact.total.live == 11 * n_cases // 5
    assert shared.total.shared == pytest.approx(exact.total.shared, rel=0.06) and shared.total.shared % 18 == 0
    assert shared.total.saved_nano_usd == pytest.approx(exact.total.saved_nano_usd, rel=0.06)
    assert f"save about {shared.total.n_saved:,} (" in cost_line(shared, "en")
    other = agreed([*words, "judge.temperature=0,1"])  # each run has requests of its own
    assert not other.is_estimated
    assert (other.total.live, other.total.shared) == (22 * n_cases // 5, 0)


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "no requests to send, judging by a sample: about 9 replies"), ("ko", "표본으로 보면 보낼 요청이 없습니다")],
)
def test_a_sample_without_requests_is_said_to_be_one(language: str, said: str) -> None:
    account = Account("0", "judge", "local:small")
    planned = CommandPlan([CellPlan([], 9, {account: ExpectedRequests(stored=9)}, is_estimated=True)], 1)
    assert cost_line(planned, language).startswith(said)


def test_missing_replies_are_counted(tmp_path: Path) -> None:
    cells = compose_cells([*questions(tmp_path, 2 * SAMPLED + 1), "cache=replay"])[1]
    with pytest.raises(StopRunError, match=r"^cache=replay: replies are not stored: 443 of local:small$"):
        agree_on_cost(cells)


def test_of_runs_with_and_without_models_those_with_them_are_planned(tmp_path: Path) -> None:
    words = [*questions(tmp_path, 3), "cache=replay"]
    without = compose_cells([word for word in words if word not in JUDGE and word != "judge.health=false"])[1]
    agree_on_cost(without)
    with pytest.raises(StopRunError, match=r"^cache=replay: replies are not stored: 7 of local:small$"):
        agree_on_cost([*without, *compose_cells(words)[1]])
