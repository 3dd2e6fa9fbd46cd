"""Whether somebody is at work in a folder."""

import fcntl
from pathlib import Path

import pytest

from runner.run.folders import is_locked


def test_a_folder_is_locked_as_long_as_its_lock_is_held_and_looking_changes_nothing(tmp_path: Path) -> None:
    assert not is_locked(tmp_path) and not is_locked(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []
    with (tmp_path / ".lock").open("w") as lock:
        assert not is_locked(tmp_path)
        fcntl.flock(lock, fcntl.LOCK_SH)  # somebody else looks
        assert not is_locked(tmp_path)
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert is_locked(tmp_path)
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert not is_locked(tmp_path)


def test_where_it_cannot_be_told_a_folder_counts_as_locked(tmp_path: Path) -> None:
    (tmp_path / ".lock").symlink_to(".lock")
    assert is_locked(tmp_path)
    with pytest.raises(OSError, match="Too many levels"):
        (tmp_path / ".lock").open()
