"""The body of a service's reply as one JSON value: in any charset, as JSON, as server-sent events, or as a line of
JSON for each piece.

Events become one object: the keys of all events, later ones before earlier ones, `answer` with the pieces joined,
`reasoning_content` with the pieces of what the model thought, and `finish_reason: length` where one reached its limit.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from runner.llm.loose_json import parse_loosely
from runner.llm.verdict import ToldError
from runner.system.redaction import redacted_bytes
from runner.text.reply import FAILED, error_text, is_cut_off

EVENTS = frozenset({"text/event-stream"})
LINES = frozenset(
    {
        "application/x-ndjson",
        "application/ndjson",
        "application/jsonl",
        "application/x-jsonlines",
        "application/json-seq",
    }
)
DELTA = (
    "delta.text || delta.content || delta || token.text || token || content || choices[0].delta.content || "
    "choices[0].text || message.content || response || chunk"
)
THOUGHT_DELTA = (
    "choices[0].delta.reasoning_content || choices[0].delta.reasoning || delta.thinking || delta.reasoning_content || "
    "message.thinking || reasoning_content || thinking"
)
DONE = frozenset({"[DONE]", "DONE"})
# What servers name otherwise than Python, and charsets whose superset is what is sent under their name.
CHARSETS: Mapping[str, str] = {
    "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "ksc5601": "cp949", "ms949": "cp949", "x-windows-949": "cp949",
    "windows-949": "cp949", "iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "utf-8",
    "shift_jis": "cp932", "shift-jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "utf8": "utf-8",
}  # fmt: skip
GUESSED = "cp949"  # of a body without a charset that is not UTF-8
BOMS: Mapping[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip


def read_json(body: bytes, content_type: str, charset: str | None, delta: str | None = None) -> Any:
    """The JSON value of a body, None for an empty one.

    Args:
        body: as it came, without a content encoding.
        content_type: without parameters; JSON is read whatever it says.
        charset: that the service declares, if any.
        delta: JMESPath of the piece of an answer in one event; None: events are refused.

    Raises:
        ValueError: for what is no JSON, is cut, or has no event.
        ToldError: for an event that reports an error, also behind pieces of an answer.
    """
    text = decode_text(body, charset)
    if not text.strip():
        return None
    if delta is not None and content_type in EVENTS:
        return join_events(_sent_events(text), delta)
    try:
        return _parse(text)
    except ValueError:
        if delta is None or (events := _unnamed_events(text, content_type)) is None:
            raise
        return join_events(events, delta)


def decode_text(body: bytes, charset: str | None = None, *, errors: Literal["replace", "strict"] = "replace") -> str:
    """The text of a body: by its byte order mark, else in the charset that the service declares, else in UTF-8. A body
    that does not fit is read as UTF-8, then as the charset of Korean services that declare none. What fits nothing has
    its wrong bytes replaced; raises UnicodeDecodeError with `errors="strict"`."""
    for bom, encoding in BOMS.items():
        if body.startswith(bom):
            return body.decode(encoding, errors)
    declared = (charset or "").strip("\"' ").lower()
    encodings = [CHARSETS.get(declared, declared), "utf-8", GUESSED]
    if encodings[0] == "cp1252":  # declared by default, also of UTF-8, which hardly any other text is by chance
        encodings[:2] = ["utf-8", "cp1252"]
    for encoding in filter(None, encodings):
        try:
            return body.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return body.decode("utf-8", errors)


def _parse(text: str) -> Any:
    return parse_loosely(redacted_bytes(text.encode("utf-8", "replace")))


# --- events ---------------------------------------------------------------------------------------


class Event(NamedTuple):
    """`name`: of the event, empty for an ordinary one."""

    name: str
    data: str


def _sent_events(text: str) -> Iterator[Event]:
    """Events with data (html.spec.whatwg.org, server-sent events)."""
    for block in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        names = [_field_of(line) for line in block.split("\n") if line.startswith("event:")]
        data = [_field_of(line) for line in block.split("\n") if line.startswith("data:")]
        name = names[-1].strip().lower() if names else ""
        if name in FAILED or data:
            yield Event(name, "\n".join(data))


def _field_of(line: str) -> str:
    return line.partition(":")[2].removeprefix(" ")


def _unnamed_events(text: str, content_type: str) -> Iterator[Event] | None:
    """The events of a body whose type does not say that it has any; None for another body."""
    if text.lstrip().startswith(("data:", "event:")):
        return _sent_events(text.lstrip())
    lines = [line.strip().lstrip("\x1e") for line in text.splitlines() if line.strip()]
    if content_type in LINES or (len(lines) > 1 and all(line[0] == "{" for line in lines)):
        return (Event("", line) for line in lines)
    return None


@dataclass(slots=True)
class _Joined:
    keys: dict[str, Any] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    full_answer: Any = None
    is_cut_off: bool = False
    n_events: int = 0

    def add(self, data: str, value: Any, delta: str) -> None:
        """Raises ToldError where the event reports an error, ValueError where it was cut."""
        if not isinstance(value, dict | list):
            if value is data and self.keys and data.lstrip().startswith(('{"', "[{")):
                raise ValueError("an event was cut")
            self.pieces.append(value if isinstance(value, str) else data)
            return
        event = value[0] if isinstance(value, list) and value else value
        if not isinstance(event, dict):
            return
        _raise_error(event)
        piece, kind = _extract(delta, event), str(event.get("type"))
        self.is_cut_off |= is_cut_off(event) or is_cut_off(event.get("delta"))
        if isinstance(thought := _extract(THOUGHT_DELTA, event), str):
            self.thoughts.append(thought)
        if not isinstance(piece, str):
            self.full_answer = event.get("answer", self.full_answer)
        elif "reasoning" in kind or "thinking" in kind:
            self.thoughts.append(piece)
        elif not kind.endswith((".done", ".completed")):  # which repeat the pieces
            self.pieces.append(piece)
        self.keys |= event


def join_events(events: Iterator[Event], delta: str) -> dict[str, Any]:
    """One object of all events. `answer`: the pieces that `delta` finds, joined, unless an event without a piece has an
    answer of its own; data that is not JSON is a piece itself. Raises ValueError where there is no event and for cut
    JSON, ToldError for an error."""
    joined = _Joined()
    for name, data in events:
        joined.n_events += 1
        if data.strip() in DONE:
            continue
        value = _value_of(data)
        if name in FAILED:
            raise ToldError(_error_of(value) or data or name)
        joined.add(data, value, delta)
    if not joined.n_events:
        raise ValueError("no event")
    answer = "".join(joined.pieces) if joined.full_answer is None else joined.full_answer
    thought = {"reasoning_content": "".join(joined.thoughts)} if joined.thoughts else {}
    return {**joined.keys, **thought, **({"finish_reason": "length"} if joined.is_cut_off else {}), "answer": answer}


def _value_of(data: str) -> Any:
    """The JSON of an event, or its text."""
    try:
        return _parse(data)
    except ValueError:
        return data


def _extract(expression: str, event: Mapping[str, Any]) -> Any:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.search(expression, event)
    except JMESPathError:  # of a function that does not take what it finds
        return None


def _raise_error(event: Mapping[str, Any]) -> None:
    """Errors of OpenAI, Anthropic, Dify, vLLM, LangServe, the Vercel AI SDK and others."""
    error: Any = event.get("error") or event.get("errors")
    kind = str(event.get("type", ""))
    if not error and (kind in FAILED or kind.endswith(".failed") or event.get("event") in FAILED):
        response = event.get("response")
        error = (isinstance(response, Mapping) and response.get("error")) or _error_of(event) or kind or "error"
    if error_text(error):
        raise ToldError(error)


def _error_of(value: Any) -> Any:
    """What an object that reports an error says of it."""
    if not isinstance(value, Mapping):
        return value
    names: Sequence[str] = ("error", "errors", "message", "detail", "errorText", "reason", "code")
    return next((value[name] for name in names if value.get(name)), None)
