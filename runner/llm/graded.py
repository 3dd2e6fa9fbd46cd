"""Judgements of a memory: four scores 0..10 with reasons, and an overall score 0..100 that code adds up.

A Judgement's score is the overall score / 100; its details are

    {"scores": {"relevance": {"score", "reason"}, "completeness": {"score", "reason"},
                "accuracy": {"score", "reason", "types": [values of INACCURACIES]},
                "noise": {"score", "reason", "types": [values of NOISES]}},
     "overall": 0..100, "helpful_info": [texts], "missing_info": [texts], "summary": text, "empty": bool}
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runner.llm.loose_json import score_in
from runner.metrics.memory import CRITERIA, MAX, WEIGHTS, overall
from runner.records import Judgement
from runner.text.language import Language

# Names that judges use -> the name of the type.
INACCURACIES = {
    "number": "number", "time": "time", "target": "target", "state": "state",
    "수치 오류": "number", "시점 오류": "time", "대상 오류": "target", "상태 오류": "state",
}  # fmt: skip
NOISES = {name: name for name in ("resolved", "off_topic", "boilerplate", "outdated")}
TYPES: Mapping[str, Mapping[str, str]] = {"accuracy": INACCURACIES, "noise": NOISES}

NAMES: Mapping[Language, Mapping[str, str]] = {
    "en": {name: name for name in CRITERIA},
    "ko": {"relevance": "관련성", "completeness": "완전성", "accuracy": "정확성", "noise": "노이즈"},
}
_EMPTY: Mapping[Language, str] = {"en": "The memory is empty.", "ko": "메모리가 비어 있습니다."}
_NOTHING = re.compile(r"[\W_]*(?:메모리 없음|없음|none|empty|no memory)?[\W_]*", re.IGNORECASE)


def is_empty(memory: str, entities: str) -> bool:
    """Whether both are blank, or only say that they are empty."""
    return all(_NOTHING.fullmatch(text) for text in (memory, entities))


def weights_of(fields: Mapping[str, Any]) -> Mapping[str, float]:
    """The weights of the criteria, which sum to 1: those in the `weights` field of the request, else the default
    ones."""
    found: Mapping[str, float] = fields.get("weights") or WEIGHTS
    return found


def judge_empty(language: Language, weights: Mapping[str, float] = WEIGHTS) -> Judgement:
    """The judgement of an empty memory: 0 in every criterion, and 10 of 100 overall with the default weights."""
    nothing = {criterion: {"score": 0.0, "reason": _EMPTY[language]} for criterion in CRITERIA}
    return make_judgement(nothing, _EMPTY[language], language, is_empty=True, weights=weights)


def make_judgement(
    scores: Mapping[str, Mapping[str, Any]],
    summary: str,
    language: Language,
    *,
    helpful: Sequence[str] = (),
    missing_info: Sequence[str] = (),
    is_empty: bool = False,
    weights: Mapping[str, float] = WEIGHTS,
) -> Judgement:
    """`scores`: criterion -> score 0..10, reason and, for accuracy and noise, types."""
    entries = {name: _with_types(name, **scores[name]) for name in CRITERIA}
    total = overall(**{name: entries[name]["score"] for name in CRITERIA}, weights=weights)
    reasons = "; ".join(
        f"{NAMES[language][name]} {entries[name]['score']:.3g}: {entries[name]['reason']}" for name in CRITERIA
    )
    details = {
        "scores": entries,
        "overall": total,
        "helpful_info": list(helpful),
        "missing_info": list(missing_info),
        "summary": summary,
        "empty": is_empty,
    }
    return Judgement(total / 100, summary if is_empty else f"{summary} ({reasons})", details=details)


def read(
    reply: Mapping[str, Any],
    language: Language,
    weights: Mapping[str, float] = WEIGHTS,
    clamped: dict[str, float] | None = None,
) -> Judgement:
    """Read the judgement in a model's reply; an overall score in it is ignored. `clamped` takes scores outside of their
    range. Raises ValueError for an invalid score."""
    scores = reply.get("scores")
    if not isinstance(scores, Mapping):
        raise ValueError(f"scores: expected an object, got {scores!r}")
    return make_judgement(
        {name: _entry(name, scores.get(name), clamped) for name in CRITERIA},
        _text(reply.get("summary")),
        language,
        helpful=_texts(reply.get("helpful_info")),
        missing_info=_texts(reply.get("missing_info")),
        weights=weights,
    )


def merge_details(judgements: Iterable[Judgement], weights: Mapping[str, float] = WEIGHTS) -> dict[str, Any]:
    """The details of several judgements of one memory: mean scores, the union of the types, and the texts of the first.
    Empty where none is graded."""
    details_of_votes = [each.details for each in judgements if each.score is not None and "scores" in each.details]
    if not details_of_votes:
        return {}
    scores = {name: _merge_entries([details["scores"][name] for details in details_of_votes]) for name in CRITERIA}
    total = overall(**{name: scores[name]["score"] for name in CRITERIA}, weights=weights)
    words = {name: details_of_votes[0][name] for name in ("helpful_info", "missing_info", "summary", "empty")}
    return {"scores": scores, "overall": total, **words}


def _merge_entries(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    types = dict.fromkeys(type for entry in entries for type in entry.get("types", ()))
    score = statistics.fmean(entry["score"] for entry in entries)
    return {**entries[0], "score": score, **({"types": list(types)} if "types" in entries[0] else {})}


def _entry(name: str, entry: Any, clamped: dict[str, float] | None) -> dict[str, Any]:
    place = f"scores.{name}"
    if not isinstance(entry, Mapping):
        raise ValueError(f"{place}: expected an object, got {entry!r}")
    score = score_in(0.0, MAX, entry.get("score"), f"{place}.score", clamped)
    return {"score": score, "reason": _text(entry.get("reason")), "types": entry.get("types")}


def _with_types(criterion: str, score: float, reason: str, types: Any = None) -> dict[str, Any]:
    """An entry of `scores`, with the known types, each once, where the criterion has types."""
    entry = {"score": score, "reason": reason}
    if criterion not in TYPES:
        return entry
    known = (TYPES[criterion].get(name) for name in _texts(types))
    return {**entry, "types": list(dict.fromkeys(name for name in known if name))}


def _text(said: Any) -> str:
    return said.strip() if isinstance(said, str) else ""


def _texts(said: Any) -> list[str]:
    return [each.strip() for each in said if isinstance(each, str) and each.strip()] if isinstance(said, list) else []
