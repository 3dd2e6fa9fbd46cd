from typing import Any

import pytest

from runner.domains.memory.sums import sums


def row(*facts: tuple[int, int, bool], tokens: int = 10, cut: str = "", **upkeep: Any) -> dict[str, Any]:
    kept = {"appends_ms": [], "updates_ms": [], "updates": 0, "violations": 0, "failures": 0, **upkeep}
    return {
        "output": {
            "facts": [{"age": age, "updates": updates, "shown": shown} for age, updates, shown in facts],
            "sections": [{"name": "memory", "tokens": tokens, "budget": 500, "cut": cut}],
            "upkeep": kept,
        }
    }


def test_retention_sections_upkeep_and_latencies() -> None:
    rows = [
        row((3, 0, True), (12, 2, False), tokens=20, appends_ms=[1.0, 3.0], updates_ms=[8.0], updates=1),
        row((12, 2, True), tokens=40, cut="1 sentence", appends_ms=[2.0], violations=1, failures=2),
        {"output": None},  # a case that failed before it had one
    ]
    found = sums(rows)
    memory = found["memory"]
    by_turns = {bin["label"]: (bin["n"], bin["share"]) for bin in memory["retention"]["turns"] if bin["n"]}
    by_updates = {bin["label"]: (bin["n"], bin["share"]) for bin in memory["retention"]["updates"] if bin["n"]}
    assert by_turns == {"0-4": (1, 1.0), "10-19": (2, 0.5)}
    assert by_updates == {"0": (1, 1.0), "2": (2, 0.5)}
    assert memory["sections"] == {"memory": {"tokens": 30.0, "budget": 500, "cut": 1}}
    assert memory["upkeep"] == {"appends": 3, "updates": 1, "violations": 1, "failures": 2}
    latency = found["timing"]["latency"]
    assert latency["append"] == {"p50_ms": 2.0, "p95_ms": pytest.approx(2.9), "n": 3}
    assert latency["update"] == {"p50_ms": 8.0, "p95_ms": 8.0, "n": 1}


def test_what_is_sent_to_a_model_is_a_mean_where_one_is_asked() -> None:
    rows = [row(), row()]
    assert "sent_tokens" not in sums(rows)["memory"]
    for entry, tokens in zip(rows, (100, 300), strict=True):
        entry["output"]["sent_tokens"] = tokens
    assert sums(rows)["memory"]["sent_tokens"] == 200.0


def test_one_probe() -> None:
    assert sums([row(tokens=7, cut="1 turn")])["memory"]["sections"] == {
        "memory": {"tokens": 7.0, "budget": 500, "cut": 1}
    }


def test_without_rows() -> None:
    found = sums([])
    assert found["timing"] == {"latency": {}}
    assert found["memory"]["sections"] == {}
    assert all(bin["share"] is None for bins in found["memory"]["retention"].values() for bin in bins)
