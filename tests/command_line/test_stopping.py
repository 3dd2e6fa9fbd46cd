"""What ends a run before its last case, and how the same command goes on. See spending.py for the evaluation."""

from collections import Counter
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.result_files import read, rows
from tests.command_line.spent import ONE, asked, happens, in_a_process, numbers, prepared

pytestmark = pytest.mark.usefixtures("spending")


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
    assert "stopped early; run the same command again to resume (x)" in errors
    happens()
    assert main([*ONE, "out=x"]) == 0
    assert Counter(asked()) == Counter([*(("a", f"q{number:02}") for number in range(25)), ("a", "q07")])
    assert numbers("x/summary.json") == whole[0]


def test_a_full_disk_keeps_what_is_done_and_the_same_command_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    many = [*ONE, "out=x", "evaluation.n=200"]
    script = (
        "import resource, sys; from runner.cli import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY)); sys.exit(main(sys.argv[1:]))"
    )
    full = in_a_process(script, many)
    message = "x/per_item.jsonl: File too large; finished cases are kept; run the same command again to resume"
    assert (full.returncode, full.stderr.count(message)) == (3, 1)
    assert "stopped early; run the same command again to resume (x)" in full.stderr
    before = rows("x")
    assert read("x/run.json")["status"] == read("x/summary.json")["status"] == "partial"
    assert len(before) == read("x/summary.json")["cases"]["ok"] > 50
    assert main(many) == 0
    assert f"resuming: {len(before)} of 200 cases are done" in capsys.readouterr().err
    after = rows("x")
    assert len(after) == 200 and {id: after[id] for id in before} == before
    assert len(asked()) == 201  # that which could not be written


def test_cases_in_flight_beside_it_end_as_they_would_have() -> None:
    happens("hang 1", "stop 3")
    assert main([*ONE, "out=x", "max_concurrency=3", "case_timeout_ms=200"]) == 3
    assert {id: row["status"] for id, row in rows("x").items()} == {"q00": "timeout", "q01": "ok"}


def test_an_error_of_one_case_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    happens("break q01", "break q02")
    assert main([*ONE, "out=x", "evaluation.n=4"]) == 3
    assert read("x/run.json")["error_message"].startswith(
        "2 of 4 cases failed (50.0%, max_failure_rate is 5.0%); errors.jsonl lists them; 2 of them: "
        "evaluation (tests.command_line.spending.Spending): run: "
        "ValueError: on purpose (tests.command_line.spending, line "
    )
    assert read("x/run.json")["status"] == "failed"
    line = "not finished; the same command keeps finished cases and runs the rest again (x)\n"
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
    message = "run_timeout_ms=1500 is over; 3 of 25 cases are done; run the same command again to resume"
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
