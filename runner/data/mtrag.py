"""Rated answers from a folder in the form of the human evaluation of MTRAG (Katsis et al., MTRAG, 2025).

corpus.jsonl      {"id", "title", "text"}
responses.jsonl   id            one answer
                  task_id       what it answers; answers to one task are one group
                  model         what gave it
                  conversation  list of {"role", "content"}; the last turn is the question
                  context_ids   documents that the answer was made from
                  response      the answer
                  reference     list of answers that are known to be right; needed where answer_correctness is asked for
                  annotations   {name: {person: {"value": 1..4}}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.data.documents import is_new, read_documents
from runner.data.fields import Fields
from runner.data.files import expand
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog
from runner.data.queries import history_of
from runner.data.ratings import RatedAnswer, RatingSpec, Scale
from runner.errors import DataError
from runner.records import Context, Document

SCALE = Scale(1.0, 4.0)


def read_mtrag(path: str, key: str, spec: RatingSpec, log: ProblemLog) -> Iterator[RatedAnswer]:
    """Read answers with ratings. A bad line or a repeated id is an error and left out. Raises DataError or CorpusError
    for a missing or unreadable file."""
    folder = expand(path)
    corpus = {document.id: document for document in read_documents([str(folder / "corpus.jsonl")], key, log)}
    responses = str(folder / "responses.jsonl")
    places: dict[str, str] = {}
    for line, data in read_jsonl(responses, key, log, DataError):
        fields = Fields(data, responses, line, log)
        answer = _answer(fields, corpus, spec)
        if answer is not None and is_new(fields, answer.id, places):
            yield answer


def _answer(fields: Fields, corpus: Mapping[str, Document], spec: RatingSpec) -> RatedAnswer | None:
    turns = history_of(fields, "conversation")
    if not fields.failed and (not turns or turns[-1].role != "user"):
        fields.error("conversation", "expected a list of turns that ends with one of the user")
    documents = _documents(fields, corpus)
    response = fields.text("response")
    if response is None and not fields.failed:
        fields.wrong("response", "text", None)
    ratings = spec.read(fields, "annotations", _annotations(fields, spec))
    answer_id, task, system = fields.required_text("id"), fields.required_text("task_id"), fields.text("model")
    references = tuple(fields.texts("reference")) if "answer_correctness" in ratings else ()
    if not references and "answer_correctness" in ratings and not fields.failed:
        fields.wrong(
            "reference", "a list of texts, since answer_correctness is asked for", fields.data.get("reference")
        )
    if fields.failed:
        return None
    languages = {document.language for document in documents}
    return RatedAnswer(
        id=answer_id,
        question=turns[-1].text,
        answer=response or "",
        contexts=tuple(Context(document.id, document.text, document.title) for document in documents),
        ratings=ratings,
        fields={"references": references} if references else {},
        group=task,
        system=system,
        language=languages.pop() if len(languages) == 1 else None,
        history=turns[:-1],
    )


def _documents(fields: Fields, corpus: Mapping[str, Document]) -> list[Document]:
    ids = fields.texts("context_ids")
    for index, id in enumerate(ids):
        if id not in corpus:
            fields.error(f"context_ids[{index}]", f"no document of corpus.jsonl has the id '{id}'")
    return [corpus[id] for id in ids if id in corpus]


def _annotations(fields: Fields, spec: RatingSpec) -> dict[str, list[Any]]:
    """Name -> values of all people; numbers may be written as text."""
    annotations = fields.data.get("annotations")
    if not isinstance(annotations, dict):
        fields.wrong("annotations", "an object", annotations)
        return {}
    values = {}
    for name in spec.names.values():
        people = annotations.get(name)
        if people is not None and not isinstance(people, dict):
            fields.wrong(f"annotations.{name}", '{person: {"value"}}', people)
        elif people:
            values[name] = [
                _number(annotation.get("value") if isinstance(annotation, dict) else annotation)
                for annotation in people.values()
            ]
    return values


def _number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
