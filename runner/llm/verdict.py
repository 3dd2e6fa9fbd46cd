"""What an error of a server means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

TEMPORARY = frozenset({408, 409})
PERMANENT = frozenset({401, 403, 404, 405})
COARSE_S = 2.0  # by which a date, of whole seconds, may be off without the clock being wrong
GATEWAY = frozenset({502, 504, 524})  # a gateway lost the possible answer of the server
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
LENGTHS = frozenset({"max_tokens", "max_completion_tokens"})
CONTENT = frozenset({"messages", "input", "tools"})
# What a server that does not know a parameter, or not for this model, says of it.
UNSUPPORTED = re.compile(
    r"unsupported param|not support|unknown|unrecognized|unexpected|not permitted|extra|unavailable"
)

Kind = Literal["again", "throttled", "drop", "stop", "fail"]


class ToldError(ValueError):
    """An error in a reply with status 200, as a router passes on from the server behind it. `status`: that of the
    error, 0 where it is unknown."""

    def __init__(self, error: object) -> None:
        super().__init__(str(error))
        self.content: Mapping[str, object] = error if isinstance(error, Mapping) else {"message": error}
        code = self.content.get("code") or self.content.get("status")
        self.status = code if isinstance(code, int) and 400 <= code < 600 else 0


class StatusError(Exception):
    """The server answered with a status other than success. `content`: JSON, or a text."""

    def __init__(self, status: int, content: object, headers: Mapping[str, str]) -> None:
        super().__init__(f"{status}: {content}")
        self.status, self.content, self.headers = status, content, headers


class LostError(Exception):
    """The connection failed, before or within an answer. Its cause says how."""


class UnsendableError(Exception):
    """The client does not take the request as one, as with a header that holds what no header may."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """again: repeat the request after a pause (`throttled`: there were too many requests); drop: repeat it without
    `parameter`; stop: the error holds for every request; fail: it holds for this one. `is_down`: nothing listens at the
    address."""

    kind: Kind
    message: str
    after_s: float | None = None
    parameter: str = ""
    status: int | None = None
    is_down: bool = False
    may_be_billed: bool = False


def verdict_on(error: Exception, names: Collection[str] = ()) -> Verdict:
    """How to react to an error of a transport, or of reading its answer. `names`: the parameters that were sent."""
    from aiohttp import ClientConnectorError, ConnectionTimeoutError, SocketTimeoutError

    if isinstance(error, ToldError) and error.status >= 400:
        return replace(_of_status(error.status, error.content, {}, names), may_be_billed=True)
    if isinstance(error, StatusError):
        return _of_status(error.status, _error_object(error.content), error.headers, names)
    chain = list(causes(error))
    for cause in chain:
        if isinstance(cause, ClientConnectorError):
            return Verdict("again", f"no connection to {cause.host}:{cause.port} ({_reason(cause)})", is_down=True)
        if isinstance(cause, ConnectionTimeoutError):
            return Verdict("again", "no connection in time", is_down=True)
    if any(isinstance(cause, TimeoutError | SocketTimeoutError) for cause in chain):
        return Verdict("again", "no answer within timeout_ms", may_be_billed=True)
    reason = " ".join(str(chain[-1]).split())
    if isinstance(error, UnsendableError):
        return Verdict("stop", f"the request cannot be sent ({type(chain[-1]).__name__}: {reason})")
    if isinstance(error, LostError):
        return Verdict("again", f"the connection was lost ({reason})", may_be_billed=True)
    said = f"the answer is not what an OpenAI-compatible server sends ({type(error).__name__}: {reason})"
    return Verdict("again", said, may_be_billed=True)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what caused it, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date, which is
    one on the server's clock."""
    milliseconds, value = _number(headers.get("retry-after-ms")), headers.get("retry-after")
    if milliseconds is not None:
        return milliseconds / 1000
    if (seconds := _number(value)) is not None:
        return seconds
    until, now, theirs = _date(value), datetime.now(UTC), _date(headers.get("date"))
    if theirs is not None and abs((theirs - now).total_seconds()) > COARSE_S:
        now = theirs
    return None if until is None else max(0.0, (until - now).total_seconds())


# --- inside -----------------------------------------------------------------------------------------


def _of_status(status: int, body: Mapping[str, object], headers: Mapping[str, str], names: Collection[str]) -> Verdict:
    if 300 <= status < 400:
        place = re.sub(
            r"//[^/]*@|[?#].*", lambda part: "//" if part[0].startswith("//") else "", headers.get("location", "")
        )
        redirected = (
            f"the server redirects to {place or 'no address'}, which is not followed; base_url names the server to ask"
        )
        return Verdict("stop", redirected, status=status)
    message = " ".join(re.sub(r"<[^<>]*>", " ", _in_words(body.get("message") or body.get("detail") or "")).split())
    reason = f"the server answers {status}: {message or 'no message'}"
    if status == 404 and "model" not in f"{message} {body.get('code')}".lower():
        reason += " (is the path of the address right? Most end in /v1)"
    if status == 402 or not SPENT.isdisjoint({str(body.get("code")), str(body.get("type"))}):
        return Verdict("stop", reason, status=status)
    if status == 429:
        after_s = retry_after_s(headers)
        return Verdict("throttled", reason, _retry_delay_s(body) if after_s is None else after_s, status=status)
    if status in TEMPORARY or status >= 500:
        return Verdict("again", reason, retry_after_s(headers), status=status, may_be_billed=status in GATEWAY)
    if status in PERMANENT or body.get("param") == "model":
        return Verdict("stop", reason, status=status)
    parameter = _refused_parameter(message, str(body.get("param") or ""), names) if status in (400, 422) else ""
    return Verdict("drop" if parameter else "fail", reason, parameter=parameter, status=status)


def _refused_parameter(message: str, parameter: str, names: Collection[str]) -> str:
    """The parameter among those sent that a server does not take; empty when it complains of something else, such
    as a prompt that is too long. How long an answer may be is never left out for its value."""
    lowered, name = message.lower(), parameter.split(".")[0].split("[")[0]
    is_unsupported = UNSUPPORTED.search(lowered) is not None
    if not name and is_unsupported:
        places = {each: found.start() for each in names if (found := re.search(rf"\b{re.escape(each)}\b", lowered))}
        name = min(places, key=lambda each: places[each], default="")
    if name not in names or name in CONTENT or name == "model":
        return ""
    return "" if name in LENGTHS and not is_unsupported else name


def _in_words(message: object) -> str:
    """A message in words: where a server checks requests as FastAPI does, each field and its fault."""
    faults = message.get("detail") if isinstance(message, Mapping) else message
    if not isinstance(faults, list) or not all(isinstance(fault, Mapping) for fault in faults):
        return str(message)
    places = [".".join(map(str, fault.get("loc") or ())) for fault in faults]
    return "; ".join(f"{place}: {fault.get('msg')}" for place, fault in zip(places, faults, strict=True))


def _retry_delay_s(said: Mapping[str, object]) -> float | None:
    """The seconds that an error of Google demands to wait, from its details (`"retryDelay": "12s"`)."""
    details = said.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and isinstance(delay := detail.get("retryDelay"), str):
            return _number(delay.removesuffix("s"))
    return None


def _error_object(body: object) -> Mapping[str, object]:
    """The object that tells the error, wherever a server puts it."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        return inner if isinstance(inner, Mapping) else {"message": inner}
    return {"message": body}


def _reason(error: OSError) -> str:
    inner = getattr(error, "os_error", error)
    return "connection refused" if isinstance(inner, ConnectionRefusedError) else str(inner.strerror or inner)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if number < float("inf") else None


def _date(value: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
