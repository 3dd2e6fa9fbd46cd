"""What each store of vectors takes to be filled and searched, beside flat FAISS in the same run.

    python benchmarks/stores.py [--passages 10000] [--queries 200] [--only NAME …]

Made vectors (384 numbers, in clusters), through the retriever as in a run: `build s` embeds nothing, and fills and
indexes; `query ms` is the median of questions asked one at a time, which flat FAISS and the store take in turns;
`ratio` is the median of the two; `recall@10` is the share of the ten nearest passages of flat FAISS. `same` tells
whether all rankings are those of flat FAISS to the last bit, as they must be of `flat`. Wall time: servers work in
processes of their own. Stores that are not installed are left out; OpenSearch and the server of Qdrant need a server,
and none is started here.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["LANCE_LOG"] = os.environ["RUST_LOG"] = "error"

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from plugins.retriever.semantic import SemanticRetriever
from plugins.store.lancedb import LancedbStore
from plugins.store.pgvector import PgvectorStore
from plugins.store.qdrant import QdrantStore
from runner.records import Chunk, Corpus, Document, Query, Ranking
from runner.system.store import Store
from tests.services.postgres_server import PASSWORD, USER, VARIABLE, serving_postgres

DIM, CLUSTERS, DEPTH = 384, 200, 10
COLUMNS = ("build s", "query ms", "ratio", "recall@10", "same")


@dataclass(frozen=True)
class Made:
    """Vectors of passages and of queries, which lie near passages."""

    passages: NDArray[np.float32]
    queries: NDArray[np.float32]

    def prepare(self, texts: Sequence[str], workspace: object) -> None:
        pass

    def embed(self, texts: Sequence[str], kind: str) -> NDArray[np.float32]:
        rows = self.passages if kind == "passage" else self.queries
        return rows if len(texts) == len(rows) else rows[[int(text) for text in texts]]


@dataclass(frozen=True)
class Spent:
    """Seconds to build, and the milliseconds of each query; beside it, those of flat FAISS."""

    build_s: float
    own_ms: Sequence[float]
    flat_ms: Sequence[float]
    recall: float
    is_same: bool


def made(n_passages: int, n_queries: int) -> Made:
    random = np.random.default_rng(42)
    centres = random.standard_normal((CLUSTERS, DIM))
    passages = centres[random.integers(CLUSTERS, size=n_passages)] + 2.0 * random.standard_normal((n_passages, DIM))
    queries = passages[random.choice(n_passages, n_queries)] + 1.0 * random.standard_normal((n_queries, DIM))
    return Made(_normalised(passages), _normalised(queries))


def _normalised(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def stores(opened: ExitStack) -> Iterator[tuple[str, str, Any]]:
    """Name, kind of index, and store; FAISS is None."""
    for kind in ("flat", "hnsw", "ivf"):
        yield "faiss", kind, None
    if find_spec("lancedb"):
        for kind in ("flat", "ivf"):
            yield "lancedb", kind, LancedbStore()
    if find_spec("qdrant_client"):
        yield "qdrant (local)", "flat", QdrantStore()
    server = opened.enter_context(serving_postgres()) if find_spec("psycopg") else None
    if server is not None:
        os.environ[VARIABLE] = PASSWORD
        for kind in ("flat", "hnsw", "ivf"):
            yield "pgvector", kind, PgvectorStore(url=server.url, username=USER, password_env=VARIABLE)


def indexed(folder: Path, embedder: Made, store: Any, kind: str, corpus: Corpus) -> tuple[SemanticRetriever, float]:
    retriever = SemanticRetriever(embedder=embedder, store=store, index=kind)  # type: ignore[arg-type]
    identities = {id(embedder): "made", id(retriever): f"{type(store).__name__} {kind}"}
    started = time.perf_counter()
    retriever.index(corpus, Store(folder, identities))
    return retriever, time.perf_counter() - started


def measured(folder: Path, embedder: Made, store: Any, kind: str, corpus: Corpus, flat: SemanticRetriever) -> Spent:
    retriever, build_s = indexed(folder, embedder, store, kind, corpus)
    pairs: list[tuple[Ranking, Ranking]] = []
    times: Mapping[str, list[float]] = {"flat": [], "own": []}
    for number in range(-5, len(embedder.queries)):
        query = Query("q", str(max(0, number)), answerable=True, relevance={})
        found = []
        for name, each in (("flat", flat), ("own", retriever)):
            started = time.perf_counter()
            found.append(each.search([query], DEPTH)[0])
            if number >= 0:  # the first ones warm up
                times[name].append((time.perf_counter() - started) * 1000)
        pairs.append((found[0], found[1]))
    retriever.close()
    shares = [len(set(exact.ids) & set(own.ids)) / DEPTH for exact, own in pairs]
    return Spent(build_s, times["own"], times["flat"], statistics.mean(shares), all(a == b for a, b in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--only", nargs="+", default=[], help="names of stores")
    options = parser.parse_args()
    embedder = made(options.passages, options.queries)
    documents = [Document(f"d{n:07}", str(n)) for n in range(options.passages)]
    chunks = [Chunk(f"{document.id}#0", document.id, document.text, 0, len(document.text)) for document in documents]
    corpus = Corpus(documents, chunks, f"made {options.passages}")
    print(f"{options.passages:,} vectors of {DIM} numbers, {options.queries} queries, depth {DEPTH}")
    print(f"{'':<16}{'index':<8}{''.join(f'{name:>11}' for name in COLUMNS)}")
    with tempfile.TemporaryDirectory() as root, ExitStack() as opened:
        flat, _ = indexed(Path(root) / "flat", embedder, None, "flat", corpus)
        for name, kind, store in stores(opened):
            if not options.only or name.split()[0] in options.only:
                report(name, kind, measured(Path(root) / f"{name} {kind}", embedder, store, kind, corpus, flat))
    print(f"load of the machine (mean of a minute) at the end {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores")


def report(name: str, kind: str, spent: Spent) -> None:
    own, flat = statistics.median(spent.own_ms), statistics.median(spent.flat_ms)
    numbers = f"{spent.build_s:>11.2f}{own:>11.2f}{own / flat:>11.2f}{spent.recall:>11.4f}"
    print(f"{name:<16}{kind:<8}{numbers}{'yes' if spent.is_same else 'no':>11}", flush=True)
    if kind == "flat" and not spent.is_same:
        sys.exit(f"{name}: the rankings of its flat index are not those of flat FAISS")


if __name__ == "__main__":
    main()
