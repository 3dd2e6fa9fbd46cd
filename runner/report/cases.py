"""The cases of a run in columns, the worst first, and what a page shows of them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from runner.metrics.metric import Catalogue
from runner.report import blocks, metric
from runner.report.blocks import PAGE, CaseRow, Cell, Filter, Note, Section
from runner.report.calls import fact_of, kept_calls
from runner.report.case import facts_in, facts_of
from runner.report.document import Document
from runner.report.outputs import QUESTION, RIGHT, outcome, question_of
from runner.report.page import clean, details, language_tag
from runner.report.worst import merit
from runner.system.folder import lines_at, reader
from runner.words.wording import Wording

LISTED = 100_000  # cases; the worst ones of more
COLUMNS = 6  # metrics at most
DETAIL_BYTES = 2_000_000  # for everything that is known of cases, as JSON
DETAILED = 5_000  # cases at most
OF_CELL = 100  # of a cell of a sweep; the page of the cell itself lists all
CALL_BYTES = 1_000_000  # for what models were asked, as JSON
CALLED = 100  # cases at most of which a page shows that
SHOWN = 10  # rows for readers without scripts
NOTHING = float("nan")
WORDS = ("range", "nothing", "no_details", "previous", "next")

Detail = tuple[str, Any]  # of a case, as runner.report.page.details has it
Stored = list[list[Any]]


def cases(
    document: Document, changes: Mapping[str, str], most: int = LISTED, *, case_list: Cases | None = None
) -> Section:
    """`changes` maps ids to `lost` or `won`, where a comparison says so; `most` are listed. `case_list`: what
    `cases_of` returned for them."""
    say, case_list = document.say, cases_of(document, changes, most) if case_list is None else case_list
    if not case_list.n:
        return Section("cases", say("html.cases"), [Note(say("metrics.none"))], PAGE)
    store = _store(document, case_list)
    table = blocks.Cases(
        say("html.cases"),
        _headers(document, case_list),
        say("html.cases.text"),
        [Filter(kind, say(f"html.cases.{kind}"), list(_options(case_list, kind, say))) for kind in _kinds(case_list)],
        [_row(number, row, document, case_list) for number, row in case_list.rows(range(min(SHOWN, len(case_list))))],
        say("html.cases.more"),
        _data(document, case_list, store),
    )
    notes = [Note(text, "quiet") for text in _omission_notes(case_list, store, say)]
    return Section("cases", say("html.cases"), [Note(say("html.cases.explain")), *notes, table], PAGE)


# --- columns --------------------------------------------------------------------------------------


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

    @property
    def ordered(self) -> Iterator[Mapping[str, Any]] | None:
        """All rows of the run, the worst first, read on access; None where some are not listed."""
        return (row for _, row in self.rows(range(len(self)))) if len(self) == self.n else None

    def rows(self, numbers: Iterable[int]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Listed cases with everything that was written of them."""
        read = reader(self.path)
        with self.path.open("rb") as file:
            for number in numbers:
                file.seek(self.places[number])
                row = read(self.places[number], file.readline())
                if row is not None:
                    yield number, row


def cases_of(document: Document, changes: Mapping[str, str], most: int = LISTED) -> Cases:
    """The table of cases, worst first, at most `most`; `changes`: how cases changed since the baseline."""
    columns = _Columns(_metrics(document), changes, document.say.catalogue)
    path = document.folder.path / "per_item.jsonl"
    for place, row in lines_at(path):
        columns.add(place, row)
    return columns.worst_first(path, most)


def _metrics(document: Document) -> list[str]:
    """The metrics that are declared to be shown beside cases; without any, all metrics of the run."""
    metrics, say = document.metrics, document.say
    scored = metric.scores(metrics, say.catalogue.names_for(metrics, "cases"))
    scored = scored or metric.scores(metrics, metric.result_names(metrics, say))
    return [value.name for value in scored[:COLUMNS]]


class _Names:
    """Texts by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.column = array("L")

    def add(self, name: str) -> None:
        self.column.append(self.numbers.setdefault(name, len(self.numbers)))

    def choice(self, order: Sequence[int]) -> Choice:
        """The choice between these names; the most frequent first, independent of the order of the cases."""
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
        id, names = str(row.get("id")), self._choices
        self._merits.append(merit(row, self._catalogue))
        self._places.append(place)
        self._ids.append(clean(id, QUESTION))
        self._questions.append(question_of(row.get("output")))
        names["outcome"].add(outcome(row))
        names["language"].add(str(row.get("language") or ""))
        names["change"].add(self._changes.get(id, ""))
        values = row.get("metrics") or {}
        for name, short in self._metrics.items():
            value = values.get(short)
            self._values[name].append(NOTHING if value is None else value)

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


# --- headers, filters, rows -----------------------------------------------------------------------


def display_name(kind: str, name: str, say: Wording) -> str:
    """The display name of an outcome, a language or a change."""
    if kind == "change":
        return say(f"compare.flips.{name}") if name else ""
    if kind == "language":
        return name
    if word := say.texts.get(f"outcome.{name}"):
        return word
    if name in RIGHT:
        return say("html.right")
    return say.texts.get(f"lost_at.{name}") or say.name("status", name)


def _kinds(cases: Cases) -> list[str]:
    """Choices by which cases differ; the outcome always."""
    return [kind for kind, choice in cases.choices.items() if kind == "outcome" or len(choice.names) > 1]


def _headers(document: Document, cases: Cases) -> list[tuple[str, str]]:
    """(kind of column, title)"""
    say = document.say
    choices = [(kind, say(f"html.cases.{kind}")) for kind in _kinds(cases)]
    values = [("value", metric.label(name, document.k, say)) for name in cases.values]
    return [("case", say("html.case")), *choices, *values]


def _options(cases: Cases, kind: str, say: Wording) -> Iterator[tuple[str, str]]:
    choice = cases.choices[kind]
    counts = Counter(choice.numbers)
    yield "", f"{say('html.cases.all')} ({len(cases):,})"
    failing = [number for number, name in enumerate(choice.names) if name not in RIGHT]
    if kind == "outcome" and len(failing) != 1:  # one way to fail is a choice by itself
        yield "failing", f"{say('html.cases.failing')} ({sum(counts[number] for number in failing):,})"
    for number, name in enumerate(choice.names):
        yield str(number), f"{display_name(kind, name, say) or say('none')} ({counts[number]:,})"


def _row(number: int, row: Mapping[str, Any], document: Document, cases: Cases) -> CaseRow:
    """One case as the script shows it, but for its details, which open by themselves."""
    say = document.say
    cells = []
    for kind in _kinds(cases):
        name = cases.choices[kind][number]
        cells.append(Cell(display_name(kind, name, say), "alarm" if _is_bad(kind, name) else ""))
    values = (column[number] for column in cases.values.values())
    cells += [Cell("" if value != value else f"{value:.2f}") for value in values]
    language = language_tag(cases.choices["language"][number])
    return CaseRow(cases.ids[number], cases.questions[number], language, cells, facts_in(document, row))


def _is_bad(kind: str, name: str) -> bool:
    return name == "lost" if kind == "change" else kind == "outcome" and name not in RIGHT


def _omission_notes(cases: Cases, store: Store, say: Wording) -> Iterator[str]:
    if len(cases) < cases.n:
        yield say("html.cases.listed", listed=f"{len(cases):,}", n=f"{cases.n:,}")
    if len(store.documents) < len(cases):
        yield say("html.cases.detailed", detailed=f"{len(store.documents):,}")


# --- what the script reads ------------------------------------------------------------------------


def _data(document: Document, cases: Cases, store: Store) -> dict[str, Any]:
    say = document.say
    return {
        "words": {name: say(f"html.cases.{name}") for name in WORDS},
        "language": say.language,
        "columns": _headers(document, cases),
        "choices": {kind: _choice(kind, cases, say) for kind in cases.choices},
        "language_tags": [language_tag(name) for name in cases.choices["language"].names],
        "ids": cases.ids,
        "questions": cases.questions,
        "values": list(cases.values.values()),
        "texts": store.texts,
        "details": store.documents,
    }


def _choice(kind: str, cases: Cases, say: Wording) -> Mapping[str, Sequence[Any]]:
    choice = cases.choices[kind]
    return {
        "names": [display_name(kind, name, say) for name in choice.names],
        "bad": [_is_bad(kind, name) for name in choice.names],
        "numbers": choice.numbers,
    }


def _store(document: Document, cases: Cases) -> Store:
    """Cases that changed, then the worst, as long as there is room."""
    store = Store(DETAIL_BYTES)
    changed = [number for number in range(len(cases)) if cases.choices["change"][number]]
    most = OF_CELL if document.folder.run.get("sweep_id") else DETAILED
    numbers = list(dict.fromkeys([*changed, *range(len(cases))]))[:most]
    k, say, own = document.k, document.say, document.offer.case_facts
    for number, row in cases.rows(numbers):
        if not store.add(number, details(facts_of(row, k, say, own))):
            break
    _add_calls(document, cases, store, numbers[:CALLED])
    return store


def _add_calls(document: Document, cases: Cases, store: Store, numbers: Sequence[int]) -> None:
    """Add the calls after all other facts of these cases; they have a limit of their own."""
    store.bytes_left = CALL_BYTES
    calls = kept_calls(document.folder, [cases.ids[number] for number in numbers if str(number) in store.documents])
    for number in numbers:
        if cases.ids[number] in calls:
            store.add(number, details([fact_of(calls[cases.ids[number]], document.say)]))


class Store:
    """Details of cases by their places, as long as `left` bytes of JSON are enough for them. All texts are stored as
    their places in one list, so that a chunk that many cases were given is stored once."""

    def __init__(self, bytes_left: int) -> None:
        self.texts: list[str] = []
        self.documents: dict[str, Stored] = {}
        self.bytes_left = bytes_left
        self._numbers: dict[str, int] = {}

    def add(self, place: int, document: Sequence[Detail]) -> bool:
        """Append to the stored facts of a case. False where there is no room."""
        numbers, new = self._numbers, []
        for text in _texts(document):
            if text not in numbers:
                numbers[text] = len(numbers)
                new.append(text)
        packed = [[numbers[title], _number_texts(body, numbers)] for title, body in document]
        size = len(orjson.dumps((new, packed))) + len(str(place)) + 1
        if size > self.bytes_left:
            for text in new:
                del numbers[text]
            return False
        self.bytes_left -= size
        self.texts += new
        self.documents.setdefault(str(place), []).extend(packed)
        return True


def _texts(document: Sequence[Detail]) -> Iterator[str]:
    for title, body in document:
        yield title
        if isinstance(body, str):
            yield body
            continue
        for _, lead, head, text in body:
            yield lead
            yield head
            if text is not None:
                yield text


def _number_texts(body: Any, numbers: Mapping[str, int]) -> Any:
    if isinstance(body, str):
        return numbers[body]
    return [
        [mark, numbers[lead], numbers[head], None if text is None else numbers[text]] for mark, lead, head, text in body
    ]
