"""What one more k of a sweep costs, beside a run of its own: the cells share index and ranking.

python benchmarks/sweep.py [--cells 10] [--cases 2000]

CPU seconds of whole commands, each a process of its own with an empty cache. The one run has the k in the middle,
since answers are judged against k contexts; `each more` is the difference between the sweep and that run, divided by
the further cells. Tracking is off: MLflow costs the same whatever a run does.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.soak import EVALUATIONS, data, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=10)
    parser.add_argument("--cases", type=int, default=2_000)
    options = parser.parse_args()
    ks = range(1, options.cells + 1)
    print(f"{options.cases:,} cases, {options.cells} values of k")
    print(f"{'':<32}{'one run s':>10}{'sweep s':>9}{'each more s':>13}{'of a run':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, words in EVALUATIONS.items():
            shared = [*words, *data(folder, options.cases), "tracking=none"]
            one = run([*shared, *at(folder / f"{title}-one", [ks[len(ks) // 2]])])
            many = run([*shared, *at(folder / f"{title}-many", ks)])
            each = (many.cpu_s - one.cpu_s) / (options.cells - 1)
            print(f"{title:<32}{one.cpu_s:>10.1f}{many.cpu_s:>9.1f}{each:>13.2f}{each / one.cpu_s:>10.0%}", flush=True)


def at(folder: Path, ks: Sequence[int]) -> list[str]:
    return [f"k={','.join(map(str, ks))}", f"out={folder / 'out'}", f"cache_dir={folder / 'cache'}"]


if __name__ == "__main__":
    main()
