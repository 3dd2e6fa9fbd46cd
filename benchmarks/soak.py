"""Large runs beside small ones: time and memory a case, files that are still usable, many cells, two sweeps at once.

    python benchmarks/soak.py [--cases 100000] [--small 1000] [--cells 50]      the long form: about half an hour
    python benchmarks/soak.py --quick                                            10,000 cases, 5 cells

    retrieval    retrieval_only over a corpus of 2,000 documents
    answers      full_rag over rankings, contexts and answers that were given, judged by words
    cells        one command, one run for each value of min_score, which share index and rankings
    two at once  two sweeps over the same data, on one MLflow store and one cache

Each run is a process of its own; the baseline is the run over `--small` cases, made here too. Time is CPU time: that
of the machine depends on its neighbours. Of the memory that more cases take, those results are told apart that have
to be there when the summary is made: the value of every metric of every case. Files are those that stay.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCUMENTS = 2_000
ROOT = Path(__file__).resolve().parents[1]
FILES = ("per_item.jsonl", "snapshot.json", "report.html")
KEPT_BYTES = 13  # of a metric of a case (runner.metrics.aggregate)
EVALUATIONS = {
    "retrieval": ["+experiment=retrieval_only", "retriever=keyword", "tokenizer=word"],
    "answers": ["+experiment=full_rag", "retriever=given", "generator=given", "judge=lexical"],
}


@dataclass(frozen=True)
class Spent:
    """By one process: seconds on the clock and of the CPU, and its highest use of memory."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--small", type=int, default=1_000)
    parser.add_argument("--cells", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="at most 10,000 cases, and 5 cells")
    parser.add_argument("--folder", type=Path, help="where the runs are to stay (default: nowhere)")
    parser.add_argument("--only", choices=[*EVALUATIONS, "cells", "two"], help="one of the parts")
    options = parser.parse_args()
    if options.quick:
        options.cases, options.cells = min(options.cases, 10_000), 5
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        parts = [options.only] if options.only else [*EVALUATIONS, "cells", "two"]
        for part in parts:
            if part in EVALUATIONS:
                grown(part, folder, options.small, options.cases)
            elif part == "cells":
                cells(folder, options.small, options.cells)
            else:
                two_at_once(folder, options.small, options.cells)


def grown(part: str, folder: Path, small: int, large: int) -> None:
    spent = {}
    print(f"{part:<12}{'cases':>8}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}  bytes a case")
    for cases in (small, large):
        out = folder / f"{part}-{cases}"
        words = [*EVALUATIONS[part], *data(folder, cases), "tracking=none", f"cache_dir={folder / 'cache'}"]
        spent[cases] = run([*words, f"out={out}"])
        checked(out, cases)
        found = spent[cases]
        sizes = "  ".join(f"{name} {(out / name).stat().st_size / cases:,.0f}" for name in FILES)
        print(f"{'':<12}{cases:>8,}{found.wall_s:>9.1f}{found.cpu_s:>9.1f}{found.peak_mb:>9.0f}  {sizes}", flush=True)
    start = run(["--help"])
    more_mb = spent[large].peak_mb - spent[small].peak_mb
    each = [(spent[cases].cpu_s - start.cpu_s) / cases for cases in (small, large)]
    n_metrics = len(read(folder / f"{part}-{large}" / "summary.json")["metrics"])
    kept_mb = KEPT_BYTES * n_metrics * (large - small) / 2**20
    more_bytes = more_mb * 2**20 / (large - small)
    print(f"{'':<12}memory {more_mb:+.0f} MB, {more_bytes:,.0f} bytes for each more case;", end=" ")
    print(f"{kept_mb:.0f} MB are the values of {n_metrics} metrics, {more_mb - kept_mb:+.0f} MB everything else")
    more_s = spent[large].cpu_s - spent[small].cpu_s
    print(f"{'':<12}CPU {each[0] * 1e3:.2f} ms a case of the small run, with what it begins with;", end=" ")
    print(f"{more_s / (large - small) * 1e3:.2f} ms for each more case\n", flush=True)


def cells(folder: Path, cases: int, n: int) -> None:
    """A run for each min_score."""
    scores = ",".join(f"{place / n:.3f}" for place in range(n))
    shared = [*EVALUATIONS["retrieval"], *data(folder, cases), f"tracking.uri={store(folder, 'cells')}"]
    shared += [f"cache_dir={folder / 'cache'}"]
    one = run([*shared, f"out={folder / 'one-cell'}"])
    many = run([*shared, f"min_score={scores}", f"out={folder / 'cells'}"])
    states = [cell["status"] for cell in read(folder / "cells" / "sweep.json")["cells"]]
    assert states == ["completed"] * n, states
    each = (many.cpu_s - one.cpu_s) / (n - 1)
    print(f"cells       one run of {cases:,} cases: {one.cpu_s:.1f} s CPU, {one.peak_mb:.0f} MB; ", end="")
    print(f"{n} in one command: {many.cpu_s:.1f} s, {many.peak_mb:.0f} MB")
    print(f"{'':<12}{each:.2f} s for each more cell, {each / one.cpu_s:.2f} of the one")
    print(f"{'':<12}report.html of the sweep: {(folder / 'cells/report.html').stat().st_size:,} bytes\n", flush=True)


def two_at_once(folder: Path, cases: int, n: int) -> None:
    uri, cache = store(folder, "two"), folder / "cache-of-two"
    words = [*EVALUATIONS["answers"], *data(folder, cases), f"tracking.uri={uri}", f"cache_dir={cache}"]
    words.append("k=" + ",".join(str(k) for k in range(1, min(n, 10) + 1)))
    outs = [folder / f"two-{place}" for place in (1, 2)]
    alone = run([*words, f"out={folder / 'two-alone'}"])
    began = time.perf_counter()
    processes = [start([*words, f"out={out}"]) for out in outs]
    peaks = [ended(process).peak_mb for process in processes]
    wall_s = time.perf_counter() - began
    for out in outs:
        states = {cell["status"] for cell in read(out / "sweep.json")["cells"]}
        assert states == {"completed"}, states
        assert without_time(out / "0") == without_time(folder / "two-alone" / "0"), out
    shown, each = ", ".join(f"{peak:.0f} MB" for peak in peaks), min(n, 10)
    print(f"two at once {each} cells each: {wall_s:.1f} s on the clock, one sweep alone {alone.wall_s:.1f} s; {shown}")
    print(f"{'':<12}summaries equal those of the one alone; {tracked(uri)} runs in the MLflow store\n", flush=True)


# --- what is run ------------------------------------------------------------------------------------


def data(folder: Path, cases: int) -> list[str]:
    """The overrides that choose a data set of so many cases, which is written when it is first asked for."""
    corpus, queries = folder / "corpus.jsonl", folder / f"queries-{cases}.jsonl"
    if not corpus.exists():
        write(corpus, ({"id": f"d{n}", "title": f"Note {n}", "text": text(n)} for n in range(DOCUMENTS)))
    if not queries.exists():
        write(queries, (case(n) for n in range(cases)))
    return ["dataset=jsonl", f"dataset.corpus={corpus}", f"dataset.queries={queries}"]


def text(n: int) -> str:
    platforms = n % 37 + 2
    facts = [
        f"Station {n} opened in {1900 + n % 120} and has {platforms} platforms.",
        f"{n}번 역의 승강장은 {platforms}개다.",
    ]
    lines = [f"Line {n * 7 % 91 + place} calls there {place + 3} times an hour." for place in range(4)]
    return " ".join([*facts, *lines])


def case(n: int) -> dict[str, Any]:
    gold, answerable = n % DOCUMENTS, n % 10 != 9
    right = f"{gold % 37 + 2} platforms"
    said = f"{gold % 37 + 3} platforms" if n % 7 == 0 else right
    ids = [f"d{(gold + place * (1 + n % 3)) % DOCUMENTS}" for place in range(10)]
    return {
        "id": f"case-{n:07d}",
        "query": f"How many platforms does station {gold} have, asks traveller {n}?",
        "answerable": answerable,
        "expected_notes": [f"d{gold}"] if answerable else [],
        "answers": [right] if answerable else [],
        "language": "ko" if n % 2 else "en",
        "tags": [f"tag-{n % 20}"],
        "ranking": ids,
        "contexts": [{"id": id, "text": text(int(id[1:]))} for id in ids[:3]],
        "answer": f"Station {gold} has {said} [1]." if answerable else "모르겠습니다.",
    }


def write(path: Path, records: Iterator[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def store(folder: Path, name: str) -> str:
    return f"sqlite:///{folder / f'mlflow-{name}.db'}"


# --- running it and looking at what it left -----------------------------------------------------------


def run(words: Sequence[str]) -> Spent:
    return ended(start(words))


@dataclass(frozen=True)
class Started:
    process: subprocess.Popen[bytes]
    log: Path
    began: float


def start(words: Sequence[str]) -> Started:
    descriptor, name = tempfile.mkstemp(suffix=".log")
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONPATH": str(ROOT)}
    environment["PYTHONDONTWRITEBYTECODE"] = ""  # modules stay compiled
    command = [sys.executable, "-m", "runner", *words]
    with os.fdopen(descriptor, "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
    return Started(process, Path(name), time.perf_counter())


def ended(started: Started) -> Spent:
    _, status, used = os.wait4(started.process.pid, 0)
    started.process.returncode = code = os.waitstatus_to_exitcode(status)
    wall_s, said = time.perf_counter() - started.began, started.log.read_text(encoding="utf-8", errors="replace")
    started.log.unlink()
    if code:
        sys.exit(f"exit code {code}:\n{said[-3000:]}")
    peak = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Spent(wall_s, used.ru_utime + used.ru_stime, peak)


def checked(folder: Path, cases: int) -> None:
    """Every case has its row and its place in the summary."""
    counts = read(folder / "summary.json")["cases"]
    assert counts["ok"] == counts["total"] == cases, counts
    with (folder / "per_item.jsonl").open("rb") as file:
        assert sum(1 for _ in file) == cases


def without_time(folder: Path) -> dict[str, Any]:
    return {name: value for name, value in read(folder / "summary.json").items() if name != "timing"}


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def tracked(uri: str) -> int:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    return len(client.search_runs([one.experiment_id for one in client.search_experiments()], max_results=1000))


if __name__ == "__main__":
    main()
