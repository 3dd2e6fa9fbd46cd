"""What one more cell of a sweep costs, beside a run of its own: the cells share data, rankings and stored replies.

python benchmarks/sweep.py [--cells 10] [--cases 2000] [--many 200] [--only NAME …]

    retrieval   retrieval_only, a cell for each k
    answers     full_rag over answers that were given, judged by words, a cell for each k
    judged      the same, judged by a model whose replies are in the cache, a cell for each min_score
    memory      the built-in conversations, a cell for each window
    many        `--many` cells of retrieval_only in one command, over a fifth of the cases

CPU seconds of whole commands, each a process of its own. The one run has the value in the middle, since answers are
judged against k contexts; `each more` is the difference between the sweep and that run, divided by the further cells.
Memory is the highest that the process had; `KB a cell` is the difference between the sweep and one of its first two
cells, divided by the further cells, since what cells share is kept once in both. Of many cells, the time that each of
the first twenty and of the last twenty took, from one outcome to the next. Tracking is off: MLflow costs the same
whatever a run does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.soak import EVALUATIONS, Spent, data, run
from tests.services.models_server import models_process

TARGETS = {"retrieval": 0.10, "answers": 0.15, "judged": 0.15, "memory": 0.15}
FEW = 2  # cells of the sweep whose memory a larger one is held against: both keep what their cells share
ENDS = 20  # cells at either end of many
NAMES = (*TARGETS, "many")


@dataclass(frozen=True)
class Sweep:
    """`words` of every cell; `option` takes a value a cell."""

    words: Sequence[str]
    option: str
    values: Sequence[object]

    def command(self, folder: Path, values: Sequence[object], cache: str) -> list[str]:
        swept = f"{self.option}={','.join(map(str, values))}"
        return [*self.words, swept, f"out={folder / 'out'}", f"cache_dir={folder.parent / cache}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=10)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--many", type=int, default=200, help="cells in one command; 0: none")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    options = parser.parse_args()
    print(f"{options.cases:,} cases, {options.cells} cells")
    columns = ("one run s", "sweep s", "each more s", "of a run", "target", "KB a cell")
    print(f"{'':<12}{''.join(f'{name:>13}' for name in columns)}")
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        for title in (title for title in TARGETS if title in options.only):
            sweep = sweep_of(title, folder, options, opened)
            one, few, many = measured(sweep, folder, title, is_stored=title == "judged")
            each = (many.cpu_s - one.cpu_s) / (options.cells - 1)
            kb = (many.peak_mb - few.peak_mb) * 1024 / (options.cells - FEW)
            numbers = (
                f"{one.cpu_s:>13.1f}{many.cpu_s:>13.1f}{each:>13.2f}{each / one.cpu_s:>13.2f}{TARGETS[title]:>13.2f}"
            )
            print(f"{title:<12}{numbers}{kb:>13,.0f}", flush=True)
        if "many" in options.only and options.many:
            many_cells(folder, options.cases // 5, options.many)


def sweep_of(title: str, folder: Path, options: argparse.Namespace, opened: ExitStack) -> Sweep:
    """The values of the option are such that each cell does something else."""
    ks, given = range(1, options.cells + 1), [*data(folder, options.cases), "tracking=none"]
    if title == "memory":
        return Sweep(["+experiment=memory", "memory=window", "tracking=none"], "memory.window", ks)
    if title != "judged":
        return Sweep([*EVALUATIONS[title], *given], "k", ks)
    url = opened.enter_context(models_process(latency_ms=0)).url
    judge = [
        "judge=openai",
        "judge.health=false",
        f"provider.openai.base_url={url}",
        "provider.openai.api_key_env=null",
    ]
    words = [word for word in EVALUATIONS["answers"] if not word.startswith("judge=")]
    return Sweep([*words, *judge, *given], "min_score", [place / options.cells for place in range(options.cells)])


def measured(sweep: Sweep, folder: Path, title: str, *, is_stored: bool) -> tuple[Spent, Spent, Spent]:
    """One run, a sweep of few cells and the whole one, each with an empty cache, or all with all replies in it."""
    middle = [sweep.values[len(sweep.values) // 2]]
    if is_stored:
        run(sweep.command(folder / f"{title}-first", middle, "cache"))
    values = {"one": middle, "few": sweep.values[:FEW], "many": sweep.values}
    one, few, many = (
        run(sweep.command(folder / f"{title}-{name}", each, "cache" if is_stored else f"{title}-cache-{name}"))
        for name, each in values.items()
    )
    return one, few, many


def many_cells(folder: Path, cases: int, cells: int) -> None:
    """Whether the last cells cost what the first did, in time and in memory."""
    sweep = Sweep([*EVALUATIONS["retrieval"], *data(folder, cases), "tracking=none"], "min_score", [])
    peaks = {}
    for n in (cells // 4, cells):
        peaks[n] = run(sweep.command(folder / f"cells-{n}", [place / n for place in range(n)], f"cache-{n}")).peak_mb
    ends = [(folder / f"cells-{cells}" / "out" / str(cell) / ".outcome.json").stat().st_mtime for cell in range(cells)]
    first, last = (ends[ENDS] - ends[0]) / ENDS, (ends[-1] - ends[-1 - ENDS]) / ENDS
    kb = (peaks[cells] - peaks[cells // 4]) * 1024 / (cells - cells // 4)
    print(f"\n{cells} cells of {cases:,} cases in one command, {peaks[cells]:.0f} MB:")
    print(
        f"{'':<12}a cell of the first {ENDS} {first:.3f} s, of the last {ENDS} {last:.3f} s, ratio {last / first:.2f}"
    )
    print(f"{'':<12}{kb:,.0f} KB for each more cell than {cells // 4} (target 100)", flush=True)


if __name__ == "__main__":
    main()
