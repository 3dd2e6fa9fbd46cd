"""Values that a run must reach by itself, without a baseline: `threshold.right=0.8`, `threshold.language.ko.right=0.7`.

A threshold is a lower limit of a metric that is better when higher, and an upper limit of one that is better when
lower. It is held against the mean in summary.json, over all cases or those of one slice.

    passed        the mean reaches the limit; exactly the limit is enough
    not_reached   it does not
    no_value      no case has a value, so that nothing shows that the limit is reached: it counts as not reached
    undecided     fewer than half of the cases are decided: neither reached nor missed
    unknown       the run has no such metric or slice
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from runner.errors import Problem, did_you_mean
from runner.metrics.metric import MIN_DECIDED, Catalogue, Direction, K

Status = Literal["passed", "not_reached", "no_value", "undecided", "unknown"]
KEY = "threshold"
RECORDS = "thresholds"  # the key of summary.json
DIMENSIONS = ("language", "difficulty", "tag", "team", "domain")
ROUNDING = 1e-9
FORMS = f"expected {KEY}.METRIC=NUMBER or {KEY}.DIMENSION.VALUE.METRIC=NUMBER"

_PLAIN = re.compile(r"[A-Za-z_][0-9A-Za-z_-]*|0|[1-9][0-9]*")
_LETTER = re.compile(r"[0-9A-Za-z_$-]")
_ESCAPED = re.compile(r"\$([0-9a-f]{2,6})\$")


@dataclass(frozen=True, slots=True)
class Threshold:
    """`dimension` and `value` of a slice are empty for all cases."""

    metric: str
    limit: float
    dimension: str = ""
    value: str = ""

    @property
    def key(self) -> str:
        """The key of the setting, with its slice where it has one."""
        return ".".join(filter(None, (KEY, self.dimension, self.value, self.metric)))


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a threshold for a run; `problem`: why it is unknown."""

    metric: str
    dimension: str
    slice: str
    limit: float
    direction: Direction | None
    status: Status
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n: int = 0
    n_scored: int = 0
    problem: str = ""


# --- as they are written ----------------------------------------------------------------------------


def escape_key(key: str) -> str:
    """A dotted key as Hydra's grammar takes it: names of slices are words of any script, with blanks."""
    return ".".join(map(_escape_name, key.split(".")))


def _escape_name(name: str) -> str:
    if not name or _PLAIN.fullmatch(name):
        return name
    letters = (letter if _LETTER.fullmatch(letter) else f"${ord(letter):02x}$" for letter in name[1:])
    first = name[0] if re.fullmatch(r"[A-Za-z_$]", name[0]) else f"${ord(name[0]):02x}$"
    return first + "".join(letters)


def unescape_key(key: str) -> str:
    """The name that a key stands for: `$xx$` is the character of this code in hexadecimal."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), key)


def read(tree: Mapping[Any, Any]) -> tuple[list[Threshold], list[Problem]]:
    """Read the mapping `threshold` of a configuration.

    Args:
        tree: metric -> value, or dimension -> slice -> metric -> value; null entries are ignored.

    Returns:
        The thresholds, and problems of the mapping.
    """
    thresholds: list[Threshold] = []
    problems: list[Problem] = []
    for path, limit in _leaves(tree, ()):
        key = ".".join((KEY, *path))
        dimension, value, metric = path[0], ".".join(path[1:-1]), path[-1]
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not math.isfinite(limit):
            one = "; a threshold is one number, and no sweep goes over it" if "," in str(limit) else ""
            problems.append(Problem(key, f"expected a number, got {limit!r}{one}"))
        elif len(path) == 1:
            thresholds.append(Threshold(metric, float(limit)))
        elif dimension not in DIMENSIONS:
            problems.append(
                Problem(key, f"{FORMS}; no slices go by '{dimension}'{did_you_mean(dimension, DIMENSIONS)}")
            )
        elif not value:
            problems.append(Problem(key, FORMS))
        else:
            thresholds.append(Threshold(metric, float(limit), dimension, value))
    return thresholds, problems


def _leaves(given: Mapping[Any, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in given.items():
        inner = (*path, unescape_key(str(name)))
        if isinstance(value, Mapping):
            yield from _leaves(value, inner)
        elif value is not None:
            yield inner, value


# --- before a run -----------------------------------------------------------------------------------


def metric_problems(thresholds: Sequence[Threshold], catalogue: Catalogue, cutoffs: Sequence[int]) -> Iterator[Problem]:
    """The faults of thresholds that the metrics declared by an evaluation reveal."""
    for threshold in thresholds:
        variant = catalogue.variant(catalogue.normal_name(threshold.metric))
        if (problem := name_problem(threshold.key, threshold.metric, catalogue, cutoffs)) is not None:
            yield problem
        elif not variant.range[0] <= threshold.limit <= variant.range[1]:
            low, high = (f"{end:g}" for end in variant.range)
            yield Problem(threshold.key, f"'{threshold.metric}' goes from {low} to {high}, got {threshold.limit:g}")


def name_problem(key: str, name: str, catalogue: Catalogue, cutoffs: Sequence[int]) -> Problem | None:
    """The fault of a metric that a setting names, in any form that `Catalogue.normal_name` reads; it must have a
    direction."""
    variant, names = catalogue.variant(catalogue.normal_name(name)), _names(catalogue, cutoffs)
    if variant.metric is None:
        near = did_you_mean(name, [*names, *catalogue.spellings])
        meant = near if "did you mean" in near else f"; declared are {', '.join(names)}"
        return Problem(key, f"nothing declares which way '{name}' is better{meant}")
    if variant.direction is None:
        return Problem(key, f"'{name}' is better neither when higher nor when lower")
    if variant.fixed is not None and variant.fixed not in cutoffs:
        return Problem(key, f"the run has no cutoff {variant.fixed}; cutoffs={list(cutoffs)}, or _at_{K}")
    return None


def _names(catalogue: Catalogue, cutoffs: Sequence[int]) -> list[str]:
    """How summaries call the metrics that have a direction."""
    names = []
    for metric in catalogue.metrics:
        if metric.better != "neither":
            ends = (K, *cutoffs) if metric.has_cutoffs else ()
            names += [f"{metric.in_summaries}_at_{end}" for end in ends] or [metric.in_summaries]
    return names


def slice_problems(thresholds: Sequence[Threshold], labels: Mapping[str, Collection[str]]) -> Iterator[Problem]:
    """Slices without any case. `labels`: by dimension, those of the cases."""
    for threshold in thresholds:
        known = labels.get(threshold.dimension)
        if threshold.dimension and known is not None and threshold.value not in known:
            yield Problem(threshold.key, _no_slice(threshold, known))


def _no_slice(threshold: Threshold, known: Collection[str]) -> str:
    near = did_you_mean(threshold.value, known) or f"; no case has a {threshold.dimension}"
    return f"no case has the {threshold.dimension} '{threshold.value}'{near}"


# --- after a run ------------------------------------------------------------------------------------


def check(thresholds: Sequence[Threshold], summary: Mapping[str, Any], catalogue: Catalogue) -> list[dict[str, Any]]:
    """Compare a summary with thresholds.

    Args:
        thresholds: values that a run is to reach.
        summary: the content of summary.json.
        catalogue: the metrics of the run.

    Returns:
        One record a threshold, for `thresholds` of summary.json.
    """
    return [asdict(_result(threshold, summary, catalogue)) for threshold in thresholds]


def _result(threshold: Threshold, summary: Mapping[str, Any], catalogue: Catalogue) -> Result:
    variant = catalogue.variant(catalogue.normal_name(threshold.metric))
    place = (threshold.dimension, threshold.value, threshold.limit, variant.direction)
    estimates: Mapping[str, Any] = summary.get("metrics") or {}
    if threshold.dimension:
        slices = (summary.get("slices") or {}).get(threshold.dimension) or {}
        if threshold.value not in slices:
            problem = f"{threshold.key}: {_no_slice(threshold, slices)}"
            return Result(threshold.metric, *place, "unknown", problem=problem)
        estimates = slices[threshold.value]
    if variant.direction is None:
        problem = f"{threshold.key}: nothing declares which way '{threshold.metric}' is better"
        return Result(threshold.metric, *place, "unknown", problem=problem)
    name = catalogue.name_among(threshold.metric, estimates)
    if name is None and (variant.part or variant.is_own_k):
        problem = f"{threshold.key}: the run has no metric '{threshold.metric}'"
        problem += did_you_mean(threshold.metric, estimates)
        return Result(threshold.metric, *place, "unknown", problem=problem)
    metric = name or threshold.metric
    estimate = estimates.get(metric) or {}
    value, n_undecided = estimate.get("value"), int(estimate.get("undecided") or 0)
    if n_undecided > (1 - MIN_DECIDED) * (n_undecided + int(estimate.get("n_scored") or 0)):
        return Result(metric, *place, "undecided", value, n=int(estimate["n"]), n_scored=int(estimate["n_scored"]))
    if value is None:
        return Result(metric, *place, "no_value", n=int(estimate.get("n") or 0))
    distance = value - threshold.limit if variant.direction == "higher" else threshold.limit - value
    status: Status = "passed" if distance >= -ROUNDING else "not_reached"
    counts = int(estimate["n"]), int(estimate.get("n_scored", estimate["n"]))
    return Result(metric, *place, status, value, estimate.get("ci_low"), estimate.get("ci_high"), *counts)


def exit_code(records: Sequence[Mapping[str, Any]]) -> int:
    """Args:
        records: what `check` returned.

    Returns:
        1 where a threshold names what the run does not have, 4 where one is not reached, else 0.
    """
    statuses = {record["status"] for record in records}
    return 1 if "unknown" in statuses else 4 if statuses & {"not_reached", "no_value"} else 0
