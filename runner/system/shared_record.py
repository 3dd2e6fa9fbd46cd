"""What the rows of several cells of a sweep keep of one output: encoded, checked and parsed once.

record = shared_record({"query": "…", "retrieved": [...]})
more = record.with_rest(("answer", 1), lambda: {"answer": "…"})     # of the cells that answer the same
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

import orjson

from runner.system.shared import are_several, make_once

T = TypeVar("T")

ROOM = 24_000_000  # bytes of encoded records that a command keeps, four times as large in memory


class SharedRecord(dict[str, Any]):
    """A record as its row is read, which nobody changes; `encoded` is its JSON, `noted` what readers made of it."""

    __slots__ = ("_latest", "encoded", "notes")

    def __init__(self, values: Mapping[str, Any], encoded: bytes) -> None:
        super().__init__(values)
        self.encoded = encoded
        self.notes: dict[Hashable, Any] = {}
        self._latest: tuple[Any, SharedRecord] | None = None

    def with_rest(self, key: object, make_rest: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """This record with further entries, which depend on `key` alone. Those of the latest key are kept."""
        if self._latest is not None and self._latest[0] == key:
            return self._latest[1]
        record = {**self, **make_rest()}
        encoded = _encode_record(record)
        if encoded is None or not _takes(len(encoded) - (0 if self._latest is None else len(self._latest[1].encoded))):
            return record
        self._latest = key, SharedRecord(orjson.loads(encoded), encoded)
        return self._latest[1]


def shared_record(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record for further cells as well; the record itself where there are no further cells, no room is left, or it
    is not JSON."""
    encoded = _encode_record(record) if are_several() else None
    if encoded is None or not _takes(len(encoded)):
        return record
    return SharedRecord(orjson.loads(encoded), encoded)


def note_once(record: object, key: Hashable, make: Callable[[], T]) -> T:
    """The result of `make`, which depends on the record alone: computed once for all rows that share it."""
    if type(record) is not SharedRecord:
        return make()
    notes = record.notes
    if key not in notes:
        notes[key] = make()
    note: T = notes[key]
    return note


def _encode_record(record: Mapping[str, Any]) -> bytes | None:
    """The record as JSON, as in a row; None for values that a row changes or refuses."""
    try:
        return orjson.dumps(record, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:
        return None


def _takes(size: int) -> bool:
    bytes_left: list[int] = make_once("room of records", "", lambda: [ROOM])
    if bytes_left[0] < size:
        return False
    bytes_left[0] -= size
    return True
