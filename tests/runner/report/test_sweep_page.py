import json
from pathlib import Path

from runner import report
from tests.html_pages import Element, parse
from tests.run_folders import HOSTILE, dump, estimate, merged, write_run, write_stopped_sweep, write_sweep_folder


def page(folder: Path) -> Element:
    report.write_sweep(folder)
    return parse((folder / "report.html").read_text(encoding="utf-8").removeprefix("<!doctype html>"))


def grid(folder: Path, recall: dict[tuple[str, int], float]) -> Path:
    """A sweep over retriever and k."""
    cells = []
    for number, ((retriever, k), value) in enumerate(recall.items()):
        write_run(folder / str(number), {"k": k}, {"k": k, "metrics": {"recall_at_k": estimate(value, 8)}})
        overrides = [f"retriever={retriever}", f"k={k}"]
        cells.append({"folder": str(number), "overrides": overrides, "status": "completed", "exit_code": 0})
    head = {"schema": 1, "id": "s", "experiment": "full_rag", "status": "completed"}
    dump(folder / "sweep.json", {**head, "created_at": "2026-01-02T03:04:05Z", "cells": cells})
    return folder


def test_runs_stand_side_by_side_with_links_to_their_reports(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path, ks=(3, 5, 10))
    for name in ("0", "2"):
        report.write(folder / name)
    runs = page(folder).one("section", id="runs")
    rows = runs.all("table")[0].rows()
    assert rows[0][:4] == ["Run", "k", "Status", "Recall@k"]
    assert [cells[:4] for cells in rows[1:]] == [
        ["0", "3", "completed", "0.30[0.25, 0.35] (8)"],
        ["1", "5", "completed", "0.50[0.45, 0.55] (8)"],
        ["2", "10", "completed", "1.00[0.95, 1.00] (8)"],
    ]
    assert [each.attributes["href"] for each in runs.all("a")] == ["./0/report.html", "./2/report.html"]
    assert [each.text for each in runs.all("strong")][:1] == ["1.00"]


def test_metrics_that_would_not_fit_stand_in_a_table_of_their_own(tmp_path: Path) -> None:
    runs = page(write_sweep_folder(tmp_path)).one("section", id="runs")
    first, others = (table.rows() for table in runs.all("table"))
    assert first[0] == ["Run", "k", "Status", "Recall@k", "nDCG@k", "MRR", "Faithfulness", "Answer Relevancy"]
    assert others[0] == ["Run", "k", "Unanswerable F1", "Exact Match", "Token F1"]
    assert [cells[:2] for cells in others[1:]] == [["0", "3"], ["1", "5"]]


def test_metrics_are_drawn_against_k(tmp_path: Path) -> None:
    runs = page(write_sweep_folder(tmp_path, ks=(3, 5, 10))).one("section", id="runs")
    drawing = runs.one("svg", class_="plot")
    assert [each.text for each in runs.one("ul", class_="legend").all("li")] == [
        "Recall@k", "nDCG@k", "MRR", "Faithfulness", "Answer Relevancy",
    ]  # fmt: skip
    assert [each.text for each in drawing.all("text")][-4:] == ["3", "5", "10", "k"]
    heights = [float(pair.split(",")[1]) for pair in (drawing.all("polyline")[0].attributes["points"] or "").split()]
    assert heights == sorted(heights, reverse=True)  # recall rises with k


def test_each_retriever_has_a_drawing_of_its_own(tmp_path: Path) -> None:
    folder = grid(tmp_path, {("keyword", 3): 0.3, ("keyword", 5): 0.5, ("hybrid", 3): 0.4, ("hybrid", 5): 0.6})
    runs = page(folder).one("section", id="runs")
    assert [each.text for each in runs.all("h4")] == ["retriever=keyword", "retriever=hybrid"]
    assert len(runs.all("svg", class_="plot")) == 2
    assert len(runs.all("ul", class_="legend")) == 1


def test_one_run_is_not_drawn(tmp_path: Path) -> None:
    assert not page(write_sweep_folder(tmp_path, ks=(3,))).all("svg", class_="plot")


def test_a_sweep_that_a_budget_has_stopped(tmp_path: Path) -> None:
    root = page(write_stopped_sweep(tmp_path, {3: range(10), 5: range(4)}))
    assert "Run the same command again" in root.one("header").all("p", class_="grave")[0].text
    assert [cells[-1] for cells in root.one("section", id="failures").one("table").rows()[1:]] == [
        "budget.usd=1 is spent (0.9980 used)"
    ]
    assert "4 cases" in root.one("section", id="runs").text
    assert root.one("section", id="cost").one("table").rows()[-1][0] == "Total"


def test_korean(tmp_path: Path) -> None:
    root = page(write_sweep_folder(tmp_path, language="ko"))
    assert root.one("html").attributes["lang"] == "ko"
    assert root.one("h1").text == "스윕: full_rag"
    assert [each.text for each in root.one("section", id="runs").all("h3")] == ["그 밖의 메트릭", "k에 따른 메트릭"]
    assert root.one("section", id="answers").one("h2").text == "답변 나란히 보기"


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path)
    head = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    for number, cell in enumerate(head["cells"]):
        cell["overrides"] = [f"name={HOSTILE} {number}"]
    dump(folder / "sweep.json", merged(head, {"experiment": HOSTILE}))
    root = page(folder)
    assert [each.attributes.get("id") for each in root.all("script")] == ["data", None]
    assert root.one("section", id="runs").all("table")[0].rows()[1][1] == " ".join(f"{HOSTILE} 0".split()).replace(
        "\u202e", "\ufffd"
    )


def test_runs_that_leave_reports_out_leave_this_one_out(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path)
    run = json.loads((folder / "0" / "run.json").read_text(encoding="utf-8"))
    dump(folder / "0" / "run.json", merged(run, {"config": {"format": "json"}}))
    report.write_sweep(folder)
    assert not (folder / "report.html").exists()
    assert (folder / "summary.json").exists()
