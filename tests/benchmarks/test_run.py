"""The table of BENCHMARKS.md: what ran, what did not and why, and nothing that tells whose machine it was."""

import getpass
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.run import BENCHMARKS, FOLDER, Benchmark, Result, entries_of, entry_of, machine, measured, page

ENGINE = Benchmark("Engine overhead", "engine", quick=("100",))
JUDGE = Benchmark("Judge", "judge", needs=Path("/nowhere/people"))


def test_the_page(tmp_path: Path) -> None:
    results = [
        Result(
            ENGINE,
            ["benchmarks/x.py"],
            "done",
            "32  8.1 us\n/home/somebody/x.py: a/b  ",
            61.2,
            59.6,
            120.4,
            "2026-01-02",
        ),
        measured(JUDGE, quick=False),
    ]
    entries = {result.benchmark.title: entry_of(result) for result in results}
    text = page(entries, [("date", "2026-01-02")], quick=False)
    assert (
        text
        == """# Benchmarks

Written by `make bench`. Times are of one machine and say little about another; ratios say more.

|  |  |
| --- | --- |
| date | 2026-01-02 |

| what | command | outcome |
| --- | --- | --- |
| [Engine overhead](#engine-overhead) | `python benchmarks/x.py` | done in 61 s (60 s CPU), at most 120 MB, 2026-01-02 |
| [Judge](#judge) | `python benchmarks/judge.py` | left out: The data set people is not there. |

## Engine overhead

```text
32  8.1 us
…: a/b
```

## Judge

The data set people is not there.
"""
    )
    (tmp_path / "BENCHMARKS.md").write_text(text, encoding="utf-8")
    assert entries_of(tmp_path / "BENCHMARKS.md") == entries
    assert entries_of(tmp_path / "none.md") == {}


def test_the_machine_is_told_without_names() -> None:
    told = machine()
    assert [name for name, _ in told] == ["date", "machine", "program", "libraries"]
    text = " ".join(value for _, value in told)
    assert "cores" in text and "GiB" in text and "numpy" in text
    for name in (platform.node(), getpass.getuser(), str(Path.home())):
        assert name not in text


def test_every_benchmark_is_there_and_in_the_list() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")} - {"run"}
    assert {each.name for each in BENCHMARKS} == scripts


def test_one_that_runs_and_one_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = Result(
        Benchmark("Pages in a browser", "pages"), ["benchmarks/pages.py"], "done", "0.3 s", date="2026-01-02"
    )
    earlier = page({"Pages in a browser": entry_of(pages)}, [], quick=False)
    (tmp_path / "B.md").write_text(earlier, encoding="utf-8")
    assert run.main(["--quick", "--only", "engine", "--out", str(tmp_path / "B.md")]) == 0
    text = (tmp_path / "B.md").read_text(encoding="utf-8")
    assert "at most 0 MB, 2026-01-02 |" in text and "## Pages in a browser\n\n```text\n0.3 s\n```" in text
    assert "| [Engine overhead](#engine-overhead) | `python benchmarks/engine.py 2000` | done in " in text
    assert "in flight  \u00b5s a case" in text and "Small sizes" in text
    failed = measured(Benchmark("Engine", "engine", words=("many",)), quick=False)
    assert failed.state == "failed" and "ValueError" in failed.output


@pytest.mark.parametrize("name", ["startup", "sweep", "soak"])
def test_help(name: str) -> None:
    command = [sys.executable, f"{FOLDER}/{name}.py", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(FOLDER.parent)})
    assert done.stdout.startswith("usage:")
