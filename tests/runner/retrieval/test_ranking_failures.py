"""Questions that fail, hang or get no answer, and a search that is interrupted."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from runner.errors import EvaluationError, InputError, RunnerError, StopRunError
from runner.records import Query, Ranking
from tests.runner.scripted_retrievers import CORPUS, Remembering, Scripted, numbered, rank

ROOT = Path(__file__).resolve().parents[3]


def fail() -> None:
    raise ValueError("깨진 질문")


def test_a_bad_query_costs_only_itself_and_is_tried_again_next_time(tmp_path: Path) -> None:
    queries = numbered(30)
    rankings = rank(Scripted(CORPUS, {"q7": fail, "q20": fail}), queries, tmp_path, probe=10)
    said = rankings.errors["q7"]
    assert re.fullmatch(r"ValueError: 깨진 질문 \(tests\.runner\.retrieval\.test_ranking_failures, line \d+\)", said)
    assert rankings.errors == {"q7": said, "q20": said}
    assert rankings["q7"].ranking == Ranking((), (), ())
    assert rankings["q7"].error == said
    assert rankings["q7"].latency_ms is None
    assert all(rankings[query.id].ranking.ids for query in queries if query.id not in ("q7", "q20"))

    healed = Scripted(CORPUS)
    assert rank(healed, queries, tmp_path, probe=10).errors == {}
    assert healed._asked


def test_our_own_errors_are_told_as_they_are(tmp_path: Path) -> None:
    def refuse() -> None:
        raise EvaluationError("the server says no")

    assert rank(Scripted(CORPUS, {"q0": refuse}), numbered(1), tmp_path).errors == {"q0": "the server says no"}


def test_a_hung_query_is_a_timeout_and_its_thread_is_left_behind(tmp_path: Path) -> None:
    release = threading.Event()

    def hang() -> None:
        release.wait(60)

    rankings = rank(Scripted(CORPUS, {"q3": hang, "q8": hang}), numbered(12), tmp_path, probe=5, timeout_ms=200)
    assert rankings.errors == {"q3": "timeout", "q8": "timeout"}
    assert [id for id in rankings if not rankings[id].ranking.ids] == ["q3", "q8"]
    release.set()
    assert not rank(Scripted(CORPUS), numbered(12), tmp_path, probe=5).reused


def test_a_search_that_asks_a_model_has_the_time_of_several_attempts(tmp_path: Path) -> None:
    retriever = Remembering(CORPUS)
    retriever._odd = {"q1": lambda: time.sleep(0.3)}
    assert rank(retriever, numbered(3), tmp_path, timeout_ms=200).errors == {}


HANGING = """
import signal, sys, time
from pathlib import Path
from runner.retrieval.rankings import rank_all
from runner.retrieval.searching import Searcher
from tests.corpora import corpus_of, question, workspace

class Hanging:
    def index(self, corpus, workspace):
        return {}

    def search(self, queries, depth):
        print("searching", flush=True)
        time.sleep(600)

def interrupt(*_):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # those that come after it
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)
retriever = Hanging()
try:
    space = workspace(Path(sys.argv[1]), retriever)
    searcher = Searcher(retriever, corpus_of({"a": "x"}), depth=1, timeout_ms=600_000, seed=1)
    rank_all(searcher, [question("x")], space)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_the_process_though_a_search_hangs(tmp_path: Path) -> None:
    """Python sees a signal that comes just before it begins to wait no sooner than the next one."""
    command = [sys.executable, "-c", HANGING, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "searching\n"
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert (process.stdout.read(), process.returncode) == ("interrupted\n", 0)
    assert [path for path in tmp_path.rglob("*") if path.is_dir()] == [tmp_path / "rankings"]


@pytest.mark.parametrize("kind", [InputError, StopRunError])
def test_what_is_wrong_for_all_queries_is_wrong_at_once(tmp_path: Path, kind: type[RunnerError]) -> None:
    def no_key() -> None:
        raise kind("KEY is not set")

    retriever = Scripted(CORPUS, {"q0": no_key})
    with pytest.raises(kind, match=r"^KEY is not set$"):
        rank(retriever, numbered(5), tmp_path, warmup=0)
    assert len(retriever._asked) == 1
    assert not any(tmp_path.rglob("legs.json"))


def test_a_retriever_that_loses_queries_is_told_off(tmp_path: Path) -> None:
    class Short(Scripted):
        def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
            return []

    error = "the retriever returned 0 rankings for 1 queries"
    assert rank(Short(CORPUS), numbered(2), tmp_path).errors == {"q0": error, "q1": error}
