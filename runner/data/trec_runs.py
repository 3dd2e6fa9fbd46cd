"""TREC files of relevance judgements (qrels) and of runs, as trec_eval reads them.

    qrels   query iteration document grade          grade: a whole number, relevant above 0
            query-id corpus-id score                the header over three columns, as BEIR has them
    run     query Q0 document rank score tag        score: finite; the rank is not read

Columns are separated by blanks or tabs; blank lines, lines that begin with # and what follows the last column are
passed over; a byte order mark and CRLF are accepted.
Ids are kept as UTF-8 bytes in Unicode NFC, so that comparing them is trec_eval's comparison by bytes.

Lines are taken in stretches of one query, and everything but splitting them is done a stretch at a time:
a run of a million lines is read in about 0.6 s.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NoReturn

from runner.data.trec import COMMENT, FOUR_COLUMNS, HEADER, THREE_COLUMNS
from runner.errors import DataError

Qrels = dict[bytes, dict[bytes, int]]
Run = dict[bytes, dict[bytes, float]]

RUN_COLUMNS = ("query", "Q0", "document", "rank", "score", "tag")

_HEADER = [name.encode() for name in HEADER]
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUERY = itemgetter(slice(1))  # a list of one column, or of none for a blank line
_GRADE = re.compile(rb"[-+]?\d{1,9}")
_SCORE = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Consecutive lines of one query, the first of them line `number` of the file."""

    path: Path
    number: int
    query: bytes
    documents: Sequence[bytes]
    values: Sequence[bytes]

    def check(self, is_valid: Callable[[bytes], object], field: str, expected: str) -> None:
        """Raises DataError for the first value that is not valid."""
        if not all(map(is_valid, self.values)):
            place, value = next((place, value) for place, value in enumerate(self.values) if not is_valid(value))
            self.refuse(place, f"{field}: expected {expected}, found '{_shown(value)}'")

    def refuse(self, place: int, message: str) -> NoReturn:
        raise DataError(f"{self.path}:{self.number + place}: {message}")


def read_qrels(path: Path) -> Qrels:
    """Grades of the judged documents of each query, in file order.

    A judgement may be repeated. Two different grades of a document raise DataError, as does a line that
    is not of the form.
    """
    qrels: Qrels = {}
    for stretch in _stretches(path, FOUR_COLUMNS, "grade"):
        stretch.check(_GRADE.fullmatch, "grade", "a whole number")
        grades = list(map(int, stretch.values))
        judged = dict(zip(stretch.documents, grades, strict=True))
        if stretch.query in qrels or len(judged) < len(grades):
            judged = qrels.get(stretch.query, {})
            _add(judged, stretch, grades)
        qrels[stretch.query] = judged
    return qrels


def _add(judged: dict[bytes, int], stretch: _Stretch, grades: Sequence[int]) -> None:
    for place, (document, grade) in enumerate(zip(stretch.documents, grades, strict=True)):
        if judged.setdefault(document, grade) != grade:
            pair = f"'{_shown(document)}' for query '{_shown(stretch.query)}'"
            stretch.refuse(place, f"grade: {pair} is judged {judged[document]} in an earlier line, here {grade}")


def read_run(path: Path) -> Run:
    """Scores of the documents returned for each query; a document listed twice has its best score."""
    run: Run = {}
    for stretch in _stretches(path, RUN_COLUMNS, "score"):
        values = _finite(stretch)
        scores = dict(zip(stretch.documents, values, strict=True))
        if stretch.query in run or len(scores) < len(values):
            scores = run.get(stretch.query, {})
            for document, score in zip(stretch.documents, values, strict=True):
                scores[document] = max(score, scores.get(document, score))
        run[stretch.query] = scores
    return run


def _finite(stretch: _Stretch) -> list[float]:
    try:
        scores = list(map(float, stretch.values))
    except ValueError:
        scores = [math.nan]
    if not all(map(math.isfinite, scores)) or b"_" in b"".join(stretch.values):  # Python reads 1_0 as 10
        stretch.check(_is_score, "score", "a finite number")
    return scores


def _is_score(value: bytes) -> bool:
    return bool(_SCORE.fullmatch(value)) and math.isfinite(float(value))


def _stretches(path: Path, columns: Sequence[str], value: str) -> Iterator[_Stretch]:
    number, is_first = 1, True
    try:
        with path.open("rb") as file:
            if file.peek(len(_BYTE_ORDER_MARK)).startswith(_BYTE_ORDER_MARK):
                file.read(len(_BYTE_ORDER_MARK))
            for query, group in groupby(map(bytes.split, file), _QUERY):
                lines = list(group)
                if query and not query[0].startswith(COMMENT.encode()):
                    if is_first and columns == FOUR_COLUMNS and lines[0] == _HEADER:
                        columns, lines, number = THREE_COLUMNS, lines[1:], number + 1
                    is_first = False
                    if lines:
                        each = _columns(path, number, lines, columns)
                        ids = _composed(path, number, query[0], each["document"])
                        yield _Stretch(path, number, *ids, each[value])
                number += len(lines)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _columns(
    path: Path, number: int, lines: Sequence[Sequence[bytes]], names: Sequence[str]
) -> Mapping[str, Sequence[bytes]]:
    """By name. Raises DataError for the first line that lacks one."""
    each = list(zip(*lines, strict=False))
    if len(each) < len(names):
        place, found = next((place, len(line)) for place, line in enumerate(lines) if len(line) < len(names))
        raise DataError(f"{path}:{number + place}: expected {len(names)} columns ({' '.join(names)}), found {found}")
    if "rank" in names and max(map(len, lines)) > len(names):
        _check_ranks(path, number, lines, names)
    return dict(zip(names, each, strict=False))


def _check_ranks(path: Path, number: int, lines: Sequence[Sequence[bytes]], names: Sequence[str]) -> None:
    """Of lines with more columns: a blank inside an id would else make a score of a rank."""
    at = names.index("rank")
    for place, line in enumerate(lines):
        if len(line) > len(names) and not _GRADE.fullmatch(line[at]):
            rank = f"rank: expected a whole number, found '{_shown(line[at])}'"
            raise DataError(f"{path}:{number + place}: {rank} (of {len(line)} columns the first 6 count)")


def _composed(path: Path, number: int, query: bytes, documents: Sequence[bytes]) -> tuple[bytes, Sequence[bytes]]:
    """Ids in NFC. Raises DataError where one is not UTF-8."""
    if query.isascii() and b"".join(documents).isascii():
        return query, documents
    return _nfc(path, number, query), [_nfc(path, number + place, id) for place, id in enumerate(documents)]


def _nfc(path: Path, number: int, id: bytes) -> bytes:
    try:
        return unicodedata.normalize("NFC", id.decode()).encode()
    except UnicodeDecodeError:
        raise DataError(f"{path}:{number}: the id '{_shown(id)}' is not UTF-8") from None


def _shown(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
