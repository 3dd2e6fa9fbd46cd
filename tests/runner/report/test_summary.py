import random
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from runner import report
from runner.errors import InputError
from runner.report.document import Document
from runner.report.summary import render
from runner.system.folder import open_run
from tests.run_folders import KOREAN, ROWS, SUMMARY, dump, estimate, merged, row, write_run
from tests.runner.report.summaries import written

ALL_RIGHT = {
    "cases": {"total": 9, "ok": 9, "failed": 0, "timeout": 0},
    "counts": {"lost_at": {**dict.fromkeys(SUMMARY["counts"]["lost_at"], 0), "none": 9}},
}
PARSER = MarkdownIt("commonmark").enable("table")


def headings(text: str) -> list[str]:
    return re.findall(r"^##? (.+)$", text, re.M)


def test_english_report(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    golden("report/summary.en.md", written(write_run(tmp_path)))


def test_korean_report(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    golden("report/summary.ko.md", written(write_run(tmp_path, KOREAN)))


def test_the_same_rows_in_another_order_give_the_same_bytes(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(ROWS, len(ROWS))
    assert written(write_run(tmp_path / "a")) == written(write_run(tmp_path / "b", rows=shuffled))


def test_only_the_report_is_left_behind(tmp_path: Path) -> None:
    before = {path.name for path in write_run(tmp_path).iterdir()}
    report.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == before | {"summary.md", "report.html"}


def test_no_html_comes_out_of_what_users_wrote(tmp_path: Path) -> None:
    tokens = PARSER.parse(written(write_run(tmp_path)))
    kinds = {child.type for token in tokens for child in [token, *(token.children or [])]}
    assert not kinds & {"html_block", "html_inline", "link_open", "image"}


def test_a_failed_run_says_so_first_and_shows_no_empty_tables(tmp_path: Path) -> None:
    run = {"status": "failed", "exit_code": 3, "error_message": "10 of 10 cases failed", "mean_faithfulness": None}
    summary = {name: estimate(None, value["n"], 0) for name, value in SUMMARY["metrics"].items()}
    sliced = {"language": {"en": summary}}
    folder = write_run(tmp_path, run, rows=[row("q", status="failed", metrics={}, error="boom")])
    dump(folder / "summary.json", {**SUMMARY, "metrics": summary, "slices": sliced, "counts": {}})
    text = written(folder)
    start = text.index("> **This run failed.")
    assert start < text.index("> Reason: 10 of 10 cases failed") < text.index("## What ran")
    assert "| Recall@5 | **–** |  | 0/8 |" in text
    assert "No diagnosis: faithfulness and answer relevancy were not both scored." in text
    assert "### Fixed cutoffs" not in text
    assert "## By language" not in text
    assert "### 1. q: failed" in text


def test_a_partial_run_says_how_much_it_covers(tmp_path: Path) -> None:
    summary = {"cases": {"total": 10, "ok": 3, "failed": 1, "timeout": 0, "pending": 6}}
    text = written(write_run(tmp_path, {"status": "partial", "error_message": "interrupted"}, summary))
    assert "**This run is partial: 4 of 10 cases have a result. The numbers below cover those only.**" in text
    assert "| Cases | 10 (ok 3, failed 1, timeout 0, not run 6) |" in text


def test_a_run_that_a_budget_has_stopped_says_so_first_and_how_to_go_on(tmp_path: Path) -> None:
    ended = {"status": "partial", "exit_code": 3, "error_message": "budget.usd=1 is spent (0.9980 used)"}
    cases = {"cases": {"total": 10, "ok": 3, "failed": 1, "timeout": 0, "pending": 6}}
    text = written(write_run(tmp_path / "en", ended, cases))
    head = text[: text.index("## What ran")].split("\n>\n")
    assert "4 of 10 cases have a result" in head[0]
    assert head[1:3] == [
        "> Reason: budget.usd=1 is spent (0.9980 used)",
        "> Run the same command again to resume; finished cases are kept. If a budget or time limit was reached, "
        "raise it first.",
    ]
    korean = written(write_run(tmp_path / "ko", merged(ended, KOREAN), cases))
    assert "> 같은 명령을 다시 실행하면 끝난 사례를 그대로 두고 이어서 진행합니다." in korean


def test_a_run_with_nothing_left_to_do_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    text = written(write_run(tmp_path, {"status": "failed", "error_message": "10 of 10 cases failed"}))
    assert "The same command" not in text


def test_a_run_without_a_summary_still_has_a_report(tmp_path: Path) -> None:
    folder = write_run(tmp_path, {"status": "failed", "error_message": "the corpus is empty"}, rows=[], errors=[])
    (folder / "summary.json").unlink()
    text = written(folder)
    assert "> Reason: the corpus is empty" in text
    assert headings(text) == ["Evaluation report: full_rag", "What ran", "Metrics", "Data problems and failures"]


def test_retrieval_only_has_no_diagnosis(tmp_path: Path) -> None:
    nothing = estimate(None, 0)
    folder = write_run(tmp_path, {"evaluation_type": "retrieval_only"})
    changes = {"mean_faithfulness": nothing, "mean_answer_relevancy": nothing}
    counts = {"lost_at": {"none": 10}}
    dump(folder / "summary.json", {**SUMMARY, "metrics": {**SUMMARY["metrics"], **changes}, "counts": counts})
    text = written(folder)
    assert "Diagnosis" not in text
    assert "Retrieval and generation" not in text
    assert "No question failed." in text


@pytest.mark.parametrize(
    ("faithfulness", "relevancy", "pattern", "remedy"),
    [
        (0.9, 0.9, "Ideal", "1. Keep the current settings and look for further gains by fine tuning."),
        (0.5, 0.9, "Hallucination risk", "3. Lower the temperature to reduce invented content."),
        (0.9, 0.5, "Context mismatch", "2. If retrieval is weak, improve the embedding model or the chunking."),
        (0.5, 0.5, "Overall problem", "3. Consider a stronger model."),
    ],
)
def test_the_diagnosis_of_the_run(
    tmp_path: Path, faithfulness: float, relevancy: float, pattern: str, remedy: str
) -> None:
    metrics = {"mean_faithfulness": estimate(faithfulness, 10), "mean_answer_relevancy": estimate(relevancy, 10)}
    text = written(write_run(tmp_path, summary={"metrics": metrics, **ALL_RIGHT}))
    assert f"\n\n**{pattern}**\n\n" in text
    assert remedy in text


def test_what_counts_as_high_is_configured(tmp_path: Path) -> None:
    high = {"config": {"report": {"high": 0.5}}}  # relevancy of the run is .58
    assert "**Ideal**" in written(write_run(tmp_path, high, ALL_RIGHT))


def test_failed_judgements_that_are_left_out_are_told_from_those_that_count_zero(tmp_path: Path) -> None:
    counted = written(write_run(tmp_path / "zero"))
    assert "a failed judgement counts as 0 and a failed case is left out of the value" in counted
    assert "| Faithfulness | **0.8250** | [0.7750, 0.8750] | 9/10 | 0.9167 | excellent |" in counted
    excluded = {"metrics": {"mean_faithfulness": estimate(0.9167, 10, 9)}}
    left_out = written(write_run(tmp_path / "exclude", summary=excluded))
    assert "those that failed are left out of the value" in left_out
    assert "| Faithfulness | **0.9167** | [0.8667, 0.9667] | 9/10 | excellent |" in left_out


def test_slices_show_thirty_groups_and_count_the_rest(tmp_path: Path) -> None:
    tags = {f"t{number:02}": {"mrr": estimate(0.5, 100 + number)} for number in range(33)}
    text = written(write_run(tmp_path, summary={"slices": {"tag": tags}}))
    assert text.index("| t32 |") < text.index("| t31 |")
    assert "| t02 |" not in text
    assert "6 more in summary.json." in text  # 33 and the three of the factory, 30 shown


def test_latency_of_a_shared_ranking_is_labelled(tmp_path: Path) -> None:
    timing = {"latency": {"retrieval": {"p50_ms": 1.0, "p95_ms": 2.0, "n": 9}}, "rankings_reused": True}
    text = written(write_run(tmp_path, summary={"timing": timing}))
    assert "| retrieval | 1.0 | 2.0 | 9 | – | measured by the run that made the shared ranking |" in text


def test_a_long_question_is_cut(tmp_path: Path) -> None:
    rows = [row("q", output={"query": "가" * 1000}, labels={"lost_at": "below_k"})]
    assert f"{'가' * 399}…" in written(write_run(tmp_path, rows=rows))


def test_retrieved_documents_are_shown_to_rank_k(tmp_path: Path) -> None:
    hits = [{"id": f"d{rank}", "relevance": 0.5} for rank in range(1, 11)]
    rows = [row("q", output={"retrieved": hits, "expected": ["d2"]}, labels={"lost_at": "wrong_answer"})]
    assert "1\\. d1 (0.50); 2. d2 ✓ (0.50); 3. d3 (0.50); 4. d4 (0.50); 5. d5 (0.50)\n" in written(
        write_run(tmp_path, rows=rows)
    )


def test_a_reader_of_the_old_report_keeps_it_whole(tmp_path: Path) -> None:
    (write_run(tmp_path) / "summary.md").write_text("old", encoding="utf-8")
    (tmp_path / "reader").hardlink_to(tmp_path / "summary.md")
    report.write(tmp_path)
    assert (tmp_path / "reader").read_text(encoding="utf-8") == "old"


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [row(f"q-{number}", metrics={"recall_at_k": number / 4000}) for number in range(4000)]
    folder = write_run(tmp_path, rows=rows)  # 4 MB
    del rows
    document = Document.of(open_run(folder))
    render(document)
    tracemalloc.start()
    render(document)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a run folder: no run\.json in it"):
        report.write(tmp_path)
