"""What is done with a store of somebody else: batches, attempts, deadlines, and what it may not return."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from runner.errors import CorpusError, StopRunError
from runner.llm.rehearsal import Rehearsal
from runner.retrieval.stores import (
    AwayError,
    Collection,
    Hits,
    IndexSettings,
    Points,
    Store,
    StoreIndex,
    Transfer,
    checked_points,
)
from runner.run.rehearsal_workspace import Scratch
from tests.corpora import workspace
from tests.store_kinds import DIM, Cloud, corpus, holds_as_exact_search, indexed, rankings

VECTORS = Cloud(20).vectors
IDS = [f"{n:03}#0" for n in range(20)]


class ListStore:
    """In a list, behind a line that drops every request of which the number is in `lost`, before or after it is done.
    `late`: requests that do not end."""

    kinds = ("flat",)

    def __init__(self, lost: Sequence[int] = (), late: Sequence[int] = (), **transfer: Any) -> None:
        self.transfer = Transfer(**({"batch_size": 8, "place": "http://store", "setting": "store.url"} | transfer))
        self.lost, self.late = lost, late
        self.requests = 0
        self.batches: list[tuple[int, int]] = []
        self.rows: dict[int, NDArray[np.float32]] = {}
        self.gives_vectors = True

    async def open(self, collection: Collection) -> Any:
        self.passed()
        return self

    def passed(self) -> None:
        self.requests += 1
        if self.requests in self.lost:
            raise AwayError("the line is down.")

    @property
    def n_points(self) -> int:
        return len(self.rows)

    async def add(self, points: Points) -> None:
        self.batches.append((points.start, len(points.ids)))
        if self.requests + 1 in self.late:
            self.requests += 1
            await asyncio.sleep(60)
        self.rows |= dict(zip(points.numbers, points.vectors, strict=True))
        self.passed()

    async def finish(self) -> None:
        self.batches.append((-1, 0))

    async def search(self, vectors: NDArray[np.float32], depth: int) -> list[Hits]:
        self.passed()
        numbers, rows = np.array(list(self.rows)), np.array(list(self.rows.values()))
        scores = vectors.astype(np.float64) @ rows.T.astype(np.float64)
        best = np.argsort(-scores, axis=1)[:, :depth]
        return [
            Hits(numbers[own], scores[n][own], rows[own] if self.gives_vectors else None) for n, own in enumerate(best)
        ]

    async def close(self) -> None:
        pass


def index_of(store: Store, root: Path) -> StoreIndex:
    return StoreIndex(store, Collection("runner_" + "a" * 24, 20, DIM, IndexSettings(), root))


def fill(index: StoreIndex, **how: Any) -> int:
    return index.fill(Points(0, IDS, IDS, VECTORS, [()] * len(IDS)), **how)


@pytest.mark.parametrize("gives_vectors", [True, False])
def test_a_store_in_one_class_is_as_exact_as_its_own_scores(tmp_path: Path, gives_vectors: bool) -> None:
    store = ListStore()
    store.gives_vectors = gives_vectors
    if gives_vectors:
        holds_as_exact_search(tmp_path, store)
    else:
        exact = rankings(indexed(tmp_path / "faiss", None)[0])
        assert [each.ids for each in rankings(indexed(tmp_path, store)[0])] == [each.ids for each in exact]


def test_a_request_that_is_lost_is_sent_again(tmp_path: Path) -> None:
    store = ListStore(lost=[1, 3], late=[5], timeout_ms=200)
    index = index_of(store, tmp_path)
    assert fill(index) == 20
    assert store.batches == [(0, 8), (0, 8), (8, 8), (8, 8), (16, 4), (-1, 0)]
    index.close()


def test_a_fill_that_was_cut_off_goes_on_behind_what_is_there(tmp_path: Path) -> None:
    store = ListStore(lost=[3, 4], retries=1)
    index = index_of(store, tmp_path)
    with pytest.raises(StopRunError) as raised:
        fill(index)
    assert str(raised.value) == (
        "store.url: the store at http://store cannot be reached: the line is down (asked 2 times); is it up, and the "
        "address right? Run the same command again to resume"
    )
    store.rows = {number: row for number, row in store.rows.items() if number < 11}
    store.batches.clear()
    assert (fill(index), fill(index)) == (12, 0)
    assert store.batches == [(8, 8), (16, 4), (-1, 0)]
    assert fill(index, anew=True) == 20
    assert sorted(store.rows) == list(range(20))
    index.close()


@pytest.mark.parametrize(("max_concurrency", "most"), [(0, 1), (1, 1), (2, 2), (9, 3)])
async def test_so_many_requests_are_in_flight_as_the_settings_say(
    tmp_path: Path, max_concurrency: int, most: int
) -> None:
    """Twenty queries are three requests."""
    in_flight: list[int] = [0]

    class Counting(ListStore):
        async def search(self, vectors: NDArray[np.float32], depth: int) -> list[Hits]:
            in_flight.append(in_flight[-1] + 1)
            for _ in range(10):
                await asyncio.sleep(0)
            in_flight.append(in_flight[-1] - 1)
            return await super().search(vectors, depth)

    store = Counting(max_concurrency=max_concurrency)
    store.rows = dict(enumerate(VECTORS))
    hits = await index_of(store, tmp_path).nearest(VECTORS, 1)
    assert np.array_equal(VECTORS[[own.numbers[0] for own in hits]], VECTORS)
    assert max(in_flight) == most


@pytest.mark.parametrize(
    ("hits", "message"),
    [
        ([], "store (ListStore): returned 0 lists of hits for 1 queries"),
        ([Hits(np.array([20]), np.ones(1))], "store (ListStore): returned a point that is none of its 20"),
        ([Hits(np.array([3, 3]), np.ones(2))], "store (ListStore): returned a point twice, or points without scores"),
        ([Hits(np.array([3]), np.ones(2))], "store (ListStore): returned a point twice, or points without scores"),
    ],
)
def test_what_is_no_answer_is_no_score(tmp_path: Path, hits: list[Hits], message: str) -> None:
    class Wrong(ListStore):
        async def search(self, vectors: NDArray[np.float32], depth: int) -> list[Hits]:
            return hits

    Wrong.__name__ = "ListStore"
    index = index_of(Wrong(), tmp_path)
    fill(index)
    with pytest.raises(StopRunError) as raised:
        index.run(index.nearest(VECTORS[:1], 5))
    assert str(raised.value) == message
    index.close()


def test_a_kind_of_index_that_a_store_lacks_is_told_before_the_run(tmp_path: Path) -> None:
    from plugins.retriever.semantic import SemanticRetriever

    retriever = SemanticRetriever(embedder=Cloud(), store=ListStore(), index="hnsw")
    assert [str(each) for each in retriever.preflight()] == ["store: this one has no index=hnsw; it has index=flat"]


def test_a_rehearsal_sends_nothing(tmp_path: Path) -> None:
    """Its vectors may be made up; and what it ranks is no ranking of the store."""
    from plugins.retriever.semantic import SemanticRetriever

    store, cloud = ListStore(), Cloud()
    retriever = SemanticRetriever(embedder=cloud, store=store)
    real = workspace(tmp_path / "real", retriever, cloud)
    real.identities = {id(cloud): "cloud", id(retriever): "retriever"}
    expected = retriever.provenance
    retriever.index(corpus(), Scratch(real.root, tmp_path / "scratch", Rehearsal()).workspace(real))
    assert (store.requests, store.rows) == (0, {})
    assert rankings(retriever) == rankings(indexed(tmp_path / "faiss", None)[0])
    assert retriever.provenance != expected
    retriever.index(corpus(), real)
    assert (len(store.rows), retriever.provenance) == (120, expected)
    retriever.close()


def mean(rows: dict[int, NDArray[np.float32]]) -> dict[int, NDArray[np.float32]]:
    """One vector in place of all, as of another model that maps all texts to one place."""
    return dict.fromkeys(rows, VECTORS[0])


def shifted(rows: dict[int, NDArray[np.float32]]) -> dict[int, NDArray[np.float32]]:
    return {number: rows[(number + 1) % len(rows)] for number in rows}


def turned(rows: dict[int, NDArray[np.float32]]) -> dict[int, NDArray[np.float32]]:
    """The last three dimensions of a tenth of the points."""
    return {number: np.roll(row, 3) if number % 10 == 7 else row for number, row in rows.items()}


@pytest.mark.parametrize("change", [mean, shifted, turned])
@pytest.mark.parametrize("gives_vectors", [True, False])
def test_a_collection_that_somebody_changed_is_not_searched(tmp_path: Path, change: Any, gives_vectors: bool) -> None:
    """With as many points as before. `cold_start=true` fills it again."""
    store = ListStore()
    store.gives_vectors = gives_vectors
    retriever, _ = indexed(tmp_path, store)
    retriever.close()
    expected = rankings(retriever)
    indexed(tmp_path, store)  # nothing has changed
    store.rows = change(store.rows)
    with pytest.raises(CorpusError, match=r"store: the collection runner_\w+ at http://store was changed by somebody"):
        indexed(tmp_path, store)
    again, _ = indexed(tmp_path, store, cold=True)
    assert rankings(again) == expected


def test_points_with_the_same_vector_are_no_change(tmp_path: Path) -> None:
    """Hits among them are as good as each other; a blank text has a vector of zeros."""
    vectors = np.repeat(VECTORS[:2], 10, axis=0)
    vectors[19] = 0
    store = ListStore()
    index = StoreIndex(store, Collection("runner_" + "a" * 24, 20, DIM, IndexSettings(), tmp_path))
    index.fill(Points(0, IDS, IDS, vectors, [()] * len(IDS)))
    index.check(vectors[checked_points(20)], IDS)
    index.close()


def test_texts_of_a_store_are_read_back(tmp_path: Path) -> None:
    class Telling(ListStore):
        tells = True
        changed = False

        async def texts(self, numbers: Sequence[int]) -> list[str]:
            return ["Somebody was here." if self.changed and number == 19 else IDS[number] for number in numbers]

    store = Telling()
    index = index_of(store, tmp_path)
    fill(index)
    index.check(VECTORS, IDS)
    store.changed = True
    with pytest.raises(CorpusError, match="was changed by somebody"):
        index.check(VECTORS, IDS)
    index.close()
