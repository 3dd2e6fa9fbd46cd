"""How long the pages of `serve` take over two runs of many cases, against reading their rows, and while runs go on.

python benchmarks/serve.py [--cases 100000] [--root FOLDER] [--clients 200]

Two real runs of the demo are written over as many cases as are asked for (100,000: 1.5 GB in FOLDER, which is used
again where it is there; else a folder that is removed at the end). A server is started on them twice: without the
columns of the cases, as runs of an older version are, and with them, as runs leave them. Seconds at the loopback, then
seconds of processor time that the server took; the last column is the share of the time that one pass over the rows of
both takes. In the end, so many clients read pages of smaller runs while two jobs run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from runner.compare.case_index import FILE, read_cases
from runner.system.folder import lines_at
from tests.services.ports import free_port

SIDE = "/side?runs=a&runs=b"
ASKED = (
    ("list of runs", "/"),
    ("first side by side", SIDE),
    ("again", SIDE),
    ("failing", f"{SIDE}&show=failing"),
    ("changed", f"{SIDE}&show=changed"),
    ("last page", f"{SIDE}&page=5000"),
    ("search, a word", f"{SIDE}&q={quote('환불')}"),
    ("search, a letter", f"{SIDE}&q=e"),
    ("search, two words", f"{SIDE}&show=changed&q={quote('하드 어디')}"),
    ("one case", f"{SIDE}&case=%s"),
    ("results from 90,000", "/evaluation/runs/a?offset=90000&limit=100"),
)
SHEET = "/evaluation/runs/a/labels"
EACH = 5  # requests of a client
KS = ",".join(map(str, range(1, 21)))  # of a sweep that outlasts them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--root", type=Path)
    parser.add_argument("--clients", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = (options.root or Path(scratch)).resolve()
        if not (root / "b" / "run.json").is_file():
            write(root, options.cases)
        read_s = timed(lambda: [sum(1 for _ in lines_at(root / name / "per_item.jsonl")) for name in "ab"])
        print(f"one pass over the rows of both: {read_s:.2f} s")
        for title, prepare in (("without columns", forget), ("with columns", make)):
            prepare(root)
            print(f"\n{title}")
            shutil.rmtree(root / ".serve", ignore_errors=True)
            with served(root) as (address, pid):
                measure(address, pid, root, read_s)
        print(f"\n{options.clients} clients while two jobs run")
        with served(Path(scratch) / "small") as (address, pid):
            crowd(address, pid, options.clients)


def measure(address: str, pid: int, root: Path, read_s: float) -> None:
    _, row = next(lines_at(root / "a" / "per_item.jsonl"))
    for name, path in ASKED:
        url = address + (path % quote(str(row["id"])) if "%s" in path else path)
        began, before = time.perf_counter(), cpu_s(pid)
        text = shown = fetched(url)
        first_s, worked_s = time.perf_counter() - began, cpu_s(pid) - before
        while "data-reload" in text:  # rows are being read
            time.sleep(0.05)
            text = fetched(url)
        last_s = time.perf_counter() - began
        waited = "" if text is shown else f"   (says that it reads; cases after {last_s:.2f} s)"
        print(f"{name:<22}{first_s:>8.3f} s{worked_s:>8.2f} s{first_s / read_s:>8.4f}{waited}")
    for name, asked in (("first sheet", {}), ("second rater", {}), ("failing first", {"pick": "failing"})):
        began, before = time.perf_counter(), cpu_s(pid)
        fetched(address + SHEET, {"rater": name, **asked})
        taken_s = time.perf_counter() - began
        print(f"{name:<22}{taken_s:>8.3f} s{cpu_s(pid) - before:>8.2f} s{taken_s / read_s:>8.4f}")


def crowd(address: str, pid: int, n_clients: int) -> None:
    """Clients that read at the same time, each some pages one after another, without a pause."""
    ids = [started(address, "runs", {"k": k}) for k in (3, 5)]
    until(address, [f"runs/{id}" for id in ids], ("completed",))
    sweeps = [started(address, "sweeps", {"overrides": [f"k={KS}", f"seed={seed}"]}) for seed in (1, 2)]
    until(address, [f"sweeps/{id}" for id in sweeps], ("running",))
    runs = "&".join(f"runs={id}" for id in ids)
    paths = [
        "/",
        "/evaluation/runs",
        f"/side?{runs}",
        f"/evaluation/runs/{ids[0]}",
        f"/evaluation/cases?{runs}&show=changed",
    ]

    def read(number: int) -> list[float]:
        times = []
        for step in range(EACH):
            began = time.perf_counter()
            fetched(address + paths[(number + step) % len(paths)])
            times.append(time.perf_counter() - began)
        return times

    began, before = time.perf_counter(), cpu_s(pid)
    with ThreadPoolExecutor(n_clients) as pool:
        times = sorted(taken for listed in pool.map(read, range(n_clients)) for taken in listed)
    took_s, worked_s = time.perf_counter() - began, cpu_s(pid) - before
    statuses = [status_of(address, f"sweeps/{id}") for id in sweeps]
    middle, late, last = (f"{times[int(share * (len(times) - 1))]:.2f} s" for share in (0.5, 0.95, 1))
    print(f"{len(times)} answers, all 200, in {took_s:.1f} s: median {middle}, p95 {late}, last {last}")
    print(f"processor time of the server: {1000 * worked_s / len(times):.1f} ms an answer")
    print(f"jobs afterwards: {', '.join(statuses)}")
    for id in sweeps:
        fetched(f"{address}/evaluation/sweeps/{id}/cancel", {})
    until(address, [f"sweeps/{id}" for id in sweeps], ("cancelled",))


def started(address: str, kind: str, job: dict[str, object]) -> str:
    body = {"evaluation_type": "full_rag", **job}
    return str(json.loads(fetched(f"{address}/evaluation/datasets/demo/{kind}", body))["id"])


def status_of(address: str, path: str) -> str:
    return str(json.loads(fetched(f"{address}/evaluation/{path}?limit=0"))["status"])


def until(address: str, paths: Sequence[str], statuses: tuple[str, ...]) -> None:
    while not all(status_of(address, path) in statuses for path in paths):
        time.sleep(0.1)


def cpu_s(pid: int) -> float:
    """Of a process of Linux, so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fetched(url: str, body: object = None) -> str:
    """Raises HTTPError for what is no success."""
    request = Request(url)
    if body is not None:
        request = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urlopen(request, timeout=300) as answer:
        return str(answer.read().decode())


def forget(root: Path) -> None:
    for path in root.glob(f"*/{FILE}"):
        path.unlink()


def make(root: Path) -> None:
    for name in "ab":
        read_cases(root / name / "per_item.jsonl", writes=True)


@contextmanager
def served(root: Path) -> Iterator[tuple[str, int]]:
    """Address and process."""
    port = free_port()
    command = [sys.executable, "-m", "runner", "serve", "--port", str(port), "--root", str(root), "tracking=none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            process.stderr.readline()
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.kill()


def write(root: Path, n_cases: int) -> None:
    """Runs `a` and `b`: rows of real ones, again and again under other ids."""
    root.mkdir(parents=True, exist_ok=True)
    for name, k in (("a", 3), ("b", 10)):
        words = ["+experiment=full_rag", f"k={k}", "tracking=none", f"out={root / name}", "format=json"]
        subprocess.run([sys.executable, "-m", "runner", *words], check=True, capture_output=True)
        path = root / name / "per_item.jsonl"
        rows = [row for _, row in lines_at(path)]
        rows.sort(key=lambda row: str(row["id"]))
        with path.open("wb") as file:
            for number in range(n_cases):
                row = {**rows[number % len(rows)], "id": f"{rows[number % len(rows)]['id']}-{number:06}"}
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
