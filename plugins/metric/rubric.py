"""A metric that a judge gives by criteria, written as YAML alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.errors import Problem
from runner.llm.criteria import FIELDS, Criteria, Example, Mode, Unit
from runner.llm.criteria import Field as Seen
from runner.llm.health import ControlItem, Controls
from runner.metrics.metric import Better, Grades, Metric
from runner.records import Context, Judgement, Judgements, Scores, Turn
from runner.text.language import Language

Text = Annotated[str, Field(min_length=1)]
Texts = dict[Language, Text]
AS_CONTEXTS = "contexts"


@with_config(ConfigDict(extra="forbid"))
class TemplateMessage(TypedDict):
    """One message of a template: who speaks, and the text with its fields."""

    role: Literal["user", "assistant"]
    text: Text


@with_config(ConfigDict(extra="forbid"))
class ExampleEntry(TypedDict):
    """Fields that the rubric sees, as text, and what the judge is to say of them."""

    question: NotRequired[str]
    answer: NotRequired[str]
    contexts: NotRequired[str]
    references: NotRequired[str]
    history: NotRequired[str]
    memory: NotRequired[str]
    entities: NotRequired[str]
    trace: NotRequired[str]
    score: NotRequired[float]
    choice: NotRequired[str]
    verdict: NotRequired[Literal["met", "unmet"]]
    reason: NotRequired[str]
    language: NotRequired[Language]


@with_config(ConfigDict(extra="forbid"))
class ControlEntry(TypedDict):
    """Fields as a judge gets them, and how it must judge them: `pass` (good) or `fail` (bad)."""

    expected: Literal["pass", "fail"]
    id: NotRequired[Text]
    without: NotRequired[Text]
    language: NotRequired[Language]
    question: NotRequired[str]
    answer: NotRequired[str]
    contexts: NotRequired[list[str]]
    references: NotRequired[list[str]]
    history: NotRequired[list[TemplateMessage]]
    memory: NotRequired[str]
    entities: NotRequired[str]
    trace: NotRequired[list[str]]


class Rubric:
    """The judge is asked for each case that has all `fields` (`history` may be missing); its score, whatever the
    `scale`, is the share of the scale, 0..1.

    criteria   what is judged, by language; one language serves both
    mode       score: a number on `scale`; choices: one of `choices` (name: score on `scale`); claims: a verdict on
               each part of the answer (`unit`: what it claims, its sentences, or the sentences that cite), of which
               the share that meets the criteria counts. An answer without such a part is not judged
    better     higher, lower (the criteria describe what is bad) or neither
    examples   shown to the judge
    controls   items whose right judgement is known: with them the report says how far the judge can be trusted.
               `without`: the id of the same item without an instruction to the judge
    main       it decides verdicts, beside the main metrics of the evaluation
    """

    def __init__(
        self,
        *,
        criteria: Texts,
        fields: Annotated[list[Seen | Literal["reference"]], Field(min_length=1)] = ["question", "answer"],  # noqa: B006 - never changed
        mode: Mode = "score",
        scale: Annotated[list[float], Field(min_length=2, max_length=2)] = [0.0, 1.0],  # noqa: B006 - never changed
        better: Better = "higher",
        choices: dict[str, float] | None = None,
        unit: Unit = "claims",
        examples: Sequence[ExampleEntry] = (),
        controls: Sequence[ControlEntry] = (),
        label: Texts | None = None,
        meaning: Texts | None = None,
        main: bool = False,
    ) -> None:
        self.name = ""
        self.criteria, self.mode, self.scale = criteria, mode, tuple(scale)
        named: list[Seen] = ["references" if name == "reference" else name for name in fields]
        self.fields = tuple(dict.fromkeys(named))
        self.better, self.choices, self.unit = better, dict(choices or {}), unit
        self.examples, self.items = tuple(examples), tuple(controls)
        self.label, self.meaning, self.main = label, meaning or {}, main

    def set_name(self, name: str) -> None:
        self.name = name

    @property
    def metrics(self) -> Sequence[Metric]:
        return (
            Metric(
                name=self.name,
                better=self.better,
                label=self._label,
                meaning=_words(self.meaning),
                grades=Grades() if self.better == "higher" else None,
                main=self.main,
                depends=(
                    "queries",
                    *(["gold"] if "references" in self.fields else []),
                    "judge",
                    f"judge_prompt.{self.name}",
                ),
                group="answers",
                shown=frozenset({"sweeps", "slices", "cases"}),
            ),
        )

    @property
    def _label(self) -> Mapping[str, str]:
        plain = self.name.replace("_", " ").capitalize()
        return _words(self.label) if self.label else {"en": plain, "ko": plain}

    @property
    def rubrics(self) -> Mapping[str, Criteria]:
        return {
            self.name: Criteria(
                name=self.name,
                label=self._label,
                texts=_words(self.criteria),
                fields=self.fields,
                mode=self.mode,
                low=self.scale[0],
                high=self.scale[1],
                choices=self.choices,
                unit=self.unit,
                examples=tuple(map(_example, self.examples)),
            )
        }

    @property
    def controls(self) -> Sequence[Controls]:
        items = [self._control(number, entry) for number, entry in enumerate(self.items, start=1)]
        return [Controls(self.name, tuple(items))] if items else []

    def _control(self, number: int, entry: ControlEntry) -> ControlItem:
        fields: dict[str, Any] = {name: _for_judge(name, entry.get(name)) for name in FIELDS if name in entry}
        return ControlItem(
            str(entry.get("id") or f"{self.name}-{number}"),
            {**fields, "language": entry.get("language")},
            entry["expected"],
            entry.get("without"),
            self._worth,
        )

    def _worth(self, judgement: Judgement) -> float | None:
        """The goodness of a score, 0 (bad) to 1 (good)."""
        if judgement.score is None:
            return None
        return 1.0 - judgement.score if self.better == "lower" else judgement.score

    def judge_fields(self, shown: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
        seen = self.rubrics[self.name].pick_fields(shown)
        return {} if seen is None else {self.name: seen}

    def score(self, case: Any, output: Any, judgements: Judgements) -> Scores:
        judgement = judgements.get(self.name)
        return Scores({} if judgement is None or judgement.score is None else {self.name: judgement.score})

    # --- problems of the settings -----------------------------------------------------------------------

    def preflight(self) -> Sequence[Problem]:
        return [*self._of_scale(), *self._of_examples(), *self._of_controls()]

    def _of_scale(self) -> Iterator[Problem]:
        low, high = self.scale
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            yield Problem(self._key("scale"), f"expected the lowest and then the highest score, got {low:g}, {high:g}")
        if not self.criteria:
            yield Problem(self._key("criteria"), "expected criteria under en, ko or both")
        if self.mode == "choices" and len(self.choices) < 2:
            yield Problem(self._key("choices"), "mode choices needs two choices or more, as {kind: 1, rude: 0}")
        if self.mode != "choices" and self.choices:
            yield Problem(self._key("choices"), f"mode {self.mode} takes no choices; expected mode: choices")
        for name, score in self.choices.items():
            if not low <= score <= high:
                yield Problem(self._key(f"choices.{name}"), f"expected a number from {self._scale}, got {score:g}")
        if self.mode == "claims" and "answer" not in self.fields:
            yield Problem(self._key("fields"), "mode claims judges parts of the answer; expected answer among them")

    def _of_examples(self) -> Iterator[Problem]:
        field = {"score": "score", "choices": "choice", "claims": "verdict"}[self.mode]
        for number, entry in enumerate(self.examples):
            key = self._key(f"examples.{number}")
            verdict = entry.get(field)
            if verdict is None:
                yield Problem(key, f"{field} is missing: what the judge is to say of it")
            elif field == "score" and not self.scale[0] <= float(str(verdict)) <= self.scale[1]:
                yield Problem(f"{key}.score", f"expected a number from {self._scale}, got {verdict}")
            elif field == "choice" and verdict not in self.choices:
                yield Problem(f"{key}.choice", f"expected {', '.join(self.choices)}, got '{verdict}'")

    def _of_controls(self) -> Iterator[Problem]:
        ids = [str(entry.get("id") or f"{self.name}-{number}") for number, entry in enumerate(self.items, start=1)]
        names = [name for name in self.fields if name != "history"]
        for number, entry in enumerate(self.items):
            key = self._key(f"controls.{number}")
            if missing := [name for name in names if name not in entry]:
                yield Problem(key, f"{', '.join(missing)}: missing, and the rubric sees it")
            if ids.index(ids[number]) != number:
                yield Problem(f"{key}.id", f"'{ids[number]}' is there already")
            if (without := entry.get("without")) is not None and without not in ids:
                yield Problem(f"{key}.without", f"no control item has the id '{without}'")

    @property
    def _scale(self) -> str:
        return f"{self.scale[0]:g} to {self.scale[1]:g}"

    def _key(self, setting: str) -> str:
        return f"metric.{self.name}.{setting}"


def _words(texts: Texts) -> dict[str, str]:
    return {str(language): text for language, text in texts.items()}


def _example(entry: ExampleEntry) -> Example:
    said = entry.get("score", entry.get("choice", entry.get("verdict", "")))
    shown = f"{said:g}" if isinstance(said, int | float) else str(said)
    fields: dict[str, str] = {name: str(entry.get(name)) for name in FIELDS if name in entry}
    return Example(fields, shown, str(entry.get("reason") or ""), entry.get("language"))


def _for_judge(name: str, value: Any) -> Any:
    """The value as a judge gets it."""
    if name == AS_CONTEXTS:
        return tuple(Context(f"context-{number}", text) for number, text in enumerate(value, start=1))
    if name == "history":
        return tuple(Turn(turn["role"], turn["text"]) for turn in value)
    return value
