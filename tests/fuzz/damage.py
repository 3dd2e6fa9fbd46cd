"""Strategies that draw bad input: JSON values with parts that do not belong there, and files with bytes that do not."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
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
    "{{x}}", "</script>", "2026-13-45", "9" * 5000, "#", "~", "id", [], {}, [[]], [None], [0], [""], ["a", "a"],
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
            data = draw(
                st.sampled_from([b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r")])
            )
    return data


PIECES = [
    b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\n", b"\r", b"\n\n", b"\t", b'"',
    b"{", b"}", b"[",
    b"]", b",", b":", b"null", b"NaN", b"Infinity", b"-", b"1e999", b"9" * 5000, b"\\ud800", b"\\", b"[" * 2000,
    b'{"a":' * 2000, b"<top>", b"</top>", b"&amp;#0;", b"&#x110000;", b"---\n", b"- ", b"&a [*a]",
    b"*a", b"!!python/object:x", b"? ",
    b"|", "\u2028".encode(), "가".encode(), "\u0301".encode(),
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
