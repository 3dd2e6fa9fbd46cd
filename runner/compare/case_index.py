"""Columns of the cases of a run, for lists and filters over many cases without reading their rows.

.cases.index beside per_item.jsonl holds a line of JSON (the state of the rows it was made from, the metrics that say
what is right, and the form of each column), then the columns as in memory, so that the file can be mapped. An index
that is damaged or belongs to other rows is made again."""

from __future__ import annotations

import json
import math
import mmap
import re
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from runner.metrics.catalogue import built_in_catalogue, catalogue_in
from runner.report.worst import lost_at
from runner.system.folder import lines_at, parse_line
from runner.system.metadata import read_json
from runner.system.writing import replacing

FILE = ".cases.index"
SCHEMA = 3
LARGE = 4_000_000  # bytes of rows; smaller files are read as fast as an index
APART = 0.5  # distance of votes, or of a judgement from right or wrong
QUESTION = 300  # most characters that are searched
ALIGNED = 8  # bytes, alignment of columns
END = b"\0"  # ends a text; no text contains it
COLUMNS = {"places": "<i8", "right": "|i1", "failed": "|i1", "apart": "|i1", "answers": "<u4", "truth": "<f8"}
CODES = {"places": "q", "right": "b", "failed": "b", "apart": "b", "answers": "I", "truth": "d"}  # of arrays in memory
TEXTS = ("ids", "searched", "strata")
JUDGED = ("score", "spread")  # columns of each rubric; NaN where a case has none

Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Texts:
    """Concatenated texts: `data` uint8, each followed by END; `ends` int64 [n], the places of END."""

    data: Numbers
    ends: Numbers

    @classmethod
    def of(cls, data: Numbers) -> Texts:
        """The texts of stored data."""
        return cls(data, np.flatnonzero(data == END[0]))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        start = int(self.ends[number - 1]) + 1 if number else 0
        return self.data[start : int(self.ends[number])].tobytes().decode()

    def encoded_texts(self) -> list[bytes]:
        """The texts as bytes."""
        return self.data.tobytes().split(END)[:-1]

    def in_order(self, order: Numbers) -> Texts:
        """The texts in another order: int [n], the number of each."""
        if (np.diff(order) > 0).all():
            return self
        texts = self.encoded_texts()
        return Texts.of(np.frombuffer(b"".join(texts[number] + END for number in order.tolist()), np.uint8))

    def texts_with(self, word: str) -> Numbers:
        """bool [n]: which texts contain the word."""
        pattern = re.escape(word.encode("utf-8", "replace")) + b"[^\0]*"  # several hits in a text count once
        places = np.fromiter((match.start() for match in re.finditer(pattern, self.data.data)), np.int64)
        has = np.zeros(len(self), dtype=bool)
        has[np.searchsorted(self.ends, places)] = True
        return has


@dataclass(frozen=True)
class Cases:
    """The cases of a run in the order of rows. `places`: byte offsets of the rows; `right`: 1, 0, or -1 for unknown;
    `answers`: digests; `apart`: whether judges disagree, as in `labels pick=disagreement`; `searched`: id and question,
    case-folded; `truth`: the metric `right`, NaN where a case has none; `strata`: language and failure stage, separated
    by a tab; `judged`: by rubric and name of JUDGED, the score of the judge and the spread of its votes; `telling`:
    metrics in order, of which the first that a case has decides whether the case is right."""

    path: Path
    ids: Texts
    searched: Texts
    strata: Texts
    places: Numbers
    right: Numbers
    failed: Numbers
    apart: Numbers
    answers: Numbers
    truth: Numbers
    judged: Mapping[str, Mapping[str, Numbers]]
    telling: Sequence[str]

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, numbers: Iterable[int]) -> Iterator[Mapping[str, Any]]:
        """The rows of these cases. Raises ValueError where the file has changed since it was indexed."""
        with self.path.open("rb") as file:
            for number in numbers:
                file.seek(int(self.places[number]))
                row = parse_line(file.readline())
                if row is None or plain(row.get("id")) != self.ids[number]:
                    raise ValueError(f"{self.path.name} was changed while it was read")
                yield without_surrogates(row)

    def number_of(self, id: str) -> int | None:
        """The number of a case, by its id."""
        wanted = plain(id)
        near = np.flatnonzero(self.ids.texts_with(wanted)) if wanted else ()
        return next((int(number) for number in near if self.ids[int(number)] == wanted), None)


@dataclass
class Indexing:
    """Builds the columns row by row, as they are stored. `telling`: as in Cases."""

    telling: Sequence[str]
    texts: dict[str, bytearray] = field(default_factory=lambda: {name: bytearray() for name in TEXTS})
    numbers: dict[str, array[Any]] = field(default_factory=lambda: {name: array(code) for name, code in CODES.items()})
    judged: dict[str, dict[int, tuple[float, float]]] = field(default_factory=dict)  # by rubric and number of the row

    def __len__(self) -> int:
        return len(self.numbers["places"])

    def add(self, place: int, row: Mapping[str, Any]) -> None:
        """Add a row."""
        output = row.get("output") or {}
        question = " ".join(str(output.get("query") or "").split())[:QUESTION]
        stratum = f"{row.get('language') or ''}\t{lost_at(row) or ''}"
        texts = (row.get("id"), f"{row.get('id')} {question}".casefold(), stratum)
        for name, text in zip(TEXTS, texts, strict=True):
            self.texts[name] += plain(text).encode() + END
        if output.get("query") and isinstance(output.get("answer"), str):
            for rubric, judgement in (row.get("judgements") or {}).items():
                self.judged.setdefault(rubric, {})[len(self)] = (_score(judgement), spread(judgement))
        truth = (row.get("metrics") or {}).get("right")
        well, failed, apart = went_well(row, self.telling), row.get("status") != "ok", judges_disagree(row)
        values = (place, well, failed, apart, _digest(output), math.nan if truth is None else truth)
        for name, value in zip(COLUMNS, values, strict=True):
            self.numbers[name].append(value)

    def write(self, path: Path) -> None:
        """Write the index of the rows so far, which are all of the file."""
        write(self.cases(path), state_of(path))

    def cases(self, path: Path) -> Cases:
        """The cases so far, in the order of the file."""
        order = np.argsort(np.array(self.numbers["places"], np.int64), kind="stable")
        columns: dict[str, Any] = {name: np.array(self.numbers[name], form)[order] for name, form in COLUMNS.items()}
        columns |= {name: Texts.of(np.frombuffer(data, np.uint8)).in_order(order) for name, data in self.texts.items()}
        return Cases(path, **columns, judged=self._judged_columns(order), telling=self.telling)

    def _judged_columns(self, order: Numbers) -> dict[str, dict[str, Numbers]]:
        by_rubric = {}
        for rubric, pairs in self.judged.items():
            columns = np.full((len(JUDGED), len(order)), np.nan)
            columns[:, list(pairs)] = np.array(list(pairs.values()), float).T
            by_rubric[rubric] = dict(zip(JUDGED, columns[:, order], strict=True))
        return by_rubric


def read_cases(path: Path, *, writes: bool) -> Cases:
    """The cases of rows, from a valid index; else from the rows, and with `writes` an index of large files is
    written."""
    state = state_of(path)
    cases = open_index(path, state)
    if cases is None:
        indexing = Indexing(_deciding_metrics(path))
        for place, row in lines_at(path):
            indexing.add(place, row)
        cases = indexing.cases(path)
        if writes:
            write(cases, state)
    return cases


def _deciding_metrics(path: Path) -> Sequence[str]:
    """The deciding metrics as the run of some rows declared them; as the built-in evaluations do where that cannot be
    read."""
    try:
        return catalogue_in(read_json(path.with_name("run.json")) or {}).telling_right
    except ValueError:
        return built_in_catalogue().telling_right


def state_of(path: Path) -> tuple[int, int]:
    """The size and modification time of a file."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return 0, 0
    return state.st_size, state.st_mtime_ns


def write(cases: Cases, state: tuple[int, int]) -> None:
    """Write the index of large rows in `state`, unless the folder is not writable."""
    if state[0] < LARGE:
        return
    columns: dict[str, Numbers] = {name: getattr(cases, name) for name in COLUMNS}
    columns |= {name: getattr(cases, name).data for name in TEXTS}
    judged = [column for own in cases.judged.values() for column in own.values()]
    data = b"".join(column.tobytes() for column in [*columns.values(), *judged])
    sizes = {name: len(column) for name, column in columns.items()}
    head = {
        "schema": SCHEMA,
        "rows": list(state),
        "sizes": sizes,
        "rubrics": list(cases.judged),
        "telling": list(cases.telling),
        "check": _check(cases.telling, data),
    }
    line = json.dumps(head).encode()
    with suppress(OSError), replacing(cases.path.with_name(FILE), redacts=False) as scratch:
        scratch.write_bytes(line + b" " * (-(len(line) + 1) % ALIGNED) + b"\n" + data)


def _check(telling: Sequence[str], data: Any) -> int:
    return zlib.crc32(data, zlib.crc32("\n".join(telling).encode()))


def open_index(path: Path, state: tuple[int, int]) -> Cases | None:
    """The cases of an index; None where it is missing, damaged, or of other rows."""
    damaged = (OSError, ValueError, KeyError, TypeError, AttributeError)
    with suppress(*damaged), path.with_name(FILE).open("rb") as file:
        head = json.loads(file.readline(100_000))
        if (head["schema"], head["rows"]) != (SCHEMA, list(state)):
            return None
        data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)[file.tell() :]
        if _check(head["telling"], data.data) != head["check"]:
            return None
        return _split(path, data, head)
    return None


def _split(path: Path, data: Numbers, head: Mapping[str, Any]) -> Cases | None:
    sizes, rubrics = head["sizes"], head["rubrics"]
    n_cases = sizes["places"]
    forms = [(form, sizes[name]) for name, form in {**COLUMNS, **dict.fromkeys(TEXTS, "|u1")}.items()]
    forms += [("<f8", n_cases)] * (len(JUDGED) * len(rubrics))
    stops = list(accumulate(np.dtype(form).itemsize * size for form, size in forms))
    parts = [
        np.frombuffer(data[start:stop], form) for start, stop, (form, _) in zip([0, *stops], stops, forms, strict=False)
    ]
    columns: dict[str, Any] = dict(zip((*COLUMNS, *TEXTS), parts, strict=False))
    columns |= {name: Texts.of(columns[name]) for name in TEXTS}
    own = iter(parts[len(columns) :])
    by_rubric = {rubric: {name: next(own) for name in JUDGED} for rubric in rubrics}
    if {*map(len, columns.values())} != {n_cases}:
        return None
    return Cases(path, **columns, judged=by_rubric, telling=tuple(map(str, head["telling"])))


def plain(id: Any) -> str:
    """The text without END and lone surrogates."""
    return str(id).replace("\0", "").encode("utf-8", "replace").decode()


def without_surrogates(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row without lone surrogates, which JSON can encode and no file or answer can hold."""
    try:
        orjson.dumps(row)
    except TypeError:
        return dict(orjson.loads(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")))
    return row


def _digest(output: Mapping[str, Any]) -> int:
    """A digest of the answer or the retrieved ids of a case."""
    answer = output.get("answer")
    result = answer if answer is not None else [hit.get("id") for hit in output.get("retrieved") or ()]
    return zlib.crc32(repr(result).encode("utf-8", "replace"))


def went_well(row: Mapping[str, Any], telling: Sequence[str]) -> int:
    """1 where the case is right, 0 where it is wrong, -1 where no metric of `telling` decides."""
    metrics = row.get("metrics") or {}
    value = next((metrics[name] for name in telling if metrics.get(name) is not None), None)
    return -1 if value is None else int(value >= 1)


def judges_disagree(row: Mapping[str, Any]) -> bool:
    """Whether votes differ much, or the first judgement contradicts `right`."""
    right = (row.get("metrics") or {}).get("right")
    judgements = list((row.get("judgements") or {}).values())
    if any(spread(judgement) >= APART for judgement in judgements):
        return True
    first = next((each.get("score") for each in judgements if each.get("score") is not None), None)
    return right is not None and first is not None and abs(right - first) > APART


def _score(judgement: Mapping[str, Any]) -> float:
    score = None if judgement.get("error") else judgement.get("score")
    return math.nan if score is None else float(score)


def spread(judgement: Mapping[str, Any]) -> float:
    """Between the votes of one judgement."""
    votes = [vote for vote in ((judgement.get("details") or {}).get("votes") or {}).values() if vote is not None]
    return float(max(votes) - min(votes)) if votes else 0.0
