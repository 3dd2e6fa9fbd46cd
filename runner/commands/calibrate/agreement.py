"""The numbers of a calibration: judge against people, rubric by rubric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.data.labels import Labels
from runner.data.ratings import RatedAnswer, Scale
from runner.metrics import statistics
from runner.metrics.agreement import (
    alpha_of,
    alpha_terms,
    auc,
    cohen_kappa,
    confusion,
    krippendorff_alpha,
    nan_to_none,
    pearson,
    pearsons,
    pooled_sd,
    ranks_within,
    reaches,
    spearman,
    spearmans,
    within_groups,
)
from runner.report import metric
from runner.words.wording import Wording

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Scores = Mapping[str, float | None]  # by id of an answer
Statistic = Callable[[Floats], Floats]  # counts of answers [..., n] -> values [...], NaN where undefined

WORST = 10
BLOCKS = 200  # jackknife parts, for the skew of an interval


@dataclass(frozen=True, slots=True)
class Settings:
    """A judge's score counts as yes from `judge_from` on, the mean of people from `human_from` on."""

    scale: Scale
    judge_from: float
    human_from: float
    seed: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """Answers with the judge's score and the mean rating of people: float64 [n] each."""

    answers: Sequence[RatedAnswer]
    judge: Floats
    human: Floats
    groups: Codes

    @classmethod
    def of(cls, rubric: str, answers: Iterable[RatedAnswer], scores: Scores) -> Pairs:
        pairs = [(each, score) for each in answers if (score := scores.get(each.id)) is not None]
        human = [float(np.mean(answer.ratings[rubric])) for answer, _ in pairs]
        return cls(
            [answer for answer, _ in pairs],
            np.array([score for _, score in pairs], dtype=np.float64),
            np.array(human, dtype=np.float64),
            _codes([answer.group for answer, _ in pairs]),
        )

    def where(self, mask: NDArray[np.bool_]) -> Pairs:
        """The pairs for which `mask` (bool [n]) is true."""
        answers = [answer for answer, is_chosen in zip(self.answers, mask, strict=True) if is_chosen]
        return Pairs(answers, self.judge[mask], self.human[mask], _codes([each.group for each in answers]))


def agreement_first(labels: Labels, say: Wording) -> Iterator[str]:
    """How far people agree, a line a rubric, shown before the judge is called: no judge can be right where people
    disagree."""
    for rubric in labels.rubrics:
        ratings = [found for answer in labels.answers if (found := answer.ratings.get(rubric)) and len(found) > 1]
        most = max(map(len, ratings), default=0)
        if ratings:
            alpha = krippendorff_alpha(np.array([[*each, *[np.nan] * (most - len(each))] for each in ratings]))
            told = {"n": len(ratings), "people": most, "rubric": metric.rubric(rubric, say)}
            yield say("calibration.people_first", alpha=say("none") if alpha is None else f"{alpha:.2f}", **told)


def agreement_of(rubric: str, answers: Sequence[RatedAnswer], scores: Scores, settings: Settings) -> dict[str, Any]:
    """An entry of `rubrics` in calibration.json. `scores` holds None for an answer on which the judge failed, and no
    entry for one that was not judged yet. Intervals are 95 %, over whole groups of answers."""
    rated = [answer for answer in answers if rubric in answer.ratings]
    pairs = Pairs.of(rubric, rated, scores)
    estimate = partial(_estimate, groups=pairs.groups, seed=settings.seed)
    difference = pairs.judge - pairs.human
    return {
        "n": len(rated),
        "n_judged": len(pairs.answers),
        "n_failed": sum(answer.id in scores for answer in rated) - len(pairs.answers),
        "n_groups": len(np.unique(pairs.groups)),
        "pearson": estimate(partial(pearsons, pairs.judge, pairs.human)),
        "spearman": estimate(partial(spearmans, pairs.judge, pairs.human)),
        "within_system": _within_system(pairs, settings.seed),
        "mean_judge": statistics.mean(pairs.judge),
        "mean_human": statistics.mean(pairs.human),
        "bias": estimate(partial(_weighted_mean, difference)),
        **_decisions(pairs, settings),
        "people": _people(rubric, rated, scores, settings.seed),
        "slices": {kind: _slices(pairs, kind) for kind in ("system", "language")},
        "worst": [
            {"id": pairs.answers[at].id, "judge": float(pairs.judge[at]), "human": float(pairs.human[at])}
            for at in np.argsort(-np.abs(difference).round(9), kind="stable")[:WORST]
        ],
    }


def _within_system(pairs: Pairs, seed: int) -> dict[str, Any] | None:
    """Whether judge and people agree on answers of one system; None without at least two systems."""
    of_systems = pairs.where(np.array([answer.system is not None for answer in pairs.answers], dtype=bool))
    systems = _codes([answer.system for answer in of_systems.answers])
    if len(np.unique(systems)) < 2:
        return None
    estimate = partial(_estimate, groups=of_systems.groups, seed=seed)

    def by_rank(weights: Floats) -> Floats:
        judge, human = (ranks_within(values, systems, weights) for values in (of_systems.judge, of_systems.human))
        return within_groups(judge, human, systems, weights)

    return {
        "n": len(of_systems.answers),
        "pearson": estimate(partial(within_groups, of_systems.judge, of_systems.human, systems)),
        "spearman": estimate(by_rank),
    }


def _decisions(pairs: Pairs, settings: Settings) -> dict[str, Any]:
    """Agreement on yes or no at the thresholds; where people gave whole numbers, also on the steps nearest to the
    judge's score and to the mean rating."""
    thresholds = settings.judge_from, settings.human_from
    by_judge = reaches(pairs.judge, thresholds[0]).astype(np.intp)
    by_people = reaches(pairs.human, thresholds[1]).astype(np.intp)
    steps = settings.scale.steps
    quadratic = None
    if steps is not None:
        first, second = (np.floor(values * steps + 0.5).astype(np.intp) for values in (pairs.judge, pairs.human))
        quadratic = cohen_kappa(first, second, steps + 1, "quadratic")
    counts = confusion(pairs.judge, pairs.human, *thresholds)
    return {
        "kappa": cohen_kappa(by_judge, by_people, 2),
        "kappa_quadratic": quadratic,
        "sensitivity": counts.sensitivity,
        "specificity": counts.specificity,
        "balanced_accuracy": counts.balanced_accuracy,
        "macro_f1": counts.macro_f1,
        "auc": auc(pairs.judge, by_people == 1),
        "confusion": asdict(counts),
    }


def _people(rubric: str, rated: Sequence[RatedAnswer], scores: Scores, seed: int) -> dict[str, Any] | None:
    """How far people agree with each other; None where no answer has several ratings."""
    ratings = [answer.ratings[rubric] for answer in rated]
    most = max(map(len, ratings), default=0)
    if most < 2:
        return None
    votes = np.array([[*each, *[np.nan] * (most - len(each))] for each in ratings])
    terms = alpha_terms(votes)

    return {
        "n": int((terms[:, 0] > 0).sum()),
        "ratings": most,
        "alpha": _estimate(lambda weights: alpha_of(weights @ terms), _codes([answer.group for answer in rated]), seed),
        "noise_sd": pooled_sd(votes),
        "one_left_out": _one_left_out(
            rubric, [answer for answer in rated if len(answer.ratings[rubric]) > 1], scores, seed
        ),
    }


def _one_left_out(rubric: str, several: Sequence[RatedAnswer], scores: Scores, seed: int) -> dict[str, Any]:
    """The judge in place of one person: the first rating of each answer, and the judge's score, compared with the mean
    of its other ratings."""
    scored_answers = [(answer, score) for answer in several if (score := scores.get(answer.id)) is not None]
    first = np.array([answer.ratings[rubric][0] for answer, _ in scored_answers])
    other_means = np.array([np.mean(answer.ratings[rubric][1:]) for answer, _ in scored_answers])
    judge = np.array([score for _, score in scored_answers], dtype=np.float64)
    estimate = partial(_estimate, groups=_codes([answer.group for answer, _ in scored_answers]), seed=seed)

    by_person, by_judge = partial(pearsons, first, other_means), partial(pearsons, judge, other_means)
    return {
        "n": len(scored_answers),
        "person": estimate(by_person),
        "judge": estimate(by_judge),
        "difference": estimate(lambda weights: by_judge(weights) - by_person(weights)),
    }


def _slices(pairs: Pairs, kind: str) -> dict[str, Any]:
    """The agreement by system or language; empty where all answers have the same."""
    values = [getattr(answer, kind) for answer in pairs.answers]
    names = sorted({value for value in values if value is not None})
    return {
        name: _slice(pairs.where(np.array([value == name for value in values]))) for name in names if len(names) > 1
    }


def _slice(pairs: Pairs) -> dict[str, Any]:
    return {
        "n": len(pairs.answers),
        "pearson": pearson(pairs.judge, pairs.human),
        "spearman": spearman(pairs.judge, pairs.human),
        "mean_judge": statistics.mean(pairs.judge),
        "mean_human": statistics.mean(pairs.human),
    }


def _estimate(statistic: Statistic, groups: Codes, seed: int) -> dict[str, float | None]:
    """A statistic with its BCa interval over whole groups; resamples in which it is not defined are left out."""
    value = nan_to_none(statistic(np.ones(len(groups))))
    n_groups = int(groups.max(initial=-1)) + 1
    if value is None or n_groups < 2:
        return {"value": value, "low": None, "high": None}
    drawn = [statistic(counts[:, groups]) for counts in statistics.resampled_counts(n_groups, seed=seed)]
    resampled = np.concatenate(drawn)
    parts = np.arange(n_groups) % min(n_groups, BLOCKS)
    without = statistic((parts[groups] != np.arange(parts.max() + 1)[:, None]).astype(np.float64))
    low, high = statistics.bca_interval(
        resampled[~np.isnan(resampled)], value, np.where(np.isnan(without), value, without)
    )
    return {"value": value, "low": low, "high": high}


def _weighted_mean(values: Floats, weights: Floats) -> Floats:
    totals = weights.sum(axis=-1)
    means = np.full(np.shape(totals), np.nan)
    np.divide(weights @ values, totals, out=means, where=totals > 0)
    return means


def _codes(names: Sequence[str | None]) -> Codes:
    """Names as integer codes from 0."""
    numbers: dict[str | None, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)
