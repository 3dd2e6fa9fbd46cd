"""Estimates what people would say of a whole run that only the judge has rated, from answers that both rated."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from runner.commands.calibrate.agreement import Pairs
from runner.errors import InputError, NotComparableError
from runner.metrics import statistics
from runner.metrics.corrected_mean import corrected_mean, labels_alone, labels_to_halve, random_part_p
from runner.system.folder import RunFolder, legible

KIND = "judge._target_"
CHANGE_NO_SCORE = frozenset({"health", "on_failure"})  # settings of a judge


def demand_same_judge(run: RunFolder, judge: Mapping[str, Any]) -> None:
    """Raises InputError for a run without a judge, and NotComparableError for a run of another judge, whose errors may
    differ. `judge`: the resolved configuration."""
    run_judge = (run.run.get("config") or {}).get("judge")
    if not isinstance(run_judge, Mapping):
        raise InputError(f"run: {run.path} has no judge; give a run of full_rag")
    ours, theirs = (dict(_settings(without_models(node))) for node in (judge, run_judge))
    differing = [key for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key)]
    if KIND in differing:  # their settings cannot be compared
        differing = [KIND]
    if differing:
        listed = "\n".join(f"  {key}: {theirs.get(key)} in the run, {ours.get(key)} here" for key in differing)
        raise NotComparableError(f"run: {run.path} was judged by another judge:\n{listed}")


def without_models(judge: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without `models`, which all judges share."""
    return {
        name: without_models(value) if isinstance(value, Mapping) else value
        for name, value in judge.items()
        if name != "models"
    }


def _settings(node: Mapping[str, Any], key: str = "judge") -> Iterator[tuple[str, Any]]:
    for name, value in node.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{key}.{name}")
        elif name not in CHANGE_NO_SCORE:
            yield f"{key}.{name}", value


def correction_of(rubric: str, pairs: Pairs, run: RunFolder) -> dict[str, Any]:
    """An entry of `corrected` in calibration.json: the estimated mean rating of people for the answers of the run, and
    the estimate from the labels alone (None with too few answers); `random_part_p`: of the labelled answers being a
    random part of all, by the judge's scores (None without both).

    Answers of the run that are labelled (the same question and answer) do not count as unlabelled. Raises InputError
    for a run without a judgement of the rubric.
    """
    labelled = {_key(answer.question, answer.answer) for answer in pairs.answers}
    unlabelled_scores, labelled_scores = array("d"), array("d")
    failed = 0
    with legible(run.path):
        answer_scores = list(_scores(rubric, run))
    for answer_key, score in answer_scores:
        if score is None:
            failed += 1
        else:
            (labelled_scores if answer_key in labelled else unlabelled_scores).append(score)
    if not (unlabelled_scores or labelled_scores):
        raise InputError(f"run: {run.path} has no answer with a score of {rubric}")
    scores = np.array(unlabelled_scores)
    corrected = corrected_mean(pairs.human, pairs.judge, scores, pairs.groups)
    alone = labels_alone(pairs.human, pairs.groups)
    has_both = len(pairs.answers) > 0 and len(scores) > 0
    random_p = random_part_p(pairs.judge, scores, pairs.groups) if has_both else None
    return {
        "n_labelled": len(pairs.answers),
        "n_groups": len(np.unique(pairs.groups)),
        "n_others": len(unlabelled_scores),
        "n_shared": len(labelled_scores),
        "n_failed": failed,
        "mean_judge": statistics.mean(np.array(unlabelled_scores + labelled_scores)),
        "judge_labelled": statistics.mean(pairs.judge),
        "judge_others": statistics.mean(scores),
        "corrected": None if corrected is None else asdict(corrected),
        "labels_alone": None if alone is None else asdict(alone),
        "random_part_p": random_p,
        "more_to_halve": labels_to_halve(pairs.human, pairs.judge, scores, pairs.groups),
    }


def _scores(rubric: str, run: RunFolder) -> Iterator[tuple[str, float | None]]:
    """(question and answer, score or None where the judge failed) of every judged case."""
    for row in run.rows():
        judgement, output = (row.get("judgements") or {}).get(rubric), row.get("output") or {}
        if judgement is not None:
            score = None if judgement.get("error") is not None else judgement.get("score")
            yield _key(str(output.get("query") or ""), str(output.get("answer") or "")), score


def _key(question: str, answer: str) -> str:
    return "\n".join(" ".join(text.split()) for text in (question, answer))
