"""Files that appear whole or not at all, and what is said where they cannot be written."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from runner.system.redaction import redact, redact_file, redacted_bytes
from runner.system.terminal import sanitise

OUTPUTS = Path("outputs")  # of commands without a folder in their arguments
SCRATCH = re.compile(r"\..+\.(json|jsonl|csv|md|html|xml|yaml|txt)\.\d+")  # of `replacing`
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.A)
GOES_ON = "finished cases are kept; run the same command again to resume"


FORMULA = re.compile("[\\s\ufffd]*[=+\\-@\\t＝＋－＠]")  # what a spreadsheet takes for one, after what it skips


def csv_of(rows: Iterable[Iterable[Any]]) -> str:
    """A table that a spreadsheet runs nothing of: a text that begins as a formula does has an apostrophe before it;
    numbers, and texts that are numbers (-0.5), stay. No character that steers a terminal is left in."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_cell(value) if isinstance(value, str) else value for value in row] for row in rows)
    return out.getvalue()


def _cell(text: str) -> str:
    if NUMBER.fullmatch(text):
        return text
    return f"'{sanitise(text)}" if may_be_formula(sanitise(text)) else sanitise(text)


def may_be_formula(text: str) -> bool:
    """Whether a text gets an apostrophe in a table: also one that has some before a formula, so that none is lost."""
    return FORMULA.match(text.lstrip("'")) is not None


def relative_path(path: Path) -> Path:
    """The path as it is displayed: relative to the working folder where it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def no_place_for_a_file(path: Path) -> str | None:
    """Why no file can be written there; checked before there is anything to write."""
    try:
        if path.is_dir():
            return f"{path} is a folder; expected the name of a file"
        nearest = next(folder for folder in path.absolute().parents if folder.exists())
    except OSError as error:  # a name that is too long
        return f"cannot write {path}: {error.strerror}"
    if not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)):
        return f"cannot write {path}: {nearest} is not a folder that can be written to"
    return None


def write_text(path: Path, text: str) -> None:
    """Write a text in place, without the secrets of this process."""
    path.write_text(redact(text), encoding="utf-8")


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes in place, without the secrets of this process."""
    path.write_bytes(redacted_bytes(data))


@contextmanager
def replacing(path: Path, *, redacts: bool = True) -> Iterator[Path]:
    """A file beside `path` to write into. It takes the place of `path` at the end, without the secrets of this
    process: a reader sees the old file or the new one, and the old one stays where something is raised. An OSError
    names `path`. `redacts`: not where what is written was redacted before and must stay as it is."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield scratch
        if redacts:
            redact_file(scratch)
        scratch.replace(path)
    except BaseException as error:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and str(error.filename or scratch) == str(scratch):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def remove_half_written(folder: Path) -> None:
    """Delete the temporary files that killed processes left while `replacing` files in a folder and in those directly
    below it. Only where no other process writes."""
    for path in (*folder.glob(".*"), *folder.glob("*/.*")):
        if SCRATCH.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()


def os_error_text(error: OSError, place: Path | str) -> str:
    """`FILE: No space left on device; …`. `place`: what is named where the error names no file."""
    if error.errno is None:
        return f"{place}: {error}"
    return f"{error.filename or place}: {error.strerror}" + (f"; {GOES_ON}" if error.errno in FULL else "")


def ignore_in_git(folder: Path) -> None:
    """Make git ignore a folder whose content is not committed, unless it has a .gitignore already."""
    with suppress(FileExistsError), (folder / ".gitignore").open("x", encoding="utf-8") as file:
        file.write("*\n")


def make_folder(folder: Path, *, exist_ok: bool = True) -> None:
    """Make a folder with its parents. A new ./outputs is ignored by git; a folder elsewhere may be meant to be
    committed. Raises OSError."""
    outputs = OUTPUTS.absolute()
    is_first = outputs in folder.absolute().parents and not outputs.exists()
    folder.mkdir(parents=True, exist_ok=exist_ok)
    if is_first:
        ignore_in_git(outputs)
