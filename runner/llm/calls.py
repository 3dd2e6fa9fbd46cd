"""calls.jsonl.zst of a run: what models were asked for each case, and what they replied.

    {"case": "q17", "role": "judge", "rubric": "faithfulness", "model": "openai:gpt-4.1-mini", "at": 1764000000000,
     "ms": 812.4, "waited_ms": 0.2, "attempts": 1, "cached": false, "repeat": 0, "again": 0, "input_tokens": 731,
     "output_tokens": 64, "cost_usd": 0.0004, "request": {"model": …, "messages": […], …},
     "reply": {"text": …, "finish_reason": "stop"}, "error": null, "id": "5f0c…"}

`request` is the JSON that is sent, without headers; `again` counts the unusable replies before this one; `attempts` is
0 for a stored reply and null where the case ended before the request did. Of stored replies that several runs of a
sweep read for the same case, `at` is the time at which the first of them noted them again. A call that embeds texts
lists only those of its case; its time is that of the whole request, and vectors are not kept.

The calls of a case are written together when the case ends, before its row: a skippable frame with the case id and the
length, then one zstd frame with the calls. A reader can seek to the cases that it wants, and `zstd -d` ignores the
skippable frames. Readers ignore a frame that a killed process left half-written; the next writer cuts it off.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

import orjson

from runner.errors import InputError, StopRunError
from runner.llm.ledger import Cost
from runner.llm.messages import ChatReply, Digest, request_digest
from runner.llm.metering import owner_of
from runner.system import terminal
from runner.system.redaction import redacted_bytes, redacted_value
from runner.system.shared import make_once
from runner.system.writing import os_error_text
from runner.words.wording import current_wording

if TYPE_CHECKING:
    from zstandard import ZstdCompressor

FILE = "calls.jsonl.zst"
Keep = Literal["all", "failed", "none"]

LEVEL = 3  # of zstd
HEAD = struct.Struct("<II")
SKIPPABLE = 0x184D2A5C  # one of the sixteen magic numbers of a skippable frame
LONGEST_HEAD = 2**20  # bytes of JSON
# What stands before `=` or its code in an address with a secret (see runner.system.redaction).
SECRETS = (b"password", b"passwd", b"passphrase", b"pwd", b"secret", b"token", b"key", b"signature", b"sig")
ENDS = frozenset(name[-2:] for name in SECRETS)
LONGEST_NAME = max(map(len, SECRETS))
KEPT_BYTES = 16_000_000  # of repeated calls, as they were written
UNANSWERED = "no reply had come when the case ended"

_rubric: ContextVar[str] = ContextVar("rubric", default="")


@contextmanager
def judging_by(rubric: str) -> Iterator[None]:
    """Note the rubric with all judge calls made in the body."""
    token = _rubric.set(rubric)
    try:
        yield
    finally:
        _rubric.reset(token)


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A request when it is sent."""

    role: str
    model: str
    request: Mapping[str, Any] | orjson.Fragment
    key: bytes  # everything the reply depends on
    repeat: int = 0
    again: int = 0

    def settle(self) -> CallRequest:
        """The same for logs that note it again and again: encoded, without secrets, with the digest of its key."""
        encoded = _without_secrets(self.request)
        return replace(self, request=orjson.Fragment(encoded), key=Digest(request_digest(self.key)))


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedCall:
    """A request, settled, and its stored reply, which further runs of a sweep note again."""

    request: CallRequest
    reply: ChatReply

    @property
    def id(self) -> str:
        """As in the file."""
        return _id_of(self.request)


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A repeated call when it is noted: encoded where no other run has written the same calls of the case."""

    call: RepeatedCall
    rubric: str
    cost: Cost
    at: int

    def encode(self, case: str) -> bytes:
        outcome = {"at": self.at, "ms": 0.0, **_of_reply(self.call.reply, self.cost), "error": None}
        return _encode(_line(case, self.call.request, self.rubric, outcome))


@dataclass(slots=True)
class _Groups:
    """What runs of a sweep wrote of repeated calls, by case, calls and rubrics: the bytes of the file."""

    left: int = KEPT_BYTES
    written: dict[tuple[object, ...], bytes] = field(default_factory=dict)

    def get(self, case: str, repeats: Sequence[_Repeat], pack: Callable[[], bytes]) -> bytes:
        key = (case, *(part for repeat in repeats for part in (repeat.call, repeat.rubric)))
        group = self.written.get(key)
        if group is None:
            group = pack()
            self.left -= len(group)
            if self.left >= 0:
                self.written[key] = group
        return group


@dataclass(frozen=True, slots=True)
class EmbeddingCall:
    """The outcome of a request to embed texts. `began`: time.perf_counter; `prefix`: sent before each text; `attempts`:
    0 where the vectors were stored; `length`: of the vectors, 0 where it is not known."""

    cost: Callable[[Sequence[str]], Cost]
    prefix: str
    began: float
    attempts: int = 0
    length: int = 0


class CallLog:
    """Writes the file of one run, in the run's event loop. `has_row`: whether the journal has the row of a case; stored
    replies are then not noted again. `keep=failed` drops the calls of a case that finished without a failure."""

    def __init__(self, path: Path, keep: Keep, has_row: Callable[[str], bool]) -> None:
        self.path, self._keep, self._has_row = path, keep, has_row
        self._compressor = _compressor()
        self._groups = make_once("groups of calls", "", _Groups)
        self._waiting: dict[str, list[bytes | _Repeat]] = {}  # by case
        self._noted_ids: dict[str, set[str]] = {}  # ids of requests noted so far, of cases without a row
        self._file: BinaryIO | None = None
        self._end = 0
        if keep != "none" and path.exists():
            self._end = _usable_length(path)
            for call in read_calls(path, lambda case: not has_row(case)):
                self._noted_ids.setdefault(call["case"], set()).add(call["id"])

    # --- what is asked ----------------------------------------------------------------------------

    @contextmanager
    def chat(self, request: CallRequest) -> Iterator[Callable[[ChatReply, Cost], None]]:
        """Around one request; call what it yields with the reply and its cost."""
        began, at, case = time.perf_counter(), _now(), owner_of()
        answers: list[tuple[ChatReply, Cost]] = []
        error, attempts = None, None
        try:
            yield lambda reply, cost: answers.append((reply, cost))
        except Exception as failure:
            error, attempts = str(failure) or type(failure).__name__, getattr(failure, "attempts", None)
            raise
        except BaseException:
            error = UNANSWERED
            raise
        finally:
            if case and self._keep != "none":
                outcome = _of_reply(*answers[0]) if answers else {**_NO_REPLY, "attempts": attempts}
                self._note(case, request, {"at": at, "ms": _ms(began), **outcome, "error": error})

    def note_repeated(self, call: RepeatedCall, cost: Cost) -> None:
        """Note a request whose stored reply an earlier run of the sweep read."""
        case = owner_of()
        if case and self._keep != "none" and not self._has_row(case):
            known, id = self._noted_ids.setdefault(case, set()), call.id
            if id not in known:
                known.add(id)
                repeat = _Repeat(call, _rubric_of(call.request), cost, _now())
                self._waiting.setdefault(case, []).append(repeat)

    def note_embedding(self, whole_request: CallRequest, texts: Sequence[str], outcome: EmbeddingCall) -> None:
        """Note a request to embed texts with each case that they belong to. Texts of no case are not noted."""
        body, by_case = cast("Mapping[str, Any]", whole_request.request), dict[str, list[str]]()
        for text in texts if self._keep != "none" else ():
            by_case.setdefault(owner_of(text.removeprefix(outcome.prefix)), []).append(text)
        by_case.pop("", None)
        ms = _ms(outcome.began)
        for case, case_texts in by_case.items():
            request = {**body, "input": case_texts}
            key = whole_request.key + "\0".join(case_texts).encode("utf-8", "surrogatepass")
            reply = {
                "vectors": len(case_texts),
                "dimensions": outcome.length or None,
                "texts_of_the_request": len(texts),
            }
            facts = {
                "attempts": outcome.attempts,
                "cached": not outcome.attempts,
                "reply": reply,
                **_cost(outcome.cost(case_texts)),
            }
            own_request = CallRequest(whole_request.role, whole_request.model, request, key)
            self._note(
                case,
                own_request,
                {"at": _now() - round(ms), "ms": ms, "waited_ms": 0.0, **facts, "error": None},
            )

    def _note(self, case: str, request: CallRequest, outcome: Mapping[str, Any]) -> None:
        id = _id_of(request)
        if outcome["cached"] and (self._has_row(case) or id in self._noted_ids.get(case, ())):
            return
        if not outcome["error"]:
            self._noted_ids.setdefault(case, set()).add(id)
        self._waiting.setdefault(case, []).append(_encode(_line(case, request, _rubric_of(request), outcome)))

    # --- what is written --------------------------------------------------------------------------

    def end_case(self, case: str, *, is_whole: bool) -> None:
        """Write the calls of a case; call it before the row is written. Raises StopRunError where they cannot be
        written."""
        lines = self._waiting.pop(case, [])
        self._noted_ids.pop(case, None)
        if lines and not (is_whole and self._keep == "failed"):
            self._write(case, lines)

    def close(self) -> None:
        """Write also the calls of unfinished cases: they help to find out what went wrong."""
        for case in list(self._waiting):
            self.end_case(case, is_whole=False)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _pack(self, case: str, lines: Sequence[bytes | _Repeat]) -> bytes:
        encoded = [line.encode(case) if isinstance(line, _Repeat) else line for line in lines]
        packed = self._compressor.compress(b"".join(encoded))
        head = orjson.dumps({"case": case, "calls": len(lines), "bytes": len(packed)})
        return HEAD.pack(SKIPPABLE, len(head)) + head + packed

    def _write(self, case: str, lines: Sequence[bytes | _Repeat]) -> None:
        repeats = [line for line in lines if isinstance(line, _Repeat)]
        is_repeated = len(repeats) == len(lines)
        pack = partial(self._pack, case, lines)
        group = self._groups.get(case, repeats, pack) if is_repeated else pack()
        try:
            if self._file is None:
                self._file = self.path.open("ab", buffering=0)
            rest = group
            while rest:  # on a disk that fills up, `write` may take only a part
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            if self._file is not None:
                self._file.truncate(self._end)
            raise StopRunError(os_error_text(error, self.path)) from error
        self._end += len(group)


def append_calls(source: Path, target: Path) -> None:
    """Append the calls of one file to another; damaged frames stay where they are."""
    if not source.exists():
        return
    end = _usable_length(source)
    with target.open("ab") as whole, source.open("rb") as part:
        while (block := part.read(min(end, 2**20))) and end > 0:
            whole.write(block)
            end -= len(block)


def _compressor() -> ZstdCompressor:
    from zstandard import ZstdCompressor

    return ZstdCompressor(level=LEVEL, write_checksum=True)


def _of_reply(reply: ChatReply, cost: Cost) -> dict[str, Any]:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls]
    message = {
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        **({"thought": reply.thought} if reply.thought else {}),
        **({"refusal": reply.refusal} if reply.refusal else {}),
        **({"calls": calls} if calls else {}),
    }
    waited_ms = round(reply.waited_s * 1000, 1)
    return {
        "waited_ms": waited_ms,
        "attempts": reply.attempts,
        "cached": reply.cached,
        "reply": message,
        **_cost(cost),
    }


def _cost(cost: Cost | None) -> dict[str, Any]:
    if cost is None:
        return {"input_tokens": None, "output_tokens": None, "cost_usd": None}
    usd = None if cost.nano_usd is None else cost.nano_usd / 1e9
    return {"input_tokens": cost.usage.input_tokens, "output_tokens": cost.usage.output_tokens, "cost_usd": usd}


_NO_REPLY: Mapping[str, Any] = {"waited_ms": None, "attempts": None, "cached": False, "reply": None, **_cost(None)}


def _id_of(request: CallRequest) -> str:
    return request_digest(request.key).hex()[:16]


def _rubric_of(request: CallRequest) -> str:
    return _rubric.get() if request.role == "judge" else ""


def _line(case: str, request: CallRequest, rubric: str, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A call as the file has it, before it is encoded."""
    about = {"case": case, "role": request.role, "rubric": rubric, "model": request.model}
    asked = {"repeat": request.repeat, "again": request.again, "request": request.request, "id": _id_of(request)}
    return {**about, **outcome, **asked}


def _encode(call: Mapping[str, Any]) -> bytes:
    """A line without secrets. A request that is settled was searched for them before."""
    request = call["request"]
    if not isinstance(request, orjson.Fragment):
        return redacted_bytes(_without_secrets(call)) + b"\n"
    fields = {**call, "request": None}
    if _may_hold_secrets(orjson.dumps(fields)):
        fields = redacted_value(fields)
    return redacted_bytes(orjson.dumps({**fields, "request": request})) + b"\n"


def _without_secrets(value: Any) -> bytes:
    """JSON without what looks like a secret in addresses."""
    line = orjson.dumps(value)
    return orjson.dumps(redacted_value(value)) if _may_hold_secrets(line) else line


def _may_hold_secrets(line: bytes) -> bool:
    """Each request is searched, and most hold several `=`."""
    if b"://" in line or (b"%" in line and b"%3d" in line.lower()):
        return True
    *named, _ = line.split(b"=")
    return any(part[-2:].lower() in ENDS and part[-LONGEST_NAME:].lower().endswith(SECRETS) for part in named)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _ms(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 1)


# --- reading ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Group:
    case: str
    n_calls: int
    start: int  # bytes of the frame with its calls
    length: int


class _DamageError(ValueError):
    pass


def read_calls(path: Path, takes_case: Callable[[str], bool] | None = None) -> Iterator[dict[str, Any]]:
    """The calls of the wanted cases, in the order in which they were written; none where there is no file. Raises
    InputError for a damaged file."""
    from zstandard import ZstdDecompressor, ZstdError

    if not path.is_file():
        return
    with path.open("rb") as file:
        try:
            for group in _groups(file):
                if takes_case is None or takes_case(group.case):
                    file.seek(group.start)
                    text = ZstdDecompressor().decompress(file.read(group.length), max_output_size=2**40)
                    yield from map(orjson.loads, text.splitlines())
        except (_DamageError, ZstdError, ValueError) as error:
            raise InputError(f"{path} is damaged ({error})") from None


def call_counts(path: Path) -> dict[str, int]:
    """How many calls of each case there are, without reading them."""
    counts: dict[str, int] = {}
    if path.is_file():
        with path.open("rb") as file:
            try:
                for group in _groups(file):
                    counts[group.case] = counts.get(group.case, 0) + group.n_calls
            except _DamageError as error:
                raise InputError(f"{path} is damaged ({error})") from None
    return counts


def calls_of(path: Path, cases: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """The calls by case."""
    calls: dict[str, list[dict[str, Any]]] = {case: [] for case in cases}
    for call in read_calls(path, calls.__contains__):
        calls[call["case"]].append(call)
    return calls


def _groups(file: BinaryIO) -> Iterator[_Group]:
    """Up to the end, or to a frame that a killed process left half-written. The caller may move the position of `file`
    between two groups."""
    size, start = file.seek(0, 2), 0
    while size - start >= HEAD.size:
        file.seek(start)
        magic, length = HEAD.unpack(file.read(HEAD.size))
        if magic != SKIPPABLE or length > LONGEST_HEAD:
            raise _DamageError(f"no calls of a case begin at byte {start:,}")
        head = file.read(length)
        if len(head) < length:
            return
        try:
            told = orjson.loads(head)
            group = _Group(str(told["case"]), int(told["calls"]), start + HEAD.size + length, int(told["bytes"]))
        except (ValueError, KeyError, TypeError):
            raise _DamageError(f"the frame at byte {start:,} has no case id") from None
        start = group.start + group.length
        if start > size:
            return
        yield group


def _usable_length(path: Path) -> int:
    """The length of the file without a half-written last frame; a file that is damaged elsewhere is set aside."""
    with path.open("rb") as file:
        try:
            end = max((group.start + group.length for group in _groups(file)), default=0)
        except _DamageError as error:
            aside = path.with_name(f"{FILE}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
            terminal.note(current_wording()("progress.aside.calls", path=path, error=error, aside=aside.name))
            path.rename(aside)
            return 0
    if end < path.stat().st_size:
        with path.open("r+b") as file:
            file.truncate(end)
    return end
