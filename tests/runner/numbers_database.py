"""A database of numbers."""

from pathlib import Path

from runner.system.database import Database

SCHEMA = "CREATE TABLE number (n INTEGER PRIMARY KEY)"


def database(path: Path, *, is_replaceable: bool = True) -> Database:
    return Database(path, SCHEMA, is_replaceable=is_replaceable)


def add(numbers: Database, n: int) -> None:
    numbers.write(lambda rows: rows.execute("INSERT INTO number VALUES (?)", (n,)))


def all_of(numbers: Database) -> list[int]:
    return numbers.read(lambda rows: [n for (n,) in rows.execute("SELECT n FROM number")])
