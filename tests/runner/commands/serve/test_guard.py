"""Who may ask, from where, and how often."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.commands.serve import guard, token_of
from runner.commands.serve.desk import Desk, Settings
from runner.commands.serve.guard import COOKIE, HEADERS, Failures
from runner.errors import InputError
from tests.runner.commands.serve.conftest import Serving, listening

TOKEN = "correct-horse-battery"
RUNS = "/evaluation/runs"


def test_other_hosts_and_other_pages_are_refused(serving: Serving) -> None:
    client = serving()
    for host, status in (
        ("localhost:8000", 200),
        ("[::1]:8000", 200),
        ("10.0.0.7", 200),
        ("evil.example", 421),
        ("localhost:8\t0", 421),
        ("[::1", 421),
    ):
        assert client.get(RUNS, headers={"host": host}).status_code == status, host
    for name, value, status in (
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://[::1", 403),
        ("origin", "http://127.0.0.1", 409),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-origin", 409),
    ):
        assert client.post(f"{RUNS}/run/cancel", headers={name: value}).status_code == status, value
    elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert client.get(RUNS, headers=elsewhere).status_code == 403
    assert client.get("/", headers={**elsewhere, "sec-fetch-mode": "navigate"}).status_code == 200
    told = client.get(RUNS)
    assert {name: told.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_a_token_is_needed_everywhere_and_tried_a_few_times(serving: Serving) -> None:
    client = serving(token=TOKEN)
    for path in (RUNS, "/", "/evaluation/openapi.json", "/runs/run"):
        assert client.get(path).status_code == 401, path
    assert client.get(RUNS).json()["error"]["message"] == "expected `Authorization: Bearer TOKEN`"
    good = {"authorization": f"Bearer {TOKEN}"}
    assert client.get(RUNS, headers=good).status_code == 200
    page = client.get("/", headers={"accept": "text/html"}, follow_redirects=False)
    assert (page.status_code, page.headers["location"]) == (303, "/sign-in")
    assert client.get("/sign-in").status_code == client.get("/static/serve.css").status_code == 200
    assert client.post("/sign-in", data={"token": "wrong"}).status_code == 401
    signed = client.post("/sign-in", data={"token": TOKEN}, follow_redirects=False)
    assert TOKEN not in signed.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in signed.headers["set-cookie"].split(";")}
    assert client.get("/").status_code == 200
    session = {"cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
    client.cookies.clear()
    statuses = [client.get(RUNS, headers={"authorization": f"Bearer {n}"}).status_code for n in range(12)]
    assert statuses == [*[401] * 9, *[429] * 3]  # one was wrong before
    refused = client.get(RUNS, headers={"authorization": "Bearer x"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_failures")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert client.post("/sign-in", data={"token": "wrong"}).status_code == 429
    for headers in (session, good):
        assert client.get(RUNS, headers=headers).status_code == 200, "who knows the token is not locked out by others"
    assert client.post("/sign-in", data={"token": TOKEN}, follow_redirects=False).status_code == 303


@pytest.mark.parametrize("more", ["", "; x[=1", f"; {COOKIE}=2", '; a="\\'])
def test_guard_counts_wrong_cookies(serving: Serving, more: str) -> None:
    client = serving(token=TOKEN)
    cookies = [{"cookie": f"{COOKIE}={n}{more}"} for n in range(12)]
    assert [client.get(RUNS, headers=cookie).status_code for cookie in cookies] == [*[401] * 10, *[429] * 2]


def test_who_guesses_tokens_locks_nobody_else_out() -> None:
    failures = Failures(most=3, most_in_all=6)
    for address in ("a", "a", "b", "b", "c", "c"):
        assert failures.wait_s(address) == 0
        failures.add(address)
    assert [failures.wait_s(address) > 50 for address in ("a", "b", "c", "d")] == [True, True, True, False]
    for number in range(24):
        failures.add(f"{number}")
    assert failures.wait_s("d") > 50, "many addresses together try a bounded number of times"


def test_silent_connections_make_room(root: Path) -> None:
    with listening(Desk(Settings(root)), limit_concurrency=20) as port, ExitStack() as stack:
        doors = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(60)]
        doors[-1].sendall(b"GET /evaluation/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert doors[-1].recv(64).startswith(b"HTTP/1.1 200 OK")
        assert _until_closed(doors[0], time.monotonic() + 5) == b""


def test_nobody_holds_a_connection_on_which_nothing_goes_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PATIENCE_S", 0.4)
    head = b"POST /evaluation/plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    whole = b"GET /evaluation/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with listening(Desk(Settings(root))) as port, ExitStack() as stack:
        sent = (b"", head, whole + head, head + b"Content-Length: 90\r\n\r\n{", whole * 200)
        doors = [stack.enter_context(socket.socket()) for _ in sent]
        for door, text in zip(doors, sent, strict=True):
            door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # what is sent waits at the server
            door.connect(("127.0.0.1", port))
            door.sendall(text)
        ends = time.monotonic() + 10
        silent, torn, second, slow = (_until_closed(door, ends) for door in doors[:4])
        assert (silent, torn) == (b"", b"")
        assert second.startswith(b"HTTP/1.1 200 OK"), "an answer came before the connection was given up"
        assert slow.startswith(b"HTTP/1.1 408 Request Timeout") and b'"code":"too_slow"' in slow
        time.sleep(max(0.0, ends - 8.5 - time.monotonic()))  # nobody reads what is sent on the last one
        assert len(_until_closed(doors[4], ends)) < 200 * len(second)


def _until_closed(door: socket.socket, ends: float) -> bytes:
    door.settimeout(max(0.1, ends - time.monotonic()))
    read = b""
    with suppress(ConnectionError):
        while part := door.recv(1 << 16):
            read += part
    return read


def test_a_server_for_readers_changes_nothing(serving: Serving, root: Path) -> None:
    client = serving(read_only=True)
    before = sorted(root.rglob("*"))
    assert [client.get(path).status_code for path in ("/", "/runs/run", "/side?runs=sweep", RUNS)] == [200] * 4
    for method, path in (("DELETE", f"{RUNS}/run"), ("POST", "/evaluation/datasets"), ("PUT", f"{RUNS}/run/tags")):
        told = client.request(method, path)
        assert (told.status_code, told.json()["error"]["code"]) == (403, "read_only")
    asked = {"rater": "a", "rubric": "faithfulness"}
    assert client.get(f"{RUNS}/run/labels", params=asked).status_code == 404
    assert client.post(f"{RUNS}/run/labels", json=asked).status_code == 403
    assert sorted(root.rglob("*")) == before


def test_what_is_too_large_is_not_read(serving: Serving) -> None:
    client = serving()
    told = client.post(
        "/evaluation/plan", content=b" " * (1 << 20) + b"{}", headers={"content-type": "application/json"}
    )
    assert (told.status_code, told.json()["error"]["message"]) == (413, "a request has at most 1,048,576 bytes")

    def endless():  # type: ignore[no-untyped-def]
        for _ in range(40):
            yield b" " * (1 << 16)

    told = client.post("/evaluation/plan", content=endless())
    assert (told.status_code, told.json()["error"]["code"]) == (413, "too_large")


def test_others_reach_a_server_with_a_token_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--host 0.0.0.0: others reach it, so it needs a token; --token-env NAME"):
        token_of(None, "0.0.0.0")
    assert token_of(None, "127.0.0.1") is token_of(None, "::1") is None
    with pytest.raises(InputError, match="--token-env: A_TOKEN is not set; expected a token of at least 16 characters"):
        token_of("A_TOKEN", "127.0.0.1")
    monkeypatch.setenv("A_TOKEN", "short")
    with pytest.raises(InputError, match="--token-env: A_TOKEN holds 5 characters"):
        token_of("A_TOKEN", "127.0.0.1")
    monkeypatch.setenv("A_TOKEN", TOKEN)
    assert token_of("A_TOKEN", "0.0.0.0") == TOKEN
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--host", "0.0.0.0"]) == 1
    assert main(["serve", "--read-only"]) == 1
    assert main(["serve", "--port", "8000", "juge=openai"]) == 1
    assert main(["serve", "jobs=0"]) == 1


FIXED = ("k=10", "threshold.mean_recall_at_5=0.5", "report.high=0.8", "retriever=keyword", "threshold.faithfulness=0.9")


def test_what_the_server_sets_no_field_of_a_request_changes(serving: Serving) -> None:
    """By no spelling."""
    client = serving(words=FIXED)
    overrides = {
        "k=3": "k",
        "+k=3": "k",
        "threshold.recall_at_5=0.1": "threshold.recall_at_5",
        "threshold.mean_faithfulness=0.1": "threshold.mean_faithfulness",
        "report.high=0.1": "report.high",
        "retriever=semantic": "retriever",
    }
    fields: list[tuple[dict[str, Any], str]] = [({"k": 3}, "k: k"), ({"k": 10, "overrides": ["k=3"]}, "k")]
    fields += [({"overrides": [word]}, key) for word, key in overrides.items()]
    for field, key in fields:
        told = client.post("/evaluation/plan", json={"dataset_id": "demo_en", "evaluation_type": "full_rag", **field})
        assert told.status_code == 422 and f"{key} is set by the server" in told.text.replace(f"{key}: is", f"{key} is")


def test_a_data_set_or_evaluation_that_the_server_sets_is_not_exchanged(serving: Serving) -> None:
    client = serving(words=("dataset=demo_en", "+experiment=retrieval_only"))
    for name, value in (("dataset_id", "demo_ko"), ("evaluation_type", "full_rag")):
        sent = {"dataset_id": "demo_en", "evaluation_type": "retrieval_only", name: value}
        told = client.post("/evaluation/plan", json=sent)
        assert told.status_code == 422 and f"{name}: " in told.text and "is set by the server" in told.text
