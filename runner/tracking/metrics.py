"""The numbers of a run, under the names by which a tracking store lists them.

What heads the screens has a plain name. All else stands in groups, which a store folds:

    right                      a headline metric, or one that the configuration added
    right/low, right/high      the bounds of its interval
    right/undecided            cases that nothing could decide; right/if_lowest and right/if_highest: its value if all
                               of them counted lowest, or highest
    answers/exact_match        another metric of the whole run, in the group of the metric
    cutoff/recall_at_10        at a fixed cutoff
    leg/keyword/recall_at_k    of a part: a leg of a fusion, chunks, a baseline
    slice/language/ko/right    a headline metric in a slice
    time/, cost/, judge/, cases/   milliseconds and seconds; USD, tokens and requests; control items and votes; counts
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.metrics.metric import Catalogue, Variant
from runner.report.trust import agreements, healths
from runner.report.usage import of_a_case, total, uses

MAX_HEADLINES = 8  # metrics; with cost and latency about ten
HEADLINE_COST = ("cost/case_usd", "cost/usd")
HEADLINE_TIME = ("time/case_p50_ms", "time/case_p95_ms")
COLUMNS = ("metric", "value", "low", "high", "n_scored", "n")  # of the table
LOW, HIGH = "low", "high"


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a run: its value, and, of a mean, the bounds of its interval, the cases that have a value and all
    cases that it is about."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    n_scored: int | None = None
    n: int | None = None

    @property
    def row(self) -> list[Any]:
        """Its row in a table of COLUMNS."""
        return [self.name, self.value, self.low, self.high, self.n_scored, self.n]


@dataclass(frozen=True, slots=True)
class RunNumbers:
    """`headline`: what stands for the run where there is no room for all; `rest`: all other numbers."""

    headline: Sequence[Number]
    rest: Sequence[Number]

    @property
    def metrics(self) -> dict[str, float]:
        """Every number by name, the headline first, and the bounds of its intervals."""
        values = {number.name: number.value for number in self.headline}
        for number in self.headline:
            bounds = {f"{number.name}/{LOW}": number.low, f"{number.name}/{HIGH}": number.high}
            values |= {name: bound for name, bound in bounds.items() if bound is not None}
        return values | {number.name: number.value for number in self.rest}

    @property
    def table(self) -> list[list[Any]]:
        """A row of COLUMNS for every number."""
        return [number.row for number in (*self.headline, *self.rest)]


def numbers_of(
    summary: Mapping[str, Any], slices: Collection[str], catalogue: Catalogue, added: Collection[str] = ()
) -> RunNumbers:
    """All numbers of a run that have a value.

    Args:
        summary: summary.json of the run.
        slices: the dimensions of which the headline metrics are kept by slice.
        catalogue: the metrics that the run declares. Where none is declared a headline, the first metrics are taken.
        added: the choices of the group `metric`, which head the run too.
    """
    metrics: Mapping[str, Mapping[str, Any]] = summary.get("metrics") or {}
    main = (catalogue.headlines(metrics) or list(metrics))[:MAX_HEADLINES]
    main += [name for name in metrics if name not in main and _is_one_of(catalogue.variant(name), added)]
    named = {name: logged_name(catalogue.variant(name), main) for name in [*main, *metrics]}
    numbers = {logged: metrics[name] for name, logged in named.items()}
    numbers |= _slices(summary.get("slices") or {}, slices, main)
    plain = _undecided(metrics) | _latency(summary) | _cost(summary) | _judge(summary) | _cases(summary)
    numbers |= {name: {"value": value} for name, value in plain.items()}
    found = [_number(name, entry) for name, entry in numbers.items() if _is_number(entry.get("value"))]
    heads = {*main, *HEADLINE_COST, *HEADLINE_TIME}
    return RunNumbers(
        [number for number in found if number.name in heads], [number for number in found if number.name not in heads]
    )


def _number(name: str, entry: Mapping[str, Any]) -> Number:
    low, high = entry.get("ci_low"), entry.get("ci_high")
    return Number(name, float(entry["value"]), low, high, entry.get("n_scored"), entry.get("n"))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _is_one_of(variant: Variant, added: Collection[str]) -> bool:
    return variant.base in added and variant.is_whole and variant.fixed is None


def logged_name(variant: Variant, headline: Collection[str]) -> str:
    """The name under which a metric of summary.json is logged."""
    if variant.name in headline:
        return variant.name
    if variant.part:
        return f"leg/{variant.name}"
    if variant.fixed is not None:
        return f"cutoff/{variant.name}"
    return f"{'own' if variant.metric is None else variant.metric.group}/{variant.name}"


def _undecided(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """Of each metric with undecided cases, how many there are, and its value at the ends of what they leave open."""
    names = ("undecided", "if_lowest", "if_highest")
    return {f"{name}/{part}": entry[part] for name, entry in metrics.items() for part in names if part in entry}


def _latency(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Percentiles of each stage in milliseconds, and whatever else was timed, in the unit that its name ends with."""
    timing = summary.get("timing") or {}
    stages = timing.get("latency") or {}
    parts = {f"time/{stage}_{name}": value for stage, entry in stages.items() for name, value in entry.items()}
    whole = {f"time/{name}": value for name, value in timing.items() if re.search(r"_m?s$", name)}
    return parts | whole


def _cost(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Tokens are those of live requests, but `case_tokens`. USD are None where a price is unknown."""
    all_uses, case = uses(summary), of_a_case(summary)
    if not all_uses:
        return {}
    live, cached = total(use.live for use in all_uses), total(use.cached for use in all_uses)
    return {
        **({} if case is None else {"cost/case_usd": case[0], "cost/case_tokens": case[1]}),
        "cost/usd": None if live.unpriced else live.usd,
        "cost/saved_usd": None if cached.unpriced else cached.usd,
        "cost/requests_live": live.requests,
        "cost/requests_cached": cached.requests,
        "cost/input_tokens": live.input_tokens,
        "cost/output_tokens": live.output_tokens,
    }


def _judge(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Rates of wrong judgements of control items, and the agreement of votes: the worst of all rubrics, and each."""
    checks, votes = healths(summary), [agreement for agreement in agreements(summary) if agreement.judge is None]
    rates: dict[str, float | None] = {}
    for name in ("false_accept", "false_reject", "injection"):
        shares = {check.rubric: rate.share for check in checks if (rate := getattr(check, name)).n}
        rates[f"judge/{name}_rate"] = max(shares.values(), default=None)
        rates |= {f"judge/{rubric}/{name}_rate": share for rubric, share in shares.items()}
    if clamped := summary.get("clamped_scores"):
        rates["judge/clamped_scores"] = sum(entry["n"] for entry in clamped.values())
    alphas = {agreement.rubric: agreement.alpha for agreement in votes if agreement.alpha is not None}
    noises = {agreement.rubric: agreement.noise_sd for agreement in votes if agreement.noise_sd is not None}
    rates["judge/alpha"] = min(alphas.values(), default=None)
    rates["judge/noise_sd"] = max(noises.values(), default=None)
    rates |= {f"judge/{rubric}/alpha": alpha for rubric, alpha in alphas.items()}
    return rates | {f"judge/{rubric}/noise_sd": noise for rubric, noise in noises.items()}


def _cases(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """How many cases there are in each state, and in each class of each count: `cases/lost_at/wrong_answer`."""
    counts = {f"cases/{name}": count for name, count in (summary.get("cases") or {}).items()}
    for kind, classes in (summary.get("counts") or {}).items():
        counts |= {f"cases/{kind}/{name}": count for name, count in classes.items()}
    return counts


def _slices(
    slices: Mapping[str, Any], dimensions: Collection[str], names: Collection[str]
) -> dict[str, Mapping[str, Any]]:
    return {
        f"slice/{dimension}/{str(group).replace('/', '_')}/{name}": entries.get(name) or {}
        for dimension, groups in slices.items()
        if dimension in dimensions
        for group, entries in groups.items()
        for name in names
    }
