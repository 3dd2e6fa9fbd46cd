from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.errors import EvaluationError, InputError, RunnerError, StopRunError
from runner.protocols import Workspace
from runner.rankings import Rankings, documents, rank_all
from runner.records import Context, Corpus, Given, Query, Ranking, Turn
from runner.stopwatch import note
from runner.trajectory import Assessment, ToolCall, Trajectory
from tests.corpora import corpus_of, question, workspace

ROOT = Path(__file__).resolve().parents[2]


class Scripted:
    """A retriever that answers `text` with all chunks, those that it names first, and notes what it was asked."""

    def __init__(self, corpus: Corpus, odd: Mapping[str, Callable[[], None]] | None = None) -> None:
        self.corpus = corpus
        self._odd = odd or {}
        self._asked: list[list[str]] = []
        self._depths: list[int] = []

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self._asked.append([query.id for query in queries])
        self._depths.append(depth)
        for query in queries:
            self._odd.get(query.id, lambda: None)()
        return [self._rank(query, depth) for query in queries]

    def _rank(self, query: Query, depth: int) -> Ranking:
        ids = sorted(
            (chunk.id for chunk in self.corpus.chunks), key=lambda name: (name in query.text, name), reverse=True
        )
        ids = ids[:depth]
        scores = tuple(float(len(ids) - place) for place in range(len(ids)))
        return Ranking(tuple(ids), scores, tuple(score / len(ids) for score in scores))


class Remembering(Scripted):
    """What a retriever with a paid embedder looks like."""

    def __init__(self, corpus: Corpus, *, known: Sequence[str] = (), caches: bool = True) -> None:
        super().__init__(corpus)
        self.caches = caches
        self._known = set(known)
        self._warmed = 0

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        return [query.id in self._known for query in queries]

    def warm_up(self) -> None:
        self._warmed += 1

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self._known |= {query.id for query in queries}
        return super().search(queries, depth)


CORPUS = corpus_of({"a": "첫째", "b": "둘째", "c": "셋째"})


def rank(retriever: Scripted, queries: Sequence[Query], root: Path, **options: Any) -> Rankings:
    settings = {"depth": 100, "timeout_ms": 10_000, "seed": 1, "corpus": CORPUS} | options
    return rank_all(retriever, queries, workspace=workspace(root, retriever), **settings)


def numbered(count: int) -> list[Query]:
    return [question(f"a#0 {n}", id=f"q{n}") for n in range(count)]


# --- what comes back --------------------------------------------------------------------------------


def test_each_query_has_its_ranking(tmp_path: Path) -> None:
    queries = [question("b#0", id="하나"), question("a#0", id="둘")]
    rankings = rank(Scripted(CORPUS), queries, tmp_path)
    assert list(rankings) == ["하나", "둘"]
    assert rankings["하나"].ranking == Ranking(("b#0", "c#0", "a#0"), (3.0, 2.0, 1.0), (1.0, 2 / 3, 1 / 3))
    assert rankings["둘"].ranking.ids == ("a#0", "c#0", "b#0")
    assert rankings["둘"].error is None
    assert len(rankings) == 2
    with pytest.raises(KeyError):
        rankings["셋"]


def test_a_second_run_reads_the_same_and_searches_nothing(tmp_path: Path) -> None:
    queries = numbered(300)
    first = rank(Scripted(CORPUS), queries, tmp_path, probe=20)
    again = Scripted(CORPUS)
    second = rank(again, queries, tmp_path, probe=20)
    assert again._asked == []
    assert (first.reused, second.reused) == (False, True)
    assert [second[id].ranking for id in second] == [first[id].ranking for id in first]
    assert second.latencies_ms == first.latencies_ms
    timed = [id for id in first if first[id].latency_ms is not None]
    assert len(timed) == 20
    assert all(first[id].live and not second[id].live for id in timed)
    assert [second[id].latency_ms for id in timed] == second.latencies_ms


def test_what_an_agent_did_is_kept_with_its_ranking(tmp_path: Path) -> None:
    class Deciding(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            call = ToolCall(
                "search_all", {"query": query.text}, ("없다",), Assessment((), confidence=0.0), error="\ud800"
            )
            told = Trajectory((call,), "sufficient", "not_found", "찾지 못했습니다") if query.id == "하나" else None
            return replace(super()._rank(query, depth), trajectory=told)

    queries = [question("b#0", id="하나"), question("a#0", id="둘")]
    made, read = (rank(Deciding(CORPUS), queries, tmp_path, depth=1) for _ in range(2))
    assert read.reused
    told = read["하나"].ranking.trajectory
    assert told is not None
    assert (told.calls[0].arguments, told.calls[0].said.confidence, told.message) == (
        {"query": "b#0"},
        0.0,
        "찾지 못했습니다",
    )
    assert read["하나"] == replace(made["하나"], live=False)
    assert read["둘"].ranking.trajectory is None
    assert rank(Scripted(CORPUS), queries, tmp_path / "other")["하나"].ranking.trajectory is None


def test_the_key_holds_what_decides_a_ranking(tmp_path: Path) -> None:
    queries = numbered(2)
    rank(Scripted(CORPUS), queries, tmp_path)
    other_corpus = corpus_of({"a": "첫째", "b": "둘째", "c": "넷째"})
    given = [Query("q0", "a#0 0", True, {}, given=Given(ranking=(("a", 1.0),))), queries[1]]
    contexts = [Query("q0", "a#0 0", True, {}, given=Given(contexts=(Context("a", ""),))), queries[1]]
    said = [Query("q0", "a#0 0", True, {}, history=(Turn("user", "11월은?"),)), queries[1]]
    for changed in (
        {"queries": queries[::-1]},
        {"queries": said},
        {"queries": [question("a#0 0", id="q0"), question("다른", id="q1")]},
        {"queries": given},
        {"queries": contexts},
        {"queries": queries, "depth": 101},
        {"queries": queries, "corpus": other_corpus},
    ):
        assert not rank(Scripted(CORPUS), root=tmp_path, **changed).reused, changed
    moved = Scripted(CORPUS)
    moved.provenance = {"server": "elsewhere"}  # type: ignore[attr-defined]
    assert not rank(moved, queries, tmp_path).reused
    assert rank(Scripted(CORPUS), queries, tmp_path, seed=2, probe=1, timeout_ms=9_000).reused


def test_a_cold_workspace_ranks_again(tmp_path: Path) -> None:
    retriever = Scripted(CORPUS)
    options = {"depth": 100, "timeout_ms": 10_000, "seed": 1}
    rank_all(retriever, numbered(1), CORPUS, workspace=workspace(tmp_path, retriever), **options)
    cold = rank_all(retriever, numbered(1), CORPUS, workspace=workspace(tmp_path, retriever, cold=True), **options)
    assert not cold.reused


def test_a_damaged_ranking_is_made_again(tmp_path: Path) -> None:
    first = rank(Scripted(CORPUS), numbered(3), tmp_path)
    rankings = [first[id].ranking for id in first]
    hits = next(tmp_path.rglob("0.bin"))
    data = bytearray(hits.read_bytes())
    data[-1] ^= 1
    hits.write_bytes(bytes(data))
    second = rank(Scripted(CORPUS), numbered(3), tmp_path)
    assert not second.reused
    assert [second[id].ranking for id in second] == rankings


def test_no_queries_and_no_hits(tmp_path: Path) -> None:
    nothing = corpus_of({})
    assert list(rank(Scripted(nothing), [], tmp_path)) == []
    assert list(rank(Scripted(nothing), [], tmp_path)) == []
    for _ in range(2):
        assert rank(Scripted(nothing), numbered(1), tmp_path, corpus=nothing)["q0"].ranking == Ranking((), (), ())


def test_legs_are_kept_and_ids_may_be_any_text(tmp_path: Path) -> None:
    ids = ("\ud800", "가#0", "")

    class Fused(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            legs = {"keyword": Ranking(ids[:1], (0.1,), (1.0,)), "semantic": Ranking((), (), ())}
            return Ranking(ids, (3.0, -0.0, -1e-300), (1.0, 0.25, 0.0), legs)

    first, second = (rank(Fused(CORPUS), numbered(2), tmp_path) for _ in range(2))
    assert second.reused
    assert first["q1"].ranking == second["q1"].ranking == Fused(CORPUS)._rank(numbered(1)[0], 5)


# --- latency ----------------------------------------------------------------------------------------


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


def test_the_probe_is_drawn_with_the_seed(tmp_path: Path) -> None:
    def probed(seed: int, folder: str) -> list[str]:
        rankings = rank(Scripted(CORPUS), numbered(50), tmp_path / folder, probe=5, seed=seed)
        return [id for id in rankings if rankings[id].live]

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
    assert rankings["q2"].latency_ms == pytest.approx(-1_000_000, abs=10_000)


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


# --- what goes wrong --------------------------------------------------------------------------------


def fail() -> None:
    raise ValueError("깨진 질문")


def test_a_bad_query_costs_only_itself_and_is_tried_again_next_time(tmp_path: Path) -> None:
    queries = numbered(30)
    rankings = rank(Scripted(CORPUS, {"q7": fail, "q20": fail}), queries, tmp_path, probe=10)
    assert rankings.errors == {"q7": "ValueError: 깨진 질문", "q20": "ValueError: 깨진 질문"}
    assert rankings["q7"].ranking == Ranking((), (), ())
    assert rankings["q7"].error == "ValueError: 깨진 질문"
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
import sys, time
from pathlib import Path
from runner.rankings import rank_all
from tests.corpora import corpus_of, question, workspace

class Hanging:
    def index(self, corpus, workspace):
        return {}

    def search(self, queries, depth):
        print("searching", flush=True)
        time.sleep(600)

retriever = Hanging()
try:
    space = workspace(Path(sys.argv[1]), retriever)
    rank_all(retriever, [question("x")], corpus_of({"a": "x"}), depth=1, timeout_ms=600_000, seed=1, workspace=space)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_the_process_though_a_search_hangs(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HANGING, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "searching\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
        assert process.wait(60) == 0
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


# --- depth is in documents --------------------------------------------------------------------------


def test_searches_deeper_until_there_are_enough_documents(tmp_path: Path) -> None:
    crowded = corpus_of({"z": ["x"] * 40, "b": "x", "a": "x"})  # z#… come first
    retriever = Scripted(crowded)
    ranked = rank(retriever, [question("nothing")], tmp_path, corpus=crowded, depth=2, warmup=0)
    assert retriever._depths == [8, 16, 32, 64]
    ranking = ranked["q"].ranking
    assert documents(ranking, crowded).ids == ("z", "b")
    assert ranking.ids == ("z#9", "z#8", "b#0")  # no more of z than the depth
    assert ranking.scores == (42.0, 41.0, 2.0)
    assert len(ranked.latencies_ms) == 1


def test_does_not_search_deeper_than_there_is_something(tmp_path: Path) -> None:
    crowded = corpus_of({"z": ["x"] * 40, "b": "x"})
    retriever = Scripted(crowded)
    rank(retriever, [question("nothing")], tmp_path, corpus=crowded, depth=5, warmup=0)
    assert retriever._depths == [20, 40, 80]

    class FewHits(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            return Ranking(("z#1", "z#0"), (2.0, 1.0), (1.0, 0.5))

    few = FewHits(crowded)
    rank(few, [question("nothing")], tmp_path / "few", corpus=crowded, depth=5, warmup=0)
    assert few._depths == [20]


def test_legs_too_are_searched_to_the_depth(tmp_path: Path) -> None:
    crowded = corpus_of({"z": ["x"] * 40, "b": "x", "a": "x"})

    class Fused(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            return Ranking(("a#0",), (1.0,), (1.0,), {"keyword": super()._rank(query, depth)})

    ranked = rank(Fused(crowded), [question("nothing")], tmp_path, corpus=crowded, depth=2)["q"].ranking
    assert documents(ranked.legs["keyword"], crowded).ids == ("z", "b")


# --- documents --------------------------------------------------------------------------------------


def test_documents_stand_where_their_best_chunk_does() -> None:
    corpus = corpus_of({"a": ["x", "y"], "b": "z"})
    ranking = Ranking(("a#1", "b#0", "a#0", "elsewhere"), (5.0, 4.0, 3.0, 2.0), (0.9, 0.8, 1.0, 0.1))
    found = documents(ranking, corpus)
    assert found.ids == ("a", "b", "elsewhere")
    assert found.chunks == ("a#1", "b#0", "elsewhere")
    assert found.scores == (5.0, 4.0, 2.0)
    assert found.relevance == (0.9, 0.8, 0.1)


def test_equal_documents_are_ordered_by_their_own_ids() -> None:
    corpus = corpus_of({"a": "x", "a!": "x"})  # as chunks: "a#0" > "a!#0"; as documents: "a!" > "a"
    found = documents(Ranking(("a#0", "a!#0"), (1.0, 1.0), (1.0, 1.0)), corpus)
    assert found.ids == ("a!", "a")


def test_a_document_beside_its_chunk_counts_once() -> None:
    found = documents(Ranking(("a", "a#0"), (2.0, 1.0), (1.0, 1.0)), corpus_of({"a": "x"}))
    assert found.ids == ("a",)
    assert found.chunks == ("a",)


def test_scores_survive_the_disk_to_the_last_bit(tmp_path: Path) -> None:
    values = np.random.default_rng(3).random(3).tolist()

    class Precise(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            return Ranking(("c#0", "b#0", "a#0"), tuple(values), tuple(values))

    for _ in range(2):
        assert list(rank(Precise(CORPUS), numbered(1), tmp_path)["q0"].ranking.scores) == values


# --- memory -----------------------------------------------------------------------------------------


def test_memory_grows_by_the_ids_of_queries_and_not_by_what_was_found(tmp_path: Path) -> None:
    corpus = corpus_of({f"document-{n:03}": "text" for n in range(100)})

    def peak(count: int) -> int:
        queries = numbered(count)
        tracemalloc.start()
        try:
            rankings = rank(Scripted(corpus), queries, tmp_path, corpus=corpus, probe=count)  # one at a time
            assert sum(len(rankings[query.id].ranking.ids) for query in queries) == 100 * count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)  # what is made once, whatever the number of queries
    assert (peak(300) - peak(50)) / 250 < 500  # 100 hits are 2,000 bytes on disk
