"""Old outputs and stored indexes go after a preview; what is at work, a record, or named by one never does."""

import fcntl
import os
import time
from pathlib import Path

import pytest

from runner.cli import main
from tests.small_data import write_texts

OLD_S = 40 * 24 * 3600


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of 40 days, one of today, a record that names one of them, and what no command made."""
    monkeypatch.chdir(tmp_path)
    files = {
        "outputs/20260101-000001-a/run.json": "{}",
        "outputs/20260101-000001-a/per_item.jsonl": "x" * 2_000_000,
        "outputs/20260101-000002-b/sweep.json": "{}",
        "outputs/20260101-000002-b/0/run.json": "{}",
        "outputs/20260101-000003-named/run.json": "{}",
        "outputs/20260101-000004-record/run.json": "{}",
        "outputs/20260101-000004-record/frozen.yaml": "{}",
        "outputs/20260101-000005-busy/run.json": "{}",
        "outputs/20260101-000005-busy/.lock": "",
        "outputs/20260101-000006-base/run.json": "{}",
        "outputs/mine/notes.txt": "mine",
        "outputs/new/run.json": '{"config": {"compare": "outputs/20260101-000006-base"}}',
        "experiments/r/README.md": "python -m runner freeze outputs/20260101-000003-named experiments/r",
    }
    folder = write_texts(tmp_path, files)
    then = time.time() - OLD_S
    for path in folder.rglob("*"):
        if "outputs/2026" in str(path):
            os.utime(path, (then, then))
    return folder


def left(here: Path) -> set[str]:
    return {path.name for path in (here / "outputs").iterdir()}


KEPT = (
    "kept outputs/20260101-000003-named: experiments/r refers to it",
    "kept outputs/20260101-000004-record: it is a record",
    "kept outputs/20260101-000005-busy: a run is at work in it",
    "kept outputs/20260101-000006-base: outputs/new refers to it",
)


def test_what_is_old_is_shown_and_goes_with_yes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(here.rglob("*"))
    with (here / "outputs" / "20260101-000005-busy" / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["clean", "outputs", "--older-than", "30"]) == 0
        shown = capsys.readouterr().out.splitlines()
        assert shown[:4] == list(KEPT)
        assert shown[4:] == [
            "would delete outputs/20260101-000001-a  2.0 MB, 40 days old",
            "would delete outputs/20260101-000002-b  0.0 MB, 40 days old",
            "outputs: 2 of 7 would be deleted, 2.0 MB of 2.0 MB; nothing was deleted yet, --yes deletes them",
        ]
        assert sorted(here.rglob("*")) == before
        assert main(["clean", "outputs", "--older-than=30", "--yes", "--language", "ko"]) == 0
    assert "outputs: 7개 중 2개, 2.0 MB 중 2.0 MB 분량을 삭제했습니다" in capsys.readouterr().out
    assert left(here) == {Path(line.split()[1].rstrip(":")).name for line in KEPT} | {"mine", "new"}
    assert main(["clean", "outputs", "--older-than", "30", "--yes"]) == 0  # the lock is gone by now
    assert "20260101-000005-busy" not in left(here)


def test_the_oldest_go_until_the_rest_fits(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean", "outputs", "--at-most", "1"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("would")] == [
        "would delete outputs/20260101-000001-a  2.0 MB, 40 days old"
    ]
    assert main(["clean", "outputs"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "outputs: nothing to delete (7 there, 2.0 MB in all)",
        "choose what to delete with --older-than DAYS or --at-most MB",
    ]
    assert main(["clean", "outputs", "nowhere"]) == 1
    assert capsys.readouterr().err == "error: FOLDER: folder not found: nowhere\n"


def test_there_is_nothing_to_delete_where_nothing_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["clean", "outputs", "--yes"]) == main(["clean", "cache"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "nothing to delete: there is no folder outputs here",
        "nothing to delete: there is no folder .runner_cache here",
    ]


def test_without_a_word_it_says_what_is_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_texts(here / ".runner_cache", {"keyword/a/manifest.json": "x" * 300_000, "models.sqlite": "x" * 100_000})
    before = sorted(here.rglob("*"))
    commands = (
        "  python -m runner clean outputs --older-than 30   #",
        "  python -m runner clean cache --at-most 500       #",
    )
    assert main(["clean"]) == 0
    assert capsys.readouterr() == (
        "outputs: 7 runs, sweeps and comparisons, 2.0 MB, the oldest 40 days old\n"
        f"{commands[0]} shows what would be deleted\n"
        ".runner_cache: 1 indexes, rankings and the like, 0.3 MB, the oldest 0 days old\n"
        f"{commands[1]} shows what would be deleted\n"
        "stored replies and embeddings stay (0.1 MB); they cost requests, and a run with \n"
        "cache=refresh requests them again\n",
        "",
    )
    for words in (["--language", "ko", "--dry-run"], ["report.language=ko"]):
        assert main(["clean", *words]) == 0
        assert capsys.readouterr().out.splitlines()[:4] == [
            "outputs: 실행, 스윕, 비교 결과 7개, 2.0 MB, 가장 오래된 것은 40일 지남",
            f"{commands[0]} 삭제 대상을 보여 줍니다",
            ".runner_cache: 색인, 검색 순위 등 1개, 0.3 MB, 가장 오래된 것은 0일 지남",
            f"{commands[1]} 삭제 대상을 보여 줍니다",
        ]
    assert sorted(here.rglob("*")) == before


def test_without_a_word_where_nothing_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["clean"]) == 0
    assert capsys.readouterr() == ("outputs: nothing there\n.runner_cache: nothing there\n", "")
    assert list(tmp_path.iterdir()) == []


def test_stored_folders_go_and_replies_stay(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = {"keyword/a/manifest.json": "{}", "keyword/b/manifest.json": "{}", "models.sqlite": "x"}
    write_texts(here / ".runner_cache", cache)
    os.utime(here / ".runner_cache" / "keyword" / "a" / "manifest.json", (0, 0))
    with (here / "outputs" / "20260101-000005-busy" / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["clean", "cache", "--older-than", "30", "--yes"]) == 1
    assert "a run is at work in outputs/20260101-000005-busy" in capsys.readouterr().err
    assert main(["clean", "cache", "--older-than", "30", "--yes"]) == 0
    names = sorted(path.relative_to(here / ".runner_cache").as_posix() for path in (here / ".runner_cache").rglob("*"))
    assert names == ["keyword", "keyword/b", "keyword/b/manifest.json", "models.sqlite"]


def test_copies_of_mlflow_are_named_with_the_command_that_frees_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_texts(here, {"mlruns/demo/a/artifacts/summary.json": "x" * 300_000})
    assert main(["clean"]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("mlruns: 0.3 MB, the copies of runs that MLflow shows")
    assert lines[place + 1].startswith("  mlflow gc --backend-store-uri sqlite:///mlflow.db ")
