"""What a vault costs: the full index, the index after one note has changed, searches, suggestions, and memory.

python benchmarks/vault.py [NOTES] [--semantic]       NOTES: how many notes are generated, 10000

Seconds are of the CPU, since wall time says more about what else the machine does; with --semantic the index is that of
the hybrid retriever with `lsa`, else that of BM25.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from generated_notes import generated_notes, write_notes

from plugins.dataset.vault import VaultDataset
from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever.hybrid import HybridRetriever
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.auto import AutoTokenizer
from runner.records import Query
from runner.system.store import Store

SEARCHES = 200
SUGGESTIONS = 300


def main(words: list[str]) -> None:
    if "--once" in words:
        once(Path(words[1]), semantic="--semantic" in words)
        return
    n = int(next((word for word in words if word.isdigit()), 10_000))
    with tempfile.TemporaryDirectory() as name:
        folder, notes = Path(name), generated_notes(n)
        write_notes(folder / "notes", notes)
        size = sum(len(text.encode()) for text in notes.values()) / n
        print(f"{n} notes in Korean and English, {size:.0f} bytes each")
        (folder / "queries.jsonl").write_text(
            '{"id": "q", "query": "x", "answerable": false, "expected_notes": []}\n', encoding="utf-8"
        )
        changed = folder / "notes" / sorted(notes)[n // 2]
        rest = [word for word in words if word.startswith("--")]
        for title in ("full index", "nothing changed", "one note changed", "nothing changed, cold_start=true"):
            if title == "one note changed":
                changed.write_text(changed.read_text(encoding="utf-8") + "\n바뀐 글 changed text\n", encoding="utf-8")
            cold = ["--cold"] if "cold" in title else []
            print(f"\n{title}")
            subprocess.run([sys.executable, __file__, "--once", name, *rest, *cold], check=True)
        for suggester in ("lexical", "hybrid"):
            suggestions(folder, suggester)


def suggestions(folder: Path, suggester: str) -> None:
    """Of +experiment=links, which hides links itself: each place alone, on the clock."""
    words = [f"suggester={suggester}", f"dataset.notes={folder / 'notes'}", f"sample={SUGGESTIONS}"]
    where = [f"cache_dir={folder / 'cache'}", f"out={folder / suggester}", "tracking=none"]
    started = time.perf_counter()
    command = [sys.executable, "-m", "runner", "+experiment=links", *words, *where]
    subprocess.run(command, check=True, capture_output=True)
    summary = json.loads((folder / suggester / "summary.json").read_text(encoding="utf-8"))
    taken = summary["timing"]["latency"]["suggestion"]
    print(f"\nlink suggestion, suggester={suggester}: {time.perf_counter() - started:.0f} s (wall) for the whole run")
    print(f"  p50 {taken['p50_ms']:.1f} ms, p95 {taken['p95_ms']:.1f} ms, n={taken['n']}")
    print(f"  {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB at most of all processes so far")


def once(folder: Path, *, semantic: bool) -> None:
    """A new process, as a person would start it."""
    cold = "--cold" in sys.argv
    clock = Clock()
    dataset = VaultDataset(
        notes=str(folder / "notes"),
        queries=str(folder / "queries.jsonl"),
        cache_dir=str(folder / "cache"),
        cold_start=cold,
    )
    corpus = dataset.load().corpus
    clock.lap("read and cut notes")
    retriever, parts = retriever_of(semantic)
    facts = retriever.index(corpus, Store(folder / "cache", {id(part): repr(type(part)) for part in parts}, cold=cold))
    clock.lap("index and graph")
    print(f"  {clock.total:8.1f} s in all; {facts['n_chunks']} chunks, {facts['graph']}; {peak_mb():.0f} MB at most")
    titles = [document.title for document in corpus.documents[:: max(1, len(corpus.documents) // SEARCHES)]]
    taken = [searched(retriever, title) for title in titles]
    p50, p95 = np.percentile(taken, [50, 95]) * 1e3
    print(f"  search with the graph: p50 {p50:.1f} ms, p95 {p95:.1f} ms, n={len(taken)}")


def retriever_of(semantic: bool) -> tuple[Any, list[object]]:
    tokenizer, embedder = AutoTokenizer(), LsaEmbedder()
    keyword = KeywordRetriever(tokenizer=tokenizer, graph_rerank=False if semantic else None)
    if not semantic:
        return keyword, [keyword, tokenizer]
    near = SemanticRetriever(embedder=embedder, graph_rerank=False)
    hybrid = HybridRetriever(keyword=keyword, semantic=near)
    return hybrid, [hybrid, keyword, near, tokenizer, embedder]


def searched(retriever: Any, text: str) -> float:
    started = time.perf_counter()
    retriever.search([Query("q", text, answerable=True, relevance={})], 100)
    return time.perf_counter() - started


class Clock:
    def __init__(self) -> None:
        self.total, self._last = 0.0, time.process_time()

    def lap(self, name: str) -> None:
        taken = time.process_time() - self._last
        self.total += taken
        self._last = time.process_time()
        print(f"  {taken:8.1f} s {name}")


def peak_mb() -> float:
    """Of this process. What the operating system says counts the process it was started from, too."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


if __name__ == "__main__":
    main(sys.argv[1:])
