"""Reading what a run or a sweep left in its folder."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from runner.errors import InputError, did_you_mean

DOCUMENTS = ".documents.json"  # digests of the documents, for the snapshot
CONTENTS = (
    "a run folder holds run.json, summary.json, per_item.jsonl and errors.jsonl; "
    "a sweep folder holds sweep.json and one folder per run"
)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """run.json and summary.json of one run (an empty mapping where the run never got that far)."""

    path: Path
    run: Mapping[str, Any]
    summary: Mapping[str, Any]

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """The rows of per_item.jsonl in file order, one at a time."""
        return lines(self.path / "per_item.jsonl")

    def errors(self) -> Iterator[Mapping[str, Any]]:
        """The records of errors.jsonl, in their order."""
        return lines(self.path / "errors.jsonl")


def case_counts(summary: Mapping[str, Any]) -> dict[str, int]:
    """`done` are the cases with a result."""
    counts = {"total": 0, "ok": 0, "failed": 0, "timeout": 0, "pending": 0, **(summary.get("cases") or {})}
    return {**counts, "done": counts["ok"] + counts["failed"] + counts["timeout"]}


def identities(run: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The hashes of run.json: of the data that was read, and of components that ask models (what they say, and to
    whom)."""
    config = run.get("config") or {}
    found: Mapping[str, str] = run.get("identity") or {}
    parts = {name: digest for name, digest in found.items() if isinstance(config.get(name), Mapping)}
    return {name: digest for name, digest in found.items() if name not in parts}, parts


def is_sweep(folder: Path) -> bool:
    """Whether a folder is that of a sweep: sweep.json lies in it."""
    return (folder / "sweep.json").is_file()


def open_run(folder: Path) -> RunFolder:
    """Raises InputError when `folder` is not the folder of a run."""
    run = read_json(folder / "run.json", "run")
    summary = read_json(folder / "summary.json", "run") if (folder / "summary.json").is_file() else {}
    return RunFolder(folder, run, summary)


def open_sweep(folder: Path) -> Mapping[str, Any]:
    """sweep.json. Raises InputError when `folder` is not the folder of a sweep, or when its runs are damaged."""
    path = folder / "sweep.json"
    sweep = read_json(path, "sweep")
    for kind in ("cells", "references"):
        told = sweep.get(kind) or []
        wrong = f": expected a list, found {type(told).__name__}" if not isinstance(told, list) else None
        found = enumerate(map(_wrong, told)) if wrong is None else ()
        wrong = wrong or next((f".{place}{problem}" for place, problem in found if problem), None)
        if wrong:
            raise InputError(f"{path}: damaged: {kind}{wrong}; the command that made the sweep makes it again")
    return sweep


def _wrong(cell: Any) -> str | None:
    """The fault of an entry of a run in sweep.json."""
    if not isinstance(cell, dict):
        return f": expected an object, found {type(cell).__name__}"
    if not isinstance(cell.get("folder"), str):
        return f".folder: expected a text, found {cell.get('folder')!r:.40}"
    overrides = cell.get("overrides") or []
    if not isinstance(overrides, list):
        return f".overrides: expected a list, found {type(overrides).__name__}"
    other = next((each for each in overrides if not isinstance(each, str)), None)
    return None if other is None else f".overrides: expected texts, found {other!r:.40}"


def near_runs(folder: Path) -> str:
    """A suggestion for a missing folder: one with a similar name, or the newest run beside it."""
    if folder.exists():
        return ""
    runs = sorted(path.parent for name in ("run.json", "sweep.json") for path in folder.parent.glob(f"*/{name}"))
    near = did_you_mean(str(folder), map(str, runs))
    return near if "did you mean" in near or not runs else f"; the newest one there is {runs[-1]}"


def read_json(path: Path, kind: str) -> Mapping[str, Any]:
    """A JSON object of a run folder. Raises InputError for a missing, unreadable or other file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        what = f"not a {kind} folder: no {path.name} in it" if path.parent.is_dir() else "no such folder"
        raise InputError(f"{path.parent}: {what}{near_runs(path.parent) or f' ({CONTENTS})'}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


class EqualParts:
    """Parts of JSON objects that are equal in several of them, each kept once: the runs of a sweep differ in few of
    their settings and metrics. Nobody changes the objects."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def share(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """An equal object made of parts that are known."""
        return {name: self._share(part) for name, part in record.items()}

    def _share(self, value: Any) -> Any:
        if not isinstance(value, dict | list) or not value:
            return value
        try:
            key = blake2b(orjson.dumps(value), digest_size=16).digest()
        except TypeError:  # letters in halves, numbers of more than 64 bits
            return value
        if key not in self._known:
            self._known[key] = self.share(value) if isinstance(value, dict) else list(map(self._share, value))
        return self._known[key]


JSON_VALUES = (dict, list, str, int, float, types.NoneType)


@contextmanager
def legible(folder: Path) -> Iterator[None]:
    """Raise an InputError for an error inside that comes of values which a damaged or edited file holds. An attribute
    that something else than such a value lacks is an error of the program, and passes."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, AttributeError) and not isinstance(error.obj, JSON_VALUES):
            raise
        what = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{folder}: its files are damaged or were edited ({what}); the command that made them makes them again"
        ) from error


KEPT_BYTES = 6_000_000  # of lines whose values stay in memory while they are read again and again, five times as large
LARGE = 16_000_000  # bytes of a file from which keeping so few of its lines would not save a hundredth of a run

_caches: dict[Path, _LineCache] = {}


class _LineCache:
    """The values of lines by their places, as long as there is room for them. Up to `end` no line of the file is
    missing, and they stand in its order."""

    def __init__(self) -> None:
        self.values: dict[int, Mapping[str, Any]] = {}
        self.end = 0
        self._room = KEPT_BYTES

    def at(self, place: int, line: bytes) -> Mapping[str, Any] | None:
        """The value of a line of the file."""
        value = self.values.get(place)
        if value is None:
            value = parse_line(line)
            if value is not None:
                self.put(place, len(line), value)
        return value

    def put(self, place: int, size: int, value: Mapping[str, Any], own: int | None = None) -> None:
        """The value of a line of `size` bytes; `own`: those of them that no other run keeps."""
        takes = size if own is None else own
        if takes <= self._room:
            self._room -= takes
            self.values[place] = value
            if place == self.end:
                self.end += size


@contextmanager
def read_once(path: Path) -> Iterator[None]:
    """While the body reads the lines of a file again and again, each is parsed once. Lines are added to the file
    meanwhile, never changed, and readers change no value."""
    _caches[path] = _LineCache()
    try:
        yield
    finally:
        _caches.pop(path, None)


def reader(path: Path) -> Callable[[int, bytes], Mapping[str, Any] | None]:
    """A function of the place of a line in a file and the line, which returns its JSON object, or None."""
    kept = _caches.get(path)
    if kept is None:
        return lambda _, line: parse_line(line)
    if path.stat().st_size > LARGE:
        return lambda place, line: kept.values.get(place) or parse_line(line)
    return kept.at


def keeper(path: Path) -> Callable[[int, int, Mapping[str, Any], int], None] | None:
    """A function of the place of a line that was written, its size, its value, and how many of its bytes no other run
    keeps, which spares readers the parsing; None where nobody is going to read it."""
    kept = _caches.get(path)
    return None if kept is None else kept.put


def kept_values(path: Path) -> Mapping[int, Mapping[str, Any]]:
    """The values by place that `reader` returns without reading the line."""
    kept = _caches.get(path)
    return {} if kept is None else kept.values


def whole_file(path: Path) -> Mapping[int, Mapping[str, Any]] | None:
    """The values of all lines of a file by place, in its order; None where some of them have to be read."""
    kept = _caches.get(path)
    return kept.values if kept is not None and path.is_file() and kept.end == path.stat().st_size else None


def lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a file, one a line. A line torn by a crash is passed over; no file, no lines."""
    return (value for _, value in lines_at(path))


def lines_at(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The same, each with its place in the file, in bytes."""
    if not path.is_file():
        return
    if (values := whole_file(path)) is not None:
        yield from values.items()
        return
    place, read = 0, reader(path)
    with path.open("rb") as file:
        for line in file:
            value = read(place, line)
            if value is not None:
                yield place, value
            place += len(line)


def parse_line(line: bytes) -> Mapping[str, Any] | None:
    """The JSON object of a line; None for any other line."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(line)  # orjson refuses lone surrogates
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
