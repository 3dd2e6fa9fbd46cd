from pathlib import Path

from runner import report
from runner.compare.sweep import compare_sweep
from tests.html_pages import Element, parse
from tests.swept_folders import Values, write_swept

N = 40
LOW: Values = [0.5] * N
HIGH: Values = [0.9] * (N // 2) + [0.7] * (N // 2)
UNSURE: Values = [0.5 + (0.3 if n % 2 else -0.28) for n in range(N)]  # mean 0.51


def page(folder: Path, columns: dict[int, Values]) -> Element:
    """Faithfulness at each k; recall is the same everywhere."""
    runs = {f"k={k}": {"recall_at_10": LOW, "faithfulness": column} for k, column in columns.items()}
    write_swept(folder, runs, ks=list(columns))
    statuses = dict.fromkeys(map(str, range(len(columns))), "completed")
    report.write_sweep(folder, compare_sweep(folder, statuses, baseline="0", seed=42, margin=0.02))
    return parse((folder / "report.html").read_text(encoding="utf-8").removeprefix("<!doctype html>"))


def test_every_run_against_the_baseline_and_the_best(tmp_path: Path) -> None:
    found = page(tmp_path / "s", {3: LOW, 5: HIGH, 10: UNSURE}).one("section", id="compared")
    assert found.one("h2").text == "Compared with k=3"
    assert "The same in all of these runs: Recall@10." in found.text
    head, group, *rows = found.one("table").rows()
    assert head == [
        "Run", "k", "Value", "Difference", "p (Holm)", "Detectable", "Verdict", "From the best",
        "Within noise of the best",
    ]  # fmt: skip
    assert group == ["Faithfulness (n=40)"]
    assert rows[0] == ["0", "3", "0.5000", "", "", "", "baseline", "−0.3000", "no"]
    assert rows[1][:3] == ["1", "5", "0.8000"]
    assert rows[1][3].startswith("+0.3000")
    assert rows[1][6:] == ["better", "", "yes"]
    assert rows[2][:3] == ["2", "10", "0.5100"]
    assert rows[2][6] == "inconclusive"
    assert [each.text for each in found.all("span", class_="better")] == ["", "better", "yes"]


def test_bars_of_one_metric_have_one_scale(tmp_path: Path) -> None:
    twice: Values = [0.7] * N
    thrice: Values = [0.9] * N
    found = page(tmp_path / "s", {3: LOW, 5: twice, 10: thrice}).one("section", id="compared")
    points = [float(each.attributes["x1"] or "") for each in found.all("line", class_="point")]
    zero = float(found.all("line", class_="zero")[0].attributes["x1"] or "")
    assert round(points[1] - zero, 6) == round(2 * (points[0] - zero), 6) > 0


def test_runs_on_the_front_stand_out(tmp_path: Path) -> None:
    found = page(tmp_path / "s", {3: HIGH, 5: LOW}).one("section", id="front")
    table = found.one("table")
    assert table.rows()[0][:2] == ["Run", "k"]
    assert [each.text for each in table.all("span", class_="better")] == ["0"]
    assert [cells[-1] for cells in table.rows()[1:]] == ["–", "k=3"]
    assert "Pareto front over" in found.all("p")[0].text


def test_where_nothing_differs_there_is_no_table(tmp_path: Path) -> None:
    found = page(tmp_path / "s", {3: LOW, 5: LOW}).one("section", id="compared")
    assert not found.all("table")
    assert "The same in all of these runs: Recall@10, Faithfulness." in found.text


def test_runs_that_were_not_compared_have_no_such_section(tmp_path: Path) -> None:
    anchors = [each.attributes["id"] for each in page(tmp_path / "s", {3: LOW}).all("section")]
    assert anchors == ["runs"]
