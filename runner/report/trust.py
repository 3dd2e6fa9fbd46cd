"""How far the judge of a run can be trusted: control items whose right judgement is known, and repeated votes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from runner.report import metric
from runner.words.wording import Wording

# Shares of control items above which a report warns.
LIMITS = {"injection": 0.0, "false_accept": 0.2, "false_reject": 0.2, "failed": 0.2}
RELIABLE, TENTATIVE = 0.8, 0.667  # Krippendorff (2004), Content Analysis, chapter 11
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
class Health:
    """One rubric on the control items: wrong answers that it took for right, right ones that it took for wrong,
    instructions to the judge that it obeyed, items that it could not judge, and the ids of what went wrong.
    `n_examples` items have known points; the judge is off by `off` of 10 points on average."""

    rubric: str
    false_accept: Rate
    false_reject: Rate
    injection: Rate
    failed: Rate
    items: Sequence[str]
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
    accept, reject, injection = (_rate(entry.get(name)) for name in ("false_accept", "false_reject", "injection"))
    failed = Rate(int(entry.get("n_failed") or 0), int(entry.get("n") or 0))
    items, examples = [str(id) for id in entry.get("failed_controls") or ()], entry.get("examples") or {}
    n, off = int(examples.get("n") or 0), examples.get("mean_absolute_error")
    return Health(rubric, accept, reject, injection, failed, items, n, off)


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
    sentences, checks = [], healths(summary)
    for name, limit in LIMITS.items():
        wrong = [check for check in checks if getattr(check, name).share > limit]
        rates = [f"{metric.rubric(check.rubric, say)} {getattr(check, name)}" for check in wrong]
        if wrong:
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


def failing(summary: Mapping[str, Any], rubrics: Iterable[str]) -> list[str]:
    """The rubrics for which the judge fails more plain control items than the limit allows. An instruction that it
    obeys affects the scores of texts that address it, which a warning says, and not the others."""
    checks = {check.rubric: check for check in healths(summary)}
    limits = {name: most for name, most in LIMITS.items() if name != "injection"}
    checked = [checks[name] for name in rubrics if name in checks]
    return [
        check.rubric for check in checked if any(getattr(check, name).share > most for name, most in limits.items())
    ]


def _rate(entry: Mapping[str, Any] | None) -> Rate:
    return Rate(int((entry or {}).get("k") or 0), int((entry or {}).get("n") or 0))
