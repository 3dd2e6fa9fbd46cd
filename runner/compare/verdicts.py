"""From numbers to a verdict.

better, worse   p below .05 after Holm's adjustment. p alone decides: the 95 % interval inverts the same test, so that
                it excludes 0 exactly where p before the adjustment is below .05 (runner.metrics.paired)
within_noise    a 95 % interval within the margin (a share of the metric's range) around 0: the difference is too small
                to matter; or no case differs
inconclusive    neither of these: the runs may differ by more than the margin, or not at all
too_few         fewer than ten pairs of cases, or fewer than six clusters of them (documents, conversations)
undecided       fewer than half of the cases of a run are decided
not_judged      the runs can be compared, but none of their metrics declares a direction

The verdict on two runs follows the first of their main metrics: Correct if the evaluation has answers, recall if
it only retrieves. A change is better only if that metric is better, or if it is not worse by more than the margin while
another main metric is better. If that metric is worse, the change is worse, whatever else improved.

Metrics declare whether they are main metrics (runner.metrics.metric). Of a metric with cutoffs, the one at k counts if
both runs have the same k, else the one at the largest fixed cutoff that both have. If an evaluation declares no main
metric, all of its metrics are main metrics; if it declares some and none is comparable, there is no verdict. A metric
without a direction has no verdict, and is no main metric.

p is adjusted in families (FAMILIES), each over all candidates of a comparison or all runs of a sweep: the first main
metric by itself, since it was chosen before the results were seen; the other main metrics together; all other metrics
together; and those of the legs of a fusion. A comparison of two runs of a sweep makes fewer tests than the sweep, so it
never finds less than the sweep did. A metric that is the same in every case is no test and does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from runner.metrics import paired
from runner.metrics.metric import Catalogue, Variant
from runner.metrics.paired import PairedResult
from runner.metrics.swaps import ALPHA

Verdict = Literal["better", "worse", "within_noise", "inconclusive", "too_few", "undecided"]
Role = Literal["main", "other", "leg"]
Family = Literal["first", "main", "other", "leg"]
Overall = Literal[
    "better", "worse", "mixed", "within_noise", "inconclusive", "too_few", "undecided", "not_comparable", "not_judged"
]

FAMILIES: tuple[Family, ...] = ("first", "main", "other", "leg")


def main_metrics(comparable: Collection[str], catalogue: Catalogue, all_metrics: Collection[str] = ()) -> list[str]:
    """Args:
        comparable: names of comparable metrics.
        catalogue: their records.
        all_metrics: names of all metrics of the runs.

    Returns:
        The main metrics among the comparable ones, in order.
    """
    found = _main(comparable, catalogue)
    if found or _main(all_metrics, catalogue):
        return found
    return sorted(name for name in comparable if catalogue.direction(name) is not None)


def _main(comparable: Collection[str], catalogue: Catalogue) -> list[str]:
    variants = [catalogue.variant(name) for name in comparable]
    main = [variant for variant in variants if variant.is_main and _stands_with(variant, comparable)]
    full_depth = [variant for variant in main if variant.fixed is None and not variant.is_own_k]
    at_k = [variant for variant in main if variant.is_own_k]
    if not at_k:
        largest = max((variant.fixed or 0 for variant in main), default=0)
        at_k = [variant for variant in main if variant.fixed == largest]
    return catalogue.in_order(variant.name for variant in (*at_k, *full_depth))


def _stands_with(variant: Variant, comparable: Collection[str]) -> bool:
    """Whether the metric that it accompanies has values: without unanswerable questions, metrics of recognising them
    count only false alarms."""
    beside = "" if variant.metric is None else variant.metric.main_beside
    return not beside or beside in comparable


@dataclass(frozen=True, slots=True)
class Adjusted:
    """p, adjusted (Holm) for a number of tests."""

    p: float
    tests: int

    @property
    def is_significant(self) -> bool:
        """Whether the difference is more than chance."""
        return self.p < ALPHA


def adjust(results: Sequence[PairedResult]) -> list[Adjusted]:
    """The p values adjusted together (Holm), in order; 1 where no case differs, which is no test."""
    tests = [place for place, numbers in enumerate(results) if numbers.differs]
    chances = [1.0] * len(results)
    for place, p in zip(tests, paired.holm([results[place].p for place in tests]), strict=True):
        chances[place] = p
    return [Adjusted(p, max(1, len(tests))) for p in chances]


def verdict(metric: Variant, numbers: PairedResult, adjusted: Adjusted, margin: float) -> Verdict | None:
    """Args:
        metric: its record.
        numbers: the paired comparison.
        adjusted: its p.
        margin: the least difference that counts, a share of the range of the metric.

    Returns:
        The verdict on the metric; None for a metric without a direction.
    """
    if metric.direction is None:
        return None
    if not numbers.is_enough:
        return "too_few"
    if adjusted.is_significant:
        return "better" if (numbers.difference > 0) == (metric.direction == "higher") else "worse"
    if not numbers.differs or numbers.is_within(margin * metric.span):
        return "within_noise"
    return "inconclusive"


def holds(metric: Variant, numbers: PairedResult, margin: float) -> bool:
    """Whether the candidate is not worse by more than the margin, with 95 % confidence."""
    end = numbers.low if metric.direction == "higher" else numbers.high
    if not numbers.differs or end is None:
        return not numbers.differs
    return (end if metric.direction == "higher" else -end) >= -margin * metric.span


def overall(verdicts: Sequence[Verdict], *, first_holds: bool) -> Overall:
    """Args:
        verdicts: of the main metrics, the deciding one first.
        first_holds: whether that one is not worse (`holds`).

    Returns:
        The overall verdict.
    """
    if not verdicts:
        return "not_comparable"
    first = verdicts[0]
    if first == "undecided":
        return "undecided"
    if "worse" in verdicts:
        return "mixed" if "better" in verdicts and first != "worse" else "worse"
    if first == "better" or ("better" in verdicts and first_holds and first != "too_few"):
        return "better"
    if first == "too_few":
        return "too_few"
    return "within_noise" if set(verdicts) <= {"within_noise", "too_few"} else "inconclusive"
