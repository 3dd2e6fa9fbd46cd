"""Indexing and querying against plain bm25s and faiss calls, and what one more k of a sweep costs.

    python benchmarks/retrieval.py [FOLDER] [--passages N] [--queries N]

FOLDER (default ../shared/data/korquad_ko) holds corpus.jsonl and queries.jsonl; without it only the
synthetic corpus (N passages, default 100000) is measured. Every measurement runs in a process of its own,
on one thread. Times are seconds of CPU; memory is the peak above what the process held before. The plain
calls do only what must be done: no store on disk, no relevance, no order among ties, no second look at
the scores of FAISS.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from plugins.dataset.jsonl import JsonlDataset
from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever.hybrid import HybridRetriever
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.auto import AutoTokenizer
from runner.protocols import Retriever
from runner.records import Chunk, Corpus, Document, Query
from runner.retrieval.rankings import rank_all
from runner.retrieval.searching import Searcher
from runner.system.store import Store
from runner.text.passages import passages
from runner.text.tokens import by_script

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "korquad_ko"
DEPTH = 100
BATCH = 64
EMBEDDINGS = "embeddings.npy"

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """Where a corpus and its queries come from; `folder` None makes them up."""

    name: str
    folder: Path | None
    passages: int = 0
    queries: int = 0

    def load(self) -> tuple[Corpus, list[Query]]:
        if self.folder is None:
            return synthetic(self.passages, self.queries)
        data = JsonlDataset(corpus=str(self.folder / "corpus.jsonl"), queries=str(self.folder / "queries.jsonl")).load()
        return data.corpus, list(data.queries)


@dataclass(frozen=True)
class Cost:
    index_s: float
    query_ms: float
    memory_mb: float


def synthetic(n_passages: int, n_queries: int) -> tuple[Corpus, list[Query]]:
    """Passages of 40 words, half Korean, half Latin, frequencies after Zipf; queries of 6 words of one passage."""
    random = np.random.default_rng(42)
    syllables = np.array([chr(code) for code in range(0xAC00, 0xAC00 + 11172, 9)])
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    lexicon = [
        "".join(random.choice(syllables if n % 2 else letters, size=random.integers(2, 5) + (0 if n % 2 else 3)))
        for n in range(30_000)
    ]
    words = (random.zipf(1.15, size=(n_passages, 40)) - 1) % len(lexicon)
    texts = [" ".join([lexicon[word] for word in row]) for row in words.tolist()]
    documents = [Document(f"d{n:06}", text) for n, text in enumerate(texts)]
    chunks = [Chunk(f"{document.id}#0", document.id, document.text, 0, len(document.text)) for document in documents]
    chosen = random.choice(n_passages, size=n_queries)
    queries = [
        Query(f"q{n}", " ".join(random.choice(texts[place].split(), size=6)), True, {documents[place].id: 1})
        for n, place in enumerate(chosen.tolist())
    ]
    return Corpus(documents, chunks, f"synthetic {n_passages}"), queries


# --- what is measured: each returns a Cost, from data that is already in memory ---------------------


def keyword(source: Source, folder: Path) -> Cost:
    tokenizer = AutoTokenizer()
    retriever = KeywordRetriever(tokenizer=tokenizer)
    return ours(retriever, Store(folder, {id(retriever): "keyword", id(tokenizer): "auto"}), source)


def plain_bm25s(source: Source, folder: Path) -> Cost:
    import bm25s

    corpus, queries = source.load()
    texts = passages(corpus)
    before, started = memory_mb(), time.process_time()
    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index([by_script(text) for text in texts], show_progress=False)
    indexed = time.process_time()
    for start in range(0, len(queries), BATCH):
        tokens = [by_script(query.text) for query in queries[start : start + BATCH]]
        index.retrieve(tokens, k=min(DEPTH, len(texts)), show_progress=False)
    return cost(before, started, indexed, len(queries))


class Known:
    """The embeddings that `lsa` made, so that what is compared is the index."""

    def __init__(self, folder: Path, texts: Sequence[str], queries: Sequence[Query]) -> None:
        self.vectors = np.load(folder / EMBEDDINGS)
        self.places = {query.text: len(texts) + place for place, query in enumerate(queries)}
        self.n_texts, self.n_embedded = len(texts), 0

    def prepare(self, texts: Sequence[str], workspace: object) -> None:
        pass

    def embed(self, texts: Sequence[str], kind: str) -> NDArray[np.float32]:
        if kind == "passage":  # in blocks, in the order of the corpus
            first, self.n_embedded = self.n_embedded, self.n_embedded + len(texts)
            return np.asarray(self.vectors[first : self.n_embedded])
        return np.asarray(self.vectors[[self.places[text] for text in texts]])


def embed(source: Source, folder: Path) -> Cost:
    """`lsa` itself: fit and embed the passages; embed the queries one at a time."""
    corpus, queries = source.load()
    texts, embedder = passages(corpus), LsaEmbedder()
    before, started = memory_mb(), time.process_time()
    embedder.prepare(texts, Store(folder, {id(embedder): "lsa"}))
    rows = [embedder.embed(texts, "passage")]
    indexed = time.process_time()
    rows.extend(embedder.embed([query.text], "query") for query in queries)
    spent = cost(before, started, indexed, len(queries))
    np.save(folder / EMBEDDINGS, np.concatenate(rows))
    return spent


def semantic(source: Source, folder: Path) -> Cost:
    corpus, queries = source.load()
    embedder = Known(folder, corpus.chunks, queries)
    retriever = SemanticRetriever(embedder=embedder)  # type: ignore[arg-type]
    return ours(retriever, Store(folder, {id(retriever): "semantic", id(embedder): "known"}), source)


def plain_faiss(source: Source, folder: Path) -> Cost:
    import faiss

    corpus, queries = source.load()
    known = Known(folder, corpus.chunks, queries)
    before, started = memory_mb(), time.process_time()
    vectors = known.vectors[: known.n_texts]
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    indexed = time.process_time()
    for start in range(0, len(queries), BATCH):
        asked = known.embed([query.text for query in queries[start : start + BATCH]], "query")
        index.search(asked, min(DEPTH, len(vectors)))
    return cost(before, started, indexed, len(queries))


def ours(retriever: Retriever, store: Store, source: Source) -> Cost:
    corpus, queries = source.load()
    before, started = memory_mb(), time.process_time()
    retriever.index(corpus, store)
    indexed = time.process_time()
    for start in range(0, len(queries), BATCH):
        retriever.search(queries[start : start + BATCH], DEPTH)
    return cost(before, started, indexed, len(queries))


def sweep(source: Source, folder: Path) -> tuple[float, float, float]:
    """Seconds to rank all queries for the first k, to open that ranking for the next, and to read it all."""
    corpus, queries = source.load()
    embedder, tokenizer = LsaEmbedder(), AutoTokenizer()
    parts = KeywordRetriever(tokenizer=tokenizer), SemanticRetriever(embedder=embedder)
    hybrid = HybridRetriever(keyword=parts[0], semantic=parts[1])
    identities = {id(part): type(part).__name__ for part in (*parts, embedder, tokenizer, hybrid)}
    hybrid.index(corpus, Store(folder, identities))
    seconds = []
    for _ in range(2):
        started = time.process_time()
        searcher = Searcher(hybrid, corpus, depth=DEPTH, timeout_ms=15_000, seed=42)
        rankings = rank_all(searcher, queries, Store(folder, identities))
        seconds.append(time.process_time() - started)
    started = time.process_time()
    for query in queries:
        _ = rankings[query.id]
    return seconds[0], seconds[1], time.process_time() - started


# --- measuring --------------------------------------------------------------------------------------


def cost(before_mb: float, started: float, indexed: float, n_queries: int) -> Cost:
    now = time.process_time()
    return Cost(indexed - started, (now - indexed) / n_queries * 1000, memory_mb() - before_mb)


def memory_mb() -> float:
    """Peak of this process until now."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def alone(measure: Callable[[Source, Path], T], source: Source, folder: Path) -> T:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        return executor.submit(measure, source, folder).result()


def row(name: str, spent: Cost, plain: Cost | None = None) -> None:
    def beside(value: float, base: float | None) -> str:
        return f"{value:9.2f}" + (f" ({value / base:5.2f}x)" if base else " " * 9)

    columns = [
        beside(value, base)
        for value, base in zip(
            (spent.index_s, spent.query_ms, spent.memory_mb),
            (plain.index_s, plain.query_ms, plain.memory_mb) if plain else (None,) * 3,
            strict=True,
        )
    ]
    print(f"  {name:<22}" + "".join(columns), flush=True)


def report(source: Source) -> None:
    corpus, queries = source.load()
    print(f"{source.name}: {len(corpus.chunks)} passages, {len(queries)} queries, depth {DEPTH}")
    del corpus
    print(f"  {'':<22}{'index s':>18}{'ms a query':>18}{'peak MB':>18}")
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        plain = alone(plain_bm25s, source, folder)
        row("plain bm25s", plain)
        row("keyword", alone(keyword, source, folder), plain)
        row("lsa embedder", alone(embed, source, folder))
        plain = alone(plain_faiss, source, folder)
        row("plain faiss, flat", plain)
        row("semantic, flat", alone(semantic, source, folder), plain)
        first, second, read = alone(sweep, source, folder)
    print(f"  hybrid, first k of a sweep: {first:.2f} s to rank; each further k: {second:.3f} s to open", end="")
    print(f" + {read:.2f} s to read every ranking ({(second + read) / first:.1%})\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=500)
    arguments = parser.parse_args()
    if (arguments.folder / "corpus.jsonl").exists():
        report(Source(arguments.folder.name, arguments.folder))
    if arguments.passages:
        report(Source("synthetic", None, arguments.passages, arguments.queries))


if __name__ == "__main__":
    main()
