import asyncio

import pytest

from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from plugins.memory.window import WindowMemory
from runner.domains.memory.copilot import moments
from runner.domains.memory.probing import ProbeCase
from runner.domains.memory.records import ChatTurn, Conversation, MemoryContent, Probe, SessionKey
from runner.domains.memory.replay import Moment
from runner.errors import EvaluationError, StopRunError
from tests.runner.domains.memory.talks import talk


class Fails(WindowMemory):
    """Notes what is said, and fails to read for a question that says so."""

    def __init__(self) -> None:
        super().__init__(store=LocalStore(), summariser=ExtractiveSummariser(), window=100)
        self.said: list[str] = []

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        self.said.append(turn.user)
        await super().append(key, turn, language)

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        if question == "stop":
            raise StopRunError("gone")
        if question == "fail":
            raise EvaluationError("not this time")
        return await super().read(key, question)


def cases(conversation: Conversation, **asked: tuple[str, int]) -> list[ProbeCase]:
    return [ProbeCase(conversation, Probe(id, question, after)) for id, (question, after) in asked.items()]


LETTERS, DIGITS = talk(*"abcd"), talk(*"123", id="digits")


async def test_every_question_gets_its_moment_and_every_turn_is_said_once() -> None:
    memory = Fails()
    asked = [*cases(LETTERS, late=("?", 3), early=("?", 0)), *cases(DIGITS, only=("?", 2))]
    async with memory.open():
        found = await moments(memory, asked)
        kept = [key async for key in memory.sessions.store.sessions()]
    shown = {id: [turn.user for turn in m.remembered.recent] for id, m in found.items() if isinstance(m, Moment)}
    assert shown == {"talk/early": [], "talk/late": list("abc"), "digits/only": list("12")}
    assert sorted(memory.said) == sorted("abc12")
    assert kept == []  # sessions are deleted


async def test_a_question_that_the_memory_fails_costs_itself_alone() -> None:
    memory = Fails()
    async with memory.open():
        found = await moments(memory, cases(LETTERS, bad=("fail", 1), good=("?", 2)))
        assert [key async for key in memory.sessions.store.sessions()] == []
    assert isinstance(found["talk/bad"], EvaluationError) and isinstance(found["talk/good"], Moment)


async def test_what_is_wrong_for_all_ends_it_and_leaves_no_session() -> None:
    memory = Fails()
    async with memory.open():
        with pytest.raises(StopRunError, match="gone"):
            await moments(memory, [*cases(LETTERS, bad=("stop", 2)), *cases(DIGITS, good=("?", 3))])
        assert [key async for key in memory.sessions.store.sessions()] == []


async def test_an_interrupt_leaves_no_session_though_some_take_longer_to_delete() -> None:
    class Slow(Fails):
        reading = 0

        async def read(self, key: SessionKey, question: str) -> MemoryContent:
            self.reading += 1
            await asyncio.sleep(60)
            raise AssertionError("nobody waits that long")

        async def delete(self, key: SessionKey) -> None:
            await asyncio.sleep(0.03 if "digits" in key.session else 0.0)
            await super().delete(key)

    memory = Slow()
    async with memory.open():
        task = asyncio.create_task(moments(memory, [*cases(LETTERS, a=("?", 2)), *cases(DIGITS, b=("?", 3))]))
        while memory.reading < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [key async for key in memory.sessions.store.sessions()] == []
