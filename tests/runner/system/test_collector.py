import gc
import os
import subprocess
import sys
import weakref
from itertools import pairwise
from pathlib import Path

import pytest

from runner.system import collector
from runner.system.collector import SELDOM, STARTING, collect, collect_seldom, put_off


class Node:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("is_frozen", [False, True])
def test_what_was_there_is_left_alone_until_the_end_and_what_comes_is_not(
    is_frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a program that leaves it alone itself, the same stays so."""
    monkeypatch.setattr(collector, "_is_frozen", False)  # what an earlier command saw of this process
    gc.unfreeze()
    if is_frozen:
        gc.freeze()
    usual = gc.get_threshold()
    try:
        with collect_seldom(freezes=False):
            assert (gc.get_freeze_count() > 0, gc.get_threshold()) == (is_frozen, SELDOM)
            with collect_seldom(), collect_seldom():
                assert gc.get_freeze_count() > 10_000
                node = weakref.ref(Node())
                collect()
                assert node() is None
            assert (gc.get_freeze_count() > 0, gc.get_threshold()) == (is_frozen, SELDOM)
        assert gc.get_threshold() == usual
    finally:
        gc.freeze()  # as the suite has it


def test_what_stays_is_left_alone_from_the_first_collection_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """And from later ones on where that is said; a cycle that begins afterwards is collected."""
    monkeypatch.setattr(collector, "_is_frozen", False)
    monkeypatch.setattr(collector, "FEW", 0)
    gc.unfreeze()
    try:
        with collect_seldom():
            counts, kept = [gc.get_freeze_count()], []
            for settles in (False, False, True):
                kept.append([Node() for _ in range(1_000)])
                passing = weakref.ref(Node())
                collect(settles=settles)
                assert passing() is None
                counts.append(gc.get_freeze_count())
            first, second, third = (after - before for before, after in pairwise(counts))
            assert first >= 1_000
            assert abs(second) < 500
            assert third >= 2_000
        assert gc.get_freeze_count() == 0
    finally:
        gc.freeze()  # as the suite has it


@pytest.mark.parametrize("freeze", ["pass", "gc.freeze()"])
def test_a_process_that_ends_quickly_flushes_what_is_open(freeze: str, tmp_path: Path) -> None:
    """A file that only a cycle holds is closed by nobody."""
    program = (
        "import gc, sys\n"
        "from runner.system.collector import end_quickly\n"
        "class Node: pass\n"
        "end_quickly()\n"
        "node = Node()\n"
        "node.itself, node.file = node, open(sys.argv[1], 'w')\n"
        "node.file.write('written')\n"
        f"del node\n{freeze}\n"
    )
    path = tmp_path / "file"
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(path)], check=True)
    assert path.read_text() == "written"


def test_few_cycles_wait_for_those_of_the_next_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_is_frozen", False)
    gc.unfreeze()
    try:
        with collect_seldom():
            collect()
            passing, kept = weakref.ref(Node()), []
            collect()
            assert passing() is not None
            while gc.get_count()[0] < collector.FEW:
                kept.append([])
            collect()
            assert passing() is None
    finally:
        gc.freeze()


def test_while_a_program_starts_hardly_anything_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_is_frozen", False)
    gc.unfreeze()
    usual = gc.get_threshold()
    try:
        put_off()
        assert gc.get_threshold() == usual  # outside of a body
        with collect_seldom(freezes=False):
            put_off()
            assert gc.get_threshold() == STARTING
            with collect_seldom():
                put_off()
                assert gc.get_threshold() == SELDOM
        assert gc.get_threshold() == usual
    finally:
        gc.freeze()  # as the suite has it


ENDING = """
import atexit, os, sys
{before}
from runner.system.collector import end_quickly, end_with
class Noisy:
    def __del__(self, write=os.write):
        write(1, b"taken apart")
end_quickly()
atexit.register(print, "handler")
{within}
sys.noisy = Noisy()  # goes with the last that Python takes apart
print("said")
end_with(3)
sys.exit(3)
"""


@pytest.mark.parametrize(
    ("before", "within", "is_quick"),
    [
        ("", "", True),
        ("atexit.register(print, 'earlier')", "", False),
        ("", "import sqlite3; database = sqlite3.connect('numbers.sqlite')", False),
        ("", "written = open('file', 'w')", True),
        ("", "import sqlite3", True),
    ],
    ids=["alone", "earlier handler", "open database", "open file", "closed databases"],
)
def test_a_process_ends_without_being_taken_apart_where_nothing_is_left_to_do(
    before: str, within: str, is_quick: bool, tmp_path: Path
) -> None:
    program = ENDING.format(before=before, within=within)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert (ended.returncode, ended.stderr) == (3, "")
    assert ended.stdout.startswith("said\nhandler\n")
    assert ("taken apart" not in ended.stdout) == is_quick
    assert ("earlier" in ended.stdout) == ("earlier" in before)


def test_a_process_whose_reader_is_gone_ends_as_python_has_it() -> None:
    program = "from runner.system.collector import end_quickly, end_with\nend_quickly()\nprint('x')\nend_with(0)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([sys.executable, "-c", program], stdout=writing, stderr=subprocess.PIPE, env=environment)
    os.close(writing)
    assert ended.returncode == 120
    assert b"BrokenPipeError" in ended.stderr
