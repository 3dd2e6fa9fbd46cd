from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="the extra pgvector is not installed")

from plugins.store.pgvector import PgvectorStore
from runner.errors import RunnerError, StopRunError
from runner.retrieval.stores import AwayError, Collection, IndexSettings, StoreIndex
from runner.system.threads import in_thread
from tests.corpora import question
from tests.services.ports import free_port
from tests.services.postgres_server import MISSING, PASSWORD, USER, VARIABLE, PostgresServer, serving_postgres
from tests.store_kinds import (
    DIM,
    Cloud,
    filters_as_exact_search,
    goes_on_where_it_was_cut_off,
    holds_as_exact_search,
    indexed,
    lists_and_deletes,
    tells_texts,
)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with serving_postgres() as server:
        if server is None:
            pytest.skip(MISSING)
        yield server


@pytest.fixture
def store(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes stores at the server with settings of a test's own."""
    monkeypatch.setenv(VARIABLE, PASSWORD)
    return partial(PgvectorStore, url=server.url, username=USER, password_env=VARIABLE)


def test_finds_what_the_exact_search_finds(tmp_path: Path, store: Any) -> None:
    facts = holds_as_exact_search(tmp_path, store(batch_size=50))
    assert (facts["kind"], facts["n_chunks"], facts["dim"]) == ("flat", 120, DIM)


async def test_requests_are_in_flight_over_connections_of_their_own(tmp_path: Path, store: Any) -> None:
    """Three requests: the server has three connections that were idle in vain with one request after the other."""
    queries = [question(f"text {n}") for n in range(0, 120, 5)]
    retriever, _ = await in_thread(indexed, tmp_path, store())
    count = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    async with store().open_connection() as connection:
        (before,) = await (await connection.execute(count)).fetchone()
        assert await retriever.search_async(queries, 15) == indexed(tmp_path / "faiss", None)[0].search(queries, 15)
        (after,) = await (await connection.execute(count)).fetchone()
    await in_thread(retriever.close)
    assert after - before == 3


async def test_a_cut_off_collection_is_gone_on_with_listed_and_deleted(tmp_path: Path, store: Any) -> None:
    for each in await store().list_collections(tmp_path):
        await store().drop(each.name, tmp_path)
    await goes_on_where_it_was_cut_off(tmp_path, store())
    await store().drop("runner_" + "a" * 24, tmp_path)
    await lists_and_deletes(tmp_path, store())


@pytest.mark.parametrize(
    ("kind", "less", "more"),
    [
        ("hnsw", {"hnsw_links": 2, "hnsw_effort": 1}, {"hnsw_effort": 400}),
        ("ivf", {"ivf_lists": 10, "ivf_probes": 1}, {"ivf_lists": 10, "ivf_probes": 10}),
    ],
)
def test_approximate_indexes_tell_their_recall(
    tmp_path: Path, store: Any, kind: str, less: dict[str, Any], more: dict[str, Any]
) -> None:
    cloud = Cloud(400)
    recalls = []
    for number, options in enumerate((less, more)):
        retriever, facts = indexed(tmp_path / str(number), store(), cloud, index=kind, **options)
        retriever.close()
        recalls.append(facts["recall_at_10"])
    assert recalls[0] < recalls[1]
    assert 0.98 < recalls[1] <= 1


def problem(store: PgvectorStore, root: Path) -> str:
    index = StoreIndex(store, Collection("runner_" + "d" * 24, 3, 4, IndexSettings(), root))
    with pytest.raises(RunnerError) as raised:
        index.is_whole()
    return str(raised.value)


def test_a_wrong_password_and_another_length_are_told_in_one_line(
    tmp_path: Path, store: Any, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRONG", "wrong one")
    found = problem(store(password_env="WRONG"), tmp_path)
    assert found.startswith(f"store.password_env: the store at {server.url} refuses access (")
    assert found.endswith("; store.password_env=NAME names the environment variable that holds the right secret")
    assert "wrong one" not in found
    assert "refuses access" in problem(store(password_env=None), tmp_path)
    message = problem(store(url=server.url.replace("/postgres", "/nowhere")), tmp_path)
    assert 'database "nowhere" does not exist' in message
    filled = StoreIndex(store(), Collection("runner_" + "e" * 24, 3, 4, IndexSettings(), tmp_path))
    assert not filled.is_whole()
    filled.close()
    with pytest.raises(StopRunError, match=r"has vectors of 4 numbers, and the embedder makes 5; delete it: "):
        StoreIndex(store(), Collection("runner_" + "e" * 24, 3, 5, IndexSettings(), tmp_path)).is_whole()


def test_a_server_that_is_away_is_told_in_one_line(tmp_path: Path) -> None:
    url = f"postgresql://127.0.0.1:{free_port()}/x"
    found = problem(PgvectorStore(url=url, retries=1), tmp_path)
    assert found.startswith(f"store.url: the store at {url} cannot be reached: connection failed: ")
    assert found.endswith("(asked 2 times); is it up, and the address right? Run the same command again to resume")


def test_a_password_that_is_not_set_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PASSWORD", raising=False)
    assert [str(each) for each in PgvectorStore(password_env="NO_PASSWORD").preflight()] == [
        "store.password_env: the environment variable NO_PASSWORD is not set; it holds the secret for "
        "postgresql://127.0.0.1:5432/postgres; null sends none"
    ]


def test_filters_and_tells_what_it_holds(tmp_path: Path, store: Any) -> None:
    filters_as_exact_search(tmp_path / "filtered", store())
    tells_texts(tmp_path / "told", store())


def test_many_clusters_get_the_memory_that_they_need(tmp_path: Path, store: Any) -> None:
    """More than the 64 MB that PostgreSQL gives by default."""
    retriever, facts = indexed(tmp_path, store(), Cloud(3000), index="ivf", ivf_lists=2900, ivf_probes=2900)
    retriever.close()
    assert facts["recall_at_10"] > 0.99


def test_what_no_further_attempt_mends_is_not_told_as_a_server_that_is_away(store: Any) -> None:
    import psycopg

    made = store()
    for error in (psycopg.errors.ProgramLimitExceeded("too much"), psycopg.errors.DiskFull("no room")):
        with pytest.raises(StopRunError, match=r"^store\.url: .* answers: (too much|no room)$"), made.errors():
            raise error
    for error in (psycopg.errors.AdminShutdown("bye"), psycopg.OperationalError("no connection")):
        with pytest.raises(AwayError), made.errors():
            raise error
