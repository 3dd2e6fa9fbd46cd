"""One sweep by each launcher that is installed: the same numbers, and what a worker that is killed costs.

python benchmarks/launchers.py [--cases 200] [--cells 4] [--only NAME …]

    (none)     in the process of the command, one run after the other
    joblib     on the cores of this machine
    submitit   as SLURM would, by processes of this machine
    ray        on a Ray that the command starts; an environment with the extras `ray` and `slurm` has all of them

Every case asks a judge behind a server here, which takes 100 ms. First undisturbed; then, with an empty cache, one
process that holds connections to the server is killed with SIGKILL when half of the requests have come (without a
launcher that is the command itself, and the same command is given again). "sent again": requests above those of the
undisturbed sweep. Ends with 1 where a cell did not complete or its summary differs from that of the first launcher.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.soak import Started, data, ended, read, start, without_time
from tests.services.models_server import ModelsProcess, models_process

NONE = "(none)"
PLUGINS = {NONE: "hydra", **{name: f"hydra_plugins.hydra_{name}_launcher" for name in ("joblib", "submitit", "ray")}}
WORDS = ("+experiment=full_rag", "retriever=given", "generator=given", "judge=openai", "judge.health=false")
LOCAL = ("provider.openai.api_key_env=null", "tracking=none")
OF_RAY = ("hydra.launcher.ray.init.address=local",)
LATENCY_MS = 100
LATEST_S = 600.0
COLUMNS = ("wall s", "requests", "killed s", "requests", "sent again")


@dataclass(frozen=True)
class Outcome:
    wall_s: float
    requests: int
    summaries: list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--only", nargs="+", choices=list(PLUGINS), default=list(PLUGINS))
    options = parser.parse_args()
    print(f"{options.cells} cells of {options.cases} cases, {LATENCY_MS} ms a request; {os.cpu_count()} cores")
    print(f"{'':<10}{''.join(f'{name:>12}' for name in COLUMNS)}")
    expected: list[dict[str, Any]] | None = None
    with (
        tempfile.TemporaryDirectory(prefix="run-", dir="/tmp") as scratch,
        models_process(latency_ms=LATENCY_MS) as server,
    ):
        folder = Path(scratch)
        os.environ["RAY_TMPDIR"] = scratch  # sockets need a short path
        for launcher in options.only:
            if not is_installed(PLUGINS[launcher]):
                print(f"{launcher:<10}  not installed", flush=True)
                continue
            words = [*WORDS, *LOCAL, *data(folder, options.cases), *words_of(launcher, options.cells, server)]
            whole = outcome_of(words, folder / f"{launcher}-whole", server)
            half = outcome_of(words, folder / f"{launcher}-killed", server, kill_at=whole.requests // 2)
            expected = expected or whole.summaries
            if not expected == whole.summaries == half.summaries:
                sys.exit(f"{launcher}: the summaries are not those of {options.only[0]}")
            numbers = (whole.wall_s, whole.requests, half.wall_s, half.requests, half.requests - whole.requests)
            print(f"{launcher:<10}{''.join(f'{number:>12,.{places(number)}f}' for number in numbers)}", flush=True)


def places(number: float) -> int:
    return 1 if isinstance(number, float) else 0


def is_installed(module: str) -> bool:
    with suppress(ModuleNotFoundError):  # of the package around it
        return find_spec(module) is not None
    return False


def words_of(launcher: str, cells: int, server: ModelsProcess) -> list[str]:
    """Every cell asks a model of another name, so none finds its judgements in the cache."""
    words = [f"provider.openai.base_url={server.url}", f"judge.model={','.join(f'openai:m{n}' for n in range(cells))}"]
    words += [] if launcher == NONE else [f"hydra/launcher={launcher}"]
    return words + (list(OF_RAY) if launcher == "ray" else [])


def outcome_of(words: Sequence[str], out: Path, server: ModelsProcess, kill_at: int | None = None) -> Outcome:
    server.counters(reset=True)
    command = [*words, f"out={out}", f"cache_dir={out}-cache"]
    began = time.perf_counter()
    started = start(command)
    if kill_at is not None and kill(started, server, kill_at) == started.process.pid:
        started.process.wait()
        started = start(command)
    ended(started)
    wall_s = time.perf_counter() - began
    statuses = [cell["status"] for cell in read(out / "sweep.json")["cells"]]
    if set(statuses) != {"completed"}:
        sys.exit(f"{out.name}: {statuses}")
    summaries = [without_time(out / str(number)) for number in range(len(statuses))]
    return Outcome(wall_s, int(server.counters()["requests"]), summaries)


def kill(started: Started, server: ModelsProcess, requests: int) -> int:
    """Kill one process that talks to the server, when it has had so many requests. Returns its id."""
    until = time.monotonic() + LATEST_S
    while time.monotonic() < until and started.process.poll() is None:
        if server.counters()["requests"] >= requests:
            for pid in clients_of(server):
                os.kill(pid, signal.SIGKILL)
                return pid
        time.sleep(0.02)
    sys.exit("the command ended before anything was killed")


def clients_of(server: ModelsProcess) -> Iterator[int]:
    """Processes, but for this and the server, that hold a connection to the server's port."""
    matched = re.search(r":(\d+)/", server.url)
    assert matched is not None
    remote = f":{int(matched[1]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    sockets = {f"socket:[{row[9]}]" for row in rows if row[2].endswith(remote) and row[3] == "01"}
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) not in (os.getpid(), server.pid) and any(name in sockets for name in open_files(folder)):
            yield int(folder.name)


def open_files(process: Path) -> Iterator[str]:
    """What its descriptors link to; nothing of a process that has ended."""
    with suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with suppress(OSError):
                yield str(descriptor.readlink())


if __name__ == "__main__":
    main()
