"""Stores on a server are awaited on the event loop of a run, with several requests in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from plugins.retriever.hybrid import HybridRetriever
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.store.opensearch import OpensearchStore
from plugins.store.qdrant import QdrantStore
from plugins.tokenizer.word import WordTokenizer
from runner.errors import StopRunError
from runner.records import Query, Ranking
from runner.retrieval.rankings import rank_all
from runner.retrieval.searching import Searcher
from runner.system.threads import LoopCalls, in_thread
from tests.corpora import question, workspace
from tests.services import opensearch_server, qdrant_server
from tests.services.held_requests import HeldRequests
from tests.store_kinds import OF_QDRANT, Cloud, corpus, indexed

QUERIES = [question(f"text {n}", id=f"q{n}") for n in range(0, 120, 5)]  # three requests
OF_OPENSEARCH = pytest.mark.skipif(find_spec("opensearchpy") is None, reason="the extra opensearch is not installed")
Make = Callable[..., Any]


@pytest.fixture(params=[pytest.param("opensearch", marks=OF_OPENSEARCH), pytest.param("qdrant", marks=OF_QDRANT)])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Make]]:
    """A server, and what makes stores on it."""
    with ExitStack() as opened:
        if request.param == "opensearch":
            monkeypatch.setenv(opensearch_server.VARIABLE, opensearch_server.PASSWORD)
            indexes = opened.enter_context(opensearch_server.serving_indexes())
            access = {"username": opensearch_server.USER, "password_env": opensearch_server.VARIABLE}
            yield indexes, lambda **settings: OpensearchStore(url=indexes.url, **access, **settings)
        else:
            monkeypatch.setenv(qdrant_server.VARIABLE, qdrant_server.KEY)
            collections = opened.enter_context(qdrant_server.serving_collections())
            key = qdrant_server.VARIABLE
            yield collections, lambda **settings: QdrantStore(url=collections.url, api_key_env=key, **settings)


def exact(root: Path, queries: list[Query]) -> list[Ranking]:
    found: list[Ranking] = indexed(root / "faiss", None)[0].search(queries, 15)
    return found


async def ranked(retriever: Any, root: Path, **options: Any) -> list[Ranking]:
    """As a run ranks."""
    space = workspace(root, retriever)
    space.identities = {id(retriever): type(retriever).__name__}
    async with LoopCalls() as loop:
        settings: dict[str, Any] = {"depth": 15, "timeout_ms": 30_000, "seed": 1, "loop": loop} | options
        rankings = await in_thread(rank_all, Searcher(retriever, corpus(), **settings), QUERIES, space)
    return [rankings[query.id].ranking for query in QUERIES]


async def test_requests_overlap(tmp_path: Path, server: tuple[Any, Make]) -> None:
    """The server answers no search before three are there."""
    requests, make = server
    retriever, _ = await in_thread(indexed, tmp_path, make())
    requests.held = HeldRequests(3)
    assert await retriever.search_async(QUERIES, 15) == exact(tmp_path, QUERIES)
    await in_thread(retriever.close)


async def test_a_run_ranks_as_exact_search_does(tmp_path: Path, server: tuple[Any, Make]) -> None:
    """Some queries on the clock, the others in batches."""
    _, make = server
    retriever, _ = await in_thread(indexed, tmp_path, make())
    assert retriever.is_remote
    assert await ranked(retriever, tmp_path / "ranked", probe=5) == exact(tmp_path, QUERIES)
    await in_thread(retriever.close)


async def test_a_hybrid_awaits_the_leg_of_a_server(tmp_path: Path, server: tuple[Any, Make]) -> None:
    def made(name: str, store: Any) -> HybridRetriever:
        semantic = SemanticRetriever(embedder=Cloud(), store=store)
        hybrid = HybridRetriever(keyword=KeywordRetriever(tokenizer=WordTokenizer()), semantic=semantic)
        hybrid.index(corpus(), workspace(tmp_path / name, hybrid, *hybrid.legs.values()))
        return hybrid

    here, there = made("here", None), await in_thread(made, "there", server[1]())
    assert (here.is_remote, here.concurrency, there.is_remote, there.concurrency) == (False, 1, True, 4)
    assert await ranked(there, tmp_path / "ranked", probe=5) == here.search(QUERIES, 15)
    await in_thread(there.close)


async def test_a_slow_reply_hits_its_deadline_with_one_line(tmp_path: Path, server: tuple[Any, Make]) -> None:
    requests, make = server
    store = make()
    retriever, _ = await in_thread(indexed, tmp_path, store)
    await retriever.search_async([], 1)
    store.transfer, requests.held = replace(store.transfer, timeout_ms=200, retries=1), HeldRequests(99)
    with pytest.raises(StopRunError) as raised:
        await ranked(retriever, tmp_path / "ranked", probe=0, warmup=0)
    assert str(raised.value) == (
        f"store.url: the store at {requests.url} cannot be reached: no answer in 200 ms (asked 2 times); is it up, and "
        "the address right? Run the same command again to resume"
    )
    await in_thread(retriever.close)


async def test_cancelling_ends_the_requests(tmp_path: Path, server: tuple[Any, Make]) -> None:
    requests, make = server
    retriever, _ = await in_thread(indexed, tmp_path, make())
    held = requests.held = HeldRequests(99)
    task = asyncio.create_task(ranked(retriever, tmp_path / "ranked", probe=0, warmup=0))
    await in_thread(held.came.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await in_thread(held.left.wait, 30)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await in_thread(retriever.close)
