"""The cases that went worst, out of a stream of rows."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any
from zlib import crc32

from runner.metrics.metric import Catalogue

RIGHT = ("true_positive", "true_negative")


def worst_cases(rows: Iterable[Mapping[str, Any]], count: int, catalogue: Catalogue) -> list[Mapping[str, Any]]:
    """The `count` worst rows: failing questions first, then by mean score ascending, failed cases after finished ones.
    Ties are ordered by a checksum of their ids, so that ten cases are not ten of one kind whose ids begin alike.
    Perfect cases and right refusals are left out. Independent of the order of `rows`, of which `count` are in memory at
    a time."""
    return heapq.nsmallest(
        count, (row for row in rows if not _perfect(row, catalogue)), key=partial(merit, catalogue=catalogue)
    )


def worst_of(ordered: Iterable[Mapping[str, Any]], count: int, catalogue: Catalogue) -> list[Mapping[str, Any]]:
    """The same of all rows of a run in the order of `merit`."""
    return list(islice((row for row in ordered if not _perfect(row, catalogue)), count))


def lost_at(row: Mapping[str, Any]) -> str | None:
    """The place where a failing question was lost."""
    place = (row.get("labels") or {}).get("lost_at", "none")
    return None if place == "none" else str(place)


def scores(row: Mapping[str, Any], catalogue: Catalogue) -> dict[str, float | None]:
    """The scores by which cases are compared; None where a score applies and is missing."""
    metrics, unscored = row.get("metrics") or {}, row.get("unscored") or ()
    names = (name for name, _, _ in catalogue.deciding)
    return {name: metrics.get(name) for name in names if metrics.get(name) is not None or name in unscored}


def merit(row: Mapping[str, Any], catalogue: Catalogue) -> tuple[bool, float, bool, int, str]:
    """The order of the worst cases: failing ones first, then low means, cases with an error, and a hash of the id."""
    failing = row.get("status") != "ok" or lost_at(row) is not None
    case_id = str(row.get("id"))
    return (
        not failing,
        _mean(row, catalogue),
        row.get("status") != "ok",
        crc32(case_id.encode("utf-8", "replace")),
        case_id,
    )


def _mean(row: Mapping[str, Any], catalogue: Catalogue) -> float:
    """Mean of the scores; what is missing counts 0, and so does a wrong call on whether there is an answer. Without
    any, that of all metrics whose worst and best value are known."""
    if row.get("status") != "ok":
        return 0.0
    metrics, unscored = row.get("metrics") or {}, row.get("unscored") or ()
    scores = [
        0.0 if value is None else zero + slope * value
        for name, zero, slope in catalogue.deciding
        if (value := metrics.get(name)) is not None or name in unscored
    ]
    called = (row.get("labels") or {}).get("answerability")
    if called is not None:
        scores.append(1.0 if called in RIGHT else 0.0)
    if not scores:
        shares = [catalogue.variant(name).goodness(value) for name, value in metrics.items() if value is not None]
        scores = [share for share in shares if share is not None]
    return sum(scores) / len(scores) if scores else 1.0


def _perfect(row: Mapping[str, Any], catalogue: Catalogue) -> bool:
    if row.get("status") != "ok" or lost_at(row) is not None:
        return False
    return _mean(row, catalogue) >= 1.0 or _is_right_refusal(row)


def _is_right_refusal(row: Mapping[str, Any]) -> bool:
    """Whether a refusal is right. Judges score right and wrong refusals alike: neither claims nor answers anything."""
    output = row.get("output")
    if not isinstance(output, Mapping) or (row.get("metrics") or {}).get("leakage"):
        return False
    return output.get("answerable") is False and output.get("declined") is True
