"""What services really send: as bytes over a real connection."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from plugins.system.http import HttpSystem
from runner.errors import EvaluationError, StopRunError
from runner.records import SystemReply
from tests.plugins.system.asking import QUERY, door, opened, settings

JSON, SSE, HTML = "application/json", "text/event-stream", "text/html"
TOLD, NO_JSON = "the reply is an error: ", "expected JSON, got "
GOOD = (200, JSON, orjson.dumps({"answer": "9 euros", "contexts": []}))

Sent = tuple[int, str, bytes]


@dataclass
class Script:
    """`replies`: in turn, the last one for ever."""

    url: str = ""
    replies: list[Sent] = field(default_factory=list)
    n_asked: int = 0

    def next(self) -> Sent:
        self.n_asked += 1
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@pytest.fixture(scope="module")
def started() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, kind, body = script.next()
            self.send_response(status)
            if kind:
                self.send_header("content-type", kind)
            if status in (301, 302, 307):
                self.send_header("location", "/login")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        script.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield script
        server.shutdown()


@pytest.fixture
def service(started: Script, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Pauses between attempts are short."""
    monkeypatch.setattr("runner.llm.retry.Patience.pause_s", lambda *_: 0.0)
    started.replies, started.n_asked = [GOOD], 0
    return started


async def ask(folder: Path, service: Script, *replies: Sent, n: int = 1, **changed: Any) -> list[SystemReply | str]:
    """What came of so many questions: replies, or the message of the error."""
    service.replies = list(replies)
    models = door(folder)
    system = HttpSystem(models=models, **settings("http", **{"url": f"{service.url}/ask", "retries": 2, **changed}))
    came: list[SystemReply | str] = []
    async with opened(system, models):
        for number in range(n):
            try:
                came.append(await system.ask(replace(QUERY, text=f"What is the fee ({number})?")))
            except EvaluationError as error:
                came.append(f"{type(error).__name__}: {error}")
    return came


def json_of(value: Any) -> Sent:
    return 200, JSON, orjson.dumps(value)


def data(value: Any, event: str = "") -> str:
    return (f"event: {event}\n" if event else "") + f"data: {orjson.dumps(value).decode()}"


def sse(*events: str) -> Sent:
    return 200, SSE, "".join(f"{event}\n\n" for event in events).encode()


# --- charsets and types ---------------------------------------------------------------------------

KOREAN = '{"answer": "14일 안에 처리됩니다", "contexts": []}'
READ: dict[str, tuple[Sent, str]] = {
    "EUC-KR": ((200, "application/json; charset=euc-kr", KOREAN.encode("cp949")), "14일 안에 처리됩니다"),
    "one syllable that could be UTF-8": (
        (200, 'application/json;charset="EUC-KR"', '{"answer": "처"}'.encode("cp949")),
        "처",
    ),
    "CP949": ((200, "application/json; charset=CP949", '{"answer": "똠방각하"}'.encode("cp949")), "똠방각하"),
    "ks_c_5601-1987": ((200, "text/plain; charset=ks_c_5601-1987", KOREAN.encode("cp949")), "14일 안에 처리됩니다"),
    "MS949": ((200, "application/json; charset=MS949", KOREAN.encode("cp949")), "14일 안에 처리됩니다"),
    "no charset": ((200, "application/json", KOREAN.encode("cp949")), "14일 안에 처리됩니다"),
    "Latin-1": (
        (200, "application/json; charset=ISO-8859-1", '{"answer": "Café à 9 €"}'.encode("cp1252")),
        "Café à 9 €",
    ),
    "UTF-8 that is declared as Latin-1": (
        (200, "text/plain; charset=ISO-8859-1", KOREAN.encode()),
        "14일 안에 처리됩니다",
    ),
    "UTF-16": ((200, "application/json; charset=utf-16", KOREAN.encode("utf-16")), "14일 안에 처리됩니다"),
    "an unknown charset": ((200, "application/json; charset=x-none", KOREAN.encode()), "14일 안에 처리됩니다"),
    "byte order mark": ((200, JSON, b"\xef\xbb\xbf" + KOREAN.encode()), "14일 안에 처리됩니다"),
    "JSON as text/plain": ((200, "text/plain", KOREAN.encode()), "14일 안에 처리됩니다"),
    "JSON as text/html": ((200, "text/html; charset=utf-8", KOREAN.encode()), "14일 안에 처리됩니다"),
    "JSON without a type": ((200, "", KOREAN.encode()), "14일 안에 처리됩니다"),
    "NaN": ((200, JSON, b'{"answer": "9 euros", "x": NaN}'), "9 euros"),
    "EUC-KR events": (
        (200, "text/event-stream; charset=euc-kr", 'data: {"delta": "14일"}\n\n'.encode("cp949")),
        "14일",
    ),
}


async def test_replies_in_other_charsets_and_types_are_read(service: Script, tmp_path: Path) -> None:
    for name, (sent, answer) in READ.items():
        (came,) = await ask(tmp_path / name, service, sent)
        assert isinstance(came, SystemReply), (name, came)
        assert came.answer == answer, name


# --- events ---------------------------------------------------------------------------------------

STREAMS: dict[str, tuple[Sent, SystemReply]] = {
    "OpenAI": (
        sse(
            data({"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}),
            data({"choices": [{"delta": {"reasoning_content": "3 or 9?"}, "finish_reason": None}]}),
            data({"choices": [{"delta": {"content": "9 "}, "finish_reason": None}]}),
            data({"choices": [{"delta": {"content": "euros"}, "finish_reason": "length"}]}),
            data({"choices": [], "usage": {"prompt_tokens": 3}}),
            "data: [DONE]",
        ),
        SystemReply("9 euros", cut_off=True, thought="3 or 9?"),
    ),
    "Anthropic": (
        sse(
            data({"type": "message_start", "message": {"content": [], "stop_reason": None}}, "message_start"),
            data(
                {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
                "content_block_delta",
            ),
            data(
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "9 euros"}},
                "content_block_delta",
            ),
            data({"type": "ping"}, "ping"),
            data({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}, "message_delta"),
            data({"type": "message_stop"}, "message_stop"),
        ),
        SystemReply("9 euros", cut_off=True, thought="hm"),
    ),
    "OpenAI responses": (
        sse(
            data({"type": "response.reasoning_summary_text.delta", "delta": "hm"}),
            data({"type": "response.output_text.delta", "delta": "9 "}),
            data({"type": "response.output_text.delta", "delta": "euros"}),
            data({"type": "response.output_text.done", "text": "9 euros"}),
            data({"type": "response.completed", "response": {"status": "completed", "error": None}}),
        ),
        SystemReply("9 euros", thought="hm"),
    ),
    "Ollama": (
        (
            200,
            "application/x-ndjson",
            b'{"message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": false}\n'
            b'{"message": {"role": "assistant", "content": "9 "}, "done": false}\n'
            b'{"message": {"role": "assistant", "content": "euros"}, "done": false}\n'
            b'{"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}\n',
        ),
        SystemReply("9 euros", thought="hm"),
    ),
    "Ollama as JSON": (
        (200, JSON, b'{"response": "9 "}\n{"response": "euros", "done_reason": "length"}\n'),
        SystemReply("9 euros", cut_off=True),
    ),
    "LangServe": (
        sse(data({"run_id": "1"}, "metadata"), 'event: data\ndata: "9 "', 'event: data\ndata: "euros"', "event: end"),
        SystemReply("9 euros"),
    ),
    "LangGraph": (
        sse(data([{"content": "9 euros", "type": "AIMessageChunk"}, {"langgraph_node": "agent"}], "messages")),
        SystemReply("9 euros"),
    ),
    "words": (
        sse("data: It", "data:  takes", "data:  14", "data:  days", "data: [DONE]"),
        SystemReply("It takes 14 days"),
    ),
    "n8n": (
        sse(data({"type": "begin"}), data({"type": "item", "content": "9 euros"}), data({"type": "end"})),
        SystemReply("9 euros"),
    ),
    "an answer at the end": (sse(data({"status": "searching"}), data({"answer": "9 euros"})), SystemReply("9 euros")),
    "events as text/plain": ((200, "text/plain", b'data: {"delta": "9 euros"}\n\n'), SystemReply("9 euros")),
    "lines that end like Windows'": (
        (200, SSE, b'data: {"delta": "9 "}\r\n\r\ndata: {"delta": "euros"}\r\n\r\n'),
        SystemReply("9 euros"),
    ),
    "comments and ids": (sse(": ping", 'id: 1\nretry: 10\ndata: {"delta": "9 euros"}'), SystemReply("9 euros")),
    "a thought in the pieces": (
        sse(data({"delta": "<think>3 or"}), data({"delta": " 9?</think>9 euros"})),
        SystemReply("9 euros", thought="3 or 9?"),
    ),
}


async def test_streams_of_many_servers_are_one_answer(service: Script, tmp_path: Path) -> None:
    for name, (sent, expected) in STREAMS.items():
        (came,) = await ask(tmp_path / name, service, sent)
        assert isinstance(came, SystemReply), (name, came)
        assert replace(came, contexts=None, keys=()) == expected, name


# --- errors in place of an answer -----------------------------------------------------------------

FAULTS: dict[str, tuple[Sent, str]] = {
    "error": (json_of({"answer": "", "error": "rate limited"}), f"{TOLD}rate limited"),
    "error alone": (json_of({"error": {"message": "overloaded", "code": 529}}), f"{TOLD}overloaded"),
    "errors": (json_of({"data": None, "errors": [{"message": "no model"}]}), f"{TOLD}no model"),
    "detail": (json_of({"detail": "Internal Server Error"}), f"{TOLD}Internal Server Error"),
    "status": (json_of({"status": "error", "message": "일시적인 오류"}), f"{TOLD}일시적인 오류"),
    "success": (json_of({"success": False, "message": "busy", "answer": None}), f"{TOLD}busy"),
    "error as the answer": (json_of({"answer": '{"answer": "", "error": "rate limited"}'}), f"{TOLD}rate limited"),
    "event": (sse(data({"delta": "A refund"}), data({"error": "the model died"}, "error")), f"{TOLD}the model died"),
    "event without JSON": (sse(data({"delta": "A"}), "event: error\ndata: boom"), f"{TOLD}boom"),
    "event without data": (sse(data({"delta": "A"}), "event: error"), f"{TOLD}error"),
    "data event": (sse(data({"delta": "A"}), data({"error": {"message": "died", "code": 500}})), f"{TOLD}died"),
    "Anthropic event": (
        sse(data({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")),
        f"{TOLD}Overloaded",
    ),
    "LangServe event": (
        sse('event: data\ndata: "A"', data({"status_code": 500, "message": "Internal Server Error"}, "error")),
        f"{TOLD}Internal Server Error",
    ),
    "Dify event": (
        sse(data({"event": "message", "answer": "A"}), data({"event": "error", "message": "quota"})),
        f"{TOLD}quota",
    ),
    "failed response": (
        sse(data({"type": "response.failed", "response": {"error": {"message": "died"}}})),
        f"{TOLD}died",
    ),
    "cut event": (sse(data({"delta": "A refund "}), 'data: {"delta": "takes'), f"{NO_JSON}data:"),
    "no event": ((200, SSE, b": ping\n\n"), f"{NO_JSON}: ping"),
    "HTML": ((200, HTML, b"<html><title>502 Bad Gateway</title></html>"), f"{NO_JSON}<html><title>502 Bad Gateway"),
    "login page as JSON": ((200, JSON, b"<!DOCTYPE html><h1>Sign in</h1>"), f"{NO_JSON}<!DOCTYPE html>"),
    "cut JSON": ((200, JSON, b'{"answer": "A refund takes'), NO_JSON + '{"answer": "A refund takes'),
    "cut lines": ((200, "application/x-ndjson", b'{"response": "A"}\n{"respon'), "expected JSON, got"),
    "nothing": ((200, JSON, b""), "the reply is empty"),
    "blanks": ((200, JSON, b" \n"), "the reply is empty"),
    "null": ((200, JSON, b"null"), "the reply is empty"),
    "204": ((204, "", b""), "the reply is empty"),
}


async def test_an_error_in_place_of_an_answer_is_repeated_and_then_fails_its_case(
    service: Script, tmp_path: Path
) -> None:
    for name, (sent, told) in FAULTS.items():
        service.n_asked = 0
        (came,) = await ask(tmp_path / name, service, sent)
        assert isinstance(came, str), (name, came)
        assert came.startswith(f"EvaluationError: system.url: POST {service.url}/ask: "), (name, came)
        assert told in came and came.endswith("(asked 3 times)"), (name, came)
        assert service.n_asked == 3, name


async def test_an_answer_after_such_a_fault_is_the_answer(service: Script, tmp_path: Path) -> None:
    for name, (sent, _) in FAULTS.items():
        (came,) = await ask(tmp_path / name, service, sent, GOOD)
        assert isinstance(came, SystemReply) and came.answer == "9 euros", (name, came)


async def test_an_error_beside_an_answer_is_one_where_the_setting_says_so(service: Script, tmp_path: Path) -> None:
    beside = json_of({"answer": "Something went wrong.", "meta": {"failure": "timeout"}})
    (kept,) = await ask(tmp_path / "kept", service, beside)
    assert isinstance(kept, SystemReply) and kept.answer == "Something went wrong."
    (failed,) = await ask(tmp_path / "failed", service, beside, error="meta.failure")
    assert f"{TOLD}timeout (asked 3 times)" in str(failed)
    (fine,) = await ask(tmp_path / "fine", service, GOOD, error="meta.failure")
    assert isinstance(fine, SystemReply)


NO_FAULTS = [
    {"answer": "The key error holds the reason.", "error": "cache is cold"},
    {"answer": "9 euros", "detail": "from the price list", "errors": []},
    {"answer": '{"error": "rate_limited"} is what the API returns.'},
    {"answer": "9 euros", "error": None, "status": "failed over to the second model"},
]


async def test_an_answer_stays_whole_whatever_stands_beside_it(service: Script, tmp_path: Path) -> None:
    for number, body in enumerate(NO_FAULTS):
        (came,) = await ask(tmp_path / str(number), service, json_of(body))
        assert isinstance(came, SystemReply) and came.answer == body["answer"]


SILENT: list[tuple[Any, dict[str, Any], SystemReply]] = [
    ({"answer": ""}, {}, SystemReply("")),
    ({"answer": None}, {}, SystemReply("")),
    ({"answer": "<think>3 or 9? I must look"}, {}, SystemReply("", thought="3 or 9? I must look")),
    ({"answer": "", "finish_reason": "length"}, {}, SystemReply("", cut_off=True)),
    (
        {"choices": [{"message": {"content": None, "reasoning_content": "hm"}, "finish_reason": "length"}]},
        {"answer": "choices[0].message.content"},
        SystemReply("", cut_off=True, thought="hm"),
    ),
    (
        {"choices": [{"message": {"content": None, "refusal": "I can't help with that."}}]},
        {"answer": "choices[0].message.content"},
        SystemReply("I can't help with that."),
    ),
    (
        {"content": [{"type": "thinking", "thinking": "hm"}], "stop_reason": "max_tokens"},
        {"answer": "content"},
        SystemReply("", cut_off=True, thought="hm"),
    ),
]


async def test_silence_is_a_reply_that_is_not_asked_for_again(service: Script, tmp_path: Path) -> None:
    for number, (body, changed, expected) in enumerate(SILENT):
        service.n_asked = 0
        (came,) = await ask(tmp_path / str(number), service, json_of(body), **changed)
        assert isinstance(came, SystemReply), came
        assert replace(came, contexts=None, keys=()) == expected
        assert service.n_asked == 1


# --- where it is asked ----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [404, 405, 301, 302, 307])
async def test_an_address_that_is_wrong_from_the_start_ends_the_run(
    service: Script, tmp_path: Path, status: int
) -> None:
    (came,) = await ask(tmp_path, service, (status, JSON, b'{"detail": "Not Found"}'))
    assert isinstance(came, str) and came.startswith(StopRunError.__name__)
    assert "system.url" in came


@pytest.mark.parametrize("status", [404, 405, 302])
async def test_one_such_status_after_good_answers_fails_its_case_alone(
    service: Script, tmp_path: Path, status: int
) -> None:
    sent: Sent = (status, JSON, b'{"detail": "no such page"}')
    first, second, third = await ask(tmp_path, service, GOOD, sent, GOOD, n=3)
    assert isinstance(first, SystemReply) and isinstance(third, SystemReply)
    assert str(second) == (
        f"EvaluationError: system.url: POST {service.url}/ask: the service answers {status}: "
        '{"detail": "no such page"}'
    )


async def test_many_such_in_a_row_end_the_run(service: Script, tmp_path: Path) -> None:
    came = await ask(tmp_path, service, GOOD, (404, JSON, b"{}"), n=9)
    assert [str(each).partition(":")[0] for each in came[1:]] == ["EvaluationError"] * 7 + ["StopRunError"]
