"""A recursive summary, and beside it the turns that share most with the question."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Unpack

from pydantic import Field

from runner.domains.memory.extraction.digest import outdated_turns
from runner.domains.memory.protocols import MemoryStore, Summariser
from runner.domains.memory.recall import is_question
from runner.domains.memory.records import ChatTurn, MemoryContent, SessionKey, SessionState, Upkeep
from runner.domains.memory.turn_index import Tokens, TurnSearch
from runner.domains.memory.updates import Updates, UpdateSettings, unsummarised_turns
from runner.system.threads import compute
from runner.text.negation import denied_words
from runner.text.sentences import split_sentences
from runner.text.support import Statement
from runner.text.words import all_forms

ALIKE = 0.5  # share of the words of the longer sentence from which two sentences have the same subject
LEAST = 3  # words in common


class CombinedMemory:
    """Settings as in `recursive_summary` and `retrieved_turns`. The store keeps all turns. Retrieved turns are none of
    the recent ones, and none that a later statement in the summary or a turn contradicts."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        summariser: Summariser,
        n: Annotated[int, Field(ge=1)] = 10,
        tokens: Tokens = "auto",
        k1: Annotated[float, Field(ge=0)] = 1.5,
        b: Annotated[float, Field(ge=0, le=1)] = 0.75,
        **updates: Unpack[UpdateSettings],
    ) -> None:
        self.store = store
        self.updates = Updates(store, summariser, keep_turns=True, **updates)
        self.search = TurnSearch(tokens=tokens, k1=k1, b=b)
        self.n = n

    def open(self) -> AbstractAsyncContextManager[None]:
        return self.updates.sessions.open()

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        await self.updates.append(key, turn, language)

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        state = await self.store.read(key)
        recent = unsummarised_turns(state)
        found = await self.search.best(key, state, question, self.n, {turn.number for turn in recent})
        retrieved = await compute(still_true, found, state, recent)
        return MemoryContent(state.memory, state.entities, recent, retrieved)

    async def update(self, key: SessionKey) -> None:
        await self.updates.update(key)

    async def delete(self, key: SessionKey) -> None:
        self.search.forget(key)
        await self.updates.sessions.delete(key)

    async def inspect(self, key: SessionKey) -> SessionState:
        return await self.updates.sessions.inspect(key)

    def upkeep(self, key: SessionKey) -> Upkeep:
        return self.updates.sessions.upkeep(key)


# --- outdated statements must not be retrieved beside the new ones --------------------------------


def still_true(turns: Sequence[ChatTurn], state: SessionState, recent: Sequence[ChatTurn]) -> tuple[ChatTurn, ...]:
    """The `turns`, in order, of which no statement was changed later: in the summary or an entity, in one of
    the `recent` turns, or in a newer one of `turns`. A summary holds the latest statements, so a turn that it holds
    itself is not outdated by it."""
    later = [*split_sentences(state.memory), *(f"{entity.key}: {entity.value}" for entity in state.entities)]
    ended = outdated_turns(sorted({*turns, *recent}, key=lambda turn: turn.number))
    current = []
    for turn in (turn for turn in turns if turn.number not in ended):
        newer = (other for other in (*turns, *recent) if other.number > turn.number)
        sentences = [*later, *(each for other in newer for each in split_sentences(other.user))]
        if not any(_is_replaced(each, sentences) for each in split_sentences(turn.user)):
            current.append(turn)
    return tuple(current)


def _is_replaced(sentence: str, later: Sequence[str]) -> bool:
    """Whether a later sentence says nearly the same with something else in its place, and none says the same."""
    statement = Statement(sentence)
    if len(statement.words) < LEAST or is_question(sentence):
        return False
    if any(_takes_back(statement, sentence, other) for other in later):
        return True
    alike = [other for other in map(Statement, later) if _is_alike(statement, other)]
    if not alike or any(_says_all(statement, other) for other in alike):
        return False
    return any(_differs(statement, other) for other in alike)


def _is_alike(first: Statement, second: Statement) -> bool:
    shared = sum(not word.forms.isdisjoint(second.forms) for word in first.words)
    return shared >= LEAST and shared >= ALIKE * max(len(first.words), len(second.words))


def _takes_back(statement: Statement, sentence: str, later: str) -> bool:
    """Whether a later sentence denies a word of this one, which affirms it, and speaks of the same: `B, not A, wrote
    it` takes `A wrote it` back, though it holds all its words."""
    taken = all_forms(denied_words(later)) - all_forms(denied_words(sentence))
    if all(word.forms.isdisjoint(taken) for word in statement.words):
        return False
    forms = Statement(later).forms
    shared = sum(not word.forms.isdisjoint(forms) for word in statement.words)
    return shared >= LEAST and shared >= ALIKE * len(statement.words)


def _says_all(first: Statement, second: Statement) -> bool:
    has_words = all(not word.forms.isdisjoint(second.forms) for word in first.words)
    return has_words and all(any(each.matches(theirs) for theirs in second.quantities) for each in first.quantities)


def _differs(first: Statement, second: Statement) -> bool:
    """Whether each has words or numbers that the other lacks."""
    theirs = any(word.forms.isdisjoint(first.forms) for word in second.words) or _lacks(second, first)
    ours = any(word.forms.isdisjoint(second.forms) for word in first.words) or _lacks(first, second)
    return ours and theirs


def _lacks(one: Statement, other: Statement) -> bool:
    return any(not any(each.matches(theirs) for theirs in other.quantities) for each in one.quantities)
