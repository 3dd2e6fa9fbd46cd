"""Cases of several runs beside each other: which differ, and in what.

What filters need of each case is read once into columns, which are kept below the root and read again only when the
rows have changed; texts are read for the cases of a page alone, at their places in per_item.jsonl."""

from __future__ import annotations

import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from runner.commands.serve.runs import Place
from runner.system.folder import lines_at, parsed
from runner.system.writing import replacing

FILTERS = ("all", "failing", "changed", "disagreeing")
RIGHT = ("right", "hit_rate_at_k", "success")  # the first that a case has says whether it went well
APART = 0.5  # of votes, or of a judge and whether the answer is right
KEPT = 24  # runs in memory
WORDS = 600  # of an answer that are held against each other
QUESTION = 300
TOKEN = re.compile(r"\s+|\S+")
CONTEXTS = 60

Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Columns:
    """Of the rows of a run: `right` 1, 0 or -1 for what nobody can tell; `answers` a digest; `apart` whether judges
    disagree, in the sense of `labels pick=disagreement`."""

    path: Path
    ids: Sequence[str]
    questions: Sequence[str]
    places: Numbers
    right: Numbers
    failed: Numbers
    answers: Numbers
    apart: Numbers
    numbers: Mapping[str, int]


@dataclass(frozen=True)
class Sides:
    """Several runs by case: `at` int64 [n_runs, n_cases] are numbers of rows, -1 where a run lacks a case."""

    runs: Sequence[Columns]
    ids: Sequence[str]
    questions: Sequence[str]
    at: Numbers

    def _each(self, name: str, missing: int) -> Numbers:
        columns = [
            np.where(at >= 0, getattr(run, name)[at], missing) if len(run.ids) else np.full(len(at), missing)
            for run, at in zip(self.runs, self.at, strict=True)
        ]
        return np.stack(columns)

    def chosen(self, show: str, text: str = "") -> Numbers:
        """Numbers of the cases that a filter leaves, in their order."""
        n = len(self.ids)
        keep = np.ones(n, dtype=bool)
        if show == "failing":
            keep = ((self._each("right", -1) == 0) | (self._each("failed", 0) == 1)).any(axis=0)
        elif show == "changed":
            right, answers = self._each("right", -1), self._each("answers", 0)
            is_told = (right >= 0).any(axis=0)
            keep = np.where(is_told, (right != right[0]).any(axis=0), (answers != answers[0]).any(axis=0))
            keep = keep | (self._each("failed", 0) != self._each("failed", 0)[0]).any(axis=0)
        elif show == "disagreeing":
            keep = (self._each("apart", 0) == 1).any(axis=0)
        found = np.flatnonzero(keep)
        words = text.casefold().split()
        if not words:
            return found
        texts = self._texts
        matching = [number for number in found.tolist() if all(word in texts[number] for word in words)]
        return np.array(matching, dtype=np.int64)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many cases each filter leaves."""
        return {show: len(self.chosen(show)) for show in FILTERS}

    @cached_property
    def _texts(self) -> list[str]:
        """What is searched."""
        return [f"{id.casefold()} {question}" for id, question in zip(self.ids, self.questions, strict=True)]

    def rows(self, number: int) -> list[Mapping[str, Any] | None]:
        """Of one case, what each run wrote."""
        return [
            _row(run.path, int(run.places[at[number]])) if at[number] >= 0 else None
            for run, at in zip(self.runs, self.at, strict=True)
        ]


class Shelf:
    """Columns of runs, in memory and below the root."""

    def __init__(self, root: Path, *, writes: bool) -> None:
        self.folder, self.writes = root / ".serve" / "columns", writes
        self._columns: OrderedDict[tuple[str, int, int], Columns] = OrderedDict()
        self._sides: OrderedDict[tuple[Any, ...], Sides] = OrderedDict()
        self._lock = threading.Lock()

    def sides(self, places: Sequence[Place]) -> Sides:
        """Runs beside each other; they are kept as long as their rows do not change."""
        keys = tuple(_state(place) for place in places)
        with self._lock:
            if keys in self._sides:
                self._sides.move_to_end(keys)
                return self._sides[keys]
            made = _aligned([self._of(place, key) for place, key in zip(places, keys, strict=True)])
            self._sides[keys] = made
            while len(self._sides) > KEPT // 4:
                self._sides.popitem(last=False)
            return made

    def warm(self, place: Place) -> None:
        """Before somebody asks."""
        with self._lock, suppress(OSError):
            self._of(place, _state(place))

    def _of(self, place: Place, key: tuple[str, int, int]) -> Columns:
        if key not in self._columns:
            self._columns[key] = self._read(place, key) or self._written(place, key)
        self._columns.move_to_end(key)
        while len(self._columns) > KEPT:
            self._columns.popitem(last=False)
        return self._columns[key]

    def _file(self, place: Place) -> Path:
        return self.folder / f"{zlib.crc32(place.id.encode()):08x}.npz"

    def _read(self, place: Place, key: tuple[str, int, int]) -> Columns | None:
        damaged = (OSError, ValueError, KeyError, EOFError)
        with suppress(*damaged), np.load(self._file(place), allow_pickle=False) as stored:
            if stored["key"].tobytes() != repr(key).encode():
                return None
            ids, questions = (stored[name].tobytes().decode().split("\0") for name in ("ids", "questions"))
            arrays = {name: stored[name] for name in ("places", "right", "failed", "answers", "apart")}
            if len(ids) == len(arrays["places"]):
                return _columns(place, ids, questions, arrays)
        return None

    def _written(self, place: Place, key: tuple[str, int, int]) -> Columns:
        made = _read_rows(place)
        if self.writes and len(made.ids):
            self.folder.mkdir(parents=True, exist_ok=True)
            texts = {name: _packed(getattr(made, name)) for name in ("ids", "questions")}
            arrays = {name: getattr(made, name) for name in ("places", "right", "failed", "answers", "apart")}
            with (
                suppress(OSError),
                replacing(self._file(place), redacts=False) as scratch,
                scratch.open("wb") as file,
            ):
                columns: dict[str, Any] = {"key": np.frombuffer(repr(key).encode(), np.uint8), **texts, **arrays}
                np.savez(file, **columns)
        return made


def _packed(texts: Sequence[str]) -> Numbers:
    return np.frombuffer("\0".join(texts).encode(), np.uint8)


def _state(place: Place) -> tuple[str, int, int]:
    try:
        state = (place.path / "per_item.jsonl").stat()
    except OSError:
        return place.id, 0, 0
    return place.id, state.st_size, state.st_mtime_ns


def _read_rows(place: Place) -> Columns:
    ids, questions = [], []
    places, right, failed, answers, apart = [], [], [], [], []
    for at, row in lines_at(place.path / "per_item.jsonl"):
        output = row.get("output") or {}
        ids.append(str(row.get("id")).replace("\0", ""))
        questions.append(" ".join(str(output.get("query") or "").split())[:QUESTION].casefold().replace("\0", ""))
        places.append(at)
        right.append(went_well(row))
        failed.append(row.get("status") != "ok")
        answers.append(zlib.crc32(repr(_said(output)).encode("utf-8", "replace")))
        apart.append(judges_disagree(row))
    arrays: dict[str, Numbers] = {
        "places": np.array(places, np.int64),
        "right": np.array(right, np.int8),
        "failed": np.array(failed, np.int8),
        "answers": np.array(answers, np.uint32),
        "apart": np.array(apart, np.int8),
    }
    return _columns(place, ids, questions, arrays)


def _said(output: Mapping[str, Any]) -> Any:
    """What a case came to: its answer, or what was retrieved."""
    answer = output.get("answer")
    return answer if answer is not None else [hit.get("id") for hit in output.get("retrieved") or ()]


def _columns(place: Place, ids: Sequence[str], questions: Sequence[str], arrays: Mapping[str, Numbers]) -> Columns:
    numbers = {id: number for number, id in enumerate(ids)}
    return Columns(place.path / "per_item.jsonl", ids, questions, numbers=numbers, **arrays)


def _aligned(runs: Sequence[Columns]) -> Sides:
    """Cases in the order of the first run; what others have beside them, behind."""
    ids, questions = list(runs[0].ids), list(runs[0].questions)
    known = set(ids)
    for run in runs[1:]:
        for id, question in zip(run.ids, run.questions, strict=True):
            if id not in known:
                known.add(id)
                ids.append(id)
                questions.append(question)
    at = [np.fromiter((run.numbers.get(id, -1) for id in ids), np.int64, len(ids)) for run in runs]
    return Sides(runs, ids, questions, np.stack(at))


def went_well(row: Mapping[str, Any]) -> int:
    """1, 0, or -1 where no metric tells."""
    metrics = row.get("metrics") or {}
    value = next((metrics[name] for name in RIGHT if metrics.get(name) is not None), None)
    return -1 if value is None else int(value > 0)


def judges_disagree(row: Mapping[str, Any]) -> bool:
    """Votes that lie far apart, or a first judgement far from whether the answer is right."""
    right = (row.get("metrics") or {}).get("right")
    judgements = list((row.get("judgements") or {}).values())
    for judgement in judgements:
        votes = [vote for vote in ((judgement.get("details") or {}).get("votes") or {}).values() if vote is not None]
        if votes and max(votes) - min(votes) >= APART:
            return True
    first = next((each.get("score") for each in judgements if each.get("score") is not None), None)
    return right is not None and first is not None and abs(right - first) > APART


def _row(path: Path, place: int) -> Mapping[str, Any] | None:
    with path.open("rb") as file:
        file.seek(place)
        return parsed(file.readline())


# --- one case ---------------------------------------------------------------------------------------


def shown_case(sides: Sides, number: int) -> dict[str, Any]:
    """A case with what each run made of it; differences are those from the first run."""
    rows = sides.rows(number)
    outputs = [(row or {}).get("output") or {} for row in rows]
    some = next((output for output in outputs if output), {})
    first_words = str(outputs[0].get("answer") or "")
    first_contexts = _contexts(outputs[0])
    cells = []
    for place, (row, output) in enumerate(zip(rows, outputs, strict=True)):
        other = outputs[1] if place == 0 and len(rows) == 2 else outputs[0] if place else None
        is_alone = other is None or rows[0] is None
        answer = output.get("answer")
        marked = (
            None
            if answer is None
            else [("", str(answer))]
            if is_alone or other is None or other.get("answer") is None
            else marked_words(str(other.get("answer")) if place == 0 else first_words, str(answer))
        )
        cells.append({**_facts(row), "answer": marked, "contexts": _moved(first_contexts, _contexts(output), place)})
    return {
        "id": sides.ids[number],
        "question": str(some.get("query") or ""),
        "references": [str(each) for each in some.get("answers") or ()],
        "answerable": some.get("answerable"),
        "language": next((row.get("language") for row in rows if row and row.get("language")), None),
        "cells": cells,
    }


def _facts(row: Mapping[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return {"status": None, "right": None, "error": None, "stage": None, "judges": []}
    well = went_well(row)
    return {
        "status": row.get("status"),
        "right": None if well < 0 else bool(well),
        "error": row.get("error"),
        "stage": (row.get("labels") or {}).get("lost_at"),
        "judges": [
            {
                "rubric": rubric,
                "score": said.get("score"),
                "reasoning": str(said.get("error") or said.get("reasoning") or "")[:2000],
                "votes": (said.get("details") or {}).get("votes") or {},
            }
            for rubric, said in (row.get("judgements") or {}).items()
        ],
    }


def _contexts(output: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What was answered from, or else what was retrieved, by id."""
    found = output.get("contexts") or output.get("retrieved") or ()
    return {
        str(each.get("id")): {"title": str(each.get("title") or ""), "text": str(each.get("text") or "")[:3000]}
        for each in found[:CONTEXTS]
        if isinstance(each, Mapping)
    }


def _moved(first: Mapping[str, Any], own: Mapping[str, dict[str, str]], place: int) -> list[dict[str, str]]:
    """`came`: not among those of the first run; `went`: there alone."""
    kept = [{"id": id, **each, "change": "came" if place and id not in first else ""} for id, each in own.items()]
    gone = [{"id": id, **each, "change": "went"} for id, each in first.items() if place and id not in own]
    return [*kept, *gone]


def marked_words(other: str, own: str) -> list[tuple[str, str]]:
    """`own` in parts: ("", what both have) and ("new", what only it has)."""
    theirs, mine = TOKEN.findall(other), TOKEN.findall(own)
    if max(len(theirs), len(mine)) > 2 * WORDS:
        return [("" if other == own else "new", own)]
    matcher = SequenceMatcher(None, theirs, mine, autojunk=False)
    return list(_parts(matcher, mine))


def _parts(matcher: SequenceMatcher[str], mine: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A space between two new words is as new as they are."""
    parts: list[tuple[str, str]] = []
    for kind, _, _, start, end in matcher.get_opcodes():
        text = "".join(mine[start:end])
        mark = "new" if kind != "equal" and text.strip() else ""
        if text and parts and parts[-1][0] == mark:
            parts[-1] = mark, parts[-1][1] + text
        elif text and mark == "new" and len(parts) > 1 and parts[-2][0] == "new" and not parts[-1][1].strip():
            _, between = parts.pop()
            parts[-1] = "new", parts[-1][1] + between + text
        elif text:
            parts.append((mark, text))
    yield from parts
