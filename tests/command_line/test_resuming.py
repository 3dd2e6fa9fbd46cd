"""The same command again: what is done stays, and what does not belong together is never mixed."""

import contextlib
import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.result_files import read, rows
from tests.command_line.started import command, ended, generated_by
from tests.small_data import small_data, write_jsonl


@pytest.fixture
def data(empty_folder: Path) -> list[str]:
    return asked()


def asked() -> list[str]:
    return [*small_data(Path("자료 (1)")), "tracking=none", "retriever=keyword", "format=json"]


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with contextlib.chdir(tmp_path_factory.mktemp("made")):
        assert main([*asked(), "out=x"]) == 0
        return Path.cwd()


@pytest.fixture
def made(made_once: Path, data: list[str], empty_folder: Path) -> list[str]:
    """The words of the finished run `x`."""
    shutil.copytree(made_once, empty_folder, dirs_exist_ok=True)
    return data


def test_the_same_again_resumes_and_runs_no_case_twice(made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("x/per_item.jsonl").read_bytes()
    assert main([*made, "out=x"]) == 0
    assert Path("x/per_item.jsonl").read_bytes() == before
    assert "resuming: 8 of 8 cases are done" in capsys.readouterr().err


def test_resume_after_a_kill_equals_an_uninterrupted_run(made: list[str]) -> None:
    shutil.copytree("x", "torn")
    journal = Path("torn/per_item.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    assert main([*made, "out=torn"]) == 0
    whole, torn = read("x/summary.json"), read("torn/summary.json")
    assert whole.pop("timing") and torn.pop("timing")
    assert whole == torn


def test_a_default_folder_that_is_not_done_is_taken_up_again(data: list[str]) -> None:
    main(data)
    (folder,) = Path("outputs").glob("2*")
    assert Path("outputs/.gitignore").read_text(encoding="utf-8") == "*\n"
    Path("outputs/.gitignore").write_text("mine", encoding="utf-8")
    run = read(folder / "run.json")
    (folder / "run.json").write_text(json.dumps({**run, "status": "partial"}), encoding="utf-8")
    main(data)
    assert list(Path("outputs").glob("2*")) == [folder]
    main(data)
    assert len(list(Path("outputs").glob("2*"))) == 2


def test_changed_data_starts_over_and_keeps_the_earlier_rows(made: list[str]) -> None:
    queries = Path("자료 (1)/queries.jsonl")
    queries.write_text(queries.read_text(encoding="utf-8").replace("How long", "What time"), encoding="utf-8")
    assert main([*made, "out=x"]) == 0
    assert len(list(Path("x").glob("per_item.before-*.jsonl"))) == 1
    assert rows("x")["q1"]["output"]["query"].startswith("What time")


def test_another_run_in_the_same_folder_is_refused(made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*made, "out=x", "k=3"]) == 1
    assert "out: x holds another run or sweep; choose another folder or remove it" in capsys.readouterr().err
    assert read("x/run.json")["k"] == 5


def test_ctrl_c_keeps_what_was_done_and_the_same_command_goes_on(tmp_path: Path, data: list[str]) -> None:
    answer = "return Answer('The Moon circles the Earth in 27 days.')"
    slow = generated_by("slow", f"import asyncio\nawait asyncio.sleep(0.4)\n{answer}")
    words = command("+experiment=full_rag", *data, *slow, "out=x", "max_concurrency=1")
    running = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    journal = tmp_path / "x" / "per_item.jsonl"
    deadline = time.monotonic() + 60
    while (
        running.poll() is None
        and time.monotonic() < deadline
        and (not journal.exists() or journal.read_bytes().count(b"\n") < 2)
    ):
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=240)
    assert running.returncode == 130, errors
    run = read("x/run.json")
    assert (run["status"], run["exit_code"]) == ("partial", 130)
    done = read("x/summary.json")["cases"]["ok"]
    assert 2 <= done < 8 and read("x/summary.json")["cases"]["pending"] == 8 - done
    again = ended(*words[words.index("runner") + 1 :])
    assert again.returncode == 0, again.stderr
    assert f"resuming: {done} of 8 cases are done" in again.stderr
    assert read("x/summary.json")["cases"]["ok"] == 8


def test_answers_of_another_system_that_change_start_over(tmp_path: Path) -> None:
    query = {"id": "g", "query": "How long?", "answerable": True, "expected_notes": ["moon"], "ranking": ["moon"]}
    queries = write_jsonl(tmp_path / "given.jsonl", [{**query, "answer": "27 days"}])
    words = ["dataset=jsonl", "dataset.corpus=null", f"dataset.queries={queries}", "tracking=none", "out=x"]
    words += ["+experiment=full_rag", "retriever=given", "generator=given"]
    assert main(words) == 0
    write_jsonl(queries, [{**query, "answer": "28 days"}])
    assert main(words) == 0
    assert rows("x")["g"]["output"]["answer"] == "28 days"


@pytest.mark.parametrize("damage", ["removed", "{", "[]"])
def test_rows_of_unknown_origin_are_never_mixed_in(made: list[str], damage: str) -> None:
    for name in ("run.json", ".journal.json"):
        if damage == "removed":
            Path("x", name).unlink()
        else:
            Path("x", name).write_text(damage, encoding="utf-8")
    assert main([*made, "k=2", "out=x"]) == 0
    assert read("x/summary.json")["metrics"]["precision_at_k"]["value"] == 0.5
    assert len(list(Path("x").glob("per_item.before-*.jsonl"))) == 1


def test_rows_of_other_code_are_never_mixed_in(made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    origin = read("x/.journal.json")
    Path("x/.journal.json").write_text(json.dumps({**origin, "code": "of last week"}), encoding="utf-8")
    assert main([*made, "out=x"]) == 0
    assert "starting over: the code changed since" in capsys.readouterr().err


def test_provenance_that_is_none_starts_over(made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    origin = read("x/.journal.json")
    Path("x/.journal.json").write_text(json.dumps({**origin, "data": ["queries"]}), encoding="utf-8")
    assert main([*made, "out=x"]) == 0
    assert "starting over: the data" in capsys.readouterr().err
    assert len(list(Path("x").glob("per_item.before-*.jsonl"))) == 1


def test_changed_tags_start_over(made: list[str]) -> None:
    queries = Path("자료 (1)/queries.jsonl")
    queries.write_text(queries.read_text(encoding="utf-8").replace("space", "sky"), encoding="utf-8")
    assert main([*made, "out=x"]) == 0
    assert set(read("x/summary.json")["slices"]["tag"]) == {"sky"}


def test_half_a_file_of_a_killed_process_is_gone_after_the_same_command(data: list[str]) -> None:
    words = [*data, "format=both", "k=1,2", "out=x"]
    assert main(words) == 0
    before = sorted(Path("x").rglob("*"))
    halves = [Path("x/.summary.json.4711"), Path("x/0/.report.html.4711"), Path("x/1/..journal.json.4711")]
    for half in halves:
        half.write_text("{", encoding="utf-8")
    Path("x/.mine.4711").touch()
    assert main(words) == 0
    assert sorted(Path("x").rglob("*")) == sorted([*before, Path("x/.mine.4711")])
