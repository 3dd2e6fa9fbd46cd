"""What cannot be frozen, and what is frozen on demand only."""

import re
from pathlib import Path

import pytest

from runner.commands import freeze
from runner.errors import DataError, InputError
from tests.record_folders import change, read
from tests.runner.commands.freeze.record_files import FILES, files

# --- what is there stays --------------------------------------------------------------------------


def test_the_same_again_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    record = Path("experiments/s")
    before = {name: (record / name).stat().st_mtime_ns for name in files(record)}
    assert freeze.main(["sweep", "experiments/s"]) == 0
    assert capsys.readouterr() == ("", "experiments/s is this record already; nothing was written\n")
    assert {name: (record / name).stat().st_mtime_ns for name in files(record)} == before


@pytest.mark.parametrize("what", ["record", "folder", "file"])
def test_a_place_that_is_taken(what: str) -> None:
    if what == "record":
        Path("experiments/s").rename("experiments/x")
    elif what == "folder":
        Path("experiments/x").mkdir()
        Path("experiments/x/notes.txt").write_text("mine", encoding="utf-8")
    else:
        Path("experiments/x").write_text("mine", encoding="utf-8")
    before = files("experiments")
    expected = r"^experiments/x is there already; a record is not overwritten: choose another name, or remove it$"
    with pytest.raises(InputError, match=expected):
        freeze.main(["run", "experiments/x"])
    assert files("experiments") == before


def test_an_empty_folder_is_free() -> None:
    Path("x").mkdir()
    assert freeze.main(["run", "x"]) == 0
    assert set(files("x")) == FILES


def test_a_setting_is_no_name() -> None:
    expected = r"^FOLDER: 'name=x' is a setting; expected the place of the record: experiments/NAME$"
    with pytest.raises(InputError, match=expected):
        freeze.main(["run", "name=x"])
    assert not Path("name=x").exists()


def test_a_place_that_cannot_be_written(here: Path) -> None:
    Path("file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"^cannot write to file/x: "):
        freeze.main(["run", "file/x"])


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["partial", "failed"])
def test_what_did_not_end_well_is_frozen_on_demand_only(status: str) -> None:
    change("run/run.json", status=status, error_message="budget.usd=1 is spent")
    goes_on = "the same command resumes it; " if status == "partial" else ""
    message = f"run: the run is {status} (budget.usd=1 is spent); {goes_on}--partial freezes the finished cases"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        freeze.main(["run", "x"])
    assert not Path("x").exists()
    assert freeze.main(["run", "x", "--partial"]) == 0
    word = {"partial": "일부 완료", "failed": "실패"}[status]
    told = files("x")["README.md"].replace("\\", "")
    assert f"일부는 끝까지 실행되지 않았습니다: 실행 .: 사례 8개 중 8개({word}). " in told


def test_all_runs_of_a_sweep_that_did_not_end_well() -> None:
    change("sweep/0/run.json", status="partial", error_message="out of time")
    Path("sweep/1/summary.json").unlink()
    change("sweep/1/run.json", status="failed", error_message="no such file")
    with pytest.raises(InputError) as caught:
        freeze.main(["sweep", "x"])
    assert str(caught.value).splitlines() == [
        "sweep/0: the run is partial (out of time); the same command resumes it; --partial freezes the finished cases",
        "sweep/1: the run has no results (failed: no such file)",
    ]
    with pytest.raises(InputError, match=r"^sweep/1: the run has no results"):
        freeze.main(["sweep", "x", "--partial"])


def test_a_run_at_work() -> None:
    change("run/run.json", status="running")
    expected = r"^run: the run is at work, or was killed \(running\); the same command resumes it$"
    for words in (["run", "x"], ["run", "x", "--partial"]):
        with pytest.raises(InputError, match=expected):
            freeze.main(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "missing: RUN, FOLDER\nusage: python -m runner freeze"),
        (["nowhere", "x"], "nowhere: no such folder; the newest one there is "),
        (["자료 (1)", "x"], "자료 (1): not a run folder: no run.json in it (a run folder holds"),
    ],
)
def test_wrong_arguments(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        freeze.main(words)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "run/.hydra/config.yaml: no such file; it holds the configuration of the run"),
        ("k: [1", "run/.hydra/config.yaml: cannot be read: "),
        ("", "run/.hydra/config.yaml: damaged: no configuration of a run"),
        ("k: 3\n", "run/.hydra/config.yaml: damaged: no configuration of a run"),
    ],
)
def test_a_damaged_configuration(content: str | None, message: str) -> None:
    path = Path("run/.hydra/config.yaml")
    path.unlink() if content is None else path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        freeze.main(["run", "x"])
    assert not Path("x").exists()


def test_a_damaged_snapshot() -> None:
    path = Path("run/snapshot.json")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DataError, match=r"^run/snapshot\.json: damaged or cut off"):
        freeze.main(["run", "x"])
    assert not Path("x").exists()


def test_numbers_that_are_none() -> None:
    metrics = {name: {**metric, "value": []} for name, metric in read("run/summary.json")["metrics"].items()}
    change("run/summary.json", metrics=metrics)
    with pytest.raises(InputError, match=r"^run: its files are damaged or were edited "):
        freeze.main(["run", "x"])
    assert not Path("x").exists()


def test_a_run_from_before_there_were_snapshots() -> None:
    Path("run/snapshot.json").unlink()
    freeze.main(["run", "x"])
    assert read("x/snapshot.json")["cases"] == read("experiments/한/snapshot.json")["cases"]


def test_a_run_without_a_report_gets_one() -> None:
    Path("run/summary.md").unlink()
    freeze.main(["run", "x"])
    assert files("x")["summary.md"] == files("experiments/한")["summary.md"]


def test_a_configuration_that_is_another_one_by_now() -> None:
    path = Path("run/.hydra/config.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("\nk: 2\n", "\nk: 2\nkk: 3\n"), encoding="utf-8")
    with pytest.raises(InputError, match=r"kk: unknown option; did you mean 'k'\?"):
        freeze.main(["run", "x"])


def test_a_sweep_that_is_no_product(here: Path) -> None:
    cells = read("sweep/sweep.json")["cells"]
    change("sweep/sweep.json", cells=[*cells, cells[0]])
    with pytest.raises(InputError, match=r"^sweep: its 3 runs are not all combinations of .*; freeze them one by one"):
        freeze.main(["sweep", "x"])


def test_a_sweep_over_what_cannot_be_told_apart() -> None:
    """As over experiments, whose values are in the configuration and not in a choice."""
    path = Path("sweep/1/.hydra/config.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("min_score: 0.3\n", "min_score: 0.4\n"), encoding="utf-8")
    expected = r"^sweep/1: would not be composed again as it was: min_score would differ: freeze sweep/0 FOLDER$"
    with pytest.raises(InputError, match=expected):
        freeze.main(["sweep", "x"])


# --- secrets --------------------------------------------------------------------------------------


def test_passwords_in_addresses_are_left_out() -> None:
    path = Path("run/.hydra/config.yaml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("http://127.0.0.1:8080/v1", "http://me:hunter2@127.0.0.1:8080/v1"), encoding="utf-8")
    overrides = [*read("run/run.json")["overrides"], "provider.local.base_url=http://me:hunter2@127.0.0.1:8080/v1"]
    change("run/run.json", overrides=overrides)
    change("run/snapshot.json", run={**read("run/snapshot.json")["run"], "overrides": overrides})
    freeze.main(["run", "x"])
    assert [name for name, text in files("x").items() if "hunter2" in text] == []
    assert "provider.local.base_url=http://127.0.0.1:8080/v1" in files("x")["README.md"]


def test_the_value_of_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-git-0001")
    path = Path("run/.hydra/config.yaml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("8080/v1", "8080/v1/sk-not-for-git-0001"), encoding="utf-8")
    expected = (
        "frozen.yaml would hold the value of the environment variable OPENAI_API_KEY; "
        "run it with the name of the variable where its value stands"
    )
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        freeze.main(["run", "x"])
    assert not Path("x").exists()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-one-0002")
    assert freeze.main(["run", "x"]) == 0
