"""How long a person waits before anything runs: --help, one command's help, checking a run, and the smallest run.

python benchmarks/startup.py [--repeats 5]

Each is a process of its own, in an empty folder; the best of the repeats counts. The baseline is Python that does
nothing, with the standard library and numpy.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUN = ["-m", "runner", "+experiment=retrieval_only", "retriever=keyword", "tracking=none"]
STEPS = {
    "python": ["-c", "pass"],
    "python, numpy": ["-c", "import numpy"],
    "--help": ["-m", "runner", "--help"],
    "compare --help": ["-m", "runner", "compare", "--help"],
    "a run, checked only": [*RUN, "dry_run=true"],
    "a sweep of 20 cells, checked only": [*RUN, "dry_run=true", "k=" + ",".join(map(str, range(1, 21)))],
    "the demo, first time": [*RUN, "cold_start=true"],
    "the demo, index stored": RUN,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'':<36}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}   best of {options.repeats}")
    for name, words in STEPS.items():
        wall_s, cpu_s, peak_mb = (
            min(column) for column in zip(*(once(words) for _ in range(options.repeats)), strict=True)
        )
        print(f"{name:<36}{wall_s:>8.2f}{cpu_s:>8.2f}{peak_mb:>9.0f}", flush=True)


def once(words: list[str]) -> tuple[float, float, float]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}  # modules stay compiled
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)}: exit code {process.returncode}")
    return wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    main()
