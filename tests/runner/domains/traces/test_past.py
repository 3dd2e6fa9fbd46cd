import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from plugins.embedder.none import NoEmbedder
from runner.domains.traces.past import BATCH, Past
from runner.domains.traces.records import Trace
from runner.errors import DataError
from runner.records import Timing
from runner.system.store import Store
from tests.plugins.novelty.embedders import Fitted, Points
from tests.runner.domains.traces.examples import trace


def at(id: str, minute: int | None = None, point: str = "1 0") -> Trace:
    start = datetime(2026, 11, 3, 9, tzinfo=UTC)
    moment = None if minute is None else start + timedelta(minutes=minute)
    return trace(id, [("thought", point, None)], created_at=moment)


def past(order: Any = "file", size: int = 2, embedder: Any = None) -> Past:
    return Past(embedder or Points(), order, size, 2)


async def all_of(found: AsyncIterator[tuple[Trace, Any]]) -> list[tuple[Trace, Any]]:
    return [each async for each in found]


def test_order_of_file_and_of_time() -> None:
    traces = [at("c", 3), at("a", 1), at("b", 3)]
    assert list(past().trace_order(traces)) == [0, 1, 2]
    assert list(past("time").trace_order(traces)) == [1, 0, 2]
    with pytest.raises(DataError, match=r"1 traces have no metadata\.created_at: x"):
        past("time").trace_order([at("x")])


def test_traces_of_one_moment_stay_in_the_order_of_the_file() -> None:
    traces = [at(str(n), n % 2) for n in range(60)]
    assert list(past("time").trace_order(traces)) == [*range(0, 60, 2), *range(1, 60, 2)]


@pytest.mark.parametrize(("order", "ttl_ms", "count"), [("file", 5, 1), ("file", None, 0), ("time", 5, 0)])
def test_what_is_forgotten_after_a_time_needs_the_order_of_time(order: str, ttl_ms: int | None, count: int) -> None:
    told = "novelty.ttl_ms: counts the time between traces: it needs novelty.order=time"
    assert [str(problem) for problem in past(order).problems(ttl_ms)] == [told] * count


def test_an_embedder_has_vectors_unless_it_says_that_it_has_none() -> None:
    assert past().has_vectors is True
    assert past(embedder=NoEmbedder()).has_vectors is False


async def test_vectors_that_are_too_long_are_cut_in_a_rehearsal_only(tmp_path: Path) -> None:
    for is_rehearsed, length in ((False, 2), (True, 1)):
        embedder = Points()
        embedder.is_rehearsed = is_rehearsed  # type: ignore[attr-defined]
        short = Past(embedder, "file", 2, dimensions=1)
        ((_, vector),) = await all_of(short.vectors([at("a")], {"a"}, Store(tmp_path, {id(embedder): "1"})))
        assert len(vector) == length


async def test_only_what_is_held_against_wanted_traces_is_embedded(tmp_path: Path) -> None:
    traces = [at(id, 9 - place) for place, id in enumerate("abcdefghi")]
    for order, wanted, expected in (
        ("file", "ag", "aefg"),
        ("file", "hi", "fghi"),
        ("time", "ag", "ihgcba"),
        ("file", "abcdefghi", "abcdefghi"),
    ):
        embedder = Points()
        subject = past(order, embedder=embedder)
        found = await all_of(subject.vectors(traces, set(wanted), Store(tmp_path, {id(embedder): "1"})))
        assert "".join(trace.id for trace, _ in found) == expected
        assert embedder.n_embedded == len(expected)


async def test_an_embedder_is_fitted_on_all_texts_in_order(tmp_path: Path) -> None:
    embedder = Fitted()
    traces = [at(str(n), point="xyz"[n]) for n in range(3)]
    await anext(past(embedder=embedder, size=1).vectors(traces, {"0"}, Store(tmp_path, {id(embedder): "1"})))
    assert {"x", "y", "z"} <= set(embedder.letters)


async def test_texts_are_embedded_in_batches(tmp_path: Path) -> None:
    embedder = Points()
    traces = [at(str(n), point=f"{n} 1") for n in range(BATCH + 1)]
    store = Store(tmp_path, {id(embedder): "1"})
    found = await all_of(past(embedder=embedder).vectors(traces, {trace.id for trace in traces}, store))
    assert [(trace.id, round(float(x / y))) for trace, (x, y) in found] == [(str(n), n) for n in range(BATCH + 1)]


class Slow(Points):
    """Takes 20 ms a call, and remembers the texts of `stored`."""

    def __init__(self, *stored: str) -> None:
        super().__init__()
        self.stored = stored
        self.batches: list[int] = []

    def embed(self, texts: Any, kind: Any) -> Any:
        self.batches.append(len(texts))
        time.sleep(0.02)
        return super().embed(texts, kind)

    def is_cached(self, texts: Any, kind: Any) -> list[bool]:
        return [text in self.stored for text in texts]

    def warm_up(self) -> None:
        self.batches.append(0)
        time.sleep(0.5)


async def test_a_trace_gets_an_equal_share_of_the_time_of_its_batch(tmp_path: Path) -> None:
    traces = [at(str(n), point=f"{n} 1") for n in range(BATCH + 4)]
    embedder = Slow(traces[0].text)
    subject = past(size=100, embedder=embedder)
    wanted = {trace.id for trace in traces} - {"1"}
    await all_of(subject.vectors(traces, wanted, Store(tmp_path, {id(embedder): "1"})))
    assert embedder.batches == [0, BATCH, 4]  # what is loaded once is no time of a trace
    shares = subject.shares
    assert set(shares) == wanted
    assert shares["0"] == Timing(None, live=False)  # its vector was stored: it took nothing
    assert shares["2"] == shares["63"] and shares["64"] == shares["67"]
    first, second = shares["2"].ms, shares["64"].ms
    assert first is not None and second is not None
    assert 20 / (BATCH - 1) <= first < 500 / BATCH and 20 / 4 <= second < 500 / 4
    assert shares["2"].live
