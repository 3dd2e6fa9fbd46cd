import asyncio
import time
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from runner.errors import BudgetSpentError, EvaluationError, InputError, StopRunError
from runner.llm.messages import ChatReply
from runner.llm.retry import Patience, _Tries
from runner.llm.verdict import Verdict
from runner.system.stopwatch import deadline, stopwatch
from tests.runner.llm.asked_model import asked
from tests.services.doors import QUICK, models
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer


def failing(server: ModelsServer, *replies: Reply) -> None:
    """These to the first requests, then what is right."""
    left = list(replies)
    server.respond = lambda body: left.pop(0) if left else None


# --- again ----------------------------------------------------------------------------------------


BROKEN = [
    error(408, "Timeout", kind="server_error"),
    error(409, "Conflict", kind="server_error"),
    error(500, "Oops", kind="server_error"),
    error(503, "Busy", kind="server_error"),
    error(429, "Slow down", kind="requests"),
    Reply(body=b"<html>Bad Gateway</html>"),
    Reply(body=b'{"choices": ['),
    Reply(body=b'{"choices": []}'),
    Reply(body=b'{"error": {"message": "upstream"}}'),
    Reply(body=b"{}" * 50, cut="body"),
    Reply(cut="headers"),
]


@pytest.mark.parametrize("broken", BROKEN, ids=str)
async def test_what_may_help_is_tried_again(broken: Reply, server: ModelsServer, tmp_path: Path) -> None:
    failing(server, *[broken] * 5)
    with stopwatch() as watch:
        (reply,) = await asked(models(server.url, tmp_path))
    assert isinstance(reply, ChatReply)
    assert reply.attempts == server.count == 6
    assert not watch.live
    assert watch.waited_s >= reply.waited_s > reply.repeated_s > 0
    assert watch.timing.repeated_ms is not None and watch.timing.repeated_ms >= reply.repeated_s * 1000


async def test_a_request_is_given_up_after_six_attempts(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: BROKEN[2]
    (failed,) = await asked(models(server.url, tmp_path))
    assert server.count == 6
    assert type(failed) is EvaluationError
    assert str(failed) == f"test:m at {server.url}: the server answers 500: Oops (asked 6 times)"


async def test_stalls_end_at_the_deadline_of_an_attempt(server: ModelsServer, tmp_path: Path) -> None:
    slow = replace(completion({"model": "m", "messages": []}, "late"), delay_s=30.0)
    failing(server, slow, slow)
    (reply,) = await asked(models(server.url, tmp_path, timeout_ms=200))
    assert isinstance(reply, ChatReply)
    assert (reply.attempts, server.count) == (3, 3)


async def test_what_is_cancelled_in_its_second_attempt_is_not_asked_again(server: ModelsServer, tmp_path: Path) -> None:
    slow = replace(completion({"model": "m", "messages": []}, "late"), delay_s=30.0)
    failing(server, BROKEN[2], slow)
    door = models(server.url, tmp_path)
    task = asyncio.create_task(asked(door))
    while server.count < 2:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.count == 2
    assert door._servers["test"]._limiter.in_flight == 0


async def test_what_has_no_budget_leaves_its_place_to_others(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, budget={"requests": 1})
    first, *others = await asked(door, 3, at_once=False)
    assert isinstance(first, ChatReply) and {type(other) for other in others} == {BudgetSpentError}
    assert door._servers["test"]._limiter.in_flight == 0


async def test_what_cannot_be_sent_is_an_error_of_the_settings(
    server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    (failed,) = await asked(models(server.url, tmp_path, provider_api_key_env="TEST_KEY"))
    assert type(failed) is InputError


@pytest.mark.parametrize(
    "reply",
    [
        error(401, "Incorrect API key provided: sk-wrong", kind="invalid_request_error"),
        error(403, "Country not supported", kind="invalid_request_error"),
        error(404, "The model `m` does not exist", kind="invalid_request_error", code="model_not_found"),
        error(429, "You exceeded your current quota", kind="insufficient_quota", code="insufficient_quota"),
    ],
    ids=lambda reply: str(reply.status),
)
async def test_what_no_retry_helps_is_asked_once_and_ends_the_run(
    reply: Reply, server: ModelsServer, tmp_path: Path
) -> None:
    server.respond = lambda body: reply
    (failed,) = await asked(models(server.url, tmp_path))
    assert server.count == 1
    assert isinstance(failed, StopRunError)
    assert str(failed).startswith(f"test:m at {server.url}: the server answers {reply.status}: ")


async def test_what_stands_in_line_when_it_is_found_is_not_sent(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(401, "Incorrect API key provided: sk-wrong", kind="invalid_request_error")
    failed = await asked(models(server.url, tmp_path, max_concurrency=3), 20)
    assert 1 <= server.count <= 3
    assert {type(one) for one in failed} == {StopRunError} and len({str(one) for one in failed}) == 1


async def test_what_waits_for_the_next_minute_when_it_is_found_ends_with_the_others(
    server: ModelsServer, tmp_path: Path
) -> None:
    server.respond = lambda body: error(401, "Incorrect API key provided: sk-wrong", kind="invalid_request_error")
    async with asyncio.timeout(40):  # of the 60 s that it would wait
        failed = await asked(models(server.url, tmp_path, provider_requests_per_minute=1), 3)
    assert server.count == 1
    assert {type(one) for one in failed} == {StopRunError}


async def test_a_refused_key_is_named_by_its_variable_and_never_shown(
    server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "hunter22")
    server.respond = lambda body: error(401, "Incorrect API key provided: hunter22.", kind="invalid_request_error")
    (failed,) = await asked(models(server.url, tmp_path, provider_api_key_env="TEST_KEY"))
    said = "the server answers 401: Incorrect API key provided: ***. (the key is that in TEST_KEY)"
    assert str(failed) == f"test:m at {server.url}: {said}"
    assert server.headers[0]["Authorization"] == "Bearer hunter22"


async def test_one_bad_request_fails_and_the_others_go_on(server: ModelsServer, tmp_path: Path) -> None:
    too_long = error(400, "maximum context length is 8192 tokens", kind="x", param="messages")
    server.respond = lambda body: too_long if body["messages"][1]["content"] == "3" else None
    replies = await asked(models(server.url, tmp_path), 12)
    assert [type(reply) for reply in replies].count(ChatReply) == 11
    assert str(replies[3]) == f"test:m at {server.url}: the server answers 400: maximum context length is 8192 tokens"
    assert server.count == 12


# --- hopeless -------------------------------------------------------------------------------------


async def test_a_server_that_is_down_ends_the_run(tmp_path: Path, closed_port: int) -> None:
    (failed,) = await asked(models(f"http://127.0.0.1:{closed_port}/v1", tmp_path))
    assert isinstance(failed, StopRunError)
    assert str(failed) == (
        f"test:m at http://127.0.0.1:{closed_port}/v1: no connection to 127.0.0.1:{closed_port} "
        "(connection refused) (asked 6 times)"
    )


@pytest.mark.parametrize("status", [500, 400])
async def test_a_server_that_has_nothing_but_errors_ends_the_run(
    status: int, server: ModelsServer, tmp_path: Path
) -> None:
    server.respond = lambda body: error(status, "Oops", kind="x")
    replies = await asked(models(server.url, tmp_path), 10, at_once=False)
    assert [type(reply) for reply in replies] == [EvaluationError] * 7 + [StopRunError] * 3
    assert str(replies[7]) == str(replies[9])
    assert server.count == 8 * (6 if status == 500 else 1)  # nothing more is asked
    more = " (asked 6 times)" if status == 500 else ""
    assert str(replies[7]) == (
        f"test:m at {server.url}: the server answers {status}: Oops{more}; 8 requests in a row ended like this"
    )


async def test_an_answer_in_between_is_hope(server: ModelsServer, tmp_path: Path) -> None:
    bad = error(400, "no", kind="x")
    server.respond = lambda body: None if int(body["messages"][1]["content"]) % 8 == 7 else bad
    replies = await asked(models(server.url, tmp_path), 30, at_once=False)
    assert Counter(type(reply) for reply in replies) == {EvaluationError: 27, ChatReply: 3}


# --- too many -------------------------------------------------------------------------------------


async def test_a_storm_of_429_loses_nothing(server: ModelsServer, tmp_path: Path) -> None:
    """More often than there are attempts at one request."""
    numbers = count()
    server.respond = lambda body: error(429, "Slow", kind="requests") if next(numbers) < 300 else None
    replies = await asked(models(server.url, tmp_path), 20)
    assert all(isinstance(reply, ChatReply) for reply in replies)
    assert server.count == 320


async def test_retry_after_is_waited_for_by_all(server: ModelsServer, tmp_path: Path) -> None:
    throttled = replace(error(429, "Slow", kind="requests"), headers={"Retry-After": "0.4"})
    failing(server, throttled)
    door = models(server.url, tmp_path, max_concurrency=1)
    first, second = await asked(door, 2)
    assert isinstance(first, ChatReply) and isinstance(second, ChatReply)
    assert first.waited_s >= 0.4
    assert second.waited_s >= 0.4


async def test_standing_in_line_takes_no_time_of_a_case(server: ModelsServer, tmp_path: Path) -> None:
    failing(server, replace(error(429, "Slow", kind="requests"), headers={"Retry-After": "1.1"}))
    with deadline(1.0):
        (reply,) = await asked(models(server.url, tmp_path))
    assert isinstance(reply, ChatReply)


async def test_a_wait_that_nobody_can_bear_ends_the_run_and_is_forgotten(server: ModelsServer, tmp_path: Path) -> None:
    failing(server, replace(error(429, "Tokens per day", kind="requests"), headers={"Retry-After": "7200"}))
    door = models(server.url, tmp_path)
    (failed,) = await asked(door)
    assert isinstance(failed, StopRunError)
    assert str(failed) == (
        f"test:m at {server.url}: the server answers 429: Tokens per day (it asks to wait for 7,200 s)"
    )
    (reply,) = await asked(door)  # the next run
    assert isinstance(reply, ChatReply)


async def test_a_server_that_takes_nothing_any_more_ends_the_run(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(429, "Slow", kind="requests")
    (failed,) = await asked(models(server.url, tmp_path, patience=replace(QUICK, throttled_s=0.2)))
    assert isinstance(failed, StopRunError)
    assert str(failed).startswith(f"test:m at {server.url}: the server answers 429: Slow (the same answer for 0 s)")


async def test_a_request_waits_as_long_as_others_are_answered(server: ModelsServer, tmp_path: Path) -> None:
    """Refused for a quarter of an hour, while the server answered another request a second ago."""
    retry = models(server.url, tmp_path, patience=replace(QUICK, throttled_s=300.0))._servers["test"]
    refusal, now = Verdict("throttled", "Slow", after_s=0.0), time.monotonic()
    tries = _Tries(throttled=9, throttled_at=now - 900)
    retry._answered_at = now - 1
    await retry._pause(refusal, tries, "m")
    assert tries.throttled == 10  # so that the next pause is longer
    retry._answered_at = now - 800
    with pytest.raises(StopRunError, match=r"the same answer for 80\d s"):
        await retry._pause(refusal, tries, "m")


# --- pauses ---------------------------------------------------------------------------------------


def test_pauses_grow_up_to_the_longest_and_differ() -> None:
    patience = Patience(first_pause_s=1.0, longest_pause_s=10.0)
    for failures, longest in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (5000, 10)]:
        pauses = {patience.pause_s(failures, None) for _ in range(50)}
        assert len(pauses) > 40
        assert all(longest / 2 <= pause <= longest for pause in pauses)
    assert all(3 <= patience.pause_s(9, 3.0) <= 4 for _ in range(50))
