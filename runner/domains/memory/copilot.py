"""A question of a conversation that documents may answer: what is asked, kept and counted of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from runner.domains.memory.context import BuiltContext
from runner.domains.memory.probing import ProbeCase
from runner.domains.memory.records import Conversation
from runner.domains.memory.replay import Moment
from runner.records import Answer, Query, Turn

EARLIER = 5  # turns before a question that a judge reads to understand it


def query_of(case: ProbeCase, text: str) -> Query:
    probe = case.probe
    return Query(
        id=case.id,
        text=text,
        answerable=probe.answerable,
        relevance=dict.fromkeys(probe.notes, 1),
        answers=probe.answers,
        language=case.language,
        tags=case.tags,
    )


def is_about_memory(case: ProbeCase) -> bool:
    """Whether something is known of what a memory should hold, or hold no more."""
    return bool(case.probe.expected or case.probe.forbidden)


def said_before(moment: Moment) -> tuple[Turn, ...]:
    """What was said just before, whatever the memory kept of it."""
    said = [
        Turn(*each) for turn in moment.turns[-EARLIER:] for each in (("user", turn.user), ("assistant", turn.assistant))
    ]
    return tuple(turn for turn in said if turn.text)


def told(moment: Moment, context: BuiltContext) -> dict[str, Any]:
    """What was remembered and what was shown of it, and what keeping it came to since the question before."""
    sections = [
        {name: value for name, value in asdict(section).items() if name != "text"}
        for section in context.sections
        if section.name not in ("system", "question")
    ]
    return {
        "sections": sections,
        "memory": moment.remembered.memory,
        "entities": [asdict(entity) for entity in moment.remembered.entities],
        "remembered": context.contexts if moment.remembered.is_budgeted else [],
        "contexts": context.documents,
        "upkeep": asdict(moment.since),
    }


def answer_record(answer: Answer) -> dict[str, Any]:
    citations = {"citations": list(answer.citations)} if answer.citations else {}
    cut_off = {"cut_off": True} if answer.cut_off else {}
    return {"answer": answer.text, "declined": answer.refused, **citations, **cut_off}


def words_of(conversation: Conversation) -> list[Any]:
    """All that is said in a conversation, and by whom."""
    turns = [asdict(turn) for turn in conversation.turns]
    return [conversation.id, conversation.tenant, conversation.language, turns]
