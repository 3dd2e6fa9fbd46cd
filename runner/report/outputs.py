"""The rows of a run as columns for what sets runs side by side: where each row stands, whether it went right, what came
out, and what the page of a sweep shows of it.

A run of a sweep leaves them for the end of the sweep, while its rows are in memory anyway."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from runner.metrics.metric import Catalogue
from runner.report.markdown import shorten
from runner.report.page import clean
from runner.system.folder import lines_at
from runner.system.shared import make_once
from runner.system.shared_record import note_once

PARTS = ("retrieved", "answer")  # parts of the output of a case
RIGHT = frozenset({"none", "ok", "True"})  # among the outcomes of a case
KEPT_ROWS = 2_000_000  # of all runs of a sweep, 17 bytes each
RUNS = 12  # of a sweep, whose cases its page shows side by side
SHOWN_ROWS = 60_000  # of these runs together: more than the page has room for
QUESTION, ANSWER = 200, 400  # characters
DOCUMENTS = 10
TICK = {True: "✓", False: "✗"}

Marks = Sequence[str]  # names in rows of the scores that are shown beside a case


class ShownRow(NamedTuple):
    """What the page of a sweep shows of a case. `answer`: or the documents that were found, or the error;
    `known`: the known answers; `expected`: the documents, None where the question has no answer; `documents`: the best
    ones, expected ones marked; `scores`: in the order of the marks, None where there is none."""

    question: str
    language: str
    answer: str
    known: str
    expected: Sequence[str] | None
    documents: Sequence[str]
    outcome: str
    scores: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Outputs:
    """`ids`: of the cases, each once, in the order of the file; `places`: of their rows in bytes, int64 [n]; `right`:
    bool [n]; `digests`: part of the output -> hash over all cases, independent of their order; without parts that no
    case has. `shown`: of each case, with the scores of `marks`; empty where it was not asked for."""

    ids: Sequence[str]
    places: NDArray[np.int64]
    right: NDArray[np.bool_]
    digests: Mapping[str, str]
    marks: Marks = ()
    shown: Sequence[ShownRow] = ()


def outputs(path: Path, among: Container[str] | None = None, marks: Marks | None = None) -> Outputs:
    """The outputs of the rows in a file; `among`: of these cases only; `marks`: of the first runs of a sweep, what its
    page will show of them is kept as well."""
    state = path.stat()
    key = path, state.st_size, state.st_mtime_ns
    outputs_by_file: dict[tuple[Path, int, int], Outputs] = make_once("outputs", "", dict)
    if key in outputs_by_file:
        columns = outputs_by_file[key]
    else:
        earlier = outputs_by_file.values()
        columns = _read(path, None, marks if _is_shown(earlier) else None)
        if sum(len(each.ids) for each in earlier) < KEPT_ROWS:
            columns = outputs_by_file[key] = _with_known_ids(columns, next(iter(earlier), columns).ids)
    if among is None or all(id in among for id in columns.ids):
        return columns
    return _read(path, among)


def _is_shown(earlier: Collection[Outputs]) -> bool:
    """Whether the page of the sweep has room for a further run."""
    return len(earlier) < RUNS and sum(len(each.shown) for each in earlier) < SHOWN_ROWS


def _with_known_ids(columns: Outputs, known: Sequence[str]) -> Outputs:
    return replace(columns, ids=known) if known == columns.ids else columns


def _read(path: Path, among: Container[str] | None, marks: Marks | None = None) -> Outputs:
    places, right, shown = dict[str, int](), list[bool](), list[ShownRow]()
    sums, seen_parts = dict.fromkeys(PARTS, 0), set[str]()
    for place, row in lines_at(path):
        id = str(row.get("id"))
        if id in places or (among is not None and id not in among):
            continue
        places[id] = place
        right.append(is_right(row))
        if marks is not None:
            shown.append(shown_row(row, marks))
        for name, number in _numbers(id, row.get("output")).items():
            seen_parts.add(name)
            sums[name] = (sums[name] + number) % 2**128
    digests = {name: f"{sums[name]:032x}" for name in PARTS if name in seen_parts}
    columns = [*places], np.array([*places.values()], np.int64), np.array(right, bool)
    return Outputs(*columns, digests, marks or (), shown)


def outcome(row: Mapping[str, Any]) -> str:
    """The stage at which a question failed, `none` where it did not; `True`, `False` or `unknown` where the output says
    whether it had success; or how the case ended."""
    labels, output = row.get("labels") or {}, row.get("output")
    if row.get("status") != "ok":
        return str(row.get("status"))
    if "lost_at" not in labels and isinstance(output, Mapping) and "success" in output:
        return "unknown" if output["success"] is None else str(bool(output["success"]))
    return str(labels.get("lost_at", "ok"))


def is_right(row: Mapping[str, Any]) -> bool:
    """Whether a case went right; one that nothing judged counts as right."""
    return outcome(row) in RIGHT and (row.get("metrics") or {}).get("right") != 0


def marks_of(catalogue: Catalogue) -> Marks:
    """The scores that are shown beside each case of a sweep."""
    return tuple(name for name, _, _ in catalogue.deciding)


def shown_row(row: Mapping[str, Any], marks: Marks) -> ShownRow:
    """What the page of a sweep shows of a row."""
    output, state, language = row.get("output"), outcome(row), str(row.get("language") or "")
    scores = tuple(map((row.get("metrics") or {}).get, marks))

    def make() -> ShownRow:
        reference = _known_answers(output), _expected(output), _marked_documents(output)
        return ShownRow(question_of(output), language, _answer(row), *reference, state, scores)

    is_ok = row.get("status") == "ok"  # of one that failed the error is shown
    return note_once(output, ("shown", state, language, scores), make) if is_ok else make()


def question_of(output: Any) -> str:
    """The question that a row holds, on one line."""
    return note_once(output, "question", lambda: _question(output))


def _question(output: Any) -> str:
    question = output.get("query") if isinstance(output, Mapping) else None
    return clean(" ".join(str(question or "").split()), QUESTION)


def _answer(row: Mapping[str, Any]) -> str:
    """The outcome of a case: its answer, the documents that were found, or its error."""
    output = row.get("output")
    if row.get("status") != "ok":
        return clean(f"{row.get('status')}: {row.get('error') or ''}", ANSWER)
    answer = output.get("answer") if isinstance(output, Mapping) else None
    return clean(shorten(answer if isinstance(answer, str) else ", ".join(document_ids(output)), ANSWER))


def _known_answers(output: Any) -> str:
    answers = output.get("answers") if isinstance(output, Mapping) else None
    return clean(shorten(" / ".join(map(str, answers or ())), ANSWER))


def _expected(output: Any) -> Sequence[str] | None:
    if not isinstance(output, Mapping):
        return ()
    return tuple(map(str, output.get("expected") or ())) if output.get("answerable", True) else None


def _marked_documents(output: Any) -> Sequence[str]:
    expected = set(_expected(output) or ())
    return tuple(f"{id} {TICK[True]}" if id in expected else id for id in document_ids(output))


def document_ids(output: Any) -> list[str]:
    """The best documents that were found."""
    retrieved = output.get("retrieved") if isinstance(output, Mapping) else None
    return [str(hit.get("id")) for hit in (retrieved or ())[:DOCUMENTS]]


def _numbers(id: str, output: Any) -> Mapping[str, int]:
    """Part of an output -> hash of it for its case."""
    return note_once(output, ("outputs", id), lambda: {name: _number(id, value) for name, value in _parts(output)})


def _parts(output: Any) -> Iterator[tuple[str, Any]]:
    fields = output if isinstance(output, Mapping) else {}
    if "retrieved" in fields:
        yield "retrieved", _ranking(fields["retrieved"])
    if "answer" in fields:
        yield "answer", fields["answer"]


def _ranking(retrieved: Any) -> Any:
    """The ids of the ranking, without scores."""
    if not isinstance(retrieved, Sequence):
        return retrieved
    return [
        hit.get("chunk") or hit.get("id") if type(hit) is dict or isinstance(hit, Mapping) else hit for hit in retrieved
    ]


def _number(id: str, value: Any) -> int:
    return int.from_bytes(hashlib.sha256(orjson.dumps([id, value])).digest()[:16])
