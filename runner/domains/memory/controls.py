"""Memories whose right grades are known (controls.yaml says how they are written)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from runner.llm.health import ControlItem, Controls
from runner.metrics.memory import MAX
from runner.records import Judgement

FILE = Path(__file__).with_suffix(".yaml")
RUBRIC = "memory"


@dataclass(frozen=True, slots=True)
class MemoryControl:
    """`criterion`: the one concerned, or `overall`. `side`: where it must be; None: in the middle. `points`: what it
    was given as an example, 0..10. `without` is the id of the same control without an injection."""

    id: str
    language: str
    question: str
    memory: str
    entities: str
    reference: tuple[str, ...]
    stale: tuple[str, ...]
    criterion: str
    side: Literal["pass", "fail"] | None
    points: float | None = None
    without: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as a judge gets them."""
        names = ("question", "memory", "entities", "reference", "stale", "language")
        return {name: getattr(self, name) for name in names}

    def points_of(self, judgement: Judgement) -> float | None:
        """The score 0..10 of the criterion; that of the whole where a judge gives no other."""
        if judgement.score is None:
            return None
        entry = (judgement.details.get("scores") or {}).get(self.criterion)
        return float(entry["score"]) if entry else MAX * judgement.score

    def share(self, judgement: Judgement) -> float | None:
        """The same from 0 (bad) to 1 (good)."""
        points = self.points_of(judgement)
        return None if points is None else (MAX - points if self.criterion == "noise" else points) / MAX


@cache
def memory_controls() -> tuple[MemoryControl, ...]:
    """The control items of the judge of memories, in both languages."""
    scenes = yaml.safe_load(FILE.read_text(encoding="utf-8"))["scenes"]
    return tuple(control for scene in scenes for control in _of_scene(scene))


@cache
def graded_controls() -> Controls:
    """The control items as a judge is asked about them. The error of a judgement is the difference of its points from
    those of the example."""
    items = tuple(
        ControlItem(control.id, control.fields, control.side, control.without, control.share)
        for control in memory_controls()
    )
    return Controls(RUBRIC, items, _examples)


def _examples(judgements: Mapping[str, Judgement]) -> Mapping[str, Any]:
    """{examples: n that have points, mean_absolute_error (of 10 points), and of each, by id, its criterion, points and
    what was said}."""
    entries: dict[str, Any] = {}
    errors: list[float] = []
    for control in memory_controls():
        if control.points is not None:
            points = control.points_of(judgements[control.id])
            errors += [] if points is None else [abs(points - control.points)]
            entries[control.id] = {"criterion": control.criterion, "points": control.points, "said": points}
    mean = sum(errors) / len(errors) if errors else None
    return {"examples": {"n": len(errors), "mean_absolute_error": mean, "said": entries}}


def _of_scene(scene: Mapping[str, Any]) -> Iterator[MemoryControl]:
    plain = {entry["id"]: _control(scene, entry) for entry in scene["memories"]}
    yield from plain.values()
    for entry in scene["injections"]:
        before = plain[entry["to"]]
        memory = f"{before.memory}\n{entry['memory']}"
        yield replace(before, id=f"{scene['id']}-{entry['id']}", memory=memory, points=None, without=before.id)


def _control(scene: Mapping[str, Any], entry: Mapping[str, Any]) -> MemoryControl:
    sides: dict[str | None, Literal["pass", "fail"] | None] = {"good": "pass", "bad": "fail", None: None}
    return MemoryControl(
        id=f"{scene['id']}-{entry['id']}",
        language=scene["language"],
        question=scene["question"],
        memory=entry["memory"],
        entities=entry.get("entities", ""),
        reference=tuple(scene.get("reference", ())),
        stale=tuple(scene.get("stale", ())),
        criterion=entry["criterion"],
        side=sides[entry.get("expected")],
        points=entry.get("points"),
    )
