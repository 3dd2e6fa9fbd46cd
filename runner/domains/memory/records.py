"""The nouns of conversational memory: sessions, turns, entities, what is remembered, scenarios with their probes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from runner.records import GivenResults

# --- what is kept -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Identifies a conversation. Both parts are any text but the empty one; stores encode them."""

    tenant: str
    session: str


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """What a user said and what was answered; or, in a dialogue of two people, what one of them said (`speaker`).

    `number` counts from 1 within a session and is given by the store. `said_at`: ISO 8601, or empty. `id`: the name
    that evidence goes by in a data set, or empty.
    """

    user: str
    assistant: str = ""
    speaker: str = ""
    said_at: str = ""
    id: str = ""
    number: int = 0


def session_of(turn: ChatTurn) -> str:
    """The session of a data set that a turn belongs to: what stands before the last colon of its id (D3 of LoCoMo's
    D3:7), else the day on which it was said; empty where neither tells."""
    session, colon, place = turn.id.rpartition(":")
    return session if colon and place.isdecimal() else turn.said_at[:10]


@dataclass(frozen=True, slots=True)
class Entity:
    """A fact worth keeping word for word. `turn`: the number of the turn that said it last."""

    key: str
    value: str
    turn: int


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session as a store holds it. `turns`, oldest first: those that no summary includes yet, and earlier ones that
    were to be kept (their numbers are not above `last_turn`). `version` grows by one with each commit; `generation`
    changes after the session was deleted; `last_turn`: the last turn in the summary (0: none). A session without any
    write is empty, and its generation is ""."""

    turns: tuple[ChatTurn, ...] = ()
    memory: str = ""
    entities: tuple[Entity, ...] = ()
    version: int = 0
    generation: str = ""
    last_turn: int = 0


@dataclass(frozen=True, slots=True)
class MemoryContent:
    """The memory of a session for one question, by a strategy. `recent`: verbatim turns, oldest first, the last one the
    newest. `retrieved`: turns found for the question, best first, none of them in `recent`. `is_budgeted` is False
    where all of it must be shown, whatever the budget."""

    memory: str = ""
    entities: tuple[Entity, ...] = ()
    recent: tuple[ChatTurn, ...] = ()
    retrieved: tuple[ChatTurn, ...] = ()
    is_budgeted: bool = True


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a memory and a batch of turns. `entities`: keys and values to set, in order."""

    memory: str
    entities: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a summary may be, in sentences of `runner.text.sentences` and tokens of `runner.llm.tokens`."""

    max_sentences: int = 20
    max_tokens: int = 500


@dataclass(slots=True)
class Upkeep:
    """The cost of keeping the memory of a session so far. `appends_ms`: duration of each; `updates_ms`: the same,
    without waiting, for those that no cache answered. `updates`: number of summaries; `violations`: those over a bound,
    which code cut; `failures`: updates that failed and left their turns for the next one."""

    appends_ms: list[float] = field(default_factory=list)
    updates_ms: list[float] = field(default_factory=list)
    updates: int = 0
    violations: int = 0
    failures: int = 0


# --- what a generator gets --------------------------------------------------------------------------

SectionName = Literal["system", "memory", "entities", "recent", "retrieved", "documents", "question"]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a context. `tokens` of what is shown; `budget`: at most so many, None without one; `cut`: what was
    left out, such as `2 turns`, or empty."""

    name: SectionName
    text: str
    tokens: int
    budget: int | None
    cut: str = ""


# --- what is asked of a memory ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact stated in turn `turn` (from 1), true until another fact of the same `key` is stated. `value` and `aliases`
    are ways to write it; a fact without a key is never replaced. `about`: groups of words; a memory must hold one of
    each group in the same sentence (or in the one before, where that has no names of its own), since the value alone
    may belong to another fact. Answers need none of them."""

    id: str
    value: str
    turn: int
    key: str = ""
    aliases: tuple[str, ...] = ()
    about: tuple[tuple[str, ...], ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        """The value, then its aliases."""
        return (self.value, *self.aliases)


@dataclass(frozen=True, slots=True)
class Probe:
    """A question asked after `after_turn` turns. `expected` and `forbidden` are ids of facts: those that an answer
    needs, and those that are no longer true. `evidence`: ids of the turns that answer it. `canaries`: texts of other
    tenants, which must not show. `answers`: known answers, in the words of people. `notes`: ids of documents that
    answer it, where documents are searched besides the memory. `asked_at`: ISO 8601, or empty. `sessions`: ids of the
    sessions that answer it, where a data set gives them; else those of the evidence. `patched`: the same probe with
    corrected labels, where the same answer is scored by both. `given`: the memory (contexts) and the answer of another
    system, where these are evaluated."""

    id: str
    question: str
    after_turn: int
    answerable: bool = True
    expected: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    canaries: tuple[str, ...] = ()
    category: str = ""
    notes: tuple[str, ...] = ()
    patched: Probe | None = None
    asked_at: str = ""
    sessions: tuple[str, ...] = ()
    given: GivenResults = field(default_factory=GivenResults)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in order with what was planted in them, and the probes in the order of `after_turn`."""

    id: str
    turns: tuple[ChatTurn, ...]
    probes: tuple[Probe, ...]
    facts: Mapping[str, Fact] = field(default_factory=dict)
    language: str | None = None
    tenant: str = "default"
    tags: tuple[str, ...] = ()
