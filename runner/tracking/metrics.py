"""The numbers of a run, under the names by which a tracking store lists them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from runner.metrics.metric import Catalogue
from runner.report.trust import agreements, healths
from runner.report.usage import of_a_case, total, uses


def metrics_of(summary: Mapping[str, Any], slices: Collection[str], catalogue: Catalogue) -> dict[str, float]:
    """Every metric, the ends of the main intervals, latencies, cost, what the judge is worth, headlines by slice.

    Stores list metrics by name: what is not a metric of the whole (`time.`, `via.` a leg of a fusion,
    `where.` a slice) is named so that it comes after those that are.
    """
    metrics = summary.get("metrics") or {}
    found = {_metric_name(name): entry.get("value") for name, entry in metrics.items()}
    for name in _with_interval(metrics, catalogue):
        for end in ("ci_low", "ci_high"):
            found[f"{name}_{end}"] = (metrics.get(name) or {}).get(end)
    for stage, entry in ((summary.get("timing") or {}).get("latency") or {}).items():
        for percentile in ("p50_ms", "p95_ms"):
            found[f"time.{stage}_{percentile}"] = entry.get(percentile)
    found |= {**_cost(summary), **_judge(summary)}
    found |= _sliced(summary.get("slices") or {}, slices, catalogue.headlines(metrics))
    return {name: float(value) for name, value in found.items() if value is not None}


def _with_interval(names: Collection[str], catalogue: Catalogue) -> list[str]:
    """The headlines, and what is cut off at k."""
    variants = [catalogue.variant(name) for name in names]
    at_k = (each.name for each in variants if each.metric is not None and each.is_whole and each.is_own_k)
    return list(dict.fromkeys([*at_k, *catalogue.headlines(names)]))


def _cost(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Tokens are those of live requests, but `case_tokens`. USD are None where a price is unknown."""
    found, case = uses(summary), of_a_case(summary)
    if not found:
        return {}
    live, cached = total(use.live for use in found), total(use.cached for use in found)
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
    """The worst of all rubrics; each stands in summary.json."""
    checks, votes = healths(summary), [each for each in agreements(summary) if each.judge is None]
    rates = {
        f"judge_{name}_rate": max((rate.share for check in checks if (rate := getattr(check, name)).n), default=None)
        for name in ("false_accept", "false_reject", "injection")
    }
    alphas = [each.alpha for each in votes if each.alpha is not None]
    noises = [each.noise_sd for each in votes if each.noise_sd is not None]
    return {**rates, "judge_alpha": min(alphas, default=None), "judge_noise_sd": max(noises, default=None)}


def _metric_name(name: str) -> str:
    part, _, metric = name.partition("/")
    return f"via.{part}.{metric}" if metric else name


def _sliced(slices: Mapping[str, Any], wanted: Collection[str], names: Collection[str]) -> dict[str, float | None]:
    return {
        f"where.{dimension}.{group}.{name}": (entries.get(name) or {}).get("value")
        for dimension, groups in slices.items()
        if dimension in wanted
        for group, entries in groups.items()
        for name in names
    }
