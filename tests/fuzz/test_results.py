"""Files that runs have left, damaged since: a snapshot, a journal, a folder. What is there is read or refused, and what
was measured before stays as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.cli import main
from runner.commands.compare import rules_of
from runner.compare.compare import compare
from runner.compare.regression import Regression
from runner.compare.sides import Side
from runner.compare.snapshots import Snapshot, parse_snapshot
from runner.metrics.aggregate import aggregate, latency
from runner.metrics.catalogue import built_in_catalogue
from runner.metrics.judging import judging_of
from runner.records import Row
from runner.run.results import write_errors
from runner.system.journal import Journal
from tests.fuzz.damage import altered, damaged, encoded, files_of
from tests.fuzz.inputs import ended, inputs, refused
from tests.record_folders import words_of_run

RULES = b"rules:\n  - {metric: recall_at_k, margin: 0.05, relative: false}\nmargin: 0.02\nmust_not_break: [q1]\n"
HEADS = ("run.json", "summary.json", "snapshot.json", "sweep.json", "compare.json")
STATE = (
    "per_item.jsonl",
    ".journal.json",
    ".outcome.json",
    ".preparation.json",
    "run.json",
    "summary.json",
    "errors.jsonl",
)
NOTHING = Regression(rules=[], must_not_break=[])


@pytest.fixture
def folder(small_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Beside the data and what was stored of them, so that a run can go on."""
    for name in ("자료 (1)", ".runner_cache"):
        shutil.copytree(small_runs / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def renewed(small_runs: Path, folder: Path, name: str) -> Path:
    shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(small_runs / name, folder / name)
    return folder / name


def drawn_file(data: st.DataObject, path: Path) -> bytes:
    """What this file could look like after an accident, or after somebody's editor."""
    content = path.read_bytes()
    if path.suffix == ".jsonl":
        return data.draw(files_of([orjson.loads(line) for line in content.splitlines()]))
    if data.draw(st.booleans()):
        return data.draw(damaged(content))
    return encoded(data.draw(altered(orjson.loads(content))))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@inputs(50)
@given(data=st.data())
def test_snapshots(small_runs: Path, data: st.DataObject) -> None:
    content = drawn_file(data, small_runs / "run" / "snapshot.json")
    found = refused(lambda: parse_snapshot(content, "snapshot.json"), names=["snapshot.json"], codes=(1,))
    good = parse_snapshot((small_runs / "run" / "snapshot.json").read_bytes(), "good")
    for sides in ((found, good), (good, found)) if found else ():
        refused(lambda sides=sides: compared(*sides), names=["comparable", "case"], codes=(5,))  # type: ignore[misc]


def compared(*snapshots: Snapshot) -> None:
    baseline, candidate = (Side(snapshot, name) for snapshot, name in zip(snapshots, ("a", "b"), strict=True))
    compare(baseline, candidate, NOTHING, seed=1)


@inputs(15, shrinks=False)
@given(data=st.data())
def test_comparing_with_a_damaged_run(
    small_runs: Path, folder: Path, data: st.DataObject, capsys: pytest.CaptureFixture[str]
) -> None:
    run = renewed(small_runs, folder, "run")
    name = data.draw(st.sampled_from(["snapshot.json", "run.json", "per_item.jsonl"]))
    (run / name).write_bytes(drawn_file(data, small_runs / "run" / name))
    words = ["compare", str(run), str(small_runs / "sweep" / "0"), "--out", str(folder / "compared")]
    before = contents(run)
    ended(lambda: main(words), lambda: "".join(capsys.readouterr()), codes=(0, 1, 5))
    assert contents(run) == before


@inputs(20)
@given(content=damaged(RULES))
def test_rules_of_a_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rules.yaml"
    path.write_bytes(content)
    refused(lambda: rules_of(str(path)), names=["rules", "margin", "must_not_break", "regression"], codes=(1,))


@inputs(30, shrinks=False)
@given(data=st.data())
def test_showing_a_damaged_folder(
    small_runs: Path, folder: Path, data: st.DataObject, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run or a sweep, on the terminal and as a snapshot; no file of it changes but the snapshot."""
    which = data.draw(st.sampled_from(["run", "sweep", "sweep/0"]))
    whole = renewed(small_runs, folder, which.partition("/")[0])
    shown = folder / which
    name = data.draw(st.sampled_from([name for name in HEADS if (shown / name).exists()]))
    (shown / name).write_bytes(drawn_file(data, shown / name))
    before = contents(whole)
    ended(lambda: main(["results", str(shown)]), lambda: "".join(capsys.readouterr()), codes=(0, 1))
    assert contents(whole) == before


@inputs(8, shrinks=False)
@given(data=st.data())
def test_going_on_in_a_damaged_folder(
    small_runs: Path, folder: Path, data: st.DataObject, capsys: pytest.CaptureFixture[str]
) -> None:
    run = renewed(small_runs, folder, "run")
    name = data.draw(st.sampled_from(STATE))
    (run / name).write_bytes(drawn_file(data, run / name))
    before = contents(run)
    words = words_of_run()
    code = ended(lambda: main(words), lambda: "".join(capsys.readouterr()), codes=(0, 1))
    if code:
        assert contents(run) == before
    else:
        assert json.loads((run / "summary.json").read_bytes())["cases"]["ok"] == 8


@inputs(50)
@given(data=st.data())
def test_journals(small_runs: Path, tmp_path: Path, data: st.DataObject) -> None:
    """What is left of a journal takes new rows and can be summed up, and opening it again changes nothing."""
    path = tmp_path / "per_item.jsonl"
    path.write_bytes(drawn_file(data, small_runs / "run" / "per_item.jsonl"))

    def opened() -> list[dict[str, Any]]:
        with Journal(path) as journal:
            if "new" not in journal:
                journal.append(Row("new", "ok", {"recall_at_k": 1.0}, None, None))
            ids = ["new", *(str(line.get("id")) for line in lines(path))]
            return list(journal.rows(dict.fromkeys(ids)))

    rows = refused(opened, names=[str(path)])
    assert rows
    kept = path.read_bytes()
    assert [row["id"] for row in opened()] == [row["id"] for row in rows]
    assert path.read_bytes() == kept
    orjson.dumps([aggregate(rows, built_in_catalogue(), seed=1, resamples=50), latency(rows), judging_of(rows, seed=1)])
    write_errors(tmp_path / "errors.jsonl", (), rows)


def lines(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            continue
    return [line for line in found if isinstance(line, dict)]
