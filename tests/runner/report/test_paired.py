import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from runner.metrics.catalogue import built_in_catalogue
from runner.report.paired import CommonCases, pair_runs

NAMES = ("recall_at_k", "mean_faithfulness")


def written(sweep: Path, folder: str, recalls: dict[str, float | None], **changes: Any) -> None:
    """The journal of one run: recall of each of its cases."""
    rows = [
        {"id": id, "status": "ok", "metrics": {"recall_at_k": value, "mrr": 1.0}, "weights": {}, "unscored": []}
        for id, value in recalls.items()
    ]
    journal(sweep, folder, [{**row, **changes} for row in rows])


def journal(sweep: Path, folder: str, rows: Iterable[dict[str, Any]]) -> None:
    (sweep / folder).mkdir(exist_ok=True)
    lines = (json.dumps(row) + "\n" for row in rows)
    (sweep / folder / "per_item.jsonl").write_text("".join(lines), encoding="utf-8")


def test_means_over_the_cases_that_all_have_finished(tmp_path: Path) -> None:
    written(tmp_path, "0", {"a": 0.2, "b": 0.4, "c": 0.9})
    written(tmp_path, "1", {"c": 0.5, "b": 0.6})
    found = pair_runs(tmp_path, ["0", "1"], NAMES, 1, built_in_catalogue())
    assert found is not None
    assert (found.n, found.done, found.same) == (2, {"0": 3, "1": 2}, False)
    assert {folder: metrics["recall_at_k"]["value"] for folder, metrics in found.metrics.items()} == {
        "0": pytest.approx(0.65),
        "1": pytest.approx(0.55),
    }
    assert found.metrics["0"]["recall_at_k"]["n"] == 2
    assert "mrr" not in found.metrics["0"]


def test_failed_judgements_and_weights_count_as_they_do_in_a_summary(tmp_path: Path) -> None:
    failed = {"metrics": {"faithfulness": None, "recall_at_k": 1.0}, "unscored": ["faithfulness", "token_f1"]}
    written(tmp_path, "0", {"a": 1.0})
    journal(
        tmp_path,
        "1",
        [
            {"id": "a", "status": "ok", "metrics": {"faithfulness": 1.0, "recall_at_k": 0.0}, "unscored": []},
            {"id": "b", "status": "ok", **failed},
        ],
    )
    journal(
        tmp_path,
        "2",
        [
            {"id": "a", "status": "ok", **failed},
            {"id": "b", "status": "ok", "metrics": {"recall_at_k": 0.3}, "weights": {"recall_at_k": 3.0}},
        ],
    )
    found = pair_runs(tmp_path, ["1", "2"], NAMES, 1, built_in_catalogue())
    assert found is not None
    assert found.metrics["2"]["recall_at_k"]["value"] == pytest.approx((1.0 + 3 * 0.3) / 4)
    assert found.metrics["1"].keys() == {"recall_at_k", "mean_faithfulness"}
    faithfulness = found.metrics["1"]["mean_faithfulness"]
    assert (faithfulness["value"], faithfulness["n"], faithfulness["n_scored"]) == (1.0, 2, 1)


def test_the_order_in_which_cases_came_to_their_end_does_not_matter(tmp_path: Path) -> None:
    recalls: dict[str, float | None] = {str(n): n / 20 for n in range(20)}
    shuffled = dict(random.Random(1).sample(sorted(recalls.items()), 20))
    written(tmp_path, "0", recalls)
    written(tmp_path, "1", shuffled)
    found = pair_runs(tmp_path, ["0", "1"], NAMES, 1, built_in_catalogue())
    assert found is not None
    assert found.same
    assert found.metrics["0"] == found.metrics["1"]


def test_nothing_in_common(tmp_path: Path) -> None:
    written(tmp_path, "0", {"a": 0.2})
    written(tmp_path, "1", {"b": 0.2})
    assert pair_runs(tmp_path, ["0", "1"], NAMES, 1, built_in_catalogue()) == CommonCases(0, {"0": 1, "1": 1}, {})


def test_a_run_without_results_is_left_out_and_one_alone_is_not_compared(tmp_path: Path) -> None:
    written(tmp_path, "0", {"a": 0.2})
    written(tmp_path, "1", {"a": 0.4})
    journal(tmp_path, "2", [])
    found = pair_runs(tmp_path, ["0", "1", "2", "3"], NAMES, 1, built_in_catalogue())
    assert found is not None
    assert found.done == {"0": 1, "1": 1}
    assert pair_runs(tmp_path, ["0", "2", "3"], NAMES, 1, built_in_catalogue()) is None
