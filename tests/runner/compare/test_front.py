import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.compare.cells import open_cells
from runner.compare.front import front
from tests.model_runs import cost
from tests.run_folders import dump
from tests.swept_folders import write_swept

N = 60
NAMES = ("0", "1", "2")


def swept(
    folder: Path,
    *,
    ks: Sequence[int] = (5, 5, 5),
    ms: Sequence[float | None] = (None, None, None),
    usage: Sequence[Mapping[str, Any] | None] = (None, None, None),
) -> Path:
    """Three runs; `ms`: what each case takes, give or take a tenth, None where nothing was live."""
    write_swept(folder, {f"a={name}": {"faithfulness": [0.5] * N} for name in NAMES}, ks=ks)
    for name, latency, roles in zip(NAMES, ms, usage, strict=True):
        path = folder / name / "per_item.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for place, row in enumerate(rows):
            row["latency_ms"] = None if latency is None else latency * (0.9 + 0.2 * place / N)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        if roles:
            summary = json.loads((folder / name / "summary.json").read_text(encoding="utf-8"))
            dump(folder / name / "summary.json", {**summary, "cost": {"cases": N, "roles": roles}})
    return folder


def asked(usd: float | None, tokens: int = 100, role: str = "generator") -> dict[str, Any]:
    return {role: cost(1, tokens, 0, usd)}


def found(folder: Path, values: Sequence[float], near: Collection[str]) -> dict[str, Any]:
    quality = dict(zip(NAMES, values, strict=True))
    return front(open_cells(folder, NAMES), "mean_faithfulness", quality, near, seed=42)


def dominated(record: Mapping[str, Any]) -> list[list[str]]:
    return [cell["dominated_by"] for cell in record["cells"]]


def test_a_run_that_is_no_better_and_hands_on_more_chunks_is_dominated(tmp_path: Path) -> None:
    record = found(swept(tmp_path / "s", ks=(3, 5, 10)), (0.5, 0.6, 0.6), ("1", "2"))
    assert (record["cost"], record["latency"]) == ("k", False)
    assert [cell["cost"] for cell in record["cells"]] == [3.0, 5.0, 10.0]
    assert dominated(record) == [[], [], ["1"]]


def test_less_of_a_metric_may_be_better(tmp_path: Path) -> None:
    cells = open_cells(swept(tmp_path / "s", ks=(3, 5, 10)), NAMES)
    quality = dict(zip(NAMES, (0.5, 0.1, 0.6), strict=True))
    record = front(cells, "toxicity", quality, ["1"], is_lower=True, seed=42)
    assert [cell["quality"] for cell in record["cells"]] == [0.5, 0.1, 0.6]
    assert dominated(record) == [[], [], ["0", "1"]]


def test_a_lead_that_may_be_chance_dominates_nothing(tmp_path: Path) -> None:
    folder = swept(tmp_path / "s")
    assert dominated(found(folder, (0.5, 0.6, 0.59), ("1", "2"))) == [["1", "2"], [], []]
    assert dominated(found(folder, (0.58, 0.6, 0.59), ("0", "1", "2"))) == [[], [], []]


def test_a_slower_run_is_dominated_where_that_is_no_chance(tmp_path: Path) -> None:
    everyone = ("0", "1", "2")
    record = found(swept(tmp_path / "s", ms=(10, 20, 10.01)), (0.5, 0.5, 0.5), everyone)
    assert record["latency"] is True
    assert record["cells"][0]["p95_ms"] == pytest.approx(10 * (0.9 + 0.2 * 0.95 * (N - 1) / N))
    assert dominated(record) == [[], ["0", "2"], []]
    assert dominated(found(swept(tmp_path / "t", ms=(10, 20, 10)), (0.5, 0.9, 0.5), ("1",))) == [[], [], []]


def test_latency_that_a_run_has_not_measured_does_not_count(tmp_path: Path) -> None:
    record = found(swept(tmp_path / "s", ms=(10, 20, None)), (0.5, 0.5, 0.5), NAMES)
    assert (record["latency"], [cell["p95_ms"] is None for cell in record["cells"]]) == (False, [False, False, True])
    assert dominated(record) == [[], [], []]


def test_cost_is_usd_of_a_case_and_not_that_of_judging(tmp_path: Path) -> None:
    usage = [asked(0.6), asked(1.2), {**asked(0.6), **asked(9.0, role="judge")}]
    record = found(swept(tmp_path / "s", ks=(3, 5, 10), usage=usage), (0.5, 0.5, 0.5), NAMES)
    assert record["cost"] == "usd"
    assert [cell["cost"] for cell in record["cells"]] == pytest.approx([0.01, 0.02, 0.01])
    assert dominated(record) == [[], ["0", "2"], []]


def test_cost_is_tokens_where_a_price_is_unknown_or_nothing_is_paid(tmp_path: Path) -> None:
    for name, usd in (("unknown", None), ("free", 0.0)):
        usage = [asked(usd, 60), asked(usd, 120), asked(0.0, 60)]
        record = found(swept(tmp_path / name, usage=usage), (0.5, 0.5, 0.5), NAMES)
        assert (record["cost"], [cell["cost"] for cell in record["cells"]]) == ("tokens", [1.0, 2.0, 1.0])


def test_no_cost_where_only_a_judge_was_asked_at_one_k(tmp_path: Path) -> None:
    usage = [asked(0.1 * n, role="judge") for n in (1, 2, 3)]
    record = found(swept(tmp_path / "s", usage=usage), (0.5, 0.5, 0.5), NAMES)
    assert (record["cost"], record["cells"][0]["cost"]) == (None, None)
