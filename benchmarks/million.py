"""What a corpus costs as it grows: read once, indexed, opened again, searched; by words and by vectors.

    python benchmarks/million.py [--passages 30000 100000 300000 1000000] [--only words vectors] [--plain 300000]
                                 [--vectors 1000000] [--hnsw 300000] [--lsa 30000] [--text FOLDER …]

    read          the JSON Lines to a folder of the cache
    keyword       opens that folder, and builds the index of it
    plain bm25s   the same terms, from texts that are in memory; up to --plain passages, since it needs 9 kB for each
    opened        both folders, checked and mapped, by another process; then 200 queries, one at a time
    first run     `python -m runner +experiment=retrieval_only` over the folder of `read`, with 100 questions
    further run   the same with another k, and another out

Made passages have 40 words, half of them Korean, frequencies after Zipf. `--text`: passages of four sentences that are
drawn from the corpus.jsonl of these folders (default: ../shared/data/korquad_ko and squad2_en), as many as the smallest
of --passages says. Vectors are made, 384 numbers in 1,000 clusters, since it takes an embedder longer to make them; a
query is a passage with a tenth of noise. Each line is a process of its own on one thread, but for `hnsw, all cores`.
Times are of the CPU, but for the wall time of queries (p50 and p95), which neighbours on the machine make longer;
memory is the peak of the process, with 30 to 70 MB for its libraries, and with what is mapped.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval import DEFAULT, memory_mb
from benchmarks.soak import ROOT
from plugins.dataset.jsonl import JsonlDataset
from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.auto import AutoTokenizer
from runner.records import Corpus, Query
from runner.system.store import Store
from runner.text.passages import passages
from runner.text.tokens import by_script

BLOCK = 10_000  # passages that are made at a time
DEPTH, SEARCHES, QUESTIONS = 100, 200, 100
DIM, CLUSTERS, NOISE = 384, 1_000, 0.1
REAL = [DEFAULT.with_name(name) for name in ("korquad_ko", "squad2_en")]


@dataclass(frozen=True)
class Spent:
    """CPU seconds and peak memory of one process, and what it says beside them."""

    cpu_s: float
    peak_mb: float
    note: str = ""


# --- made data --------------------------------------------------------------------------------------


def write_made(folder: Path, count: int) -> None:
    """corpus.jsonl of so many passages, and queries.jsonl of 6 words of one passage each."""
    random = np.random.default_rng(42)
    syllables = np.array([chr(code) for code in range(0xAC00, 0xAC00 + 11172, 9)])
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    sizes = random.integers(2, 5, 30_000)
    lexicon = [
        "".join(random.choice(syllables if n % 2 else letters, size + (0 if n % 2 else 3)))
        for n, size in enumerate(sizes.tolist())
    ]

    def texts() -> Iterator[str]:
        for start in range(0, count, BLOCK):
            words = (random.zipf(1.15, size=(min(BLOCK, count - start), 40)) - 1) % len(lexicon)
            yield from (" ".join([lexicon[word] for word in row]) for row in words.tolist())

    write(folder, texts(), count, random)


def write_sampled(folder: Path, count: int, sources: Sequence[Path]) -> None:
    """The same of sentences of real texts."""
    random = np.random.default_rng(42)
    lines = [line for source in sources for line in (source / "corpus.jsonl").open(encoding="utf-8")]
    kept = [part.strip() for line in lines for part in json.loads(line)["text"].replace("\n", " ").split(". ")]
    sentences = [sentence for sentence in kept if len(sentence) > 20]
    drawn = random.integers(0, len(sentences), size=(count, 4)).tolist()
    write(folder, (". ".join([sentences[place] for place in row]) for row in drawn), count, random)


def write(folder: Path, texts: Iterator[str], count: int, random: np.random.Generator) -> None:
    folder.mkdir()
    chosen = set(random.choice(count, min(count, SEARCHES), replace=False).tolist())
    with (
        (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus,
        (folder / "queries.jsonl").open("w") as queries,
    ):
        for n, text in enumerate(texts):
            corpus.write(json.dumps({"id": f"d{n:07}", "text": text}, ensure_ascii=False) + "\n")
            if n in chosen:
                words = " ".join(random.choice(text.split(), size=6))
                case = {"id": f"q{n}", "query": words, "answerable": True, "expected_notes": [f"d{n:07}"]}
                queries.write(json.dumps(case) + "\n")


class MadeVectors:
    """An embedder of texts that are passages of the corpus, or numbers of them."""

    def prepare(self, texts: Sequence[str], workspace: object) -> None:
        self.centres = np.random.default_rng(7).standard_normal((CLUSTERS, DIM)).astype(np.float32)

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        seeds = np.array([zlib.crc32(text.encode()) for text in texts])
        own = np.stack([np.random.default_rng(seed).standard_normal(DIM, dtype=np.float32) for seed in seeds.tolist()])
        vectors = self.centres[seeds % CLUSTERS] + own
        if kind == "query":
            vectors += NOISE * np.random.default_rng(1).standard_normal(vectors.shape, dtype=np.float32)
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


# --- what is measured, each in a process of its own -------------------------------------------------


def read(folder: Path) -> str:
    corpus = opened(folder)
    files = sum(file.stat().st_size for file in (folder / "cache" / "corpora").rglob("*") if file.is_file())
    kept = f"{files / 1e6:.0f} MB on disk" if files else "in memory"
    return f"{len(corpus.chunks):,} passages, {(folder / 'corpus.jsonl').stat().st_size / 1e6:.0f} MB; {kept}"


def keyword(folder: Path) -> str:
    facts = indexed(folder)[1]
    return f"{facts['n_terms']:,} terms, {facts['size_bytes'] / 1e6:.0f} MB"


def plain(folder: Path) -> str:
    import bm25s

    with (folder / "corpus.jsonl").open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    before, started = memory_mb(), time.process_time()
    bm25s.BM25(k1=1.5, b=0.75).index([by_script(text) for text in texts], show_progress=False)
    return f"{time.process_time() - started:.1f} s and {memory_mb() - before:.0f} MB of it with the texts in memory"


def searched(folder: Path) -> str:
    started = time.process_time()
    retriever, _, queries = indexed(folder)
    cpu_s, mb = time.process_time() - started, memory_mb()
    return f"opened in {cpu_s:.2f} s and {mb:.0f} MB; {latencies(retriever, queries)}"


def vectors(folder: Path, kind: str, threads: int | None = 1) -> str:
    corpus, queries = opened(folder), questions(folder)
    embedder = MadeVectors()
    retriever = SemanticRetriever(embedder=embedder, index=kind, build_threads=threads)  # type: ignore[arg-type]
    place = Path(tempfile.mkdtemp(dir=folder))
    facts = retriever.index(corpus, Store(place, {id(embedder): "made"}))
    built_mb = memory_mb()
    of_passages = [Query(query.id, passages(corpus)[int(query.id[1:])], True, {}) for query in queries]
    recall = f"recall@10 {facts['recall_at_10']:.3f}, " if "recall_at_10" in facts else ""
    index_mb = (next(place.rglob("index.faiss"))).stat().st_size / 1e6
    return f"{recall}index {index_mb:.0f} MB, built in {built_mb:.0f} MB; {latencies(retriever, of_passages)}"


def lsa(folder: Path) -> str:
    retriever = SemanticRetriever(embedder=(embedder := LsaEmbedder()))
    facts = retriever.index(opened(folder), Store(folder / "lsa", {id(retriever): "s", id(embedder): "l"}))
    return f"{facts['dim']} numbers, exact index"


def opened(folder: Path) -> Corpus:
    files = {"corpus": str(folder / "corpus.jsonl"), "queries": str(folder / "queries.jsonl")}
    return JsonlDataset(**files, cache_dir=str(folder / "cache")).load().corpus


def questions(folder: Path) -> list[Query]:
    with (folder / "queries.jsonl").open(encoding="utf-8") as file:
        return [Query(each["id"], each["query"], True, {}) for each in map(json.loads, file)]


def indexed(folder: Path) -> tuple[KeywordRetriever, dict[str, Any], list[Query]]:
    tokenizer = AutoTokenizer()
    retriever = KeywordRetriever(tokenizer=tokenizer)
    facts = retriever.index(opened(folder), Store(folder / "cache", {id(retriever): "keyword", id(tokenizer): "auto"}))
    return retriever, dict(facts), questions(folder)


def latencies(retriever: KeywordRetriever | SemanticRetriever, queries: Sequence[Query]) -> str:
    """One query at a time, after one that is not counted."""
    walls, cpus = [], []
    for query in [queries[0], *queries]:
        wall, cpu = time.perf_counter(), time.process_time()
        retriever.search([query], DEPTH)
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    (p50, p95), cpu = np.percentile(walls[1:], [50, 95]).tolist(), np.percentile(cpus[1:], 95)
    return f"a query p50 {p50:.1f}, p95 {p95:.1f} ms, p95 {cpu:.1f} ms of CPU"


def run(folder: Path, name: str, k: int) -> Spent:
    """A whole run of the program."""
    with (folder / "queries.jsonl").open(encoding="utf-8") as file:
        (folder / "some.jsonl").write_text("".join([line for line, _ in zip(file, range(QUESTIONS), strict=False)]))
    words = ["+experiment=retrieval_only", "dataset=jsonl", "retriever=keyword", "tracking=none", f"k={k}"]
    files = [f"dataset.corpus={folder / 'corpus.jsonl'}", f"dataset.queries={folder / 'some.jsonl'}"]
    places = [f"out={folder / name}", f"cache_dir={folder / 'cache'}"]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONPATH": str(ROOT)}
    command, away = [sys.executable, "-m", "runner", *words, *files, *places], subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=away, stderr=away, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the run {name} ended with {process.returncode}")
    return Spent(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


# --- measuring --------------------------------------------------------------------------------------


def alone(measure: Callable[..., str], *arguments: Any) -> Spent:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        return executor.submit(spent, measure, *arguments).result()


def spent(measure: Callable[..., str], *arguments: Any) -> Spent:
    started = time.process_time()
    note = measure(*arguments)
    return Spent(time.process_time() - started, memory_mb(), note)


def row(name: str, spent: Spent) -> None:
    print(f"  {name:<18}{spent.cpu_s:>8.1f}{spent.peak_mb:>9.0f}   {spent.note}", flush=True)


def report(title: str, folder: Path, count: int, options: argparse.Namespace) -> None:
    print(f"{title}\n  {'':<18}{'CPU s':>8}{'peak MB':>9}")
    if "words" in options.only:
        report_words(folder, count, options)
    if "vectors" in options.only:
        report_vectors(folder, count, options)
    print(flush=True)


def report_words(folder: Path, count: int, options: argparse.Namespace) -> None:
    row("read", alone(read, folder))
    row("keyword", alone(keyword, folder))
    if count <= options.plain:
        row("plain bm25s", alone(plain, folder))
    row("opened, searched", alone(searched, folder))
    row("first run", run(folder, "first", 5))
    row("further run", run(folder, "further", 6))


def report_vectors(folder: Path, count: int, options: argparse.Namespace) -> None:
    alone(read, folder)
    if count <= options.vectors:
        row("flat", alone(vectors, folder, "flat"))
        row("ivf_pq, all cores", alone(vectors, folder, "ivf_pq", None))
    if count <= options.hnsw:
        row("hnsw, all cores", alone(vectors, folder, "hnsw", None))
    if count <= options.lsa:
        row("lsa", alone(lsa, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, nargs="+", default=[30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--plain", type=int, default=300_000)
    parser.add_argument("--only", nargs="+", choices=["words", "vectors"], default=["words", "vectors"])
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--hnsw", type=int, default=300_000)
    parser.add_argument("--lsa", type=int, default=30_000)
    parser.add_argument("--text", type=Path, nargs="*", default=[each for each in REAL if each.is_dir()])
    parser.add_argument("--folder", type=Path, help="where the data are made and removed again")
    options = parser.parse_args()
    for count in options.passages:
        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            write_made(Path(scratch, "made"), count)
            report(f"{count:,} made passages", Path(scratch, "made"), count, options)
    if options.text and "words" in options.only:
        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            count = min(options.passages)
            write_sampled(Path(scratch, "text"), count, options.text)
            names = " and ".join(each.name for each in options.text)
            print(f"{count:,} passages of sentences of {names}\n  {'':<18}{'CPU s':>8}{'peak MB':>9}")
            report_words(Path(scratch, "text"), count, options)


if __name__ == "__main__":
    main()
