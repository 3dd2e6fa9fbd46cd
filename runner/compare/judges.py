"""Compares runs of a sweep that differ in their judge only: how far the judges agree, and where they differ.

Such runs have the same answers, which are generated once where replies are cached; a case with a different answer in
one of the runs is left out.

For each rubric that all judges used: Krippendorff's alpha over all judges (interval data), and for every judge but the
first its Spearman rank correlation with the first and its bias, the mean difference of the scores, with interval and p,
adjusted (Holm) over all judges. A failed judgement leaves out the case for that rubric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runner.compare.alike import ROWS
from runner.compare.snapshots import Snapshot
from runner.metrics import paired
from runner.metrics.agreement import DIGITS, krippendorff_alpha, spearman
from runner.metrics.statistics import Floats
from runner.system.folder import lines
from runner.system.store import fingerprint

MOST = 20  # most answers that are shown
LONGEST = 400  # most characters of a question or an answer
SHARED = ("judge", "judge_prompt.")  # parts of the identity that belong to the judge
NOT_A_SYSTEM = ("judge", "evaluation", "models", "out")  # keys of a configuration


@dataclass(frozen=True, slots=True)
class _Answer:
    """The fields of one case that a judge saw, and its scores: rubric -> score, None where it failed."""

    question: str
    answer: str
    scores: Mapping[str, float | None]


def same_judge(one: Snapshot, other: Snapshot) -> bool:
    """Whether both runs have the same judge with the same prompts."""
    return _judge(one) == _judge(other)


def judges(folder: Path, snapshots: Mapping[str, Snapshot]) -> list[dict[str, Any]]:
    """Compare the judges of runs that differ in nothing else.

    Args:
        folder: of the sweep.
        snapshots: of its runs, by folder.

    Returns:
        One record (JSON values) for each group of at least two runs that differ in their judge only.
    """
    systems: dict[str, list[str]] = {}
    for name, snapshot in snapshots.items():
        if _judge(snapshot):
            systems.setdefault(_system(snapshot), []).append(name)
    several = (names for names in systems.values() if len({fingerprint(_judge(snapshots[name])) for name in names}) > 1)
    return [group for names in several if (group := _side_by_side(folder, names))["rubrics"]]


def _judge(snapshot: Snapshot) -> dict[str, str]:
    return {name: digest for name, digest in snapshot.identity.items() if name.startswith(SHARED)}


def _system(snapshot: Snapshot) -> str:
    """The identity of a run without its judge."""
    evaluation = snapshot.config.get("evaluation")
    settings = dict(evaluation) if isinstance(evaluation, Mapping) else {}
    settings.pop("judge", None)
    config = {name: value for name, value in snapshot.config.items() if name not in NOT_A_SYSTEM}
    identity = {name: digest for name, digest in snapshot.identity.items() if not name.startswith(SHARED)}
    return fingerprint([config, settings, identity])


def _side_by_side(folder: Path, names: Sequence[str]) -> dict[str, Any]:
    answers = [dict(_answers(folder / name)) for name in names]
    common_ids = [id for id in answers[0] if all(id in each for each in answers[1:])]
    same = [id for id in common_ids if len({each[id].answer for each in answers}) == 1]
    ids_of = {name: ids for name in _rubrics(answers[0], same) if (ids := _common_cases(answers, same, name))}
    votes = {name: _votes(answers, ids, name) for name, ids in ids_of.items()}
    rubrics = [_agreement(name, scores, names) for name, scores in votes.items()]
    _adjust([beside for rubric in rubrics for beside in rubric["beside"]])
    return {
        "folders": list(names),
        "n": len(same),
        "other_answers": len(common_ids) - len(same),
        "rubrics": rubrics,
        "most": _largest_differences(answers, ids_of, votes),
    }


def _answers(folder: Path) -> Iterator[tuple[str, _Answer]]:
    for row in lines(folder / ROWS):
        output = row.get("output")
        if isinstance(output, Mapping) and row.get("judgements"):
            scores = {name: judgement.get("score") for name, judgement in row["judgements"].items()}
            yield str(row["id"]), _Answer(str(output.get("query") or ""), str(output.get("answer") or ""), scores)


def _rubrics(answers: Mapping[str, _Answer], ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for id in ids for name in answers[id].scores))


def _common_cases(answers: Sequence[Mapping[str, _Answer]], ids: Sequence[str], rubric: str) -> list[str]:
    """The cases that every judge judged by this rubric."""
    return [id for id in ids if all(rubric in each[id].scores for each in answers)]


def _votes(answers: Sequence[Mapping[str, _Answer]], ids: Sequence[str], rubric: str) -> Floats:
    """float64 [n_cases, n_judges], NaN where a judge failed."""
    scores = [[each[id].scores[rubric] for each in answers] for id in ids]
    return np.array([[np.nan if score is None else score for score in row] for row in scores], dtype=np.float64)


def _agreement(rubric: str, votes: Floats, names: Sequence[str]) -> dict[str, Any]:
    complete = votes[~np.isnan(votes).any(axis=1)]
    return {
        "name": rubric,
        "n": len(complete),
        "failed": {name: int(np.isnan(votes[:, place]).sum()) for place, name in enumerate(names)},
        "means": {name: float(complete[:, place].mean()) for place, name in enumerate(names)} if len(complete) else {},
        "alpha": krippendorff_alpha(complete) if len(complete) else None,
        "beside": [_against_first(complete, place, names) for place in range(1, len(names))] if len(complete) else [],
    }


def _against_first(votes: Floats, place: int, names: Sequence[str]) -> dict[str, Any]:
    """Compare one judge with the first."""
    first, other = votes[:, 0], votes[:, place]
    (bias,) = paired.compare_means(first[:, None], other[:, None], seed=0)
    rank = spearman(first, other)
    return {
        "folder": names[place],
        "spearman": None if rank is None else round(rank, DIGITS),
        "bias": bias.difference,
        "ci_low": bias.low,
        "ci_high": bias.high,
        "p": bias.p,
    }


def _adjust(found: Sequence[dict[str, Any]]) -> None:
    for beside, p in zip(found, paired.holm([each["p"] for each in found]), strict=True):
        beside["p_holm"] = p


def _largest_differences(
    answers: Sequence[Mapping[str, _Answer]], ids_of: Mapping[str, Sequence[str]], votes: Mapping[str, Floats]
) -> list[dict[str, Any]]:
    """The answers on which the judges differ most, each once, with the rubric of the largest difference."""
    spreads: dict[str, tuple[float, str, int]] = {}
    for rubric, scores in votes.items():
        for place, row in enumerate(scores):
            spread = float(row.max() - row.min())  # NaN where a judge failed
            id = ids_of[rubric][place]
            if spread > spreads.get(id, (0.0, "", 0))[0]:
                spreads[id] = (spread, rubric, place)
    ordered = sorted(spreads.items(), key=lambda entry: (-entry[1][0], entry[0]))
    return [
        {
            "id": id,
            "rubric": rubric,
            "scores": votes[rubric][place].tolist(),
            "question": answers[0][id].question[:LONGEST],
            "answer": answers[0][id].answer[:LONGEST],
        }
        for id, (_, rubric, place) in ordered[:MOST]
    ]
