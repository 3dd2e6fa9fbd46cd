import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from runner.system.database import DamagedError, Database
from tests.runner.numbers_database import SCHEMA, add, all_of, database

ROOT = Path(__file__).parents[3]


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


def test_one_that_nobody_holds_any_more_frees_its_file(path: Path) -> None:
    """At once, and without the warning of Python 3.13 about connections that it must close itself."""
    numbers, held = database(path), list[sqlite3.Connection]()
    numbers.read(held.append)
    held[0].execute("SELECT 1")
    del numbers
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        held[0].execute("SELECT 1")


def test_a_transaction_is_whole_or_nothing(path: Path) -> None:
    numbers = database(path)

    def fail_in_the_middle(rows: sqlite3.Connection) -> None:
        rows.execute("INSERT INTO number VALUES (1)")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        numbers.write(fail_in_the_middle)
    add(numbers, 2)  # nothing is left open
    assert all_of(numbers) == [2] and numbers.set_aside is None


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


@pytest.mark.parametrize("is_made", ["not at all", "without tables"])
def test_a_reader_finds_no_rows_in_a_file_without_tables_and_looks_again(path: Path, is_made: str) -> None:
    path.parent.mkdir()
    path.touch()
    if is_made == "without tables":
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA journal_mode = WAL")
        other.close()
    reader = Database(path, SCHEMA, read_only=True)
    assert all_of(reader) == []
    add(numbers := database(path, is_replaceable=False), 1)
    assert all_of(reader) == [1] and numbers.set_aside is None


CREATOR = """
import sys
from pathlib import Path
from tests.runner.numbers_database import add, database
for name in sys.stdin:
    add(numbers := database(Path(name.strip()), is_replaceable=False), 1)
    numbers.close()
    print("made", flush=True)
"""


def test_a_reader_beside_the_creator_reads_nothing_or_all(tmp_path: Path) -> None:
    """While the file is made, it is at no moment a file of another program."""
    states: Counter[int] = Counter()
    creator = subprocess.Popen(
        [sys.executable, "-c", CREATOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert creator.stdin is not None and creator.stdout is not None
    for n in range(60):
        path = tmp_path / f"{n}.sqlite"
        print(path, file=creator.stdin, flush=True)
        while not path.exists():
            pass
        while not (rows := all_of(Database(path, SCHEMA, read_only=True))):
            states[0] += 1
        states[len(rows)] += 1
        assert creator.stdout.readline() == "made\n"
    creator.communicate()
    assert creator.returncode == 0 and states[1] == 60 and states[0] > 0
