"""Write answers of a run to a spreadsheet in which people enter ratings for `calibrate`."""

from __future__ import annotations

import heapq
import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from runner.commands import LANGUAGE, SEED, Command, Option, Place, one_of, whole_number_reader
from runner.config.arguments import shell
from runner.data.label_sheets import COLUMNS, sheet_row
from runner.errors import InputError, did_you_mean
from runner.report import metric
from runner.report.reporting import words_of
from runner.system import terminal
from runner.system.folder import is_sweep, legible, open_run
from runner.system.writing import csv_of, no_place_for_a_file, write_bytes
from runner.words.wording import LANGUAGES

if TYPE_CHECKING:
    from runner.compare.case_index import Cases

BOM = b"\xef\xbb\xbf"  # by which Excel knows that a file is UTF-8
PICKS = ("random", "disagreement", "uncertain", "failing")
UNSURE = 0.25  # distance from 0.5
COMMAND = Command(
    "labels",
    (Place("run", Path),),
    (
        Option("out", "FILE.csv", Path, Path("labels.csv")),
        Option("n", "N", whole_number_reader(1), 50),
        Option("pick", "|".join(PICKS), one_of(*PICKS), "random"),
        Option("rubric", "NAME"),
        Option("raters", "NAME,…", lambda text: tuple(filter(None, map(str.strip, text.split(","))))),
        SEED,
        LANGUAGE,
    ),
)

Row = Mapping[str, Any]  # a row of per_item.jsonl


def main(argv: Sequence[str]) -> int:
    """Raises InputError for a run without judged answers, and for a file that is there."""
    from runner.compare.case_index import read_cases

    options = COMMAND.read(argv)
    folder, out = options.run, options.out
    if folder.is_dir() and is_sweep(folder):
        raise InputError(f"{folder} is a sweep; expected one of its runs, such as {folder / '0'}")
    if problem := no_place_for_a_file(out):
        raise InputError(f"out: {problem}")
    if out.exists():
        raise InputError(f"out: {out} is there, and may hold ratings of people; choose another file or remove it")
    with legible(folder):
        cases = read_cases(open_run(folder).path / "per_item.jsonl", writes=False)
    selection = pick_answers(cases, folder, options.rubric, options.pick, options.n, options.seed)
    rubric = selection.rubric
    with legible(folder):
        say = words_of(open_run(folder).run) if options.language is None else LANGUAGES[options.language]
    lines = [
        _name_rater(sheet_row(row, rubric, options.pick), rater)
        for rater in options.raters or ("",)
        for row in selection.rows
    ]
    write_bytes(out, BOM + csv_of([COLUMNS, *lines]).encode())
    words = ["python", "-m", "runner", "calibrate", str(out), f"run={folder}", f"ratings={rubric}"]
    told = {"n": len(selection.rows), "of": selection.n_judged, "out": out, "rubric": metric.rubric(rubric, say)}
    terminal.show(say("labels.written", **told))
    terminal.lines(say("labels.next", command=" ".join(map(shell, words))))
    if options.pick != "random":
        terminal.show_note(say("labels.not_random", pick=options.pick))
    return 0


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Rows to rate by one rubric, and the number of rows that it judged."""

    rubric: str
    rows: Sequence[Row]
    n_judged: int


def pick_answers(cases: Cases, folder: Path, rubric: str | None, pick: str, n: int, seed: int) -> RowSelection:
    """Pick answers from the cases of a run. Raises InputError for a run without judged answers."""
    if not cases.judged:
        raise InputError(f"{folder}: no answer of the run was judged; expected a run of full_rag or memory")
    if rubric is not None and rubric not in cases.judged:
        raise InputError(f"rubric: the run has no judgement of '{rubric}'{did_you_mean(rubric, cases.judged)}")
    name = rubric or next(iter(cases.judged))
    with legible(folder):
        answers = judged_answers(cases, name)
        rows = list(cases.rows(answer.number for answer in picked_answers(answers, pick, n, seed)))
    if not rows:
        raise InputError(f"{folder}: no answer to pick with pick={pick}; pick=random takes any")
    return RowSelection(name, rows, len(answers))


def _name_rater(cells: list[str], rater: str) -> list[str]:
    return [rater if name == "rater" else cell for name, cell in zip(COLUMNS, cells, strict=True)]


# --- which ------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """The values by which answers are picked. `number`: of the row; `right`: NaN where it is unknown."""

    number: int
    language: str
    lost_at: str
    right: float
    score: float
    spread: float


def judged_answers(cases: Cases, rubric: str) -> list[Answer]:
    """The answers with a score, in the order of the rows."""
    score = cases.judged[rubric]["score"]
    numbers = (score == score).nonzero()[0]
    columns = (column[numbers].tolist() for column in (cases.truth, score, cases.judged[rubric]["spread"]))
    strata = cases.strata.encoded_texts()
    parts = {text: text.decode().rpartition("\t")[::2] for text in set(strata)}
    return [Answer(at, *parts[strata[at]], *values) for at, *values in zip(numbers.tolist(), *columns, strict=True)]


def picked_answers(answers: Sequence[Answer], pick: str, n: int, seed: int) -> list[Answer]:
    """At most `n` answers, in a seeded order that says nothing about them. Each stratum (language, and what `pick` adds
    to it) has its share; within a stratum, the answers from which most can be learnt come first, ties in random
    order."""
    stratum, worth = ORDERS[pick]
    generator = random.Random(seed)
    strata: dict[tuple[str, str], list[tuple[float, float, Answer]]] = defaultdict(list)
    for answer in answers:
        if (value := worth(answer)) is not None:
            strata[answer.language, stratum(answer)].append((-value, generator.random(), answer))
    shares = _shares([len(strata[name]) for name in sorted(strata)], n)
    selected = [
        answer
        for name, share in zip(sorted(strata), shares, strict=True)
        for _, _, answer in heapq.nsmallest(share, strata[name], key=itemgetter(0, 1))
    ]
    generator.shuffle(selected)
    return selected


def _uncertainty(answer: Answer) -> float | None:
    distance = abs(answer.score - 0.5)
    return None if distance > UNSURE and not answer.spread else -distance + answer.spread


def _disagreement(answer: Answer) -> float | None:
    worth = max(answer.spread, 0.0 if math.isnan(answer.right) else abs(answer.right - answer.score))
    return worth if worth > 0 else None


def _failing_score(answer: Answer) -> float | None:
    return 0.0 if answer.right == 0 or (math.isnan(answer.right) and answer.score < 0.5) else None


# What tells strata apart, and how much is to be learnt of an answer; None: it is not to be picked.
ORDERS: Mapping[str, tuple[Callable[[Answer], str], Callable[[Answer], float | None]]] = {
    "random": (lambda answer: str(min(2, int(answer.score * 3))), lambda _: 0.0),
    "uncertain": (lambda _: "", _uncertainty),
    "disagreement": (lambda _: "", _disagreement),
    "failing": (lambda answer: answer.lost_at, _failing_score),
}


def _shares(sizes: Sequence[int], n: int) -> list[int]:
    """The shares of the strata, proportional by largest remainder; each gets at least one where `n` allows."""
    total = sum(sizes)
    if n >= total:
        return list(sizes)
    exact = [size * n / total for size in sizes]
    shares = [max(int(share), 1) if n >= len(sizes) else int(share) for share in exact]
    order = sorted(range(len(sizes)), key=lambda at: (int(exact[at]) - exact[at], at))
    while sum(shares) < n:
        for at in order:
            if sum(shares) < n and shares[at] < sizes[at]:
                shares[at] += 1
    while sum(shares) > n:
        largest = max(range(len(shares)), key=lambda at: (shares[at], -at))
        shares[largest] -= 1
    return shares
