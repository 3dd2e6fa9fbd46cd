import json
import re
from pathlib import Path

import pytest

from runner.commands import snapshot
from runner.errors import InputError
from tests.comparison_runs import graded, run_folder

ROWS = [graded("a", 1.0), graded("b", 0.5)]


def test_in_the_run_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_folder(tmp_path / "run", ROWS)
    path = folder / "snapshot.json"
    before = path.read_bytes()
    path.write_bytes(b"torn")
    assert snapshot.main([str(folder)]) == 0
    assert path.read_bytes() == before
    assert capsys.readouterr().out == f"{path}: 2 cases, 8 metrics\n"


def test_elsewhere(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", ROWS)
    target = tmp_path / "releases" / "v1.json"
    assert snapshot.main([str(folder), str(target)]) == 0
    assert target.read_bytes() == (folder / "snapshot.json").read_bytes()
    run_folder(folder, ROWS[:1])
    assert snapshot.main([str(folder), str(target)]) == 0
    assert json.loads(target.read_bytes())["cases"]["ids"] == ["a"]


@pytest.mark.parametrize("content", ["", '{"kind": "runner.snapshot", "schema": 2}', '{"mine": true}', "# notes"])
def test_a_file_that_is_no_whole_snapshot_is_not_written_over(tmp_path: Path, content: str) -> None:
    folder, target = run_folder(tmp_path / "run", ROWS), tmp_path / "target.json"
    target.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"^PATH would overwrite a file that is no complete snapshot: .*target\.json"):
        snapshot.main([str(folder), str(target)])
    assert target.read_text(encoding="utf-8") == content


def test_what_cannot_be_done(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", ROWS, {"status": "failed"})
    with pytest.raises(InputError, match=rf"^{re.escape(str(tmp_path))} is a folder; expected the name of a file$"):
        snapshot.main([str(folder), str(tmp_path)])
    (folder / "summary.json").unlink()
    with pytest.raises(InputError, match=r"run: the run has no results \(failed\)$"):
        snapshot.main([str(folder)])
    with pytest.raises(InputError, match=r"no such folder"):
        snapshot.main([str(tmp_path / "none")])
