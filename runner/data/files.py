"""Opening the files and folders that the configuration names."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import IO

from runner.errors import RunnerError

BUFFER_BYTES = 1 << 20


def open_file(path: str, key: str, error: type[RunnerError]) -> IO[bytes]:
    """For reading bytes. A path that is no readable file raises `error` with the configuration key."""
    place = Path(path).expanduser()
    if not place.exists():
        raise error(f"{key}: file not found: {path}{_near(place)}")
    if place.is_dir():
        raise error(f"{key}: expected a file, found a folder: {path}")
    try:
        return place.open("rb", buffering=BUFFER_BYTES)
    except OSError as problem:
        raise error(f"{key}: cannot read {path}: {problem.strerror}") from None


def read_text(path: str, key: str, error: type[RunnerError]) -> str:
    """A whole file as UTF-8, without its byte order mark, line ends as `\\n`."""
    with open_file(path, key, error) as file:
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            byte = problem.object[problem.start]
            raise error(f"{key}: {path} is not UTF-8: byte 0x{byte:02x} at offset {problem.start}") from None
        except OSError as problem:
            raise error(f"{key}: cannot read {path}: {problem.strerror}") from None
    return text.replace("\r\n", "\n")


def folder(path: str, key: str, error: type[RunnerError]) -> Path:
    """A folder that exists. Otherwise `error` is raised with the configuration key."""
    place = Path(path).expanduser()
    if not place.exists():
        raise error(f"{key}: folder not found: {path}{_near(place)}")
    if not place.is_dir():
        raise error(f"{key}: expected a folder, found a file: {path}")
    return place


def _near(place: Path) -> str:
    """`; did you mean 'x'?` for a similar name in the folder, else whether the folder is missing too."""
    if not place.parent.is_dir():
        return f" (there is no folder {place.parent})"
    try:
        names = [sibling.name for sibling in place.parent.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(place.name, names, n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""
