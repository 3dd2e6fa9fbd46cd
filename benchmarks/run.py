"""Runs the benchmarks, each in a process of its own, and writes what they measured to BENCHMARKS.md.

    python benchmarks/run.py [--quick] [--only NAME …] [--out BENCHMARKS.md]

--quick takes small sizes, to see that everything runs: its numbers say little. The machine should do nothing else.
--only keeps what the file says of the others, with the day on which they ran. What needs data that is not there is left
out, and the table says so. Ends with 1 where a benchmark failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from runner import __version__

FOLDER = Path(__file__).resolve().parent
DATA = FOLDER.parents[1] / "shared" / "data"
JUDGED = DATA / "judged_answers"  # clones of the sets that benchmarks/answers.py names
LIBRARIES = ("numpy", "scipy", "bm25s", "faiss-cpu", "hydra-core", "mlflow", "openai", "redis")
PATH = re.compile(r"(?<![\w.])/[\w.-]+(?:/[\w.-]+)+")  # of this machine, in what a benchmark prints


@dataclass(frozen=True)
class Benchmark:
    """`name`.py with `words`, or with `quick` words; `needs`: a folder of data outside of the project."""

    title: str
    name: str
    words: Sequence[str] = ()
    quick: Sequence[str] = ()
    needs: Path | None = None

    def command(self, quick: bool) -> list[str]:
        return [f"benchmarks/{self.name}.py", *(self.quick if quick else self.words)]


@dataclass(frozen=True)
class Result:
    """`output`: what it printed, or why it did not run. `date`: YYYY-MM-DD, UTC."""

    benchmark: Benchmark
    command: Sequence[str]
    state: str  # done | failed | left out
    output: str
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    date: str = ""


BENCHMARKS = (
    Benchmark("Start-up", "startup", quick=("--repeats", "1")),
    Benchmark("Pages in a browser", "pages", quick=("--cases", "200")),
    Benchmark("Pages of serve", "serve", quick=("--cases", "500")),
    Benchmark("Engine overhead", "engine", quick=("2000",)),
    Benchmark("Ranking metrics", "metrics", quick=("--queries", "200", "--repeats", "1")),
    Benchmark("Keyword and vector search", "retrieval", quick=("--passages", "2000", "--queries", "50")),
    Benchmark("Stores of vectors", "stores", quick=("--passages", "1000", "--queries", "10")),
    Benchmark("Stores on a server", "remote", quick=("--questions", "16")),
    Benchmark("Answerable questions", "answerability", quick=("--questions", "100"), needs=DATA / "squad2_en"),
    Benchmark("Weight of the legs of hybrid search", "fusion", quick=("--questions", "20"), needs=DATA / "squad2_en"),
    Benchmark("One more cell of a sweep", "sweep", quick=("--cells", "3", "--cases", "200")),
    Benchmark("Judging throughput", "models", quick=("1",)),
    Benchmark("Launchers of a sweep", "launchers", quick=("--cases", "20", "--cells", "2")),
    Benchmark("Shards of a run on two cores", "shards", quick=("--cases", "500", "--rounds", "1")),
    Benchmark("Memory store", "memory_store", quick=("100", "5")),
    Benchmark("Servers of others", "services", quick=("--runs", "20", "--cells", "5")),
    Benchmark("Trace scoring", "trace", quick=("500",)),
    Benchmark("Vault of notes", "vault", quick=("300",)),
    Benchmark("Comparison of large runs", "comparison", quick=("--cases", "2000", "--metrics", "6")),
    Benchmark("Coverage of intervals", "intervals", quick=("--repetitions", "50", "--n", "10")),
    Benchmark("Coverage of comparisons", "coverage", quick=("--tries", "5")),
    Benchmark("Regression rules", "gates", quick=("--pairs", "5", "--cases", "100")),
    Benchmark("Latency of identical runs", "identical_runs", quick=("--tries", "5")),
    Benchmark("Large runs", "soak", quick=("--quick", "--cases", "2000")),
    Benchmark("A million passages", "million", quick=("--passages", "2000")),
    Benchmark("Cases of a large run", "growth", quick=("--cases", "2000", "--documents", "20000", "--part", "500")),
    Benchmark("Right without a model against people", "answers", (str(JUDGED),), needs=JUDGED),
    Benchmark("Refusals", "refusals"),
    Benchmark("Lexical judge against people", "judge", needs=DATA / "mtrag_human"),
    Benchmark("Control items of judges", "controls", quick=("4",)),
    Benchmark("Memory judge on evidence", "memory_judge", quick=("--every", "20"), needs=DATA / "locomo_noncommercial"),
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=[each.name for each in BENCHMARKS], metavar="NAME")
    parser.add_argument("--out", type=Path, default=FOLDER.parent / "BENCHMARKS.md")
    options = parser.parse_args(argv)
    failed = False
    entries = {} if options.only is None else entries_of(options.out)
    for benchmark in BENCHMARKS:
        if options.only is None or benchmark.name in options.only:
            print(f"{benchmark.title} …", flush=True)
            result = measured(benchmark, options.quick)
            failed |= result.state == "failed"
            print(f"  {outcome(result)}", flush=True)
            entries[benchmark.title] = entry_of(result)
            ordered = {each.title: entries[each.title] for each in BENCHMARKS if each.title in entries}
            options.out.write_text(page(ordered, machine(), options.quick), encoding="utf-8")
    return int(failed)


def measured(benchmark: Benchmark, quick: bool) -> Result:
    command = benchmark.command(quick)
    if benchmark.needs is not None and not benchmark.needs.is_dir():
        return Result(benchmark, command, "left out", f"The data set {benchmark.needs.name} is not there.")
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONPATH": str(FOLDER.parent)}
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=FOLDER.parent, env=environment, text=True, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
        assert process.stdout is not None
        with process.stdout:
            output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            output += errors.read()
    peak_mb = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    state = "failed" if process.returncode else "done"
    cpu_s = used.ru_utime + used.ru_stime
    return Result(benchmark, command, state, output.strip("\n"), time.perf_counter() - began, cpu_s, peak_mb, _today())


# --- BENCHMARKS.md ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """Its row of the table, and its section without the heading."""

    row: str
    section: str


def page(entries: Mapping[str, Entry], facts: Sequence[tuple[str, str]], quick: bool) -> str:
    """`entries`: by title, in the order of the page."""
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `make bench`. Times are of one machine and say little about another; ratios say more.",
            *(["", "**Small sizes (`--quick`): these numbers say little.**"] if quick else []),
            "",
            *table(("", ""), facts),
            "",
            *table(("what", "command", "outcome"), ()),
            *(entry.row for entry in entries.values()),
            *(line for title, entry in entries.items() for line in ("", f"## {title}", "", entry.section)),
            "",
        ]
    )


def entry_of(result: Result) -> Entry:
    place = result.benchmark.title.lower().replace(" ", "-")
    link = f"[{result.benchmark.title}](#{place})"
    row = table_row((link, f"`python {' '.join(result.command)}`", outcome(result)))
    lines = [PATH.sub("…", line.rstrip()) for line in result.output.splitlines()]
    return Entry(row, "\n".join(lines if result.state == "left out" else ["```text", *lines, "```"]))


def entries_of(path: Path) -> dict[str, Entry]:
    """What an earlier page says, by title; nothing where there is none."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    rows = {match[1]: match[0] for match in re.finditer(r"^\| \[(.+?)\]\(.*$", head, re.MULTILINE)}
    parts = (section.partition("\n") for section in sections)
    return {title: Entry(rows[title], body.strip("\n")) for title, _, body in parts if title in rows}


def outcome(result: Result) -> str:
    if result.state == "left out":
        return f"left out: {result.output}"
    cost = f"{result.wall_s:.0f} s ({result.cpu_s:.0f} s CPU), at most {result.peak_mb:.0f} MB"
    return f"{result.state} in {cost}, {result.date}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [table_row(row) for row in (head, ["---"] * len(head), *rows)]


def table_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def machine() -> list[tuple[str, str]]:
    """What numbers depend on: no names of hosts, people or folders."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return [
        ("date", _today()),
        (
            "machine",
            f"{_processor()}, {cores} cores, {memory:.0f} GiB of memory, {platform.system()} {platform.machine()}",
        ),
        ("program", f"runner {__version__}, Python {platform.python_version()}"),
        ("libraries", libraries),
    ]


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "an unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
