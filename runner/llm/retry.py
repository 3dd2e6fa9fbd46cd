"""What an error of a server means, and when to ask again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

ATTEMPTS = 6
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0
TEMPORARY = frozenset({408, 409, 429})
PERMANENT = frozenset({401, 403, 404, 405})
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})

Kind = Literal["again", "throttled", "drop", "stop", "fail"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """again: ask again after a pause (`throttled`: there were too many requests); drop: ask again without
    `parameter`; stop: wrong for every request; fail: wrong for this one. `down`: nobody listens there."""

    kind: Kind
    message: str
    after_s: float | None = None
    parameter: str | None = None
    down: bool = False


def verdict_on(error: Exception) -> Verdict:
    """What to do about an error that the openai client, or reading its answer, raised."""
    from openai import APIConnectionError, APIStatusError, APITimeoutError

    if isinstance(error, APIStatusError):
        return _of_status(error.status_code, _body(error), error.response.headers)
    cause = " ".join(str(error.__cause__ or error).split())
    if "Cannot connect to host" in cause or "Connection refused" in cause:
        return Verdict("again", cause.split(" [")[0], down=True)
    if isinstance(error, TimeoutError) or (isinstance(error, APITimeoutError) and "disconnect" not in cause):
        return Verdict("again", "no answer within timeout_ms")
    if isinstance(error, APIConnectionError):
        return Verdict("again", f"the connection was lost ({cause})")
    return Verdict("again", f"the answer is not what an OpenAI-compatible server sends ({cause})")


def _of_status(status: int, body: Mapping[str, object], headers: Mapping[str, str]) -> Verdict:
    message = " ".join(str(body.get("message") or "no message").split())
    said = f"the server answers {status}: {message}"
    code, parameter = body.get("code"), body.get("param")
    if code in SPENT or body.get("type") in SPENT or status == 402:
        return Verdict("stop", said)
    if status == 429:
        return Verdict("throttled", said, after_s=retry_after_s(headers))
    if status in TEMPORARY or status >= 500:
        return Verdict("again", said, after_s=retry_after_s(headers))
    if status in (400, 422):
        named = parameter_named(message, str(parameter) if parameter else None)
        return Verdict("drop", said, parameter=named) if named else Verdict("fail", said)
    return Verdict("stop" if status in PERMANENT else "fail", said)


def parameter_named(message: str, parameter: str | None) -> str | None:
    """The optional parameter that a server refuses; None when it complains of something else."""
    if parameter is not None:
        name = parameter.split(".")[0]
        return name if name in OPTIONAL else None
    lowered = message.lower()
    if not any(
        word in lowered for word in ("support", "unknown", "unrecognized", "not allowed", "unexpected", "extra")
    ):
        return None
    return next((name for name in OPTIONAL if name in lowered), None)


COMPLAINTS = ("support", "unknown", "unrecognized", "not allowed", "not permitted", "unexpected", "extra")
# In the order in which they are looked for in a message.
OPTIONAL = ("response_format", "temperature", "max_tokens", "max_completion_tokens", "seed", "reasoning_effort")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date."""
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(milliseconds) / 1000)
    except ValueError:
        pass
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def pause_s(attempt: int, after_s: float | None) -> float:
    """Before attempt `attempt` + 1 (from 1): twice as long each time, with half of it left to chance; never
    shorter than what the server asked for."""
    longest: float = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (attempt - 1))
    return max(after_s or 0.0, longest * random.uniform(0.5, 1.0))


def _body(error: Exception) -> Mapping[str, object]:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        return inner if isinstance(inner, Mapping) else {"message": str(inner)}
    return {"message": str(body)} if body else {}
