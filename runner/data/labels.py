"""Rated answers from JSONL.

    id, question (query), answer    text; a rubric that does not see the answer needs none
    ratings             {rubric: a number, or a list with one number a person}
    contexts            list of texts or of {"id", "text", "title"}: what the answer was made from; needed where
                        faithfulness is rated
    memory, reason, …   what else a rubric asks for, under the name of its field: text, or a list of texts
    answers             list of answers that are known to be right; needed where answer_correctness is rated
    history             list of {"role", "text"}: what was said before the question
    language (lang)     of the question
    system              what gave the answer
    group               answers with the same one are not independent of each other (default: those to the same
                        question after the same history; those with the same contexts where all have one question)

Other keys are free to stand there. A CSV is read as runner.data.label_sheets says, a folder as runner.data.mtrag says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.data.documents import is_new
from runner.data.fields import Fields
from runner.data.files import expand
from runner.data.jsonl import read_jsonl
from runner.data.label_sheets import Rows, read_sheets, sheets_in
from runner.data.mtrag import SCALE, read_mtrag
from runner.data.problems import ProblemLog, why_empty
from runner.data.queries import contexts_of, history_of
from runner.data.ratings import ANSWER, UNIT, RatedAnswer, RatingSpec, Scale
from runner.errors import DataError
from runner.records import DataProblem, Turn
from runner.system.store import fingerprint

KEY = "LABELS"
KNOWN = frozenset(
    {
        "id",
        "question",
        "query",
        "answer",
        "contexts",
        "history",
        "language",
        "lang",
        "system",
        "group",
        "ratings",
        "answers",
    }
)
CALLED = {"references": "answers"}  # name in rubrics -> name in files
KINDS = {"text": "text", "list": "a list"}


@dataclass(frozen=True, slots=True)
class Labels:
    """Rated answers in file order, the rubrics that at least one of them is rated for, and what was wrong."""

    answers: tuple[RatedAnswer, ...]
    rubrics: tuple[str, ...]
    scale: Scale
    problems: tuple[DataProblem, ...]

    @property
    def fingerprint(self) -> str:
        """Hash over the answers with their ratings."""
        return fingerprint([_identity(answer) for answer in self.answers])


def read_labels(path: str, spec: RatingSpec, log: ProblemLog, rows: Rows | None = None) -> Labels:
    """Read rated answers. A bad line and a repeated id are errors and left out; answers without a wanted rating are
    left out. Raises DataError for an unreadable file, for ratings on another scale, and where there is no wanted
    rating. `rows`: of the run whose answers a spreadsheet holds."""
    if expand(path).is_dir():
        spec = replace(spec, scale=spec.scale or SCALE)
        rated_answers = read_mtrag(path, KEY, spec, log)
    else:
        rated_answers = _read(path, spec, log, rows)
    answers = tuple(answer for answer in rated_answers if answer.ratings)
    log.stop_if_strict()
    rubrics = tuple(name for name in spec.names if any(name in answer.ratings for answer in answers))
    if not rubrics:
        names = " or ".join(dict.fromkeys(spec.names.values()))
        raise DataError(f"{KEY}: no answer in {path} has a rating called {names}{why_empty(log, path)}")
    return Labels(_grouped(answers), rubrics, spec.scale or UNIT, log.problems)


def _grouped(answers: tuple[RatedAnswer, ...]) -> tuple[RatedAnswer, ...]:
    """The answers, grouped by their contexts where all answer one question and none has a group of its own: one
    instruction for many documents, such as "Summarise the text"."""
    keys = {question_key(answer.question, answer.history) for answer in answers}
    documents = [fingerprint([context.text for context in answer.contexts])[:16] for answer in answers]
    is_one_question = len(keys) == 1 and all(answer.group in keys for answer in answers)
    if not is_one_question or len(set(documents)) == 1:
        return answers
    return tuple(replace(answer, group=document) for answer, document in zip(answers, documents, strict=True))


def _read(path: str, spec: RatingSpec, log: ProblemLog, rows: Rows | None) -> Iterator[RatedAnswer]:
    places: dict[str, str] = {}
    if sheets := sheets_in(path):
        records = read_sheets(sheets, spec.scale or UNIT, rows, log)
    else:
        records = ((path, line, data) for line, data in read_jsonl(path, KEY, log, DataError))
    for file, line, data in records:
        fields = Fields(data, file, line, log)
        answer = _answer(fields, spec)
        if answer is not None and is_new(fields, answer.id, places):
            yield answer


def _answer(fields: Fields, spec: RatingSpec) -> RatedAnswer | None:
    fields.warn_of_misspellings(KNOWN)
    answer_id = fields.required_text("id")
    question = fields.required_text("question", "query")
    answer = fields.text("answer")
    rated = fields.data.get("ratings")
    if not isinstance(rated, dict) or not rated:
        fields.wrong("ratings", "{rubric: a number or a list of numbers}", rated)
        return None
    ratings = spec.read(fields, "ratings", rated)
    contexts, history = contexts_of(fields), history_of(fields)
    more = _rubric_fields(fields, spec, ratings)
    rated_answer = RatedAnswer(
        id=answer_id,
        question=question,
        answer=answer or "",
        contexts=contexts or (),
        ratings=ratings,
        group=fields.text("group") or question_key(question, history),
        system=fields.text("system"),
        language=fields.text("language", "lang"),
        history=history,
        fields=more,
    )
    return None if fields.failed else rated_answer


def _rubric_fields(fields: Fields, spec: RatingSpec, ratings: Mapping[str, object]) -> dict[str, Any]:
    """The fields of rubrics beyond those of every answer. A missing one is an error."""
    more: dict[str, Any] = {}
    for rubric in ratings:
        if rubric not in spec.sees:
            more |= {name: value for name, value in fields.data.items() if name not in KNOWN}
        for field in spec.sees.get(rubric, [ANSWER]):
            name = CALLED.get(field.name, field.name)
            value = fields.data.get(name)
            if isinstance(value, str if field.kind == "text" else list) and (value or name not in CALLED.values()):
                more |= {} if field.name in KNOWN else {field.name: value}
            elif (value is not None or not field.optional) and name != "question" and not fields.failed:
                kind = "a list of texts" if name in CALLED.values() else KINDS[field.kind]
                fields.wrong(name, f"{kind}, since {rubric} is rated", value)
    return more


def question_key(question: str, history: tuple[Turn, ...]) -> str:
    """A key of a question with its history."""
    return fingerprint([question, [[turn.role, turn.text] for turn in history]])[:16]


def _identity(answer: RatedAnswer) -> list[object]:
    turns = [[turn.role, turn.text] for turn in answer.history]
    contexts = [[context.id, context.title, context.text] for context in answer.contexts]
    ratings = sorted([rubric, *values] for rubric, values in answer.ratings.items())
    more = [answer.fields] if answer.fields else []
    return [answer.id, answer.question, turns, answer.answer, contexts, ratings, answer.group, answer.system, *more]
