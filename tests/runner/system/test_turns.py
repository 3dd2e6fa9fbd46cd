"""A database that several machines use: each of them forgets what it has kept of the file before it looks."""

import fcntl
import os
from pathlib import Path

import pytest

from runner.system import mounts
from runner.system.database import Database
from tests.runner.numbers_database import SCHEMA, add, all_of


def on(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    listed = folder / "mountinfo"
    listed.write_text(f"22 1 0:21 / / rw - {kind} somewhere rw\n", encoding="utf-8")
    monkeypatch.setattr(mounts, "MOUNTS", listed)
    return Database(folder / "n.sqlite", SCHEMA)


def is_taken(path: Path) -> bool:
    """Whether another process would have to wait for its turn."""
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """The files whose contents this machine was told to drop: inode, and whether it was this process's turn."""
    found: list[tuple[int, bool]] = []

    def advise(descriptor: int, *_: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        found.append((os.fstat(descriptor).st_ino, is_taken(path.with_name(path.name + ".lock"))))

    monkeypatch.setattr(os, "posix_fadvise", advise)
    return found


def test_each_use_of_a_shared_file_is_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: list[tuple[int, bool]]
) -> None:
    numbers = on("fuse.glusterfs", tmp_path, monkeypatch)
    add(numbers, 1)
    assert forgotten == []  # there was nothing yet
    add(numbers, 2)
    assert all_of(numbers) == [1, 2]
    assert forgotten == [((tmp_path / "n.sqlite").stat().st_ino, True)] * 2
    assert not is_taken(tmp_path / "n.sqlite.lock")


def test_a_turn_ends_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = on("nfs4", tmp_path, monkeypatch)
    with pytest.raises(ZeroDivisionError):
        numbers.read(lambda _: 1 / 0)
    assert not is_taken(tmp_path / "n.sqlite.lock")
    add(numbers, 1)
    numbers.close()
    add(numbers, 2)
    assert all_of(numbers) == [1, 2]


def test_a_damaged_file_is_set_aside_within_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on("nfs4", tmp_path, monkeypatch)
    (tmp_path / "n.sqlite").write_bytes(b"rubbish" * 1000)
    numbers = Database(tmp_path / "n.sqlite", SCHEMA, is_replaceable=True)
    add(numbers, 1)
    assert (all_of(numbers), numbers.set_aside) == ([1], tmp_path / "n.damaged")


def test_a_file_of_one_machine_needs_no_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: list[tuple[int, bool]]
) -> None:
    numbers = on("ext4", tmp_path, monkeypatch)
    add(numbers, 1)
    add(numbers, 2)
    assert (all_of(numbers), forgotten) == ([1, 2], [])
    assert not (tmp_path / "n.sqlite.lock").exists()
