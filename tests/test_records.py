"""The records in experiments/ are whole, are small, and one of them comes out again.

After a change of what the program measures, `make records` makes them again.
"""

import json
import re
from pathlib import Path

import pytest

from runner.cli import main
from runner.commands.freeze.record import open_record
from runner.config import arguments
from runner.config.compose import plan_of

ROOT = Path(__file__).resolve().parent.parent
RECORDS = sorted(path.parent for path in ROOT.glob("experiments/*/frozen.yaml"))


def test_there_is_one_in_each_language() -> None:
    languages = {open_record(folder).frozen.values["report"]["language"] for folder in RECORDS}
    assert languages == {"ko", "en"}


@pytest.mark.parametrize("folder", RECORDS, ids=lambda folder: folder.name)
def test_it_is_whole_and_composes(folder: Path) -> None:
    record = open_record(folder)
    plan = plan_of(arguments.read(["-cd", str(folder), "-cn", "frozen"]))
    assert [record.run_of(cell.overrides) for cell in plan.cells] == list(record.runs)
    assert {len(run.side.snapshot.cases) for run in record.runs} == {
        run.side.snapshot.cases_count["total"] for run in record.runs
    }


@pytest.mark.parametrize("folder", RECORDS, ids=lambda folder: folder.name)
def test_it_is_small_and_of_no_machine(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            assert path.stat().st_size < 2**20, path
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"(?<![\w.])/(home|Users|root|tmp|var|mnt)/", text), path


@pytest.mark.parametrize("words", [["k=3"], pytest.param([], marks=pytest.mark.slow)], ids=["one run", "all runs"])
def test_one_comes_out_again(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Number by number where nothing else is installed; elsewhere, within noise."""
    monkeypatch.chdir(tmp_path)
    record = str(ROOT / "experiments" / "full_rag_k_ko")
    assert main(["reproduce", record, *words]) == 0, "different; see `make records`"
    (path,) = tmp_path.glob("outputs/*/reproduction.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    elsewhere = [change for change in found["environment"] if change["name"] != "commit"]
    assert elsewhere or found["outcome"] == "identical", "not identical; see `make records`"
