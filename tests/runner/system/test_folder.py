import re
from pathlib import Path
from typing import Any

import pytest

from runner.commands import results
from runner.errors import InputError
from runner.system import folder as folders
from runner.system.folder import (
    CONTENTS,
    EqualParts,
    is_sweep,
    keeper,
    legible,
    lines,
    lines_at,
    open_run,
    open_sweep,
    read_once,
    whole_file,
)
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


def test_what_is_not_there_names_a_run_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("outputs/20260101-full_rag-a", "outputs/20260102-links-b"):
        write_run(Path(name))
    for typed, near in (
        ("outputs/20260101-full_rga-a", "; did you mean 'outputs/20260101-full_rag-a'?"),
        ("outputs/x", "; the newest one there is outputs/20260102-links-b"),
        ("elsewhere", f" ({CONTENTS})"),
    ):
        with pytest.raises(InputError, match=re.escape(f"{typed}: no such folder{near}") + "$"):
            open_run(Path(typed))
    with pytest.raises(
        InputError, match=r"^outputs/x: no such folder; the newest one there is outputs/20260102-links-b$"
    ):
        results.main(["outputs/x"])


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


def test_lines_are_parsed_once_while_they_are_read_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1}\ntorn\n{"id": 2}\n', encoding="utf-8")
    monkeypatch.setattr(folders, "KEPT_BYTES", len('{"id": 1}\n'))
    with read_once(path):
        first, second = [*lines_at(path)], [*lines_at(path)]
        with path.open("a", encoding="utf-8") as file:
            file.write('{"id": 3}\n')
        third = [*lines_at(path)]
    assert first == second == [(0, {"id": 1}), (15, {"id": 2})]
    assert [value for _, value in third] == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert [one is other for (_, one), (_, other) in zip(first, second, strict=True)] == [True, False]
    assert next(lines(path)) is not next(lines(path))


def test_lines_that_were_written_are_not_read_where_all_of_them_are_kept(tmp_path: Path) -> None:
    path, texts = tmp_path / "rows.jsonl", ['{"id": 1}\n', '{"id": 2}\n']
    path.write_text("".join(texts), encoding="utf-8")
    with read_once(path):
        keep = keeper(path)
        assert keep is not None and whole_file(path) is None
        keep(0, 10, {"id": "first"}, 4)
        assert whole_file(path) is None and [value for _, value in lines_at(path)][1:] == [{"id": 2}]
    with read_once(path):
        keep = keeper(path)
        assert keep is not None
        keep(10, 10, {"id": "second"}, 4)
        keep(0, 10, {"id": "first"}, 4)
        assert whole_file(path) is None  # out of the order of the file
        assert [*lines_at(path)] == [(0, {"id": "first"}), (10, {"id": "second"})]
    with read_once(path):
        keep = keeper(path)
        assert keep is not None
        keep(0, 10, {"id": "first"}, 4)
        keep(10, 10, {"id": "second"}, 4)
        assert whole_file(path) == {0: {"id": "first"}, 10: {"id": "second"}} == dict(lines_at(path))
        with path.open("a", encoding="utf-8") as file:
            file.write('{"id": 3}\n')
        assert whole_file(path) is None and [value for _, value in lines_at(path)][2:] == [{"id": 3}]


def test_equal_parts_of_objects_are_one_object() -> None:
    parts = EqualParts()
    records: list[dict[str, Any]] = [
        {"config": {"k": k, "dataset": {"path": "a", "sizes": [1, 2]}}, "metrics": {"mrr": {"value": 1}}, "id": k}
        for k in (3, 5)
    ]
    records.append({"config": {}, "metrics": {"mrr": {"value": 1.0}}, "big": [2**70]})
    one, other, last = [parts.share(record) for record in records]
    assert [one, other, last] == records
    assert [*map(list, (one, one["config"]))] == [["config", "metrics", "id"], ["k", "dataset"]]
    assert one["metrics"] is other["metrics"] and one["config"]["dataset"] is other["config"]["dataset"]
    assert type(last["metrics"]["mrr"]["value"]) is float and type(one["metrics"]["mrr"]["value"]) is int


def test_nothing_of_a_large_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1}\n', encoding="utf-8")
    with read_once(path):
        assert next(lines(path)) is next(lines(path))
    monkeypatch.setattr(folders, "LARGE", 9)
    with read_once(path):
        assert next(lines(path)) is not next(lines(path))


def test_values_that_do_not_fit_are_a_damaged_file_and_errors_of_the_program_pass(tmp_path: Path) -> None:
    summary: dict[str, Any] = {"metrics": 3}
    with pytest.raises(InputError, match=r"damaged or were edited.*'int' object has no attribute"), legible(tmp_path):
        summary["metrics"].items()
    with pytest.raises(InputError, match="KeyError: 'cases'"), legible(tmp_path):
        len(summary["cases"])
    with pytest.raises(AttributeError, match="no attribute 'rows'"), legible(tmp_path):
        getattr(tmp_path, "rows")()  # noqa: B009 - a name that only the program can have got wrong
