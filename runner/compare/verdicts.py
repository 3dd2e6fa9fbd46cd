"""From numbers to a verdict.

better, worse   p below .05 after Holm's adjustment, and the 95 % interval excludes 0
within_noise    the 95 % interval lies within the margin (a share of the metric's range) around 0: too small a
                difference to matter, whatever it is; or no case differs
inconclusive    neither: the runs may differ by more than the margin, or not at all

The verdict on two runs is that on their main metrics, which are adjusted together, over all candidates of one
comparison: those that say so of themselves (runner.metrics.metric), of those with cutoffs the ones at k where both
runs have the same k, else at the largest fixed cutoff of both. Where an evaluation has none, all of its metrics are
main metrics; where it has some and none is comparable, there is no verdict. A metric of which nothing says whether
more of it is better has no verdict, and is no main metric. All other metrics are adjusted among themselves, and so
are those of the legs of a fusion. A metric that is the same in every case is no test and does not count.

not_judged      the runs can be compared, and no metric of theirs says which way it is better
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from runner.metrics import paired
from runner.metrics.metric import Catalogue, Variant
from runner.metrics.paired import Paired

Verdict = Literal["better", "worse", "within_noise", "inconclusive"]
Role = Literal["main", "other", "leg"]
Overall = Literal["better", "worse", "mixed", "within_noise", "inconclusive", "not_comparable", "not_judged"]

ALPHA = 0.05


def main_metrics(comparable: Collection[str], catalogue: Catalogue, known: Collection[str] = ()) -> list[str]:
    """Of the metrics that can be compared, in order. `known`: those that the runs have, comparable or not."""
    found = _main(comparable, catalogue)
    if found or _main(known, catalogue):
        return found
    return sorted(name for name in comparable if catalogue.direction(name) is not None)


def _main(comparable: Collection[str], catalogue: Catalogue) -> list[str]:
    variants = [catalogue.variant(name) for name in comparable]
    main = [each for each in variants if each.is_main and _stands_with(each, comparable)]
    whole = [each for each in main if each.fixed is None and not each.is_own_k]
    cut = [each for each in main if each.is_own_k]
    if not cut:
        largest = max((each.fixed or 0 for each in main), default=0)
        cut = [each for each in main if each.fixed == largest]
    return catalogue.in_order(each.name for each in (*cut, *whole))


def _stands_with(variant: Variant, comparable: Collection[str]) -> bool:
    """Whether what it is a main metric beside has values: where no question is unanswerable, all that there is to say
    of recognising such questions is false alarms."""
    beside = "" if variant.metric is None else variant.metric.main_beside
    return not beside or beside in comparable


def adjusted(found: Sequence[Paired]) -> list[float]:
    """p values adjusted for each other (Holm), in order; 1 where no case differs."""
    tests = [place for place, numbers in enumerate(found) if numbers.differs]
    chances = [1.0] * len(found)
    for place, p in zip(tests, paired.holm([found[place].p for place in tests]), strict=True):
        chances[place] = p
    return chances


def verdict(metric: Variant, numbers: Paired, p_holm: float, margin: float) -> Verdict | None:
    """None where nothing says which way the metric is better."""
    if metric.direction is None:
        return None
    if p_holm < ALPHA and numbers.leaves_out_zero:
        return "better" if (numbers.difference > 0) == (metric.direction == "higher") else "worse"
    if not numbers.differs or numbers.is_within(margin * metric.span):
        return "within_noise"
    return "inconclusive"


def overall(verdicts: Iterable[Verdict]) -> Overall:
    found: Sequence[Verdict] = list(verdicts)
    if not found:
        return "not_comparable"
    if "better" in found and "worse" in found:
        return "mixed"
    for each in ("worse", "better"):
        if each in found:
            return each
    return "within_noise" if set(found) == {"within_noise"} else "inconclusive"
