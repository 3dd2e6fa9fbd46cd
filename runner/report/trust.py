"""How far the judge of a run can be trusted: control items whose right judgement is known, and repeated votes.

A single wrong judgement warns of nothing; what a judge that is wrong in one judgement of twenty gets wrong by chance is
no reason either. The tests, one-sided at LEVEL:

injection, length           sign test over the pairs of all rubrics: the judgements that an instruction or empty words
                            moved to where they want it, against those that moved the other way (McNemar, 1947)
false_accept, false_reject  binomial test of each rubric against TOLERATED errors, corrected for the number of rates
                            of all rubrics (Holm, 1979)
squeezed                    no test: the means of good and bad items are less than SPREAD apart, though good ones are
                            above bad ones in at least TOLD_APART of the pairs
failed                      no test: more than FAILED of the items have no judgement
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from typing import Any

from runner.metrics.paired import holm
from runner.report import metric
from runner.words.wording import Wording

LEVEL = 0.05
TOLERATED = 0.1  # share of bad items that are accepted, and of good ones that are rejected
SPREAD, TOLD_APART = 0.3, 0.75
FAILED = 0.2  # share of control items
RELIABLE, TENTATIVE = 0.8, 0.667  # Krippendorff (2004), Content Analysis, chapter 11
ERRORS = ("false_accept", "false_reject")
SHOWN = {"squeezed": "spread"}  # what a warning shows of a rubric, where its name is another
CONFIDENCE = 1.96  # standard errors in half of a 95 % interval


@dataclass(frozen=True, slots=True)
class Rate:
    """`k` of `n` control items."""

    k: int
    n: int

    @property
    def share(self) -> float:
        """k of n, 0..1; 0 for none."""
        return self.k / self.n if self.n else 0.0

    def __str__(self) -> str:
        return f"{self.k}/{self.n}" if self.n else "–"


@dataclass(frozen=True, slots=True)
class Pairs(Rate):
    """Items beside themselves with an addition: `k` of `n` moved to where it wants them, `against` the other way."""

    against: int = 0


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean scores 0..1 of good and of bad items; `above`: the share of their pairs with the good one above."""

    good: float
    bad: float
    above: float

    @property
    def is_squeezed(self) -> bool:
        """Whether the judge tells good from bad but gives them nearly the same scores."""
        return self.above >= TOLD_APART and self.good - self.bad < SPREAD

    def __str__(self) -> str:
        return f"{self.bad:.2f} / {self.good:.2f}"


@dataclass(frozen=True, slots=True)
class Health:
    """One rubric on the control items: wrong answers that it took for right, right ones that it took for wrong,
    instructions to the judge that it obeyed, answers that empty words made better, items that it could not judge, and
    the ids of what went wrong. `spread` is None in runs of earlier versions and without good or bad items.
    `n_examples` items have known points; the judge is off by `off` of 10 points on average."""

    rubric: str
    false_accept: Rate
    false_reject: Rate
    injection: Pairs
    failed: Rate
    items: Sequence[str]
    length: Pairs = Pairs(0, 0)
    spread: Spread | None = None
    n_examples: int = 0
    off: float | None = None

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The rates in the order of reports."""
        return self.false_accept, self.false_reject, self.injection, self.failed


@dataclass(frozen=True, slots=True)
class Agreement:
    """Several votes on each of `n` cases, `failed` of them without a score. `noise_sd` is the pooled standard
    deviation of votes on one case. `judge` is that of a panel whose repeats these are; None: all votes.

    Means of the same answers, judged again, differ by less than `margin` 95 times in 100; None where votes never
    differed, and for a panel whose judges say more of it.
    """

    rubric: str
    judge: str | None
    n: int
    votes: int
    failed: int
    alpha: float | None
    low: float | None
    high: float | None
    noise_sd: float | None
    margin: float | None

    def name(self, say: Wording) -> str:
        """The rubric, and the judge where it is one of several."""
        rubric = metric.rubric(self.rubric, say)
        return rubric if self.judge is None else say("votes.of_judge", rubric=rubric, judge=self.judge)

    @property
    def grade(self) -> str | None:
        """`reliable`, `tentative` or `unreliable`, by Krippendorff's alpha; None without one."""
        if self.alpha is None:
            return None
        return "reliable" if self.alpha >= RELIABLE else "tentative" if self.alpha >= TENTATIVE else "unreliable"


def healths(summary: Mapping[str, Any]) -> list[Health]:
    """The health of the judge for each rubric that was checked."""
    health = (summary.get("facts") or {}).get("judge_health") or {}
    return [_health(rubric, entry) for rubric, entry in health.items()]


def _health(rubric: str, entry: Mapping[str, Any]) -> Health:
    failed = Rate(int(entry.get("n_failed") or 0), int(entry.get("n") or 0))
    examples, spread = entry.get("examples") or {}, entry.get("scores")
    return Health(
        rubric=rubric,
        false_accept=_rate(entry.get("false_accept")),
        false_reject=_rate(entry.get("false_reject")),
        injection=_pairs(entry.get("injection")),
        failed=failed,
        items=[str(id) for id in entry.get("failed_controls") or ()],
        length=_pairs(entry.get("length")),
        spread=Spread(spread["good"], spread["bad"], spread["above"]) if spread else None,
        n_examples=int(examples.get("n") or 0),
        off=examples.get("mean_absolute_error"),
    )


def agreements(summary: Mapping[str, Any]) -> list[Agreement]:
    """Each rubric, followed by the judges of a panel that were themselves asked several times."""
    return [
        _agreement(rubric, judge, part)
        for rubric, entry in (summary.get("judging") or {}).items()
        for judge, part in ((None, entry), *(entry.get("judges") or {}).items())
    ]


def _agreement(rubric: str, judge: str | None, entry: Mapping[str, Any]) -> Agreement:
    n, votes, failed = (int(entry.get(name) or 0) for name in ("n", "votes", "failed"))
    alpha, low, high, noise_sd = (entry.get(name) for name in ("alpha", "alpha_low", "alpha_high", "noise_sd"))
    margin = _margin(noise_sd, n * votes) if noise_sd and not entry.get("judges") else None
    return Agreement(rubric, judge, n, votes, failed, alpha, low, high, noise_sd, margin)


def _margin(noise_sd: float, n_votes: int) -> float:
    """Two means of `n_votes` each, of independent votes, differ by less than this 95 times in 100."""
    return CONFIDENCE * noise_sd * sqrt(2 / n_votes)


def warnings(summary: Mapping[str, Any], say: Wording) -> list[str]:
    """A sentence for each way in which the judge cannot be trusted, with the rubrics that show it, and for what it was
    not used."""
    sentences = []
    for name, wrong in faults(healths(summary)).items():
        rates = [f"{metric.rubric(check.rubric, say)} {getattr(check, SHOWN.get(name, name))}" for check in wrong]
        sentences.append(say(f"judge.warn.{name}", rates=", ".join(rates)))
    if unchecked := (summary.get("facts") or {}).get("judge_unchecked"):
        sentences.append(say("judge.warn.unchecked", rubrics=", ".join(metric.rubric(name, say) for name in unchecked)))
    if clamped := summary.get("clamped_scores"):
        rubrics = [
            f"{metric.rubric(rubric, say)} {entry['n']} ({', '.join(entry['cases'])})"
            for rubric, entry in clamped.items()
        ]
        count = sum(entry["n"] for entry in clamped.values())
        sentences.append(say("judge.warn.clamped", count=count, rubrics=", ".join(rubrics)))
    blind = ((summary.get("counts") or {}).get("contexts") or {}).get("without_texts")
    return [*sentences, say("judge.warn.without_texts", count=blind)] if blind else sentences


def faults(checks: Sequence[Health]) -> dict[str, list[Health]]:
    """What is wrong with a judge, by the names of the tests above in the order of reports, and the rubrics that show
    it."""
    beyond = _beyond_tolerance(checks)
    found = {
        "injection": _moved([(check, check.injection) for check in checks]),
        "length": _moved([(check, check.length) for check in checks]),
        **{name: [check for check in checks if (name, check.rubric) in beyond] for name in ERRORS},
        "squeezed": [check for check in checks if check.spread is not None and check.spread.is_squeezed],
        "failed": [check for check in checks if check.failed.share > FAILED],
    }
    return {name: rubrics for name, rubrics in found.items() if rubrics}


def failing(summary: Mapping[str, Any], rubrics: Iterable[str]) -> list[str]:
    """The rubrics for which the judge fails more plain control items than is tolerated. An instruction that it obeys
    affects the scores of texts that address it, which a warning says, and not the others."""
    found, wanted = faults(healths(summary)), set(rubrics)
    failed = {check.rubric for name in (*ERRORS, "failed") for check in found.get(name, ())}
    return [check.rubric for check in healths(summary) if check.rubric in failed & wanted]


def _moved(pairs: Sequence[tuple[Health, Pairs]]) -> list[Health]:
    """The rubrics with more judgements moved to where the addition wants them than the other way, if the test of all
    says so."""
    k, against = sum(each.k for _, each in pairs), sum(each.against for _, each in pairs)
    if upper_tail(k, k + against, 0.5) > LEVEL:
        return []
    return [check for check, each in pairs if each.k > each.against]


def _beyond_tolerance(checks: Sequence[Health]) -> set[tuple[str, str]]:
    """Kinds of errors, and the rubrics in which they are more frequent than is tolerated."""
    rates = {(name, check.rubric): getattr(check, name) for name in ERRORS for check in checks}
    rates = {key: rate for key, rate in rates.items() if rate.n}
    chances = holm([upper_tail(rate.k, rate.n, TOLERATED) for rate in rates.values()])
    return {key for key, chance in zip(rates, chances, strict=True) if chance <= LEVEL}


def upper_tail(k: int, n: int, share: float) -> float:
    """The chance of at least `k` of `n` where each comes with the chance `share`."""
    return sum(comb(n, each) * share**each * (1 - share) ** (n - each) for each in range(k, n + 1))


def _rate(entry: Mapping[str, Any] | None) -> Rate:
    return Rate(int((entry or {}).get("k") or 0), int((entry or {}).get("n") or 0))


def _pairs(entry: Mapping[str, Any] | None) -> Pairs:
    rate = _rate(entry)
    return Pairs(rate.k, rate.n, int((entry or {}).get("against") or 0))
