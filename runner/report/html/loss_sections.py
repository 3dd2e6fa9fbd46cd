"""Sections of the page that say what is wrong: the diagnosis, where questions were lost, unanswerable ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runner.report import metric
from runner.report.diagnosis import JUDGED, PATTERNS, Diagnosis, cross_name, diagnose
from runner.report.diagnosis_section import left_out
from runner.report.document import Document
from runner.report.html.bars import share_bar
from runner.report.html.markup import Html, joined, paragraph, scrolled, table, tag
from runner.report.html.page import Section
from runner.report.panels import lost_counts, two_by_two
from runner.words.wording import Wording


def diagnosis(document: Document) -> Section | None:
    """The pattern of the run with its remedies, and the cases of each pattern and of each corner."""
    say = document.say
    found = diagnose(document.summary, document.high)
    if found is None:
        judged = "mean_faithfulness" in document.metrics and document.run.get("evaluation_type") != "retrieval_only"
        return Section("diagnosis", say("head.diagnosis"), paragraph(say("diagnosis.none"))) if judged else None
    grids = tag("div", _patterns(document, found), _cross(document, found), class_="beside")
    return Section("diagnosis", say("head.diagnosis"), joined([*_pattern(document, found), grids]))


def _pattern(document: Document, found: Diagnosis) -> Iterator[Html]:
    say, key = document.say, f"pattern.{found.pattern}"
    suffix = "_ideal" if found.pattern == "ideal" else ""
    yield tag("p", tag("strong", say(key)), " – ", say(f"{key}.symptom"))
    yield paragraph(
        say(
            "diagnosis.run",
            faithfulness=f"{found.faithfulness:.4f}",
            faithfulness_level=_level(found.is_high(found.faithfulness), say),
            relevancy=f"{found.relevancy:.4f}",
            relevancy_level=_level(found.is_high(found.relevancy), say),
            high=found.high,
        )
    )
    yield paragraph(say(f"diagnosis.cause{suffix}", text=say(f"{key}.cause")))
    remedies = [say.texts[f"{key}.remedy.{n}"] for n in (1, 2, 3) if f"{key}.remedy.{n}" in say.texts]
    yield joined([paragraph(say(f"diagnosis.remedies{suffix}")), tag("ol", *(tag("li", each) for each in remedies))])
    places = document.counts.get("lost_at") or {}
    total, failing = sum(places.values()), sum(count for place, count in places.items() if place != "none")
    yield paragraph(say("diagnosis.lost", failing=failing, total=total) if failing else "")


def _patterns(document: Document, found: Diagnosis) -> Html:
    """Faithfulness down, answer relevancy across."""
    say = document.say
    cells = {place: (say(f"pattern.{name}"), name) for place, name in PATTERNS.items()}
    sides = (metric.rubric(JUDGED[0], say), metric.rubric(JUDGED[1], say))
    counts = document.counts.get("pattern") or {}
    notes = joined([paragraph(text, "note") for text in left_out(document)])
    return _grid(say("diagnosis.pattern"), sides, cells, counts, found.pattern, say, notes)


def _cross(document: Document, found: Diagnosis) -> Html:
    """Retrieval down, generation across."""
    say = document.say
    names = {(down, across): cross_name(down, across) for down in (True, False) for across in (True, False)}
    cells = {place: (say(f"cross.{name}"), name) for place, name in names.items()}
    counts = document.counts.get("cross") or {}
    if found.cross is None and not counts:
        return Html("")
    sides = (say("cross.retrieval"), say("cross.generation"))
    explain = paragraph(say("cross.explain", high=document.high), "note")
    return joined([_grid(say("head.cross"), sides, cells, counts, found.cross, say, explain)])


def _grid(
    title: str,
    sides: tuple[str, str],
    cells: Mapping[tuple[bool, bool], tuple[str, str]],
    counts: Mapping[str, int],
    own: str | None,
    say: Wording,
    explain: Html = Html(""),  # noqa: B008
) -> Html:
    """Two by two; `cells` maps (high down, high across) to a text and the name that `counts` counts."""
    total = sum(counts.values())
    down, across = sides
    head = tag("tr", tag("td"), *(tag("th", f"{across}: {_level(high, say)}", scope="col") for high in (True, False)))
    rows = [
        tag(
            "tr",
            tag("th", f"{down}: {_level(high, say)}", scope="row"),
            *(_corner(*cells[high, other], counts, total, own, say) for other in (True, False)),
        )
        for high in (True, False)
    ]
    shown = tag("table", tag("thead", head), tag("tbody", *rows), class_="grid")
    return tag("div", tag("h3", title), scrolled(shown, title), explain)


def _corner(text: str, name: str, counts: Mapping[str, int], total: int, own: str | None, say: Wording) -> Html:
    count = counts.get(name, 0)
    share = f"{count:,} ({count / total:.1%})" if total else ""
    here = tag("em", say("cross.run")) if name == own else ""
    return tag("td", tag("span", text), tag("span", share, class_="quiet"), here, class_="own" if name == own else None)


def lost(document: Document) -> Section | None:
    """A waterfall from all questions over what is lost at each stage to what is right."""
    say, counts = document.say, document.counts.get("lost_at")
    if not counts:
        return None
    failing, total = lost_counts(counts), sum(counts.values())
    if not failing:
        return Section("lost", say("lost.title"), paragraph(say("lost.nothing")))
    line = say("lost.total", failing=sum(count for _, count in failing), total=total)
    headers = [say("lost.place"), "", say("diagnosis.count"), say("diagnosis.share")]
    rows = list(_steps(failing, total, say))
    shown = table(headers, rows, label=say("lost.title"), right=(2, 3), class_="waterfall")
    return Section("lost", say("lost.title"), joined([paragraph(f"{line}."), shown]))


def _steps(failing: Sequence[tuple[str, int]], total: int, say: Wording) -> Iterator[Sequence[str]]:
    yield say("html.questions"), share_bar(0, 1, "whole"), f"{total:,}", "100.0%"
    left = total
    for place, count in failing:
        left -= count
        meaning = tag("span", say.texts.get(f"lost_meaning.{place}", ""), class_="quiet")
        bar = share_bar(left / total, count / total, "loss")
        yield joined([say.name("lost_at", place), meaning]), bar, f"−{count:,}", f"{count / total:.1%}"
    yield tag("strong", say("html.right")), share_bar(0, left / total, "rest"), f"{left:,}", f"{left / total:.1%}"


def unanswerable(document: Document) -> Section | None:
    say, counts = document.say, document.counts.get("answerability")
    if not counts or not metric.values(document.metrics, metric.of_groups(document.metrics, say, "unanswerable")):
        return None
    headers = [say(f"answerability.{name}") for name in ("corner", "predicted_yes", "predicted_no")]
    rows = [(say(f"answerability.{name}"), *(f"{cell:,}" for cell in cells)) for name, cells in two_by_two(counts)]
    title = say("answerability.title")
    called = table(headers, rows, label=title, right=(1, 2), class_="narrow")
    if document.min_score is None:
        return Section("unanswerable", title, called)
    note = paragraph(say("answerability.called", min_score=document.min_score), "quiet")
    return Section("unanswerable", title, joined([called, note]))


def _level(high: bool, say: Wording) -> str:
    return say("level.high" if high else "level.low")
