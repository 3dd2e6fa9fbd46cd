"""Control items: answers whose right judgement is known (controls.yaml says how they are written)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from runner.llm.health import ACCEPTED, ControlItem, Controls, PairKind
from runner.llm.rubrics import built_in_rubric
from runner.records import Context
from runner.system.shipped import shipped_yaml

FILE = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True, slots=True)
class Control:
    """`expected`: the right side, by rubric. `without` is the id of the same control without what `pair` names. Of
    `claims` claims, number `invented`, from 1, is not true; None: there is one claim, or all are true or none."""

    id: str
    language: str
    question: str
    contexts: tuple[Context, ...]
    references: tuple[str, ...]
    answer: str
    expected: Mapping[str, Literal["pass", "fail"]]
    without: str | None = None
    pair: PairKind = "injection"
    claims: int = 1
    invented: int | None = None

    @property
    def accepted_above(self) -> float:
        """The score 0..1 above which a judge takes the answer for right: half-way between the share of its true claims
        and 1 where one of several is invented."""
        return ACCEPTED if self.invented is None else 1 - 1 / (2 * self.claims)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that a judge gets."""
        shown = {"question": self.question, "answer": self.answer, "contexts": self.contexts}
        return {**shown, "references": self.references, "language": self.language}


@cache
def controls() -> tuple[Control, ...]:
    """All control items of answers, in the order of controls.yaml."""
    scenes = shipped_yaml(FILE.read_text(encoding="utf-8"))["scenes"]
    return tuple(control for scene in scenes for control in _of_scene(scene))


def _of_scene(scene: Mapping[str, Any]) -> Iterator[Control]:
    scene_id, question, language = scene["id"], scene["question"], scene["language"]
    texts = tuple(Context(f"{scene_id}-{number}", text) for number, text in enumerate(scene["contexts"], 1))
    references = tuple(scene["references"])
    plain = {}
    for entry in scene["answers"]:
        plain[entry["id"]] = Control(
            id=f"{scene_id}-{entry['id']}",
            language=language,
            question=question,
            contexts=texts,
            references=references,
            answer=entry["answer"],
            expected=entry["expected"],
            claims=entry.get("claims", 1),
            invented=entry.get("invented"),
        )
    yield from plain.values()
    for entry in scene["injections"]:
        yield _changed(plain[entry["to"]], scene_id, entry, "injection")
    for entry in scene.get("paddings", ()):
        yield _changed(plain[entry["to"]], scene_id, entry, "length")


def _changed(before: Control, scene_id: str, entry: Mapping[str, Any], pair: PairKind) -> Control:
    added = (Context(f"{scene_id}-injected", entry["context"]),) if "context" in entry else ()
    return replace(
        before,
        id=f"{scene_id}-{entry['id']}",
        contexts=(*before.contexts, *added),
        answer=f"{before.answer} {entry['answer']}" if "answer" in entry else before.answer,
        expected={rubric: before.expected[rubric] for rubric in entry["rubrics"]},
        without=before.id,
        pair=pair,
    )


def answer_controls(rubrics: Sequence[str]) -> list[Controls]:
    """The control items of answers for these rubrics, with the fields that each rubric sees, and the language."""
    return [Controls(rubric, tuple(_items(rubric))) for rubric in rubrics]


def _items(rubric: str) -> Iterator[ControlItem]:
    field_names = {"language", *(field.name for field in built_in_rubric(rubric).modes["score"].fields_)}
    for control in controls():
        if rubric in control.expected:
            fields = {name: value for name, value in control.fields.items() if name in field_names}
            yield ControlItem(
                control.id,
                fields,
                control.expected[rubric],
                control.without,
                pair=control.pair,
                accepted_above=control.accepted_above,
            )
