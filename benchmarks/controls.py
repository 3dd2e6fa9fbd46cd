"""How often the control items warn of a judge: of good ones with random errors, and of six kinds of bad ones.

    python benchmarks/controls.py [SEEDS]      default: 200

Simulated judges score the control items of answers as a run has them scored: 1 for a good answer, 0 for a bad one, and
the share of true claims where one of several is invented. With the chance `errors` a judgement is turned round. Printed
is the share of seeds with a warning, for a run with all three rubrics and for runs with one, and which warnings came.

Bad judges      accepts all; rejects all; obeys: gives what a hidden instruction asks for; first claim: looks at no
                other; length bonus: up to .5 points for an answer of 300 characters; squeezed: .45 to .55, or .6 to .75
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from runner.llm.controls import answer_controls, controls
from runner.llm.health import ControlItem, Controls, check_health
from runner.records import Judgement
from runner.report.trust import faults, healths

RUBRICS = ("faithfulness", "answer_relevancy", "answer_correctness")
BONUS, LONG_CHARS = 0.5, 300
JITTER = 0.01  # standard deviation of squeezed scores
INVENTED = {control.id: control.invented for control in controls()}

Judging = Callable[[ControlItem, random.Random], float]


def truth(item: ControlItem) -> float:
    """The score 0..1 that a judge gives who is never wrong."""
    if item.side == "pass":
        return 1.0
    is_partly_true = INVENTED[item.id] is not None
    return 1 - 2 * (1 - item.accepted_above) if is_partly_true else 0.0


def obeys(item: ControlItem, chance: random.Random) -> float:
    is_injected = item.without is not None and item.pair == "injection"
    return float(item.side == "fail") if is_injected else truth(item)


def first_claim(item: ControlItem, chance: random.Random) -> float:
    return 1.0 if (INVENTED[item.id] or 1) > 1 else truth(item)


def length_bonus(item: ControlItem, chance: random.Random) -> float:
    return min(1.0, truth(item) + BONUS * min(1.0, len(item.fields["answer"]) / LONG_CHARS))


def squeezed(low: float, high: float) -> Judging:
    return lambda item, chance: low + (high - low) * truth(item) + chance.gauss(0, JITTER)


GOOD: Judging = lambda item, chance: truth(item)  # noqa: E731
BAD: dict[str, Judging] = {
    "accepts all": lambda item, chance: 1.0,
    "rejects all": lambda item, chance: 0.0,
    "obeys": obeys,
    "first claim": first_claim,
    "length bonus": length_bonus,
    "squeezed .45-.55": squeezed(0.45, 0.55),
    "squeezed .60-.75": squeezed(0.6, 0.75),
}


class SimulatedJudge:
    """Judges by `judging`; with the chance `errors` a judgement is turned round."""

    on_failure: Literal["zero", "exclude"] = "zero"

    def __init__(self, judging: Judging, errors: float, asked: Sequence[Controls], seed: int) -> None:
        self.judging, self.errors, self.chance = judging, errors, random.Random(seed)
        self.items = {id(item.fields): item for of_rubric in asked for item in of_rubric.items}

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        item = self.items[id(fields)]
        score = self.judging(item, self.chance)
        if self.chance.random() < self.errors:
            score = 0.0 if score > item.accepted_above else 1.0
        return Judgement(score)


def warned(judging: Judging, errors: float, rubrics: Sequence[str], n_seeds: int) -> tuple[float, Counter[str]]:
    """The share of seeds with a warning, and how many seeds had which."""
    asked = answer_controls(rubrics)

    async def names(seed: int) -> list[str]:
        health = await check_health(SimulatedJudge(judging, errors, asked, seed), asked)
        return list(faults(healths({"facts": {"judge_health": health}})))

    found = [asyncio.run(names(seed)) for seed in range(n_seeds)]
    return sum(map(bool, found)) / n_seeds, Counter(name for each in found for name in each)


def main(n_seeds: int) -> None:
    columns = [RUBRICS, *((rubric,) for rubric in RUBRICS)]
    counts = [sum(len(each.items) for each in answer_controls(rubrics)) for rubrics in columns]
    print(f"share of {n_seeds} seeds with a warning; items asked: {', '.join(map(str, counts))}")
    print(f"{'judge':<22}{'errors':>7}{'all':>8}" + "".join(f"{rubric:>20}" for rubric in RUBRICS) + "  warnings (all)")
    rows = [("good", GOOD, errors) for errors in (0.0, 0.02, 0.05, 0.1)]
    rows += [(name, judging, errors) for name, judging in BAD.items() for errors in (0.0, 0.05)]
    for name, judging, errors in rows:
        results = [warned(judging, errors, rubrics, n_seeds) for rubrics in columns]
        shares = "".join(f"{share:>20.3f}" for share, _ in results[1:])
        told = ", ".join(f"{kind} {n / n_seeds:.2f}" for kind, n in results[0][1].most_common())
        print(f"{name:<22}{errors:>7.2f}{results[0][0]:>8.3f}{shares}  {told}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
