"""The numbers of a run, under the names by which a tracking store lists them: its headline metrics, and the table of
all metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from runner.metrics.metric import Catalogue, Variant
from runner.report.trust import agreements, healths
from runner.report.usage import of_a_case, total, uses

HEADLINES = 8  # metrics; with cost and latency about ten
COST = ("case_cost_usd", "cost_usd")
LATENCY = ("time.case_p50_ms", "time.case_p95_ms")
COLUMNS = ("metric", "value", "low", "high", "n_scored", "n")  # of the table


def headlines_of(summary: Mapping[str, Any], catalogue: Catalogue, added: Collection[str] = ()) -> dict[str, float]:
    """The headline numbers of a run: its headline metrics, the metrics `added` by the group `metric`, its cost, the
    duration of a case. A store draws a chart of each. Where no metric is declared a headline, the first metrics are
    taken."""
    metrics = summary.get("metrics") or {}
    names = (catalogue.headlines(metrics) or list(metrics))[:HEADLINES]
    names += [name for name in metrics if _is_one_of(catalogue.variant(name), added)]
    values = {name: (metrics.get(name) or {}).get("value") for name in names}
    cost, latency = _cost(summary), _latency(summary)
    values |= {name: cost.get(name) for name in COST}
    values |= {name: latency.get(name) for name in LATENCY}
    return {_name(name): float(value) for name, value in values.items() if value is not None}


def _is_one_of(variant: Variant, added: Collection[str]) -> bool:
    return variant.base in added and variant.is_whole and variant.fixed is None


def table_of(summary: Mapping[str, Any], slices: Collection[str], catalogue: Catalogue) -> Iterator[list[Any]]:
    """A row of COLUMNS for every number: all metrics, latencies, cost, what the judge is worth, headlines by slice.

    What is not a metric of the whole (`time.`, `via.` a leg of a fusion, `where.` a slice) is named so that it comes
    after those that are, in a store that sorts by name.
    """
    metrics = summary.get("metrics") or {}
    entries = {_name(name): entry for name, entry in metrics.items()}
    numbers = {**_latency(summary), **_cost(summary), **_judge(summary)}
    entries |= {name: {"value": value} for name, value in numbers.items()}
    entries |= _slices(summary.get("slices") or {}, slices, catalogue.headlines(metrics))
    for name, entry in entries.items():
        if entry.get("value") is not None:
            yield [name, *(entry.get(key) for key in ("value", "ci_low", "ci_high", "n_scored", "n"))]


def _latency(summary: Mapping[str, Any]) -> dict[str, float | None]:
    stages = (summary.get("timing") or {}).get("latency") or {}
    return {f"time.{stage}_{name}": entry.get(name) for stage, entry in stages.items() for name in ("p50_ms", "p95_ms")}


def _cost(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Tokens are those of live requests, but `case_tokens`. USD are None where a price is unknown."""
    all_uses, case = uses(summary), of_a_case(summary)
    if not all_uses:
        return {}
    live, cached = total(use.live for use in all_uses), total(use.cached for use in all_uses)
    return {
        **({} if case is None else {"case_cost_usd": case[0], "case_tokens": case[1]}),
        "cost_usd": None if live.unpriced else live.usd,
        "cost_saved_usd": None if cached.unpriced else cached.usd,
        "requests_live": live.requests,
        "requests_cached": cached.requests,
        "input_tokens": live.input_tokens,
        "output_tokens": live.output_tokens,
    }


def _judge(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """The worst of all rubrics; summary.json has each of them."""
    checks, votes = healths(summary), [agreement for agreement in agreements(summary) if agreement.judge is None]
    rates = {
        f"judge_{name}_rate": max((rate.share for check in checks if (rate := getattr(check, name)).n), default=None)
        for name in ("false_accept", "false_reject", "injection")
    }
    alphas = [agreement.alpha for agreement in votes if agreement.alpha is not None]
    noises = [agreement.noise_sd for agreement in votes if agreement.noise_sd is not None]
    return {**rates, "judge_alpha": min(alphas, default=None), "judge_noise_sd": max(noises, default=None)}


def _name(name: str) -> str:
    part, _, metric = name.partition("/")
    return f"via.{part}.{metric}" if metric else name


def _slices(
    slices: Mapping[str, Any], dimensions: Collection[str], names: Collection[str]
) -> dict[str, Mapping[str, Any]]:
    return {
        f"where.{dimension}.{group}.{name}": entries.get(name) or {}
        for dimension, groups in slices.items()
        if dimension in dimensions
        for group, entries in groups.items()
        for name in names
    }
