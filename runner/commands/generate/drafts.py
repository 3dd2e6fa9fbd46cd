"""The questions that a model writes about one chunk."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.commands.generate.orders import Order, Slot
from runner.llm.fencing import fence_fields
from runner.llm.messages import Message
from runner.llm.prompts import prompt
from runner.records import Chunk, Context

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "question": {"type": "string"},
                    "answer": {"type": "string"},
                    "quote": {"type": "string"},
                },
                "required": ["number", "question", "answer", "quote"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A written question with its answer, empty for an unanswerable one, and the quoted passage of the chunk, which may
    be empty."""

    order: Order
    slot: Slot
    question: str
    answer: str
    quote: str


def messages(order: Order) -> tuple[Message, ...]:
    """The messages that ask for the questions of an order."""
    orders = "\n".join(
        f"{slot.number}. {slot.type}, {slot.difficulty}, {'answerable' if slot.answerable else 'not answerable'}"
        for slot in order.slots
    )
    return (
        Message("system", prompt("testset_questions").system(order.language, orders=orders)),
        Message("user", fence_fields({"source": [source(order.chunk, order.title)]}, order.language)),
    )


def source(chunk: Chunk, title: str) -> Context:
    """The title and the text of a chunk; the title is left out where the text begins with it."""
    return Context(chunk.id, chunk.text, "" if chunk.text.lstrip("# \n").startswith(title) else title)


def drafts_of(reply: Mapping[str, Any], order: Order) -> list[Draft]:
    """The drafts in a reply, in the order of the slots: the first question of each slot that has a text and the answer
    that it needs. Raises ValueError for a reply without drafts."""
    items = reply.get("questions")
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise ValueError('expected a list under "questions"')
    by_number: dict[Any, Draft] = {}
    slots = {slot.number: slot for slot in order.slots}
    for item in items:
        number = item.get("number") if isinstance(item, Mapping) else None
        slot = slots.get(number) if isinstance(number, int) else None
        if slot is None or slot.number in by_number:
            continue
        question, answer, quote = (_line(item.get(name)) for name in ("question", "answer", "quote"))
        if question and (answer or not slot.answerable):
            by_number[slot.number] = Draft(order, slot, question, answer, quote)
    if not by_number:
        raise ValueError('expected questions with "number" as ordered, "question" and "answer", found none')
    return [by_number[number] for number in sorted(by_number)]


def place_of(quote: str, text: str) -> tuple[int, int] | None:
    """The place of a passage in a text, apart from white space; None where it is not there."""
    words = quote.split()
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return found.span() if found else None


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
