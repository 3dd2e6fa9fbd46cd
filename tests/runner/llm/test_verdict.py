"""Errors as the real client raises them: from servers that answer byte for byte what a test says."""

import json
import socket
from email.utils import formatdate
from typing import Any

import pytest

from runner.llm.provider import Provider
from runner.llm.transport import Server, transport_to
from runner.llm.verdict import LostError, UnsendableError, Verdict, retry_after_s, verdict_on
from tests.services.raw_server import http, saying

SENT = ("model", "messages", "max_tokens", "temperature", "response_format", "reasoning_effort")


async def raised(url: str, timeout_s: float = 5.0) -> Exception:
    provider = Provider("test", {"base_url": url, "api_key_env": None}, timeout_s=timeout_s, max_concurrency=1)
    try:
        await provider.send("/chat/completions", {"model": "m"})
    except Exception as error:
        return error
    finally:
        await provider.close()
    raise AssertionError("it was answered")


async def verdict(answer: bytes, **settings: Any) -> Verdict:
    async with saying(answer, **settings) as server:
        return verdict_on(await raised(server.url, 0.3 if settings else 5.0), SENT)


def openai(status: int, message: str, *headers: str, **more: Any) -> bytes:
    return http(status, json.dumps({"error": {"message": message, **more}}), "Content-Type: application/json", *headers)


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504, 529])
async def test_what_may_be_over_in_a_while_is_asked_again(status: int) -> None:
    found = await verdict(openai(status, "한동안\n busy", "Retry-After: 7"))
    billed = status in (502, 504)
    said = f"the server answers {status}: 한동안 busy"
    assert found == Verdict("again", said, after_s=7.0, status=status, may_be_billed=billed)


@pytest.mark.parametrize(
    ("header", "after_s"),
    [("Retry-After: 7", 7.0), ("retry-after-ms: 1500", 1.5), ("Retry-After: soon", None), ("X-Other: 1", None)],
)
async def test_too_many_requests(header: str, after_s: float | None) -> None:
    found = await verdict(openai(429, "Rate limit reached", header, code="rate_limit_exceeded"))
    assert found == Verdict("throttled", "the server answers 429: Rate limit reached", after_s=after_s, status=429)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, {"code": "invalid_api_key"}),
        (403, {}),
        (404, {"code": "model_not_found"}),
        (405, {}),
        (402, {}),
        (429, {"code": "insufficient_quota"}),
        (429, {"type": "insufficient_quota"}),
        (400, {"code": "billing_hard_limit_reached"}),
        (400, {"param": "model"}),
    ],
)
async def test_what_is_wrong_for_every_request_ends_the_run(status: int, error: dict[str, str]) -> None:
    found = await verdict(openai(status, "No.", **error))
    assert found == Verdict("stop", f"the server answers {status}: No.", status=status)


async def test_nothing_at_the_address() -> None:
    found = await verdict(openai(404, "Not Found"))
    told = "the server answers 404: Not Found (is the path of the address right? Most end in /v1)"
    assert found == Verdict("stop", told, status=404)


@pytest.mark.parametrize(
    ("message", "param", "parameter"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
         "max_tokens", "max_tokens"),
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature", "temperature"),
        ("Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.", "reasoning_effort",
         "reasoning_effort"),
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
         "response_format", "response_format"),
        ("Invalid schema for response_format 'answer'", "response_format.json_schema", "response_format"),
        ("This response_format type is unavailable now", None, "response_format"),
        ("Unrecognized request argument supplied: temperature", None, "temperature"),
        ("Unknown field max_tokens; temperature is fine", None, "max_tokens"),
    ],
)  # fmt: skip
async def test_a_parameter_that_the_server_names_is_dropped(message: str, param: str | None, parameter: str) -> None:
    for status in (400, 422):
        found = await verdict(openai(status, message, param=param))
        assert (found.kind, found.parameter) == ("drop", parameter)


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000.", "messages"),
        ("max_tokens is too large: 50000. This model supports at most 16384 completion tokens.", "max_tokens"),
        ("'max_tokens' or 'max_completion_tokens' is too large: 5000 (5000 > 4096 - 100).", None),
        ("Unknown parameter: 'top_k'.", "top_k"),
        ("temperature must be at most 2, found 3.5", None),
        ("This prompt is not supported: it speaks of the temperatures of a seedling.", None),
        ("'messages' must contain the word 'json' in some form", "messages"),
        ("no", None),
    ],
)
async def test_what_is_wrong_with_one_request_fails_it(message: str, param: str | None) -> None:
    assert (await verdict(openai(400, message, param=param))).kind == "fail"
    assert (await verdict(openai(413, message, param=param))).kind == "fail"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("<html>\n<h1>502 Bad Gateway</h1><hr>nginx</html>", "502 Bad Gateway nginx"),
        ('{"detail": "Not now"}', "Not now"),
        ('{"detail": [{"loc": ["body"], "msg": "x"}]}', "body: x"),
        ('{"error": "plain"}', "plain"),
        ('[{"error": {"message": "listed", "code": 400}}]', "listed"),
        ('{"message": "old vLLM", "code": {"odd": 1}}', "old vLLM"),
        ("", "no message"),
        ("[]", "no message"),
    ],
)
async def test_whatever_an_error_looks_like(body: str, told: str) -> None:
    assert (await verdict(http(502, body))).message == f"the server answers 502: {told}"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "the connection was lost (Server disconnected)"),
        (http(200, '{"choices": ', length=500), "the connection was lost (400, message: Not enough data to satisfy"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
            "the connection was lost (400, message: Not",
        ),
        (http(200, '{"choices": '), "sends (JSONDecodeError: unexpected end of data"),
        (http(200, "<html>Welcome</html>"), "sends (JSONDecodeError: unexpected character"),
        (http(200, '["no object"]'), "sends (ValueError: expected a JSON object, got \"['no object']\")"),
        (b"rubbish\r\n\r\n", "the answer is not what an OpenAI-compatible server sends (ClientResponseError: 400"),
    ],
)
async def test_half_an_answer_or_none_is_asked_for_again_and_may_be_billed(answer: bytes, said: str) -> None:
    found = await verdict(answer)
    assert (found.kind, found.may_be_billed, found.is_down) == ("again", True, False)
    assert said in found.message


@pytest.mark.parametrize("answer", [http(200, "{}"), b"H"], ids=["a byte at a time", "nothing more"])
async def test_the_deadline_is_for_the_whole_answer(answer: bytes) -> None:
    found = await verdict(answer, drip_s=0.05 if len(answer) > 1 else 5)
    assert found == Verdict("again", "no answer within timeout_ms", may_be_billed=True)


async def test_nobody_listens(closed_port: int) -> None:
    found = verdict_on(await raised(f"http://127.0.0.1:{closed_port}/v1"))
    assert found == Verdict("again", f"no connection to 127.0.0.1:{closed_port} (connection refused)", is_down=True)


async def test_somebody_listens_and_never_lets_anybody_in() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        port = server.getsockname()[1]
        crowd = [socket.socket() for _ in range(4)]
        for each in crowd:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        found = verdict_on(await raised(f"http://127.0.0.1:{port}/v1", 0.6))
        for each in crowd:
            each.close()
    assert found == Verdict("again", "no connection in time", is_down=True)


async def test_a_name_that_is_not_known() -> None:
    found = verdict_on(await raised("http://nobody.invalid/v1"))
    assert found.is_down
    assert found.message.startswith("no connection to nobody.invalid:80 (")


async def refused(url: str, variable: str | None = None) -> Verdict:
    """Of a client that was told so past conf, which would not have it."""
    server = Server(url, "none", {"api_key_env": variable}, 5.0)
    provider = Provider("test", {"api_key_env": None}, timeout_s=5, max_concurrency=1)
    provider._transport = transport_to(server)
    try:
        with pytest.raises((LostError, UnsendableError)) as caught:
            await provider.send("/x", {})
    finally:
        await provider.close()
    return verdict_on(caught.value)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("ftp://x", "NonHttpUrlClientError: ftp://x/x"),
        ("http://h:99999/v1", "ValueError: Port out of range 0-65535"),
    ],
)
async def test_an_address_that_nothing_can_be_sent_to_is_no_fault_of_a_server(url: str, fault: str) -> None:
    assert await refused(url) == Verdict("stop", f"the request cannot be sent ({fault})")


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (
            "조직",
            "UnicodeEncodeError: 'ascii' codec can't encode characters in position 0-1: ordinal not in range(128)",
        ),
        ("a\tb\r\nc: d", "ValueError: Forbidden control character detected in headers."),
    ],
)
async def test_a_header_that_cannot_be_sent(value: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", value)
    async with saying(b"") as server:
        found = await refused(server.url, "OPENAI_API_KEY")
    assert (found.kind, found.may_be_billed) == ("stop", False)
    assert found.message.startswith(f"the request cannot be sent ({fault}")


# --- Retry-After ------------------------------------------------------------------------------------

NOW = 1_790_000_000


@pytest.mark.parametrize(
    ("headers", "after_s"),
    [
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": formatdate(NOW + 30, usegmt=True), "date": formatdate(NOW, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(NOW - 30, usegmt=True), "date": formatdate(NOW, usegmt=True)}, 0.0),
        ({"retry-after": "Wed, 99 Nov 2026 99:00:00 GMT"}, None),
        ({}, None),
    ],
)
def test_both_forms_of_retry_after_on_the_clock_of_the_server(headers: dict[str, str], after_s: float | None) -> None:
    assert retry_after_s(headers) == after_s


def test_a_date_without_the_time_of_the_server_is_on_ours() -> None:
    found = retry_after_s({"retry-after": formatdate(4_000_000_000, usegmt=True)})
    assert found is not None
    assert found > 1e9
