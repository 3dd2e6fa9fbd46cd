"""Files of the Text Retrieval Conference: topics and relevance judgements (qrels)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runner.data.fields import Fields, clean
from runner.data.files import read_text
from runner.data.jsonl import read_jsonl
from runner.data.problems import ProblemLog, why_empty
from runner.data.trec_runs import judgements
from runner.errors import DataError

_TOPIC = re.compile(r"<(top|topic)\b([^>]*)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"number\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_LABELS = {"num": "Number:", "title": "Topic:", "desc": "Description:", "narr": "Narrative:"}
_FIELD = re.compile(r"<(\w+)>(.*?)(?=<\w+>|</|\Z)", re.DOTALL)
REPEATED = "'{document}' is judged {first} and {grade} for topic '{query}'; the first one counts"


@dataclass(frozen=True, slots=True)
class Topic:
    """A query of a TREC topics file, and its line (from 1)."""

    id: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class TopicQrels:
    """Document id -> grade, of one topic; `line`: of the first judgement."""

    grades: dict[str, int]
    line: int | None


def read_topics(path: str, key: str, field: str, log: ProblemLog) -> list[Topic]:
    """Topics in file order, from `<top>` or `<topic>` blocks, JSONL ("_id" or "id", "text") or id TAB text.

    `field` is the part of a block that is the query. A bad topic and a repeated id are errors and left out.
    Raises DataError when the file cannot be read or holds no usable topic.
    """
    text = read_text(path, key, DataError)
    if text.lstrip().startswith("{"):
        topics_read = _from_jsonl(path, key, log)
    elif _TOPIC.search(text):
        topics_read = _from_blocks(text, field, path, log)
    else:
        topics_read = _from_lines(text, path, log)
    topics: dict[str, Topic] = {}
    for topic in topics_read:
        if topic.id in topics:
            first = f"{path}:{topics[topic.id].line}"
            log.error(path, f"'{topic.id}' is already the id at {first}; the first one counts", topic.line, "id")
        else:
            topics[topic.id] = topic
    log.stop_if_strict()
    if not topics:
        raise DataError(f"{key}: no topics in {path}{why_empty(log, path)}")
    return list(topics.values())


def _from_jsonl(path: str, key: str, log: ProblemLog) -> Iterator[Topic]:
    for line, data in read_jsonl(path, key, log, DataError):
        fields = Fields(data, path, line, log)
        topic = Topic(fields.required_text("id", "_id"), fields.required_text("text", "query"), line)
        if not fields.failed:
            yield topic


def _from_lines(text: str, path: str, log: ProblemLog) -> Iterator[Topic]:
    for line, content in enumerate(text.split("\n"), 1):
        topic, _, query = content.partition("\t")
        if topic.strip() and query.strip():
            yield Topic(clean(topic.strip()), clean(query.strip()), line)
        elif content.strip():
            log.error(path, "expected an id, a tab and the text of the topic", line)


def _from_blocks(text: str, field: str, path: str, log: ProblemLog) -> Iterator[Topic]:
    for block in _TOPIC.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        parts = {name.lower(): _content(name.lower(), content) for name, content in _FIELD.findall(block[3])}
        number = _NUMBER.search(block[2])
        topic = number[1].strip() if number else parts.get("num", "")
        if topic and parts.get(field):
            yield Topic(clean(topic), clean(parts[field]), line)
        else:
            missing = "num" if not topic else field
            known = ", ".join(sorted(name for name, content in parts.items() if content))
            log.error(path, f"the topic has no <{missing}>; it has: {known or 'nothing'}", line)


def _content(name: str, text: str) -> str:
    """The content of a field without the label of old topics (`<num> Number: 301`)."""
    return " ".join(html.unescape(text.strip().removeprefix(_LABELS.get(name, ""))).split())


def read_qrels(path: str, key: str, log: ProblemLog) -> dict[str, TopicQrels]:
    """Judgements by topic id; runner.data.trec_runs describes the lines.

    A bad line and a second, different grade of a document are errors and left out.
    Raises DataError when the file cannot be read or holds no usable judgement.
    """

    def refuse(number: int, column: str, message: str) -> None:
        log.error(path, message, number, column or None)

    lines = read_text(path, key, DataError).encode().split(b"\n")
    qrels, first_lines = judgements(lines, refuse, REPEATED)
    log.stop_if_strict()
    if not qrels:
        raise DataError(f"{key}: no judgements in {path}{why_empty(log, path)}")
    return {_text(query): TopicQrels(_by_text(grades), first_lines[query]) for query, grades in qrels.items()}


def _by_text(grades: Mapping[bytes, int]) -> dict[str, int]:
    return {_text(document): grade for document, grade in grades.items()}


def _text(id: bytes) -> str:
    return clean(id.decode())
