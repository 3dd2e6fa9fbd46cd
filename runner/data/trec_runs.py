"""TREC files of relevance judgements (qrels) and of runs, as trec_eval reads them.

    qrels   query iteration document grade          grade: a whole number, relevant above 0
            query-id corpus-id score                the header over three columns, as BEIR has them
    run     query Q0 document rank score tag        score: finite; the rank is not read

Columns are separated by blanks or tabs. Blank lines, lines that begin with # and further columns are ignored; a byte
order mark and CRLF are accepted. Ids are UTF-8 bytes in Unicode NFC, so that they compare as in trec_eval, by bytes.

Consecutive lines of one query are processed together: a run of a million lines is read in about 0.6 s.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NoReturn, cast

from runner.data.files import unpack
from runner.errors import DataError
from runner.records import DataProblem

Qrels = dict[bytes, dict[bytes, int]]
Run = dict[bytes, dict[bytes, float]]
Rows = Sequence[Sequence[bytes]]
Refuse = Callable[[int, str, str], None]  # (line number, column, message); may raise, else the line is skipped

THREE_COLUMNS = ("query", "document", "grade")  # columns of qrels with a header, as in BEIR
FOUR_COLUMNS = ("query", "iteration", "document", "grade")
RUN_COLUMNS = ("query", "Q0", "document", "rank", "score", "tag")
REPEATED = "'{document}' for query '{query}' is judged {first} in an earlier line, here {grade}"

_HEADER = [b"query-id", b"corpus-id", b"score"]
_COMMENT = b"#"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUERY = itemgetter(slice(1))  # one column, or none in a blank line
_GRADE = re.compile(rb"[-+]?\d{1,9}")
_SCORE = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Consecutive valid lines of one query: their numbers, documents, and grades or scores."""

    query: bytes
    numbers: Sequence[int]
    documents: Sequence[bytes]
    values: Sequence[float]


def read_qrels(path: Path) -> Qrels:
    """Grades of the judged documents of each query, in file order.

    A judgement may be repeated. Raises DataError for two different grades of a document, and for an invalid line.
    """
    with _open(path) as lines:
        return judgements(lines, _raiser_for(path))[0]


def judgements(lines: Iterable[bytes], refuse: Refuse, repeated: str = REPEATED) -> tuple[Qrels, dict[bytes, int]]:
    """Grades by query and document, and the first line of each query. `repeated`: the message for a second, different
    grade, which is ignored."""
    qrels: Qrels = {}
    first_lines: dict[bytes, int] = {}
    for stretch in _stretches(lines, FOUR_COLUMNS, refuse):
        grades: Sequence[int] = stretch.values  # type: ignore[assignment]
        grade_by_document = dict(zip(stretch.documents, grades, strict=True))
        if stretch.query in qrels or len(grade_by_document) < len(grades):
            grade_by_document = qrels.get(stretch.query, {})
            for number, document, grade in zip(stretch.numbers, stretch.documents, grades, strict=True):
                if (first := grade_by_document.setdefault(document, grade)) != grade:
                    ids = {"document": _decode(document), "query": _decode(stretch.query)}
                    refuse(number, "grade", repeated.format(**ids, first=first, grade=grade))
        qrels[stretch.query] = grade_by_document
        first_lines.setdefault(stretch.query, stretch.numbers[0])
    return qrels, first_lines


def read_run(path: Path) -> Run:
    """Scores by query and document; a repeated document has its best score. Raises DataError for an invalid line."""
    run: Run = {}
    with _open(path) as lines:
        for stretch in _stretches(lines, RUN_COLUMNS, _raiser_for(path)):
            scores = dict(zip(stretch.documents, stretch.values, strict=True))
            if stretch.query in run or len(scores) < len(stretch.values):
                scores = run.get(stretch.query, {})
                for document, score in zip(stretch.documents, stretch.values, strict=True):
                    scores[document] = max(score, scores.get(document, score))
            run[stretch.query] = scores
    return run


@contextmanager
def _open(path: Path) -> Iterator[Iterable[bytes]]:
    """The lines of a file, without its byte order mark. Raises DataError where it cannot be read."""
    try:
        with unpack(path.open("rb")) as packed:
            file = cast(BufferedReader, packed)
            if file.peek(len(_BYTE_ORDER_MARK)).startswith(_BYTE_ORDER_MARK):
                file.read(len(_BYTE_ORDER_MARK))
            yield file
    except FileNotFoundError:
        raise DataError(f"file not found: {path}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _raiser_for(path: Path) -> Refuse:
    def refuse(number: int, column: str, message: str) -> NoReturn:
        raise DataError(str(DataProblem("error", str(path), message, number, column)))

    return refuse


# --- the form of a line -------------------------------------------------------------------------------


def _stretches(lines: Iterable[bytes], columns: Sequence[str], refuse: Refuse) -> Iterator[_Stretch]:
    number, is_first = 1, True
    for query, group in groupby(map(bytes.split, lines), _QUERY):
        rows: Rows = list(group)
        numbers: Sequence[int] = range(number, number + len(rows))
        number += len(rows)
        if not query or query[0].startswith(_COMMENT):
            continue
        if is_first and rows[0] == _HEADER and columns == FOUR_COLUMNS:
            columns = THREE_COLUMNS
        if rows[0] == _HEADER and columns == THREE_COLUMNS:  # concatenated files have several
            rows, numbers = rows[1:], numbers[1:]
        is_first = False
        columns_read = _read(rows, columns)
        if columns_read is None:
            sound = [place for place, row in enumerate(rows) if not _refuse_line(row, numbers[place], columns, refuse)]
            rows, numbers = [rows[place] for place in sound], [numbers[place] for place in sound]
            columns_read = _read(rows, columns)
        if rows and columns_read is not None:
            yield _Stretch(_nfc(query[0]), numbers, *columns_read)


def _read(rows: Rows, columns: Sequence[str]) -> tuple[Sequence[bytes], Sequence[float]] | None:
    """Documents and values of the rows of one query; None where a row is invalid (`_refuse_line` finds it)."""
    by_name = dict(zip(columns, zip(*rows, strict=False), strict=False))
    if len(by_name) < len(columns):
        return None
    if "rank" in columns and max(map(len, rows)) > len(columns) and not all(_has_rank(row, columns) for row in rows):
        return None
    values = _grades(by_name["grade"]) if "grade" in columns else _scores(by_name["score"])
    documents = by_name["document"]
    if values is None:
        return None
    if rows[0][0].isascii() and b"".join(documents).isascii():
        return documents, values
    return (list(map(_nfc, documents)), values) if all(map(_is_utf8, (rows[0][0], *documents))) else None


def _refuse_line(row: Sequence[bytes], number: int, columns: Sequence[str], refuse: Refuse) -> bool:
    """Whether a line is invalid; calls `refuse` with the reason."""
    if len(row) < len(columns):
        refuse(number, "", f"expected {len(columns)} columns ({' '.join(columns)}), found {len(row)}")
        return True
    cell_by_column = dict(zip(columns, row, strict=False))
    if "rank" in columns and not _has_rank(row, columns):
        found = f"'{_decode(cell_by_column['rank'])}' (of {len(row)} columns the first {len(columns)} count)"
        refuse(number, "rank", f"expected a whole number, found {found}")
    elif "grade" in columns and not _GRADE.fullmatch(cell_by_column["grade"]):
        refuse(number, "grade", f"expected a whole number, found '{_decode(cell_by_column['grade'])}'")
    elif "score" in columns and not _is_score(cell_by_column["score"]):
        refuse(number, "score", f"expected a finite number, found '{_decode(cell_by_column['score'])}'")
    elif wrong := [id for id in (cell_by_column["query"], cell_by_column["document"]) if not _is_utf8(id)]:
        refuse(number, "", f"the id '{_decode(wrong[0])}' is not UTF-8")
    else:
        return False
    return True


def _grades(values: Sequence[bytes]) -> list[int] | None:
    return list(map(int, values)) if all(map(_GRADE.fullmatch, values)) else None


def _scores(values: Sequence[bytes]) -> list[float] | None:
    try:
        scores = list(map(float, values))
    except ValueError:
        return None
    if b"_" in b"".join(values):  # Python reads 1_0 as 10
        return None
    return scores if all(map(math.isfinite, scores)) else None


def _is_score(value: bytes) -> bool:
    return bool(_SCORE.fullmatch(value)) and math.isfinite(float(value))


def _has_rank(row: Sequence[bytes], columns: Sequence[str]) -> bool:
    """Whether the rank is a number; checked in lines with surplus columns only, where a blank inside an id would shift
    rank and score."""
    return len(row) <= len(columns) or bool(_GRADE.fullmatch(row[columns.index("rank")]))


def _is_utf8(id: bytes) -> bool:
    try:
        id.decode()
    except UnicodeDecodeError:
        return False
    return True


def _nfc(id: bytes) -> bytes:
    return id if id.isascii() else unicodedata.normalize("NFC", id.decode()).encode()


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
