"""Warnings are errors, so a glyph that no font has would fail these tests."""

import json
from pathlib import Path

import pytest

from runner import report
from runner.report import drawing, figures
from tests.run_folders import SUMMARY, dump, estimate, write_run, write_sweep_folder

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


@pytest.mark.parametrize("text", ["\x1b[31m\x07", "a\tb\rc", "नमस्ते", "ไทย", "မြန်မာ", "𞤀𞤣", "中文 中文", "\u0085\x9b"])
def test_a_text_that_no_font_has_is_escaped(tmp_path: Path, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    folder = write_run(tmp_path / "r", {}, {"slices": {"tag": {text: {"recall_at_k": estimate(0.5, 3)}}}})
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
