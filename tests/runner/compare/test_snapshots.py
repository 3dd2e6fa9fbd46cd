"""Snapshots that cannot be used: what is wrong, where, and what would help."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.compare.snapshots import parse_snapshot, read_snapshot
from runner.errors import DataError
from tests.comparison_runs import run_folder
from tests.run_folders import row

AGAIN = "make it again from its run folder: python -m runner snapshot RUN"


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, Any]:
    rows = [row("a", metrics={"mrr": 1.0}, tags=["t"]), row("b", unscored=["faithfulness"], weights={"mrr": 2.0})]
    path = run_folder(tmp_path / "run", rows) / "snapshot.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_columns(whole: dict[str, Any]) -> None:
    cases = parse_snapshot(json.dumps(whole).encode(), "x").cases
    assert list(cases.ids) == ["a", "b"] and cases.failed.tolist() == [False, False]
    assert cases.values["mrr"].dtype == np.float64
    assert cases.values["mrr"][0] == 1.0 and np.isnan(cases.values["mrr"][1])
    assert cases.unscored["mean_faithfulness"].tolist() == [False, True]
    assert cases.weights["mrr"].tolist() == [1.0, 2.0]
    assert cases.tags == [["t"], ["billing"]]


def test_a_cut_off_file(whole: dict[str, Any]) -> None:
    data = json.dumps(whole).encode()
    for size in (0, 1, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(DataError, match=r"^old\.json: damaged or cut off: .*; make it again from its run folder"):
            parse_snapshot(data[:size], "old.json")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "x: not a snapshot of a run (it has no kind; expected 'runner.snapshot')"),
        ({"a": 1}, "x: not a snapshot of a run (it has no kind; expected 'runner.snapshot')"),
        (
            {"kind": "other", "schema": 1},
            "x: not a snapshot of a run (its kind is 'other'; expected 'runner.snapshot')",
        ),
        (
            {"fingerprint": "f", "metrics": {}},
            "x: not a snapshot of a run (it has no kind; expected 'runner.snapshot'); "
            "give the run folder that it stands in",
        ),
        (
            {"kind": "runner.snapshot", "schema": 2},
            "x: schema 2 is of a newer runner, this one reads schema 1; update runner",
        ),
        (
            {"kind": "runner.snapshot", "schema": 0},
            f"x: schema 0 is of an older runner, this one reads schema 1; {AGAIN}",
        ),
        ({"kind": "runner.snapshot"}, f"x: damaged: schema: expected a number, found None; {AGAIN}"),
        ({"kind": "runner.snapshot", "schema": 1}, f"x: damaged: run: field required; {AGAIN}"),
    ],
)
def test_foreign_files_and_other_schemas(value: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_snapshot(json.dumps(value).encode(), "x")
    assert str(caught.value) == message and caught.value.exit_code == 1


def put(*place: str) -> Callable[[dict[str, Any], Any], None]:
    def change(whole: dict[str, Any], value: Any) -> None:
        node = whole
        for name in place[:-1]:
            node = node[name]
        node[place[-1]] = value

    return change


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("identity", "gold"), 5, "identity.gold: expected text"),
        (("metrics", "mrr"), "high", "metrics.mrr: expected a valid dictionary"),
        (("run", "k"), "five", "run.k: expected a whole number"),
        (("config", "profile"), True, "config.profile: expected a valid dictionary"),
        (("config", "profile"), {"margins": {"mrr": "x"}}, "config.profile.margins.mrr.float: expected a number"),
        (("config", "report"), {"language": ["en"]}, "config.report.language: expected text"),
        (("run", "choices"), ["keyword"], "run.choices: expected a valid dictionary"),
        (("timing",), {"latency": [1]}, "timing.latency: expected a valid dictionary"),
        (("timing",), {"latency": {"case": {"n": "x"}}}, "timing.latency.case.n: expected a whole number"),
        (("timing",), {"usage": {"judge": [1]}}, "timing.usage.judge: expected a valid dictionary"),
        (("cases",), [], "cases: expected a valid dictionary"),
        (("cases", "ids"), "a", "cases.ids: expected a list, found text"),
        (("cases", "ids"), ["b", "a"], "cases.ids: expected in ascending order, each once; found 'a' after 'b'"),
        (("cases", "ids"), ["a", "a"], "cases.ids: expected in ascending order, each once; found 'a' after 'a'"),
        (("cases", "ids"), ["a", 2], "cases.ids: expected text, found number"),
        (("cases", "content"), ["x"], "cases.content: 1 entries for 2 cases"),
        (("cases", "language"), ["ko", 1], "cases.language: expected text or null, found number"),
        (("cases", "status"), ["ok", None], "cases.status: expected text, found null"),
        (("cases", "tags"), [["a"], [1]], "cases.tags: expected lists of texts"),
        (("cases", "values"), [], "cases.values: expected an object, found list"),
        (("cases", "values", "mrr"), [1.0], "cases.values.mrr: 1 entries for 2 cases"),
        (("cases", "values", "mrr"), [1.0, "1"], "cases.values.mrr: expected number or null, found text"),
        (("cases", "values", "mrr"), [1.0, True], "cases.values.mrr: expected number or null, found true or"),
        (("cases", "values", "mrr"), [1.0, -1e308], "cases.values.mrr: expected numbers from -1e+100 to 1e+100"),
        (("cases", "labels", "lost_at"), ["none", 3], "cases.labels.lost_at: expected text or null, found number"),
        (("cases", "weights", "mrr"), [2.0], "cases.weights.mrr: expected an object, found list"),
        (("cases", "weights", "mrr"), {"2": 1}, "cases.weights.mrr: no case has the place '2'"),
        (("cases", "weights", "mrr"), {"-1": 1}, "cases.weights.mrr: no case has the place '-1'"),
        (("cases", "weights", "mrr"), {"0": "x"}, "cases.weights.mrr.0: expected a number of at least 0, found 'x'"),
        (("cases", "weights", "mrr"), {"0": -1}, "cases.weights.mrr.0: expected a number of at least 0, found -1"),
        (("cases", "noise"), None, "cases.noise: expected an object, found null"),
        (("cases", "chunk_gold"), {"0": {"labels": {}}}, "cases.chunk_gold.0.spans: field required"),
        (("declared",), [{"name": "x"}], "declared.0: no record of a metric: "),
        (("declared",), "all", "declared: expected a valid list"),
    ],
)
def test_damaged_columns(whole: dict[str, Any], place: tuple[str, ...], value: Any, message: str) -> None:
    put(*place)(whole, value)
    with pytest.raises(DataError, match=rf"^x: damaged: {re.escape(message)}"):
        parse_snapshot(json.dumps(whole).encode(), "x")


@pytest.mark.parametrize(
    ("tokens", "usd", "is_good"),
    [
        (0, 0.0, True),
        (7, None, True),
        (2**63 - 1, 1e100, True),
        (2**63, 0.5, False),
        (-1, 0.5, False),
        (7, -0.5, False),
    ],
)
def test_what_a_role_may_have_cost(whole: dict[str, Any], tokens: int, usd: float | None, is_good: bool) -> None:
    role = {"requests": 1, "input_tokens": tokens, "output_tokens": 0, "usd": usd}
    text = json.dumps({**whole, "cost": {"cases": 2, "roles": {"judge": role}}}).encode()
    if is_good:
        assert parse_snapshot(text, "x").cost["roles"] == {"judge": role}
    else:
        with pytest.raises(DataError, match=r"^x: damaged: cost\.roles\.judge\."):
            parse_snapshot(text, "x")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(whole: dict[str, Any], number: str) -> None:
    whole["cases"]["values"]["mrr"] = ["THIS", None]
    with pytest.raises(DataError, match="damaged or cut off: not complete JSON"):
        parse_snapshot(json.dumps(whole).replace('"THIS"', number).encode(), "x")


def test_a_missing_column(whole: dict[str, Any]) -> None:
    del whole["cases"]["gold"]
    with pytest.raises(DataError, match=r"^x: damaged: cases\.gold: expected a list, found null"):
        parse_snapshot(json.dumps(whole).encode(), "x")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json: cannot be read: No such file"):
        read_snapshot(tmp_path / "none.json")
