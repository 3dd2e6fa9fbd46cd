"""Reasons of links of which it is known how they must be judged (controls.yaml says how they are written)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from runner.llm.health import ControlItem, Controls

FILE = Path(__file__).with_suffix(".yaml")
RUBRIC = "link_reason"


@cache
def link_controls() -> Controls:
    """The control items of the rubric for reasons of links, in both languages."""
    scenes = yaml.safe_load(FILE.read_text(encoding="utf-8"))["scenes"]
    return Controls(RUBRIC, tuple(item for scene in scenes for item in _of_scene(scene)))


def _of_scene(scene: Mapping[str, Any]) -> Iterator[ControlItem]:
    shared = {name: scene[name] for name in ("anchor", "context", "target", "language")}
    plain = {
        entry["id"]: ControlItem(f"{scene['id']}-{entry['id']}", {**shared, "reason": entry["reason"]}, entry["side"])
        for entry in scene["reasons"]
    }
    yield from plain.values()
    for entry in scene["injections"]:
        before = plain[entry["to"]]
        fields = {**before.fields, "reason": f"{before.fields['reason']} {entry['reason']}"}
        yield replace(before, id=f"{scene['id']}-{entry['id']}", fields=fields, without=before.id)
