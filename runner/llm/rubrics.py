"""What a judge is asked: one data file a rubric, in the folder `rubrics` beside this module.

version: 1
modes:                 # ways to ask; every rubric has one of `score`, `graded`, `chunks` and `reference`
  score:
    fields:            # what the judge sees, in this order
      - {name: question, kind: text}
      - {name: contexts, kind: list}                   # numbered from 1
      - {name: history, kind: list, optional: true}    # left out where it is missing or empty
    reply_schema: {…}  # JSON schema of the reply, with `score` (or what the mode asks for) in its properties
    en: …              # the system message, one for each language
    ko: …

A rubric of one's own may take the place of one of these; it sees no other fields than the one it replaces. One with a
name of its own stands beside them, and sees what whoever asks for it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.data.files import parsed_yaml, read_text
from runner.errors import EvaluationError, InputError, did_you_mean, rephrase
from runner.llm.fencing import NOTICE, Item, fence_fields
from runner.llm.messages import Message
from runner.system.shipped import shipped_yaml
from runner.system.store import fingerprint
from runner.text.language import Language, detect_language

FOLDER = Path(__file__).with_suffix("")
ASKED_FOR = {  # mode -> what its reply must hold
    "score": "score",
    "claims": "verdicts",
    "graded": "scores",
    "chunks": "verdicts",
    "reference": "verdicts",
}
WHOLE = ("score", "graded", "chunks", "reference")  # modes that every judge can ask in; a rubric has one of them

Text = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RubricField(_Strict):
    """A value that a rubric's prompt takes: a text, or a list of texts."""

    name: Text
    kind: Literal["text", "list"]
    optional: bool = False


class Mode(_Strict):
    """One way to ask a rubric: its fields, the JSON schema of the reply, and the prompt in both languages."""

    fields_: Annotated[list[RubricField], Field(alias="fields", min_length=1)]
    reply_schema: dict[str, Any]
    en: Text
    ko: Text


class _File(_Strict):
    version: Annotated[int, Field(ge=1)]
    modes: dict[str, Mode]


@dataclass(frozen=True, slots=True)
class Rubric:
    """`digest` is a hash over the file and over what is added to its prompts: the identity of its scores."""

    name: str
    digest: str
    modes: Mapping[str, Mode]

    def mode_for(self, mode: str) -> str:
        """The mode that a judge who is set to `mode` asks in."""
        return mode if mode in self.modes else next(whole for whole in WHOLE if whole in self.modes)

    def messages(self, mode: str, fields: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages in the language of `fields["language"]`, else of the first text. Raises EvaluationError for
        fields that are missing or of another kind."""
        rubric_mode = self.modes[mode]
        language = self.language(mode, fields)
        values = {
            field.name: _value(self.name, field, fields) for field in rubric_mode.fields_ if _is_given(field, fields)
        }
        return _system(rubric_mode.ko if language == "ko" else rubric_mode.en, language), Message(
            "user", fence_fields(values, language)
        )

    def language(self, mode: str, fields: Mapping[str, Any]) -> Language:
        told = fields.get("language")
        if told == "ko" or told == "en":
            return "ko" if told == "ko" else "en"
        texts = (fields.get(field.name) for field in self.modes[mode].fields_ if field.kind == "text")
        return detect_language(str(next(texts, None) or ""))


@lru_cache(maxsize=256)
def _system(text: str, language: Language) -> Message:
    return Message("system", f"{text.strip()}\n\n{NOTICE[language]}")


def names() -> list[str]:
    """The names of the rubrics that come with the program, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def rubrics(replaced: Mapping[str, str], mode: str) -> dict[str, Rubric]:
    """All rubrics; `replaced` maps names to files of one's own, which must offer `mode` where the rubric does. A name
    that is not close to a known one is that of a further rubric. Raises InputError."""
    for name in replaced:
        if problem := suggestion_for(name):
            raise InputError(f"judge.rubrics.{name}: there is no such rubric{problem}")
    known = {
        name: _user_rubric(name, replaced[name], mode) if name in replaced else built_in_rubric(name)
        for name in names()
    }
    return known | {name: read_rubric(name, path) for name, path in replaced.items() if name not in known}


def suggestion_for(name: str) -> str:
    """`; did you mean …` of a name that is close to that of a rubric; empty for a known name, and for a name without
    similar ones."""
    near = did_you_mean(name, names())
    return near if name not in names() and "did you mean" in near else ""


def rubric_fields(name: str) -> Mapping[str, RubricField]:
    """The fields of a rubric of this program, by name; empty for a user's own rubric. A rubric that replaces it has no
    other fields."""
    if name not in names():
        return {}
    rubric = built_in_rubric(name)
    return {field.name: field for field in rubric.modes[rubric.mode_for("score")].fields_}


@cache
def built_in_rubric(name: str) -> Rubric:
    """A rubric that comes with the program, one of `names()`."""
    return read_rubric(name, str(FOLDER / f"{name}.yaml"), shipped_yaml)


def read_rubric(name: str, path: str, load: Callable[[str], Any] | None = None) -> Rubric:
    """`load`: what reads the YAML. Raises InputError with the file and the field."""
    key = f"judge.rubrics.{name}"
    text = read_text(path, key, InputError)
    value = parsed_yaml(text, path, key, InputError, load)
    try:
        modes = _File.model_validate(value).modes
    except ValidationError as error:
        raise InputError(f"{key}: {path}: {_first_error(error)}") from None
    if problem := _problem(modes):
        raise InputError(f"{key}: {path}: {problem}")
    return Rubric(name, fingerprint([text, dict(NOTICE)]), modes)


def _problem(modes: Mapping[str, Mode]) -> str:
    """The fault of the modes of a rubric; empty for right ones."""
    for mode, what in modes.items():
        if mode not in ASKED_FOR:
            return f"modes.{mode}: there is no such mode{did_you_mean(mode, ASKED_FOR)}"
        if ASKED_FOR[mode] not in (what.reply_schema.get("properties") or {}):
            return f"modes.{mode}.reply_schema.properties: '{ASKED_FOR[mode]}' is missing"
    return "" if any(mode in modes for mode in WHOLE) else "modes.score: missing"


def _user_rubric(name: str, path: str, mode: str) -> Rubric:
    original, own_rubric = built_in_rubric(name), read_rubric(name, path)
    if problem := _mismatch(original, own_rubric, mode):
        raise InputError(f"judge.rubrics.{name}: {path}: {problem}")
    return own_rubric


def _mismatch(original: Rubric, own_rubric: Rubric, mode: str) -> str:
    """Why a rubric cannot take the place of another; empty when it can."""
    if original.mode_for(mode) not in own_rubric.modes:
        return f"modes.{original.mode_for(mode)}: missing, and judge.mode={mode} asks for it"
    for name, what in own_rubric.modes.items():
        if name not in original.modes:
            return f"modes.{name}: {original.name} has no such mode{did_you_mean(name, original.modes)}"
        field_of = {field.name: field for field in original.modes[name].fields_}
        for at, field in enumerate(what.fields_):
            if field.name not in field_of:
                return f"modes.{name}.fields.{at}.name: no field '{field.name}'{did_you_mean(field.name, field_of)}"
            if (field.kind, field.optional) != (field_of[field.name].kind, field_of[field.name].optional):
                same = "optional" if field_of[field.name].optional else "not optional"
                return f"modes.{name}.fields.{at}: {field.name} is a {field_of[field.name].kind}, and {same}"
    return ""


def _first_error(error: ValidationError) -> str:
    first_error = error.errors()[0]
    place = ".".join(str(part) for part in first_error["loc"]) or "the file"
    kind = {"missing": "missing", "extra_forbidden": "unknown field"}.get(first_error["type"])
    return f"{place}: {kind or rephrase(first_error['msg'])}"


def _is_given(field: RubricField, fields: Mapping[str, Any]) -> bool:
    return not field.optional or bool(fields.get(field.name))


def _value(rubric: str, field: RubricField, fields: Mapping[str, Any]) -> str | Sequence[Item]:
    if field.name not in fields:
        given = ", ".join(sorted(fields))
        raise EvaluationError(f"rubric {rubric}: the field '{field.name}' is missing; given: {given}")
    value = fields[field.name]
    if field.kind == "text" and (value is None or isinstance(value, str)):
        return value or ""
    if field.kind == "list" and isinstance(value, Sequence) and not isinstance(value, str):
        return value
    raise EvaluationError(f"rubric {rubric}: the field '{field.name}' must be a {field.kind}, got {value!r}")
