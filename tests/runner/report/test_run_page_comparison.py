"""The page of a run that is compared with a baseline."""

from pathlib import Path

from runner.words.wording import LANGUAGES
from tests.compared_runs import compared
from tests.html_pages import Element
from tests.run_folders import dump, row, write_run
from tests.runner.report.run_page import data_of, page, section


def beside(folder: Path, language: str = "en") -> Element:
    """The page of a run that was compared."""
    candidate, record = compared(folder, language)
    dump(candidate / "compare.json", record)
    return page(candidate)


def test_the_comparison_stands_below_the_metrics(tmp_path: Path) -> None:
    root = beside(tmp_path)
    anchors = [each.attributes["id"] for each in root.all("section")]
    assert anchors[:4] == ["metrics", "comparison", "flips", "compared"]
    found = section(root, "comparison")
    assert found.one("h2").text == "Comparison with <baseline>"
    rows = {cells[0]: cells[1:] for cells in found.all("table")[0].rows()}
    assert rows["Recall@5"][:2] == ["0.9167", "0.9167"]
    assert rows["Recall@5"][2].startswith("0")


def test_rules_and_cases_that_must_not_break(tmp_path: Path) -> None:
    rules = section(beside(tmp_path), "comparison").all("table")[1]
    assert [[cells[0], cells[-1]] for cells in rules.rows()[1:]] == [
        ["Recall@5", "passed"],
        ["case q-00", "wrong in the candidate (ranked below k)"],
        ["case q-02", "right in the candidate"],
    ]
    assert [each.text for each in rules.all("span", class_="worse")] == ["wrong in the candidate (ranked below k)"]


def test_questions_that_changed_sides_open_to_both_answers(tmp_path: Path) -> None:
    root = beside(tmp_path)
    flips = section(root, "flips")
    assert [cells[2] for cells in flips.one("table").rows()[1:]] == ["10", "1", "1", "0"]
    assert [each.text.split(" ")[0] for each in flips.all("span", class_="id")] == ["q-00", "q-01"]
    lost = flips.all("details", class_="flip")[0]
    told = dict(zip([each.text for each in lost.all("dt")], [each.text for each in lost.all("dd")], strict=True))
    assert told["Answer, Baseline"] == "<b>none</b>"
    assert told["Answer, Candidate"] == "<b>below_k</b>"
    assert told["Failed at"] == "no failure → ranked below k"


def test_cases_say_how_they_changed(tmp_path: Path) -> None:
    data = data_of(beside(tmp_path))
    change = data["choices"]["change"]
    told = {id: change["names"][number] for id, number in zip(data["ids"], change["numbers"], strict=True)}
    assert {id: text for id, text in told.items() if text} == {"q-00": "right → wrong", "q-01": "wrong → right"}
    assert ["change", "Against the baseline"] in data["columns"]
    assert {change["names"][place]: bad for place, bad in enumerate(change["bad"])} == {
        "": False, "right → wrong": True, "wrong → right": False,
    }  # fmt: skip


def test_cases_that_changed_are_the_first_to_be_told(tmp_path: Path) -> None:
    candidate, record = compared(tmp_path)
    rows = [
        row(
            f"bad-{n}",
            labels={"lost_at": "below_k"},
            output={"answer": f"{n} {'x' * 2900}", "query": f"{n} {'y' * 2900}"},
        )
        for n in range(600)
    ]
    dump(candidate / "compare.json", record)
    write_run(candidate, {"overrides": []}, rows=[*rows, row("q-01"), row("q-03")])
    data = data_of(page(candidate))
    told = {data["ids"][int(place)] for place in data["details"]}
    assert "q-01" in told
    assert "q-03" not in told


def test_a_korean_comparison(tmp_path: Path) -> None:
    root = beside(tmp_path, "ko")
    say = LANGUAGES["ko"]
    assert section(root, "flips").one("h2").text == say("compare.head.flips")
    assert ["change", "기준과 비교"] in data_of(root)["columns"]
