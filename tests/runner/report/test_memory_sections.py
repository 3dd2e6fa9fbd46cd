import json
from pathlib import Path
from typing import Any

from runner import report
from tests.html_pages import Element, parse
from tests.memory_runs import MEMORY
from tests.run_folders import dump, write_sweep_folder


def page(folder: Path) -> Element:
    return parse((folder / "report.html").read_text(encoding="utf-8").removeprefix("<!doctype html>"))


def sweep_page(folder: Path, memories: dict[int, Any]) -> Element:
    write_sweep_folder(folder, list(memories))
    for number, memory in enumerate(memories.values()):
        path = folder / str(number) / "summary.json"
        dump(path, {**json.loads(path.read_text(encoding="utf-8")), "memory": memory})
        run = json.loads(path.with_name("run.json").read_text(encoding="utf-8"))
        config = {**run.get("config", {}), "evaluation": {"_target_": "plugins.evaluation.memory.MemoryEvaluation"}}
        dump(path.with_name("run.json"), {**run, "config": config})
    report.write_sweep(folder)
    return page(folder)


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
