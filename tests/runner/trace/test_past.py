from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runner.errors import DataError
from runner.store import Store
from runner.trace.past import BATCH, Past
from runner.trace.records import Trace
from tests.plugins.novelty.embedders import Fitted, Points
from tests.runner.trace.examples import trace


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
    assert list(past().ordered(traces)) == [0, 1, 2]
    assert list(past("time").ordered(traces)) == [1, 0, 2]
    with pytest.raises(DataError, match=r"1 traces have no metadata\.created_at: x"):
        past("time").ordered([at("x")])


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
