"""per_item.jsonl: one row a case, appended as it finishes; the file from which a run resumes.

A row is finished when everything that was asked for its case came: the case ended well, and no judgement of it, nor
a vote of one, failed. Rows that are not wait in .unfinished.jsonl while their cases are asked for what is missing, so
that a process that is killed meanwhile loses nothing; per_item.jsonl never has two rows of one case."""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import orjson

from runner.errors import StopRunError
from runner.records import KEPT_VOTES, Row
from runner.system.folder import keeper, kept_values, reader, whole_file
from runner.system.redaction import redacted_bytes
from runner.system.shared_record import SharedRecord
from runner.system.writing import os_error_text, replacing

UNFINISHED = ".unfinished.jsonl"
SYNC_SECONDS = 1.0
NUMBERS, TEXTS = frozenset({float, int, type(None)}), frozenset({str})
TEXT, OBJECT = str | None, dict | None  # made once: to make one takes ten times as long as to ask it
ID = re.compile(rb'\{"id":("(?:[^"\\]|\\.)*"),')
ADOPTED = 256  # rows that are written at once
TOGETHER = 32  # rows of cases that asked no model and share their output, which are written at once
LARGEST = 1e100  # of a measured number; squares and sums of larger ones overflow

Places = dict[str, int]  # of rows in a file, by case id: where the line begins


class Journal:
    """Rows by case id. Opening drops what does not count: a torn last line, damaged lines, and, where `again` says that
    a command begins, rows that are not finished: those are `earlier` ones until their cases have others.

    A row is handed to the operating system when it is appended (a killed process loses none) and
    synced to disk at most once a second, with a row (a power cut loses at most those since then). Rows of cells of a
    sweep whose cases asked no model are handed over TOGETHER.
    """

    def __init__(self, path: Path, *, again: bool = True) -> None:
        self.path, self._waiting = path, path.with_name(UNFINISHED)
        sizes = _sizes(path)
        unfinished = _unfinished_rows(path, {id: place for id, (place, _) in sizes.items()}) if again else {}
        self._index = {id: place for id, (place, _) in sizes.items() if id not in unfinished}
        self._earlier = self._set_aside(unfinished)
        if path.exists() and sum(sizes[id][1] for id in self._index) < path.stat().st_size:
            self._index = _copy_rows([(path, self._index)], path)
        self._file, self._keep = path.open("ab", buffering=0), keeper(path)
        self._together: list[tuple[str, bytes, dict[str, Any] | None]] = []  # id, line, values for readers
        self._end = self._file.tell()
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is not None:
            self.take_back()
        self.close()

    def __contains__(self, id: str) -> bool:
        self._append_together()
        return id in self._index

    def __len__(self) -> int:
        self._append_together()
        return len(self._index)

    def append(self, row: Row) -> None:
        """Raises StopRunError where it cannot be written; what was written before stays as it is."""
        if self._keep is not None and _is_plain(row):
            self._append_shared(row)
            return
        self._append_together()
        self._append(row.id, encode(row))

    def _append_shared(self, row: Row) -> None:
        """Append a row that shares its output with other cells; it waits for others where its case asked no model."""
        try:
            values = _as_read(row)
            text = orjson.dumps({**values, "output": orjson.Fragment(row.output.encoded)})
        except TypeError:  # a lone surrogate in a text, or a number of NumPy
            self._append_together()
            self._append(row.id, encode(row))
            return
        redacted_text = redacted_bytes(text)
        line = _add_seal(redacted_text)
        values["seal"] = line[-11:-3].decode()
        self._together.append((row.id, line, values if redacted_text is text else None))
        if row.cost or len(self._together) == TOGETHER:
            self._append_together()

    def _append_together(self) -> None:
        """Write the rows that wait for others."""
        together, self._together = self._together, []
        if not together:
            return
        place = self._end
        self._adopt({id: line for id, line, _ in together})
        for _, line, values in together:
            if values is not None and self._keep is not None:
                self._keep(place, len(line), values, len(line) - len(values["output"].encoded))
            place += len(line)

    def adopt(self, path: Path) -> None:
        """Take over the unchanged rows of another file for cases that have none here. They are on the disk when this
        returns."""
        self._append_together()
        if path.exists():
            new: dict[str, bytes] = {}
            with path.open("rb") as file:
                for id, _, line in _sealed_lines(file):
                    if id not in self._index:
                        new.setdefault(id, line)
                    if len(new) == ADOPTED:
                        self._adopt(new)
                        new = {}
            self._adopt(new)
            os.fsync(self._file.fileno())

    def _adopt(self, lines: Mapping[str, bytes]) -> None:
        try:
            self._write(b"".join(lines.values()))
        except OSError as error:
            self._file.truncate(self._end)
            raise StopRunError(os_error_text(error, self.path)) from error
        for id, line in lines.items():
            self._index[id] = self._end
            self._end += len(line)

    def _append(self, id: str, line: bytes) -> None:
        try:
            self._write(line)
        except OSError as error:
            self._file.truncate(self._end)
            raise StopRunError(os_error_text(error, self.path)) from error
        self._index[id] = self._end
        self._end += len(line)

    def rows(self, ids: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        """The rows of these cases, in this order; cases without a row are passed over."""
        return (row for _, row in self.rows_with_places(ids))

    def rows_with_places(self, ids: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The same, each with its place in the file, in bytes."""
        self._append_together()
        read, values = reader(self.path), kept_values(self.path)
        with self.path.open("rb") as file:
            for place in (self._index[id] for id in ids if id in self._index):
                row = values.get(place) or read(place, _line(file, place))
                if row is not None:
                    yield place, row

    def earlier_row(self, id: str) -> dict[str, Any] | None:
        """The row, not finished, that this case has of an earlier command."""
        if id in self._index or id not in self._earlier:
            return None
        with self._waiting.open("rb") as file:
            row: dict[str, Any] = orjson.loads(_line(file, self._earlier[id]))
        return row

    def take_back(self) -> None:
        """Count earlier rows again whose cases have no other row: this command asks for nothing more."""
        self._append_together()
        if self._earlier:
            with self._waiting.open("rb") as file:
                for id in [id for id in self._earlier if id not in self._index]:
                    line = _line(file, self._earlier[id])
                    self._append(id, line)
            self._earlier = {}
        self._waiting.unlink(missing_ok=True)

    def close(self) -> None:
        """Rows are on the disk when this returns."""
        try:
            self._append_together()
        finally:
            os.fsync(self._file.fileno())
            self._file.close()

    def _write(self, line: bytes) -> None:
        """All of it: of a disk that fills up, only a part may be taken at first."""
        while line:
            line = line[self._file.write(line) :]
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def _set_aside(self, unfinished: Places) -> Places:
        """Write the rows that wait: of this file, and of others whose cases have no row in it. They are on disk before
        they leave the file."""
        waiting = {id: place for id, (place, _) in _sizes(self._waiting).items()}
        older = {id: place for id, place in waiting.items() if id not in self._index and id not in unfinished}
        if not unfinished and len(older) == len(waiting):
            return older
        return _copy_rows([(self._waiting, older), (self.path, unfinished)], self._waiting)


def is_finished(row: Mapping[str, Any]) -> bool:
    """Whether everything came that was asked for a case."""
    return row["status"] == "ok" and all(map(_is_whole, row["judgements"].values()))


def _is_whole(judgement: Mapping[str, Any]) -> bool:
    failed = judgement["score"] is None or judgement["error"]
    return not failed and KEPT_VOTES not in (judgement["details"] or {})


def ids_in(path: Path) -> set[str]:
    """The cases that have an intact row in a file, which may be missing."""
    return set(_sizes(path))


def _sizes(path: Path) -> dict[str, tuple[int, int]]:
    """Where each intact row of a file begins, and its length, in bytes. Of two rows of one case the first counts."""
    sizes: dict[str, tuple[int, int]] = {}
    if path.exists():
        with path.open("rb") as file:
            for id, place, line in _sealed_lines(file):
                sizes.setdefault(id, (place, len(line)))
    return sizes


def _unfinished_rows(path: Path, rows: Places) -> Places:
    """The rows of a file that are not finished."""
    if not rows:
        return {}
    with path.open("rb") as file:
        return {id: place for id, place in rows.items() if not is_finished(orjson.loads(_line(file, place)))}


def _sealed_lines(file: BinaryIO) -> Iterator[tuple[str, int, bytes]]:
    """(id of the case, place, line) of each line of a file that is as it was written. Only the id is decoded, which
    stands first."""
    place = 0
    for line in file:
        if _seal(line[:-SEAL]) == line[-SEAL:]:
            matched = ID.match(line)
            yield orjson.loads(line)["id"] if matched is None else orjson.loads(matched[1]), place, line
        place += len(line)


def _line(file: BinaryIO, place: int) -> bytes:
    file.seek(place)
    return file.readline()


def _copy_rows(sources: Sequence[tuple[Path, Places]], path: Path) -> Places:
    """Replace a file by copies of rows of other files, or of itself, with one rename."""
    copies: Places = {}
    with replacing(path, redacts=False) as scratch, scratch.open("wb") as new:
        for source, places in sources:
            if places:
                with source.open("rb") as old:
                    for id, place in places.items():
                        copies[id] = new.tell()
                        new.write(_line(old, place))
        new.flush()
        os.fsync(new.fileno())
    return copies


def encode(row: Row) -> bytes:
    """A line that ends with the checksum of what stands before it."""
    return _add_seal(redacted_bytes(_json(row)))


def _json(row: Row) -> bytes:
    try:
        return orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # a lone surrogate in a text, or a key that is no text
        output = dict(row.output) if type(row.output) is SharedRecord else row.output
        return orjson.dumps(_clean(asdict(replace(row, output=output))))


def _is_plain(row: Row) -> bool:
    """Whether reading gives what the row holds: true of the rows that cells of a sweep have in common."""
    return (
        type(row.output) is SharedRecord
        and type(row.latency_ms) in NUMBERS
        and NUMBERS.issuperset(map(type, row.metrics.values()))
        and TEXTS.issuperset(map(type, chain(row.labels.values(), row.tags, row.unscored)))
        and (not row.weights or NUMBERS.issuperset(map(type, row.weights.values())))
        and all(type(timing.ms) in NUMBERS for timing in row.timings.values())
    )


def _as_read(row: Row) -> dict[str, Any]:
    """The row as its line is read, without its seal."""
    return {
        "id": row.id,
        "status": row.status,
        "metrics": dict(row.metrics),
        "output": row.output,
        "latency_ms": row.latency_ms,
        "language": row.language,
        "difficulty": row.difficulty,
        "tags": list(row.tags),
        "labels": dict(row.labels),
        "unscored": list(row.unscored),
        "weights": dict(row.weights),
        "timings": {
            stage: {"ms": timing.ms, "live": timing.live, "repeated_ms": timing.repeated_ms}
            for stage, timing in row.timings.items()
        },
        "judgements": orjson.loads(orjson.dumps(row.judgements)) if row.judgements else {},
        "error": row.error,
        "stage": row.stage,
        "cost": orjson.loads(orjson.dumps(row.cost)) if row.cost else {},
        "clusters": dict(row.clusters),
    }


def _are_texts(clusters: Any) -> bool:
    return isinstance(clusters, dict) and all(isinstance(value, str) for value in clusters.values())


def _add_seal(text: bytes) -> bytes:
    body = text[:-1]
    return body + _seal(body)


def _seal(text: bytes) -> bytes:
    return b',"seal":"%08x"}\n' % zlib.crc32(text)


SEAL = len(_seal(b""))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, np.ndarray | np.bool_ | np.integer | np.floating):
        return _clean(np.asarray(value, np.float64 if value.dtype.kind == "f" else None).tolist())
    if value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return _clean(str(value))


def whole_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a file that are intact, or that were edited and still have the right types; others are skipped."""
    if not path.is_file():
        return
    kept = whole_file(path)
    if kept is not None and all(type(row["output"]) is SharedRecord for row in kept.values()):
        yield from (row for row in kept.values() if _has_judgements(row) or is_whole(row))
        return
    place, read = 0, reader(path)
    with path.open("rb") as file:
        for line in file:
            row = read(place, line)
            if row is not None and (_is_as_written(line, row) or is_whole(row)):
                yield row
            place += len(line)


def _is_as_written(line: bytes, row: Mapping[str, Any]) -> bool:
    """Whether a row is as it was written. A shared record is that of a row which was just written."""
    is_sealed = type(row["output"]) is SharedRecord or _seal(line[:-SEAL]) == line[-SEAL:]
    return is_sealed and _has_judgements(row)


def _has_judgements(row: Mapping[str, Any]) -> bool:
    """Whether judgements have the right types; their details, which components choose, may have any."""
    return not row["judgements"] or all(map(_is_judgement, row["judgements"].values()))


def is_whole(row: Mapping[str, Any]) -> bool:
    """Whether a row that anybody may have edited has the types that it is written with."""
    for name in ("metrics", "weights", "labels", "timings", "judgements"):
        if not isinstance(row.get(name), dict):
            return False
    texts, numbers = [row.get("id"), *row["labels"].values()], [*row["metrics"].values(), *row["weights"].values()]
    for name in ("tags", "unscored"):
        if not isinstance(row.get(name), list):
            return False
        texts += row[name]
    return (
        row.get("status") in ("ok", "failed", "timeout")
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(row.get(name), TEXT) for name in ("language", "difficulty", "stage", "error"))
        and _are_numbers([*numbers, row.get("latency_ms")])
        and isinstance(row.get("output"), OBJECT)
        and all(isinstance(timing, dict) and _is_number(timing.get("ms")) for timing in row["timings"].values())
        and all(map(_is_judgement, row["judgements"].values()))
        and isinstance(row.get("cost", {}), dict)
        and _are_texts(row.get("clusters", {}))
        and all(isinstance(cost, dict) and all(map(_is_number, cost.values())) for cost in row.get("cost", {}).values())
    )


def _are_numbers(values: Sequence[Any]) -> bool:
    """`_is_number` of each; rows have dozens, so that a call of Python for each would take a quarter of a snapshot."""
    return set(map(type, values)) <= NUMBERS and all(map(LARGEST.__ge__, map(abs, filter(None, values))))


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST)


def _is_judgement(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("details"), OBJECT):
        return False
    votes = (value.get("details") or {}).get("votes") or {}
    return (
        _is_number(value.get("score"))
        and isinstance(value.get("reasoning"), TEXT)
        and isinstance(value.get("error"), TEXT)
        and isinstance(votes, dict)
        and all(map(_is_number, votes.values()))
    )
