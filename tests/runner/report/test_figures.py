"""Warnings are errors, so a glyph that no font has would fail these tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner import report
from runner.report import drawing, figures
from runner.report.blocks import Chart, Matrix
from runner.report.figures import draw
from runner.report.metric import Value
from tests.memory_runs import MEMORY
from tests.run_folders import SUMMARY, dump, estimate, write_run, write_sweep_folder
from tests.trace_runs import TRACE

PNG = b"\x89PNG\r\n"


def names(paths: list[Path]) -> list[str]:
    assert all(path.read_bytes().startswith(PNG) for path in paths)
    return [path.stem for path in paths]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_figures_of_a_run(tmp_path: Path, language: str) -> None:
    run = {"config": {"report": {"language": language}}}
    tags = {"\U0001fae8 $x$ \ue000": {"recall_at_k": estimate(0.5, 3)}}
    folder = write_run(tmp_path / "r", run, {"slices": {"tag": tags}})
    drawn = figures.draw_run(folder, tmp_path / "figures")
    assert names(drawn) == ["metrics_at_cutoffs", "metrics_by_tag", "latency"]


TEXTS = ["\x1b[31m\x07", "a\tb\rc", "नमस्ते", "ไทย", "မြန်မာ", "𞤀𞤣", "中文 中文", "\u0085\x9b"]


def test_a_text_that_no_font_has_is_escaped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tags = {text: {"recall_at_k": estimate(0.5, 3)} for text in TEXTS}
    folder = write_run(tmp_path / "r", {}, {"slices": {"tag": tags}})
    assert "metrics_by_tag" in names(figures.draw_run(folder, tmp_path / "figures"))
    assert capfd.readouterr().err == ""


def test_a_run_without_numbers_has_no_figures(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "r", rows=[])
    metrics = {name: estimate(None, 3, 0) for name in SUMMARY["metrics"]}
    dump(folder / "summary.json", {**SUMMARY, "metrics": metrics, "slices": {"tag": {"x": metrics}}})
    assert figures.draw_run(folder, tmp_path / "figures") == []


def test_cases_that_were_not_live_are_in_no_histogram(tmp_path: Path) -> None:
    """A replayed run has no latency to draw, nor has a case that failed."""
    replayed = [
        {"id": "a", "status": "ok", "latency_ms": 0.2, "timings": {"generation": {"ms": 0.2, "live": False}}},
        {"id": "b", "status": "failed", "latency_ms": 9.0, "timings": {"generation": {"ms": 9.0, "live": True}}},
    ]
    folder = write_run(tmp_path / "r", rows=replayed)
    assert "latency" not in names(figures.draw_run(folder, tmp_path / "figures"))
    answered = {"id": "c", "status": "ok", "latency_ms": 9.0, "timings": {"generation": {"ms": 9.0, "live": True}}}
    folder = write_run(tmp_path / "r", rows=[*replayed, answered])
    assert "latency" in names(figures.draw_run(folder, tmp_path / "figures"))


def test_the_figure_of_a_sweep_is_named_after_k_or_else_what_was_swept(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s", language="ko")
    report.write_sweep(folder)
    assert names(figures.draw_sweep(folder, tmp_path)) == ["metrics_against_k"]
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    for cell, retriever in zip(head["cells"], ("키워드", "semantic"), strict=True):
        cell["overrides"] = [f"memory/retriever={retriever}"]
    dump(folder / "sweep.json", head)
    report.write_sweep(folder)
    assert names(figures.draw_sweep(folder, tmp_path)) == ["metrics_against_memory_retriever"]


def test_a_sweep_without_a_completed_run_has_no_figure(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    for cell in head["cells"]:
        cell["status"] = "failed"
    dump(folder / "sweep.json", head)
    report.write_sweep(folder)
    assert figures.draw_sweep(folder, tmp_path) == []


def test_series_are_cells_that_differ_in_x_only_in_the_order_of_x() -> None:
    cells = [{"params": {"k": k, "retriever": r}} for r in ("keyword", "hybrid") for k in (10, 3)]
    found = figures.series_along("k", cells)
    assert {name: [cell["params"]["k"] for cell in members] for name, members in found.items()} == {
        "retriever=keyword": [3, 10],
        "retriever=hybrid": [3, 10],
    }


def test_x_is_k_then_a_number_then_a_name() -> None:
    cells = [{"params": {"retriever": "keyword", "weight": 0.5, "k": 3}}]
    assert figures.x_axis(["retriever", "weight", "k"], cells) == "k"
    assert figures.x_axis(["retriever", "weight"], cells) == "weight"
    assert figures.x_axis(["retriever"], cells) == "retriever"
    assert figures.x_axis([], cells) is None


def test_what_cannot_be_drawn_is_escaped_and_nothing_is_a_formula() -> None:
    assert drawing.drawable("\ue000") == "\\ue000"
    assert drawing.drawable("$x$") == "\\$x\\$"


# --- one figure each ------------------------------------------------------------------------------

EVALUATIONS = {
    "memory": ("plugins.evaluation.memory.MemoryEvaluation", MEMORY, {"retention"}),
    "trace": ("plugins.evaluation.trace_quality.TraceQuality", TRACE, {"trace_scores", "trace_orders"}),
}


@pytest.mark.parametrize(("language", "part"), [("ko", "memory"), ("en", "trace")])
def test_figures_that_an_evaluation_brings(tmp_path: Path, language: str, part: str) -> None:
    target, numbers, figure = EVALUATIONS[part]
    config = {"evaluation": {"_target_": target}}
    folder = write_run(tmp_path / "r", {"config": {"report": {"language": language}, **config}}, {part: numbers})
    assert figure <= set(names(figures.draw_run(folder, tmp_path / "f")))
    sweep = write_sweep_folder(tmp_path / "s")
    for name, value in (("summary", {part: numbers}), ("run", {"config": config})):
        for path in sweep.glob(f"*/{name}.json"):
            dump(path, {**json.loads(path.read_text(encoding="utf-8")), **value})
    report.write_sweep(sweep)
    assert figure <= set(names(figures.draw_sweep(sweep, tmp_path / "g")))


def at(value: float, low: float, high: float) -> Value:
    return Value("x", value, 4, 4, low, high, value)


def ticks(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_xticklabels()]


def points_of(axes: Any) -> list[list[tuple[float, float]]]:
    return [list(zip(*map(list, container.lines[0].get_data()), strict=True)) for container in axes.containers]


def test_charts_of_one_name_are_panels_of_one_figure_and_lines_leave_gaps() -> None:
    one, other = at(1.0, 0.5, 1.0), at(0.5, 0.1, 0.9)
    turns = Chart(
        "r", "Turns", ["0-4", "5-9", "10-19"], {"a": [one, other, None], "b": [None, one, other]}, "Kept", True
    )
    updates = Chart("r", "Updates", ["0", "1"], {"a": [one, other], "b": [None, one]}, "Kept", True)
    assert list(figures.drawings_of([turns, updates])) == ["r"]
    figure = draw([turns, updates])
    left, right = figure.axes[:2]
    assert [left.get_xlabel(), right.get_xlabel(), left.get_ylabel()] == ["Turns", "Updates", "Kept"]
    assert ticks(left) == ["0-4", "5-9", "10-19"]
    assert points_of(left) == [[(0, 1.0), (1, 0.5)], [(1, 1.0), (2, 0.5)]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_names_that_are_no_order_stand_beside_each_other() -> None:
    values: list[Value | None] = [at(0.5, 0.2, 0.9), at(0.625, 0.1, 0.75)]
    (axes,) = draw([Chart("s", "Domain", ["code", "의료"], {"": values})]).axes
    (marks,) = axes.containers
    assert [list(each) for each in marks.lines[0].get_data()] == [[0.0, 1.0], [0.5, 0.625]]
    ends = [[point.round(9).tolist() for point in segment] for segment in marks.lines[2][0].get_segments()]
    assert ends == [[[0.0, 0.2], [0.0, 0.9]], [[1.0, 0.1], [1.0, 0.75]]]
    figure = draw([Chart("s", "Domain", ["code", "의료"], {"a": values, "b": [values[0], None]})])
    left, right = (list(each.lines[0].get_xdata()) for each in figure.axes[0].containers)
    assert left == pytest.approx([-0.15, 0.85]) and right == pytest.approx([0.15])


def test_a_matrix_has_its_numbers_in_its_fields_and_blanks_for_unknown_ones() -> None:
    figure = draw([Matrix("m", ["a", "b"], [[1.0, 0.25], [0.25, 1.0]], "", "tau", "–")])
    assert [text.get_text() for text in figure.axes[0].texts] == ["1.000", "0.250", "0.250", "1.000"]
    assert figure.axes[0].images[0].get_clim() == (0.0, 1.0)
    tau = [[1.0, -0.5, None], [-0.5, 1.0, None], [None, None, 1.0]]
    figure = draw([Matrix("m", ["a", "b", "c"], tau, "", "tau", "–")])
    assert figure.axes[0].images[0].get_clim() == (-0.5, 1.0)
    assert len(figure.axes[0].texts) == 5


def test_one_point_is_no_curve_and_one_name_no_matrix() -> None:
    one = Chart("c", "x", ["0-4"], {"": [at(1.0, 0.5, 1.0)]}, connected=True)
    assert figures.drawings_of([one, Matrix("m", ["a"], [[1.0]], "", "", ""), Chart("e", "x", [], {})]) == {}
