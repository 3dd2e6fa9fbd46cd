"""Strategies that draw bad input: JSON values with parts that do not belong there, and files with bytes that do not."""

from __future__ import annotations

import copy
import gzip
import json
import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as File
from typing import Any

from hypothesis import strategies as st

Path = tuple[str | int, ...]

DEEP: Any = "deep"
for _ in range(60):
    DEEP = [DEEP]

NASTY: list[Any] = [
    None, True, False, 0, 1, -1, 7, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0,
    1e308, -1e308, 5e-324,
    float("nan"), float("inf"), "", " ", "\n", "\t", "\0", "\ud800", "\ufeff", "null", "NaN",
    "true", "0", "한글", "[[x]]",
    "\u1112\u1161\u11ab", "é", "e\u0301", "👩‍👩‍👧", "\u202e", "a" * 3000, "../../x", "${k}", "${oc.env:HOME}",
    "{{x}}", "</script>", 10**400, -(10**400), 1e-400, "\udcea\udcb0", "\U0001f1f0\U0001f1f7", "\u2028",
    "१२", "1" * 400,
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "session_" + "9" * 5000,
    "2026-13-45", "9" * 5000, "#", "~", "id", [], {}, [[]], [None], [0], [""], ["a", "a"],
    [{}], {"": None}, {"id": {}}, {"a": [1, {"b": None}]}, DEEP,
]  # fmt: skip


def values() -> st.SearchStrategy[Any]:
    """Anything that may stand in JSON, and a few things that may not."""
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    nested = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
        max_leaves=6,
    )
    return st.sampled_from(NASTY) | nested


@st.composite
def altered(draw: st.DrawFn, valid: Any, most: int = 3) -> Any:
    """A JSON value with up to `most` of its parts replaced, taken out, doubled or misspelt."""
    value = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, most))):
        places = list(paths(value))
        if not places:
            return draw(values())
        *before, last = draw(st.sampled_from(places))
        parent = value
        for step in before:
            parent = parent[step]
        _change(draw, parent, last)
    return value


def _change(draw: st.DrawFn, parent: Any, last: Any) -> None:
    kind = draw(st.sampled_from(["replace", "replace", "replace", "remove", "double", "misspell"]))
    if kind == "replace":
        parent[last] = copy.deepcopy(draw(values()))
    elif kind == "remove":
        del parent[last]
    elif isinstance(parent, list):
        parent.insert(last, copy.deepcopy(parent[last] if kind == "double" else draw(values())))
    elif kind == "double":
        parent[f"{last} "] = copy.deepcopy(parent[last])
    else:
        parent[f"{last[1:]}x"] = parent.pop(last)


def paths(value: Any, before: Path = ()) -> Iterator[Path]:
    """Of every part of a JSON value, parts of parts too."""
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for name, inner in items:
        yield (*before, name)
        if len(before) < 8:
            yield from paths(inner, (*before, name))


@st.composite
def damaged(draw: st.DrawFn, valid: bytes, most: int = 3) -> bytes:
    """A file of which up to `most` places are cut out, doubled, overwritten or cut off."""
    data = valid
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, max(0, len(data) - 1)))
        end = min(len(data), start + draw(st.sampled_from([0, 1, 2, 8, 40])))
        kind = draw(st.sampled_from(["cut off", "overwrite", "overwrite", "remove", "double", "wrap"]))
        if kind == "cut off":
            data = data[:start]
        elif kind == "overwrite":
            data = data[:start] + draw(st.sampled_from(PIECES) | st.binary(max_size=6)) + data[end:]
        elif kind == "remove":
            data = data[:start] + data[end:]
        elif kind == "double":
            data = data[:end] + data[start:]
        else:
            data = draw(st.sampled_from(WRAPS))(data)
    return data


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


WRAPS: list[Callable[[bytes], bytes]] = [
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: b"\xef\xbb\xbf" * 2 + data,
    lambda data: data.replace(b"\n", b"\r\n"),
    lambda data: data.replace(b"\n", b"\r"),
    lambda data: data.replace(b"\n", b" "),
    lambda data: _decoded(data).encode("utf-16"),
    lambda data: _decoded(data).encode("cp949", "replace"),
    lambda data: unicodedata.normalize("NFD", _decoded(data)).encode(),
    lambda data: data.replace(b"\n", b"\n\n"),
    lambda data: b" " * 100_000 + data,
]


PIECES = [
    b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\n", b"\r", b"\n\n", b"\t", b'"',
    b"{", b"}", b"[",
    b"]", b",", b":", b"null", b"NaN", b"Infinity", b"-", b"1e999", b"9" * 5000, b"\\ud800", b"\\", b"[" * 2000,
    b'{"a":' * 2000, b"<top>", b"</top>", b"&amp;#0;", b"&#x110000;", b"---\n", b"- ", b"&a [*a]",
    b"*a", b"!!python/object:x", b"? ",
    b"|", "\u2028".encode(), "가".encode(), "\u0301".encode(), "가".encode()[:2], "가".encode()[1:], b"2026-13-45",
    b'"id":"x",', b'"id":{},"id":', b"9" * 400, b"a" * 70_000, b"\x1b[31m", b"\x85", b"\f", b"\v",
]  # fmt: skip


def jsonl(records: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(encoded(record) + b"\n" for record in records)


def encoded(value: Any) -> bytes:
    """As Python writes it: lone surrogates as escapes, NaN as a word."""
    return json.dumps(value).encode()


@st.composite
def files_of(draw: st.DrawFn, valid: Sequence[Any]) -> bytes:
    """JSON Lines with objects that are altered, lines that are damaged, or both."""
    records: Any = draw(altered(list(valid))) if draw(st.booleans()) else list(valid)
    text = b"".join(encoded(record) + b"\n" for record in records) if isinstance(records, list) else encoded(records)
    return draw(damaged(text)) if draw(st.integers(0, 3)) == 0 or records == list(valid) else text


# --- what may stand in the place of a file -------------------------------------------------------------


def _folder(path: File) -> None:
    path.unlink()
    path.mkdir()


def _link(path: File, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def _pipe_end(path: File) -> None:
    """No one may read it: a socket is what a path can be that nothing opens."""
    path.unlink()
    os.mknod(path, stat.S_IFSOCK | 0o600)


PLACES: dict[str, Callable[[File], object]] = {
    "missing": File.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "a byte order mark": lambda path: path.write_bytes(b"\xef\xbb\xbf"),
    "spaces": lambda path: path.write_bytes(b" \r\n\t\n" * 100),
    "a folder": _folder,
    "a link to itself": lambda path: _link(path, path.name),
    "a link to nothing": lambda path: _link(path, "nowhere"),
    "a device": lambda path: _link(path, os.devnull),
    "a socket": _pipe_end,
    "unreadable": lambda path: path.chmod(0),
    "UTF-16": lambda path: path.write_bytes(_decoded(path.read_bytes()).encode("utf-16")),
    "EUC-KR": lambda path: path.write_bytes(_decoded(path.read_bytes()).encode("cp949", "replace")),
    "compressed": lambda path: path.write_bytes(gzip.compress(path.read_bytes())),
    "zeros": lambda path: path.write_bytes(bytes(5000)),
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 20),
    "a long line": lambda path: path.write_bytes(path.read_bytes().replace(b"\n", b" ") * 100),
    "lists in lists": lambda path: path.write_bytes(b"[" * 50_000 + b"]" * 50_000),
    "objects in objects": lambda path: path.write_bytes(b'{"id":' * 20_000 + b"1" + b"}" * 20_000),
    "a number of many digits": lambda path: path.write_bytes(b'{"id": ' + b"9" * 50_000 + b"}"),
    "half a character": lambda path: path.write_bytes(path.read_bytes() + "가".encode()[:2]),
    "twice": lambda path: path.write_bytes(path.read_bytes() * 2),
    "a page": lambda path: path.write_bytes(b"<!DOCTYPE html><html><title>404</title></html>\n"),
}
