"""Both ways to a server send the same and make the same of whatever comes back."""

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Mapping
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import orjson
import pytest

from runner.llm.messages import ChatRequest, Message
from runner.llm.provider import Provider
from runner.llm.transport import AiohttpTransport, OpenaiTransport, Server, needs_client
from runner.llm.verdict import Verdict, verdict_on
from tests.services.models_faults import Faults
from tests.services.models_replies import completion
from tests.services.models_server import serving_models
from tests.services.raw_server import RawServer, Sent, http, saying
from tests.services.redis_proxies import serving_tls, write_certificate

CLIENTS = {None: AiohttpTransport, "openai": OpenaiTransport}
REQUEST = ChatRequest((Message("user", "한글 \ud800 ok"),), max_tokens=9, temperature=0.0, schema={"type": "object"})
GOOD = completion({"model": "m", "messages": []}, '{"score": 0.5, "이유": "좋다"}').body
NOW = 1_790_000_000

Outcome = Verdict | Mapping[str, Any]


async def outcome(url: str, client: str | None, *, times: int = 1, timeout_s: float = 5.0, **settings: Any) -> Outcome:
    """Of the last of `times` requests by one client."""
    chosen = {"base_url": url, "api_key_env": None, **settings, **({"client": client} if client else {})}
    provider = Provider("test", chosen, timeout_s=timeout_s, max_concurrency=1)  # type: ignore[arg-type]
    body = provider.body("m", REQUEST)
    found: Outcome = {}
    try:
        assert type(provider.connect()) is CLIENTS[client]
        for _ in range(times):
            try:
                found = await provider.send("/chat/completions", body)
            except Exception as error:
                found = verdict_on(error, body)
        return found
    finally:
        await provider.close()


def seen(server: RawServer) -> list[Sent]:
    """What was sent, without the place and what the openai client tells of itself."""
    return [
        replace(each, headers={name: value for name, value in each.headers.items() if not is_its_own(name)})
        for each in server.sent
    ]


def is_its_own(header: str) -> bool:
    return header == "host" or header.startswith("x-stainless-")


async def of_both(*answers: bytes, times: int = 1, timeout_s: float = 5.0, **settings: Any) -> Outcome:
    """What both make of the answers, which is the same."""
    found, sent = [], []
    for client in CLIENTS:
        async with saying(*answers, **settings) as server:
            found.append(await outcome(server.url, client, times=times, timeout_s=timeout_s))
            sent.append(seen(server))
    assert found[0] == found[1]
    assert sent[0] == sent[1]
    assert len(sent[0]) == times
    return found[0]


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


ANSWERED = {
    "plain": http(200, GOOD),
    "created": http(201, GOOD),
    "gzip": http(200, gzip.compress(GOOD), "Content-Encoding: gzip"),
    "GZip": http(200, gzip.compress(GOOD), "content-encoding: GZip"),
    "gzip twice": http(200, gzip.compress(gzip.compress(GOOD)), "Content-Encoding: gzip, gzip"),
    "gzip in two headers": http(
        200, deflated(gzip.compress(GOOD)), "Content-Encoding: gzip", "Content-Encoding: deflate"
    ),
    "gzip and more": http(200, gzip.compress(GOOD) + b"more", "Content-Encoding: gzip"),
    "deflate": http(200, zlib.compress(GOOD), "Content-Encoding: deflate"),
    "deflate without a frame": http(200, deflated(GOOD), "Content-Encoding: deflate"),
    "an encoding that is none": http(200, GOOD, "Content-Encoding: none"),
    "identity": http(200, GOOD, "Content-Encoding: identity"),
    "chunks": chunked(GOOD[:7], GOOD[7:]),
    "chunks and trailers": chunked(GOOD, end=b"0\r\nX-More: 1\r\n\r\n"),
    "up to the end": b"HTTP/1.1 200 OK\r\n\r\n" + GOOD,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n" + GOOD,
    "bare line ends": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(GOOD) + GOOD,
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" + http(200, GOOD),
    "a mark of UTF-8": http(200, b"\xef\xbb\xbf" + GOOD),
    "NaN": http(200, '{"choices": [], "score": NaN}'),
    "half a character": http(200, '{"choices": [], "text": "\\ud800"}'),
    "an error": http(200, '{"error": {"message": "upstream", "code": 502}}'),
    "UTF-16": http(200, GOOD.decode().encode("utf-16")),
    "large": http(200, orjson.dumps({"choices": [], "text": "가" * 3_000_000})),
    "large and packed": http(200, gzip.compress(orjson.dumps({"text": "가" * 3_000_000})), "Content-Encoding: gzip"),
}


@pytest.mark.parametrize("name", ANSWERED)
async def test_an_answer_is_read_by_both(name: str) -> None:
    found = await of_both(ANSWERED[name])
    assert not isinstance(found, Verdict)
    if b"choices" in ANSWERED[name] and ANSWERED[name].endswith(GOOD):
        assert found["choices"] == json.loads(GOOD)["choices"]


def error(status: int, message: str = "No.", *headers: str, **more: Any) -> bytes:
    body = json.dumps({"error": {"message": message, **more}})
    return http(status, body, "Content-Type: application/json", *headers)


STATUSES = (
    *(400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 415, 422, 424, 429, 451),
    *(500, 501, 502, 503, 504, 524, 529),
)
DATES = (f"Date: {formatdate(NOW, usegmt=True)}", f"Retry-After: {formatdate(NOW + 30, usegmt=True)}")
REFUSED = {
    **{str(status): error(status) for status in STATUSES},
    **{f"{status} after a while": error(status, "Busy", "Retry-After: 7") for status in (408, 429, 500, 503)},
    "429 by a date": error(429, "Slow", *DATES),
    "429 in milliseconds": error(429, "Slow", "retry-after-ms: 1500", "Retry-After: 9"),
    "429 soon": error(429, "Slow", "Retry-After: soon"),
    "429 of Google": http(429, json.dumps([{"error": {"message": "Slow", "details": [{"retryDelay": "12s"}]}}])),
    "quota": error(429, "Over", code="insufficient_quota"),
    "a parameter": error(400, "Unsupported parameter: 'temperature'", param="temperature"),
    "no such model": error(404, "The model `m` does not exist", code="model_not_found"),
    "fields": http(422, json.dumps({"detail": [{"loc": ["body", "n"], "msg": "wrong"}]})),
    "HTML": http(502, "<html>\n<h1>502 Bad Gateway</h1><hr>nginx</html>", "Content-Type: text/html"),
    "Latin-1": http(500, "d\u00e9sol\u00e9".encode("latin-1"), "Content-Type: text/plain; charset=iso-8859-1"),
    "no such charset": http(500, "죄송", "Content-Type: text/plain; charset=none-such"),
    "no UTF-8": http(500, b"\xff\xfe broken"),
    "a mark of UTF-8": http(500, b'\xef\xbb\xbf{"error": "x"}'),
    "packed": http(500, gzip.compress(b'{"error": {"message": "small"}}'), "Content-Encoding: gzip"),
    "nothing": http(500, ""),
    "a number": http(500, "7"),
    "a list": http(500, "[]"),
    "null": http(500, "null"),
    "nested": http(500, "[" * 100_000),
    **{
        f"{status} elsewhere": http(status, "", "Location: https://user:secret@elsewhere.invalid/v1?key=k")
        for status in (301, 302, 303, 307, 308)
    },
    "304": http(304, ""),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_an_error_is_read_by_both(name: str) -> None:
    found = await of_both(REFUSED[name])
    assert isinstance(found, Verdict)
    assert found.status is not None


BROKEN: dict[str, tuple[bytes, dict[str, Any]]] = {
    "closed": (b"", {}),
    "reset": (b"", {"resets": True}),
    "reset in the middle": (http(200, GOOD, length=len(GOOD) + 9), {"resets": True}),
    "too short": (http(200, GOOD, length=len(GOOD) + 9), {}),
    "too short, of an error": (http(500, "{", length=9), {}),
    "half a chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", {}),
    "no chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc", {}),
    "longer than it says": (http(200, GOOD, length=len(GOOD) - 9), {}),
    "no HTTP": (b"rubbish\r\n\r\n", {}),
    "half of the headers": (b"HTTP/1.1 200 OK\r\nContent-Le", {}),
    "a header that is none": (b"HTTP/1.1 200 OK\r\n: x\r\n\r\n", {}),
    "a long header": (http(200, GOOD, f"X-Long: {'x' * 70_000}"), {}),
    "two lengths": (http(200, GOOD, "Content-Length: 3"), {}),
    "broken gzip": (http(200, b"no gzip", "Content-Encoding: gzip"), {}),
    "broken deflate": (http(200, b"\xff\xff\xff", "Content-Encoding: deflate"), {}),
    "half of gzip": (http(200, gzip.compress(GOOD)[:-20], "Content-Encoding: gzip"), {}),
    "nothing": (http(200, ""), {}),
    "no content": (b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", {}),
    "HTML": (http(200, "<html>Welcome</html>"), {}),
    "an array": (http(200, '["no object"]'), {}),
    "a text": (http(200, '"text"'), {}),
    "half a value": (http(200, '{"choices": '), {}),
    "no UTF-8": (http(200, b'{"text": "\xff"}'), {}),
    "nested": (http(200, '{"a":' * 100_000), {}),
    "late": (http(200, "{}"), {"drip_s": 0.05}),
    "headers and no more": (http(200, "", length=9), {"drip_s": 0.01, "stalls": True}),
    "nothing ever": (b"", {"stalls": True}),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_what_is_no_answer_is_asked_again_by_both(name: str) -> None:
    answer, settings = BROKEN[name]
    found = await of_both(answer, timeout_s=0.5 if {"drip_s", "stalls"} & settings.keys() else 5.0, **settings)
    assert isinstance(found, Verdict), found
    assert (found.kind, found.may_be_billed) == ("again", True)


async def test_nobody_listens_to_either(closed_port: int) -> None:
    first, second = [await outcome(f"http://127.0.0.1:{closed_port}/v1", client) for client in CLIENTS]
    assert first == second
    assert isinstance(first, Verdict)
    assert first.is_down


FAULTS = sorted(Faults().shares())


@pytest.mark.parametrize("fault", FAULTS)
async def test_both_meet_the_same_faults(fault: str) -> None:
    found, counts = [], []
    for client in CLIENTS:
        with serving_models(faults=Faults(**{fault: 1.0}, stall_s=20.0, retry_after_s=3.0)) as server:
            met = await outcome(server.url, client, timeout_s=0.3 if fault == "stalled" else 5.0)
            found.append(replace(met, after_s=round(met.after_s or 0)) if isinstance(met, Verdict) else met)
            counts.append((server.noted().statuses, server.counts.faults, server.counts.arrivals))
    if fault == "rate_limit_date":  # of whole seconds
        found = [replace(each, after_s=None) for each in found if isinstance(each, Verdict)]
    assert found[0] == found[1]
    assert counts[0] == counts[1]


# --- what is sent -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "base"), [("OPENAI_API_KEY", "/v1"), ("TEST_KEY", "/v1/"), (None, ""), (None, "/a b%20c/../v1//")]
)
async def test_both_send_the_same_request(variable: str | None, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "TEST_KEY"):
        monkeypatch.setenv(name, f"key-of-{name.lower()}")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "")
    sent = []
    for client in CLIENTS:
        async with saying(http(200, GOOD)) as server:
            url = server.url.removesuffix("/v1") + base.replace(" ", "%20")
            await outcome(url, client, api_key_env=variable, add={"*": {"user": "me"}})
            sent.append(seen(server))
    assert sent[0] == sent[1]
    (request,) = sent[0]
    key = f"key-of-{variable.lower()}" if variable else "none"
    assert request.headers["authorization"] == f"Bearer {key}"
    assert request.headers.get("openai-organization") == ("org-1" if variable == "OPENAI_API_KEY" else None)
    body = json.loads(request.body)
    assert (body["messages"], body["user"]) == ([{"role": "user", "content": "한글 ? ok"}], "me")


async def test_both_keep_cookies_and_their_connection() -> None:
    kept = http(200, GOOD, "Set-Cookie: lb=7; Path=/").replace(b"Connection: close\r\n", b"")
    sent = []
    for client in CLIENTS:
        async with saying(kept, keeps=True) as server:
            await outcome(server.url, client, times=2)
            sent.append([each.headers.get("cookie") for each in server.sent])
            assert server.connections == 1
    assert sent == [[None, "lb=7"], [None, "lb=7"]]


async def test_a_server_of_tls_is_known_by_the_certificate_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = write_certificate(tmp_path)
    with serving_models() as server:
        port = int(server.url.rpartition(":")[2].removesuffix("/v1"))
        async with serving_tls(port, certificate, key) as tls_port:
            url = f"https://127.0.0.1:{tls_port}/v1"
            strangers = [await outcome(url, client) for client in CLIENTS]
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            friends = [await outcome(url, client) for client in CLIENTS]
    assert strangers[0] == strangers[1]
    assert isinstance(strangers[0], Verdict)
    assert "certificate" in strangers[0].message.lower()
    assert not isinstance(friends[0], Verdict)
    assert friends[0] == friends[1]


# --- which way --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "settings", "variables", "expected"),
    [
        ("http://h/v1", {}, {}, False),
        ("http://h/v1", {"client": "openai"}, {}, True),
        ("http://h/v1", {"key_header": "api-key"}, {}, True),
        ("http://h/v1", {"query": {"api-version": "1"}}, {}, True),
        ("http://호스트/v1", {}, {}, True),
        ("http://h/v1", {}, {"OPENAI_CUSTOM_HEADERS": "a: b"}, True),
        ("http://h/v1", {}, {"http_proxy": "http://p:1"}, True),
        ("http://h/v1", {}, {"ALL_PROXY": "http://p:1"}, True),
        ("http://h/v1", {}, {"HTTPS_PROXY": "http://p:1"}, False),
        ("https://h/v1", {}, {"HTTPS_PROXY": "http://p:1"}, True),
        ("http://h/v1", {}, {"http_proxy": "http://p:1", "no_proxy": "x, H"}, False),
        ("http://127.0.0.1:8/v1", {}, {"http_proxy": "http://p:1", "no_proxy": "127.0.0.1,localhost"}, False),
        ("http://h/v1", {}, {"http_proxy": "http://p:1", "no_proxy": "*"}, False),
        ("http://a.h/v1", {}, {"http_proxy": "http://p:1", "no_proxy": "h"}, True),
    ],
)
def test_the_openai_client_sends_what_it_alone_can(
    url: str, settings: Any, variables: Mapping[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert needs_client(Server(url, "none", settings, 1.0)) is expected


async def test_a_request_goes_by_the_proxy_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    async with saying(http(200, GOOD)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        provider = Provider(
            "test", {"base_url": "http://models.invalid/v1", "api_key_env": None}, timeout_s=5, max_concurrency=1
        )
        await provider.send("/chat/completions", {"model": "m"})
        await provider.close()
    assert proxy.sent[0].line == "POST http://models.invalid/v1/chat/completions"


def test_a_request_is_sent_without_the_openai_package(tmp_path: Path) -> None:
    """Its import takes longer than a hundred requests."""
    program = (
        "import sys; from tests.runner.llm import asking; asking.main(*sys.argv[1:]); "
        "print(sorted({'openai', 'httpx2'} & sys.modules.keys()))"
    )
    with serving_models() as server:
        command = [sys.executable, "-c", program, server.url, str(tmp_path), "0", "3", "{}"]
        scores, modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(json.loads(scores)) == 3
    assert modules == "[]"
