"""Turns rows of logs into lines of a queries file (runner.data.queries): finds the columns of question, answer and
other fields, and parses their cells.

A column is given (as a name, `outer.inner`, or JMESPath) or guessed from English or Korean names. A list in a cell may
be a list, JSON, the output of Python or numpy, or a text with separators.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import jmespath
import orjson
from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from runner.data.fields import clean
from runner.data.problems import ProblemLog
from runner.data.tables import Row
from runner.errors import RunnerError, did_you_mean

NAMES: Mapping[str, tuple[str, ...]] = {
    "question": (
        *(
            "question",
            "user_input",
            "query",
            "user_query",
            "user_question",
            "질문",
            "사용자 질문",
            "사용자 질의",
            "질의",
        ),
        *("질문 내용", "문의", "문의 내용", "고객 질문", "고객 문의", "쿼리", "발화", "사용자 발화", "user_message"),
        *("request", "prompt", "instruction", "input", "inputs", "입력", "입력값", "프롬프트", "요청"),
    ),
    "answer": (
        *("response", "answer", "generated_answer", "model_answer", "actual_output", "model_output", "prediction"),
        *(
            "predictions",
            "predicted_answer",
            "completion",
            "bot_response",
            "assistant",
            "답변",
            "챗봇 답변",
            "모델 답변",
        ),
        *(
            "AI 답변",
            "시스템 답변",
            "생성 답변",
            "답변 내용",
            "응답",
            "챗봇 응답",
            "모델 응답",
            "AI 응답",
            "대답",
            "답",
        ),
        *("output", "outputs", "output_text", "result", "출력", "출력값", "결과"),
    ),
    "contexts": (
        *("retrieved_contexts", "contexts", "retrieved_context", "retrieval_context", "retrieved_documents", "context"),
        *(
            "retrieved_docs",
            "source_documents",
            "documents",
            "docs",
            "passages",
            "chunks",
            "sources",
            "컨텍스트",
            "문맥",
        ),
        *(
            "검색 결과",
            "검색 문서",
            "검색된 문서",
            "참고 문서",
            "참조 문서",
            "근거 문서",
            "근거",
            "문서",
            "문서 내용",
            "출처",
        ),
    ),
    "reference": (
        *("reference", "references", "ground_truth", "ground_truths", "reference_answer", "reference_answers"),
        *("expected_answer", "expected_response", "expected_output", "expectedOutput", "expected", "gold_answer"),
        *("correct_answer", "ideal_answer", "ideal", "target", "targets", "answers", "정답", "기준 답변", "모범 답안"),
        *("모범 답변", "참조 답변", "기대 답변", "기대 결과", "정답 답변", "예상 답변"),
    ),
    "id": (
        *(
            "id",
            "question_id",
            "query_id",
            "qid",
            "case_id",
            "example_id",
            "trace_id",
            "아이디",
            "질문 ID",
            "문의 번호",
        ),
        *("번호", "순번", "No", "일련번호"),
    ),
    "history": ("history", "chat_history", "conversation_history", "대화 이력", "이전 대화", "대화 기록", "대화 내역"),
    "language": ("language", "lang", "locale", "언어"),
    "difficulty": ("difficulty", "난이도"),
    "tags": ("tags", "category", "topic", "태그", "분류", "카테고리", "유형", "주제"),
    "answerable": ("answerable", "is_answerable", "답변 가능", "답변 가능 여부", "응답 가능 여부"),
    "expected_notes": (
        *(
            "expected_notes",
            "reference_context_ids",
            "gold_ids",
            "gold_documents",
            "relevant_ids",
            "relevant_documents",
        ),
        *("정답 문서", "정답 문서 ID", "관련 문서", "관련 문서 ID"),
    ),
    "ranking": ("ranking", "retrieved_context_ids", "retrieved_ids", "검색 문서 ID", "검색 순위"),
    "created_at": ("created_at", "timestamp", "request_time", "일시", "작성일", "작성 시각", "생성 시각"),
    "checks": ("checks",),
}
DOCUMENT_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "_id", "doc_id", "document_id", "문서 ID", "아이디", "번호"),
    "title": ("title", "제목", "문서명", "문서 제목"),
    "text": ("text", "content", "body", "document", "passage", "본문", "내용", "문서 내용", "문서", "텍스트"),
    "lang": ("lang", "language", "언어"),
}
FIELDS = tuple(NAMES)
TOP_LEVEL = frozenset({"id", "created_at", "tags", "checks"})  # columns of the row itself only
DEEP = 3  # nesting depth of objects whose members are columns
SEPARATORS = ("|||", "<sep>", "[SEP]", "\n---\n")  # separators of contexts in a cell, where none is given
TEXT_KEYS = ("text", "page_content", "pageContent", "content", "document", "passage", "chunk", "body", "본문", "내용")
ID_KEYS = ("id", "doc_id", "document_id", "chunk_id", "doc_uri", "source", "url", "uri", "문서 ID")
YES = frozenset({"true", "yes", "y", "1", "o", "예", "네", "가능", "답변 가능", "참"})
NO = frozenset({"false", "no", "n", "0", "x", "아니오", "아니요", "불가", "불가능", "답변 불가", "거짓"})


@with_config(ConfigDict(extra="forbid"))
class ColumnSettings(TypedDict, total=False):
    """Names of columns; the others are guessed."""

    question: str
    answer: str
    contexts: str
    reference: str
    id: str
    history: str
    language: str
    difficulty: str
    tags: str
    answerable: str
    expected_notes: str
    ranking: str
    created_at: str


GUESSED: ColumnSettings = {}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a field. `read` returns None for a row without a value."""

    name: str
    read: Callable[[Row], Any]


def chosen_columns(
    rows: Sequence[Row], column_of: Mapping[str, str], key: str, error: type[RunnerError], *, guesses: bool = True
) -> dict[str, Column]:
    """The columns by field: the given ones, then guessed ones. Raises `error` for an unknown name."""
    names = column_names(rows)
    columns = {field: _find_column(field, name, names, rows, key, error) for field, name in column_of.items()}
    used_names = {column.name for column in columns.values()}
    for field in FIELDS if guesses else ():
        if field not in columns and (
            guessed := guess(field, [name for name in names if not _overlaps_one(name, used_names)])
        ):
            columns[field] = Column(guessed, _reader(guessed))
            used_names.add(guessed)
    return {field: columns[field] for field in FIELDS if field in columns}


def column_names(rows: Iterable[Row]) -> list[str]:
    """The columns of the rows, with members of objects as `outer.inner` after their object."""
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(_members(row, "", DEEP)))
    return list(names)


def _members(row: Row, prefix: str, depth: int) -> Iterator[str]:
    for name, value in row.items():
        yield f"{prefix}{name}"
        if isinstance(value, dict) and depth > 1:
            yield from _members(value, f"{prefix}{name}.", depth - 1)


def guess(field: str, columns: Sequence[str], names: Mapping[str, Sequence[str]] = NAMES) -> str | None:
    """The column with the first matching name of NAMES. A whole name precedes the end of a name, such as
    `inputs.question`."""
    full_names = {_letters_of(name): name for name in reversed(columns)}
    ends = {_letters_of(re.split(r"[./]", name.removesuffix("/value"))[-1]): name for name in reversed(columns)}
    for alias in map(_letters_of, names[field]):
        if alias in full_names:
            return full_names[alias]
        if alias in ends and (field not in TOP_LEVEL):
            return ends[alias]
    return None


def _letters_of(name: str) -> str:
    return "".join(character for character in clean(name).casefold() if character.isalnum())


def _overlaps_one(name: str, taken: Iterable[str]) -> bool:
    return any(name == other or name.startswith(f"{other}.") or other.startswith(f"{name}.") for other in taken)


def _find_column(
    field: str, name: str, names: Sequence[str], rows: Sequence[Row], key: str, error: type[RunnerError]
) -> Column:
    if name in names:
        return Column(name, _reader(name))
    normal = {clean(column).strip(): column for column in names}
    if clean(name).strip() in normal:
        return Column(normal[clean(name).strip()], _reader(normal[clean(name).strip()]))
    try:
        expression = jmespath.compile(name)
        if any(expression.search(row) is not None for row in rows):
            return Column(name, expression.search)
    except jmespath.exceptions.JMESPathError:
        pass
    listed = ", ".join(column for column in names if "." not in column)
    raise error(
        f"{key}{field}: no column '{name}'{did_you_mean(name, names).partition('; known')[0]}; it has: {listed}"
    )


def _reader(name: str) -> Callable[[Row], Any]:
    def read(row: Row) -> Any:
        if name in row:
            return row[name]
        value: Any = row
        for part in name.split("."):
            if not isinstance(value, Mapping) or part not in value:
                return None
            value = value[part]
        return value

    return read


def left_columns(rows: Sequence[Row], columns: Iterable[Column]) -> list[str]:
    """The columns of the rows that no field uses."""
    taken = {column.name for column in columns}
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if not any(t == name or re.match(rf"{re.escape(name)}\W", t) for t in taken)]


# --- a row as a line of a queries file --------------------------------------------------------------


class Cases:
    """Turns rows into lines of a queries file with unique ids: `row-N` where there is none, `ID#2` for a repeated one.

    `counts`: field -> number of lines that have it.
    """

    def __init__(self, path: str, log: ProblemLog, separator: str | None = None) -> None:
        self.path, self.log, self.separator = path, log, separator
        self.counts: dict[str, int] = {}
        self.blank_answers = 0
        self.repeated_ids = 0
        self._ids: dict[str, int] = {}

    def of(self, number: int, line: int | None, cells: Mapping[str, Any]) -> dict[str, Any] | None:
        """The line of a row. `cells`: by field. None, and an error in the log, for a row without a question."""
        question, history = question_in(cells.get("question"))
        if not question.strip():
            self.log.error(
                self.path, "expected a question, found a blank cell", line, None if line else f"[{number - 1}]"
            )
            return None
        case = {
            "id": self._id(cells.get("id"), number),
            "query": question,
            "answerable": answerable_of(cells.get("answerable")),
            "expected_notes": _ids_of(cells.get("expected_notes"), self.separator),
            "answers": references_of(cells.get("reference")),
            "history": turns_of(cells.get("history")) or history,
            "ranking": _ids_of(cells.get("ranking"), self.separator),
            "contexts": contexts_of(cells["contexts"], self.separator) if "contexts" in cells else None,
            "answer": self._answer(cells),
            "language": _word(cells.get("language")),
            "difficulty": _word(cells.get("difficulty")),
            "tags": [clean(str(tag)) for tag in list_in(cells.get("tags"), (",", ";"))],
            "created_at": _time(cells.get("created_at")),
            "checks": cells.get("checks"),
        }
        fields = {name: value for name, value in case.items() if value or name in ("answerable", "expected_notes")}
        fields |= {name: case[name] for name in ("answer", "contexts") if case[name] is not None}
        if not fields["answerable"]:
            fields["expected_notes"] = []
        for name, value in fields.items():
            self.counts[name] = self.counts.get(name, 0) + bool(value)
        return fields

    def _answer(self, cells: Mapping[str, Any]) -> str | None:
        if "answer" not in cells:
            return None
        answer = answer_in(cells["answer"])
        self.blank_answers += not answer.strip()
        return answer

    def _id(self, value: Any, number: int) -> str:
        id = clean(str(value)).strip() if value is not None else ""
        id = id or f"row-{number}"
        times = self._ids[id] = self._ids.get(id, 0) + 1
        self.repeated_ids += times > 1
        return f"{id}#{times}" if times > 1 else id


def question_in(value: Any) -> tuple[str, list[dict[str, str]]]:
    """The question of a cell, and the turns before it where the cell is a conversation."""
    turns = turns_of(value)
    while turns and turns[-1]["role"] != "user":
        turns.pop()
    if turns:
        return turns[-1]["text"], turns[:-1]
    value = _unpack(value)
    if isinstance(value, dict) and set(value) <= {"args", "kwargs"}:  # a function call
        return question_in(value["kwargs"] if value.get("kwargs") else next(iter(value.get("args") or ()), None))
    if isinstance(value, dict):
        name = guess("question", [str(name) for name in value])
        inner = value[name] if name is not None else next(iter(value.values())) if len(value) == 1 else None
        if inner is not None:
            return question_in(inner)
    return text_of(value), []


def answer_in(value: Any) -> str:
    """The answer of a cell: a text, or the output of a model or a chain."""
    value = _unpack(value)
    if isinstance(value, list):
        turns = turns_of(value)
        if turns or not value:
            return next((turn["text"] for turn in reversed(turns) if turn["role"] == "assistant"), "")
        return answer_in(value[0]) if len(value) == 1 else text_of(value)
    if not isinstance(value, dict):
        return text_of(value)
    for name in ("choices", "messages", "generations", "message", "kwargs", "content", "text"):
        if value.get(name):
            return answer_in(value[name][0] if name in ("choices", "generations") else value[name])
    answer = guess("answer", [str(name) for name in value])
    if answer is None and len(value) == 1:
        answer = next(iter(value))
    return text_of(value) if answer is None else answer_in(value[answer])


CHAT = frozenset({"choices", "messages", "generations"})


def _unpack(value: Any) -> Any:
    """The value of a JSON text with a conversation or a model output; other texts are unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    inner = _json(value)
    if isinstance(inner, dict) and (CHAT & set(inner) or {"role", "content"} <= set(inner)):
        return inner
    return inner if isinstance(inner, list) and turns_of(inner) else value


ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant"}


def turns_of(value: Any) -> list[dict[str, str]]:
    """The turns of user and assistant; [] for a value that is no conversation."""
    value = _json(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value
    if isinstance(value, dict):
        value = value.get("messages")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list):
        return []
    turns = []
    for item in value:
        message = item.get("kwargs", item) if isinstance(item, dict) else {}
        role = ROLES.get(str(message.get("role") or message.get("type") or "").lower())
        text = text_of(message.get("content", message.get("text"))).strip()
        if role and text:
            turns.append({"role": role, "text": clean(text)})
    return turns


def text_of(value: Any) -> str:
    """A value as text: the texts of message parts, or JSON of anything else."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        return "".join(text_of(part["text"]) for part in value)
    return orjson.dumps(value).decode() if isinstance(value, dict | list | bool) else str(value)


def references_of(value: Any) -> list[str]:
    """References in a cell or list, without blanks and repeats, in order."""
    texts = [answer_in(item).strip() for item in list_in(value, ())]
    return list(dict.fromkeys(text for text in texts if text))


def answerable_of(value: Any) -> bool:
    """False for a value that means no, else true."""
    return not (value is False or str(value).strip().casefold() in NO)


def contexts_of(value: Any, separator: str | None = None) -> list[Any]:
    """Retrieved texts in a cell or list; `separator` replaces SEPARATORS."""
    return [context for item in list_in(value, SEPARATORS, separator) if (context := _context(item))]


def _context(item: Any) -> Any:
    """A text, or {"id", "title", "text"}."""
    if not isinstance(item, dict):
        return text_of(item).strip()
    item = item.get("kwargs", item)
    metadata = item["metadata"] if isinstance(item.get("metadata"), dict) else {}
    text = next((text_of(item[name]) for name in TEXT_KEYS if item.get(name)), "")
    if not text.strip():
        return text_of(item) if item else ""
    id = next(
        (str(part[name]) for part in (item, metadata) for name in ID_KEYS if part.get(name) not in (None, "")), ""
    )
    title = next((str(part[name]) for part in (item, metadata) for name in ("title", "제목") if part.get(name)), "")
    named = {"id": clean(id), "title": clean(title)}
    return {**{name: value for name, value in named.items() if value}, "text": text} if id or title else text


def list_in(value: Any, separators: Sequence[str], separator: str | None = None) -> list[Any]:
    """The list in a cell: JSON, the output of Python or numpy, or a text with separators."""
    if value is None:
        return []
    if isinstance(value, dict):
        inner = next((value[name] for name in ("documents", "docs", "contexts", "output") if name in value), None)
        return [value] if inner is None else list_in(inner, separators, separator)
    if not isinstance(value, str):
        return list(value) if isinstance(value, list | tuple) else [value]
    text = value.strip()
    if separator is None and text.startswith(("[", "{", "(", "array(")):
        inner = _json(text)
        inner = inner if isinstance(inner, list | dict) else of_python(text)
        if isinstance(inner, list | dict):
            return list_in(inner, separators)
    used = separator or next((each for each in separators if each in text), None)
    return [part.strip() for part in (text.split(used) if used else [text]) if part.strip()]


def of_python(text: str) -> Any:
    """The value of a text in `repr` form: lists, texts, numbers, objects such as `Document(page_content='…',
    metadata={…})` as mappings, and lists of texts as numpy prints them, without commas. None for any other text."""
    try:
        value = _literal(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _without_commas(text, value)
    return value


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {str(_literal(name)): _literal(value) for name, value in zip(keys, values, strict=True) if name}
        case ast.Call(args=[], keywords=pairs):
            return {pair.arg: _literal(pair.value) for pair in pairs if pair.arg}
        case ast.Call(func=ast.Name(id="array"), args=[inner, *_]):
            return _literal(inner)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name():
            return None
    raise ValueError("not a literal")


def _without_commas(text: str, items: list[str]) -> list[str]:
    """Split adjacent texts, which Python would join and numpy prints as two."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError):
        return items
    texts = [token.string for token in tokens if token.type == tokenize.STRING]
    has_commas = any(token.string == "," for token in tokens)
    return items if has_commas or len(texts) == len(items) else [str(ast.literal_eval(each)) for each in texts]


def _ids_of(value: Any, separator: str | None) -> list[Any]:
    return [clean(str(item)) for item in list_in(value, (",", ";"), separator) if item is not None]


def _word(value: Any) -> str | None:
    return clean(str(value)).strip() or None if value is not None else None


def _time(value: Any) -> str | None:
    """A time in ISO 8601; None for another value."""
    try:
        return datetime.fromisoformat(value.strip()).isoformat() if isinstance(value, str) else None
    except ValueError:
        return None


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
