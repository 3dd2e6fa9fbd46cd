"""Warnings are errors, so a glyph that no font has would fail these tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner import report
from runner.report import figures
from runner.report.trace_figures import orders, scores
from runner.words.wording import LANGUAGES
from tests.run_folders import dump, write_run, write_sweep_folder
from tests.trace_runs import TRACE

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]


def test_scores_by_domain() -> None:
    figure = scores({"": TRACE}, EN)
    assert figure is not None
    (axes,) = figure.axes
    (marks,) = axes.containers
    assert [list(values) for values in marks.lines[0].get_data()] == [[0.0, 1.0], [0.5, 0.625]]
    ends = [[point.round(9).tolist() for point in segment] for segment in marks.lines[2][0].get_segments()]
    assert ends == [[[0.0, 0.2], [0.0, 0.9]], [[1.0, 0.1], [1.0, 0.75]]]
    assert axes.get_legend() is None and not figure.legends


def test_runs_stand_side_by_side_and_a_domain_may_be_missing() -> None:
    one = {"domains": {"code": TRACE["domains"]["code"]}}
    figure = scores({"profile=code": TRACE, "profile=medical": one}, KO)
    assert figure is not None
    left, right = (list(each.lines[0].get_xdata()) for each in figure.axes[0].containers)
    assert left == pytest.approx([-0.15, 0.85]) and right == pytest.approx([0.15])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["profile=code", "profile=medical"]


def test_orders_under_profiles() -> None:
    figure = orders(TRACE, EN)
    assert figure is not None
    assert [text.get_text() for text in figure.axes[0].texts] == [
        *("1.000", "0.750", "0.500"),
        *("0.750", "1.000", "0.250"),
        *("0.500", "0.250", "1.000"),
    ]
    assert figure.axes[0].images[0].get_clim() == (0.0, 1.0)


def test_reversed_orders_widen_the_scale_and_unknown_ones_are_left_blank() -> None:
    tau = [[1.0, -0.5, None], [-0.5, 1.0, None], [None, None, 1.0]]
    figure = orders({"sensitivity": {"profiles": ["a", "b", "c"], "tau": tau}}, EN)
    assert figure is not None
    assert figure.axes[0].images[0].get_clim() == (-0.5, 1.0)
    assert len(figure.axes[0].texts) == 5


@pytest.mark.parametrize("trace", [{}, {"domains": {}}, {"sensitivity": {"profiles": ["a"], "tau": [[1.0]]}}])
def test_no_figure_without_numbers(trace: dict[str, Any]) -> None:
    assert scores({"": trace}, EN) is None
    assert orders(trace, EN) is None


@pytest.mark.parametrize("language", ["en", "ko"])
def test_figures_of_a_run(tmp_path: Path, language: str) -> None:
    folder = write_run(tmp_path / "r", {"config": {"report": {"language": language}}}, {"trace": TRACE})
    assert {"trace_scores", "trace_orders"} <= {path.stem for path in figures.draw_run(folder, tmp_path / "f")}


def test_figures_of_a_sweep(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    for path in folder.glob("*/summary.json"):
        dump(path, {**json.loads(path.read_text(encoding="utf-8")), "trace": TRACE})
    report.write_sweep(folder)
    assert {"trace_scores", "trace_orders"} <= {path.stem for path in figures.draw_sweep(folder, tmp_path / "f")}
