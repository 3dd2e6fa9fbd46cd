"""A database on a disk without room, in a folder that cannot be written, and for several processes."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.errors import StopRunError
from runner.system.database import Database
from tests.runner.numbers_database import SCHEMA, add, all_of, database

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "새 폴더" / "a#b.sqlite"


def test_a_folder_in_its_place(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StopRunError, match=r"a#b.sqlite: unable to open database file$"):
        add(database(path), 1)


def test_a_file_in_the_place_of_its_folder(path: Path) -> None:
    path.parent.write_text("")
    with pytest.raises(StopRunError, match="File exists"):
        add(database(path), 1)


def test_a_full_disk_is_one_clear_line_and_nothing_is_lost(path: Path) -> None:
    script = f"""
import resource, sys
from tests.runner.numbers_database import add, all_of, database
from pathlib import Path
numbers = database(Path({str(path)!r}))
add(numbers, 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
try:
    for n in range(2, 1000):
        add(numbers, n)
except Exception as error:
    print(type(error).__name__, error, all_of(numbers) == list(range(1, n)))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
add(numbers, n)
print(all_of(numbers) == list(range(1, n + 1)))
"""
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    first, second = said.splitlines()
    said = f"{path}: disk I/O error; finished cases are kept; run the same command again to resume"
    assert first.startswith(f"StopRunError {said} ")
    assert first.endswith("True")
    assert second == "True"


def test_no_room_for_another_page(path: Path) -> None:
    numbers = database(path)
    add(numbers, 1)
    numbers.read(lambda rows: rows.execute("PRAGMA max_page_count = 2"))  # as many as there are
    with pytest.raises(StopRunError) as raised:
        numbers.write(lambda rows: rows.executemany("INSERT INTO number VALUES (?)", [(n,) for n in range(2, 5000)]))
    assert str(raised.value) == (
        f"{path}: No space left on device; finished cases are kept; run the same command again to resume"
    )
    assert all_of(numbers) == [1]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Of 64 KiB, in which 20 are left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a disk")
    (disk / "other").write_bytes(bytes(44 * 1024))
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_no_room_for_what_readers_share(small_disk: Path) -> None:
    path = small_disk / "a.sqlite"
    numbers = database(path)
    with pytest.raises(StopRunError) as raised:
        add(numbers, 1)
    assert str(raised.value) == (
        f"{path}: No space left on device; finished cases are kept; run the same command again to resume"
    )
    (small_disk / "other").unlink()
    add(numbers, 2)
    assert all_of(numbers) == [2]
    numbers.close()


WRITER = """
import sys
from pathlib import Path
from tests.runner.numbers_database import add, database
numbers = database(Path(sys.argv[1]))
for n in range(200):
    add(numbers, 1000 * int(sys.argv[2]) + n)
"""


def test_processes_that_create_and_write_at_the_same_time_lose_nothing(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)], cwd=ROOT) for number in range(6)
    ]
    assert [writer.wait() for writer in writers] == [0] * 6
    assert len(all_of(database(path))) == 6 * 200


def test_threads_share_one_connection(path: Path) -> None:
    numbers = database(path)
    threads = [threading.Thread(target=add, args=(numbers, n)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all_of(numbers) == list(range(20))


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """In which an ordinary user, whom this process becomes if it has to, cannot write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        add(numbers := database(folder / "kept.sqlite"), 1)
        numbers.close()
        is_root = os.geteuid() == 0
        (folder / "kept.sqlite").chmod(0o444)
        folder.chmod(0o555)
        if is_root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
            folder.chmod(0o755)


def test_a_read_only_file_in_a_read_only_folder(read_only_folder: Path) -> None:
    kept = read_only_folder / "kept.sqlite"
    assert all_of(Database(kept, SCHEMA, read_only=True)) == [1]
    with pytest.raises(StopRunError, match="attempt to write a readonly database"):
        add(database(kept), 2)


def test_reading_only_creates_and_heals_nothing(path: Path) -> None:
    with pytest.raises(StopRunError, match="unable to open"):
        all_of(Database(path, SCHEMA, read_only=True))
    path.parent.mkdir()
    path.write_bytes(b"rubbish" * 1000)
    with pytest.raises(StopRunError, match="file is not a database"):
        all_of(Database(path, SCHEMA, read_only=True))
    assert list(path.parent.iterdir()) == [path]


def test_reading_only_sees_what_a_killed_process_has_committed(path: Path) -> None:
    script = f"""
import os
from pathlib import Path
from tests.runner.numbers_database import add, database
add(database(Path({str(path)!r})), 5)
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == -9
    assert all_of(Database(path, SCHEMA, read_only=True)) == [5]
