import json
from pathlib import Path
from typing import Any

import pytest

from runner import report
from runner.report import html
from tests.html_pages import Element, parse
from tests.memory_runs import MEMORY, bin_of
from tests.run_folders import dump, write_run, write_sweep_folder


def page(folder: Path) -> Element:
    return parse((folder / "report.html").read_text(encoding="utf-8").removeprefix("<!doctype html>"))


def run_page(folder: Path, memory: Any, language: str = "en") -> Element:
    write_run(folder, {"config": {"report": {"language": language}}}, {"memory": memory})
    html.write(folder)
    return page(folder)


def sweep_page(folder: Path, memories: dict[int, Any]) -> Element:
    write_sweep_folder(folder, list(memories))
    for number, memory in enumerate(memories.values()):
        path = folder / str(number) / "summary.json"
        dump(path, {**json.loads(path.read_text(encoding="utf-8")), "memory": memory})
    report.write_sweep(folder)
    return page(folder)


@pytest.mark.parametrize(
    ("language", "title", "turns", "recent", "none"),
    [
        ("en", "Memory", "Turns since it was said", "recent turns", "none"),
        ("ko", "메모리", "말한 뒤 지난 턴 수", "최근 턴", "없음"),
    ],
)
def test_the_section_of_a_run(tmp_path: Path, language: str, title: str, turns: str, recent: str, none: str) -> None:
    found = run_page(tmp_path / "r", MEMORY, language).one("section", id="memory")
    assert found.one("h2").text == title
    by_turns, by_updates, used = found.all("table")
    assert [row[0] for row in by_turns.rows()] == [turns, "0-4", "10-19"]
    assert by_turns.rows()[2] == ["10-19", "2", "0.5000", "[0.0945, 0.9055]"]
    assert [row[0] for row in by_updates.rows()[1:]] == ["0", "1"]
    assert used.rows()[2:] == [[recent, "1,234.5", "1,500", "3"], [used.rows()[3][0], "0.0", none, "0"]]
    assert "1,200" in found.text
    assert len(found.all("svg", class_="plot")) == 2 and not found.all("ul", class_="legend")


def test_one_bin_is_no_curve(tmp_path: Path) -> None:
    memory = {**MEMORY, "retention": {"turns": [bin_of("0-4", 4, 1.0, 0.51, 1.0)], "updates": []}}
    found = run_page(tmp_path / "r", memory).one("section", id="memory")
    assert not found.all("svg") and found.all("table")[0].rows()[1][0] == "0-4"


def test_a_run_without_a_memory_has_no_section(tmp_path: Path) -> None:
    assert not run_page(tmp_path / "r", {}).all("section", id="memory")


def test_the_curves_of_a_sweep_in_one_drawing(tmp_path: Path) -> None:
    found = sweep_page(tmp_path / "s", {3: MEMORY, 5: MEMORY}).one("section", id="retention")
    assert found.one("h2").text == "How long facts are kept"
    assert [[line.text for line in legend.all("li")] for legend in found.all("ul", class_="legend")] == [
        ["k=3", "k=5"],
        ["k=3", "k=5"],
    ]
    assert len(found.all("svg", class_="plot")) == 2


def test_a_sweep_without_memories_has_no_curves(tmp_path: Path) -> None:
    assert not sweep_page(tmp_path / "s", {3: {}, 5: {}}).all("section", id="retention")
