"""Sections of summary.md that say what is wrong and what to do about it."""

from __future__ import annotations

from runner.report import metric
from runner.report.diagnosis import JUDGED, PATTERNS, Diagnosis, cross_name, diagnose
from runner.report.document import Document, section
from runner.report.markdown import bold, escape, numbered, table
from runner.words.wording import Wording


def pattern(document: Document) -> str:
    """The pattern of the run with symptom, cause and remedies, and how many cases show which pattern."""
    say = document.say
    found = diagnose(document.summary, document.high)
    if found is None:
        judged = "mean_faithfulness" in document.metrics and document.run.get("evaluation_type") != "retrieval_only"
        return section(say("head.diagnosis"), escape(say("diagnosis.none"))) if judged else ""
    parts = [*_pattern(found, say), *_lost_all_the_same(document), *_pattern_counts(found, document)]
    return section(say("head.diagnosis"), *parts)


def _lost_all_the_same(document: Document) -> list[str]:
    """High means of judgements say nothing of questions that were answered faithfully from the wrong place."""
    places = document.counts.get("lost_at") or {}
    total, failing = sum(places.values()), sum(count for place, count in places.items() if place != "none")
    return [escape(document.say("diagnosis.lost", failing=failing, total=total))] if failing else []


def _pattern(found: Diagnosis, say: Wording) -> list[str]:
    key = f"pattern.{found.pattern}"
    line = say(
        "diagnosis.run",
        faithfulness=f"{found.faithfulness:.4f}",
        faithfulness_level=_level(found.is_high(found.faithfulness), say),
        relevancy=f"{found.relevancy:.4f}",
        relevancy_level=_level(found.is_high(found.relevancy), say),
        high=found.high,
    )
    suffix = "_ideal" if found.pattern == "ideal" else ""
    remedies = [say.texts[f"{key}.remedy.{n}"] for n in (1, 2, 3) if f"{key}.remedy.{n}" in say.texts]
    return [
        bold(say(key)),
        escape(line),
        escape(say("diagnosis.symptom", text=say(f"{key}.symptom"))),
        escape(say(f"diagnosis.cause{suffix}", text=say(f"{key}.cause"))),
        f"{escape(say(f'diagnosis.remedies{suffix}'))}\n\n{numbered(remedies)}",
    ]


def _pattern_counts(found: Diagnosis, document: Document) -> list[str]:
    say, counts = document.say, document.counts.get("pattern") or {}
    total = sum(counts.values())
    if not total:
        return []
    rows = [
        [
            bold(say(f"pattern.{name}")) if name == found.pattern else say(f"pattern.{name}"),
            _level(faithful, say),
            _level(relevant, say),
            str(counts.get(name, 0)),
            f"{counts.get(name, 0) / total:.1%}",
        ]
        for (faithful, relevant), name in PATTERNS.items()
    ]
    headers = [say("diagnosis.pattern"), *(metric.rubric(name, say) for name in JUDGED)]
    headers += [say("diagnosis.count"), say("diagnosis.share")]
    return [escape(say("diagnosis.cases")), table(headers, rows, right=(3, 4)), *map(escape, left_out(document))]


def left_out(document: Document) -> list[str]:
    """How many cases show no pattern, because they were rightly refused or not judged."""
    places, counts = document.counts.get("lost_at") or {}, document.counts.get("pattern") or {}
    count = sum(places.values()) - sum(counts.values())
    return [document.say("diagnosis.left_out", count=f"{count:,}")] if counts and count > 0 else []


def cross(document: Document) -> str:
    """Retrieval against generation: the diagnosis of each corner, the corner of this run, the cases in each."""
    say, counts = document.say, document.counts.get("cross") or {}
    found = diagnose(document.summary, document.high)
    own = found.cross if found else None
    if own is None and not counts:
        return ""
    rows = []
    for retrieval, generation in ((True, True), (True, False), (False, True), (False, False)):
        name = cross_name(retrieval, generation)
        text = say(f"cross.{name}")
        cells = [_level(retrieval, say), _level(generation, say), bold(text) if name == own else text]
        rows.append([*cells, str(counts.get(name, 0)), f"← {say('cross.run')}" if name == own else ""])
    headers = [say("cross.retrieval"), say("cross.generation"), say("cross.diagnosis"), say("diagnosis.count"), ""]
    explain = escape(say("cross.explain", high=document.high))
    return section(say("head.cross"), explain, table(headers, rows, right=(3,)))


def _level(high: bool, say: Wording) -> str:
    return say("level.high" if high else "level.low")
