"""Histories of sessions and one question each, in the format of LongMemEval (Wu et al., 2024, arXiv:2410.10813).

A list of {"question_id", "question_type", "question", "answer", "question_date", "haystack_sessions": [[{"role",
"content", "has_answer"}]], "haystack_session_ids", "haystack_dates", "answer_session_ids"}: the three lists of the
haystack have one entry a session, times are written as 2023/05/20 (Sat) 02:21, and `has_answer` marks the messages
that answer the question. An id that ends in `_abs` is that of a question about what was never said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from runner.data.documents import is_new
from runner.data.fields import Fields
from runner.data.files import missing_files
from runner.data.jsonl import read_json
from runner.data.problems import ProblemLog, why_empty
from runner.domains.memory.records import ChatTurn, Conversation, Probe
from runner.errors import DataError, Problem, did_you_mean
from runner.records import DataProblem

TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
ABSTENTION = "abstention"
ABSTAINS = "_abs"  # how the id of a question ends that has no answer
KEY = "scenario.path"


class LongmemevalScenarios:
    """An instance is a conversation of its own with one question after its last turn. Sessions are told in the order
    of their times (the published file with evidence alone does not have them so). What the user says and the reply are
    one turn, `SESSION:N` with N the place of its first message in the session, from 1, as in the published evaluation.

    `types`: only questions of these; `abstention`: also those without an answer, which have no evidence, as the
    published evaluation of retrieval leaves them out.
    """

    def __init__(
        self, *, path: str, types: list[str] | None = None, abstention: bool = True, strict: bool = False
    ) -> None:
        self.path = path
        self.types = frozenset(TYPES if types is None else types)
        self.abstention = abstention
        self.strict = strict

    def preflight(self) -> list[Problem]:
        unknown = [
            Problem("scenario.types", f"unknown type '{name}'{did_you_mean(name, TYPES)}")
            for name in sorted(self.types.difference(TYPES))
        ]
        return [*unknown, *missing_files([self.path], KEY, DataError)]

    def load(self) -> tuple[list[Conversation], tuple[DataProblem, ...]]:
        log = ProblemLog(strict=self.strict)
        value = read_json(self.path, KEY, log, DataError)
        if not isinstance(value, list):
            raise DataError(f"{KEY}: {self.path} is not LongMemEval data: expected a list of questions")
        conversations: list[Conversation] = []
        places: dict[str, str] = {}
        n_left_out = 0
        for fields in Fields({"": value}, self.path, None, log).objects(""):
            conversation = _conversation(fields)
            if conversation is None or not is_new(fields, conversation.id, places):
                continue
            if self._is_wanted(conversation.probes[0]):
                conversations.append(conversation)
            else:
                n_left_out += 1
        log.stop_if_strict()
        if not conversations:
            why = (
                f": all {n_left_out} are left out by types and abstention" if n_left_out else why_empty(log, self.path)
            )
            raise DataError(f"{KEY}: no questions in {self.path}{why}")
        return conversations, log.problems

    def _is_wanted(self, probe: Probe) -> bool:
        return probe.category in self.types and (probe.answerable or self.abstention)


def _conversation(fields: Fields) -> Conversation | None:
    """None, with the reasons in the log, where anything is wrong with it."""
    id, question = fields.required_text("question_id"), fields.required_text("question")
    category, answer = fields.required_text("question_type"), _answer(fields)
    if category and category not in TYPES:
        fields.wrong("question_type", f"one of {', '.join(TYPES)}", category)
    asked_at = _time(fields, "question_date", fields.text("question_date") or "")
    sessions = sorted(_sessions(fields), key=lambda session: session.said_at or "~")
    if not sessions and not fields.failed:
        fields.error("haystack_sessions", "expected at least one session with messages, found none")
    if fields.failed:
        return None
    turns = [turn for session in sessions for turn in session.turns]
    answerable = not id.endswith(ABSTAINS)
    probe = Probe(
        id="question",
        question=question,
        after_turn=len(turns),
        answerable=answerable,
        answers=(answer,) if answerable else (),
        evidence=tuple(each for session in sessions for each in session.evidence) if answerable else (),
        category=category,
        asked_at=asked_at,
        sessions=_answer_sessions(fields, sessions) if answerable else (),
    )
    numbered = tuple(replace(turn, number=number) for number, turn in enumerate(turns, 1))
    tags = ("longmemeval",) if answerable else ("longmemeval", ABSTENTION)
    return Conversation(id, numbered, (probe,), language="en", tags=tags)


@dataclass(frozen=True, slots=True)
class _Session:
    """`evidence`: ids of its turns with a message that answers the question."""

    id: str
    said_at: str
    turns: Sequence[ChatTurn]
    evidence: Sequence[str]


def _sessions(fields: Fields) -> Iterator[_Session]:
    """The sessions with messages, in the order of the file."""
    sessions, ids, dates = (fields.items(f"haystack_{name}") or [] for name in ("sessions", "session_ids", "dates"))
    for name, items in (("session_ids", ids), ("dates", dates)):
        if len(items) != len(sessions):
            expected = f"as many entries as haystack_sessions ({len(sessions)})"
            fields.error(f"haystack_{name}", f"expected {expected}, found {len(items)}")
    if fields.failed:
        return
    times_used: dict[str, int] = {}
    for place, (messages, id, date) in enumerate(zip(sessions, ids, dates, strict=True)):
        if not isinstance(id, str) or not id:
            fields.wrong(f"haystack_session_ids[{place}]", "the id of a session", id)
            continue
        times_used[id] = times_used.get(id, 0) + 1
        name = id if times_used[id] == 1 else f"{id}~{times_used[id]}"
        said_at = _time(fields, f"haystack_dates[{place}]", date)
        pairs = _pair(list(_messages(fields, place, messages)))
        turns = [_turn(pair, name, said_at) for pair in pairs]
        if turns:
            evidence_ids = [
                turn.id for turn, pair in zip(turns, pairs, strict=True) if any(message.has_answer for message in pair)
            ]
            yield _Session(name, said_at, turns, evidence_ids)


@dataclass(frozen=True, slots=True)
class _Message:
    number: int
    is_user: bool
    text: str
    has_answer: bool


def _messages(fields: Fields, place: int, messages: object) -> Iterator[_Message]:
    """The messages without empty ones."""
    name = f"haystack_sessions[{place}]"
    if not isinstance(messages, list):
        fields.wrong(name, "a list of messages", messages)
        return
    for number, data in enumerate(messages, 1):
        if not isinstance(data, dict):
            fields.wrong(f"{name}[{number - 1}]", "a message", data)
            continue
        inner = fields.inner(f"{name}[{number - 1}]", data)
        role, text = inner.required_text("role"), inner.text("content") or ""
        if role not in ("user", "assistant", ""):
            inner.wrong("role", "user or assistant", role)
        has_answer = inner.flag("has_answer") if data.get("has_answer") is not None else False
        fields.failed |= inner.failed
        if text.strip():
            yield _Message(number, role == "user", text, bool(has_answer))


def _pair(messages: Sequence[_Message]) -> list[list[_Message]]:
    """Pair each message of the user with its reply; either may be missing."""
    pairs: list[list[_Message]] = []
    for message in messages:
        if pairs and not message.is_user and [each.is_user for each in pairs[-1]] == [True]:
            pairs[-1].append(message)
        else:
            pairs.append([message])
    return pairs


def _turn(pair: Sequence[_Message], session: str, said_at: str) -> ChatTurn:
    user, assistant = ("".join(each.text for each in pair if each.is_user == is_user) for is_user in (True, False))
    return ChatTurn(user, assistant, said_at=said_at, id=f"{session}:{pair[0].number}")


def _answer_sessions(fields: Fields, sessions: Sequence[_Session]) -> tuple[str, ...]:
    session_ids = {session.id for session in sessions}
    ids: dict[str, None] = {}
    for id in fields.texts("answer_session_ids"):
        if id in session_ids:
            ids[id] = None
        else:
            fields.warning("answer_session_ids", f"no session has the id '{id}'; left out")
    return tuple(ids)


def _answer(fields: Fields) -> str:
    """A count may stand there as a number."""
    value = fields.data.get("answer")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else fields.required_text("answer")


def _time(fields: Fields, name: str, value: object) -> str:
    """2023-05-20T02:21 from `2023/05/20 (Sat) 02:21`; empty, with a warning, where it is written otherwise. The name of
    the day is ignored."""
    text = value if isinstance(value, str) else ""
    date, _, rest = text.partition(" (")
    try:
        return datetime.strptime(f"{date} {rest.rpartition(') ')[2]}", "%Y/%m/%d %H:%M").isoformat(timespec="minutes")
    except ValueError:
        fields.warning(name, f"expected a time such as '2023/05/20 (Sat) 02:21', found {value!r}; left out")
        return ""
