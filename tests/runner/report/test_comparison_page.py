from pathlib import Path
from typing import Any

from runner.report.comparison import write_comparison
from runner.words.wording import LANGUAGES
from tests.compared_runs import compared
from tests.html_pages import Element, parse


def page(folder: Path, records: list[dict[str, Any]], language: str = "en") -> Element:
    write_comparison(folder, records, LANGUAGES[language])
    return parse((folder / "report.html").read_text(encoding="utf-8").removeprefix("<!doctype html>"))


def anchors(root: Element) -> list[str | None]:
    return [each.attributes["id"] for each in root.all("section")]


def test_one_comparison(tmp_path: Path) -> None:
    _, record = compared(tmp_path)
    root = page(tmp_path, [record])
    assert root.one("h1").text == "Comparison: <candidate> against <baseline>"
    assert anchors(root) == ["comparison", "flips", "compared"]
    assert "Both runs have the same settings." in root.one("section", id="compared").text
    assert not root.all("script", id="data")


def test_several_candidates_stand_under_their_names(tmp_path: Path) -> None:
    _, record = compared(tmp_path)
    other = {**record, "candidate": {**record["candidate"], "label": "<other>"}, "verdict": "worse"}
    root = page(tmp_path, [record, other])
    assert root.one("h1").text == "Comparisons with <baseline>"
    assert len(set(anchors(root))) == 7
    overview = root.one("section", id="overview")
    assert [cells[0] for cells in overview.one("table").rows()[1:]] == ["<candidate>", "<other>"]
    targets = [(each.attributes["href"] or "").lstrip("#") for each in overview.all("a")]
    assert [root.one("section", id=target).one("h2").text for target in targets] == ["<candidate>", "<other>"]


def test_what_was_measured_differently_is_said_first(tmp_path: Path) -> None:
    _, record = compared(tmp_path)
    reason = {"kind": "identity", "names": ["judge"], "n_cases": 0}
    different = {**record, "not_comparable": [{"metric": "mean_faithfulness", "reasons": [reason]}]}
    found = page(tmp_path, [different]).one("section", id="comparison")
    assert found.all("p")[0].has(class_="grave")
    assert "Not comparable: the two runs were not measured in the same way (different judge)." in found.all("p")[0].text
    assert ["different judge", "Faithfulness"] in [cells for table in found.all("table") for cells in table.rows()]


def test_settings_that_differ_stand_side_by_side(tmp_path: Path) -> None:
    _, record = compared(tmp_path)
    setting = {"key": "retriever.<b>", "baseline": None, "candidate": "<i>"}
    found = page(tmp_path, [{**record, "config_difference": [setting] * 32}]).one("section", id="compared")
    rows = found.all("table")[1].rows()
    assert rows[:2] == [["Setting", "Baseline", "Candidate"], ["retriever.<b>", "–", "<i>"]]
    assert len(rows) == 31
    assert "2 more settings differ; compare.json lists all." in found.text


def test_metrics_in_which_no_case_differs_are_named_in_one_line(tmp_path: Path) -> None:
    _, record = compared(tmp_path)
    roles = {"mean_faithfulness": "other", "mean_answer_relevancy": "leg"}
    entries = [{**entry, "role": roles.get(entry["name"], "main")} for entry in record["metrics"]]
    found = page(tmp_path, [{**record, "metrics": entries}]).one("section", id="comparison")
    folded = {each.one("summary").text: each for each in found.all("details")}
    assert "The same in every case: Faithfulness." in folded["Other metrics"].text
    assert "The same in every case: Answer Relevancy." in folded["Parts of the retriever"].text
    assert not folded["Other metrics"].all("table")


def test_bars_of_one_table_have_one_scale(tmp_path: Path) -> None:
    _, record = compared(tmp_path)
    first, second, *_ = record["metrics"]
    moved = [
        {**first, "difference": -0.2, "ci_low": -0.4, "ci_high": 0.0, "verdict": "worse"},
        {**second, "difference": 0.1, "ci_low": 0.0, "ci_high": 0.2, "verdict": "better"},
    ]
    found = page(tmp_path, [{**record, "metrics": moved}]).one("section", id="comparison")
    widths = [float(each.attributes["width"] or "") for each in found.all("rect", class_="range")]
    assert widths[0] == 2 * widths[1]
    assert [each.text for each in found.all("table")[0].all("span", class_="worse")] == ["", "▼ worse"]


def test_korean(tmp_path: Path) -> None:
    _, record = compared(tmp_path, "ko")
    root = page(tmp_path, [record], "ko")
    assert root.one("html").attributes["lang"] == "ko"
    assert root.one("h1").text == "비교: <candidate> (기준 <baseline>)"
