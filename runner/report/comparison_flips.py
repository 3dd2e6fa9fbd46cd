"""The section of compare.md about questions that went from right to wrong, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.report import metric
from runner.report.comparison_words import Record, k_of, listed
from runner.report.document import section
from runner.report.markdown import bold, escape, shorten, table
from runner.words.wording import Wording

SHOWN = {"lost": 15, "won": 10}  # flips shown with everything about them
NAMED = 40  # flips named beyond those
QUESTION, ANSWER, REASON, TITLE = 400, 600, 400, 80  # characters shown
SIDES = ("baseline", "candidate")


def flips(record: Record, say: Wording) -> str:
    found, title = record["flips"], say("compare.head.flips")
    if found["by"] is None:
        return section(title, escape(say("compare.flips.none")))
    explained, *notes = notes_of(record, say)
    blocks = [_counts(found, say), escape(explained), "\n\n".join(map(escape, notes))]
    return section(title, *blocks, *(_kind(record, kind, say) for kind in ("lost", "won") if found[kind]))


def notes_of(record: Record, say: Wording) -> list[str]:
    """What tells right from wrong, and how flips are shown where there are any."""
    found = record["flips"]
    every = [*found["lost"], *found["won"]]
    notes = [right(record, say)]
    notes += [say("compare.flips.order")] if every else []
    notes += [say("compare.flips.noise")] if any(flip["judge_noise"] for flip in every) else []
    notes += [say("compare.flips.no_texts")] if every and not any(flip["texts"] for flip in every) else []
    return notes


def right(record: Record, say: Wording) -> str:
    """What tells right from wrong."""
    by = record["flips"]["by"]
    if by != "lost_at":
        return say("compare.flips.by_metric", metric=metric.label(by, k_of(record), say))
    return say("compare.flips.by_label")


def _counts(found: Mapping[str, Any], say: Wording) -> str:
    rows = [
        (say("compare.flips.both_right"), str(found["right_in_both"])),
        (say("compare.flips.lost"), str(len(found["lost"]))),
        (say("compare.flips.won"), str(len(found["won"]))),
        (say("compare.flips.both_wrong"), str(found["wrong_in_both"])),
    ]
    return table(["", say("compare.flips.questions")], rows, right=(1,))


def _kind(record: Record, kind: str, say: Wording) -> str:
    found = record["flips"][kind]
    shown, rest = found[: SHOWN[kind]], found[SHOWN[kind] :]
    blocks = [_flip(number, flip, record, say) for number, flip in enumerate(shown, start=1)]
    if rest:
        named = listed([name_of(flip, say) for flip in rest], say, NAMED)
        blocks.append(escape(f"{say('compare.flips.more', count=len(rest))} {named}"))
    return section(f"{say(f'compare.flips.{kind}')} ({len(found)})", *blocks, level=3)


def name_of(flip: Record, say: Wording) -> str:
    name = say("compare.flip", id=flip["id"], weight=f"{flip['weight']:.2f}")
    return f"~ {name}" if flip["judge_noise"] else name


def _flip(number: int, flip: Record, record: Record, say: Wording) -> str:
    facts = [f"- {bold(name)}: {escape(text)}" for name, text in facts_of(flip, record, say) if text]
    return f"#### {number}. {escape(name_of(flip, say))}\n\n" + "\n".join(facts)


def facts_of(flip: Record, record: Record, say: Wording) -> Iterator[tuple[str, str]]:
    """(name, text) of what changed and what stands behind it."""
    texts = flip["texts"]
    if texts:
        yield say("compare.flip.question"), shorten(str(texts["question"] or ""), QUESTION)
    places = [flip[f"lost_at_{side}"] for side in SIDES]
    if any(places):
        told = [say.name("lost_at", place) if place else say("none") for place in places]
        yield say("compare.flip.lost_at"), " → ".join(told)
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
    answers = {side: texts[side]["answer"] for side in SIDES}
    if any(answer is not None for answer in answers.values()):
        for side in SIDES:
            refused = f"{say('worst.refused')} " if texts[side]["refused"] else ""
            told = refused + shorten(str(answers[side] or ""), ANSWER)
            yield say("compare.flip.answer", side=say(f"compare.{side}")), told
    for side in SIDES:
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
            said = sides[side]
            told = f"{_number(said['score'], say)}: {shorten(str(said['reason']), REASON)}"
            yield say("compare.flip.reason", rubric=metric.rubric(rubric, say), side=say(f"compare.{side}")), told


def _chunk(chunk: Mapping[str, Any], say: Wording) -> str:
    """`2. id "title" (expected)`"""
    title = f" “{shorten(str(chunk['title']), TITLE)}”" if chunk["title"] else ""
    expected = f" {say('compare.flip.gold')}" if chunk["expected"] else ""
    return f"{chunk['rank']}. {chunk['id']}{title}{expected}"
