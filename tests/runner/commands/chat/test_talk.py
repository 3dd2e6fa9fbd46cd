import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from plugins.dataset.none import NoDataset
from plugins.generator.extractive import ExtractiveGenerator
from plugins.judge.lexical import LexicalJudge
from plugins.memory.combined import CombinedMemory
from plugins.memory.recursive_summary import RecursiveSummaryMemory
from plugins.memory.retrieved_turns import RetrievedTurnsMemory
from plugins.memory.store.embedded import EmbeddedStore
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from plugins.memory.window import WindowMemory
from plugins.retriever.oracle import OracleRetriever
from runner.commands.chat.talk import Talk
from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.protocols import Memory
from runner.domains.memory.records import ChatTurn
from runner.protocols import Workspace
from runner.records import Answer
from runner.system.store import Store
from tests.plugins.evaluation.small_retrieval import retrieval
from tests.plugins.memory.summarisers import ListingSummariser

NO_DOCUMENTS = retrieval(NoDataset(), OracleRetriever(mode="none", seed=1))


@asynccontextmanager
async def talking(store: LocalStore, **key: str) -> AsyncIterator[Talk]:
    memory = WindowMemory(store=store, summariser=ExtractiveSummariser(), window=2)
    talk = Talk(
        generator=ExtractiveGenerator(),
        memory=memory,
        judge=LexicalJudge(),
        context=ContextBuilder(),
        retrieval=NO_DOCUMENTS,
        **key,
    )
    async with talk.open(None):
        yield talk


async def test_a_turn_is_what_was_said_and_answered_without_citations() -> None:
    async with talking(LocalStore()) as talk:
        first = await talk.answer("예산은 1억이에요")
        assert (first.answer, first.prompt.contexts) == (Answer("알겠습니다."), ())
        assert (await talk.state()).turns == ()  # nothing before it is remembered
        await talk.remember("예산은 1억이에요", first.answer)
        second = await talk.answer("예산은?")
        assert second.answer == Answer("예산은 1억이에요 [1]", citations=(1,))
        assert talk.last is second.prompt
        await talk.remember("예산은?", second.answer)
        assert (await talk.state()).turns == (
            ChatTurn("예산은 1억이에요", "알겠습니다.", number=1),
            ChatTurn("예산은?", "예산은 1억이에요", number=2),
        )


async def test_only_this_session_of_this_tenant_is_read_and_forgotten() -> None:
    store = LocalStore()
    async with talking(store, tenant="a", session="b:c") as one, talking(store, tenant="a:b", session="c") as other:
        await one.remember("예산은 1억이에요", Answer("알겠습니다."))
        assert (await other.answer("예산은?")).answer.refused
        await other.forget()
        assert other.last is None
        assert not (await one.answer("예산은?")).answer.refused
        await one.forget()
        assert (await one.answer("예산은?")).answer.refused


async def test_the_judge_sees_what_is_shown() -> None:
    async with talking(LocalStore()) as talk:
        empty = await talk.judgement("예산이 얼마야?")
        assert (empty.score, empty.details["empty"]) == (pytest.approx(0.1), True)
        await talk.remember("예산은 1억이에요", Answer("알겠습니다."))
        judged = await talk.judgement("예산이 얼마야?")
        assert judged.details["overall"] > 80
        assert any("예산은 1억이에요" in found for found in judged.details["helpful_info"])
        assert talk.last is None  # nothing was answered


@pytest.mark.parametrize("memory", [RecursiveSummaryMemory, CombinedMemory, RetrievedTurnsMemory, WindowMemory])
async def test_what_was_forgotten_during_an_update_is_not_judged(memory: Callable[..., Memory]) -> None:
    summariser = ListingSummariser()
    summariser.gate = asyncio.Event()
    kept = memory(store=EmbeddedStore(), summariser=summariser)
    talk = Talk(
        generator=ExtractiveGenerator(),
        memory=kept,
        judge=LexicalJudge(),
        context=ContextBuilder(),
        retrieval=NO_DOCUMENTS,
    )
    async with talk.open(None):
        for number in range(10):
            await talk.remember(f"예산은 {number}억이에요", Answer("알겠습니다."))
        await asyncio.sleep(0.05)
        assert (await talk.prepare_message("예산이 얼마야?")).contexts
        await talk.forget()
        summariser.gate.set()
        for _ in range(2):
            judged = await talk.judgement("예산이 얼마야?")
            assert (judged.details["empty"], judged.details["helpful_info"]) == (True, [])
        assert (await talk.state()).generation == ""


async def test_a_memory_that_keeps_something_is_prepared_where_it_may_keep_it(tmp_path: Path) -> None:
    class Keeping(WindowMemory):
        root: Path | None = None

        async def prepare(self, workspace: Workspace) -> None:
            self.root = workspace.root

    memory = Keeping(store=LocalStore(), summariser=ExtractiveSummariser(), window=2)
    talk = Talk(
        generator=ExtractiveGenerator(),
        memory=memory,
        judge=LexicalJudge(),
        context=ContextBuilder(),
        retrieval=NO_DOCUMENTS,
    )
    async with talk.open(None, Store(tmp_path, {})):
        assert memory.root == tmp_path
