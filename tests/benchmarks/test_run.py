"""The table of BENCHMARKS.md: what ran, what did not and why, and nothing that tells whose machine it was."""

import getpass
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.run import BENCHMARKS, FOLDER, Benchmark, Result, machine, measured, page

ENGINE = Benchmark("Engine overhead", "engine", quick=("100",))
JUDGE = Benchmark("Judge | people", "judge", needs=Path("/nowhere/people"))


def test_the_page() -> None:
    results = [
        Result(ENGINE, ["benchmarks/engine.py"], "done", "32  8.1 us\n/home/somebody/x.py: a/b  ", 61.2, 59.6, 120.4),
        measured(JUDGE, quick=False),
    ]
    assert (
        page(results, [("date", "2026-01-02")], quick=False)
        == """# Benchmarks

Written by `make bench`. Times are of one machine and say little about another; ratios say more.

|  |  |
| --- | --- |
| date | 2026-01-02 |

| what | command | outcome |
| --- | --- | --- |
| [Engine overhead](#engine-overhead) | `python benchmarks/engine.py` | done in 61 s (60 s CPU), at most 120 MB |
| [Judge \\| people](#judge-\\|-people) | `python benchmarks/judge.py` | left out: The data set people is not there. |

## Engine overhead

```text
32  8.1 us
…: a/b
```

## Judge | people

The data set people is not there.
"""
    )


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
    assert run.main(["--quick", "--only", "engine", "--out", str(tmp_path / "B.md")]) == 0
    text = (tmp_path / "B.md").read_text(encoding="utf-8")
    assert "| [Engine overhead](#engine-overhead) | `python benchmarks/engine.py 2000` | done in " in text
    assert "in flight  \u00b5s a case" in text and "Small sizes" in text
    failed = measured(Benchmark("Engine", "engine", words=("many",)), quick=False)
    assert failed.state == "failed" and "ValueError" in failed.said


@pytest.mark.parametrize("name", ["startup", "sweep", "soak"])
def test_help(name: str) -> None:
    command = [sys.executable, f"{FOLDER}/{name}.py", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(FOLDER.parent)})
    assert done.stdout.startswith("usage:")
