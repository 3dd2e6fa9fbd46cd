"""per_item.jsonl: one row a case, appended as it finishes; the file from which a run resumes."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson

from runner.errors import StopRunError
from runner.records import Row
from runner.redaction import redacted_bytes
from runner.writing import in_words, replacing

SYNC_SECONDS = 1.0
LARGEST = 1e100  # of a number that is measured; beyond, squares and sums are none that Python has


class Journal:
    """Rows by case id. Opening drops what does not count: a torn last line, damaged lines, and, where failed
    cases are to be run again, failed rows.

    A row is handed to the operating system when it is appended (a killed process loses none) and
    synced to disk at most once a second, with a row (a power cut loses at most those since then).
    """

    def __init__(self, path: Path, *, retry_failed: bool = True) -> None:
        self.path, self.retry_failed = path, retry_failed
        self.failed_before = 0
        self._index = self._recover()
        self._file = path.open("ab", buffering=0)
        self._end = self._file.tell()
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __contains__(self, id: str) -> bool:
        return id in self._index

    def __len__(self) -> int:
        return len(self._index)

    def append(self, row: Row) -> None:
        """Raises StopRunError where it cannot be written; what was written before stays as it is."""
        line = encode(row)
        try:
            self._write(line)
        except OSError as error:
            self._file.truncate(self._end)
            raise StopRunError(in_words(error, self.path)) from error
        self._index[row.id] = self._end
        self._end += len(line)

    def rows(self, ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The rows of these cases, in this order; cases without a row are passed over."""
        with self.path.open("rb") as file:
            for case_id in ids:
                offset = self._index.get(case_id)
                if offset is not None:
                    file.seek(offset)
                    yield orjson.loads(file.readline())

    def close(self) -> None:
        os.fsync(self._file.fileno())
        self._file.close()

    def _write(self, line: bytes) -> None:
        """All of it: of a disk that fills up, only a part may be taken at first."""
        while line:
            line = line[self._file.write(line) :]
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def _recover(self) -> dict[str, int]:
        if not self.path.exists():
            return {}
        index: dict[str, int] = {}
        damaged = 0
        with self.path.open("rb") as file:
            offset = 0
            for line in file:
                row = _row(line)
                if row is None or row["id"] in index:
                    damaged += 1
                elif row["status"] == "ok" or not self.retry_failed:
                    index[row["id"]] = offset
                else:
                    self.failed_before += 1
                offset += len(line)
        return self._compacted(index) if damaged or self.failed_before else index

    def _compacted(self, index: Mapping[str, int]) -> dict[str, int]:
        """Rewrite the file with the rows that count, by one rename."""
        kept: dict[str, int] = {}
        with replacing(self.path, redacts=False) as scratch, self.path.open("rb") as old, scratch.open("wb") as new:
            for case_id, offset in index.items():
                old.seek(offset)
                kept[case_id] = new.tell()
                new.write(old.readline())
            new.flush()
            os.fsync(new.fileno())
        return kept


def encode(row: Row) -> bytes:
    """A line that ends with the checksum of what stands before it."""
    try:
        text = orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # a lone surrogate in a text, or a key that is no text
        text = orjson.dumps(_cleaned(asdict(row)))
    text = redacted_bytes(text)
    return text[:-1] + _seal(text[:-1])


def _seal(text: bytes) -> bytes:
    return b',"seal":"%08x"}\n' % zlib.crc32(text)


SEAL = len(_seal(b""))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_cleaned(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    if isinstance(value, np.ndarray | np.bool_ | np.integer | np.floating):
        return _cleaned(np.asarray(value, np.float64 if value.dtype.kind == "f" else None).tolist())
    if value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return _cleaned(str(value))


def _row(line: bytes) -> dict[str, Any] | None:
    """The row of a line that is as it was written."""
    if _seal(line[:-SEAL]) != line[-SEAL:]:
        return None
    row: dict[str, Any] = orjson.loads(line)
    return row


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
        and all(isinstance(row.get(name), str | None) for name in ("language", "difficulty", "stage", "error"))
        and all(map(_is_number, [*numbers, row.get("latency_ms")]))
        and isinstance(row.get("output"), dict | None)
        and all(isinstance(timing, dict) and _is_number(timing.get("ms")) for timing in row["timings"].values())
        and all(map(_is_judgement, row["judgements"].values()))
    )


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST)


def _is_judgement(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("details"), dict | None):
        return False
    votes = (value.get("details") or {}).get("votes") or {}
    return (
        _is_number(value.get("score"))
        and isinstance(value.get("reasoning"), str | None)
        and isinstance(value.get("error"), str | None)
        and isinstance(votes, dict)
        and all(map(_is_number, votes.values()))
    )
