"""The local mode, and the wire to a server: tests.services.qdrant_server answers for one, over the local mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugins.store.qdrant import QdrantStore
from runner.errors import StopRunError
from runner.retrieval.stores import Collection, IndexSettings, StoreIndex
from tests.corpora import question
from tests.services.ports import free_port
from tests.services.qdrant_server import KEY, VARIABLE, Collections, serving_collections
from tests.store_kinds import (
    DIM,
    OF_QDRANT,
    filters_as_exact_search,
    goes_on_where_it_was_cut_off,
    holds_as_exact_search,
    indexed,
    lists_and_deletes,
    tells_texts,
)

pytestmark = OF_QDRANT


def test_the_local_mode_finds_what_the_exact_search_finds(tmp_path: Path) -> None:
    facts = holds_as_exact_search(tmp_path, QdrantStore(path=str(tmp_path / "kept"), batch_size=50))
    assert (facts["kind"], facts["n_chunks"], facts["dim"]) == ("flat", 120, DIM)
    assert (tmp_path / "kept" / facts["collection"]).is_dir()


async def test_a_cut_off_collection_is_gone_on_with(tmp_path: Path) -> None:
    await goes_on_where_it_was_cut_off(tmp_path, QdrantStore())


async def test_collections_are_listed_and_deleted(tmp_path: Path) -> None:
    await lists_and_deletes(tmp_path, QdrantStore())


def test_recall_is_measured(tmp_path: Path) -> None:
    retriever, facts = indexed(tmp_path, QdrantStore(), index="hnsw")
    retriever.close()
    assert facts["recall_at_10"] > 0.99  # the local mode compares every vector; one of two that tie is missed


async def test_vectors_of_another_length_are_refused(tmp_path: Path) -> None:
    store, name = QdrantStore(), "runner_" + "c" * 24
    await (await store.open(Collection(name, 3, 4, IndexSettings(), tmp_path))).close()
    with pytest.raises(StopRunError, match=r"has vectors of 4 numbers, and the embedder makes 5; delete it: "):
        await store.open(Collection(name, 3, 5, IndexSettings(), tmp_path))


def test_a_folder_is_open_once(tmp_path: Path) -> None:
    first, _ = indexed(tmp_path, QdrantStore(path=str(tmp_path / "kept")))
    with pytest.raises(StopRunError) as raised:
        indexed(tmp_path, QdrantStore(path=str(tmp_path / "kept"), retries=1))
    assert str(raised.value) == (
        f"store.path: the store at {tmp_path / 'kept'} cannot be reached: another process has it open, and the local "
        "mode takes one at a time (asked 2 times); is it up, and the address right? Run the same command again to "
        "resume"
    )
    first.close()
    indexed(tmp_path, QdrantStore(path=str(tmp_path / "kept")))[0].close()


def test_a_server_that_is_away_is_told_in_one_line(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    index = StoreIndex(
        QdrantStore(url=url, retries=1), Collection("runner_" + "d" * 24, 3, 4, IndexSettings(), tmp_path)
    )
    with pytest.raises(StopRunError) as raised:
        index.is_whole()
    assert str(raised.value) == (
        f"store.url: the store at {url} cannot be reached: All connection attempts failed (asked 2 times); is it up, "
        "and the address right? Run the same command again to resume"
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collections]:
    monkeypatch.setenv(VARIABLE, KEY)
    with serving_collections() as collections:
        yield collections


def on(server: Collections, **settings: Any) -> QdrantStore:
    return QdrantStore(url=server.url, **({"api_key_env": VARIABLE} | settings))


def test_a_server_finds_what_the_exact_search_finds(tmp_path: Path, server: Collections) -> None:
    server.faults = [503]
    holds_as_exact_search(tmp_path, on(server, batch_size=50))
    assert server.indexed == [{"field_name": "facets", "field_schema": "keyword"}]
    assert {each.exact for each in server.searches} == {True}


def test_a_graph_of_a_server_is_searched_as_wide_as_it_is_deep(tmp_path: Path, server: Collections) -> None:
    retriever, _ = indexed(tmp_path, on(server), index="hnsw", hnsw_effort=60)
    server.searches.clear()
    retriever.search([question("text 7")], 15)
    retriever.search([question("text 7")], 50)
    retriever.close()
    assert [(each.exact, each.hnsw_ef) for each in server.searches] == [(False, 60), (False, 82)]


def test_a_server_filters_and_tells_what_it_holds(tmp_path: Path, server: Collections) -> None:
    filters_as_exact_search(tmp_path / "filtered", on(server))
    tells_texts(tmp_path / "told", on(server))


async def test_collections_of_a_server_are_listed_and_deleted(tmp_path: Path, server: Collections) -> None:
    await lists_and_deletes(tmp_path, on(server))


def test_what_a_server_refuses_is_told_in_one_line(
    tmp_path: Path, server: Collections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRONG", "wrong one")

    def problem(store: QdrantStore) -> str:
        index = StoreIndex(store, Collection("runner_" + "d" * 24, 3, 4, IndexSettings(), tmp_path))
        with pytest.raises(StopRunError) as raised:
            index.is_whole()
        index.close()
        return str(raised.value)

    refused = problem(on(server, api_key_env="WRONG"))
    assert refused.startswith(f"store.api_key_env: the store at {server.url} refuses access (401")
    server.faults = [503, 503]
    assert "cannot be reached: 503" in problem(on(server, retries=1))
    server.faults = [400]
    assert problem(on(server)).startswith(f"store.url: {server.url} answers 400")


def test_a_key_that_is_not_set_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_KEY", raising=False)
    store = QdrantStore(url="http://127.0.0.1:6333", path="x", api_key_env="QDRANT_KEY")
    assert [str(each) for each in store.preflight()] == [
        "store.api_key_env: the environment variable QDRANT_KEY is not set; it holds the secret for "
        "http://127.0.0.1:6333; null sends none",
        "store.path: expected null beside store.url: the server says where it keeps",
    ]


def test_filters_and_tells_what_it_holds(tmp_path: Path) -> None:
    filters_as_exact_search(tmp_path / "filtered", QdrantStore())
    tells_texts(tmp_path / "told", QdrantStore())
