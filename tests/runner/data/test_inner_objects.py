from pathlib import Path

import pytest

from runner.data.fields import Fields
from runner.data.jsonl import read_json
from runner.data.problems import ProblemLog
from runner.errors import DataError


def test_an_object_inside_another_names_both() -> None:
    log = ProblemLog()
    fields = Fields({"a": {"b": {"c": 1}}}, "x.json", 3, log)
    assert fields.object("a").object("b").text("c") is None
    assert not fields.failed
    assert fields.object("missing").data == {}
    assert fields.object("a").object("b").object("c").data == {}
    assert fields.failed
    assert [str(problem) for problem in log.problems] == [
        "x.json:3: a.b.c: expected text, found number 1",
        "x.json:3: missing: expected an object, found nothing",
        "x.json:3: a.b.c: expected an object, found number 1",
    ]


def test_a_wrong_object_of_a_list_makes_the_outer_one_wrong() -> None:
    log = ProblemLog()
    fields = Fields({"a": [{"b": "x"}, 7, {"b": 1}], "c": [{"b": "y"}], "d": 5}, "x.json", None, log)
    assert [inner.text("b") for inner in fields.objects("c")] == ["y"]
    assert list(fields.objects("absent")) == []
    assert not fields.failed
    assert [inner.text("b") for inner in fields.objects("a")] == ["x", None]
    assert fields.failed
    assert list(fields.objects("d")) == []
    assert [str(problem) for problem in log.problems] == [
        "x.json: a[1]: expected an object, found number 7",
        "x.json: a[2].b: expected text, found number 1",
        "x.json: d: expected a list, found number 5",
    ]


def test_the_error_of_the_last_object_counts_too() -> None:
    fields = Fields({"a": [{"b": 1}]}, "x.json", None, ProblemLog())
    for inner in fields.objects("a"):
        inner.text("b")
    assert fields.failed


def test_a_whole_file_of_json(tmp_path: Path) -> None:
    path, log = tmp_path / "a.json", ProblemLog()
    path.write_bytes(b'\xef\xbb\xbf{"a": "\\ud800"}')
    assert read_json(str(path), "scenario.path", log, DataError) == {"a": "\ufffd"}
    assert [problem.severity for problem in log.problems] == ["warning"]
    path.write_text("[1,", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_json(str(path), "scenario.path", log, DataError)
    assert str(caught.value) == f"scenario.path: {path}: not JSON: Expecting value at line 1, column 4"
    with pytest.raises(DataError, match=r"^scenario\.path: file not found: nowhere\.json"):
        read_json("nowhere.json", "scenario.path", log, DataError)
