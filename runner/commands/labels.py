"""Write answers of a run into a spreadsheet that people fill with ratings, for `calibrate`."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.commands import LANGUAGE, SEED, Command, Option, Place, one_of, whole
from runner.config.arguments import shell
from runner.data.label_sheets import COLUMNS, sheet_row
from runner.errors import InputError, did_you_mean
from runner.report import metric
from runner.report.reporting import words_of
from runner.report.worst import lost_at
from runner.system import terminal
from runner.system.folder import is_sweep, legible, open_run
from runner.system.writing import csv_of, no_place_for_a_file, write_bytes
from runner.words.wording import LANGUAGES

BOM = b"\xef\xbb\xbf"  # by which Excel knows that a file is UTF-8
PICKS = ("random", "disagreement", "uncertain", "failing")
UNSURE = 0.25  # from 0.5
COMMAND = Command(
    "labels",
    (Place("run", Path),),
    (
        Option("out", "FILE.csv", Path, Path("labels.csv")),
        Option("n", "N", whole(1), 50),
        Option("pick", "|".join(PICKS), one_of(*PICKS), "random"),
        Option("rubric", "NAME"),
        Option("raters", "NAME,…", lambda text: tuple(filter(None, map(str.strip, text.split(","))))),
        SEED,
        LANGUAGE,
    ),
)

Row = Mapping[str, Any]  # of per_item.jsonl


def main(argv: Sequence[str]) -> int:
    """Raises InputError for a run without judged answers, and for a file that is there."""
    options = COMMAND.read(argv)
    folder, out = options.run, options.out
    if folder.is_dir() and is_sweep(folder):
        raise InputError(f"{folder} is a sweep; expected one of its runs, such as {folder / '0'}")
    if problem := no_place_for_a_file(out):
        raise InputError(f"out: {problem}")
    if out.exists():
        raise InputError(f"out: {out} is there, and may hold ratings of people; choose another file or remove it")
    picked = picked_of(folder, options.rubric, options.pick, options.n, options.seed)
    rubric = picked.rubric
    with legible(folder):
        say = words_of(open_run(folder).run) if options.language is None else LANGUAGES[options.language]
    lines = [
        _rated_by(sheet_row(row, rubric, options.pick), rater)
        for rater in options.raters or ("",)
        for row in picked.rows
    ]
    write_bytes(out, BOM + csv_of([COLUMNS, *lines]).encode())
    words = ["python", "-m", "runner", "calibrate", str(out), f"run={folder}", f"ratings={rubric}"]
    told = {"n": len(picked.rows), "of": picked.n_judged, "out": out, "rubric": metric.rubric(rubric, say)}
    terminal.lines(say("labels.written", **told), say("labels.next", command=" ".join(map(shell, words))))
    if options.pick != "random":
        terminal.note(say("labels.not_random", pick=options.pick))
    return 0


@dataclass(frozen=True, slots=True)
class Picked:
    """Rows to be rated by one rubric, of so many that were judged by it."""

    rubric: str
    rows: Sequence[Row]
    n_judged: int


def picked_of(folder: Path, rubric: str | None, pick: str, n: int, seed: int) -> Picked:
    """Of a run folder. Raises InputError for a run without judged answers."""
    with legible(folder):
        rows = [row for row in open_run(folder).rows() if _is_answered(row)]
        name = _rubric(rows, rubric, folder)
        judged = [row for row in rows if _score(row, name) is not None]
        picked = picked_rows(judged, name, pick, n, seed)
    if not picked:
        raise InputError(f"{folder}: no answer to pick with pick={pick}; pick=random takes any")
    return Picked(name, picked, len(judged))


def _is_answered(row: Row) -> bool:
    output = row.get("output")
    return isinstance(output, Mapping) and bool(output.get("query")) and isinstance(output.get("answer"), str)


def _rubric(rows: Sequence[Row], wanted: str | None, folder: Path) -> str:
    """The first by which an answer was judged, or the one that is wanted."""
    known = list(dict.fromkeys(name for row in rows for name in row.get("judgements") or ()))
    if not known:
        raise InputError(f"{folder}: no answer of the run was judged; expected a run of full_rag or memory")
    if wanted is not None and wanted not in known:
        raise InputError(f"rubric: the run has no judgement of '{wanted}'{did_you_mean(wanted, known)}")
    return wanted or known[0]


def _score(row: Row, rubric: str) -> float | None:
    judgement = (row.get("judgements") or {}).get(rubric) or {}
    score: float | None = None if judgement.get("error") else judgement.get("score")
    return score


def _rated_by(cells: list[str], rater: str) -> list[str]:
    return [rater if name == "rater" else cell for name, cell in zip(COLUMNS, cells, strict=True)]


# --- which ------------------------------------------------------------------------------------------


def picked_rows(rows: Sequence[Row], rubric: str, pick: str, n: int, seed: int) -> list[Row]:
    """At most `n`, in a seeded order that tells a reader nothing. Each stratum (language, and what `pick` adds to it)
    has its share; within one, the rows of which most is to be learnt come first, ties by lot."""
    stratum, worth = _order(rubric, pick)
    drawn = random.Random(seed)
    strata: dict[tuple[str, str], list[tuple[float, float, Row]]] = defaultdict(list)
    for row in rows:
        if (value := worth(row)) is not None:
            strata[str(row.get("language") or ""), stratum(row)].append((-value, drawn.random(), row))
    shares = _shares([len(strata[name]) for name in sorted(strata)], n)
    picked = [
        row
        for name, share in zip(sorted(strata), shares, strict=True)
        for _, _, row in sorted(strata[name], key=lambda each: each[:2])[:share]
    ]
    drawn.shuffle(picked)
    return picked


def _order(rubric: str, pick: str) -> tuple[Callable[[Row], str], Callable[[Row], float | None]]:
    """What tells strata apart, and how much is to be learnt of a row; None: it is not to be picked."""

    def band(row: Row) -> str:
        return str(min(2, int((_score(row, rubric) or 0.0) * 3)))

    def uncertain(row: Row) -> float | None:
        distance = abs((_score(row, rubric) or 0.0) - 0.5)
        return None if distance > UNSURE and not _spread(row, rubric) else -distance + _spread(row, rubric)

    def disagreement(row: Row) -> float | None:
        right, score = (row.get("metrics") or {}).get("right"), _score(row, rubric) or 0.0
        found = max(_spread(row, rubric), 0.0 if right is None else abs(right - score))
        return found if found > 0 else None

    def failing(row: Row) -> float | None:
        right = (row.get("metrics") or {}).get("right")
        fails = right == 0 or (right is None and (_score(row, rubric) or 0.0) < 0.5)
        return 0.0 if fails else None

    orders: Mapping[str, tuple[Callable[[Row], str], Callable[[Row], float | None]]] = {
        "random": (band, lambda _: 0.0),
        "uncertain": (lambda _: "", uncertain),
        "disagreement": (lambda _: "", disagreement),
        "failing": (lambda row: lost_at(row) or "", failing),
    }
    return orders[pick]


def _spread(row: Row, rubric: str) -> float:
    """Between the votes of one judgement."""
    details = ((row.get("judgements") or {}).get(rubric) or {}).get("details") or {}
    votes = [vote for vote in (details.get("votes") or {}).values() if vote is not None]
    return max(votes) - min(votes) if votes else 0.0


def _shares(sizes: Sequence[int], n: int) -> list[int]:
    """In proportion, by largest remainder; where there is room, no stratum is left out."""
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
