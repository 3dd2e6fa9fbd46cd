"""Cases of a run as traces: what was asked, retrieved, sent to models, replied and judged, as a tree of spans.

    case                    CHAIN        question -> answer, right, scores
      retrieval             RETRIEVER    question -> what the answer was made from
      generator             CHAT_MODEL   messages -> reply, with tokens, cost and time
      faithfulness          EVALUATOR    answer -> score, reason
        judge               CHAT_MODEL

A stage of which only the duration is known (retrieval) ends where the first other call begins; a judgement that asked
no model stands, without a duration, at the end.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from runner.llm.calls import FILE, calls_of
from runner.metrics.catalogue import catalogue_in
from runner.metrics.metric import Catalogue
from runner.report.calls import in_order
from runner.report.usage import models
from runner.report.worst import lost_at, scores
from runner.system.folder import RunFolder, legible, open_run

Kind = Literal["CHAIN", "RETRIEVER", "CHAT_MODEL", "EMBEDDING", "EVALUATOR"]
ROOT = "case"
TOLD = ("role", "rubric", "attempts", "cached", "ms", "waited_ms", "repeat", "again", "input_tokens", "output_tokens",
        "cost_usd", "id")  # fmt: skip

Row = Mapping[str, Any]  # of per_item.jsonl
Call = Mapping[str, Any]  # of calls.jsonl.zst


@dataclass(frozen=True, slots=True)
class Span:
    """`key` is one of its trace, and the same whenever the trace is made again; `parent` is a key, None of the root.
    Times are milliseconds since 1970."""

    key: str
    parent: str | None
    name: str
    kind: Kind
    start_ms: float
    end_ms: float
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    call: Call | None = None  # what the span of a request shows
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CaseScore:
    """What was found of a case: by `judge`, a model where `by_model`, or by code. `value` is None where judging
    failed, for the reason `error`."""

    name: str
    value: float | None
    reason: str | None
    error: str | None
    judge: str
    by_model: bool


@dataclass(frozen=True, slots=True)
class CaseTrace:
    """`run` tells the run from all others. The root stands first in `spans`."""

    run: str
    case: str
    question: str | None
    answer: str | None
    spans: Sequence[Span]
    scores: Sequence[CaseScore] = ()
    tags: Mapping[str, str] = field(default_factory=dict)


def case_traces(folder: Path, count: int) -> list[CaseTrace]:
    """The traces of at most `count` cases: failing ones first, then the others, each in an order that the seed of the
    run draws. Raises InputError for an unusable folder, and for a damaged file."""
    if not count:
        return []
    with legible(folder):
        run = open_run(folder)
        rows = choose(run, count)
        calls = calls_of(folder / FILE, [str(row["id"]) for row in rows])
        catalogue = catalogue_in(run.run)
        return [_trace(run, row, in_order(calls[str(row["id"])]), catalogue) for row in rows]


def choose(run: RunFolder, count: int) -> list[Row]:
    """The rows to be traced: failing ones first, in each group drawn by the run's seed."""
    seed = (run.run.get("config") or {}).get("seed", 0)

    def order(row: Row) -> tuple[bool, int, str]:
        case = str(row["id"])
        return not _fails(row), crc32(f"{seed} {case}".encode("utf-8", "replace")), case

    return heapq.nsmallest(count, run.rows(), key=order)


def _fails(row: Row) -> bool:
    return row.get("status") != "ok" or lost_at(row) is not None or (row.get("metrics") or {}).get("right") == 0


def _trace(run: RunFolder, row: Row, calls: Sequence[Call], catalogue: Catalogue) -> CaseTrace:
    output = row.get("output") if isinstance(row.get("output"), Mapping) else {}
    question, answer = _text(output, "query"), _text(output, "answer")
    created_ms = datetime.fromisoformat(str(run.run["created_at"])).timestamp() * 1000
    others = [call["at"] for call in calls if _kind(call) != "EMBEDDING"]
    began = min(others or [call["at"] + call["ms"] for call in calls] or [created_ms])
    retrieval = _retrieval(row, output, question, began)
    call_spans = [_of_call(call, number) for number, call in enumerate(calls)]
    end = max([began + _ms(row, "generation"), *(span.end_ms for span in call_spans)])
    spans = [*retrieval, *call_spans]
    spans += _judgements(row, answer, call_spans, end)
    start = min([began, *(span.start_ms for span in spans)])
    told = {"answer": answer, "right": (row.get("metrics") or {}).get("right"), "scores": scores(row, catalogue)}
    error = None if row.get("status") == "ok" else str(row.get("error") or row.get("status"))
    root = Span(ROOT, None, str(row["id"]), "CHAIN", start, end, {"question": question}, told, error=error)
    return CaseTrace(
        run=f"{run.run.get('id')} {run.run['created_at']}",
        case=str(row["id"]),
        question=question,
        answer=answer,
        spans=[root, *sorted(spans, key=lambda span: (span.start_ms, span.kind != "EVALUATOR"))],
        scores=[*_case_scores(run, row)],
        tags=_tags(row),
    )


def _case_scores(run: RunFolder, row: Row) -> Iterator[CaseScore]:
    """Whether the case is right and by which rule, and what the judge said by each rubric."""
    right = (row.get("metrics") or {}).get("right")
    rule = str((row.get("labels") or {}).get("right_by") or "right")
    if right is not None:
        yield CaseScore("right", right, f"right_by: {rule}", None, f"runner:{rule}", by_model=False)
    judges = models(run.run).get("judge") or ()
    judge = ", ".join(judges) or str((run.run.get("choices") or {}).get("judge") or "judge")
    for rubric, judgement in (row.get("judgements") or {}).items():
        score, reason, error = (judgement.get(name) for name in ("score", "reasoning", "error"))
        if score is not None or error is not None:
            yield CaseScore(rubric, score, reason, error, judge, by_model=bool(judges))


def _text(output: Any, name: str) -> str | None:
    value = output.get(name)
    return value if isinstance(value, str) else None


def _ms(row: Row, stage: str) -> float:
    return float(((row.get("timings") or {}).get(stage) or {}).get("ms") or 0.0)


def _tags(row: Row) -> dict[str, str]:
    right = (row.get("metrics") or {}).get("right")
    tags = {
        "case": row["id"],
        "status": row.get("status"),
        "right": None if right is None else f"{right:g}",
        "lost_at": lost_at(row),
        "language": row.get("language"),
    }
    return {name: str(value) for name, value in tags.items() if value is not None}


# --- spans ------------------------------------------------------------------------------------------


def _retrieval(row: Row, output: Any, question: str | None, end: float) -> Iterator[Span]:
    """None where nothing says what was retrieved."""
    entries = output.get("contexts") or output.get("retrieved")
    if entries:
        known = {entry.get("chunk") or entry.get("id"): entry.get("score") for entry in output.get("retrieved") or ()}
        documents = [_document(entry, known) for entry in entries]
        start = end - _ms(row, "retrieval")
        asked, got = {"question": question}, {"documents": documents}
        yield Span("retrieval", ROOT, "retrieval", "RETRIEVER", start, end, asked, got)


def _document(entry: Mapping[str, Any], known: Mapping[Any, Any]) -> dict[str, Any]:
    id = entry.get("chunk") or entry.get("id")
    about = {"doc_uri": id, "title": entry.get("title"), "score": known.get(id)}
    metadata = {name: value for name, value in about.items() if value not in (None, "")}
    return {"id": id, "page_content": entry.get("text") or "", "metadata": metadata}


def _kind(call: Call) -> Kind:
    return "CHAT_MODEL" if "messages" in call["request"] else "EMBEDDING"


def _of_call(call: Call, number: int) -> Span:
    parent = _judged_name(call["rubric"]) if call.get("rubric") else ROOT
    end = call["at"] + (call["ms"] or 0.0)
    return Span(
        key=f"call {number} {call['id']}",
        parent=parent,
        name=str(call["role"]),
        kind=_kind(call),
        start_ms=call["at"],
        end_ms=end,
        inputs=call["request"],
        outputs=call["reply"] or {},
        call={name: call.get(name) for name in ("model", *TOLD)},
        error=call["error"],
    )


def _judged_name(rubric: str) -> str:
    return f"judgement {rubric}"


def _judgements(row: Row, answer: str | None, call_spans: Sequence[Span], end: float) -> Iterator[Span]:
    """A span for each rubric by which the case was judged, or for which a judge was called."""
    judgements = row.get("judgements") or {}
    rubrics = [*judgements, *(span.call["rubric"] for span in call_spans if span.call and span.call["rubric"])]
    for rubric in dict.fromkeys(rubrics):
        rubric_spans = [span for span in call_spans if span.parent == _judged_name(rubric)]
        judgement = judgements.get(rubric) or {}
        yield Span(
            key=_judged_name(rubric),
            parent=ROOT,
            name=rubric,
            kind="EVALUATOR",
            start_ms=min((span.start_ms for span in rubric_spans), default=end),
            end_ms=max((span.end_ms for span in rubric_spans), default=end),
            inputs={"answer": answer},
            outputs={"score": judgement.get("score"), "reason": judgement.get("reasoning")},
            error=judgement.get("error"),
        )
