"""`store=…` as the documentation writes it: the numbers of the index in this process, and contexts from the store."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.result_files import read
from tests.services.opensearch_server import PASSWORD, USER, VARIABLE, serving_indexes
from tests.services.postgres_server import MISSING, serving_postgres
from tests.small_data import small_data
from tests.store_kinds import OF_QDRANT

PACKAGES = {"lancedb": "lancedb", "qdrant": "qdrant_client", "pgvector": "psycopg", "opensearch": "opensearchpy"}
ACCESS = [f"store.username={USER}", f"store.password_env={VARIABLE}"]


@pytest.fixture(params=[pytest.param(name, marks=OF_QDRANT if name == "qdrant" else ()) for name in PACKAGES])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The words of a store that is installed here."""
    name = request.param
    if find_spec(PACKAGES[name]) is None:
        pytest.skip(f"the extra {name} is not installed")
    if name == "pgvector":
        from tests.services import postgres_server

        monkeypatch.setenv(postgres_server.VARIABLE, postgres_server.PASSWORD)
        access = [f"store.username={postgres_server.USER}", f"store.password_env={postgres_server.VARIABLE}"]
        with serving_postgres() as server:
            if server is None:
                pytest.skip(MISSING)
            yield ["store=pgvector", f"store.url={server.url}", *access]
    elif name == "opensearch":
        monkeypatch.setenv(VARIABLE, PASSWORD)
        with serving_indexes() as indexes:
            yield ["store=opensearch", f"store.url={indexes.url}", *ACCESS]
    else:
        yield [f"store={name}"]


def test_a_run_comes_to_the_same_with_each_store(store: list[str]) -> None:
    words = ["+experiment=full_rag", *small_data(Path("data")), "tracking=none", "format=json", "retriever=semantic"]
    words += ["embedder=lsa", "generator=extractive", "judge=lexical"]
    assert main([*words, "out=faiss"]) == 0
    assert main([*words, *store, "retriever.texts=store", "out=store"]) == 0
    faiss, kept = (read(f"{folder}/summary.json") for folder in ("faiss", "store"))
    assert json.dumps(kept["metrics"]) == json.dumps(faiss["metrics"])
    assert any(answers_in("faiss").values()) and answers_in("store") == answers_in("faiss")
    english = [*words, *store, "retriever.filter.language=en", "out=english"]
    assert main(english) == 1  # no document says its language


def answers_in(folder: str) -> dict[str, str]:
    lines = Path(folder, "per_item.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["output"]["answer"] for row in map(json.loads, lines)}


@pytest.mark.skipif(find_spec("opensearchpy") is None, reason="the extra opensearch is not installed")
def test_words_are_ranked_where_the_vectors_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    with serving_indexes() as indexes:
        words = [
            "+experiment=retrieval_only",
            *small_data(Path("data")),
            "tracking=none",
            "format=json",
            "embedder=lsa",
        ]
        words += ["store=opensearch", f"store.url={indexes.url}", *ACCESS]
        assert main([*words, "retriever=store_keyword", "out=words"]) == 0
        assert main([*words, "retriever=hybrid", "retriever@retriever.keyword=store_keyword", "out=both"]) == 0
        assert len(indexes.indexes) == 2  # of words, which both runs use, and of vectors
    alone, both = (read(f"{folder}/summary.json")["metrics"] for folder in ("words", "both"))
    assert alone["recall_at_k"]["value"] == both["keyword/recall_at_k"]["value"] > 0
    assert main(["+experiment=retrieval_only", *small_data(Path("data")), "retriever=store_keyword"]) == 1
