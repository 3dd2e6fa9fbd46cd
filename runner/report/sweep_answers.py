"""The answers of the runs of a sweep to each question, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runner.report import blocks, metric
from runner.report.blocks import PAGE, CaseRow, Fact, Filter, Note, Section
from runner.report.blocks import Cell as Shown
from runner.report.cases import WORDS, Choice, Store, display_name
from runner.report.outputs import QUESTION, RUNS, TICK, Marks, Outputs, ShownRow, marks_of, outputs, shown_row
from runner.report.page import FILE, clean, details, language_tag
from runner.report.sweep import Cell, Sweep
from runner.report.sweep_comparison import run_label
from runner.system.folder import parse_line
from runner.words.wording import Wording

TEXT_BYTES = 4_000_000  # of questions and answers; of what else is known of a case, as much as a page of one run has
DETAIL_BYTES = 1_000_000
SHOWN = 10  # rows for readers without scripts
ROWS = "per_item.jsonl"
RIGHT_IN_ALL, FAILING = "all_right", ("differs", "all_fail")
AGREEMENTS = (*FAILING, RIGHT_IN_ALL)  # in this order


def answers(sweep: Sweep, folder: Path) -> Section | None:
    """The section over the cases that every run has finished: first those on which the runs differ, then those that
    fail in all. None where fewer than two runs have rows."""
    cells = [cell for cell in sweep.cells if (folder / cell.folder / ROWS).is_file()]
    runs = [_Run.of(cell, sweep, folder) for cell in cells[:RUNS]]
    if len(runs) < 2 or not (cases := _common_cases(runs)):
        return None
    say, marks = sweep.say, marks_of(sweep.say.catalogue)
    columns, ids = _Columns(sweep, runs, marks), [case.id for case in cases]
    for case, *rows in zip(cases, *(run.rows(ids, marks) for run in runs), strict=True):
        if not columns.add(case, rows):
            break
    notes = [say("html.answers.explain")]
    if len(columns.ids) < len(cases):
        notes.append(say("html.answers.listed", listed=f"{len(columns.ids):,}", n=f"{len(cases):,}"))
    if len(cells) > len(runs):
        notes.append(say("html.answers.runs", shown=len(runs), n=len(cells)))
    return Section("answers", say("html.answers"), [*(Note(text, "quiet") for text in notes), columns.table()], PAGE)


@dataclass(frozen=True, slots=True)
class _Run:
    """`places` maps ids of cases to their numbers in `read`."""

    cell: Cell
    title: str
    path: Path
    page: str | None
    read: Outputs
    places: Mapping[str, int]

    @classmethod
    def of(cls, cell: Cell, sweep: Sweep, folder: Path) -> _Run:
        home = folder / cell.folder
        page = f"./{quote(cell.folder)}/{FILE}" if (home / FILE).is_file() else None
        read = outputs(home / ROWS)
        places = {id: number for number, id in enumerate(read.ids)}
        return cls(cell, run_label(sweep, cell.folder), home / ROWS, page, read, places)

    def is_right(self, id: str) -> bool:
        return bool(self.read.right[self.places[id]])

    def rows(self, ids: Sequence[str], marks: Marks) -> Iterator[ShownRow]:
        """What is shown of these cases: kept by the run itself, else read from its file."""
        if self.read.shown and tuple(self.read.marks) == tuple(marks):
            yield from (self.read.shown[self.places[id]] for id in ids)
            return
        with self.path.open("rb") as file:
            for id in ids:
                file.seek(int(self.read.places[self.places[id]]))
                yield shown_row(parse_line(file.readline()) or {}, marks)


@dataclass(frozen=True, slots=True)
class _Case:
    id: str
    agreement: str


def _common_cases(runs: Sequence[_Run]) -> list[_Case]:
    cases = []
    for id in runs[0].places:
        if all(id in run.places for run in runs):
            right = {run.is_right(id) for run in runs}
            cases.append(_Case(id, "differs" if len(right) > 1 else "all_right" if True in right else "all_fail"))
    return sorted(cases, key=lambda case: (AGREEMENTS.index(case.agreement), case.id))


def _document_lines(documents: Sequence[str], k: int | None, say: Wording) -> Iterator[str]:
    """The documents of the context, then those below."""
    if k is None:
        yield from [", ".join(documents)] if documents else []
        return
    for key, ids in (("context", documents[:k]), ("below", documents[k:])):
        if ids:
            yield say(f"html.answers.{key}", k=k, ids=", ".join(ids))


# --- the table --------------------------------------------------------------------------------------


class _Columns:
    """The cases on the page, as long as there is room."""

    def __init__(self, sweep: Sweep, runs: Sequence[_Run], marks: Marks) -> None:
        self.ids: list[str] = []
        self._sweep, self._runs, self._marks = sweep, runs, marks
        self._questions: list[str] = []
        self._agreements: list[str] = []
        self._languages: list[str] = []
        self._answers: list[list[str]] = [[] for _ in runs]
        self._first: list[CaseRow] = []
        self._store, self._has_room = Store(DETAIL_BYTES), True
        self._k, self._labels = sweep.k, dict[str, str]()  # of metrics: of a sweep both are worked out from all cells
        self._bytes_left = TEXT_BYTES

    def add(self, case: _Case, rows: Sequence[ShownRow]) -> bool:
        """False where there is no room for what the runs answered."""
        answers = [f"{TICK[run.is_right(case.id)]} {row.answer}" for run, row in zip(self._runs, rows, strict=True)]
        question = rows[0].question
        self._bytes_left -= sum(len(text.encode("utf-8", "replace")) + 16 for text in (question, case.id, *answers))
        if self._bytes_left < 0:
            return False
        is_shown = len(self.ids) < SHOWN
        facts = list(self._facts(rows)) if self._has_room or is_shown else []
        self._has_room = self._has_room and self._store.add(len(self.ids), details(facts))
        self.ids.append(clean(case.id, QUESTION))
        self._questions.append(question)
        self._agreements.append(case.agreement)
        self._languages.append(rows[0].language)
        for column, text in zip(self._answers, answers, strict=True):
            column.append(text)
        if is_shown:
            self._first.append(self._row(facts))
        return True

    def _facts(self, rows: Sequence[ShownRow]) -> Iterator[Fact]:
        """What the answer should have been; for each run its failure stage, its scores, its documents."""
        yield from self._reference(rows[0])
        for run, row in zip(self._runs, rows, strict=True):
            marks = zip(self._marks, row.scores, strict=True)
            scores = [f"{self._label(name)} {score:.2f}" for name, score in marks if score is not None]
            line = " · ".join([display_name("outcome", row.outcome, self._sweep.say), *scores])
            documents = _document_lines(row.documents, run.cell.summary.get("k"), self._sweep.say)
            yield Fact(run.title, "\n".join([line, *documents]))

    def _reference(self, row: ShownRow) -> Iterator[Fact]:
        """The known answer and the expected documents."""
        say = self._sweep.say
        expected = say("worst.expected_nothing") if row.expected is None else ", ".join(row.expected)
        facts = Fact(say("worst.known"), row.known, size="answer"), Fact(say("worst.expected"), expected)
        yield from (fact for fact in facts if fact.text)

    def _label(self, name: str) -> str:
        if name not in self._labels:
            self._labels[name] = metric.label(name, self._k, self._sweep.say)
        return self._labels[name]

    def _row(self, facts: Sequence[Fact]) -> CaseRow:
        """The case that was added last, as the script shows it."""
        agreement, tag = self._agreements[-1], language_tag(self._languages[-1])
        answers = [Shown(column[-1], "alarm" if column[-1].startswith(TICK[False]) else "") for column in self._answers]
        cells = [Shown(self._sweep.say(f"html.answers.{agreement}"), "" if agreement == RIGHT_IN_ALL else "alarm")]
        return CaseRow(self.ids[-1], self._questions[-1], tag, [*cells, *answers], facts)

    def table(self) -> blocks.Cases:
        say = self._sweep.say
        columns = [("case", say("html.case")), ("outcome", say("html.cases.outcome"))]
        columns += [(f"run-{number}", run.title) for number, run in enumerate(self._runs)]
        agreement, language = _choice(self._agreements), _choice(self._languages)
        data = {
            "words": {name: say(f"html.cases.{name}") for name in WORDS},
            "language": say.language,
            "columns": columns,
            "choices": {
                "outcome": _script_data([say(f"html.answers.{name}") for name in agreement.names], agreement),
                "language": _script_data(language.names, language),
                **{
                    f"run-{number}": _script_data(each.names, each)
                    for number, each in enumerate(map(_choice, self._answers))
                },
            },
            "language_tags": [language_tag(name) for name in language.names],
            "ids": self.ids,
            "questions": self._questions,
            "values": [],
            "texts": self._store.texts,
            "details": self._store.documents,
            "pages": [[run.title, run.page] for run in self._runs if run.page is not None],
        }
        filters = list(_filters(say, agreement, language))
        title, text, more = (say(f"html.{name}") for name in ("answers", "cases.text", "cases.more"))
        return blocks.Cases(title, columns, text, filters, self._first, more, data)


def _choice(names: Sequence[str]) -> Choice:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return Choice(list(numbers), [numbers[name] for name in names])


def _script_data(words: Sequence[str], choice: Choice) -> Mapping[str, Sequence[Any]]:
    """Data for the script. A mark repeats the meaning of a colour, for those who do not see it."""
    bad = [name in FAILING or name.startswith(TICK[False]) for name in choice.names]
    return {"names": words, "bad": bad, "numbers": choice.numbers}


def _filters(say: Wording, agreement: Choice, language: Choice) -> Iterator[Filter]:
    options = list(_options([say(f"html.answers.{name}") for name in agreement.names], agreement, say))
    failing = sum(agreement[case] in FAILING for case in range(len(agreement.numbers)))
    options.insert(1, ("failing", f"{say('html.answers.failing')} ({failing:,})"))
    yield Filter("outcome", say("html.cases.outcome"), options)
    if len(language.names) > 1:
        yield Filter("language", say("html.cases.language"), list(_options(language.names, language, say)))


def _options(words: Sequence[str], choice: Choice, say: Wording) -> Iterator[tuple[str, str]]:
    counts = Counter(choice.numbers)
    yield "", f"{say('html.cases.all')} ({len(choice.numbers):,})"
    for number, word in enumerate(words):
        yield str(number), f"{word or say('none')} ({counts[number]:,})"
