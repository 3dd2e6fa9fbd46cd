"""Reasons of links of which it is known how they must be judged (link_controls.yaml says how they are written)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

FILE = Path(__file__).with_suffix(".yaml")
RUBRIC = "link_reason"


@dataclass(frozen=True, slots=True)
class LinkControl:
    """`without` is the id of the same control without an injection."""

    id: str
    language: str
    anchor: str
    context: str
    target: str
    reason: str
    side: Literal["pass", "fail"]
    without: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """As a judge gets them."""
        return {name: getattr(self, name) for name in ("anchor", "context", "target", "reason", "language")}


@cache
def link_controls() -> tuple[LinkControl, ...]:
    scenes = yaml.safe_load(FILE.read_text(encoding="utf-8"))["scenes"]
    return tuple(control for scene in scenes for control in _of_scene(scene))


def _of_scene(scene: Mapping[str, Any]) -> Iterator[LinkControl]:
    shared = {name: scene[name] for name in ("language", "anchor", "context", "target")}
    plain = {
        entry["id"]: LinkControl(f"{scene['id']}-{entry['id']}", reason=entry["reason"], side=entry["side"], **shared)
        for entry in scene["reasons"]
    }
    yield from plain.values()
    for entry in scene["injections"]:
        before = plain[entry["to"]]
        reason = f"{before.reason} {entry['reason']}"
        yield replace(before, id=f"{scene['id']}-{entry['id']}", reason=reason, without=before.id)
