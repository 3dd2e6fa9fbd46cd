"""File systems that lock no files, and those that several machines mount."""

import errno
import fcntl
import multiprocessing
import os
import re
from pathlib import Path

import pytest

from runner.cli import main
from runner.errors import InputError
from runner.llm.presence import Presence
from runner.run.folders import is_locked, lock_folder
from runner.system import mounts as mounted
from runner.system.database import Database
from runner.system.locks import NoLocksError, check_locks, check_locks_of_machines, lock
from runner.system.mounts import mount_of
from runner.system.store import Store
from tests.runner.numbers_database import SCHEMA, add, all_of
from tests.small_data import small_data

REASON = "does not lock files (Operation not supported); choose a folder on another one, or have it mounted with locks"


def without_locks(monkeypatch: pytest.MonkeyPatch, folder: Path, code: int = errno.EOPNOTSUPP) -> None:
    """As a file system below `folder` that refuses flock."""
    real = fcntl.flock

    def flock(descriptor: int, kind: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().is_relative_to(folder):
            raise OSError(code, os.strerror(code))
        real(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_is_not_a_folder_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    without_locks(monkeypatch, tmp_path, code)
    expected = f"out: the file system of {tmp_path} does not lock files ({os.strerror(code)}); "
    with pytest.raises(NoLocksError, match=re.escape(expected)), lock_folder(tmp_path):
        pass
    assert not is_locked(tmp_path)  # nobody can
    with pytest.raises(InputError, match=r"^cache_dir: the file system of "):
        Presence(tmp_path)
    with pytest.raises(InputError, match=r"^cache_dir: the file system of "):
        Store(tmp_path).folder("kind", {}, Path.mkdir)
    with pytest.raises(InputError, match=r"^cache_dir: the file system of "):
        check_locks("cache_dir", tmp_path)


def test_a_lock_that_is_held_is_waited_for_or_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("w") as one, path.open("w") as other:
        lock(one.fileno(), "out", path, shared=True)
        lock(other.fileno(), "out", path, shared=True)
        with pytest.raises(BlockingIOError):
            lock(one.fileno(), "out", path)
    with path.open("w") as one:
        lock(one.fileno(), "out", path, waits=True)


@pytest.mark.parametrize("setting", ["out", "cache_dir"])
def test_a_command_names_the_file_system(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "nfs"
    place.mkdir()
    without_locks(monkeypatch, place)
    words = ["+experiment=retrieval_only", *small_data(tmp_path / "data"), "tracking=none", "retriever=keyword"]
    folders = {"out": tmp_path / "here", "cache_dir": tmp_path / "cache", setting: place / "there"}
    named = [f"{name}={folder}" for name, folder in folders.items()]
    assert main([*words, *named, "report.language=ko"]) == 1
    english, korean = capsys.readouterr().err.splitlines()
    assert english == f"error: {setting}: the file system of {place / 'there'} {REASON}"
    assert korean.startswith(f"오류: {setting}: 파일을 잠글 수 없는 파일 시스템입니다: {place / 'there'}(Operation ")


def test_the_two_kinds_of_locks_are_tried_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS and GlusterFS, where flock is kept as a lock of the whole file, which excludes fcntl's of another
    owner, also of the same process."""
    real, locked = fcntl.flock, set[int]()

    def flock(descriptor: int, kind: int) -> None:
        real(descriptor, kind)
        (locked.discard if kind == fcntl.LOCK_UN else locked.add)(descriptor)

    def lockf(descriptor: int, _: int) -> None:
        if descriptor in locked:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(fcntl, "lockf", lockf)
    check_locks("cache_dir", tmp_path)


# --- SQLite on file systems of several machines ----------------------------------------------------


def mounts(folder: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    listed = folder / "mountinfo"
    listed.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.setattr(mounted, "MOUNTS", listed)


def kind_of(path: Path) -> str:
    return mount_of(path).kind


def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts(
        tmp_path,
        monkeypatch,
        "22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/vda rw",
        "40 22 0:40 / /mnt/team rw - autofs systemd rw",
        r"41 40 0:41 / /mnt/team rw master:2 - nfs4 server:/export rw",
        r"42 41 0:42 / /mnt/team/my\040disk rw - xfs /dev/vdb rw",
    )
    assert kind_of(Path("/mnt/teams/cache")) == "ext4"
    assert kind_of(Path("/mnt/team/cache/replies.sqlite")) == "nfs4"
    assert kind_of(Path("/mnt/team/my disk")) == "xfs"
    monkeypatch.setattr(mounted, "MOUNTS", tmp_path / "none")
    assert kind_of(Path("/mnt/team")) == "local"


def _add_many(path: Path, listed: Path, first: int) -> None:
    mounted.MOUNTS = listed
    numbers = Database(path, SCHEMA)
    for n in range(first, first + 50):
        add(numbers, n)
    numbers.close()


@pytest.mark.parametrize(
    ("kind", "journal"),
    [("ext4", "wal"), ("nfs4", "delete"), pytest.param("fuse.sshfs", "delete", marks=pytest.mark.slow)],
)
def test_no_log_in_shared_memory_where_several_machines_may_write(
    kind: str, journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts(tmp_path, monkeypatch, f"22 1 0:21 / / rw - {kind} somewhere rw")
    numbers, path = Database(tmp_path / "n.sqlite", SCHEMA), tmp_path / "n.sqlite"
    add(numbers, -1)
    assert numbers.read(lambda rows: rows.execute("PRAGMA journal_mode").fetchone()) == (journal,)
    assert path.with_name("n.sqlite-shm").exists() == (journal == "wal")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(_add_many, [(path, tmp_path / "mountinfo", first) for first in (0, 50)])
    assert all_of(numbers) == list(range(-1, 100))


def test_a_file_that_was_made_with_a_log_goes_on_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a cache that is copied to a shared disk."""
    path = tmp_path / "n.sqlite"
    numbers = Database(path, SCHEMA)
    add(numbers, 1)
    numbers.close()
    mounts(tmp_path, monkeypatch, "22 1 0:21 / / rw - nfs4 somewhere rw")
    add(numbers, 2)
    assert numbers.read(lambda rows: rows.execute("PRAGMA journal_mode").fetchone()) == ("delete",)
    assert all_of(numbers) == [1, 2]


@pytest.mark.parametrize(
    ("mount", "is_refused"),
    [
        ("nfs4 server:/x rw,vers=4.2,local_lock=none", False),
        ("nfs server:/x rw,vers=3,local_lock=all", True),
        ("nfs server:/x rw,nolock", True),
        ("cifs //server/x rw,nobrl", True),
        ("lustre server:/x rw,localflock", True),
        ("fuse.glusterfs server:/x rw", False),
        ("fuse.sshfs user@server:/x rw", True),
        ("ext4 /dev/vda rw,nolock", False),
    ],
)
def test_a_disk_whose_locks_other_machines_do_not_see(
    mount: str, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts(tmp_path, monkeypatch, f"22 1 0:21 / {tmp_path} rw - {mount}")
    kind = mount.split()[0]
    if not is_refused:
        check_locks_of_machines("out", tmp_path / "new")
        return
    expected = f"out: machines do not see each other's locks on the file system of {tmp_path / 'new'} ({kind}); choose "
    with pytest.raises(NoLocksError, match=re.escape(expected)):
        check_locks_of_machines("out", tmp_path / "new")
