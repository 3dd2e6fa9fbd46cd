"""What is the same and what is not when a record is run again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.commands.freeze.record import RecordRun
from runner.commands.freeze.reproduction import RepeatedRun, Reproduction, reproduction
from runner.compare.sides import Place, Side, open_place
from tests.run_folders import merged, row, write_run

IDS = [f"q-{number:02}" for number in range(60)]
CODE = {
    "identity": {"documents": "d" * 64, "queries": "q" * 64, "gold": "g" * 64},
    "metric_code": {"ranking": "r" * 64},
    "components": {"retriever": "1" * 64},
}


def rows(recall: Mapping[str, float | None] | None = None, **changes: Any) -> list[dict[str, Any]]:
    """Sixty cases with a recall of 1, or what `recall` says."""
    return [row(id, metrics={"recall_at_k": (recall or {}).get(id, 1.0)}, **changes) for id in IDS]


def side(
    folder: Path, cases: Sequence[Mapping[str, Any]], run: Mapping[str, Any] | None = None, **metrics: Any
) -> Side:
    write_run(folder, merged(CODE, run or {}), {"metrics": metrics}, cases)
    return open_place(Place(folder, folder.name))


def outcome(
    tmp_path: Path, now: Sequence[Mapping[str, Any]], run: Mapping[str, Any] | None = None, **metrics: Any
) -> RepeatedRun:
    was = side(tmp_path / "was", rows())
    recorded = RecordRun("0", ["k=5"], was)
    return reproduction(recorded, side(tmp_path / "now", now, run, **metrics), tmp_path / "now", seed=1)


def test_identical(tmp_path: Path) -> None:
    found = outcome(tmp_path, rows(latency_ms=99.0), {"created_at": "2027-01-01T00:00:00Z", "id": "another"})
    assert (found.outcome, found.label) == ("identical", "k=5")
    assert not found.changes.in_numbers
    assert found.changes.identities == []


def test_numbers_that_are_the_same_are_identical_whatever_made_them(tmp_path: Path) -> None:
    found = outcome(tmp_path, rows(), {"components": {"retriever": "2" * 64}, "identity": {"documents": "e" * 64}})
    assert found.outcome == "identical"
    assert found.changes.identities == ["documents", "retriever"]


def test_what_newer_code_measures_beside_is_no_change(tmp_path: Path) -> None:
    now = [{**each, "metrics": {**each["metrics"], "novelty": 0.5}} for each in rows()]
    found = outcome(tmp_path, now, novelty={"value": 0.5, "n": 60})
    assert found.outcome == "identical"


def test_one_case_of_sixty_is_noise(tmp_path: Path) -> None:
    found = outcome(tmp_path, rows({"q-07": 0.0}), recall_at_k={"value": 59 / 60})
    assert found.outcome == "within_noise"
    assert found.changes.cases == ["q-07"]
    assert found.changes.metrics == [("recall_at_k", 0.85, 59 / 60)]


def test_twenty_of_sixty_are_not(tmp_path: Path) -> None:
    found = outcome(tmp_path, rows(dict.fromkeys(IDS[:20], 0.0)))
    assert found.outcome == "different"
    assert found.changes.cases == IDS[:20]


def test_a_better_one_is_different_too(tmp_path: Path) -> None:
    was = side(tmp_path / "was", rows(dict.fromkeys(IDS[:20], 0.0)))
    found = reproduction(RecordRun(".", [], was), side(tmp_path / "now", rows()), tmp_path / "now", seed=1)
    assert (found.outcome, found.label) == ("different", "now")


@pytest.mark.parametrize(("changed", "expected"), [(1, "within_noise"), (30, "different")])
def test_metrics_that_nobody_declared_differ_as_well(tmp_path: Path, changed: int, expected: str) -> None:
    """No verdict says better or worse of them, but more than chance is a difference whichever way it goes."""
    nothing = {"declared": []}
    recorded = RecordRun("0", [], side(tmp_path / "was", rows(), nothing))
    now = side(tmp_path / "now", rows(dict.fromkeys(IDS[:changed], 0.5)), nothing)
    found = reproduction(recorded, now, tmp_path / "now", seed=1)
    assert (found.comparison.verdict, found.outcome) == ("not_judged", expected)


def test_other_documents_make_other_numbers_not_comparable(tmp_path: Path) -> None:
    found = outcome(tmp_path, rows({"q-07": 0.0}), {"identity": {"documents": "e" * 64}})
    assert found.outcome == "not_comparable"
    assert found.changes.identities == ["documents"]


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": {"lost_at": "wrong_answer"}},
        {"output": {"gold": "f" * 16}},
        {"output": {"query": "Another question?"}},
        {"status": "failed"},
        {"unscored": ["faithfulness"]},
        {"metrics": {"faithfulness": None}},
        {"weights": {"recall_at_k": 0.5}},
    ],
)
def test_whatever_a_record_holds_of_a_case_counts(tmp_path: Path, changed: dict[str, Any]) -> None:
    cases = rows()
    cases[3] = row("q-03", **changed)
    assert outcome(tmp_path, cases).changes.cases == ["q-03"]


def test_nothing_is_the_same_as_nothing(tmp_path: Path) -> None:
    nothing = {"q-03": None}
    was = side(tmp_path / "was", rows(nothing))
    found = reproduction(RecordRun(".", [], was), side(tmp_path / "now", rows(nothing)), tmp_path / "now", seed=1)
    assert found.outcome == "identical"


def test_cases_that_came_and_went(tmp_path: Path) -> None:
    found = outcome(tmp_path, [*rows()[2:], row("q-99", output={"query": "A new one?"})])
    assert (found.changes.removed, found.changes.new) == (["q-00", "q-01"], ["q-99"])
    assert found.changes.cases == []
    assert found.outcome == "within_noise"


@pytest.mark.parametrize(
    ("recalls", "expected", "code"),
    [
        ([{}], "identical", 0),
        ([{}, {"q-07": 0.0}], "within_noise", 0),
        ([dict.fromkeys(IDS[:20], 0.0), {"q-07": 0.0}], "different", 4),
    ],
)
def test_the_gravest_run_tells(tmp_path: Path, recalls: list[dict[str, float]], expected: str, code: int) -> None:
    runs = [outcome(tmp_path / str(number), rows(recall)) for number, recall in enumerate(recalls)]
    found = Reproduction("x", tmp_path, runs, [])
    assert (found.outcome, found.exit_code) == (expected, code)


def test_not_comparable_is_the_gravest_of_all(tmp_path: Path) -> None:
    different = outcome(tmp_path / "0", rows(dict.fromkeys(IDS[:20], 0.0)))
    other = outcome(tmp_path / "1", rows({"q-07": 0.0}), {"identity": {"documents": "e" * 64}})
    found = Reproduction("x", tmp_path, [other, different], [])
    assert (found.outcome, found.exit_code) == ("not_comparable", 5)
