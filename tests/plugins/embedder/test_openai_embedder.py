"""Against a real server on loopback; an answer is scripted where it matters."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plugins.embedder.openai import OpenaiEmbedder
from runner.errors import StopRunError
from runner.llm.models import Models
from runner.system.stopwatch import stopwatch
from tests.plugins.embedder.embedding_server import KEY, beside, embed, embedder, models, texts_of
from tests.services.models_replies import embeddings, error, vector
from tests.services.models_server import ModelsServer

# --- requests -------------------------------------------------------------------------------------


def test_what_is_asked(server: ModelsServer, tmp_path: Path) -> None:
    options = {"dimensions": 3, "query_prefix": "query: ", "passage_prefix": "passage: "}
    embed(server, tmp_path, ["환불"], "query", **options)
    embed(server, tmp_path, ["환불"], "passage", **options)
    assert server.requests[0] == {
        "model": "tiny",
        "input": ["query: 환불"],
        "dimensions": 3,
        "encoding_format": "float",
    }
    assert server.requests[1]["input"] == ["passage: 환불"]
    assert [headers["Authorization"] for headers in server.headers] == [f"Bearer {KEY}"] * 2


def test_dimensions_are_not_mentioned_when_they_are_the_models_own(server: ModelsServer, tmp_path: Path) -> None:
    embed(server, tmp_path, ["a"])
    assert "dimensions" not in server.requests[0]


def test_other_dimensions_than_asked_for_end_the_run(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: embeddings({**body, "dimensions": 2})
    door = models(server.url, tmp_path)
    message = (
        f"test:tiny at {server.url} sends vectors of 2 numbers, asked for 3; dimensions=null takes them as they are"
    )
    with pytest.raises(StopRunError, match=f"^{re.escape(message)}$"):
        embedder(door, tmp_path, dimensions=3).embed(["a", "b"], "passage")
    assert server.count == 1
    assert usage(door)["live"] == (1, 2)  # it was answered, and paid for
    assert embedder(door, tmp_path).embed(["a", "b"], "passage").shape == (2, 2)


def test_each_text_is_asked_for_once_in_batches(server: ModelsServer, tmp_path: Path) -> None:
    texts = ["a", "b", "환불", "a", "", "d", "e", "\ud800"]
    rows = embed(server, tmp_path, texts, "passage", batch_size=2)
    assert sorted(request["input"] for request in server.requests) == [["a", "b"], ["e", "?"], ["환불", "d"]]
    np.testing.assert_allclose(rows[2], vector("환불", 64), rtol=1e-6)
    assert not rows[4].any()
    again = embedder(models(server.url, tmp_path), tmp_path, batch_size=64)
    assert again.is_cached(["a", "z"], "passage") == [True, False]
    np.testing.assert_array_equal(again.embed(texts, "passage"), rows)
    assert server.count == 3


def test_many_requests_are_under_way_at_once(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 0.05
    texts = [f"질문 {n}" for n in range(40)]
    rows = embedder(models(server.url, tmp_path), tmp_path, batch_size=2).embed(texts, "passage")
    assert server.count == 20
    assert server.counts.max_in_flight == 4
    np.testing.assert_allclose(rows, [vector(text, 64) for text in texts], rtol=1e-6)


def test_the_size_of_a_batch_is_not_the_models_but_the_rest_is(server: ModelsServer, tmp_path: Path) -> None:
    embed(server, tmp_path, ["a"])
    embed(server, tmp_path, ["a"], batch_size=1)
    assert server.count == 1
    for changed in ({"model": "test:other"}, {"dimensions": 3}, {"query_prefix": "q "}):
        embed(server, tmp_path, ["a"], **changed)
    assert server.count == 4


def test_what_results_depend_on(tmp_path: Path) -> None:
    door = models("http://localhost:1/v1/", tmp_path)
    found = OpenaiEmbedder(models=door, model="test:tiny", dimensions=3).provenance
    assert found == {"model": "test:tiny", "url": "http://localhost:1/v1", "dimensions": 3}


# --- the run it is a part of ----------------------------------------------------------------------


def usage(door: Models) -> Mapping[str, Any]:
    found: Mapping[str, Any] = door.usage(".")["usage"]["embedder"]["test:tiny"]
    return {source: (found[source]["requests"], found[source]["input_tokens"]) for source in ("live", "cached")}


def test_what_is_asked_and_what_was_stored_is_counted(server: ModelsServer, tmp_path: Path) -> None:
    first = models(server.url, tmp_path)
    embedder(first, tmp_path, batch_size=2).embed(["환불 규정", "b" * 40, "c" * 40], "passage")
    assert usage(first) == {"live": (2, 2 + 10 + 10), "cached": (0, 0)}  # as the server counts: a token for 4 letters
    second = models(server.url, tmp_path)
    component = embedder(second, tmp_path, batch_size=2)
    for _ in range(2):
        component.embed(["환불 규정", "b" * 40, "c" * 40, "new"], "passage")
    found = usage(second)
    assert found["live"] == (1, 1)
    assert found["cached"][0] == 2
    assert found["cached"][1] > 0


def test_modes_of_the_cache(server: ModelsServer, tmp_path: Path) -> None:
    def asked(mode: str, texts: list[str]) -> list[str]:
        server.reset()
        component = embedder(models(server.url, tmp_path, cache=mode), tmp_path)
        component.embed(texts, "query")
        component.embed(texts, "query")
        return texts_of(server)

    assert asked("use", ["a"]) == ["a"]
    assert asked("read", ["a", "b"]) == ["b"]
    assert asked("none", ["a", "b"]) == ["a", "b"]
    assert asked("refresh", ["a"]) == ["a"]
    assert asked("replay", ["a"]) == []
    with pytest.raises(
        StopRunError, match=r"^cache=replay: no stored reply of test:tiny to a request of the embedder$"
    ):
        asked("replay", ["a", "b", "c"])
    assert server.count == 0


def timed(component: OpenaiEmbedder, text: str) -> tuple[bool, float, float]:
    """Whether it was live, its latency and all the time that it took, in seconds."""
    started = time.perf_counter()
    with stopwatch() as watch:
        component.embed([text], "query")
        latency_ms = watch.ms
    return watch.live, latency_ms / 1000, time.perf_counter() - started


async def test_a_second_attempt_is_no_latency_and_waiting_is_no_part_of_one(
    server: ModelsServer, tmp_path: Path
) -> None:
    door = models(server.url, tmp_path)
    component = embedder(door, tmp_path)
    live, _, _ = await beside(door, lambda: timed(component, "a"))
    assert live
    server.respond = lambda body: error(503, "busy", kind="server_error") if server.count == 2 else None
    live, latency_s, all_s = await beside(door, lambda: timed(component, "b"))
    assert not live
    assert all_s - latency_s > 0.2  # the pause before the second attempt is at least 0.25 s


async def test_a_thread_that_outlives_the_run_asks_no_more(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 30
    door = models(server.url, tmp_path)
    component = embedder(door, tmp_path, batch_size=1)
    errors: list[BaseException] = []

    def work() -> None:
        for text in ("a", "b"):
            try:
                component.embed([text], "query")
            except StopRunError as error:
                errors.append(error)

    async def run() -> None:
        async with door.open():
            threading.Thread(target=work).start()
            while not server.count:
                await asyncio.sleep(0.01)

    await asyncio.to_thread(asyncio.run, run())
    while len(errors) < 2:
        await asyncio.sleep(0.01)
    assert [str(error) for error in errors] == ["the run has ended"] * 2
    assert server.count == 1
