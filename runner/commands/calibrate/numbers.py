"""The displayed numbers of a calibration and their findings in words, for Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.report import metric
from runner.words.wording import LANGUAGES, Wording, wording, wording_of

DECISIONS = ("sensitivity", "specificity", "balanced_accuracy", "macro_f1", "auc")  # good or not, at the thresholds
NOT_RANDOM = 0.01  # p from which on labelled answers may be a random part of the run


@dataclass(frozen=True, slots=True)
class Measure:
    """A line of the table of a rubric; the limits are None where there is no interval."""

    key: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    meaning: str


def wording_of_calibration(result: Mapping[str, Any]) -> Wording:
    """The wording of a finished calibration, in its language and with its own metrics."""
    return _with_own(wording_of(result))


def wording_in(language: str) -> Wording:
    """The wording of calibrations in a language."""
    return _with_own(LANGUAGES[language])


def _with_own(say: Wording) -> Wording:
    return replace(say, texts={**say.texts, **wording(say.language, "calibrate").texts})


def measures(entry: Mapping[str, Any], result: Mapping[str, Any], say: Wording) -> list[Measure]:
    """The measures that apply to a rubric."""
    within, people = entry["within_system"] or {}, entry["people"] or {}
    left_out = people.get("one_left_out") or {}
    person, in_place = left_out.get("person"), left_out.get("judge")
    low, high = result["labels"]["scale"]
    estimates = {
        "pearson": entry["pearson"],
        "spearman": entry["spearman"],
        "within_pearson": within.get("pearson"),
        "within_spearman": within.get("spearman"),
        "person": person,
        "in_place": in_place,
        "people_alpha": people.get("alpha"),
        "kappa": {"value": entry["kappa"]},
        "kappa_quadratic": None if entry["kappa_quadratic"] is None else {"value": entry["kappa_quadratic"]},
        **{name: {"value": entry[name]} for name in DECISIONS if name in entry},
        "mean_judge": {"value": entry["mean_judge"]},
        "mean_human": {"value": entry["mean_human"]},
        "bias": entry["bias"],
    }
    return [
        Measure(
            key,
            say(f"calibration.{key}", steps=f"{high - low + 1:g}"),
            numbers["value"],
            numbers.get("low"),
            numbers.get("high"),
            say.texts.get(f"calibration.{key}.meaning", ""),
        )
        for key, numbers in estimates.items()
        if numbers is not None
    ]


def answer_count(entry: Mapping[str, Any], say: Wording) -> str:
    """The number of answers behind the numbers of a rubric."""
    text = say("calibration.judged", judged=entry["n_judged"], n=entry["n"], groups=entry["n_groups"])
    if not entry["n_failed"]:
        return text
    return f"{text} {say('calibration.failed', failed=entry['n_failed'])}"


def findings(entry: Mapping[str, Any], say: Wording) -> Iterator[str]:
    """The findings on a rubric as sentences."""
    pearson, people, bias = entry["pearson"], entry["people"] or {}, entry["bias"]
    difference, alpha = (people.get("one_left_out") or {}).get("difference") or {}, people.get("alpha") or {}
    within = (entry["within_system"] or {}).get("pearson") or {}
    disagreement = _disagreement(pearson)
    if disagreement is not None:
        yield say(f"calibration.{disagreement}")
    elif pearson["low"] is None and bias["low"] is None:
        yield say("calibration.too_few")
    if alpha.get("low") is not None and alpha["low"] <= 0:
        yield say("calibration.labels_unrelated")
    elif difference.get("low") is not None and disagreement is None:
        yield say(f"calibration.person_{('ahead', 'close', 'behind')[1 - _sign(difference)]}")
    if within.get("value") is not None and pearson["low"] is not None and within["value"] < pearson["low"]:
        yield say("calibration.separates")
    if bias["low"] is not None:
        yield say(f"calibration.{('kind', 'fair', 'harsh')[1 - _sign(bias)]}", bias=f"{abs(bias['value']):.2f}")


def _disagreement(pearson: Mapping[str, Any]) -> str | None:
    """Why agreement of judge and people is not shown; None where it is, or where there is no interval."""
    if pearson["value"] is None:
        return "undefined"
    if pearson["low"] is None or pearson["low"] > 0:
        return None
    return "opposed" if pearson["high"] < 0 else "unrelated"


def _sign(estimate: Mapping[str, float]) -> int:
    """1 above 0, -1 below, 0 where the interval holds 0."""
    return (estimate["low"] > 0) - (estimate["high"] < 0)


def selection_warnings(corrections: Mapping[str, Any], say: Wording) -> Iterator[str]:
    """Rubrics by which the labelled answers are no random part of the run."""
    for rubric, entry in corrections.items():
        p = entry.get("random_part_p")
        if p is not None and p < NOT_RANDOM:
            labelled, others = (f"{entry[name]:.2f}" for name in ("judge_labelled", "judge_others"))
            yield say("calibration.not_random", rubric=metric.rubric(rubric, say), labelled=labelled, others=others)


def correction_notes(corrections: Mapping[str, Any], say: Wording) -> Iterator[str]:
    """Notes on the basis of the corrected means, and on missing ones."""
    n, shared = (max(entry[name] for entry in corrections.values()) for name in ("n_labelled", "n_shared"))
    yield say("calibration.corrected_shared", shared=shared, n=n) if shared else say("calibration.corrected_same")
    for rubric, entry in corrections.items():
        name = metric.rubric(rubric, say)
        if entry["corrected"] is None:
            yield say("calibration.corrected_few", rubric=name)
        if (more := entry.get("more_to_halve")) is not None:
            yield say("calibration.corrected_more", rubric=name, more=f"{more:,}")
        if entry["n_failed"]:
            yield say("calibration.corrected_failed", rubric=name, failed=entry["n_failed"])
