"""What ends a run before its last case, and how the same command goes on. See spending.py for the evaluation."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.waves import Wave
from tests.command_line.spending import Question
from tests.small_data import small_data

ROOT = Path(__file__).resolve().parents[2]
ONE = ["--config-dir", "conf", "evaluation=spending", "tracking=none", "max_concurrency=1", "format=json"]
TWO = [*ONE, "evaluation.name=a,b", "out=x"]
LIMITED = [*TWO, "budget.requests=1000"]  # far away: what spends the pretended budget is limit.txt


def begin(folder: Path) -> None:
    conf = folder / "conf" / "evaluation" / "spending.yaml"
    conf.parent.mkdir(parents=True)
    target = "_target_: tests.command_line.spending.Spending\nmodels: ${models}\n"
    conf.write_text(f"{target}name: a\nn: 25\nbackwards: false\n", encoding="utf-8")
    happens()
    limit(1000)
    forget()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The numbers of the runs a and b when nothing stops them."""
    with contextlib.chdir(tmp_path_factory.mktemp("whole")):
        begin(Path.cwd())
        assert main(TWO) == 0
        assert [len(cases) for _, cases in passes()] == [25, 25]
        return [numbers(f"x/{cell}/summary.json") for cell in "01"]


@pytest.fixture(autouse=True)
def spending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    begin(tmp_path)


def happens(*events: str) -> None:
    Path("events.txt").write_text("\n".join(events), encoding="utf-8")


def limit(cases: int) -> None:
    Path("limit.txt").write_text(str(cases), encoding="utf-8")


def forget() -> None:
    for name in ("asked.txt", "prepared.txt"):
        Path(name).write_text("", encoding="utf-8")


def asked() -> list[tuple[str, str]]:
    """(run, case) in the order in which they were begun."""
    return [(line.split()[0], line.split()[1]) for line in Path("asked.txt").read_text(encoding="utf-8").splitlines()]


def passes() -> list[tuple[str, list[str]]]:
    """The cases that one run after the other was given."""
    return [(run, sorted(case for _, case in group)) for run, group in groupby(asked(), key=lambda line: line[0])]


def prepared() -> int:
    return Path("prepared.txt").read_text(encoding="utf-8").count("\n")


def read(path: str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def numbers(path: str) -> str:
    """The bytes of a summary apart from its timing."""
    summary = read(path)
    assert summary.pop("timing")
    return json.dumps(summary)


def rows(folder: str) -> dict[str, Any]:
    lines = Path(folder, "per_item.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def in_a_process(words: list[str], *program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *(program or ("-m", "runner")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


# --- one run --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "message", "code"),
    [("stop 8", "the key is refused", 3), ("input 8", "the model is unknown", 1)],
)
def test_what_is_wrong_for_every_case_ends_the_run_and_the_same_command_goes_on(
    whole: list[str], event: str, message: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    happens(event)
    assert main([*ONE, "out=x"]) == code
    assert len(asked()) == 8 and list(rows("x")) == [f"q{number:02}" for number in range(7)]
    run, cases = read("x/run.json"), read("x/summary.json")["cases"]
    assert (run["status"], run["exit_code"], run["error_message"]) == ("partial", code, message)
    assert cases == {"total": 25, "ok": 7, "failed": 0, "timeout": 0, "pending": 18, "unscored": 0}
    assert Path("x/errors.jsonl").read_text(encoding="utf-8") == ""
    errors = capsys.readouterr().err
    assert errors.count(message) == 1
    assert "stopped early; the same command goes on where it stopped (x)" in errors
    happens()
    assert main([*ONE, "out=x"]) == 0
    assert Counter(asked()) == Counter([*(("a", f"q{number:02}") for number in range(25)), ("a", "q07")])
    assert numbers("x/summary.json") == whole[0]


def test_a_full_disk_keeps_what_is_done_and_the_same_command_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    many = [*ONE, "out=x", "evaluation.n=400"]
    script = (
        "import resource, sys; from runner.cli import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY)); sys.exit(main(sys.argv[1:]))"
    )
    full = in_a_process(many, "-c", script)
    message = "x/per_item.jsonl: File too large; finished cases stay, and the same command goes on from there"
    assert (full.returncode, full.stderr.count(message)) == (3, 1)
    assert "stopped early; the same command goes on where it stopped (x)" in full.stderr
    before = rows("x")
    assert read("x/run.json")["status"] == read("x/summary.json")["status"] == "partial"
    assert len(before) == read("x/summary.json")["cases"]["ok"] > 100
    assert main(many) == 0
    assert f"resuming: {len(before)} of 400 cases are done" in capsys.readouterr().err
    after = rows("x")
    assert len(after) == 400 and {id: after[id] for id in before} == before
    assert len(asked()) == 401  # that which could not be written


def test_cases_in_flight_beside_it_end_as_they_would_have() -> None:
    happens("hang 1", "stop 3")
    assert main([*ONE, "out=x", "max_concurrency=3", "case_timeout_ms=200"]) == 3
    assert {id: row["status"] for id, row in rows("x").items()} == {"q00": "timeout", "q01": "ok"}


def test_an_error_of_one_case_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    happens("break q01", "break q02")
    assert main([*ONE, "out=x", "evaluation.n=4"]) == 3
    assert read("x/run.json")["error_message"] == (
        "2 of 4 cases failed (50.0%, max_failure_rate is 5.0%); errors.jsonl lists them; 2 of them: "
        "ValueError: on purpose"
    )
    assert read("x/run.json")["status"] == "failed"
    line = "not all is done; the same command keeps what is, and does the rest again (x)\n"
    assert capsys.readouterr().err.endswith(line)


def test_input_that_is_wrong_would_be_wrong_again(capsys: pytest.CaptureFixture[str]) -> None:
    happens("corpus a")
    assert main([*ONE, "out=x"]) == 2
    assert "the same command" not in capsys.readouterr().err


def test_nothing_is_lost_when_the_server_is_down_at_the_next_start(capsys: pytest.CaptureFixture[str]) -> None:
    happens("down 1", "stop 6", "down 3")
    assert main([*ONE, "out=x"]) == 3  # nothing to sum up
    assert read("x/run.json")["status"] == "failed" and not Path("x/summary.json").exists()
    assert main([*ONE, "out=x"]) == 3
    before = rows("x")
    assert main([*ONE, "out=x"]) == 3
    assert rows("x") == before and len(before) == 5
    summary = read("x/summary.json")
    assert (summary["status"], summary["cases"]["ok"], summary["facts"]["pi"]) == ("partial", 5, 3.14)
    assert read("x/run.json")["error_message"] == "the server is down"
    assert capsys.readouterr().err.count("the server is down") == 2


def test_a_run_past_its_time_keeps_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    happens("hang 4")
    assert main([*ONE, "out=x", "run_timeout_ms=1500"]) == 3
    run = read("x/run.json")
    message = "run_timeout_ms=1500 is over; 3 of 25 cases are done, and the same command goes on from there"
    assert (run["status"], run["exit_code"], run["error_message"]) == ("partial", 3, message)
    assert message in capsys.readouterr().err
    happens()
    assert main([*ONE, "out=x", "run_timeout_ms=600000"]) == 0
    assert len(asked()) == 26 and read("x/summary.json")["cases"]["ok"] == 25


def test_ctrl_c(capsys: pytest.CaptureFixture[str]) -> None:
    happens("interrupt 4")
    assert main([*ONE, "out=x"]) == 130
    run = read("x/run.json")
    assert (run["status"], run["error_message"]) == ("partial", "interrupted after 3 of 25 cases")


def test_a_run_that_is_complete_is_not_prepared_again() -> None:
    assert main([*ONE, "out=x"]) == 0
    text = numbers("x/summary.json")
    assert main([*ONE, "out=x"]) == 0
    assert (prepared(), len(asked()), numbers("x/summary.json")) == (1, 25, text)
    assert read("x/summary.json")["timing"]["prepared"] == 1


def test_what_preparing_told_is_forgotten_with_the_rows_it_was_told_for() -> None:
    assert main([*ONE, "out=x"]) == 0
    Path("x/.journal.json").write_text("{}", encoding="utf-8")
    assert main([*ONE, "out=x"]) == 0
    assert read("x/summary.json")["timing"]["prepared"] == 2


# --- waves ----------------------------------------------------------------------------------------


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
    assert in_a_process(LIMITED).returncode == -signal.SIGKILL
    assert not Path("x/0/summary.json").exists()
    assert main(TWO) == 0
    assert Counter(Counter(asked()).values()) == {1: 49, 2: 1}
    assert [numbers(f"x/{cell}/summary.json") for cell in "01"] == whole


def test_waves_in_other_processes() -> None:
    limit(8)
    done = in_a_process([*LIMITED, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"])
    assert done.returncode == 3, done.stderr
    cases = [read(f"x/{cell}/summary.json")["cases"] for cell in "01"]
    assert sum(found["ok"] for found in cases) <= 8
    assert all(3 <= found["ok"] <= 5 and found["ok"] + found["pending"] == 25 for found in cases)
    assert [cell[0] for cell in cells()] == ["partial"] * 2


def test_runs_that_ask_no_model_need_no_waves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*small_data(tmp_path), "tracking=none", "k=1,2", "budget.requests=5", "retriever=keyword"]) == 0
    assert "wave" not in capsys.readouterr().err
