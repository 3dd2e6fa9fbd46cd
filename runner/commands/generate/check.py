"""Checks with a model whether sources answer a question; the model does not see the written answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.llm.fencing import Item, fence_fields
from runner.llm.messages import Message
from runner.llm.prompts import prompt
from runner.metrics.answers import contains_answer, exact_match
from runner.records import Context
from runner.text.language import Language
from runner.text.negation import denied_words

CHECK_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "stands_alone": {"type": "boolean"},
        "answered": {"type": "boolean"},
        "answer": {"type": "string"},
    },
    "required": ["reason", "stands_alone", "answered", "answer"],
    "additionalProperties": False,
}
COMPARE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "same": {"type": "boolean"}},
    "required": ["reason", "same"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The model's finding on a draft: whether the question stands alone, and the answer of the sources."""

    stands_alone: bool
    answered: bool
    answer: str


def check_messages(question: str, sources: Sequence[Context], language: Language) -> tuple[Message, ...]:
    """The messages that ask whether sources answer a question, and what they answer."""
    return _messages("testset_check", {"sources": sources, "question": question}, language)


def compare_messages(question: str, one: str, other: str, language: Language) -> tuple[Message, ...]:
    """The messages that ask whether two answers to a question say the same."""
    return _messages("testset_compare", {"question": question, "answer_a": one, "answer_b": other}, language)


def finding_of(reply: Mapping[str, Any]) -> Finding:
    """Raises ValueError for a reply of another form."""
    answer = reply.get("answer")
    return Finding(_flag(reply, "stands_alone"), _flag(reply, "answered"), answer if isinstance(answer, str) else "")


def is_same_of(reply: Mapping[str, Any]) -> bool:
    """Raises ValueError for a reply of another form."""
    return _flag(reply, "same")


def plainly_same(answer: str, expected: str) -> bool:
    """Whether two answers have the same words, or one contains the other and neither has a negation. Other answers need
    a model to compare them."""
    if exact_match(answer, (expected,)) == 1.0:
        return True
    return (
        bool(contains_answer(answer, [expected]) or contains_answer(expected, [answer]))
        and not denied_words(answer)
        and not denied_words(expected)
    )


def _messages(name: str, fields: Mapping[str, str | Sequence[Item]], language: Language) -> tuple[Message, ...]:
    return (Message("system", prompt(name).system(language)), Message("user", fence_fields(fields, language)))


def _flag(reply: Mapping[str, Any], name: str) -> bool:
    value = reply.get(name)
    if not isinstance(value, bool):
        raise ValueError(f'expected true or false under "{name}"')
    return value
