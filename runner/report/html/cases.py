"""The cases of a run in columns, the worst first."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runner.metrics.metric import Catalogue
from runner.report import metric
from runner.report.document import Document
from runner.report.html.details import cut
from runner.report.worst import merit
from runner.system.folder import lines_at, parsed

LISTED = 100_000  # cases; the worst ones of more
QUESTION = 200  # characters in the table
COLUMNS = 6  # metrics at most


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of a few names each case has."""

    names: Sequence[str]
    numbers: Sequence[int]

    def __getitem__(self, case: int) -> str:
        return self.names[self.numbers[case]]


@dataclass(frozen=True, slots=True)
class Cases:
    """Columns of the cases that are listed, worst first; `n` is the number of all. `places` are those of their rows
    in per_item.jsonl; `choices` the outcome, the language (or "") and how the case changed (`lost`, `won` or "");
    `values` float64 [n_listed] with NaN for nothing, by the names of summary.json."""

    n: int
    path: Path
    places: Sequence[int]
    ids: Sequence[str]
    questions: Sequence[str]
    choices: Mapping[str, Choice]
    values: Mapping[str, np.ndarray[Any, np.dtype[np.float64]]]

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, numbers: Iterable[int]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Listed cases with everything that was written of them."""
        with self.path.open("rb") as file:
            for number in numbers:
                file.seek(self.places[number])
                row = parsed(file.readline())
                if row is not None:
                    yield number, row


def cases_of(document: Document, changes: Mapping[str, str], most: int = LISTED) -> Cases:
    """`changes` maps ids to `lost` or `won`, where a comparison tells so; `most` are listed."""
    columns = _Columns(_metrics(document), changes, document.say.catalogue)
    path = document.folder.path / "per_item.jsonl"
    for place, row in lines_at(path):
        columns.add(place, row)
    return columns.worst_first(path, most)


def _metrics(document: Document) -> list[str]:
    """Those that are declared to be shown beside cases; where there are none, whatever the run has."""
    metrics, say = document.metrics, document.say
    found = metric.scored(metrics, say.catalogue.shown(metrics, "cases"))
    found = found or metric.scored(metrics, metric.result_names(metrics, say))
    return [value.name for value in found[:COLUMNS]]


class _Names:
    """Texts by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.column = array("L")

    def add(self, name: str) -> None:
        self.column.append(self.numbers.setdefault(name, len(self.numbers)))

    def choice(self, order: Sequence[int]) -> Choice:
        """Of these cases; the most frequent names first, whatever the order in which they came."""
        names, counts = list(self.numbers), Counter(self.column)
        ranked = sorted(range(len(names)), key=lambda number: (-counts[number], names[number]))
        places = {number: place for place, number in enumerate(ranked)}
        return Choice([names[number] for number in ranked], [places[self.column[number]] for number in order])


class _Columns:
    def __init__(self, metrics: Sequence[str], changes: Mapping[str, str], catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._metrics = {name: catalogue.row_name(name) for name in metrics}
        self._merits: list[Any] = []
        self._places = array("q")
        self._ids: list[str] = []
        self._questions: list[str] = []
        self._changes = changes
        self._choices = {name: _Names() for name in ("outcome", "language", "change")}
        self._values = {name: array("d") for name in metrics}

    def add(self, place: int, row: Mapping[str, Any]) -> None:
        output = row.get("output")
        question = output.get("query") if isinstance(output, Mapping) else None
        self._merits.append(merit(row, self._catalogue))
        self._places.append(place)
        self._ids.append(cut(str(row.get("id")), QUESTION))
        self._questions.append(cut(" ".join(str(question or "").split()), QUESTION))
        chosen = (outcome(row), str(row.get("language") or ""), self._changes.get(str(row.get("id")), ""))
        for names, name in zip(self._choices.values(), chosen, strict=True):
            names.add(name)
        values = row.get("metrics") or {}
        for name, short in self._metrics.items():
            value = values.get(short)
            self._values[name].append(float("nan") if value is None else value)

    def worst_first(self, path: Path, most: int) -> Cases:
        order = sorted(range(len(self._ids)), key=self._merits.__getitem__)[:most]
        return Cases(
            n=len(self._ids),
            path=path,
            places=[self._places[number] for number in order],
            ids=[self._ids[number] for number in order],
            questions=[self._questions[number] for number in order],
            choices={kind: names.choice(order) for kind, names in self._choices.items()},
            values={name: np.round(np.array(column)[order], 3) for name, column in self._values.items()},
        )


def outcome(row: Mapping[str, Any]) -> str:
    """The place where a question was lost, `none` where it was lost nowhere; whether the agent of a trace had success;
    or how the case ended."""
    labels, output = row.get("labels") or {}, row.get("output")
    if row.get("status") != "ok":
        return str(row.get("status"))
    if "lost_at" not in labels and isinstance(output, Mapping) and "success" in output:
        return f"trace.success.{bool(output['success'])}"
    return str(labels.get("lost_at", "ok"))
