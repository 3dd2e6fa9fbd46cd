"""From numbers to a verdict.

better, worse   p below .05 after Holm's adjustment, and the 95 % interval excludes 0
within_noise    the 95 % interval lies within the margin (a share of the metric's range) around 0: too small a
                difference to matter, whatever it is; or no case differs
inconclusive    neither: the runs may differ by more than the margin, or not at all
too_few         fewer than ten pairs, which tell nothing

The verdict on two runs follows the first of their main metrics (Answered Right where something is answered, recall
where documents are only looked for). A change is better only where that one is better, or is not worse by more than the
margin while another one is better; where it is worse the change is worse, whatever else was gained.

Main metrics are those that say so of themselves (runner.metrics.metric), of those with cutoffs the ones at k where both
runs have the same k, else at the largest fixed cutoff of both. Where an evaluation has none, all of its metrics are
main metrics; where it has some and none is comparable, there is no verdict. A metric of which nothing says whether more
of it is better has no verdict, and is no main metric.

p is adjusted in families (FAMILIES), each over all candidates of a comparison or all runs of a sweep: the first main
metric for itself, since it was chosen before anybody looked; the other main metrics together; all other metrics
together; and those of the legs of a fusion. A comparison of two runs of a sweep makes fewer tests than the sweep, so it
never finds less than the sweep did. A metric that is the same in every case is no test and does not count.

not_judged      the runs can be compared, and no metric of theirs says which way it is better
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from runner.metrics import paired
from runner.metrics.metric import Catalogue, Variant
from runner.metrics.paired import FEWEST, PairedResult

Verdict = Literal["better", "worse", "within_noise", "inconclusive", "too_few"]
Role = Literal["main", "other", "leg"]
Family = Literal["first", "main", "other", "leg"]
Overall = Literal["better", "worse", "mixed", "within_noise", "inconclusive", "too_few", "not_comparable", "not_judged"]

ALPHA = 0.05
FAMILIES: tuple[Family, ...] = ("first", "main", "other", "leg")


def main_metrics(comparable: Collection[str], catalogue: Catalogue, known: Collection[str] = ()) -> list[str]:
    """Args:
        comparable: names of comparable metrics.
        catalogue: their records.
        known: names of all metrics of the runs.

    Returns:
        The main metrics among the comparable ones, in order.
    """
    found = _main(comparable, catalogue)
    if found or _main(known, catalogue):
        return found
    return sorted(name for name in comparable if catalogue.direction(name) is not None)


def _main(comparable: Collection[str], catalogue: Catalogue) -> list[str]:
    variants = [catalogue.variant(name) for name in comparable]
    main = [variant for variant in variants if variant.is_main and _stands_with(variant, comparable)]
    whole = [variant for variant in main if variant.fixed is None and not variant.is_own_k]
    cut = [variant for variant in main if variant.is_own_k]
    if not cut:
        largest = max((variant.fixed or 0 for variant in main), default=0)
        cut = [variant for variant in main if variant.fixed == largest]
    return catalogue.in_order(variant.name for variant in (*cut, *whole))


def _stands_with(variant: Variant, comparable: Collection[str]) -> bool:
    """Whether the metric that it accompanies has values: without unanswerable questions, metrics of recognising them
    count only false alarms."""
    beside = "" if variant.metric is None else variant.metric.main_beside
    return not beside or beside in comparable


def adjust(found: Sequence[PairedResult]) -> list[float]:
    """The p values adjusted together (Holm), in order; 1 where no case differs."""
    tests = [place for place, numbers in enumerate(found) if numbers.differs]
    chances = [1.0] * len(found)
    for place, p in zip(tests, paired.holm([found[place].p for place in tests]), strict=True):
        chances[place] = p
    return chances


def verdict(metric: Variant, numbers: PairedResult, p_holm: float, margin: float) -> Verdict | None:
    """Args:
        metric: its record.
        numbers: the paired comparison.
        p_holm: p, adjusted.
        margin: the least difference that counts, a share of the range of the metric.

    Returns:
        The verdict on the metric; None for a metric without a direction.
    """
    if metric.direction is None:
        return None
    if numbers.n < FEWEST:
        return "too_few"
    if p_holm < ALPHA and numbers.leaves_out_zero:
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
    if "worse" in verdicts:
        return "mixed" if "better" in verdicts and first != "worse" else "worse"
    if first == "better" or ("better" in verdicts and first_holds and first != "too_few"):
        return "better"
    if first == "too_few":
        return "too_few"
    return "within_noise" if set(verdicts) <= {"within_noise", "too_few"} else "inconclusive"
