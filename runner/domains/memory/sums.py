"""The part of summary.json over all probes: how long facts are kept, what was shown, the cost of keeping them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from runner.metrics.memory import Recall, retention

STAGES = {"append": "appends_ms", "update": "updates_ms"}


def sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`memory` of summary.json, and latencies of what happens between probes.

    retention   by `turns` and by `updates` since a fact was said: bins {label, n, share, low, high}
    sections    of the context: {tokens: mean, budget, cut: probes for which something was left out}
    sent_tokens mean of all that a model gets for a probe; only where one is asked
    upkeep      {appends, updates, violations, failures}, over all replays
    """
    recalls: list[Recall] = []
    sections: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    sent_tokens: list[int] = []
    upkeep = {"appends": 0, "updates": 0, "violations": 0, "failures": 0}
    times: dict[str, list[float]] = {stage: [] for stage in STAGES}
    for output in _outputs(rows):
        recalls += [Recall(fact["age"], fact["updates"], fact["shown"]) for fact in output["facts"]]
        for section in output["sections"]:
            sections[section["name"]].append(section)
        sent_tokens += [output["sent_tokens"]] if "sent_tokens" in output else []
        since = output["upkeep"]
        upkeep["appends"] += len(since["appends_ms"])
        for name in ("updates", "violations", "failures"):
            upkeep[name] += since[name]
        for stage, name in STAGES.items():
            times[stage] += since[name]
    block = {
        "retention": {by: [asdict(bin) for bin in bins] for by, bins in retention(recalls).items()},
        "sections": {name: _section(entries) for name, entries in sections.items()},
        **({"sent_tokens": sum(sent_tokens) / len(sent_tokens)} if sent_tokens else {}),
        "upkeep": upkeep,
    }
    return {"memory": block, "timing": {"latency": {stage: _percentiles(ms) for stage, ms in times.items() if ms}}}


def _outputs(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        output = row.get("output")
        if isinstance(output, Mapping) and "upkeep" in output:
            yield output


def _section(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "tokens": sum(entry["tokens"] for entry in entries) / len(entries),
        "budget": entries[0]["budget"],
        "cut": sum(bool(entry["cut"]) for entry in entries),
    }


def _percentiles(ms: Sequence[float]) -> dict[str, float | int]:
    p50, p95 = np.percentile(ms, (50, 95))
    return {"p50_ms": float(p50), "p95_ms": float(p95), "n": len(ms)}
