"""What `shards=2` saves of the time of a large run on two cores, beside the same run in one process.

python benchmarks/shards.py [--cases 30000] [--rounds 3] [--only NAME …]

    lexical   full_rag over rankings and answers that were given, judged by words
    lsa       full_rag over a corpus, ranked by vectors of embedder=lsa, judged by words
    server    full_rag over answers that were given, judged by a model on a server here, which answers at once

Efficiency is the time of one process, divided by twice that with two shards: 1 where both cores do all of the work, and
.85 is the target for runs that take longer than a minute in one process. The server needs a core, too, and has no
third one: the ideal of that row is the processor time of client and server together over two cores, where that is more
than half of the time of one process. One process and two shards take turns; figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.soak import EVALUATIONS, Spent, data, run
from tests.services.models_server import ModelsProcess, models_process

SHARDS, TARGET, LONG_S = 2, 0.85, 60.0
GIVEN = ("+experiment=full_rag", "retriever=given", "generator=given")
WORDS_OF = {
    "lexical": EVALUATIONS["answers"],
    "lsa": ["+experiment=full_rag", "retriever=semantic", "embedder=lsa", "generator=extractive", "judge=lexical"],
    "server": [*GIVEN, "judge=openai", "judge.health=false", "max_concurrency=32", "provider.openai.api_key_env=null"],
}
COLUMNS = ("one s", "two s", "CPU one", "CPU two", "of server", "speed-up", "efficiency")


@dataclass(frozen=True)
class Pair:
    """One process and two shards. `server_s`: processor time of the server during the run with two."""

    one: Spent
    two: Spent
    server_s: float

    @property
    def ideal_s(self) -> float:
        both_s = self.two.cpu_s + self.server_s if self.server_s else 0.0
        return max(self.one.wall_s / SHARDS, both_s / SHARDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(WORDS_OF), default=list(WORDS_OF))
    options = parser.parse_args()
    before = os.getloadavg()[0]
    print(f"{options.cases:,} cases; rounds: {options.rounds}; target {TARGET:.2f} above {LONG_S:.0f} s")
    print(f"{'':<10}{''.join(f'{name:>12}' for name in COLUMNS)}")
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        for title in options.only:
            server = opened.enter_context(models_process(latency_ms=0)) if title == "server" else None
            report(title, [measured(Path(name), title, options.cases, n, server) for n in range(options.rounds)])
    load = f"load of the machine (mean of a minute) {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    print(f"{load}; {os.cpu_count()} cores")


def measured(folder: Path, title: str, cases: int, number: int, server: ModelsProcess | None) -> Pair:
    """Each with an empty cache. Ends this program where the two summaries are not the same."""
    words = [*WORDS_OF[title], *data(folder, cases), "tracking=none"]
    words += [] if server is None else [f"provider.openai.base_url={server.url}"]
    outs = {shards: folder / f"{title}-{number}-{shards}" for shards in (1, SHARDS)}
    spent, server_s = {}, 0.0
    for shards, out in outs.items():
        began_s = cpu_s_of(server)
        spent[shards] = run([*words, f"shards={shards}", f"out={out}", f"cache_dir={out}-cache"])
        server_s = cpu_s_of(server) - began_s
    one, two = (without_times(out / "summary.json") for out in outs.values())
    if one != two:
        sys.exit(f"{title}: the summaries of one process and of {SHARDS} shards differ")
    return Pair(spent[1], spent[SHARDS], server_s)


def cpu_s_of(server: ModelsProcess | None) -> float:
    if server is None:
        return 0.0
    user, system = Path(f"/proc/{server.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def without_times(path: Path) -> object:
    """Of a summary, what does not depend on the clock."""
    summary = json.loads(path.read_text(encoding="utf-8"))
    return {name: value for name, value in summary.items() if name != "timing"}


def report(title: str, pairs: Sequence[Pair]) -> None:
    median = statistics.median
    one, two = median([pair.one.wall_s for pair in pairs]), median([pair.two.wall_s for pair in pairs])
    cpu_one, cpu_two = median([pair.one.cpu_s for pair in pairs]), median([pair.two.cpu_s for pair in pairs])
    server_s, efficiency = median([pair.server_s for pair in pairs]), median([p.ideal_s / p.two.wall_s for p in pairs])
    numbers = (one, two, cpu_one, cpu_two, server_s, one / two, efficiency)
    short = "" if one >= LONG_S else f"  below {LONG_S:.0f} s"
    print(f"{title:<10}{''.join(f'{number:>12.2f}' for number in numbers)}{short}", flush=True)


if __name__ == "__main__":
    main()
