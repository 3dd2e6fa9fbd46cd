"""What the runs of a sweep answered, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.metrics.catalogue import catalogue_in
from runner.report import outputs as report_outputs
from runner.report import sweep_answers
from runner.report.blocks import Cases, Note, Section
from runner.report.outputs import marks_of, outputs
from runner.report.sweep import read_sweep
from runner.report.sweep_answers import answers
from runner.system.folder import open_run
from runner.system.shared import sharing
from tests.run_folders import dump, row, write_run


def case(id: str, *, fails: bool = False, **changes: Any) -> dict[str, Any]:
    return row(id, labels={"lost_at": "wrong_answer" if fails else "none"}, **changes)


def swept(folder: Path, *runs: Sequence[Mapping[str, Any]], k: int = 5) -> Section | None:
    """A sweep over runs called k = 0, 1, ... with these rows; `k` is that of all summaries."""
    cells = []
    for place, rows in enumerate(runs):
        write_run(folder / str(place), {"k": place, "config": {"k": place}}, {"k": k}, rows=rows)
        cells.append({"folder": str(place), "overrides": [f"k={place}"], "status": "completed", "exit_code": 0})
    head = {"schema": 1, "id": "s", "experiment": "full_rag", "status": "completed", "cells": cells}
    dump(folder / "sweep.json", {**head, "created_at": "2026-01-02T03:04:05Z"})
    return answers(read_sweep(folder), folder)


def table(section: Section | None) -> Cases:
    assert section is not None
    (found,) = (block for block in section.blocks if isinstance(block, Cases))
    return found


def notes(section: Section | None) -> list[str]:
    assert section is not None
    return [block.text for block in section.blocks if isinstance(block, Note)]


def column(found: Cases, kind: str) -> list[str]:
    choice: Any = found.data["choices"][kind]  # type: ignore[index]
    return [choice["names"][number] for number in choice["numbers"]]


def test_those_that_differ_come_first_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    one = [case("a"), case("b", fails=True), case("c"), case("d", language="ko"), case("only here")]
    other = [
        case("d", language="ko"),
        case("c", fails=True, output={"answer": "Else."}),
        case("b", fails=True),
        case("a"),
    ]
    found = table(swept(tmp_path, one, other))
    assert found.data["ids"] == ["c", "b", "a", "d"]  # what not every run has finished cannot be compared
    assert column(found, "outcome") == ["changed", "all fail", "all right", "all right"]
    assert found.columns == [("case", "Case"), ("outcome", "Result"), ("run-0", "k=0"), ("run-1", "k=1")]
    assert column(found, "run-0") == ["✓ It is c. [1]", "✗ It is b. [1]", "✓ It is a. [1]", "✓ It is d. [1]"]
    assert column(found, "run-1")[0] == "✗ Else."
    assert [(one.kind, [text for _, text in one.options]) for one in found.filters] == [
        ("outcome", ["all (4)", "failing in any run (2)", "changed (1)", "all fail (1)", "all right (2)"]),
        ("language", ["all (4)", "en (3)", "ko (1)"]),
    ]
    assert found.data["choices"]["outcome"]["bad"] == [True, True, False]  # type: ignore[index]
    first = found.rows[0]
    assert (first.id, first.question, [cell.mark for cell in first.cells]) == (
        "c",
        "What is c?",
        ["alarm", "", "alarm"],
    )
    scores = "Recall@5 1.00 · Faithfulness 1.00 · Answer Relevancy 1.00"
    assert [(fact.title, fact.text) for fact in first.facts] == [
        ("Expected", "doc-1"),
        ("k=0", f"right · {scores}\nin the context (best 5): doc-1 ✓, doc-2"),
        ("k=1", f"answer wrong · {scores}\nin the context (best 5): doc-1 ✓, doc-2"),
    ]


def test_the_known_answer_and_what_was_in_the_context_stand_beside_the_answers(tmp_path: Path) -> None:
    output = {"answers": ["A", "B"], "expected": ["doc-3"], "retrieved": [{"id": f"doc-{n}"} for n in (1, 2, 3)]}
    found = table(swept(tmp_path, *[[case("a", output=output, metrics={})]] * 2, k=2))
    assert [(fact.title, fact.text.split("\n")[1:] or fact.text) for fact in found.rows[0].facts] == [
        ("Known answers", "A / B"),
        ("Expected", "doc-3"),
        ("k=0", ["in the context (best 2): doc-1, doc-2", "ranked below: doc-3 ✓"]),
        ("k=1", ["in the context (best 2): doc-1, doc-2", "ranked below: doc-3 ✓"]),
    ]


def test_a_question_without_an_answer_is_named_as_that(tmp_path: Path) -> None:
    found = table(swept(tmp_path, *[[case("a", output={"answerable": False})]] * 2))
    assert found.rows[0].facts[0].text == "no answer: the corpus has none"


def test_a_case_without_an_answer_shows_what_there_is(tmp_path: Path) -> None:
    one = [case("a", output={"answer": None}), case("b", status="timeout", output={}, error="late")]
    found = table(swept(tmp_path, one, one))
    assert column(found, "run-0") == ["✗ timeout: late", "✓ doc-1, doc-2"]


def test_a_metric_of_right_answers_counts_where_the_label_says_nothing(tmp_path: Path) -> None:
    found = table(swept(tmp_path, [case("a", metrics={"right": 0.0})], [case("a", metrics={"right": 1.0})]))
    assert column(found, "outcome") == ["changed"]


@pytest.mark.parametrize("runs", [[[case("a")]], [[case("a")], [case("b")]], [[case("a")], []]])
def test_nothing_to_compare_is_not_shown(tmp_path: Path, runs: list[list[dict[str, Any]]]) -> None:
    assert swept(tmp_path, *runs) is None


def test_what_does_not_fit_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_answers, "TEXT_BYTES", 400)
    monkeypatch.setattr(sweep_answers, "DETAIL_BYTES", 215)
    monkeypatch.setattr(sweep_answers, "RUNS", 2)
    section = swept(tmp_path, *[[case(f"q-{n}") for n in range(9)]] * 3)
    found = table(section)
    assert notes(section)[1:] == [
        "The first 3 of 9 cases are listed; the reports of the runs have the others.",
        "The first 2 of 3 runs have a column.",
    ]
    assert len(found.data["ids"]) == 3 and list(found.data["details"]) == ["0", "1"]  # type: ignore[arg-type, call-overload]


def test_what_came_out_of_a_run_is_kept_for_the_sweep_until_its_rows_change(tmp_path: Path) -> None:
    write_run(tmp_path, rows=[case("b"), case("a", fails=True)])
    path = tmp_path / "per_item.jsonl"
    with sharing():
        first = outputs(path)
        assert (first.ids, first.places.tolist()[0], first.right.tolist()) == (["b", "a"], 0, [True, False])
        assert outputs(path) is first
        assert outputs(path, {"a", "b", "c"}) is first
        one = outputs(path, {"b"})
        write_run(tmp_path, rows=[case("b")])
        alone = outputs(path)
        assert (one.ids, one.digests) == (alone.ids, alone.digests)
        assert one.digests != first.digests


def test_the_page_shows_what_its_runs_kept_of_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [[case("a"), case("b", fails=True)], [case("b"), case("a", status="timeout", output={}, error="late")]]
    alone = table(swept(tmp_path / "read", *runs))
    with sharing():
        for k, rows in enumerate(runs):
            folder = tmp_path / "kept" / str(k)
            write_run(folder, {"k": k, "config": {"k": k}}, rows=rows)
            kept = outputs(folder / "per_item.jsonl", marks=marks_of(catalogue_in(open_run(folder).run)))
            assert kept.shown[1].answer == ["It is b. [1]", "timeout: late"][k]
        monkeypatch.setattr("tests.runner.report.test_sweep_answers.write_run", lambda *_, **__: None)
        monkeypatch.setattr(sweep_answers, "parse_line", None)  # nothing is read
        together = table(swept(tmp_path / "kept", *runs))
    assert (together.data, together.rows) == (alone.data, alone.rows)


def test_only_the_runs_that_have_a_column_keep_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_outputs, "RUNS", 1)
    for k in range(2):
        write_run(tmp_path / str(k), rows=[case("a")])
    with sharing():
        kept = [outputs(tmp_path / str(k) / "per_item.jsonl", marks=("mrr",)) for k in range(2)]
    assert [len(each.shown) for each in kept] == [1, 0]
