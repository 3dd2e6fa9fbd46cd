"""Asking a server until it answers: in line, within the budget, and again where that may help."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from runner.errors import EvaluationError, StopRunError
from runner.llm.limiter import Limiter
from runner.llm.provider import Provider
from runner.llm.toll import Toll
from runner.llm.verdict import Verdict, verdict_on
from runner.system.stopwatch import in_line

T = TypeVar("T")

Read = Callable[[Mapping[str, Any]], T]


@dataclass(frozen=True, slots=True)
class Patience:
    """`attempts` at one request, not counting those that were refused as too many. `throttled_s`: how long a server may
    refuse all requests, and the longest Retry-After. `hopeless`: consecutive requests that failed for good, after which
    the server counts as broken."""

    attempts: int = 6
    first_pause_s: float = 0.5
    longest_pause_s: float = 20.0
    throttled_s: float = 300.0
    hopeless: int = 8

    def pause_s(self, failures: int, after_s: float | None) -> float:
        """The pause after so many failures of one request (from 1): as the server demands, else twice as long each
        time; both with a random part, so that requests which failed together are not repeated together."""
        if after_s is not None:
            return after_s + random.uniform(0, self.first_pause_s)
        longest: float = min(self.longest_pause_s, self.first_pause_s * 2 ** min(failures - 1, 20))
        return longest * random.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True)
class AttemptResult(Generic[T]):
    """`content` is what was read; `waited_s` was spent before the attempt that brought it, `repeated_s` of it from the
    first attempt on; `took_s`: of that attempt."""

    content: T
    attempts: int
    waited_s: float
    took_s: float
    repeated_s: float = 0.0


@dataclass(slots=True)
class _Tries:
    attempts: int = 0
    failures: int = 0
    throttled: int = 0
    throttled_at: float = 0.0  # first


class Retry:
    """All requests to one server. What it has refused of a model's parameters is remembered."""

    def __init__(self, provider: Provider, patience: Patience) -> None:
        self.provider, self._patience = provider, patience
        self._refused: dict[str, Counter[str]] = {}  # model -> how often its server did not take a parameter
        self.begin()

    def begin(self) -> None:
        """A run starts: what was hopeless before is tried again."""
        self._answered_at = 0.0
        self._failed_in_a_row = 0
        self._stopped: str | None = None

    @cached_property
    def _limiter(self) -> Limiter:
        return self.provider.limiter()

    async def ask(self, path: str, body: Mapping[str, Any], tokens: int, read: Read[T], toll: Toll) -> AttemptResult[T]:
        """Send a request, and return its JSON object as `read` converts it; an answer that `read` refuses is requested
        again. Raises StopRunError and InputError for errors that hold for all requests, EvaluationError for an error of
        this one."""
        self.provider.connect()
        refused = self._refused.setdefault(str(body["model"]), Counter())
        began, first_sent_at, tries = time.perf_counter(), 0.0, _Tries()
        while True:
            ticket = await self._enter(tokens, toll)
            sent_at, accepted = time.perf_counter(), accepted_body(body, refused)
            first_sent_at = first_sent_at or sent_at
            tries.attempts += 1
            try:
                reply = await self.provider.send(path, accepted)
                took_s = time.perf_counter() - sent_at
                content = read(reply)
            except Exception as error:
                verdict = verdict_on(error, accepted)
            except BaseException:  # cancelled; the server may still answer
                self._limiter.release(ticket, "failed")
                toll.lose(may_be_billed=True)
                raise
            else:
                self._limiter.release(ticket, "answered")
                self._failed_in_a_row, self._answered_at = 0, time.monotonic()
                return AttemptResult(content, tries.attempts, sent_at - began, took_s, sent_at - first_sent_at)
            toll.lose(may_be_billed=verdict.may_be_billed)
            self._limiter.release(
                ticket, "throttled" if verdict.kind == "throttled" else "failed", retry_after_s=self._bearable(verdict)
            )
            if verdict.kind != "drop":
                try:
                    await self._pause(verdict, tries, str(body["model"]))
                except EvaluationError as error:
                    error.attempts = tries.attempts
                    raise
            elif not _learn_refusal(refused, verdict.parameter, body, accepted):
                raise self._error(StopRunError, verdict, str(body["model"]))

    # --- inside -----------------------------------------------------------------------------------

    async def _enter(self, tokens: int, toll: Toll) -> int:
        """The budget comes last: what is reserved when the process is killed counts as spent, and only what was
        about to be sent can have been. Most need not wait, for the one or the other."""
        self._check_goes_on()
        if not toll.is_limited and (ticket := self._limiter.try_acquire(tokens)) is not None:
            return ticket
        with in_line():
            ticket = await self._limiter.acquire(tokens, lambda: self._stopped is not None)
            try:
                self._check_goes_on()
                await toll.enter()
            except BaseException:
                self._limiter.release(ticket, "failed")
                raise
            return ticket

    def _check_goes_on(self) -> None:
        """Raise the error that another request may have met meanwhile and that holds for all, also while this one was
        waiting."""
        if self._stopped is not None:
            raise StopRunError(self._stopped)

    async def _pause(self, verdict: Verdict, tries: _Tries, model: str) -> None:
        """Wait before the request is sent again; raises where it will not be sent."""
        if verdict.kind != "throttled":
            tries.failures += 1
            self._raise_if_final(verdict, tries, model)
            await asyncio.sleep(self._patience.pause_s(tries.failures, self._bearable(verdict)))
            return
        now = time.monotonic()
        tries.throttled += 1
        tries.throttled_at = tries.throttled_at or now
        if self._bearable(verdict) != verdict.after_s:
            raise self._error(StopRunError, verdict, model, f" (it asks to wait for {verdict.after_s:,.0f} s)")
        lasting_s = now - max(tries.throttled_at, self._answered_at)
        if lasting_s > self._patience.throttled_s:
            raise self._error(StopRunError, verdict, model, f" (the same answer for {lasting_s:,.0f} s)")
        with in_line():
            await asyncio.sleep(self._patience.pause_s(tries.throttled, verdict.after_s))

    def _bearable(self, verdict: Verdict) -> float | None:
        after_s = verdict.after_s
        return None if after_s is None or after_s > self._patience.throttled_s else after_s

    def _raise_if_final(self, verdict: Verdict, tries: _Tries, model: str) -> None:
        if verdict.kind == "stop":
            raise self._error(StopRunError, verdict, model)
        if verdict.kind == "again" and tries.failures < self._patience.attempts:
            return
        self._failed_in_a_row += 1
        times = f" (asked {tries.attempts} times)" if tries.attempts > 1 else ""
        if verdict.is_down:
            raise self._error(StopRunError, verdict, model, times)
        if self._failed_in_a_row >= self._patience.hopeless:
            raise self._error(
                StopRunError,
                verdict,
                model,
                f"{times}; {self._failed_in_a_row} requests in a row ended like this",
            )
        raise self._error(EvaluationError, verdict, model, times)

    def _error(self, kind: type[EvaluationError], verdict: Verdict, model: str, more: str = "") -> EvaluationError:
        provider = self.provider
        message = f"{provider.name}:{model} at {provider.address}: {provider.clean_message(verdict.message)}{more}"
        if verdict.status in (401, 403) and (variable := provider.settings.get("api_key_env")):
            message += f" (the key is that in {variable})"
        if verdict.status == 404:
            message += f"; has this server a model '{model}', and is provider.{provider.name}.base_url right?"
        if kind is StopRunError:
            self._stopped = message
            self._limiter.look_again()
        return kind(message)


def accepted_body(body: Mapping[str, Any], refused: Mapping[str, int]) -> Mapping[str, Any]:
    """The body without the refused parameters: `max_tokens` is sent by its newer name, a JSON schema becomes any JSON
    first, and the limit of the answer is always sent."""
    if not refused:
        return body
    accepted: dict[str, Any] = {}
    for name, value in body.items():
        times = refused.get(name, 0)
        if not times or name == "max_completion_tokens":
            accepted[name] = value
        elif name == "max_tokens":
            accepted["max_completion_tokens"] = value
        elif name == "response_format" and times == 1 and value["type"] == "json_schema" and _speaks_of_json(body):
            accepted[name] = {"type": "json_object"}
    return accepted


def _speaks_of_json(body: Mapping[str, Any]) -> bool:
    """Whether a message contains the word JSON, without which servers refuse `json_object`."""
    return any("json" in message["content"].lower() for message in body["messages"])


def _learn_refusal(
    refused: Counter[str], parameter: str, body: Mapping[str, Any], sent_body: Mapping[str, Any]
) -> bool:
    """Whether the request would be another one now; another request may have learnt the same meanwhile."""
    if accepted_body(body, refused) == sent_body:
        refused[parameter] += 1
    return accepted_body(body, refused) != sent_body
