"""Cases of several runs beside each other: which differ, and in what.

Filters look at columns (runner/compare/case_index.py); texts are read for the cases of a page alone, at their places in
per_item.jsonl."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

import numpy as np

from runner.commands.serve.runs import ROWS, Place
from runner.compare import case_index
from runner.compare.case_index import LARGE, Cases, Numbers, went_well

FILTERS = ("all", "failing", "changed", "disagreeing")
KEPT = 24  # runs in memory
WORDS = 600  # fields of an answer that are compared
WORD = re.compile(r"\S+")
CONTEXTS = 60


@dataclass(frozen=True)
class Sides:
    """Several runs by case: `at` int64 [n_runs, n_cases] are numbers of rows, -1 where a run lacks a case. Cases are in
    the order of the first run; what others have beside them, behind."""

    runs: Sequence[Cases]
    at: Numbers

    @classmethod
    def of(cls, runs: Sequence[Cases]) -> Sides:
        """Runs beside each other."""
        first = runs[0].ids.data
        if all(np.array_equal(run.ids.data, first) for run in runs[1:]):
            return cls(runs, np.tile(np.arange(len(runs[0])), (len(runs), 1)))
        numbers = [{id: number for number, id in enumerate(run.ids.encoded_texts())} for run in runs]
        order = dict.fromkeys(id for own in numbers for id in own)
        at = [np.fromiter((own.get(id, -1) for id in order), np.int64, len(order)) for own in numbers]
        return cls(runs, np.stack(at))

    def id(self, number: int) -> str:
        """The id of a case."""
        run, at = next((run, at) for run, at in zip(self.runs, self.at, strict=True) if at[number] >= 0)
        return run.ids[int(at[number])]

    def _by_case(self, columns: Sequence[Numbers], missing: int) -> Numbers:
        """[n_runs, n_cases] of a column of each run."""
        aligned = [
            np.where(at >= 0, column[at], missing) if len(column) else np.full(len(at), missing)
            for column, at in zip(columns, self.at, strict=True)
        ]
        return np.stack(aligned)

    def numbers_of(self, show: str, text: str = "", case: str | None = None) -> Numbers:
        """Numbers of the cases that a filter leaves, in their order; of one case alone with `case`."""
        keep = self._mask(show)
        if case is not None:
            number = self.number_of(case)
            keep = keep & (np.arange(len(keep)) == number)
        for word in text.casefold().split():
            keep = keep & (self._by_case([run.searched.texts_with(word) for run in self.runs], 0) == 1).any(axis=0)
        return np.flatnonzero(keep)

    def _mask(self, show: str) -> Numbers:
        right = self._by_case([run.right for run in self.runs], -1)
        failed = self._by_case([run.failed for run in self.runs], 0)
        if show == "failing":
            return np.asarray(((right == 0) | (failed == 1)).any(axis=0))
        if show == "changed":
            answers = self._by_case([run.answers for run in self.runs], 0)
            can_tell = (right >= 0).any(axis=0)
            changed = np.where(can_tell, (right != right[0]).any(axis=0), (answers != answers[0]).any(axis=0))
            return np.asarray(changed | (failed != failed[0]).any(axis=0))
        if show == "disagreeing":
            return np.asarray((self._by_case([run.apart for run in self.runs], 0) == 1).any(axis=0))
        return np.ones(self.at.shape[1], dtype=bool)

    def number_of(self, id: str) -> int | None:
        """The number of a case by its id."""
        for run, at in zip(self.runs, self.at, strict=True):
            if (row := run.number_of(id)) is not None:
                return int(np.flatnonzero(at == row)[0])
        return None

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many cases each filter leaves."""
        return {show: int(self._mask(show).sum()) for show in FILTERS}

    def rows(self, number: int) -> list[Mapping[str, Any] | None]:
        """The rows of one case, one for each run."""
        return [
            next(run.rows([int(at[number])])) if at[number] >= 0 else None
            for run, at in zip(self.runs, self.at, strict=True)
        ]


State = tuple[str, int, int]


class Shelf:
    """Cases of runs, as long as their rows do not change. Each run is read by one thread at a time; readers of other
    runs do not wait for it."""

    def __init__(self, *, writes: bool) -> None:
        self.writes = writes
        self._cases: OrderedDict[State, Cases] = OrderedDict()
        self._sides: OrderedDict[tuple[State, ...], Sides] = OrderedDict()
        self._reading: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def sides(self, places: Sequence[Place]) -> Sides:
        """Runs beside each other."""
        states = tuple(map(self.state, places))
        with self._lock:
            if states in self._sides:
                self._sides.move_to_end(states)
                return self._sides[states]
        sides = Sides.of([self._load_cases(place, state) for place, state in zip(places, states, strict=True)])
        with self._lock:
            _keep(self._sides, states, sides, KEPT // 4)
        return sides

    def cases(self, place: Place) -> Cases:
        """The cases of one run."""
        return self._load_cases(place, self.state(place))

    def state(self, place: Place) -> State:
        """The state of the file of rows, by which changed rows are recognised."""
        return place.id, *case_index.state_of(place.path / ROWS)

    def has(self, place: Place) -> bool:
        """Whether the cases of a run can be shown without reading all its rows."""
        _, size, changed_at = state = self.state(place)
        with self._lock:
            is_kept = state in self._cases
        return is_kept or size < LARGE or case_index.open_index(place.path / ROWS, (size, changed_at)) is not None

    def _load_cases(self, place: Place, state: State) -> Cases:
        with self._lock:
            if state in self._cases:
                self._cases.move_to_end(state)
                return self._cases[state]
            own = self._reading.setdefault(place.id, threading.Lock())
        with own:
            with self._lock:
                if state in self._cases:
                    return self._cases[state]
            cases = case_index.read_cases(place.path / ROWS, writes=self.writes)
            with self._lock:
                _keep(self._cases, state, cases, KEPT)
                self._reading.pop(place.id, None)
        return cases


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > most:
        cache.popitem(last=False)


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
        counterpart = outputs[1] if place == 0 and len(rows) == 2 else outputs[0] if place else None
        is_alone = counterpart is None or rows[0] is None
        answer = output.get("answer")
        marked_answer = (
            None
            if answer is None
            else [("", str(answer))]
            if is_alone or counterpart is None or counterpart.get("answer") is None
            else marked_words(str(counterpart.get("answer")) if place == 0 else first_words, str(answer))
        )
        facts = _facts(row, sides.runs[place].telling)
        cells.append({**facts, "answer": marked_answer, "contexts": _moves(first_contexts, _contexts(output), place)})
    return {
        "id": sides.id(number),
        "question": str(some.get("query") or ""),
        "references": [str(each) for each in some.get("answers") or ()],
        "answerable": some.get("answerable"),
        "language": next((row.get("language") for row in rows if row and row.get("language")), None),
        "cells": cells,
    }


def _facts(row: Mapping[str, Any] | None, telling: Sequence[str]) -> dict[str, Any]:
    if row is None:
        return {"status": None, "right": None, "error": None, "stage": None, "judges": []}
    well = went_well(row, telling)
    return {
        "status": row.get("status"),
        "right": None if well < 0 else bool(well),
        "error": row.get("error"),
        "stage": (row.get("labels") or {}).get("lost_at"),
        "judges": [
            {
                "rubric": rubric,
                "score": judgement.get("score"),
                "reasoning": str(judgement.get("error") or judgement.get("reasoning") or "")[:2000],
                "votes": (judgement.get("details") or {}).get("votes") or {},
            }
            for rubric, judgement in (row.get("judgements") or {}).items()
        ],
    }


def _contexts(output: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The contexts of the answer, else the retrieved ones, by id."""
    contexts = output.get("contexts") or output.get("retrieved") or ()
    return {
        str(each.get("id")): {"title": str(each.get("title") or ""), "text": str(each.get("text") or "")[:3000]}
        for each in contexts[:CONTEXTS]
        if isinstance(each, Mapping)
    }


def _moves(
    first_contexts: Mapping[str, Any], contexts: Mapping[str, dict[str, str]], place: int
) -> list[dict[str, str]]:
    """`came`: not among those of the first run; `went`: there alone."""
    entries = [
        {"id": id, **each, "change": "came" if place and id not in first_contexts else ""}
        for id, each in contexts.items()
    ]
    gone = [{"id": id, **each, "change": "went"} for id, each in first_contexts.items() if place and id not in contexts]
    return [*entries, *gone]


def marked_words(other_text: str, text: str) -> list[tuple[str, str]]:
    """`text` in parts: ("", what both have) and ("new", what only it has). Space between two new words is new, too."""
    theirs, mine = WORD.findall(other_text), list(WORD.finditer(text))
    words = [match.group() for match in mine]
    start = next((n for n, pair in enumerate(zip(theirs, words, strict=False)) if pair[0] != pair[1]), None)
    start = min(len(theirs), len(words)) if start is None else start
    parts: list[tuple[str, str]] = []
    at = 0
    for first, last in _new_words(theirs[start:], words[start:]):
        begin, end = mine[start + first].start(), mine[start + last].end()
        parts += [("", text[at:begin]), ("new", text[begin:end])]
        at = end
    return [part for part in [*parts, ("", text[at:])] if part[1]]


def _new_words(theirs: Sequence[str], mine: Sequence[str]) -> Iterator[tuple[int, int]]:
    """First and last of each row of words that the others lack."""
    if max(len(theirs), len(mine)) > WORDS:
        if mine:
            yield 0, len(mine) - 1
        return
    matcher = SequenceMatcher(None, theirs, mine, autojunk=False)
    for kind, _, _, first, end in matcher.get_opcodes():
        if kind != "equal" and end > first:
            yield first, end - 1
