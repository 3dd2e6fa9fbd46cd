"""What `shards=2` saves of the time of a large run on two cores, beside the same run in one process.

    python benchmarks/shards.py [--cases N] [--rounds 1] [--only NAME …]        about seven minutes, idle

    lexical   full_rag over rankings and answers that were given, judged by words
    lsa       full_rag over a corpus, ranked by vectors of embedder=lsa, judged by words
    server    full_rag over answers that were given, judged by a model on a server here, which answers at once and
              costs as little as one can (tests/services/quick_server.py)
    e5        as lsa, with embedder=e5 (extra e5), over 300 documents; not by default

Efficiency is the time of one process, divided by twice that with two shards: 1 where both cores do all of the work, and
.85 is the target for runs that take longer than a minute in one process. What keeps both cores busy in one process
cannot be twice as fast: the server needs a core, too, and e5 computes on both. The ideal is therefore the processor
time of one process and of the server over two cores, where that is more than half of the time of one process.

Times on the clock tell nothing on a machine with neighbours. `critical` is processor time alone: that of the run, which
works alone before and after its shards, and of the longer shard. The run embeds for all shards, with e5 on both cores;
of these two threads only one counts. `by CPU` is what the efficiency would come to by it.
One process and two shards take turns; figures are medians over the rounds.
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
from itertools import islice
from pathlib import Path
from threading import Event, Thread

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.soak import EVALUATIONS, Spent, data, ended, start
from tests.services.quick_server import QuickServer, quick_server

SHARDS, TARGET, LONG_S = 2, 0.85, 60.0
LOOK_S = 0.1
CASES = {"lexical": 20_000, "lsa": 11_000, "server": 21_000, "e5": 1_500}  # more than a minute of one process, idle
FEW_DOCUMENTS = 300
GIVEN = ("+experiment=full_rag", "retriever=given", "generator=given")
VECTORS = ["+experiment=full_rag", "retriever=semantic", "generator=extractive", "judge=lexical"]
WORDS_OF = {
    "lexical": EVALUATIONS["answers"],
    "lsa": [*VECTORS, "embedder=lsa"],
    "server": [*GIVEN, "judge=openai", "judge.health=false", "max_concurrency=32", "provider.openai.api_key_env=null"],
    "e5": [*VECTORS, "embedder=e5"],
}
COLUMNS = ("one s", "two s", "CPU one", "CPU two", "critical", "of server", "speed-up", "efficiency", "by CPU")


@dataclass(frozen=True)
class Pair:
    """One process and two shards. `shards_s`: processor time of each shard; `beside_s`: of the second of the threads
    with which the run computes before its shards, as embedder=e5 does; `server_s`: of the server during the run with
    one process."""

    one: Spent
    two: Spent
    shards_s: Sequence[float]
    beside_s: float
    server_s: float

    @property
    def efficiency(self) -> float:
        return max(self.one.wall_s, self.one.cpu_s + self.server_s) / SHARDS / self.two.wall_s

    @property
    def critical_s(self) -> float:
        return self.two.cpu_s - self.beside_s - sum(self.shards_s) + max(self.shards_s)

    @property
    def by_cpu(self) -> float:
        """The server works beside the shards, on the same two cores."""
        busy_s = (self.two.cpu_s + self.server_s) / SHARDS if self.server_s else 0.0
        return (self.one.cpu_s + self.server_s) / SHARDS / max(self.critical_s, busy_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, help="of each kind (default: what takes a minute)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(WORDS_OF), default=["lexical", "lsa", "server"])
    options = parser.parse_args()
    before = os.getloadavg()[0]
    print(f"rounds: {options.rounds}; target {TARGET:.2f} above {LONG_S:.0f} s")
    print(f"{'':<10}{'cases':>8}{''.join(f'{name:>11}' for name in COLUMNS)}")
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        for title in options.only:
            server = opened.enter_context(quick_server()) if title == "server" else None
            cases = options.cases or CASES[title]
            report(title, cases, [measured(Path(name), title, cases, n, server) for n in range(options.rounds)])
    load = f"load of the machine (mean of a minute) {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    print(f"{load}; {os.cpu_count()} cores")


def measured(folder: Path, title: str, cases: int, number: int, server: QuickServer | None) -> Pair:
    """Each with an empty cache. Ends this program where the two summaries are not the same."""
    words = [*WORDS_OF[title], *data(folder, cases), "tracking=none"]
    if title == "e5":
        words.append(f"dataset.corpus={few_documents(folder)}")
    words += [] if server is None else [f"provider.openai.base_url={server.url}"]
    outs = {shards: folder / f"{title}-{number}-{shards}" for shards in (1, SHARDS)}
    spent: dict[int, tuple[Spent, list[float], float]] = {}
    server_s = []
    for shards, out in outs.items():
        began_s = cpu_s_of(server)
        spent[shards] = watched([*words, f"shards={shards}", f"out={out}", f"cache_dir={out}-cache"])
        server_s.append(cpu_s_of(server) - began_s)
    one, two = (without_times(out / "summary.json") for out in outs.values())
    if one != two:
        sys.exit(f"{title}: the summaries of one process and of {SHARDS} shards differ")
    two, shards_s, beside_s = spent[SHARDS]
    return Pair(spent[1][0], two, shards_s, beside_s if title == "e5" else 0.0, server_s[0])


def few_documents(folder: Path) -> Path:
    path = folder / "few.jsonl"
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        path.write_text("".join(islice(lines, FEW_DOCUMENTS)), encoding="utf-8")
    return path


def watched(words: Sequence[str]) -> tuple[Spent, list[float], float]:
    """What a run took, the processor time of each of its shards and of the second busiest thread of the run itself, as
    far as they were seen."""
    started, seen, own = start(words), dict[int, float](), dict[Path, float]()
    is_over = Event()

    def look() -> None:
        while not is_over.wait(LOOK_S):
            for pid in children_of(started.process.pid):
                seen[pid] = cpu_s_of_process(pid) or seen.get(pid, 0.0)
            for thread in Path(f"/proc/{started.process.pid}/task").glob("*"):
                own[thread] = cpu_s_in(thread / "stat") or own.get(thread, 0.0)

    thread = Thread(target=look)
    thread.start()
    try:
        return ended(started), sorted(seen.values())[-SHARDS:], sorted([0.0, 0.0, *own.values()])[-2]
    finally:
        is_over.set()
        thread.join()


def children_of(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
    except OSError:
        return []


def cpu_s_of(server: QuickServer | None) -> float:
    return 0.0 if server is None else cpu_s_of_process(server.pid)


def cpu_s_of_process(pid: int) -> float:
    """0 where it has ended."""
    return cpu_s_in(Path(f"/proc/{pid}/stat"))


def cpu_s_in(stat: Path) -> float:
    try:
        told = stat.read_text(encoding="utf-8")
    except OSError:
        return 0.0
    user, system = told.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def without_times(path: Path) -> object:
    """Of a summary, what does not depend on the clock."""
    summary = json.loads(path.read_text(encoding="utf-8"))
    return {name: value for name, value in summary.items() if name != "timing"}


def report(title: str, cases: int, pairs: Sequence[Pair]) -> None:
    median = statistics.median
    one, two = median([pair.one.wall_s for pair in pairs]), median([pair.two.wall_s for pair in pairs])
    cpu_one, cpu_two = median([pair.one.cpu_s for pair in pairs]), median([pair.two.cpu_s for pair in pairs])
    critical, server_s = median([pair.critical_s for pair in pairs]), median([pair.server_s for pair in pairs])
    efficiency, by_cpu = median([pair.efficiency for pair in pairs]), median([pair.by_cpu for pair in pairs])
    numbers = (one, two, cpu_one, cpu_two, critical, server_s, one / two, efficiency, by_cpu)
    short = "" if one >= LONG_S else f"  below {LONG_S:.0f} s"
    print(f"{title:<10}{cases:>8,}{''.join(f'{number:>11.2f}' for number in numbers)}{short}", flush=True)


if __name__ == "__main__":
    main()
