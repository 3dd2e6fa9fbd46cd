"""What holds wherever the vectors are held: the same numbers, to the last bit."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugins.embedder.none import NoEmbedder
from plugins.novelty.local import LocalNovelty
from runner.domains.traces.records import Trace
from runner.errors import DataError, InputError
from runner.protocols import Embedder
from runner.system.store import Store
from tests.plugins.novelty.embedders import Points
from tests.plugins.novelty.novelties import KINDS, Make, running
from tests.runner.domains.traces.examples import trace

START = datetime(2026, 11, 3, 9, tzinfo=UTC)


@pytest.fixture(scope="module", params=KINDS)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    with running(request.param) as found:
        yield found


def at(id: str, point: str = "1 0", minute: int | None = None) -> Trace:
    moment = None if minute is None else START + timedelta(minutes=minute)
    return trace(id, [("thought", point, None)], created_at=moment)


async def told(
    make: Make, folder: Path, traces: Sequence[Trace], wanted: str = "", embedder: Embedder | None = None, **others: Any
) -> dict[str, float]:
    embedder = embedder or Points()
    subject = make(embedder=embedder, **{"dimensions": 2, **others})
    ids = set(wanted) if wanted else {trace.id for trace in traces}
    return dict(await subject.of(traces, ids, Store(folder, {id(embedder): "1"})))


async def test_the_nearest_of_those_before(make: Make, tmp_path: Path) -> None:
    found = await told(make, tmp_path, [at("a", "1 0"), at("b", "0 1"), at("c", "3 4"), at("d", "-1 0")])
    assert found == {"a": 0.5, "b": 1.0, "c": pytest.approx(0.2), "d": pytest.approx(1.0)}


async def test_first_in_first_out(make: Make, tmp_path: Path) -> None:
    traces = [at("a", "1 0"), at("b", "0 1"), at("c", "0 1"), at("d", "1 0"), at("e", "1 0")]
    found = await told(make, tmp_path, traces, max_elements=2)
    assert found == {"a": 0.5, "b": 1.0, "c": 0.0, "d": 1.0, "e": 0.0}


async def test_the_time_of_traces_is_the_clock_of_the_ttl(make: Make, tmp_path: Path) -> None:
    traces = [at("c", minute=120), at("a", minute=0), at("b", minute=59), at("d", minute=120)]
    found = await told(make, tmp_path, traces, ttl_ms=3_600_000, order="time")
    assert found == {"a": 0.5, "b": 0.0, "c": 0.5, "d": 0.0}


async def test_which_are_wanted_changes_nothing(make: Make, tmp_path: Path) -> None:
    traces = [at(chr(97 + n), f"{n % 3 - 1} {n % 5 + 1}") for n in range(12)]
    everything = await told(make, tmp_path, traces, max_elements=3)
    embedder = Points()
    assert await told(make, tmp_path, traces, "cj", embedder, max_elements=3) == {id: everything[id] for id in "cj"}
    assert embedder.n_embedded == 2 + 1 + 3 + 1  # each with the three before it, as far as there are


async def test_runs_know_nothing_of_each_other(make: Make, tmp_path: Path) -> None:
    for _ in range(2):
        assert await told(make, tmp_path, [at("a")]) == {"a": 0.5}


async def test_without_an_embedder(make: Make, tmp_path: Path) -> None:
    assert await told(make, tmp_path, [at("a"), at("b")], embedder=NoEmbedder()) == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize("embedder", [NoEmbedder(), Points()])
async def test_an_order_by_time_needs_times(make: Make, tmp_path: Path, embedder: Embedder) -> None:
    with pytest.raises(DataError) as caught:
        await told(make, tmp_path, [at(str(n)) for n in range(6)], embedder=embedder, order="time")
    assert str(caught.value) == "novelty.order=time: 6 traces have no metadata.created_at: 0, 1, 2, 3, 4 …"


async def test_vectors_that_have_no_room(make: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"novelty\.dimensions: 1, but the embedder's vectors have 2"):
        await told(make, tmp_path, [at("a")], dimensions=1)


def test_a_ttl_needs_the_time_of_traces(make: Make) -> None:
    (problem,) = make(embedder=Points(), ttl_ms=1000).preflight()  # type: ignore[attr-defined]
    assert str(problem) == "novelty.ttl_ms: counts the time between traces: it needs novelty.order=time"
    for settings_ in ({"ttl_ms": 1000, "order": "time"}, {}):
        assert make(embedder=Points(), **settings_).preflight() == []  # type: ignore[attr-defined]


POINTS = st.tuples(*[st.floats(-1, 1, width=32).filter(lambda number: abs(number) > 1e-3)] * 2)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(POINTS, st.integers(0, 9)), min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 9))
async def test_every_bit_is_the_same(make: Make, tmp_path: Path, points: list[Any], size: int, ttl: int) -> None:
    traces = [at(chr(97 + n), f"{x!r} {y!r}", minute) for n, ((x, y), minute) in enumerate(points)]
    others: dict[str, Any] = {"max_elements": size, "ttl_ms": ttl * 60_000, "order": "time", "dimensions": 5}
    found = await told(make, tmp_path, traces, **others)
    expected = await told(LocalNovelty, tmp_path, traces, **others)
    assert found == expected
    assert np.array(list(found.values())).tobytes() == np.array(list(expected.values())).tobytes()
