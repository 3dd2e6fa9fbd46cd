"""Conversations with planted facts and probes, from JSON Lines (one conversation a line) or YAML.

    id                  text, unique in all files
    turns               list of turns; or
    sessions            list of {"date": ISO 8601, "turns"}: the turns of one day
    language (lang), tenant (default "default"), tags
    facts               list of {"id", "value", "turn"}: the turn in which it is said, counted from 1 over all sessions;
                        "key": the fact is true until another one of the same key is said; "aliases": other ways to
                        write the value
    probes              list of {"id", "question"} and, where known,
        after_turn      the number of turns after which it is asked (default: all)
        turn            in place of "question" and "after_turn": the question is what the user says in this turn
        answerable      true (default) or false
        expected        ids of the facts that an answer needs
        forbidden       ids of facts that are no longer true, or never were
        answers         list of answers as people would give them
        evidence        ids of the turns that answer it; a turn without an id is called turn-N
        canaries        texts of other tenants, none of which may show
        category        by which results are grouped
        contexts        list of texts or of {"id", "text", "title"}: what the memory of another system returned, best
                        first. An id of a turn names the turn that it was made from; without one, it is the system's own
        answer          what that system answered, for generator=given
        notes           ids of documents that answer it, for experiments with documents beside conversations

A turn is {"user", "assistant"}; in a conversation of two people {"speaker", "user" or "text"} with the words of one of
them. It may have an "id" and a "date" of its own.

YAML has the same keys in one document: `version: 1` and `conversations: [...]`. Dates and words such as `no` are read
as texts; put a value that is a number in quotes. Other keys are allowed everywhere.

An expected fact or a piece of evidence from after the probe is an error, and so is an expected fact that another one
has replaced. A conversation with an error is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.data.documents import is_new
from runner.data.fields import Fields
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.data.queries import contexts_of
from runner.domains.memory.records import ChatTurn, Conversation, Fact, Probe
from runner.domains.memory.scenario_yaml import LineDict, read_yaml
from runner.domains.memory.timeline import check_timeline
from runner.errors import DataError
from runner.records import GivenResults

CONVERSATION = frozenset({"id", "language", "lang", "tenant", "tags", "sessions", "turns", "facts", "probes"})
SESSION = frozenset({"date", "turns"})
TURN = frozenset({"user", "text", "assistant", "speaker", "id", "date"})
FACT = frozenset({"id", "key", "value", "aliases", "turn"})
PROBE = frozenset(
    {"id", "question", "after_turn", "answerable", "expected", "forbidden"}
    | {"answers", "evidence", "canaries", "category", "turn", "notes", "contexts", "answer"}
)


def read_scenarios(paths: list[str], key: str, log: ProblemLog) -> list[Conversation]:
    """The conversations in file order. Raises DataError when a file cannot be read or holds no usable conversation."""
    first_lines: dict[str, str] = {}
    conversations: list[Conversation] = []
    for path in paths:
        before = len(conversations)
        for line, data in _records(path, key, log):
            fields = Fields(data, path, line, log)
            conversation = read_conversation(fields)
            if conversation is not None and is_new(fields, conversation.id, first_lines):
                conversations.append(conversation)
        log.stop_if_strict()
        if len(conversations) == before:
            raise DataError(f"{key}: no conversations in {path}{why_empty(log, path)}")
    if not conversations:
        raise DataError(f"{key}: expected at least one file, found an empty list")
    return conversations


def _records(path: str, key: str, log: ProblemLog) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if Path(path).suffix.lower() in (".yaml", ".yml"):
        return read_yaml(path, key, log)
    return read_jsonl(path, key, log, DataError)


def read_conversation(fields: Fields) -> Conversation | None:
    """A conversation; None, with the reasons in the log, where it has an error."""
    fields.warn_of_misspellings(CONVERSATION)
    conversation_id = fields.required_text("id")
    turns = _turns(fields)
    facts = [(inner, _fact(inner)) for inner in _objects(fields, "facts", FACT)]
    probes = [(inner, _probe(inner, turns)) for inner in _objects(fields, "probes", PROBE)]
    conversation = Conversation(
        id=conversation_id,
        turns=turns,
        probes=tuple(sorted((probe for _, probe in probes), key=lambda probe: probe.after_turn)),
        facts={fact.id: fact for _, fact in facts},
        language=fields.text("language", "lang"),
        tenant=fields.text("tenant") or "default",
        tags=fields.texts("tags"),
    )
    if not fields.failed:
        check_timeline(fields, turns, facts, probes)
    return None if fields.failed else conversation


# --- turns ------------------------------------------------------------------------------------------


def _turns(fields: Fields) -> tuple[ChatTurn, ...]:
    """The turns of all sessions in one row, numbered from 1."""
    has_both = fields.data.get("turns") is not None and fields.data.get("sessions") is not None
    if has_both:
        fields.error("turns", "expected either turns or sessions, found both")
    turns = list(_turns_of(fields, ""))
    for session in () if has_both else _objects(fields, "sessions", SESSION):
        turns += _turns_of(session, _date(session))
    if not turns and not fields.failed:
        fields.error("turns", "expected at least one turn, found none")
    return tuple(
        ChatTurn(turn.user, turn.assistant, turn.speaker, turn.said_at, turn.id, number)
        for number, turn in enumerate(turns, 1)
    )


def _turns_of(fields: Fields, said_at: str) -> Iterator[ChatTurn]:
    for turn in _objects(fields, "turns", TURN):
        user = turn.required_text("user", "text")
        yield ChatTurn(
            user=user,
            assistant=turn.text("assistant") or "",
            speaker=turn.text("speaker") or "",
            said_at=_date(turn) or said_at,
            id=turn.text("id") or "",
        )


def _date(fields: Fields) -> str:
    text = fields.text("date") or ""
    try:
        datetime.fromisoformat(text or "2000-01-01")
    except ValueError:
        fields.wrong("date", "a date or time in ISO 8601 (2026-11-03, 2026-11-03T09:30)", text)
    return text


# --- facts and probes -------------------------------------------------------------------------------


def _fact(fields: Fields) -> Fact:
    turn = fields.integer("turn", at_least=1)
    if fields.data.get("turn") is None:
        fields.wrong("turn", "the number of the turn that says it", None)
    return Fact(
        id=fields.required_text("id"),
        value=fields.required_text("value"),
        turn=turn or 0,
        key=fields.text("key") or "",
        aliases=fields.texts("aliases"),
    )


def _probe(fields: Fields, turns: Sequence[ChatTurn]) -> Probe:
    question, after_turn = (
        _question_of_turn(fields, turns)
        if fields.data.get("turn") is not None
        else _stated_question(fields, len(turns))
    )
    return Probe(
        id=fields.required_text("id"),
        question=question,
        after_turn=after_turn,
        answerable=bool(fields.flag("answerable")) if fields.data.get("answerable") is not None else True,
        expected=fields.texts("expected"),
        forbidden=fields.texts("forbidden"),
        answers=fields.texts("answers"),
        evidence=fields.texts("evidence"),
        canaries=fields.texts("canaries"),
        category=fields.text("category") or "",
        notes=fields.texts("notes"),
        given=GivenResults(contexts=contexts_of(fields), answer=fields.text("answer")),
    )


def _stated_question(fields: Fields, turns: int) -> tuple[str, int]:
    after_turn = fields.integer("after_turn", at_least=1)
    return fields.required_text("question"), turns if after_turn is None else after_turn


def _question_of_turn(fields: Fields, turns: Sequence[ChatTurn]) -> tuple[str, int]:
    """The question of a turn, and the number of turns before it."""
    for name in ("question", "after_turn"):
        if fields.data.get(name) is not None:
            fields.error(name, f"expected either turn or {name}, found both")
    number = fields.integer("turn", at_least=1) or 1
    if number > len(turns):
        fields.error("turn", f"expected a turn from 1 to {len(turns)}, found {number}")
        return "", 0
    return turns[number - 1].user, number - 1


def _objects(fields: Fields, name: str, keys: frozenset[str]) -> Iterator[Fields]:
    for inner in fields.objects(name):
        if isinstance(inner.data, LineDict):
            inner.line = inner.data.line
        inner.warn_of_misspellings(keys)
        yield inner
