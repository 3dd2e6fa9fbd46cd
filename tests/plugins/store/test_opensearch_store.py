"""Against the interface as it is documented (tests.services.opensearch_server), not against an OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opensearchpy", reason="the extra opensearch is not installed")

from plugins.store.opensearch import OpensearchStore
from runner.errors import StopRunError
from runner.retrieval.stores import Collection, IndexSettings, StoreIndex
from tests.services.opensearch_server import PASSWORD, USER, VARIABLE, Indexes, serving_indexes
from tests.services.ports import free_port
from tests.store_kinds import (
    filters_as_exact_search,
    goes_on_where_it_was_cut_off,
    holds_as_exact_search,
    indexed,
    lists_and_deletes,
    tells_texts,
)


@pytest.fixture
def server() -> Iterator[Indexes]:
    with serving_indexes() as indexes:
        yield indexes


@pytest.fixture
def store(server: Indexes, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes stores at the server with settings of a test's own."""
    monkeypatch.setenv(VARIABLE, PASSWORD)
    return partial(OpensearchStore, url=server.url, username=USER, password_env=VARIABLE)


def test_finds_what_the_exact_search_finds(tmp_path: Path, store: Any, server: Indexes) -> None:
    server.faults = [503]
    facts = holds_as_exact_search(tmp_path, store(batch_size=50))
    assert facts["collection"] in server.indexes


async def test_a_cut_off_collection_is_gone_on_with(tmp_path: Path, store: Any) -> None:
    await goes_on_where_it_was_cut_off(tmp_path, store())


async def test_collections_are_listed_and_deleted(tmp_path: Path, store: Any) -> None:
    await lists_and_deletes(tmp_path, store())


def test_a_graph_is_asked_for_in_the_words_of_the_plugin(tmp_path: Path, store: Any, server: Indexes) -> None:
    indexed(tmp_path, store(), index="hnsw", hnsw_links=7)[0].close()
    ((body, _),) = server.indexes.values()
    assert body["mappings"]["properties"]["vector"]["method"] == {
        "name": "hnsw",
        "engine": "faiss",
        "space_type": "innerproduct",
        "parameters": {"m": 7, "ef_construction": 128},
    }


def problem(store: OpensearchStore, root: Path, dim: int = 4) -> str:
    index = StoreIndex(store, Collection("runner_" + "d" * 24, 3, dim, IndexSettings(), root))
    with pytest.raises(StopRunError) as raised:
        index.is_whole()
    return str(raised.value)


def test_what_is_wrong_is_told_in_one_line(
    tmp_path: Path, store: Any, server: Indexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRONG", "wrong one")
    found = problem(store(password_env="WRONG"), tmp_path)
    assert found.startswith(f"store.password_env: the store at {server.url} refuses access (401")
    server.faults = [503, 503]
    assert "cannot be reached: 503" in problem(store(retries=1), tmp_path)
    url = f"http://127.0.0.1:{free_port()}"
    assert problem(store(url=url, retries=0), tmp_path).startswith(f"store.url: the store at {url} cannot be reached: ")
    filled = StoreIndex(store(), Collection("runner_" + "d" * 24, 3, 4, IndexSettings(), tmp_path))
    assert not filled.is_whole()
    filled.close()
    assert "has vectors of 4 numbers, and the embedder makes 5; delete it: " in problem(store(), tmp_path, dim=5)


def test_what_is_missing_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PASSWORD", raising=False)
    assert [str(each) for each in OpensearchStore(password_env="NO_PASSWORD", ca_file="/no/file").preflight()] == [
        "store.password_env: the environment variable NO_PASSWORD is not set; it holds the secret for "
        "http://127.0.0.1:9200; null sends none",
        "store.username: expected a name and password_env beside it, or null for both",
        "store.ca_file: no such file: /no/file",
    ]


def test_filters_and_tells_what_it_holds(tmp_path: Path, store: Any) -> None:
    filters_as_exact_search(tmp_path / "filtered", store())
    tells_texts(tmp_path / "told", store())
