import re
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.system.folder import CONTENTS, is_sweep, lines, open_run, open_sweep
from tests.run_folders import ROWS, write_run, write_sweep_folder


def test_a_run_folder(tmp_path: Path) -> None:
    folder = open_run(write_run(tmp_path / "r"))
    assert folder.run["id"] == "run-1"
    assert folder.summary["k"] == 5
    assert [row["id"] for row in folder.rows()] == [row["id"] for row in ROWS]
    assert [error["stage"] for error in folder.errors()] == ["data", None, "run"]


def test_a_run_that_never_got_to_its_summary(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "summary.json").unlink()
    assert open_run(folder).summary == {}


@pytest.mark.parametrize(
    ("path", "message"),
    [("empty", "not a run folder: no run.json in it"), ("nowhere", "no such folder")],
)
def test_folders_of_something_else(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / path}: {message} ({CONTENTS})")):
        open_run(tmp_path / path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    write_run(tmp_path)
    for content in ("{", "[" * 100_000):
        (tmp_path / "run.json").write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=rf"^{re.escape(str(tmp_path / 'run.json'))}: cannot be read: "):
            open_run(tmp_path)
    (tmp_path / "run.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match=r"run\.json: expected a JSON object, found list$"):
        open_run(tmp_path)


def test_a_sweep_folder(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    assert is_sweep(folder)
    assert not is_sweep(folder / "0")
    assert [cell["folder"] for cell in open_sweep(folder)["cells"]] == ["0", "1"]
    with pytest.raises(InputError, match=r"not a sweep folder: no sweep\.json in it"):
        open_sweep(folder / "0")


def test_lists_in_lists_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "per_item.jsonl"
    path.write_text('{"a": 1}\n' + "[" * 50_000 + "]" * 50_000 + '\n{"a": 2}\n')
    assert list(lines(path)) == [{"a": 1}, {"a": 2}]


def test_torn_lines_are_passed_over_and_lone_surrogates_are_not(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n\n[1]\n{"a": "\\ud800"}\n{"a": 2')
    assert list(lines(path)) == [{"a": 1}, {"a": "\ud800"}]
    assert list(lines(tmp_path / "absent.jsonl")) == []
