import json
import math
import random
from pathlib import Path
from typing import Any

from runner.metrics.catalogue import built_in_catalogue
from runner.report import blocks
from runner.report.cases import OF_CELL, Cases, cases, cases_of
from runner.report.document import Document
from runner.report.worst import worst_cases, worst_of
from runner.system.folder import open_run
from tests.run_folders import ROWS, dump, estimate, row, write_run


def found(folder: Path, changes: dict[str, str] | None = None) -> Cases:
    return cases_of(Document.of(open_run(folder)), changes or {})


def test_the_worst_come_first_as_in_the_other_report(tmp_path: Path) -> None:
    shown = found(write_run(tmp_path))
    worst = [row["id"] for row in worst_cases(ROWS, 10, built_in_catalogue())]
    assert list(shown.ids)[: len(worst)] == worst
    for count in (2, 10):
        assert shown.ordered is not None
        assert worst_of(shown.ordered, count, built_in_catalogue()) == worst_cases(ROWS, count, built_in_catalogue())
    assert cases_of(Document.of(open_run(tmp_path)), {}, 2).ordered is None
    assert sorted(shown.ids) == sorted(row["id"] for row in ROWS)


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    one = found(write_run(tmp_path / "a"))
    other = found(write_run(tmp_path / "b", rows=random.Random(3).sample(ROWS, len(ROWS))))
    assert one.ids == other.ids
    for name, column in one.values.items():
        assert repr(column.tolist()) == repr(other.values[name].tolist())


def test_columns_belong_together(tmp_path: Path) -> None:
    shown = found(write_run(tmp_path))
    number = list(shown.ids).index("q-4")
    assert shown.questions[number] == "환불은 며칠 안에 되나요?"
    assert {name: choice[number] for name, choice in shown.choices.items()} == {
        "outcome": "wrong_answer", "language": "ko", "change": "",
    }  # fmt: skip
    assert {name: column[number] for name, column in shown.values.items() if not math.isnan(column[number])} == {
        "recall_at_k": 1.0, "mean_faithfulness": 0.0, "mean_answer_relevancy": 0.25,
    }  # fmt: skip
    ((place, written),) = shown.rows([number])
    assert (place, written["id"]) == (number, "q-4")


def test_a_case_that_did_not_end_has_an_outcome_of_its_own(tmp_path: Path) -> None:
    shown = found(write_run(tmp_path))
    assert shown.choices["outcome"][list(shown.ids).index("q-7")] == "timeout"


def test_only_so_many_are_listed(tmp_path: Path) -> None:
    every = found(write_run(tmp_path))
    shown = cases_of(Document.of(open_run(tmp_path)), {}, most=3)
    assert (shown.n, len(shown)) == (len(ROWS), 3)
    assert list(shown.ids) == list(every.ids)[:3]


def test_changes_are_told_by_id(tmp_path: Path) -> None:
    shown = found(write_run(tmp_path), {"q-3": "won", "q-6|x": "lost", "elsewhere": "lost"})
    changed = {id: shown.choices["change"][number] for number, id in enumerate(shown.ids)}
    assert {id: change for id, change in changed.items() if change} == {"q-3": "won", "q-6|x": "lost"}


def test_values_have_three_digits(tmp_path: Path) -> None:
    shown = found(write_run(tmp_path, rows=[row("q", metrics={"recall_at_k": 2 / 3})]))
    assert shown.values["recall_at_k"].tolist() == [0.667]


def test_an_evaluation_of_another_kind_shows_what_it_has(tmp_path: Path) -> None:
    summary: dict[str, Any] = {"metrics": {"novelty": estimate(0.5, 2), "links/novelty": estimate(0.1, 2)}}
    rows = [{**row("a"), "metrics": {"novelty": 0.25}, "output": "text", "labels": {}}]
    write_run(tmp_path, rows=rows)
    dump(tmp_path / "summary.json", {**json.loads((tmp_path / "summary.json").read_text(encoding="utf-8")), **summary})
    shown = found(tmp_path)
    assert {name: column.tolist() for name, column in shown.values.items()} == {"novelty": [0.25]}
    assert (list(shown.questions), shown.choices["outcome"][0]) == ([""], "ok")


def test_torn_lines_are_passed_over(tmp_path: Path) -> None:
    write_run(tmp_path)
    path = tmp_path / "per_item.jsonl"
    path.write_bytes(b'{"id": "torn' + b"\n" + path.read_bytes() + b'{"id": "torn", "status": "ok"')
    shown = found(tmp_path)
    assert len(shown) == len(ROWS)
    assert [row["id"] for _, row in shown.rows(range(len(shown)))] == list(shown.ids)


def test_a_page_tells_all_of_the_worst_cases_and_of_fewer_in_a_cell_of_a_sweep(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "id": f"q-{number:04}"} for number in range(OF_CELL + 2)]
    for name, run, details in (("run", {}, OF_CELL + 2), ("cell", {"sweep_id": "s"}, OF_CELL)):
        document = Document.of(open_run(write_run(tmp_path / name, run, rows=rows)))
        (table,) = [block for block in cases(document, {}).blocks if isinstance(block, blocks.Cases)]
        assert (len(table.data["ids"]), len(table.data["details"])) == (OF_CELL + 2, details)
