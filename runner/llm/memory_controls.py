"""Memories of which it is known how they must be graded (memory_controls.yaml says how they are written)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

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
        """As a judge gets them."""
        names = ("question", "memory", "entities", "reference", "stale", "language")
        return {name: getattr(self, name) for name in names}

    def said(self, judgement: Judgement) -> float | None:
        """The score 0..10 of the criterion; that of the whole where a judge gives no other."""
        if judgement.score is None:
            return None
        entry = (judgement.details.get("scores") or {}).get(self.criterion)
        return float(entry["score"]) if entry else MAX * judgement.score

    def share(self, judgement: Judgement) -> float | None:
        """The same from 0 (bad) to 1 (good)."""
        said = self.said(judgement)
        return None if said is None else (MAX - said if self.criterion == "noise" else said) / MAX


@cache
def memory_controls() -> tuple[MemoryControl, ...]:
    scenes = yaml.safe_load(FILE.read_text(encoding="utf-8"))["scenes"]
    return tuple(control for scene in scenes for control in _of_scene(scene))


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
