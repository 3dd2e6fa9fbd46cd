"""How long the pages of `serve` take over two runs of many cases, against reading their rows.

python benchmarks/serve.py [--cases 100000] [--root FOLDER]

Two real runs of the demo are written over as many cases as are asked for (100,000: 1.5 GB in FOLDER, which is used
again where it is there; else a folder that is removed at the end). A server is started on them twice: without the
columns of the cases, as runs of an older version are, and with them, as runs leave them. Seconds at the loopback; the
last column is the share of the time that one pass over the rows of both takes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from runner.compare.case_index import FILE, indexed
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--root", type=Path)
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
            with served(root) as address:
                measure(address, root, read_s)


def measure(address: str, root: Path, read_s: float) -> None:
    _, row = next(lines_at(root / "a" / "per_item.jsonl"))
    for name, path in ASKED:
        url = address + (path % quote(str(row["id"])) if "%s" in path else path)
        began = time.perf_counter()
        text = shown = fetched(url)
        first_s = time.perf_counter() - began
        while "data-reload" in text:  # rows are being read
            time.sleep(0.05)
            text = fetched(url)
        last_s = time.perf_counter() - began
        waited = "" if text is shown else f"   (says that it reads; cases after {last_s:.2f} s)"
        print(f"{name:<22}{first_s:>8.3f} s{first_s / read_s:>8.4f}{waited}")


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fetched(url: str) -> str:
    with urlopen(url, timeout=300) as answer:
        return str(answer.read().decode())


def forget(root: Path) -> None:
    for path in root.glob(f"*/{FILE}"):
        path.unlink()


def make(root: Path) -> None:
    for name in "ab":
        indexed(root / name / "per_item.jsonl", writes=True)


@contextmanager
def served(root: Path) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "runner", "serve", "--port", str(port), "--root", str(root), "tracking=none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            process.stderr.readline()
            yield f"http://127.0.0.1:{port}"
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
