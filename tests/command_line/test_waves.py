"""A sweep whose runs share a budget is served in waves. See spending.py for the evaluation."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from runner.cli import main
from runner.run.waves import Wave
from tests.command_line.result_files import read, rows
from tests.command_line.spending import Question
from tests.command_line.spent import ROOT, TWO, asked, forget, happens, limit, numbers, passes, prepared
from tests.command_line.started import ended
from tests.small_data import small_data

pytestmark = pytest.mark.usefixtures("spending")

LIMITED = [*TWO, "budget.requests=1000", "verbose=true"]  # far away: what spends the pretended budget is limit.txt


def cells() -> list[tuple[str, int, str | None]]:
    found = read("x/sweep.json")["cells"]
    return [(cell["status"], cell["exit_code"], cell["error_message"]) for cell in found]


def test_a_sweep_with_a_budget_is_served_in_waves_of_the_same_cases(
    whole: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(LIMITED) == 0
    served = passes()
    assert [run for run, _ in served] == ["a", "b"] * 10
    assert [len(cases) for _, cases in served[::2]] == [3, 2, 3, 2, 3, 2, 3, 2, 3, 2]
    assert all(cases == served[place - place % 2][1] for place, (_, cases) in enumerate(served))
    assert served[0][1] != ["q00", "q01", "q02"]
    assert [numbers(f"x/{cell}/summary.json") for cell in "01"] == whole
    assert [read(f"x/{cell}/summary.json")["timing"]["prepared"] for cell in "01"] == [1, 2]
    assert (read("x/sweep.json")["status"], cells()) == ("completed", [("completed", 0, None)] * 2)
    shown = capsys.readouterr()
    assert shown.out.count("Evaluation Results") == 2 and shown.err.count("results in") == 2


def test_a_wave_without_a_new_case_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LIMITED, "evaluation.n=4"]) == 0
    assert [len(cases) for _, cases in passes()] == [1] * 8
    assert capsys.readouterr().err.count(", wave ") == 8  # two runs in each of four; the last pass has no new one
    assert (prepared(), read("x/0/summary.json")["cases"]["ok"]) == (8, 4)
    assert (
        Path("loaded.txt").read_text(encoding="utf-8").splitlines() == ["a", "b"] * 6
    )  # to plan the cost, and in five passes


def test_runs_take_the_same_cases_whatever_their_order_in_the_file() -> None:
    words = [word for word in LIMITED if "name=" not in word]
    limit(12)
    assert main([*words, "evaluation.n=30", "evaluation.backwards=false,true"]) == 3
    first, second = [case for _, case in asked()[:3]], [case for _, case in asked()[3:6]]
    assert first == second[::-1] == sorted(first)
    assert {*asked()[6:9]} == {*asked()[9:12]}


def test_a_spent_budget_leaves_pairs_and_the_same_command_goes_on(
    whole: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    limit(14)
    assert main(LIMITED) == 3
    done = [set(rows(f"x/{cell}")) for cell in "01"]
    assert [len(ids) for ids in done] == [8, 6]  # 5 each after two waves, and 4 more in the third
    assert done[0] > done[1]
    spent = "budget.requests: 30 are spent"
    assert cells() == [
        ("partial", 3, f"the sweep ended early: run 1: {spent}"),
        ("partial", 3, spent),
    ]
    for cell, ids in zip("01", done, strict=True):
        summary = read(f"x/{cell}/summary.json")
        assert (summary["status"], summary["cases"]["ok"], summary["facts"]["pi"]) == ("partial", len(ids), 3.14)
        assert read(f"x/{cell}/run.json")["status"] == "partial"
    shown = capsys.readouterr()
    assert shown.out.count("Evaluation Results") == 2 and shown.err.count(spent) == 2
    assert prepared() == 6  # three waves; the closing pass prepares nothing
    forget()
    limit(4)
    assert main(LIMITED) == 3  # goes on in the third wave
    assert [(run, len(cases)) for run, cases in passes()] == [("b", 2), ("a", 2), ("b", 1)]
    limit(1000)
    assert main(TWO) == 0  # without a budget in one pass
    assert len(asked()) == 50 - 14 + 1
    assert [numbers(f"x/{cell}/summary.json") for cell in "01"] == whole


def test_a_case_that_failed_is_not_run_again_in_the_next_wave() -> None:
    first = Wave(1).of([Question(f"q{number:02}") for number in range(25)], 42)[0].id
    happens(f"break {first}")
    limit(10)
    assert main(LIMITED) == 3
    for cell in "01":
        cases = read(f"x/{cell}/summary.json")["cases"]
        assert (cases["ok"], cases["failed"], cases["pending"]) == (4, 1, 20)
    assert set(Counter(asked()[:10]).values()) == {1}
    happens()
    limit(1000)
    forget()
    assert main(TWO) == 0
    assert len(asked()) == 2 * 21 and Counter(case for _, case in asked())[first] == 2


def test_a_run_that_cannot_be_prepared_is_out_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    happens("corpus a")
    limit(5)
    assert main(LIMITED) == 3
    assert [cell[:2] for cell in cells()] == [("failed", 2), ("partial", 3)]
    assert {run for run, _ in asked()} == {"b"} and len(rows("x/1")) == 5
    assert capsys.readouterr().err.count("there is no index") == 1  # when it happens


def test_ctrl_c_in_a_wave_sums_up_what_all_runs_have() -> None:
    happens("interrupt 9")
    assert main(LIMITED) == 130
    assert cells() == [
        ("partial", 3, "the sweep ended early: interrupted"),
        ("partial", 130, "interrupted after 3 of 25 cases"),
    ]
    assert [read(f"x/{cell}/summary.json")["cases"]["ok"] for cell in "01"] == [5, 3]
    happens()
    assert main(TWO) == 0


def test_a_kill_in_a_wave_costs_only_the_case_in_flight(whole: list[str]) -> None:
    happens("kill 12")
    assert ended(*LIMITED, PYTHONPATH=str(ROOT)).returncode == -signal.SIGKILL
    assert not Path("x/0/summary.json").exists()
    assert main(TWO) == 0
    assert Counter(Counter(asked()).values()) == {1: 49, 2: 1}
    assert [numbers(f"x/{cell}/summary.json") for cell in "01"] == whole


def test_waves_in_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the evaluation
    limit(8)
    assert main([*LIMITED, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]) == 3
    cases = [read(f"x/{cell}/summary.json")["cases"] for cell in "01"]
    assert sum(found["ok"] for found in cases) <= 8
    assert all(3 <= found["ok"] <= 5 and found["ok"] + found["pending"] == 25 for found in cases)
    assert [cell[0] for cell in cells()] == ["partial"] * 2


def test_runs_that_ask_no_model_need_no_waves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*small_data(tmp_path), "tracking=none", "k=1,2", "budget.requests=5", "retriever=keyword"]) == 0
    assert "wave" not in capsys.readouterr().err
