"""The view of a trace for a judge of whether it did its task, and control items (completion.yaml)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from runner.domains.traces.records import Step, Trace
from runner.llm.health import ControlItem, Controls
from runner.text.language import detect_language

FILE = Path(__file__).with_suffix(".yaml")
RUBRIC = "task_completion"

STEP_CHARS = 2000  # of a step, which a judge is shown
FIRST, LAST = 20, 60  # steps of a trace, which a judge is shown

_CUT: Mapping[str, str] = {"en": "… (of {} characters)", "ko": "… (전체 {}자)"}
_LEFT_OUT: Mapping[str, str] = {"en": "({} steps are left out here)", "ko": "(이 자리의 단계 {}개 생략)"}


def fields_of(trace: Trace) -> dict[str, Any]:
    """The fields of a trace for the judge: without its success, confidence and rating."""
    language = trace.language or detect_language(trace.objective)
    return {
        "objective": trace.objective,
        "steps": list(_step_lines(trace.steps, "ko" if language == "ko" else "en")),
        "result": trace.summary,
        "language": language,
    }


def _step_lines(steps: Sequence[Step], language: str) -> Iterator[str]:
    n_left_out = len(steps) - FIRST - LAST
    for place, step in enumerate(steps):
        if n_left_out <= 0 or not FIRST <= place < FIRST + n_left_out:
            yield _line(step, language)
        elif place == FIRST:
            yield _LEFT_OUT[language].format(f"{n_left_out:,}")


def _line(step: Step, language: str) -> str:
    arguments = step.more.get("input")
    told = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    text = " ".join(filter(None, (step.tool, told, step.content)))
    cut = _CUT[language].format(f"{len(text):,}") if len(text) > STEP_CHARS else ""
    return f"{step.type}: {text[:STEP_CHARS]}{cut}"


@cache
def completion_controls() -> Controls:
    """The control items of the rubric for completed tasks, in both languages."""
    scenes = yaml.safe_load(FILE.read_text(encoding="utf-8"))["scenes"]
    return Controls(RUBRIC, tuple(item for scene in scenes for item in _of_scene(scene)))


def _of_scene(scene: Mapping[str, Any]) -> Iterator[ControlItem]:
    scene_fields = {name: scene[name] for name in ("objective", "language")}
    plain = {}
    for entry in scene["traces"]:
        fields = {**scene_fields, "steps": entry["steps"], "result": entry["result"]}
        plain[entry["id"]] = ControlItem(f"{scene['id']}-{entry['id']}", fields, entry["side"])
    yield from plain.values()
    for entry in scene["injections"]:
        before = plain[entry["to"]]
        fields = dict(before.fields)
        if "result" in entry:
            fields["result"] = f"{fields['result']} {entry['result']}"
        else:
            fields["steps"] = [*fields["steps"], entry["step"]]
        yield ControlItem(f"{scene['id']}-{entry['id']}", fields, before.side, without=before.id)
