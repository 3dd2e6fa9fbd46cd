"""The diagnosis of a pipeline by its failing questions, and by faithfulness, answer relevancy and recall together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.metrics import right
from runner.metrics.judged import CORRECTNESS
from runner.report.blocks import EVERYWHERE, MARKDOWN, Block, Cell, Grid, Note, Section, Steps, Table, section
from runner.report.document import Document
from runner.report.metric import applies, rubric
from runner.report.run import stage_name, stages_of
from runner.report.trust import failing
from runner.words.wording import Wording

# (faithfulness is high, answer relevancy is high) -> pattern
PATTERNS = {
    (True, True): "ideal",
    (False, True): "hallucination_risk",
    (True, False): "context_mismatch",
    (False, False): "overall_problem",
}
JUDGED = ("faithfulness", "answer_relevancy")  # the metrics that decide a pattern
WORKING = "retrieval_high_generation_high"
MOST_FAILING = 0.1  # share of failing questions above which no run is called ideal
MAX_QUESTIONS = 10


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The diagnosis of the whole run. `cross` is None without a recall."""

    high: float
    faithfulness: float
    relevancy: float
    recall: float | None

    @property
    def pattern(self) -> str:
        """The name of the pattern of faithfulness and relevancy."""
        return PATTERNS[self.is_high(self.faithfulness), self.is_high(self.relevancy)]

    @property
    def cross(self) -> str | None:
        """The field of retrieval against generation; None where recall is not known."""
        if self.recall is None:
            return None
        return cross_name(self.is_high(self.recall), self.pattern == "ideal")

    def is_high(self, value: float) -> bool:
        """Whether a value lies above the threshold; rounded, so that .7 is not above .7."""
        return round(value, 9) > self.high


def diagnose(summary: Mapping[str, Any], high: float) -> Diagnosis | None:
    """The diagnosis; None unless faithfulness and answer relevancy were both scored."""
    metrics = summary.get("metrics") or {}
    faithfulness, relevancy, recall = (
        (metrics.get(name) or {}).get("value") for name in ("mean_faithfulness", "mean_answer_relevancy", "recall_at_k")
    )
    if faithfulness is None or relevancy is None:
        return None
    return Diagnosis(high, faithfulness, relevancy, recall)


def cross_name(retrieval_high: bool, generation_high: bool) -> str:
    """The name of a field of the table of retrieval against generation."""
    return f"retrieval_{_level(retrieval_high)}_generation_{_level(generation_high)}"


def _level(high: bool) -> str:
    return "high" if high else "low"


# --- what a report says of it ---------------------------------------------------------------------


def pattern(document: Document) -> Section | None:
    """Where most questions fail and what would mend it, of every run. Where answers are judged, then the pattern of the
    run with symptom, cause and remedies, and how many cases show which pattern. Withheld as far as it rests on a judge
    that fails its control items."""
    say = document.say
    run = diagnose(document.summary, document.high)
    if run is None:
        is_judged = applies(document.metrics.get("mean_faithfulness"))
        blocks: tuple[Block, ...] = (*_failures(document), Note(say("diagnosis.none") if is_judged else ""))
    elif untrusted := failing(document.summary, JUDGED):
        blocks = (*_failures(document), _note_on_judge("diagnosis.withheld", untrusted, say))
    else:
        blocks = (*_failures(document), *_pattern(run, document), *_patterns(run, document))
    return section("diagnosis", say("head.diagnosis"), *blocks)


def failing_share(document: Document) -> float:
    """The share, among all cases with a result, of those that failed at a stage or did not end."""
    stages, cases = document.counts.get("lost_at") or {}, document.cases
    broken = cases["failed"] + cases["timeout"]
    total = sum(stages.values()) + broken
    return (sum(stages.values()) - stages.get("none", 0) + broken) / total if total else 0.0


def _is_ideal(run: Diagnosis, document: Document) -> bool:
    """Whether all means are high and few questions fail."""
    return run.pattern == "ideal" and failing_share(document) <= MOST_FAILING


def _failures(document: Document) -> Iterator[Note]:
    """The stage at which most questions fail, which questions, and what would mend it."""
    say, stages = document.say, stages_of(document)
    if not stages:
        return
    if (untrusted := withheld_note(document)) is not None:
        yield untrusted
        return
    stage, count = max(stages, key=lambda entry: entry[1])
    total = sum((document.counts.get("lost_at") or {}).values())
    name, share = stage_name(stage, document), f"{count / total:.1%}"
    yield Note(say("diagnosis.largest", stage=name, count=count, total=total, share=share), "strong", EVERYWHERE)
    ids = [str(row.get("id")) for row in document.folder.rows() if (row.get("labels") or {}).get("lost_at") == stage]
    named, left = ", ".join(ids[:MAX_QUESTIONS]), len(ids) - MAX_QUESTIONS
    key = "diagnosis.questions_more" if left > 0 else "diagnosis.questions"
    yield Note(say(key, ids=named, left=left) if ids else "", media=EVERYWHERE)
    yield Note(say.texts.get(f"lost_meaning.{stage}", ""), media=EVERYWHERE)


def withheld_note(document: Document) -> Note | None:
    """The note in place of the stages, where a judge that fails its control items decided questions."""
    untrusted = failing(document.summary, _deciding_rubrics(document))
    return _note_on_judge("diagnosis.undecided", untrusted, document.say) if untrusted else None


def _deciding_rubrics(document: Document) -> list[str]:
    """The rubrics by which questions of this run were decided."""
    ways = document.counts.get(right.LABEL) or {}
    correctness = [CORRECTNESS] if ways.get("correctness") else []
    return [*correctness, *(JUDGED if ways.get("stand_in") else ())]


def _note_on_judge(key: str, rubrics: Sequence[str], say: Wording) -> Note:
    return Note(say(key, rubrics=", ".join(rubric(name, say) for name in rubrics)), "alarm", EVERYWHERE)


def _pattern(run: Diagnosis, document: Document) -> Iterator[Block]:
    say, key = document.say, f"pattern.{run.pattern}"
    means = say(
        "diagnosis.run",
        faithfulness=f"{run.faithfulness:.4f}",
        faithfulness_level=_word(run.is_high(run.faithfulness), say),
        relevancy=f"{run.relevancy:.4f}",
        relevancy_level=_word(run.is_high(run.relevancy), say),
        high=run.high,
    )
    if run.pattern == "ideal" and not _is_ideal(run, document):
        share = f"{failing_share(document):.1%}"
        yield from (Note(means), Note(say("diagnosis.not_ideal", share=share), "strong"))
        return
    suffix = "_ideal" if run.pattern == "ideal" else ""
    yield Note(say(key), "strong")
    yield Note(means)
    yield Note(say("diagnosis.symptom", text=say(f"{key}.symptom")))
    yield Note(say(f"diagnosis.cause{suffix}", text=say(f"{key}.cause")))
    yield Note(say(f"diagnosis.remedies{suffix}"))
    yield Steps([say.texts[f"{key}.remedy.{n}"] for n in (1, 2, 3) if f"{key}.remedy.{n}" in say.texts])


def _patterns(run: Diagnosis, document: Document) -> Iterator[Block]:
    """Cases by pattern: a table in Markdown, faithfulness down and answer relevancy across on a page."""
    say, counts = document.say, document.counts.get("pattern") or {}
    total = sum(counts.values())
    is_named = run.pattern != "ideal" or _is_ideal(run, document)
    run_place = next((place for place, name in PATTERNS.items() if is_named and name == run.pattern), None)
    sides = (rubric(JUDGED[0], say), rubric(JUDGED[1], say))
    cells = {place: Cell(say(f"pattern.{name}"), detail=_share(counts, name)) for place, name in PATTERNS.items()}
    yield Grid(sides, _levels(say), cells, run_place, say("cross.run"), say("diagnosis.pattern"))
    if not total:
        return
    rows: list[list[str | Cell]] = [
        [
            Cell(say(f"pattern.{name}"), "strong" if (faithful, relevant) == run_place else ""),
            _word(faithful, say),
            _word(relevant, say),
            str(counts.get(name, 0)),
            f"{counts.get(name, 0) / total:.1%}",
        ]
        for (faithful, relevant), name in PATTERNS.items()
    ]
    headers = [say("diagnosis.pattern"), *sides, say("diagnosis.count"), say("diagnosis.share")]
    yield Note(say("diagnosis.cases"), media=MARKDOWN)
    yield Table(headers, rows, right=(3, 4), media=MARKDOWN)
    left_out = sum((document.counts.get("lost_at") or {}).values()) - total  # rightly refused, or not judged
    yield Note(say("diagnosis.left_out", count=f"{left_out:,}") if left_out > 0 else "", "quiet")


def cross(document: Document) -> Section | None:
    """Retrieval against generation: the diagnosis of each corner, the corner of this run, the cases in each. None
    where the judge fails its control items: the diagnosis says so."""
    say, counts = document.say, document.counts.get("cross") or {}
    run = diagnose(document.summary, document.high)
    run_cross = run.cross if run else None
    if (run_cross is None and not counts) or failing(document.summary, JUDGED):
        return None
    if run_cross == WORKING and failing_share(document) > MOST_FAILING:
        run_cross = None
    names = {(down, across): cross_name(down, across) for down in (True, False) for across in (True, False)}
    rows: list[list[str | Cell]] = [
        [
            _word(down, say),
            _word(across, say),
            Cell(say(f"cross.{name}"), "strong" if name == run_cross else ""),
            str(counts.get(name, 0)),
            f"← {say('cross.run')}" if name == run_cross else "",
        ]
        for (down, across), name in names.items()
    ]
    headers = [say("cross.retrieval"), say("cross.generation"), say("cross.diagnosis"), say("diagnosis.count"), ""]
    cells = {place: Cell(say(f"cross.{name}"), detail=_share(counts, name)) for place, name in names.items()}
    corner = next((place for place, name in names.items() if name == run_cross), None)
    return section(
        "cross",
        say("head.cross"),
        Note(say("cross.explain", high=document.high), "quiet"),
        Table(headers, rows, right=(3,), media=MARKDOWN),
        Grid((headers[0], headers[1]), _levels(say), cells, corner, say("cross.run")),
    )


def _share(counts: Mapping[str, int], name: str) -> str:
    total = sum(counts.values())
    return f"{counts.get(name, 0):,} ({counts.get(name, 0) / total:.1%})" if total else ""


def _levels(say: Wording) -> tuple[str, str]:
    return say("level.high"), say("level.low")


def _word(high: bool, say: Wording) -> str:
    return _levels(say)[0 if high else 1]
