import json
import random
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from runner import report
from runner.errors import InputError
from runner.report import metric
from runner.report.blocks import Cases, Note
from runner.report.cases import cases
from runner.report.document import Document
from runner.system.folder import open_run
from runner.words.wording import LANGUAGES
from tests.html_pages import parse
from tests.model_runs import MODELS_RUN, MODELS_SUMMARY
from tests.run_folders import HOSTILE, KOREAN, ROWS, SUMMARY, dump, estimate, merged, row, write_run
from tests.runner.report.run_page import data_of, page, section, written


def test_the_head_says_what_ran(tmp_path: Path) -> None:
    header = page(write_run(tmp_path)).one("header")
    assert header.one("h1").text == "Evaluation report: full_rag"
    found = header.one("dl", class_="key")
    key = {each.text: other.text for each, other in zip(found.all("dt"), found.all("dd"), strict=True)}
    assert key["Status"] == "completed"
    assert key["k"] == "5"
    assert key["Cases"] == "10 (ok 9, failed 0, timeout 1)"
    assert key["Started"] == "2026-01-02 03:04 UTC"
    assert header.one("pre").text == "python -m runner +experiment=full_rag k=5"
    assert "Baselines without a language model" in header.one("div", class_="notes").text


def test_metrics_show_values_intervals_counts_and_grades(tmp_path: Path) -> None:
    table = section(page(write_run(tmp_path)), "metrics").all("table")[0]
    rows = {cells[0]: cells[1:] for cells in table.rows()}
    assert [cells[0] for cells in table.rows() if len(cells) == 1] == [
        "Retrieval", "Generation metrics", "Unanswerable questions",
    ]  # fmt: skip
    assert rows["Recall@5"] == ["0.8500", "[0.8000, 0.9000]", "8/8", "", "excellent", ""]
    assert rows["Precision@5"] == ["0.2400", "[0.1900, 0.2900]", "8/8", "", "", ""]
    assert rows["Faithfulness"][:5] == ["0.8250", "[0.7750, 0.8750]", "9/10", "0.9167", "excellent"]
    assert rows["Exact Match"][:5] == ["0.3750", "[0.3250, 0.4250]", "8/8", "", ""]
    assert table.all("span", class_="failing") == []
    assert len(table.all("svg")) == len([cells for cells in table.rows() if "[" in " ".join(cells)])


def test_a_grade_that_needs_work_stands_out(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary["metrics"]["recall_at_k"]["value"] = 0.39
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    table = section(page(folder), "metrics").all("table")[0]
    assert [each.text for each in table.all("span", class_="failing")] == ["needs work"]


def test_grades_say_that_precision_has_none_only_where_it_stands(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    assert "Precision@k has no grade" in section(page(folder), "metrics").text
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary["metrics"] = {"unanswerable_recall": summary["metrics"]["unanswerable_recall"]}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    shown = section(page(folder), "metrics")
    assert "below that needs work." in shown.text and "Precision@k" not in shown.text
    (_, _, cells) = shown.one("table").rows()
    assert cells[0] == "Unanswerable Recall"
    assert cells[-1] == metric.meaning("unanswerable_recall", LANGUAGES["en"]) != ""


def test_cases_that_show_no_pattern_are_told(tmp_path: Path) -> None:
    write_run(tmp_path)
    counts = {"lost_at": {"none": 6, "wrong_answer": 4}, "pattern": {"ideal": 5, "context_mismatch": 2}}
    dump(tmp_path / "summary.json", {**SUMMARY, "counts": counts})
    assert "Not counted: 3 (correctly refused, or not judged)." in section(page(tmp_path), "diagnosis").text


def test_questions_go_down_a_waterfall(tmp_path: Path) -> None:
    lost_at = {"none": 5, "not_retrieved": 1, "wrong_answer": 4}
    write_run(tmp_path)
    dump(tmp_path / "summary.json", {**SUMMARY, "counts": {"lost_at": lost_at}})
    table = section(page(tmp_path), "lost").one("table")
    rows = [[cells[0], *cells[2:]] for cells in table.rows()[1:]]
    assert rows[0] == ["all questions", "10", "100.0%"]
    assert rows[1][1:] == ["−1", "10.0%"]
    assert rows[2][1:] == ["−4", "40.0%"]
    assert rows[3] == ["right", "5", "50.0%"]
    bars = [(each.attributes["class"], each.attributes["x"], each.attributes["width"]) for each in table.all("rect")]
    assert bars == [("whole", "0", "1000"), ("loss", "900", "100"), ("loss", "500", "400"), ("rest", "0", "500")]


def test_where_nothing_was_lost_there_is_no_waterfall(tmp_path: Path) -> None:
    write_run(tmp_path)
    dump(tmp_path / "summary.json", {**SUMMARY, "counts": {"lost_at": {"none": 10}}})
    assert "No question failed." in section(page(tmp_path), "lost").text


def test_the_two_by_two_of_unanswerable_questions(tmp_path: Path) -> None:
    write_run(tmp_path)
    counts = {"true_positive": 2, "false_negative": 1, "false_positive": 3, "true_negative": 4}
    dump(tmp_path / "summary.json", {**SUMMARY, "counts": {"answerability": counts}})
    assert section(page(tmp_path), "unanswerable").one("table").rows() == [
        ["question is", "predicted unanswerable", "answered"],
        ["unanswerable", "2", "1"],
        ["answerable", "3", "4"],
    ]
    assert "below min_score (0.3)" in section(page(tmp_path), "unanswerable").text


def test_the_retrieval_gate_has_rows_of_its_own_beside_the_delivered_answers(tmp_path: Path) -> None:
    write_run(tmp_path)
    counts = {"true_positive": 2, "false_negative": 1, "false_positive": 3, "true_negative": 4}
    gate = {"true_positive": 3, "true_negative": 7}
    dump(tmp_path / "summary.json", {**SUMMARY, "counts": {"answerability": counts, "retrieval_gate": gate}})
    assert section(page(tmp_path), "unanswerable").one("table").rows() == [
        ["question is", "declined", "answered"],
        ["unanswerable", "2", "1"],
        ["answerable", "3", "4"],
        ["unanswerable (retrieval gate)", "3", "0"],
        ["answerable (retrieval gate)", "0", "7"],
    ]
    assert "what min_score (0.3) alone would have decided" in section(page(tmp_path), "unanswerable").text


def test_min_score_is_told_only_where_it_says_no_answer(tmp_path: Path) -> None:
    facts = {name: fact for name, fact in SUMMARY["facts"].items() if name != "min_score"}
    dump(write_run(tmp_path) / "summary.json", {**SUMMARY, "facts": facts})
    assert "min_score" not in section(page(tmp_path), "unanswerable").text


def test_the_diagnosis_marks_its_corner(tmp_path: Path) -> None:
    root = page(write_run(tmp_path))
    diagnosis, cross = section(root, "diagnosis"), section(root, "cross")
    assert "Context mismatch" in diagnosis.text
    assert diagnosis.one("table").one("td", class_="own").text.startswith("Context mismatch")
    assert cross.one("td", class_="own").text.startswith("The problem is in generation")


def test_slices_show_interval_and_count(tmp_path: Path) -> None:
    tables = section(page(write_run(tmp_path)), "slices").all("table")
    assert [table.rows()[0][0] for table in tables] == ["Language", "Difficulty", "Tag"]
    assert tables[0].rows()[1][:2] == ["en", "0.85[0.80, 0.90] (8)"]
    assert {cells[0] for cells in tables[2].rows()[1:]} == {"billing", "결제", "a|b/c"}


def test_judges_cost_and_latency(tmp_path: Path) -> None:
    root = page(write_run(tmp_path, MODELS_RUN, MODELS_SUMMARY))
    controls, votes = section(root, "judge").all("table")
    citations = section(root, "citations").one("table")
    assert controls.rows()[1] == ["Faithfulness", "6/9 (66.7%)", "0/8 (0.0%)", "5/6 (83.3%)", "0/23 (0.0%)", "–", "–"]
    assert votes.rows()[1][:6] == ["Faithfulness", "10", "3", "0", "0.7125", "[0.5500, 0.8312]"]
    assert citations.rows()[1] == ["cite sources that were given", "7", "70.0%"]
    cost = section(root, "cost").one("table").rows()
    assert cost[-1] == ["Total", "", "1,124", "3", "1,159,000", "51,000", "$0.0132", "2,000", "$0.0410"]
    assert root.one("div", class_="notes").all("p", class_="grave")
    assert section(root, "latency").one("table").rows()[0][:3] == ["Stage", "p50 (ms)", "p95 (ms)"]


def test_a_run_without_models_has_no_such_sections(tmp_path: Path) -> None:
    anchors = [each.attributes["id"] for each in page(write_run(tmp_path)).all("section")]
    assert "judge" not in anchors
    assert "cost" not in anchors
    assert anchors[0] == "metrics"
    assert anchors[-1] == "cases"


def test_korean(tmp_path: Path) -> None:
    root = page(write_run(tmp_path, KOREAN))
    assert root.one("html").attributes["lang"] == "ko"
    assert root.one("title").text == "평가 보고서: full_rag"
    assert data_of(root)["words"]["range"] == "{n}개 중 {from}–{to}"
    shown = {each.text for each in root.all("h2")} | {each.text for each in root.all("a")}
    assert not [text for text in shown if not re.search("[가-힣]", text)]


def test_the_worst_cases_can_be_read_without_a_script(tmp_path: Path) -> None:
    found = section(page(write_run(tmp_path)), "cases")
    assert found.one("div", role="search").attributes["hidden"] is None
    ids = [each.text for each in found.all("span", class_="id")]
    assert ids[0] == "q-7"
    assert set(ids) == {row["id"] for row in ROWS}
    first = found.one("tbody").all("dl")[1]
    assert [each.text for each in first.all("dt")][:2] == ["Question", "Expected"]


def test_what_the_script_reads(tmp_path: Path) -> None:
    data = data_of(page(write_run(tmp_path)))
    assert [kind for kind, _ in data["columns"]] == ["case", "outcome", "language", *["value"] * 6]
    titles = [title for _, title in data["columns"][3:]]
    assert titles == ["Recall@5", "nDCG@5", "MRR", "Faithfulness", "Answer Relevancy", "Token F1"]
    number = data["ids"].index("q-4")
    outcome = data["choices"]["outcome"]
    assert outcome["names"][outcome["numbers"][number]] == "answer wrong"
    assert outcome["bad"][outcome["numbers"][number]]
    assert [column[number] for column in data["values"]] == [1.0, None, None, 0.0, 0.25, None]
    assert data["values"][0][data["ids"].index("q-5")] is None
    assert set(data["details"]) == {str(place) for place in range(len(ROWS))}


def test_what_users_wrote_is_shown_as_it_is(tmp_path: Path) -> None:
    hostile = f"{HOSTILE}</script><img src=x onerror=alert(1)>\"'`"
    bad = row(
        hostile,
        language='ko" onfocus="alert(1)',
        labels={"lost_at": hostile},
        output={
            "query": hostile,
            "answer": hostile,
            "expected": [hostile],
            "contexts": [{"id": hostile, "text": hostile}],
        },
        judgements={hostile: {"score": 0.0, "reasoning": hostile, "error": None, "details": {}}},
        error=hostile,
    )
    run = {"experiment": hostile, "error_message": hostile, "overrides": [hostile], "choices": {"dataset": hostile}}
    summary = merged(
        SUMMARY,
        {"slices": {"tag": {hostile: SUMMARY["slices"]["tag"]["billing"]}}, "counts": {"lost_at": {hostile: 2}}},
    )
    root = page(write_run(tmp_path, run, summary, rows=[bad]))
    assert not [each.name for each in root if each.name in ("img", "iframe", "object", "link", "base", "form")]
    assert len(root.all("script")) == 2
    assert not [key for each in root for key in each.attributes if key.startswith("on")]
    assert {each.attributes["lang"] for each in root if "lang" in each.attributes} == {"en"}
    assert "<script>alert(1)</script>" in root.one("h1").text
    assert "<script>alert(1)</script>" in data_of(root)["questions"][0]


@pytest.mark.parametrize("text", ["\0\x1b[31m", "a\ud800b", "\u202eabc\u2066", "\ufeff"])
def test_odd_characters_do_not_stop_the_report(tmp_path: Path, text: str) -> None:
    folder = write_run(tmp_path, rows=[])
    line = json.dumps(row("q", output={"query": text, "answer": text}))  # ASCII only: \ud800 stands in the file
    (folder / "per_item.jsonl").write_text(line + "\n", encoding="ascii")
    root = page(folder)
    assert "\ufffd" in data_of(root)["questions"][0]
    assert not re.search("[\0\x1b\u202e\u2066]", written(folder))


def test_a_failed_run_says_so_first(tmp_path: Path) -> None:
    run = {"status": "failed", "error_message": "10 of 10 cases failed"}
    metrics = {name: estimate(None, value["n"], 0) for name, value in SUMMARY["metrics"].items()}
    folder = write_run(tmp_path, run, rows=[])
    dump(folder / "summary.json", {**SUMMARY, "metrics": metrics, "slices": {}, "counts": {}})
    root = page(folder)
    assert "This run failed" in root.all("p", class_="grave")[0].text
    assert "Reason: 10 of 10 cases failed" in root.one("header").text
    assert section(root, "cases").text.endswith("No case was scored, so there are no metrics.")
    assert not root.all("script", id="data")


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    one = written(write_run(tmp_path / "a"))
    other = written(write_run(tmp_path / "b", rows=random.Random(1).sample(ROWS, len(ROWS))))
    assert one == written(tmp_path / "a")
    assert one == other


def test_details_stay_within_their_limit_and_the_page_says_what_is_left_out(tmp_path: Path) -> None:
    long = [row(f"q-{n}", output={"answer": f"{n} " + "x" * 2900, "query": f"Question {n}?"}) for n in range(1500)]
    text = written(write_run(tmp_path, rows=long))
    root = parse(text.removeprefix("<!doctype html>"))
    data = data_of(root)
    kept = len(data["details"])
    assert 500 < kept < 700
    assert f"of the {kept} worst cases" in section(root, "cases").text
    assert len(data["ids"]) == 1500
    assert len(text) < 2_500_000


def test_where_not_all_cases_are_listed_the_page_says_so(tmp_path: Path) -> None:
    document = Document.of(open_run(write_run(tmp_path)))
    _, note, table = cases(document, {}, most=3).blocks
    assert note == Note("The 3 worst of 7 cases are listed; per_item.jsonl has all of them.", "quiet")
    assert isinstance(table, Cases) and table.data["ids"] == ["q-7", "q-4", "q-5"]


def test_memory_and_size_keep_in_proportion(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [row(f"q-{n}", metrics={"recall_at_k": n / 2000}) for n in range(2000)]
    folder = write_run(tmp_path, rows=rows)
    del rows
    report.write(folder)
    tracemalloc.start()
    report.write(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000  # of which details take most, whatever the number of cases
    data = data_of(page(folder))
    listed = {name: len(json.dumps(data[name])) for name in ("ids", "questions", "choices", "values")}
    assert sum(listed.values()) < 100 * 2000


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a run folder: no run\.json in it"):
        report.write(tmp_path)
