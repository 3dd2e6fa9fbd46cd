"""Runs that spend a pretended budget, and what they have asked. See spending.py for the evaluation."""

import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from tests.command_line.result_files import read

ROOT = Path(__file__).resolve().parents[2]
CONF = Path(__file__).with_name("spending_conf")  # one for all tests: what is composed of it is composed once
ONE = ["--config-dir", str(CONF), "evaluation=spending", "tracking=none", "max_concurrency=1", "format=json"]
TWO = [*ONE, "evaluation.name=a,b", "out=x"]


def begin() -> None:
    happens()
    limit(1000)
    forget()


def happens(*events: str) -> None:
    Path("events.txt").write_text("\n".join(events), encoding="utf-8")


def limit(cases: int) -> None:
    Path("limit.txt").write_text(str(cases), encoding="utf-8")


def forget() -> None:
    for name in ("asked.txt", "prepared.txt"):
        Path(name).write_text("", encoding="utf-8")


def asked() -> list[tuple[str, str]]:
    """(run, case) in the order in which they were begun."""
    return [(line.split()[0], line.split()[1]) for line in Path("asked.txt").read_text(encoding="utf-8").splitlines()]


def passes() -> list[tuple[str, list[str]]]:
    """The cases that one run after the other was given."""
    return [(run, sorted(case for _, case in group)) for run, group in groupby(asked(), key=lambda line: line[0])]


def prepared() -> int:
    return Path("prepared.txt").read_text(encoding="utf-8").count("\n")


def numbers(path: str) -> str:
    """The bytes of a summary apart from its timing."""
    summary = read(path)
    assert summary.pop("timing")
    return json.dumps(summary)


def in_a_process(program: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """What a program ends as that gets these words."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
