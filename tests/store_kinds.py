"""What every store is held to: the rankings of the exact search in this process, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from plugins.retriever.semantic import SemanticRetriever
from runner.records import Corpus, Ranking
from runner.retrieval.filters import facets_of, where_of
from runner.retrieval.stores import Collection, IndexSettings, Points
from tests.corpora import corpus_of, question, workspace

# without importing it, which takes a second, in each worker that collects this
OF_QDRANT = [
    pytest.mark.skipif(find_spec("qdrant_client") is None, reason="the extra qdrant is not installed"),
    # the client asks a database in memory how SQLite was built, and does not close it; Python 3.13 tells
    pytest.mark.filterwarnings("ignore:Exception ignored in. <sqlite3.Connection"),
    # … and leaves its lock file open where another process has the folder
    pytest.mark.filterwarnings("ignore:Exception ignored in. <_io.FileIO"),
    pytest.mark.leaks,  # Python tells of both when it collects them: now, not in a later test
]
DIM = 8
TEAMS = ("support", 'it\'s "ours", %s', "영업")
FILTERS: tuple[Mapping[str, Any], ...] = (
    {"team": "support"},
    {"team": [TEAMS[1], "영업"], "language": "ko"},
    {"team": "영업", "years": 2020},
)


class Cloud:
    """Texts `text N` with vectors that are drawn once; every tenth is that of the text before it, so that there are
    ties."""

    def __init__(self, count: int = 120, dim: int = DIM) -> None:
        vectors = np.random.default_rng(5).standard_normal((count, dim)).astype(np.float32)
        vectors[9::10] = vectors[8::10]
        self.vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self.embedded = 0

    def prepare(self, texts: Sequence[str], workspace: Any) -> None:
        pass

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        self.embedded += kind == "passage"
        return self.vectors[[int(text.split()[1]) for text in texts]]


def corpus(count: int = 120) -> Corpus:
    """Every document has a team of three, and one of two years."""
    plain = corpus_of({f"{n:03}": f"text {n}" for n in range(count)})
    documents = [
        replace(
            document, language="ko" if n % 2 else "en", metadata={"team": TEAMS[n % 3], "years": [2020 + n % 2, 2025]}
        )
        for n, document in enumerate(plain.documents)
    ]
    return replace(plain, documents=documents)


def indexed(
    root: Path, store: object, cloud: Cloud | None = None, *, cold: bool = False, **options: Any
) -> tuple[Any, Mapping[str, Any]]:
    """A retriever over the cloud with this store, and what it says of its index."""
    cloud = cloud or Cloud()
    retriever = SemanticRetriever(embedder=cloud, store=store, **options)  # type: ignore[arg-type]
    place = workspace(root, retriever, cloud, cold=cold)
    place.identities = {id(cloud): "cloud", id(retriever): f"retriever {type(store).__name__}"}
    return retriever, retriever.index(corpus(len(cloud.vectors)), place)


def rankings(retriever: Any, depth: int = 15) -> list[Ranking]:
    found: list[Ranking] = retriever.search([question(f"text {n}") for n in range(0, 120, 7)], depth)
    return found


def holds_as_exact_search(root: Path, store: object, **options: Any) -> Mapping[str, Any]:
    """Alone, in a batch, closed and opened again: the same to the last bit."""
    exact = rankings(indexed(root / "faiss", None)[0])
    retriever, facts = indexed(root, store, **options)
    assert rankings(retriever) == exact
    assert retriever.search([question("text 14")], 15) == [exact[2]]
    retriever.close()
    assert rankings(retriever, 119)[2].ids[:15] == exact[2].ids
    retriever.close()
    again, _ = indexed(root, store, Unembeddable(), **options)
    assert rankings(again) == exact
    again.close()
    return facts


class Unembeddable(Cloud):
    """Passages are embedded once: who has a collection asks for no vector of one."""

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        assert kind == "query"
        return super().embed(texts, kind)


async def goes_on_where_it_was_cut_off(root: Path, store: Any) -> None:
    """Some of the points, then the store anew: it counts them; a batch that comes twice is there once."""
    cloud, collection = Cloud(), Collection("runner_" + "a" * 24, 120, DIM, IndexSettings(), root / "stores")
    for there, start, end in [(0, 0, 40), (40, 40, 60), (60, 40, 80)]:
        opened = await store.open(collection)
        assert opened.n_points == there
        await opened.add(_points(cloud, start, end))
        await opened.close()
    opened = await store.open(collection)
    assert opened.n_points == 80
    hits = (await opened.search(cloud.vectors[[50]], 81))[0]
    assert sorted(hits.numbers.tolist()) == list(range(80))
    await opened.close()


def _points(cloud: Cloud, start: int, end: int) -> Points:
    texts = [f"text {n}" for n in range(start, end)]
    return Points(start, [f"{n:03}#0" for n in range(start, end)], texts, cloud.vectors[start:end], [()] * len(texts))


def filters_as_exact_search(root: Path, store: object, **options: Any) -> None:
    """The rankings of exact search among what passes, whether few or many do, and what of a value is not taken for
    a part of the question."""
    for number, wanted in enumerate(FILTERS):
        exact, _ = indexed(root / f"faiss {number}", None, filter=wanted)
        expected = rankings(exact)
        passes = where_of(wanted)
        assert {id for each in expected for id in each.ids} <= {
            f"{document.id}#0"
            for document in corpus().documents
            if all(set(group) & set(facets_of(document)) for group in passes)
        }
        retriever, facts = indexed(root / str(number), store, filter=wanted, **options)
        assert rankings(retriever) == expected
        retriever.close()
        assert facts["n_candidates"] == len(set(rankings(exact, 120)[0].ids))


def tells_texts(root: Path, store: object) -> None:
    """In the order of the question, of any length."""
    retriever, _ = indexed(root, store, texts="store")
    assert retriever.texts_of([]) == []
    assert retriever.texts_of(["007#0", "119#0", "000#0"]) == ["text 7", "text 119", "text 0"]
    retriever.close()


async def lists_and_deletes(root: Path, store: Any) -> None:
    """Its own collections only, with their size and age."""
    names = ["runner_" + "a" * 24, "runner_" + "b" * 24]
    for name in names:
        opened = await store.open(Collection(name, 120, DIM, IndexSettings(), root / "stores"))
        await opened.add(_points(Cloud(), 0, 10))
        await opened.close()
    assert sorted((each.name, each.n_points) for each in await store.list_collections(root / "stores")) == [
        (name, 10) for name in names
    ]
    assert all(each.made is not None and each.made.tzinfo for each in await store.list_collections(root / "stores"))
    await store.drop(names[0], root / "stores")
    assert [each.name for each in await store.list_collections(root / "stores")] == names[1:]
