"""Whether the last cases of a large run cost what its first cost: judged cases over a large corpus.

    python benchmarks/growth.py [--cases 100000] [--documents 500000] [--part 1000]

One run of full_rag, its rankings, contexts and answers given, judged by words: what is left is what the program does
for each case. The gold document of a case lies at its share of the corpus, so that a step that walks the corpus is
dearer for the last case than for the first. CPU time of the process, read from outside while rows are appended.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import psutil

from benchmarks import soak

EVERY_S = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--part", type=int, default=1_000, help="cases of which the mean is taken at either end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [*soak.EVALUATIONS["answers"], *data(folder, options.documents, options.cases), "tracking=none"]
        marks, total_s, peak_mb = watched([*words, f"out={folder / 'out'}", f"cache_dir={folder / 'cache'}"])
    cost = [(later - earlier) * 1e3 for earlier, later in pairwise(marks)]
    print(f"{options.cases:,} judged cases over {options.documents:,} documents: {total_s:.0f} s CPU, {peak_mb:.0f} MB")
    parts = parted(cost, options.part)
    print(f"{'':<12}CPU ms a case, the first {options.part:,} after the first hundred, each tenth, and the last:")
    print(f"{'':<12}{'  '.join(f'{each:.2f}' for each in parts)}")
    print(f"{'':<12}last / first {parts[-1] / parts[0]:.2f}\n", flush=True)


def data(folder: Path, documents: int, cases: int) -> list[str]:
    """As in soak.py, over another number of documents, with the cases spread over them."""
    corpus, queries, step = folder / "corpus.jsonl", folder / "queries.jsonl", documents // cases
    soak.DOCUMENTS = documents
    soak.write(corpus, ({"id": f"d{n}", "title": f"Note {n}", "text": soak.text(n)} for n in range(documents)))
    soak.write(queries, (soak.case(n * step) for n in range(cases)))
    return ["dataset=jsonl", f"dataset.corpus={corpus}", f"dataset.queries={queries}"]


def watched(words: Sequence[str]) -> tuple[list[float], float, float]:
    """CPU seconds of the process when each row had been appended; of the whole; and its highest use of memory."""
    rows = Path(next(word for word in words if word.startswith("out=")).removeprefix("out=")) / "per_item.jsonl"
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONPATH": str(soak.ROOT)}
    command = [sys.executable, "-m", "runner", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    seen, file, marks = psutil.Process(process.pid), None, []
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(EVERY_S)
        file = file or (rows.open("rb") if rows.exists() else None)
        fresh = 0 if file is None else file.read().count(b"\n")
        if fresh:
            used = seen.cpu_times()
            now, before = used.user + used.system, marks[-1] if marks else 0.0
            marks += [before + (now - before) * place / fresh for place in range(1, fresh + 1)]
    _, status, used_all = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"exit code {process.returncode}")
    return marks, used_all.ru_utime + used_all.ru_stime, used_all.ru_maxrss / 2**10


def parted(cost: Sequence[float], part: int) -> list[float]:
    """Means: of the first cases (without the hundred that warm the program up), of each tenth, and of the last."""
    warm, tenth = cost[100:], max(1, len(cost) // 10)
    tenths = [cost[place * tenth : (place + 1) * tenth] for place in range(10)]
    return [sum(each) / len(each) for each in (warm[:part], *tenths, cost[-part:])]


if __name__ == "__main__":
    main()
