"""Places in notes with the links expected there, from JSON Lines.

    id, source_note     text; the note is named by its path, title or alias
    anchor              the sentence or phrase where a link may be missing
    expected_links      list of notes by path, title or alias; notes that stand for one concept may be a list in it
    anchor_range        {"start", "end"}: characters of the text of the note, behind its front matter
    context             the text around it, as it was; used where the anchor is not found in the note
    accepted, rejected  lists of notes that people took or refused there
    language (lang), tags, team, domain

Other keys are ignored, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from runner.data.documents import is_new
from runner.data.fields import Fields, clean
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.errors import DataError
from runner.system.writing import replacing

KNOWN = frozenset(
    {"id", "source_note", "anchor", "expected_links", "anchor_range", "context", "accepted", "rejected"}
    | {"language", "lang", "tags", "team", "domain", "created_at"}
)


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """A line as it is written. Each of `expected` is one concept: the notes that are right for it."""

    id: str
    source_note: str
    anchor: str
    expected: tuple[tuple[str, ...], ...]
    anchor_range: tuple[int, int] | None = None
    context: str | None = None
    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    language: str | None = None
    tags: tuple[str, ...] = ()


def read_links(path: str, key: str, log: ProblemLog) -> dict[int, WrittenCase]:
    """Cases by line number, in file order. A bad line and a repeated id are errors and left out.

    Raises DataError when the file cannot be read or holds no usable case.
    """
    first_lines: dict[str, str] = {}
    cases: dict[int, WrittenCase] = {}
    for line, data in read_jsonl(path, key, log, DataError):
        fields = Fields(data, path, line, log)
        case = _case(fields)
        if case is not None and is_new(fields, case.id, first_lines):
            cases[line] = case
    log.stop_if_strict()
    if not cases:
        raise DataError(f"{key}: no links in {path}{why_empty(log, path)}")
    return cases


def written_case(row: Mapping[str, Any]) -> WrittenCase:
    """A case that runner.domains.links.making made."""
    case = _case(Fields(row, "", None, ProblemLog()))
    if case is None:
        raise ValueError(f"not a case of a missing link: {row}")
    return case


def write_links(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows as JSON Lines; the file appears whole or not at all."""
    with replacing(path) as scratch, scratch.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def _case(fields: Fields) -> WrittenCase | None:
    fields.warn_of_unknown(KNOWN)
    fields.time("created_at")
    case = WrittenCase(
        id=fields.required_text("id"),
        source_note=fields.required_text("source_note"),
        anchor=fields.required_text("anchor"),
        expected=_read_expected(fields),
        anchor_range=_range(fields),
        context=fields.text("context"),
        accepted=fields.texts("accepted"),
        rejected=fields.texts("rejected"),
        language=fields.text("language", "lang"),
        tags=fields.tags(),
    )
    return None if fields.failed else case


def _read_expected(fields: Fields) -> tuple[tuple[str, ...], ...]:
    concepts = []
    for index, item in enumerate(fields.items("expected_links") or ()):
        variants = item if isinstance(item, list) else [item]
        if variants and all(isinstance(each, str) and each.strip() for each in variants):
            concepts.append(tuple(clean(each) for each in variants))
        else:
            fields.wrong(f"expected_links[{index}]", "the name of a note, or a list of names for one concept", item)
    if not concepts and not fields.failed:
        fields.wrong("expected_links", "a list of at least one note", fields.data.get("expected_links"))
    return tuple(concepts)


def _range(fields: Fields) -> tuple[int, int] | None:
    if fields.data.get("anchor_range") is None:
        return None
    inner = fields.object("anchor_range")
    start, end = inner.integer("start"), inner.integer("end")
    if not inner.failed and (start is None or end is None or start >= end):
        inner.error("end", f"expected start and end, and more than start, found {start} and {end}")
    fields.failed |= inner.failed
    return None if fields.failed or start is None or end is None else (start, end)
