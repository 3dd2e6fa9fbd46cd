"""Queries from JSONL.

    id, query           text
    answerable          true or false
    expected_notes      list of document ids, or {id: grade}; needed when answerable, unless there are answers, checks
                        or what another system returned; without it no ranking is measured
    expected_chunks     list of chunk ids
    expected_spans      list of {"note" or "document", "start", "end"}, {"note", "text"} or texts
    answers             list of reference answers
    history             list of {"role": "user" or "assistant", "text" or "content"}, oldest first: what was said before
    language (lang), difficulty, tags
    team, domain        text; the tags team:NAME and domain:NAME
    group               text; questions of one group depend on each other (default: those on the same document)
    created_at          ISO 8601
    ranking             list of ids or of {"id", "score"}: what another system returned
    contexts            list of texts or of {"id", "text", "title"}: what its generator saw
    answer              text: what it said
    latency_ms          number: the milliseconds that it took, for checks of latency
    cost_usd            number: what it cost, for checks of cost
    checks              list of checks of the answer, such as {"contains": "27 days"} (runner.metrics.checks)

Other keys are free to stand there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from runner.data.documents import is_new
from runner.data.fields import Fields, clean
from runner.data.jsonl import describe_value, read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.errors import DataError
from runner.metrics.checks import read_check
from runner.records import Check, Context, GivenResults, Query, Span, Turn
from runner.system.spool import Spool

LineT = TypeVar("LineT", int, int | None)

KNOWN = frozenset(
    {"id", "query", "answerable", "expected_notes", "expected_chunks", "expected_spans", "answers", "language", "lang"}
    | {
        "difficulty",
        "tags",
        "history",
        "ranking",
        "contexts",
        "answer",
        "created_at",
        "team",
        "domain",
        "checks",
        "group",
    }
    | {"latency_ms", "cost_usd"}
)
DIFFICULTIES = frozenset({"easy", "mid", "medium", "hard", "쉬움", "보통", "중간", "어려움"})
INSTEAD_OF_GOLD = ("answers", "checks", "answer", "contexts", "ranking")  # fields by which an answer can be judged
NO_GOLD = "an answerable question needs a gold note, known answers or the answer of a system"
MANY_NOTES = 2  # most gold notes of a question; more make it hard to score


def read_queries(path: str, key: str, log: ProblemLog) -> Sequence[tuple[int, Query]]:
    """(line number, query) in file order. A bad line and a repeated id are errors and left out.

    Raises DataError when the file cannot be read or holds no usable query.
    """
    return queries_of(read_jsonl(path, key, log, DataError), path, key, log)


def queries_of(
    records: Iterable[tuple[LineT, Mapping[str, Any]]], path: str, key: str, log: ProblemLog
) -> Sequence[tuple[LineT, Query]]:
    """As `read_queries`, from parsed lines."""
    queries = Spool(queries_in(records, path, log))
    stop_without(queries, path, key, log)
    return queries


def stop_without(queries: Sequence[Any], path: str, key: str, log: ProblemLog) -> None:
    """Raises DataError where a file has no usable query, or a fault in a strict run."""
    log.stop_if_strict()
    if not queries:
        raise DataError(f"{key}: no queries in {path}{why_empty(log, path)}")


def queries_in(
    records: Iterable[tuple[LineT, Mapping[str, Any]]], path: str, log: ProblemLog
) -> Iterator[tuple[LineT, Query]]:
    """The usable queries, one at a time."""
    places: dict[str, str] = {}
    for line, data in records:
        fields = Fields(data, path, line, log)
        query = _query(fields)
        if query is not None and is_new(fields, query.id, places):
            yield line, query


def _query(fields: Fields) -> Query | None:
    fields.warn_of_misspellings(KNOWN)
    fields.time("created_at")
    query_id = fields.required_text("id")
    text = fields.required_text("query", "question")
    answerable = fields.flag("answerable")
    relevance = _relevance(fields)
    query = Query(
        id=query_id,
        text=text,
        answerable=bool(answerable),
        relevance=relevance,
        expected_chunks=fields.texts("expected_chunks"),
        expected_spans=_spans(fields, relevance),
        answers=fields.texts("answers"),
        language=fields.text("language", "lang"),
        difficulty=_difficulty(fields),
        tags=fields.tags(),
        given=GivenResults(
            _ranking(fields),
            contexts_of(fields),
            fields.text("answer"),
            fields.amount("latency_ms"),
            fields.amount("cost_usd"),
        ),
        history=history_of(fields),
        checks=_checks(fields),
        group=fields.text("group"),
    )
    if not fields.failed:
        _check_answerable(fields, query)
    return None if fields.failed else query


def _difficulty(fields: Fields) -> str | None:
    """Any word is a slice of its own; one that is not known is told once, as it may be a slip."""
    difficulty = fields.text("difficulty")
    if difficulty is not None and difficulty.casefold() not in DIFFICULTIES:
        message = f"unknown difficulty '{difficulty}', a slice of its own; expected easy, mid or hard"
        fields.log.warn_once(fields.path, message, fields.line, "difficulty")
    return difficulty


def _check_answerable(fields: Fields, query: Query) -> None:
    gold = [document_id for document_id, grade in query.relevance.items() if grade > 0]
    if query.answerable and not gold and not any(fields.data.get(name) is not None for name in INSTEAD_OF_GOLD):
        fields.error("expected_notes", NO_GOLD)
    if not query.answerable and (gold or query.expected_chunks or query.expected_spans):
        field = next(name for name in ("expected_notes", "expected_chunks", "expected_spans") if fields.data.get(name))
        fields.error(field, "a question with answerable=false has no gold, found some")
    if len(gold) > MANY_NOTES:
        fields.warning("expected_notes", f"{len(gold)} gold notes; more than {MANY_NOTES} make a question ambiguous")


def _relevance(fields: Fields) -> dict[str, int]:
    """Document id -> grade; 1 for the ids of a list."""
    value = fields.data.get("expected_notes")
    if value is None or isinstance(value, list):
        return dict.fromkeys(fields.texts("expected_notes"), 1)
    if not isinstance(value, dict):
        fields.wrong("expected_notes", "a list of notes or {note: grade}", value)
        return {}
    relevance = {}
    for document_id, grade in value.items():
        if isinstance(grade, int) and not isinstance(grade, bool):
            relevance[clean(document_id)] = grade
        else:
            fields.error(
                "expected_notes",
                f"expected a whole number as the grade of '{document_id}', found {describe_value(grade)}",
            )
    return relevance


def _spans(fields: Fields, relevance: dict[str, int]) -> tuple[Span, ...]:
    spans = []
    for index, item in enumerate(fields.items("expected_spans") or ()):
        name = f"expected_spans[{index}]"
        data = {"text": item} if isinstance(item, str) else item
        if not isinstance(data, dict):
            fields.wrong(name, "an object or text", item)
            continue
        inner = fields.inner(name, data)
        span = _span(inner, relevance)
        fields.failed |= inner.failed
        if span is not None:
            spans.append(span)
    return tuple(spans)


def _span(fields: Fields, relevance: dict[str, int]) -> Span | None:
    document = fields.text("note", "document") or (next(iter(relevance)) if len(relevance) == 1 else None)
    start, end, text = fields.integer("start"), fields.integer("end"), fields.text("text")
    if fields.failed:
        return None
    if document is None:
        fields.error("note", "expected the note that the span is in, found nothing")
    elif (start is None) != (end is None) or (start is None and not text):
        fields.error("start", "expected start and end, or text")
    elif start is not None and end is not None and start >= end:
        fields.error("end", f"expected more than start ({start}), found number {end}")
    else:
        return Span(document, start, end, text)
    return None


def history_of(fields: Fields, name: str = "history") -> tuple[Turn, ...]:
    """The turns before a question. An invalid turn is a problem of `fields` and left out."""
    turns = [_turn(fields, f"{name}[{n}]", item) for n, item in enumerate(fields.items(name) or ())]
    return tuple(turn for turn in turns if turn is not None)


def _turn(fields: Fields, name: str, item: Any) -> Turn | None:
    if not isinstance(item, dict):
        fields.wrong(name, 'an object with "role" and "text"', item)
        return None
    inner = fields.inner(name, item)
    role: Any = item.get("role")
    text = inner.required_text("text", "content")
    if role not in ("user", "assistant"):
        inner.wrong("role", '"user" or "assistant"', role)
    fields.failed |= inner.failed
    return None if inner.failed else Turn(role, text)


def _checks(fields: Fields) -> tuple[Check, ...]:
    checks = []
    for number, entry in enumerate(fields.items("checks") or ()):
        try:
            checks.append(read_check(entry))
        except ValueError as error:
            fields.error(f"checks[{number}]", str(error))
    return tuple(checks)


# --- what another system returned -------------------------------------------------------------------


def _ranking(fields: Fields) -> tuple[tuple[str, float], ...] | None:
    """Best first: by score, ties by id descending as bytes. Bare ids keep their order, scored 1/rank."""
    items = fields.items("ranking")
    if items is None:
        return None
    if all(isinstance(item, str) for item in items):
        return tuple((clean(item), 1 / rank) for rank, item in enumerate(items, 1))
    scored = [hit for index, item in enumerate(items) if (hit := _score(fields, f"ranking[{index}]", item))]
    return tuple(sorted(scored, key=lambda hit: (hit[1], hit[0].encode()), reverse=True))


def _score(fields: Fields, name: str, item: Any) -> tuple[str, float] | None:
    if not isinstance(item, dict):
        fields.wrong(name, 'either ids only or {"id", "score"} only', item)
        return None
    inner = fields.inner(name, item)
    hit_id, score = inner.required_text("id"), item.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        inner.wrong("score", "a number", score)
    fields.failed |= inner.failed
    return None if inner.failed else (hit_id, float(score or 0))


def contexts_of(fields: Fields) -> tuple[Context, ...] | None:
    """The contexts that a system retrieved: None where the record does not say, () for none."""
    items = fields.items("contexts")
    if items is None:
        return None
    return tuple(context for n, item in enumerate(items) if (context := _context(fields, n, item)) is not None)


def _context(fields: Fields, n: int, item: Any) -> Context | None:
    if isinstance(item, str):
        return Context(f"context-{n + 1}", clean(item))
    if not isinstance(item, dict):
        fields.wrong(f"contexts[{n}]", 'text or {"id", "text"}', item)
        return None
    inner = fields.inner(f"contexts[{n}]", item)
    text = inner.required_text("text")
    context_id, title = inner.text("id"), inner.text("title")
    fields.failed |= inner.failed
    return None if inner.failed else Context(context_id or f"context-{n + 1}", text, title or "")
