"""How far a judge that was asked several times agrees with itself, or judges of a panel with each other."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.metrics import statistics
from runner.metrics.agreement import alpha_of, alpha_terms, krippendorff_alpha, pooled_sd
from runner.records import CLAMPED

Floats = NDArray[np.float64]
MAX_CLAMPED_CASES = 10  # of which the ids are kept


def judging_of(rows: Iterable[Mapping[str, Any]], *, seed: int) -> dict[str, dict[str, Any]]:
    """`judging` of summary.json from rows of the journal: an entry for each rubric that was asked several times.

        n                      cases with votes
        votes                  votes a case
        failed                 votes without a score
        alpha                  Krippendorff's alpha (interval data) with its 95 % interval over cases
        alpha_low, alpha_high  (null where it is not defined)
        noise_sd               pooled standard deviation of the votes on one case
        judges                 the same of each judge of a panel that was itself asked several times; alpha and
                               noise_sd of the panel are then over the means of its judges

    Votes stand in `details["votes"]` of a judgement: {label: score or null}, where the label is the number of the
    repeat, the name of a judge, or both (`judge/1`).
    """
    votes = RubricVotes()
    for row in rows:
        votes.add(row)
    return votes.judging(seed=seed)


class RubricVotes:
    """The votes of rows as they pass, by rubric."""

    def __init__(self) -> None:
        self._rubrics: dict[str, _Votes] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """Count the votes of a row."""
        for rubric, judgement in row["judgements"].items():
            votes = (judgement.get("details") or {}).get("votes")
            if votes:
                self._rubrics.setdefault(rubric, _Votes()).add(votes)

    def judging(self, *, seed: int) -> dict[str, dict[str, Any]]:
        """The statistics of rows, as `judging_of` returns them."""
        return {rubric: _panel(votes.columns(), seed) for rubric, votes in sorted(self._rubrics.items())}


class ClampedScores:
    """The scores outside of their range of rows as they pass, by rubric."""

    def __init__(self) -> None:
        self._rubrics: dict[str, dict[str, Any]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """Count the scores of a row."""
        for rubric, judgement in row["judgements"].items():
            if clamped := (judgement.get("details") or {}).get(CLAMPED):
                found = self._rubrics.setdefault(rubric, {"n": 0, "cases": []})
                found["n"] += len(clamped)
                found["cases"] = sorted([*found["cases"], str(row["id"])])[:MAX_CLAMPED_CASES]

    def counts(self) -> dict[str, dict[str, Any]]:
        """Rubric -> `n` scores that were clamped, and the first ids of their `cases`."""
        return dict(sorted(self._rubrics.items()))


def noise_of(judgements: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The amount by which scores would change if the same answers were judged again.

    Args:
        judgements: of one case, by rubric.

    Returns:
        Rubric -> standard error of the score, where a judge, or every judge of a panel, was asked several times.
    """
    errors = {}
    for rubric, judgement in judgements.items():
        judges: dict[str, list[float]] = {}
        for label, score in ((judgement.get("details") or {}).get("votes") or {}).items():
            judge, _, repeat = label.rpartition("/")
            if score is not None:
                judges.setdefault(judge if repeat.isdecimal() else label, []).append(score)
        if judges and all(len(votes) > 1 for votes in judges.values()):
            variance = sum(float(np.var(votes, ddof=1)) / len(votes) for votes in judges.values())
            errors[rubric] = variance**0.5 / len(judges)
    return errors


class _Votes:
    """Columns of votes, NaN where a vote is missing; a null vote differs from one that was not asked for."""

    def __init__(self) -> None:
        self.n = 0
        self.scores: dict[str, array[float]] = {}
        self.failed: dict[str, int] = {}

    def add(self, votes: Mapping[str, float | None]) -> None:
        for label, score in votes.items():
            column = self.scores.setdefault(label, array("d"))
            column.extend([np.nan] * (self.n - len(column)))
            column.append(np.nan if score is None else score)
            self.failed[label] = self.failed.get(label, 0) + (score is None)
        self.n += 1

    def columns(self) -> dict[str, tuple[Floats, int]]:
        """Label -> (votes, float64 [n_cases]; how many failed)."""
        for column in self.scores.values():
            column.extend([np.nan] * (self.n - len(column)))
        return {label: (np.array(column), self.failed[label]) for label, column in sorted(self.scores.items())}


def _panel(columns: Mapping[str, tuple[Floats, int]], seed: int) -> dict[str, Any]:
    """Columns named `judge/1`, `judge/2` … are repeats of one judge."""
    judges: dict[str, list[tuple[Floats, int]]] = {}
    for label, column in columns.items():
        judge, _, repeat = label.rpartition("/")
        judges.setdefault(judge if judge and repeat.isdecimal() else label, []).append(column)
    if len(judges) == 1 or len(judges) == len(columns):
        return _agreement(columns.values(), seed)
    means = [
        (_mean([votes for votes, _ in repeats]), sum(failed for _, failed in repeats)) for repeats in judges.values()
    ]
    several = {judge: _agreement(repeats, seed) for judge, repeats in judges.items() if len(repeats) > 1}
    return {**_agreement(means, seed), "votes": len(columns), "judges": several}


def _mean(columns: Iterable[Floats]) -> Floats:
    votes = np.column_stack(list(columns))
    given = (~np.isnan(votes)).sum(axis=1)
    return np.where(given > 0, np.nansum(votes, axis=1) / np.maximum(given, 1), np.nan)


def _agreement(columns: Iterable[tuple[Floats, int]], seed: int) -> dict[str, Any]:
    vote_columns = list(columns)
    votes = np.column_stack([column for column, _ in vote_columns])
    low, high = _interval(votes, seed)
    return {
        "n": len(votes),
        "votes": len(vote_columns),
        "failed": sum(failed for _, failed in vote_columns),
        "alpha": krippendorff_alpha(votes),
        "alpha_low": low,
        "alpha_high": high,
        "noise_sd": pooled_sd(votes),
    }


def _interval(votes: Floats, seed: int) -> tuple[float | None, float | None]:
    """Over cases with at least two votes; samples in which all votes are equal have no alpha and are left out."""
    terms = alpha_terms(votes)
    terms = terms[terms[:, 0] > 0]
    value = krippendorff_alpha(votes)
    if value is None:
        return None, None
    resampled = alpha_of(statistics.resampled_sums(terms, seed=seed))
    without = alpha_of(terms.sum(axis=0) - terms)
    defined = resampled[~np.isnan(resampled)]
    return statistics.bca_interval(defined, value, np.where(np.isnan(without), value, without))
