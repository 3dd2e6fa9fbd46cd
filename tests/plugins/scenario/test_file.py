import json
from pathlib import Path

import pytest

from plugins.scenario.file import FileScenarios
from runner.errors import DataError

LINE = {"id": "c", "turns": [{"user": "a"}], "probes": [{"id": "p", "question": "?"}]}


def test_several_files_of_either_kind(tmp_path: Path) -> None:
    lines, yaml = tmp_path / "a.jsonl", tmp_path / "b.yaml"
    lines.write_text(json.dumps(LINE), encoding="utf-8")
    yaml.write_text("version: 1\nconversations: [{id: d, turns: [{user: b}], probes: []}]\n", encoding="utf-8")
    conversations, problems = FileScenarios(path=[str(lines), str(yaml)]).load()
    assert [each.id for each in conversations] == ["c", "d"]
    assert [str(each) for each in problems] == [f"{yaml}:2: probes: the conversation has none, so it has no cases"]
    (only,), _ = FileScenarios(path=str(lines)).load()
    assert only.id == "c"


def test_strict_stops_at_the_first_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(LINE) + "\n{}\n", encoding="utf-8")
    conversations, problems = FileScenarios(path=str(path)).load()
    assert (len(conversations), len(problems)) == (1, 1)
    with pytest.raises(DataError, match=r"^1 error in the data files \(strict=true stops at them\)"):
        FileScenarios(path=str(path), strict=True).load()


def test_missing_files_are_found_before_the_run(tmp_path: Path) -> None:
    problems = FileScenarios(path=[str(tmp_path / "no.yaml"), str(tmp_path)]).preflight()
    assert [str(each) for each in problems] == [
        f"scenario.path: file not found: {tmp_path}/no.yaml",
        f"scenario.path: expected a file, found a folder: {tmp_path}",
    ]
