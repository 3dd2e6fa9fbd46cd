"""Which questions are timed, and what is no part of a latency."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from runner.records import Query, Ranking
from runner.system.stopwatch import note
from runner.system.threads import LoopCalls, in_thread
from tests.runner.scripted_retrievers import CORPUS, Remembering, Scripted, numbered, rank


def test_the_probe_is_searched_alone_after_one_warm_up_and_the_rest_in_batches(tmp_path: Path) -> None:
    retriever = Scripted(CORPUS)
    rankings = rank(retriever, numbered(140), tmp_path, probe=10)
    warm_up, probe, batches = retriever._asked[0], retriever._asked[1:11], retriever._asked[11:]
    assert warm_up == probe[0]
    assert [len(asked) for asked in probe] == [1] * 10
    assert [len(asked) for asked in batches] == [64, 64, 2]
    assert len(rankings.latencies_ms) == 10
    assert all(latency > 0 for latency in rankings.latencies_ms)


def test_batches_that_ask_a_model_are_large_enough_for_many_requests(tmp_path: Path) -> None:
    retriever = Remembering(CORPUS)
    rank(retriever, numbered(1300), tmp_path, probe=1000)
    assert [len(asked) for asked in retriever._asked] == [1] * 200 + [1024, 76]


def test_a_retriever_with_many_requests_a_question_is_timed_with_few(tmp_path: Path) -> None:
    retriever = Remembering(CORPUS)
    retriever.concurrency = 4  # type: ignore[attr-defined]
    rank(retriever, numbered(100), tmp_path, probe=1000)
    assert [len(asked) for asked in retriever._asked] == [1] * 20 + [80]


async def test_a_retriever_that_asks_a_server_is_timed_with_fewer_and_gets_batches_at_once(tmp_path: Path) -> None:
    in_flight = [0]

    class Remote(Scripted):
        is_remote, concurrency = True, 2

        async def search_async(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
            in_flight.append(in_flight[-1] + 1)
            for _ in range(5):
                await asyncio.sleep(0)
            in_flight.append(in_flight[-1] - 1)
            return self.search(queries, depth)

    retriever = Remote(CORPUS)
    async with LoopCalls() as loop:
        options = {"probe": 1000, "loop": loop}
        rankings = await in_thread(lambda: rank(retriever, numbered(400), tmp_path, **options))
    assert [len(asked) for asked in retriever._asked] == [1] * 201 + [64, 64, 64, 8]
    assert (len(rankings.latencies_ms), max(in_flight)) == (200, 2)
    assert rankings["q399"].ranking == rank(Scripted(CORPUS), numbered(400), tmp_path / "thread")["q399"].ranking


def test_the_probe_is_drawn_with_the_seed(tmp_path: Path) -> None:
    def probed(seed: int, folder: str) -> list[str]:
        rankings = rank(Scripted(CORPUS), numbered(50), tmp_path / folder, probe=5, seed=seed)
        return [id for id in rankings if rankings[id].latency_ms is not None]

    assert probed(1, "a") == probed(1, "b") != probed(2, "c")


def test_answers_from_memory_have_no_latency(tmp_path: Path) -> None:
    retriever = Remembering(CORPUS, known=["q1"])
    rankings = rank(retriever, numbered(3), tmp_path)
    assert [rankings[id].latency_ms is not None for id in rankings] == [True, False, True]
    assert len(rankings.latencies_ms) == 2


def test_what_needed_a_second_attempt_has_no_latency_and_standing_in_line_is_no_part_of_one(tmp_path: Path) -> None:
    odd = {"q1": lambda: note(live=False), "q2": lambda: note(waited_s=1000)}
    rankings = rank(Scripted(CORPUS, odd), numbered(4), tmp_path, warmup=0)
    assert [rankings[id].latency_ms is not None for id in rankings] == [True, False, True, True]
    assert rankings["q2"].latency_ms == 0  # it waited for longer than the search took


def test_warm_up_does_not_ask_what_may_cost_money(tmp_path: Path) -> None:
    retriever = Remembering(CORPUS)
    rank(retriever, numbered(3), tmp_path)
    assert retriever._warmed == 1
    assert retriever._asked == [["q0"], ["q1"], ["q2"]]


def test_what_is_all_in_memory_needs_no_warm_up(tmp_path: Path) -> None:
    retriever = Remembering(CORPUS, known=["q0", "q1", "q2"])
    rank(retriever, numbered(3), tmp_path)
    assert retriever._warmed == 0
    rank(retriever := Remembering(CORPUS), numbered(4), tmp_path, warmup=0)
    assert retriever._warmed == 0


def test_a_retriever_that_happens_to_remember_nothing_is_warmed_up_by_searching(tmp_path: Path) -> None:
    retriever = Remembering(CORPUS, caches=False)
    rank(retriever, numbered(3), tmp_path, warmup=2)
    assert retriever._warmed == 0
    assert retriever._asked[:2] == [["q0"], ["q1"]]
    assert len(retriever._asked) == 5


def test_no_warm_up_when_none_is_wanted(tmp_path: Path) -> None:
    retriever = Scripted(CORPUS)
    rank(retriever, numbered(2), tmp_path, warmup=0)
    assert retriever._asked == [["q0"], ["q1"]]
