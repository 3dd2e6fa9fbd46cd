"""Sections of a comparison on the questions that went from right to wrong, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.report import metric
from runner.report.blocks import FILES, MARKDOWN, PAGE, Cell, Facts, Note, Section, Stretch, Table, section
from runner.report.comparison_words import Record, k_of, list_items
from runner.report.markdown import shorten
from runner.words.wording import Wording

SHOWN = {"lost": 15, "won": 10}  # flips that compare.md shows with everything about them
NAMED = 40  # flips that it names beyond those
ON_A_PAGE, NAMED_ON_A_PAGE = 50, 100  # the same of a page
QUESTION, ANSWER, REASON, TITLE = 400, 600, 400, 80  # characters shown
SIDES = ("baseline", "candidate")


def flips(record: Record, say: Wording) -> Section | None:
    """The cases that turned wrong or right, or why none can be listed."""
    flip_counts, title = record["flips"], say("compare.head.flips")
    if flip_counts["by"] is None:
        return section("flips", title, Note(say("compare.flips.none"), media=MARKDOWN))
    kinds = (_kind(record, kind, say) for kind in ("lost", "won") if flip_counts[kind])
    return section("flips", title, *_counts(flip_counts, say), *_notes(record, say), *kinds)


def _notes(record: Record, say: Wording) -> Iterator[Note]:
    """The rule that decides between right and wrong, and how flips are shown if there are any."""
    counted = record["flips"]
    every = [*counted["lost"], *counted["won"]]
    yield Note(right_rule(record, say), "quiet")
    if every:
        yield Note(say("compare.flips.order"), "quiet")
    if any(flip["judge_noise"] for flip in every):
        yield Note(say("compare.flips.noise"), "quiet")
    if every and not any(flip["texts"] for flip in every):
        yield Note(say("compare.flips.no_texts"), "quiet")
    unknown = [side for side in SIDES if any(flip["texts"] and flip["texts"][side] is None for flip in every)]
    for side in unknown:
        yield Note(say("compare.flips.one_text", side=say(f"compare.{side}")), "quiet")


def right_rule(record: Record, say: Wording) -> str:
    """The rule that tells right from wrong."""
    by = record["flips"]["by"]
    if by != "lost_at":
        return say("compare.flips.by_metric", metric=metric.label(by, k_of(record), say))
    return say("compare.flips.by_label")


def _counts(flip_counts: Mapping[str, Any], say: Wording) -> Iterator[Table]:
    """A page draws them as parts of all questions."""
    counts = {
        "both_right": ("rest", flip_counts["right_in_both"]),
        "lost": ("loss", len(flip_counts["lost"])),
        "won": ("gain", len(flip_counts["won"])),
        "both_wrong": ("whole", flip_counts["wrong_in_both"]),
    }
    questions = say("compare.flips.questions")
    rows = [[say(f"compare.flips.{name}"), str(count)] for name, (_, count) in counts.items()]
    yield Table(["", questions], rows, media=MARKDOWN)
    total, start = sum(count for _, count in counts.values()) or 1, 0
    table_rows: list[list[str | Cell]] = []
    for name, (kind, count) in counts.items():
        bar = Cell("", drawing=Stretch(start / total, count / total, kind))  # type: ignore[arg-type]
        table_rows.append([say(f"compare.flips.{name}"), bar, f"{count:,}", f"{count / total:.1%}"])
        start += count
    headers = ["", "", questions, say("diagnosis.share")]
    yield Table(headers, table_rows, say("compare.head.flips"), right=(2, 3), media=PAGE)


def _kind(record: Record, kind: str, say: Wording) -> Section | None:
    cases = record["flips"][kind]
    title = f"{say(f'compare.flips.{kind}')} ({len(cases)})"
    blocks = (
        _flip(number, flip, record, say, in_markdown=number <= SHOWN[kind])
        for number, flip in enumerate(cases[:ON_A_PAGE], start=1)
    )
    more = [
        Note(_more(cases[start:], named, say), media=media)
        for start, named, media in ((SHOWN[kind], NAMED, MARKDOWN), (ON_A_PAGE, NAMED_ON_A_PAGE, PAGE))
    ]
    return section("", title, *blocks, *more)


def _more(others: list[Record], most: int, say: Wording) -> str:
    named = list_items([name_of(flip, say) for flip in others], say, most)
    return f"{say('compare.flips.more', count=len(others))} {named}" if others else ""


def name_of(flip: Record, say: Wording) -> str:
    """Id and weight of a flip; `~` before one that the noise of the judge may explain."""
    name = say("compare.flip", id=flip["id"], weight=f"{flip['weight']:.2f}")
    return f"~ {name}" if flip["judge_noise"] else name


def _flip(number: int, flip: Record, record: Record, say: Wording, *, in_markdown: bool) -> Section:
    """A page has it closed to its question."""
    facts = Facts([(name, text) for name, text in _facts(flip, record, say) if text])
    question = shorten(str((flip["texts"] or {}).get("question") or ""), QUESTION)
    media = FILES if in_markdown else PAGE
    return Section("", name_of(flip, say), [facts], media, folded=True, lead=question or " ", number=number)


def _facts(flip: Record, record: Record, say: Wording) -> Iterator[tuple[str, str]]:
    """(name, text) of what changed and what stands behind it."""
    texts = flip["texts"]
    if texts:
        yield say("compare.flip.question"), shorten(str(texts["question"] or ""), QUESTION)
    places = [flip[f"lost_at_{side}"] for side in SIDES]
    if any(places):
        stages = [say.name("lost_at", place) if place else say("none") for place in places]
        yield say("compare.flip.lost_at"), " → ".join(stages)
    yield say("compare.flip.changes"), _changes(flip["changes"], record, say)
    if texts:
        yield from _behind(texts, say)


def _changes(changes: Mapping[str, Any], record: Record, say: Wording) -> str:
    moved = {name: values for name, values in changes.items() if values[0] != values[1]}
    return ", ".join(
        f"{metric.label(name, k_of(record), say)} {' → '.join(_number(value, say) for value in values)}"
        for name, values in moved.items()
    )


def _number(value: float | None, say: Wording) -> str:
    return say("none") if value is None else f"{value:.2f}"


def _behind(texts: Mapping[str, Any], say: Wording) -> Iterator[tuple[str, str]]:
    if texts["answers"]:
        yield say("compare.flip.known"), shorten(" / ".join(map(str, texts["answers"])), ANSWER)
    known_sides = [side for side in SIDES if texts[side] is not None]
    answers = {side: texts[side]["answer"] for side in known_sides}
    if any(answer is not None for answer in answers.values()):
        for side in known_sides:
            declined = f"{say('worst.declined')} " if texts[side]["declined"] else ""
            answer = declined + shorten(str(answers[side] or ""), ANSWER)
            yield say("compare.flip.answer", side=say(f"compare.{side}")), answer
    for side in known_sides:
        if texts[side]["error"]:
            yield say("compare.flip.error", side=say(f"compare.{side}")), shorten(str(texts[side]["error"]), REASON)
    if texts["expected"]:
        expected = ", ".join(map(str, texts["expected"]))
        ranks = " → ".join(say("none") if rank is None else str(rank) for rank in texts["ranks"])
        known = any(rank is not None for rank in texts["ranks"])
        yield say("compare.flip.expected"), f"{expected} {say('compare.flip.rank', ranks=ranks)}" if known else expected
    for name in ("went", "came"):
        yield say(f"compare.flip.{name}"), "; ".join(_chunk(chunk, say) for chunk in texts[name])
    for rubric, sides in texts["judges"].items():
        for side in SIDES:
            judgement = sides[side]
            reason = f"{_number(judgement['score'], say)}: {shorten(str(judgement['reason']), REASON)}"
            yield say("compare.flip.reason", rubric=metric.rubric(rubric, say), side=say(f"compare.{side}")), reason


def _chunk(chunk: Mapping[str, Any], say: Wording) -> str:
    """`2. id "title" (expected)`"""
    title = f" “{shorten(str(chunk['title']), TITLE)}”" if chunk["title"] else ""
    expected = f" {say('compare.flip.gold')}" if chunk["expected"] else ""
    return f"{chunk['rank']}. {chunk['id']}{title}{expected}"
