"""Tables that a tracking store shows by itself: the cases of a run, and all of its numbers."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from runner.metrics.metric import Catalogue
from runner.report.worst import lost_at, scores
from runner.system.folder import RunFolder
from runner.tracking.metrics import COLUMNS, RunNumbers

CASES = 1000  # rows; of more, the same ones in every run
TEXT = 2000  # characters


@dataclass(frozen=True, slots=True)
class Table:
    """`name`: of its file, without an ending."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def tables_of(run: RunFolder, numbers: RunNumbers, catalogue: Catalogue) -> list[Table]:
    """The tables that are not empty, those for comparison first."""
    tables = (_cases(run, catalogue), Table("metrics", COLUMNS, numbers.table))
    return [table for table in tables if table.rows]


def _cases(run: RunFolder, catalogue: Catalogue) -> Table:
    """One row per case, failing cases first. The first columns are the question and its outcome: a store groups and
    compares by them."""
    rows = [_Case.of(row, catalogue) for row in _choose(run.rows())]
    times_asked = Counter(row.question for row in rows)
    score_names = list(dict.fromkeys(name for row in rows for name in row.scores))
    results = [name for name in ("answer", "retrieved") if any(getattr(row, name) for row in rows)]
    columns = ["question", *results[:1], "right", *score_names, "lost_at", *results[1:], "id"]
    cells = [
        [
            row.question if times_asked[row.question] == 1 else f"{row.question} ({row.id})",
            *(getattr(row, name) for name in results[:1]),
            row.right,
            *(row.scores.get(name) for name in score_names),
            row.lost_at,
            *(getattr(row, name) for name in results[1:]),
            row.id,
        ]
        for row in sorted(rows, key=lambda row: (not row.fails, row.id))
    ]
    used = [place for place in range(len(columns)) if any(cell[place] is not None for cell in cells)]
    return Table("cases", [columns[place] for place in used], [[cell[place] for place in used] for cell in cells])


@dataclass(frozen=True, slots=True)
class _Case:
    id: str
    question: str
    answer: str | None
    retrieved: str | None
    right: float | None
    lost_at: str | None
    scores: Mapping[str, float | None]
    fails: bool

    @classmethod
    def of(cls, row: Mapping[str, Any], catalogue: Catalogue) -> _Case:
        """Instead of the answer of a case that did not end stands why."""
        output = row["output"] if isinstance(row.get("output"), Mapping) else {}
        right, lost_stage, ended = (row.get("metrics") or {}).get("right"), lost_at(row), row.get("status") == "ok"
        answer = _text(output, "answer") if ended else f"{row.get('status')}: {row.get('error')}"
        return cls(
            id=str(row["id"]),
            question=_text(output, "query") or str(row["id"]),
            answer=answer,
            retrieved=", ".join(str(hit.get("id")) for hit in output.get("retrieved") or ()) or None,
            right=right,
            lost_at=lost_stage,
            scores={name: value for name, value in scores(row, catalogue).items() if name != "right"},
            fails=not ended or lost_stage is not None or right == 0,
        )


def _text(output: Mapping[str, Any], name: str) -> str | None:
    value = output.get(name)
    if not isinstance(value, str) or not value:
        return None
    return value if len(value) <= TEXT else f"{value[: TEXT - 1]}…"


def _choose(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Drawn by their ids, so that runs of one data set show the same cases."""
    return heapq.nsmallest(CASES, rows, key=lambda row: crc32(str(row["id"]).encode("utf-8", "replace")))
