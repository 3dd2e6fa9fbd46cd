"""What servers of others cost: an MLflow server with a password on PostgreSQL, and a Redis whose primary dies.

    python benchmarks/services.py [--runs 1000] [--cells 200] [--only NAME …]

    mlflow      one more run in an experiment of 10 runs and of `--runs`, in turns; then a sweep of `--cells` cells
                by the command `track`, which has several uploads in flight
    failover    turns of 12 sessions while the primary is killed: behind Sentinels, and in a cluster of 3 + 3 nodes that
                takes 9 seconds to see it

Of an upload: seconds on the clock, of this process and of the server, and requests. The server checks the password
of each request, a slow hash unless it remembers it (`auth_cache_ttl_seconds` of MLflow, 60 here and 0 by default: the
last line). Needs the extra `services`, and PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from plugins.memory.store.redis import RedisStore
from plugins.tracking.mlflow import MlflowTracking
from runner.commands import track
from runner.domains.memory.records import ChatTurn, SessionKey
from tests.run_folders import write_run, write_sweep_folder
from tests.services import mlflow_server
from tests.services.mlflow_server import MlflowServer, serving_mlflow
from tests.services.postgres_server import serving_postgres
from tests.services.redis_server import MASTER, VARIABLE, RedisServer, serving_cluster, serving_sentinels

FEW, ROUND, ROUNDS = 10, 5, 4
SESSIONS, NODE_TIMEOUT_MS = 12, 9_000
NAMES = ("mlflow", "failover")


@dataclass
class Spent:
    """Of `uploads`: seconds on the clock, of the processor here and at the server, and requests."""

    uploads: int = 0
    wall_s: float = 0.0
    own_s: float = 0.0
    server_s: float = 0.0
    requests: int = 0

    def line(self, name: str) -> str:
        each = [self.wall_s / self.uploads, self.own_s / self.uploads, self.server_s / self.uploads]
        numbers = "".join(f"{seconds:>12.3f}" for seconds in each)
        return f"{name:<34}{numbers}{self.requests / self.uploads:>12.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    options = parser.parse_args()
    if "mlflow" in options.only:
        mlflow(options.runs, options.cells)
    if "failover" in options.only:
        failovers()


# --- MLflow -----------------------------------------------------------------------------------------


def mlflow(n_runs: int, n_cells: int) -> None:
    with serving_postgres(needs_vector=False) as database, tempfile.TemporaryDirectory() as name:
        if database is None or not mlflow_server.is_installed():
            sys.exit(f"{mlflow_server.MISSING}, and PostgreSQL")
        folder = Path(name)
        with serving_mlflow(database, password_cache_s=60) as server:
            print(f"{'seconds for each upload':<34}{'clock':>12}{'here':>12}{'server':>12}{'requests':>12}")
            growth(server, folder, n_runs)
            sweep(server, folder, n_cells)
        with serving_mlflow(database) as server:
            spent = Spent()
            uploaded(server, runs(folder, "no memory", ROUND), spent)
            print(spent.line("a server that hashes every time"), flush=True)


def runs(folder: Path, experiment: str, count: int) -> Iterator[Path]:
    for number in range(count):
        yield write_run(folder / experiment / f"{time.monotonic_ns()}-{number}", {"experiment": experiment})


def uploaded(server: MlflowServer, folders: Iterator[Path], spent: Spent) -> None:
    tracking = MlflowTracking(uri=server.url_with_password, figures=False, timeout_s=120)
    for each in folders:
        with measured(server, spent):
            tracking.upload(each)


@contextmanager
def measured(server: MlflowServer, spent: Spent) -> Iterator[None]:
    before = time.perf_counter(), time.process_time(), server_time(server), server.requests()
    yield
    spent.uploads += 1
    spent.wall_s += time.perf_counter() - before[0]
    spent.own_s += time.process_time() - before[1]
    spent.server_s += server_time(server) - before[2]
    spent.requests += server.requests() - before[3]


def server_time(server: MlflowServer) -> float:
    """Of its processes; those of PostgreSQL are left out, as there is one a connection."""
    process = psutil.Process(server.process.pid)
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def growth(server: MlflowServer, folder: Path, n_runs: int) -> None:
    """In turns, so that what else the machine does slows both."""
    uploaded(server, runs(folder, "few runs", FEW), Spent())
    filling = Spent()
    uploaded(server, runs(folder, "many runs", n_runs), filling)
    few, many = Spent(), Spent()
    looked = {"few runs": 0.0, "many runs": 0.0}
    for _ in range(ROUNDS):
        for experiment, spent in (("few runs", few), ("many runs", many)):
            uploaded(server, runs(folder, experiment, ROUND), spent)
            looked[experiment] += newest_s(server, experiment)
    print(few.line(f"with {FEW} runs in the experiment"))
    print(many.line(f"with {n_runs:,} runs"))
    ratio, own = (many.server_s / few.server_s), many.own_s / few.own_s
    print(f"{'':<34}ratio of the server's processor time {ratio:.2f}, here {own:.2f}")
    print(f"{'':<34}looking up the newest run: ratio {looked['many runs'] / looked['few runs']:.2f}", flush=True)


def newest_s(server: MlflowServer, experiment: str) -> float:
    """As `compare latest:EXPERIMENT` looks it up."""
    from runner.tracking.mlflow_client import connect

    client = connect(server.url_with_password, 120)
    started = time.perf_counter()
    for _ in range(ROUND):
        id = client.get_experiment_by_name(experiment).experiment_id
        assert client.search_runs([id], "tags.status = 'completed'", max_results=1, order_by=["start_time DESC"])
    return time.perf_counter() - started


def sweep(server: MlflowServer, folder: Path, n_cells: int) -> None:
    swept = write_sweep_folder(folder / "swept", range(1, n_cells + 1))
    spent = Spent()
    with measured(server, spent), redirect_stdout(io.StringIO()):
        track.main([str(swept), "--uri", server.url_with_password])
    print(replace(spent, uploads=n_cells).line(f"a cell of a sweep of {n_cells}"))
    all_s = f"{spent.wall_s:.0f} s on the clock, {spent.own_s + spent.server_s:.0f} s of processors"
    print(f"{'':<34}the sweep: {all_s} (target 60 s)", flush=True)


# --- Redis ------------------------------------------------------------------------------------------


def failovers() -> None:
    with serving_sentinels() as watched:
        store = RedisStore(url=f"redis://{MASTER}/0", sentinels=watched.sentinels, password_env=VARIABLE)
        told = asyncio.run(failover(store, watched.primary.kill, watched.wait_for_promotion))
        print(f"{'three sentinels':<34}{told}", flush=True)
    with serving_cluster(3, replicas=True, node_timeout_ms=NODE_TIMEOUT_MS) as nodes:
        store = RedisStore(url=nodes[1].url, cluster=True, password_env=VARIABLE)
        told = asyncio.run(failover(store, nodes[0].kill, lambda: promoted(nodes[3])))
        print(f"{'a cluster that takes 9 s':<34}{told}", flush=True)


def promoted(replica: RedisServer) -> None:
    while replica.replication()["role"] != "master":
        time.sleep(0.02)


async def failover(store: RedisStore, kill: Callable[[], None], wait: Callable[[], None]) -> str:
    """Turns a second before and after, the longest wait, and what became of the turns."""
    numbers: dict[SessionKey, list[int]] = {SessionKey("acme", str(number)): [] for number in range(SESSIONS)}
    is_over, longest_s = False, 0.0

    async def speak(key: SessionKey) -> None:
        nonlocal longest_s
        while not is_over:
            started = time.monotonic()
            numbers[key].append(await store.append(key, ChatTurn(str(len(numbers[key]) + 1))))
            longest_s = max(longest_s, time.monotonic() - started)
            await asyncio.sleep(0.005)

    async with store.open(), asyncio.TaskGroup() as speaking:
        for key in numbers:
            speaking.create_task(speak(key))
        await asyncio.sleep(2)
        kill()
        await asyncio.to_thread(wait)
        before = sum(map(len, numbers.values()))
        while sum(map(len, numbers.values())) < before + 10 * SESSIONS:
            await asyncio.sleep(0.01)
        is_over = True
    lost = twice = 0
    async with store.open():
        for key, told in numbers.items():
            kept = [turn.user for turn in (await store.read(key)).turns]
            lost += len({*map(str, told)} - {*kept})
            twice += len(kept) - len({*kept})
    turns = sum(map(len, numbers.values()))
    return f"{turns:,} turns, longest wait {longest_s:.1f} s, {lost} lost, {twice} kept twice, the run went on"


if __name__ == "__main__":
    main()
