import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.database import DamagedError, Database
from runner.errors import StopRunError

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = "CREATE TABLE number (n INTEGER PRIMARY KEY)"


def database(path: Path, *, is_replaceable: bool = True) -> Database:
    return Database(path, SCHEMA, is_replaceable=is_replaceable)


def add(numbers: Database, n: int) -> None:
    numbers.write(lambda rows: rows.execute("INSERT INTO number VALUES (?)", (n,)))


def all_of(numbers: Database) -> list[int]:
    return numbers.read(lambda rows: [n for (n,) in rows.execute("SELECT n FROM number")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "새 폴더" / "a#b.sqlite"


def test_nothing_is_there_before_it_is_used_and_what_is_written_stays(path: Path) -> None:
    numbers = database(path)
    assert not path.parent.exists()
    add(numbers, 1)
    numbers.close()
    add(numbers, 2)  # opens again
    numbers.close()
    assert all_of(database(path)) == [1, 2]


def test_in_memory_without_a_path() -> None:
    numbers = Database(None, SCHEMA)
    add(numbers, 1)
    assert all_of(numbers) == [1]


def test_a_transaction_is_whole_or_nothing(path: Path) -> None:
    numbers = database(path)

    def fail_in_the_middle(rows: sqlite3.Connection) -> None:
        rows.execute("INSERT INTO number VALUES (1)")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        numbers.write(fail_in_the_middle)
    add(numbers, 2)  # nothing is left open
    assert all_of(numbers) == [2]


@pytest.mark.parametrize("content", [b"no database at all, " * 400, b"SQLite format 3\x00" + bytes(5000)])
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    numbers = database(path)
    add(numbers, 1)
    assert all_of(numbers) == [1]
    assert path.with_suffix(".damaged").read_bytes() == content
    assert numbers.set_aside == path.with_suffix(".damaged")


def test_a_file_with_other_tables_is_set_aside_untouched(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = path.read_bytes()
    add(database(path), 1)
    assert path.with_suffix(".damaged").read_bytes() == before


def many(path: Path) -> None:
    numbers = database(path)
    numbers.write(lambda rows: rows.executemany("INSERT INTO number VALUES (?)", [(n,) for n in range(5000)]))
    numbers.close()


def damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 4)


def test_damage_that_shows_while_it_is_open(path: Path) -> None:
    many(path)
    numbers = database(path)
    numbers.read(lambda rows: rows.execute("SELECT 1"))
    damage(path)
    assert all_of(numbers) == []
    add(numbers, 7)
    assert all_of(numbers) == [7]


def test_what_another_process_has_begun_anew_is_not_set_aside(path: Path) -> None:
    many(path)
    mine = database(path)
    mine.read(lambda rows: rows.execute("SELECT 1"))
    damage(path)
    theirs = database(path)
    assert all_of(theirs) == []
    add(theirs, 1)
    assert all_of(mine) == [1]
    add(mine, 2)
    assert all_of(theirs) == [1, 2]


@pytest.mark.parametrize("content", [b"no database at all, " * 400, b""])
def test_a_file_that_must_not_be_replaced_says_what_is_wrong(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    if not content:
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE theirs (x)")
        other.close()
    reason = "file is not a database" if content else "a file of another program, or of another version of this one"
    with pytest.raises(DamagedError, match=f"a#b.sqlite: {reason}$"):
        add(database(path, is_replaceable=False), 1)
    with pytest.raises(DamagedError, match=f"a#b.sqlite: {reason}; move it away$"):
        add(Database(path, SCHEMA, advice="move it away"), 1)
    assert not path.with_suffix(".damaged").exists()


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
from tests.runner.test_database import add, all_of, database
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
    said = f"{path}: disk I/O error; finished cases stay, and the same command goes on from there"
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
        f"{path}: No space left on device; finished cases stay, and the same command goes on from there"
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
        f"{path}: No space left on device; finished cases stay, and the same command goes on from there"
    )
    (small_disk / "other").unlink()
    add(numbers, 2)
    assert all_of(numbers) == [2]
    numbers.close()


WRITER = """
import sys
from pathlib import Path
from tests.runner.test_database import add, database
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
from tests.runner.test_database import add, database
add(database(Path({str(path)!r})), 5)
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == -9
    assert all_of(Database(path, SCHEMA, read_only=True)) == [5]


def test_a_head_of_a_format_that_there_is_not_is_damage(path: Path) -> None:
    numbers = database(path)
    add(numbers, 1)
    numbers.close()
    content = bytearray(path.read_bytes())
    content[44:48] = (9).to_bytes(4, "big")  # the schema format, which is 1 to 4
    path.write_bytes(content)
    add(numbers, 2)
    assert all_of(numbers) == [2] and numbers.set_aside == path.with_suffix(".damaged")
    numbers.close()


def test_sqlite_tells_of_the_damage_in_bytes_that_are_no_text(path: Path) -> None:
    numbers = database(path)
    add(numbers, 1)
    numbers.close()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE number", b"CREATE \x80ABLE number"))
    assert path.read_bytes() != content
    with pytest.raises(DamagedError, match="a name in it is no text"):
        all_of(database(path, is_replaceable=False))
    numbers = database(path)
    assert all_of(numbers) == [] and numbers.set_aside == path.with_suffix(".damaged")
