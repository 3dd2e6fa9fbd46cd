"""Conversations and questions in the format of LoCoMo (Maharana et al., 2024, arXiv:2402.17753).

A list of {"sample_id", "conversation": {"session_N_date_time", "session_N": [{"speaker", "dia_id", "text"}]},
"qa": [{"question", "answer", "evidence": [dia_id], "category"}]}; category 5 has "adversarial_answer" for "answer".
Corrections of its labels: a list of {"question_id": "locomo_C_qaN", "question", "correct_answer", "correct_evidence"}
with N counted from 0 within a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from runner.data.documents import is_new
from runner.data.fields import Fields
from runner.data.files import missing_files
from runner.data.jsonl import read_json
from runner.data.problems import ProblemLog, why_empty
from runner.domains.memory.records import ChatTurn, Conversation, Probe
from runner.errors import DataError, Problem, did_you_mean
from runner.records import DataProblem

CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
ADVERSARIAL = 5  # asks about something that was never said, or about another person
Labels = Literal["original", "patched", "both"]
Corrections = Mapping[tuple[str, str], Fields]
KEY = "scenario.path"
ERRORS_KEY = "scenario.label_errors"
_SESSION = re.compile(r"session_(\d{1,9})")
_TURN_ID = re.compile(r"D:?(\d{1,9}):(\d{1,9})(?!\d)")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)")


class LocomoScenarios:
    """Each utterance is a turn of its speaker; all questions are asked after the last one.

    `labels`: as published, corrected, or both, so that the same answers are scored by either. `label_errors`: the
    file of corrections; None for label_errors.json beside `path`. `categories`: only questions of these.
    """

    def __init__(
        self,
        *,
        path: str,
        labels: Labels = "original",
        label_errors: str | None = None,
        categories: list[str] | None = None,
        captions: bool = False,
        strict: bool = False,
    ) -> None:
        self.path = path
        self.labels = labels
        self.label_errors = label_errors or str(Path(path).parent / "label_errors.json")
        self.categories = frozenset(categories if categories is not None else CATEGORIES.values())
        self.captions = captions
        self.strict = strict

    def preflight(self) -> list[Problem]:
        categories = list(CATEGORIES.values())
        unknown = [
            Problem("scenario.categories", f"unknown category '{name}'{did_you_mean(name, categories)}")
            for name in sorted(self.categories.difference(categories))
        ]
        corrections = [] if self.labels == "original" else [self.label_errors]
        return [
            *unknown,
            *missing_files([self.path], KEY, DataError),
            *missing_files(corrections, ERRORS_KEY, DataError),
        ]

    def load(self) -> tuple[list[Conversation], tuple[DataProblem, ...]]:
        log = ProblemLog(strict=self.strict)
        corrections = {} if self.labels == "original" else _corrections(self.label_errors, log)
        value = read_json(self.path, KEY, log, DataError)
        if not isinstance(value, list):
            raise DataError(f"{KEY}: {self.path} is not LoCoMo data: expected a list of conversations")
        conversations: list[Conversation] = []
        places: dict[str, str] = {}
        for fields in Fields({"": value}, self.path, None, log).objects(""):
            conversation = _Reader(fields, self, corrections).read()
            if conversation is not None and is_new(fields, conversation.id, places):
                conversations.append(conversation)
        log.stop_if_strict()
        if not conversations:
            raise DataError(f"{KEY}: no conversations in {self.path}{why_empty(log, self.path)}")
        return conversations, log.problems


class _Reader:
    """Reads one conversation. A question with an error is left out; evidence without a turn is left out of its
    question."""

    def __init__(self, fields: Fields, settings: LocomoScenarios, corrections: Corrections) -> None:
        self.fields = fields
        self.settings = settings
        self.corrections = corrections
        self.turns: tuple[ChatTurn, ...] = ()

    def read(self) -> Conversation | None:
        conversation_id = self.fields.required_text("sample_id")
        turns = self._turns(self.fields.object("conversation"))
        self.turns = tuple(replace(turn, number=number) for number, turn in enumerate(turns, 1))
        if not self.fields.failed and not self.turns:
            self.fields.error("conversation", "expected at least one session with turns, found none")
        if self.fields.failed:
            return None
        probes = [self._probe(index, question) for index, question in enumerate(self._questions())]
        asked = tuple(probe for probe in probes if probe is not None)
        return Conversation(conversation_id, self.turns, asked, language="en", tags=("locomo",))

    # --- turns --------------------------------------------------------------------------------------

    def _turns(self, talk: Fields) -> Iterator[ChatTurn]:
        numbers = sorted(int(match[1]) for name in talk.data if (match := _SESSION.fullmatch(name)))
        for number in numbers:
            name = f"session_{number}"
            said_at = _date(talk, f"{name}_date_time")
            for turn in talk.objects(name):
                yield ChatTurn(
                    user=self._text(turn),
                    speaker=turn.required_text("speaker"),
                    said_at=said_at,
                    id=turn.required_text("dia_id"),
                )
        self.fields.failed |= talk.failed

    def _text(self, turn: Fields) -> str:
        """The text with the description of a shared picture, which questions may be about."""
        text, caption = turn.required_text("text"), turn.text("blip_caption")
        return f"{text} [shares {caption}]" if caption and self.settings.captions else text

    # --- questions ----------------------------------------------------------------------------------

    def _questions(self) -> Iterator[Fields]:
        """A fault of one question does not leave out the conversation."""
        for index, item in enumerate(self.fields.items("qa") or ()):
            data = item if isinstance(item, dict) else {}
            yield self.fields.inner(f"qa[{index}]", data)

    def _probe(self, index: int, fields: Fields) -> Probe | None:
        category = fields.data.get("category")
        name = CATEGORIES.get(category) if isinstance(category, int) and not isinstance(category, bool) else None
        question = fields.required_text("question")
        if name is None:
            fields.wrong("category", f"one of {', '.join(f'{n} ({each})' for n, each in CATEGORIES.items())}", category)
            return None
        answer = _answer(fields, "adversarial_answer" if category == ADVERSARIAL else "answer")
        if fields.failed or name not in self.settings.categories:
            return None
        probe = Probe(
            id=f"qa{index}",
            question=question,
            after_turn=len(self.turns),
            answerable=category != ADVERSARIAL,
            answers=(answer,) if category != ADVERSARIAL else (),
            evidence=self._evidence(fields, "evidence"),
            category=name,
        )
        return self._label(probe)

    def _label(self, probe: Probe) -> Probe:
        if self.settings.labels == "original":
            return probe
        patched = self._correct(probe)
        return replace(probe, patched=patched) if self.settings.labels == "both" else patched

    def _correct(self, probe: Probe) -> Probe:
        correction = self.corrections.get((probe.id, probe.question))
        if correction is None:
            return probe
        answer = correction.required_text("correct_answer")
        short = _IN_BRACKETS.sub("", answer).strip()  # (what stands in brackets explains the correction)
        answers = tuple(dict.fromkeys(each for each in (short, answer) if each))
        return replace(probe, answers=answers, evidence=self._evidence(correction, "correct_evidence"))

    def _evidence(self, fields: Fields, name: str) -> tuple[str, ...]:
        """Ids of turns, in order, each once, from all entries of the list ("D8:6; D9:17")."""
        turn_ids = {turn.id for turn in self.turns}
        known_ids: dict[str, None] = {}
        for written in fields.texts(name):
            ids = [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(written)]
            for id in ids or [written]:
                if id in turn_ids:
                    known_ids[id] = None
                else:
                    fields.warning(name, f"no turn has the id '{id}'; left out")
        return tuple(known_ids)


def _answer(fields: Fields, name: str) -> str:
    """A year may stand there as a number."""
    value = fields.data.get(name)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else fields.required_text(name)


def _date(fields: Fields, name: str) -> str:
    """2023-05-08 from `1:56 pm on 8 May, 2023`; empty, with a warning, where it is written otherwise."""
    text = fields.text(name) or ""
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y").date().isoformat()
    except ValueError:
        fields.warning(name, f"expected a time such as '1:56 pm on 8 May, 2023', found '{text}'; left out")
        return ""


def _corrections(path: str, log: ProblemLog) -> Corrections:
    """The corrections by the number of the question and its text: the numbering of conversations depends on the
    file."""
    value = read_json(path, ERRORS_KEY, log, DataError)
    if not isinstance(value, list):
        raise DataError(f"{ERRORS_KEY}: {path}: expected a list of corrections")
    corrections = {}
    for fields in Fields({"": value}, path, None, log).objects(""):
        question_id, question = fields.required_text("question_id"), fields.required_text("question")
        corrections[question_id.rpartition("_")[2], question] = fields
    return corrections
