"""Warnings are errors, so a glyph that no font has would fail these tests."""

from pathlib import Path
from typing import Any

import pytest

from runner.report import figures
from runner.report.memory_figures import retention
from runner.words.wording import LANGUAGES
from tests.memory_runs import MEMORY, bin_of
from tests.run_folders import write_run

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]


def ticks(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_xticklabels()]


def points_of(axes: Any) -> list[list[tuple[float, float]]]:
    return [list(zip(*map(list, container.lines[0].get_data()), strict=True)) for container in axes.containers]


def test_a_panel_by_turns_and_one_by_updates() -> None:
    figure = retention({"": MEMORY}, EN)
    assert figure is not None
    turns, updates = figure.axes[:2]
    assert [turns.get_xlabel(), updates.get_xlabel()] == ["Turns since it was said", "Updates since it was said"]
    assert turns.get_ylabel() == "Still shown"
    assert ticks(turns) == ["0-4", "10-19"]  # not 5-9, of which nobody asked
    assert points_of(turns) == [[(0, 1.0), (1, 0.5)]]
    assert points_of(updates) == [[(0, 1.0), (1, 0.5)]]
    assert turns.get_legend() is None and updates.get_legend() is None


def test_a_line_for_each_run_of_a_sweep_at_the_same_places() -> None:
    later = {"retention": {"turns": [bin_of("10-19", 2, 0.25, 0.1, 0.6), bin_of("20-49", 4, 0.0, 0.0, 0.49)]}}
    figure = retention({"memory=window": MEMORY, "memory=combined": later}, KO)
    assert figure is not None
    turns, updates = figure.axes[:2]
    assert ticks(turns) == ["0-4", "10-19", "20-49"]
    assert points_of(turns) == [[(0, 1.0), (1, 0.5)], [(1, 0.25), (2, 0.0)]]
    assert turns.get_xlabel() == "말한 뒤 지난 턴 수"
    names = [text.get_text() for text in updates.get_legend().get_texts()]
    assert "memory=window" in names


@pytest.mark.parametrize(
    "memory",
    [
        {},
        {"retention": {}},
        {"retention": {"turns": [bin_of("0-4", 0, None)]}},
        {"retention": {"turns": [bin_of("0-4", 4, 1.0, 0.5, 1.0)]}},
    ],
)
def test_no_figure_without_facts(memory: dict[str, Any]) -> None:
    assert retention({"": memory}, EN) is None
    assert retention({}, EN) is None


def test_the_figure_of_a_run_is_among_its_figures(tmp_path: Path) -> None:
    run = {"config": {"report": {"language": "ko"}}}
    folder = write_run(tmp_path / "r", run, {"memory": MEMORY})
    assert "retention" in [path.stem for path in figures.draw_run(folder, tmp_path / "figures")]
