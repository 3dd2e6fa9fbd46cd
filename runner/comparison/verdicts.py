"""From numbers to a verdict.

better, worse   p below .05 after Holm's adjustment, and the 95 % interval excludes 0
within_noise    the 95 % interval lies within the margin (a share of the metric's range) around 0: too small a
                difference to matter, whatever it is
inconclusive    neither: the runs may differ by more than the margin, or not at all

The verdict on two runs is that on their main metrics, which are adjusted together, over all candidates of one
comparison: ranking (recall, nDCG, MRR) at k where both have the same k, else at the largest fixed cutoff of both;
recognising unanswerable questions; faithfulness, answer relevancy, what a memory shows of facts and evidence and how
it is judged, exact match and token F1. Where an evaluation has none of them, all of its metrics are main metrics;
where it has some and none is comparable, there is no verdict. All other metrics are adjusted among themselves, and so
are those of the legs of a fusion. A metric that is the same in every case is no test and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from runner import paired
from runner.metrics.direction import direction, span
from runner.paired import Paired

Verdict = Literal["better", "worse", "within_noise", "inconclusive"]
Role = Literal["main", "other", "leg"]
Overall = Literal["better", "worse", "mixed", "within_noise", "inconclusive", "not_comparable"]

ALPHA = 0.05
RANKING = ("recall", "ndcg", "mrr")
MEMORY = ("facts_present", "evidence_recall", "answer_facts", "memory_overall")
OTHERS = (*MEMORY, "unanswerable_f1", "mean_faithfulness", "mean_answer_relevancy", "exact_match", "token_f1")


def main_metrics(comparable: Collection[str], known: Collection[str] = ()) -> list[str]:
    """Of the metrics that can be compared, in order. `known`: those that the runs have, comparable or not."""
    found = _main(comparable)
    return found if found or _main(known) else sorted(comparable)


def _main(comparable: Collection[str]) -> list[str]:
    own = {"recall": "recall_at_k", "ndcg": "ndcg_at_k", "mrr": "mrr"}
    ranking = [own[name] for name in RANKING if own[name] in comparable]
    if not ranking:
        cutoffs = [int(found.group(1)) for name in comparable if (found := re.fullmatch(r"recall_at_(\d+)", name))]
        ranking = [name for name in (f"{each}_at_{max(cutoffs, default=0)}" for each in RANKING) if name in comparable]
    others = [name for name in OTHERS if name in comparable]
    if "unanswerable_recall" not in comparable:  # no question is unanswerable, so that all there is is false alarms
        others = [name for name in others if name != "unanswerable_f1"]
    return [*ranking, *others]


def adjusted(found: Sequence[Paired]) -> list[float]:
    """p values adjusted for each other (Holm), in order; 1 where no case differs."""
    tests = [place for place, numbers in enumerate(found) if is_test(numbers)]
    chances = [1.0] * len(found)
    for place, p in zip(tests, paired.holm([found[place].p for place in tests]), strict=True):
        chances[place] = p
    return chances


def is_test(numbers: Paired) -> bool:
    """Whether any case differs."""
    return not numbers.low == numbers.high == 0


def verdict(metric: str, numbers: Paired, p_holm: float, margin: float) -> Verdict:
    if p_holm < ALPHA and not numbers.low <= 0 <= numbers.high:
        return "better" if (numbers.difference > 0) == (direction(metric) == "higher") else "worse"
    matters = margin * span(metric)
    return "within_noise" if -matters <= numbers.low and numbers.high <= matters else "inconclusive"


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
