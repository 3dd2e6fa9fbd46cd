"""Histories of users in the format of MemoryBank (Zhong et al., 2023, arXiv:2305.10250).

path        {user: {"history": {date: [{"query", "response"}]}}}; a day may be empty; space around names does not count
questions   a line, or one object: {user: [question]}; a question is text, or where more is known
            {"question", "answers": [texts], "answerable": true or false}
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from runner.data.fields import Fields
from runner.data.files import missing_files
from runner.data.jsonl import read_json, read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.domains.memory.records import ChatTurn, Conversation, Probe
from runner.errors import DataError, Problem, did_you_mean
from runner.records import DataProblem

KEY = "scenario.path"
QUESTIONS_KEY = "scenario.questions"


class MemorybankScenarios:
    """One conversation a user, days in order; all questions are asked after the last turn."""

    def __init__(self, *, path: str, questions: str, language: str | None = None, strict: bool = False) -> None:
        self.path = path
        self.questions = questions
        self.language = language
        self.strict = strict

    def preflight(self) -> list[Problem]:
        questions = missing_files([self.questions], QUESTIONS_KEY, DataError)
        return [*missing_files([self.path], KEY, DataError), *questions]

    def load(self) -> tuple[list[Conversation], tuple[DataProblem, ...]]:
        log = ProblemLog(strict=self.strict)
        users = read_json(self.path, KEY, log, DataError)
        if not isinstance(users, dict):
            raise DataError(f"{KEY}: {self.path} holds no histories: expected an object with a user for each key")
        questions, root = _read_questions(self.questions, log), Fields(users, self.path, None, log)
        keys = _by_name(root)
        for name, (fields, _) in questions.items():
            if name not in keys:
                fields.error(name, f"no user of {self.path} has this name{did_you_mean(name, keys)}")
        read_users = [self._conversation(root, key, name, questions.get(name)) for name, key in keys.items()]
        conversations = [conversation for conversation in read_users if conversation is not None]
        log.stop_if_strict()
        if not conversations:
            raise DataError(f"{KEY}: no conversations in {self.path}{why_empty(log, self.path)}")
        return conversations, log.problems

    def _conversation(
        self, root: Fields, key: str, name: str, questions: tuple[Fields, list[Any]] | None
    ) -> Conversation | None:
        if not isinstance(root.data[key], dict):
            root.wrong(key, 'an object with "history"', root.data[key])
            return None
        user = root.object(key)
        turns = tuple(_turns(user))
        if not turns and not user.failed:
            user.wrong("history", "at least one turn", user.data.get("history"))
        if user.failed:
            return None
        if questions is None:
            root.warning(name, f"{self.questions} has no question about this user")
        probes = [] if questions is None else list(_probes(*questions, name, len(turns)))
        return Conversation(name, turns, tuple(probes), language=self.language)


def _by_name(root: Fields) -> dict[str, str]:
    """Name of a user -> its key in the file. The published English file has `" Ivy "`, its questions have `"Ivy"`."""
    keys: dict[str, str] = {}
    for key in root.data:
        name = _name(key)
        if name in keys:
            root.error(key, f"the user '{name}' is there already as '{keys[name]}'; the first one counts")
        else:
            keys[name] = key
    return keys


def _name(key: str) -> str:
    """A name with spaces between its parts."""
    return " ".join(key.split())


def _read_questions(path: str, log: ProblemLog) -> dict[str, tuple[Fields, list[Any]]]:
    """User -> the line that asks about this user, and what it asks."""
    by_user: dict[str, tuple[Fields, list[Any]]] = {}
    for line, data in read_jsonl(path, QUESTIONS_KEY, log, DataError):
        fields = Fields(data, path, line, log)
        for key in data:
            name, questions = _name(key), fields.items(key)
            if name in by_user:
                fields.error(key, f"asked about at {by_user[name][0].place} already; the first one counts")
            elif questions is not None:
                by_user[name] = (fields, questions)
    return by_user


def _turns(user: Fields) -> Iterator[ChatTurn]:
    history = user.object("history")
    days = sorted(history.data)
    for day in days:
        try:
            date.fromisoformat(day)
        except ValueError:
            history.error(day, "expected a date (2026-11-03) as the key of a day")
    said = ((day, turn) for day in days for turn in history.objects(day))
    for number, (day, turn) in enumerate(said, 1):
        yield ChatTurn(turn.required_text("query"), turn.text("response") or "", said_at=day, number=number)
    user.failed |= history.failed


def _probes(fields: Fields, questions: list[Any], name: str, after_turn: int) -> Iterator[Probe]:
    """The probes of a user; a question with an error is left out."""
    for index, item in enumerate(questions):
        data = {"question": item} if isinstance(item, str) else item
        if not isinstance(data, dict):
            fields.wrong(f"{name}[{index}]", "text or an object", data)
            continue
        inner = fields.inner(f"{name}[{index}]", data)
        answerable = inner.flag("answerable") if inner.data.get("answerable") is not None else True
        question, answers = inner.required_text("question"), inner.texts("answers")
        if not inner.failed:
            yield Probe(f"q{index + 1}", question, after_turn, answerable=bool(answerable), answers=answers)
