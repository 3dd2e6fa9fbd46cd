"""A foreign service that is called by JSON templates: its address, what is sent to it, how its replies are read.

A template is any JSON value in which `{name}` is a placeholder for a value. A text that is one placeholder and nothing
else becomes the value itself, so a number stays a number. A key or a list entry whose placeholder has no value is left
out. Replies are read by JMESPath (jmespath.org). A reply of server-sent events becomes one object.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from email.message import Message
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

import orjson
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.errors import EvaluationError, InputError, Problem, StopRunError, UncertainWriteError
from runner.llm.limiter import Ending, Limiter, limiter_of
from runner.llm.reply_body import decode_text, read_json
from runner.llm.retry import Patience
from runner.llm.settings import Limit, Variable
from runner.llm.toll import Toll
from runner.llm.verdict import ToldError, retry_after_s
from runner.system.redaction import learn_variable, redact
from runner.system.stopwatch import in_line
from runner.text.reply import error_text
from runner.words.wording import wording

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

CONNECT_S = 10.0
SHOWN = 300  # characters of what a service says
SHOWN_KEYS, LONGEST_KEY = 20, 40  # of a reply that are shown; characters of one
LONGEST_REPLY = 32 * 2**20  # bytes
KEY_OF_REQUEST = "Idempotency-Key"
PLACEHOLDER = re.compile(r"\{(\w+)\}")
AGAIN = frozenset({408, 409, 425, 500, 502, 503, 504})
ACCESS = frozenset({401, 403})
MOVED = frozenset({404, 405})


@with_config(ConfigDict(extra="forbid"))
class Header(TypedDict, total=False):
    """`value_env`: the NAME of the environment variable that holds the value; `prefix` stands before it."""

    name: str
    value_env: Variable
    prefix: str


@with_config(ConfigDict(extra="forbid"))
class EndpointLimits(TypedDict, total=False):
    """The meaning and default of each is documented at Endpoint."""

    headers: list[Header]
    timeout_ms: Annotated[int, Field(ge=1)]
    retries: Annotated[int, Field(ge=0, le=10)]
    max_concurrency: Annotated[int, Field(ge=1)]
    requests_per_minute: Limit


@dataclass(frozen=True, slots=True)
class Request:
    """`path` with its placeholders filled in; `body`: a JSON value, None for none. `key`: sent as `key_header`, by
    which the service can recognise a repeat. `is_write`: what it stores would be stored twice if it were repeated
    without a key; its reply is not read."""

    name: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    body: Any = None
    key: str = ""
    key_header: str = KEY_OF_REQUEST
    is_write: bool = False


@dataclass(frozen=True, slots=True)
class EndpointReply:
    """The JSON of a reply, None for an empty one. `waited_s` was spent before the attempt that brought it, `repeated_s`
    of it from the first attempt on; `took_s`: from sending the request to the end of the reply."""

    content: Any
    attempts: int
    waited_s: float
    took_s: float
    repeated_s: float = 0.0


class Endpoint:
    """One service. `setting`: the key in conf of the component that calls it, for messages. `headers` are sent with
    every request; `timeout_ms` limits one attempt; `retries` are further attempts where the service did not answer or
    is temporarily unavailable. A reply of too many requests (429, Retry-After) is followed by the pause that it
    demands. `max_concurrency` and `requests_per_minute` hold for all callers of this service with these headers in this
    process. `language`: of messages. `delta`: JMESPath of the piece of an answer in one server-sent event; None: such
    replies are refused. A service that answered before is not at the wrong address: then an address that it does not
    know, or a redirect, is an error of that request alone."""

    def __init__(
        self,
        setting: str,
        url: str,
        *,
        headers: Sequence[Header] = (),
        timeout_ms: int = 30_000,
        retries: int = 3,
        max_concurrency: int = 4,
        requests_per_minute: int | None = None,
        language: str = "en",
        delta: str | None = None,
    ) -> None:
        self.setting, self.url = setting, url.rstrip("/")
        self._say, self._delta = wording(language, "service"), delta
        self._headers, self._timeout_s = list(headers), timeout_ms / 1000
        self._ceiling, self._per_minute = max_concurrency, requests_per_minute
        self._patience = Patience(attempts=retries + 1)
        self._session: ClientSession | None = None
        self._users = 0
        self._answered: set[str] = set()  # requests by name

    def problems(self) -> list[Problem]:
        """Headers whose variable is not set."""
        problems_found = []
        for place, header in enumerate(self._headers):
            name, key = header.get("value_env", ""), f"{self.setting}.headers[{place}]"
            if not header.get("name") or not name:
                problems_found.append(Problem(key, self._say("service.header")))
            elif not os.environ.get(name, "").strip():
                message = self._say("service.header_unset", variable=name, header=header["name"], url=self.url)
                problems_found.append(Problem(f"{key}.value_env", message))
        return problems_found

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Raises InputError where a header is missing."""
        from aiohttp import ClientSession, ClientTimeout, TCPConnector

        if problems := self.problems():
            raise InputError(str(problems[0]))
        if not self._users:
            connect_s = min(self._timeout_s, CONNECT_S)
            timeout = ClientTimeout(total=self._timeout_s, sock_connect=connect_s)
            unlimited = TCPConnector(limit=0)  # the limiter counts requests; a second queue would count as latency
            self._session = ClientSession(timeout=timeout, headers=self._secret_headers, connector=unlimited)
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users and self._session is not None:
                session, self._session = self._session, None
                await session.close()

    @cached_property
    def _secret_headers(self) -> dict[str, str]:
        values = {}
        for header in self._headers:
            learn_variable(header["value_env"])
            values[header["name"]] = header.get("prefix", "") + os.environ[header["value_env"]].strip()
        return values

    @cached_property
    def _limiter(self) -> Limiter:
        header_lines = "\n".join(f"{name}: {value}" for name, value in self._secret_headers.items())
        return limiter_of(
            self.url,
            header_lines,
            ceiling=self._ceiling,
            requests_per_minute=self._per_minute,
            tokens_per_minute=None,
        )

    async def ask(self, request: Request, *, missing_is_fine: bool = False) -> Any:
        """The JSON of the reply, None for an empty one, and for 404 with `missing_is_fine`. Raises StopRunError for
        errors that hold for every request, EvaluationError for an error of this one."""
        return (await self.exchange(request, missing_is_fine=missing_is_fine)).content

    async def exchange(
        self,
        request: Request,
        toll: Toll | None = None,
        *,
        missing_is_fine: bool = False,
        fault_in: Callable[[Any], str] | None = None,
    ) -> EndpointReply:
        """The same with what it took. A `toll` is entered before each attempt, lost by those that bring nothing, and
        for the caller to pay. `fault_in`: what is wrong with the JSON of a reply, in words; such an attempt failed."""
        began, first_sent_at = time.perf_counter(), 0.0
        attempts, failures, throttled_since = 0, 0, 0.0
        while True:
            ticket = await self._enter(toll)
            sent_at = time.perf_counter()
            first_sent_at = first_sent_at or sent_at
            attempts += 1
            reply = await self._attempt(request, ticket, toll, fault_in)
            if reply.is_fine or (missing_is_fine and reply.status == 404):
                self._answered.add(request.name)
                return EndpointReply(reply.content, attempts, sent_at - began, reply.took_s, sent_at - first_sent_at)
            if toll is not None:
                toll.lose(may_be_billed=False)
            if reply.status == 429:
                throttled_since = throttled_since or time.monotonic()
                self._check_patience(request, reply, time.monotonic() - throttled_since)
                pause_s = self._patience.pause_s(1, reply.after_s)
            else:
                failures += 1
                self._raise_if_final(request, reply, failures)
                pause_s = self._patience.pause_s(failures, reply.after_s)
            with in_line():
                await asyncio.sleep(pause_s)

    # --- inside -----------------------------------------------------------------------------------

    async def _enter(self, toll: Toll | None) -> int:
        """The budget comes last: what is reserved when the process is killed counts as spent."""
        with in_line():
            ticket = await self._limiter.acquire(1)
            try:
                if toll is not None:
                    await toll.enter()
            except BaseException:
                self._limiter.release(ticket, "failed")
                raise
            return ticket

    async def _attempt(
        self, request: Request, ticket: int, toll: Toll | None, fault_in: Callable[[Any], str] | None
    ) -> _Reply:
        ending: Ending = "failed"
        after_s = None
        try:
            reply = self._with_content(request, await self._exchange(request), fault_in)
            ending = "throttled" if reply.status == 429 else "answered" if reply.is_fine else "failed"
            after_s = None if (reply.after_s or 0) > self._patience.throttled_s else reply.after_s
        except BaseException:  # cancelled; the service may still process the request
            if toll is not None:
                toll.lose(may_be_billed=False)
            raise
        finally:
            self._limiter.release(ticket, ending, retry_after_s=after_s)
        return reply

    async def _exchange(self, request: Request) -> _Reply:
        from aiohttp import ClientConnectorError, ClientError
        from yarl import URL

        if self._session is None:
            raise EvaluationError(f"{self.setting}: asked before it was opened")
        headers = {"Content-Type": "application/json"} if request.body is not None else {}
        headers |= {request.key_header: request.key} if request.key else {}
        data = None if request.body is None else orjson.dumps(request.body)
        say, sent_at = self._say, time.perf_counter()
        try:
            async with self._session.request(
                request.method,
                URL(self.url + request.path, encoded=True),
                data=data,
                headers=headers,
                allow_redirects=False,
            ) as response:
                reply = await self._read(response)
            return replace(reply, took_s=time.perf_counter() - sent_at)
        except ClientConnectorError as error:
            is_refused = isinstance(error.os_error, ConnectionRefusedError)
            reason = say("service.refused") if is_refused else str(error.os_error)
            return _Reply(0, message=say("service.no_connection", reason=reason), is_down=True)
        except TimeoutError:
            limit = f"{self._timeout_s * 1000:,.0f} ms"
            return _Reply(0, message=say("service.late", setting=f"{self.setting}.timeout_ms", limit=limit))
        except (ClientError, ValueError) as error:
            return _Reply(0, message=say("service.lost", error=f"{type(error).__name__}: {error}"))

    async def _read(self, response: ClientResponse) -> _Reply:
        body = await response.content.read(LONGEST_REPLY + 1)
        while len(body) <= LONGEST_REPLY and (more := await response.content.read(LONGEST_REPLY)):
            body += more
        if len(body) > LONGEST_REPLY:
            raise ValueError(f"a reply of more than {LONGEST_REPLY:,} bytes")
        excerpt = _excerpt(body) or self._say("service.no_message")
        message = self._say("service.status", status=response.status, said=excerpt)
        headers = {name.lower(): value for name, value in response.headers.items()}
        kind, charset = response.content_type, _charset(response)
        return _Reply(response.status, body, retry_after_s(headers), message, kind=kind, charset=charset)

    def _with_content(self, request: Request, reply: _Reply, fault_in: Callable[[Any], str] | None) -> _Reply:
        """The reply with its JSON, or with what is wrong with it. That to a write need not be JSON."""
        if not reply.is_success:
            return reply
        try:
            content = read_json(reply.body, reply.kind, reply.charset, self._delta)
            fault = fault_in(content) if fault_in is not None else ""
        except ToldError as error:
            content, fault = None, self._say("service.told", error=error_text(error.content))
        except ValueError:
            said = _excerpt(decode_text(reply.body, reply.charset).encode("utf-8", "replace"))
            content, fault = None, "" if request.is_write else self._say("service.no_json", said=said)
        return replace(reply, content=content, fault=fault, message=fault or reply.message)

    def _check_patience(self, request: Request, reply: _Reply, lasting_s: float) -> None:
        if reply.after_s is not None and reply.after_s > self._patience.throttled_s:
            wait_message = self._say("service.wait", told=reply.message, seconds=f"{reply.after_s:,.0f}")
            raise StopRunError(self._message(request, wait_message))
        if lasting_s > self._patience.throttled_s:
            lasting = self._say("service.throttled", told=reply.message, seconds=f"{lasting_s:,.0f}")
            raise StopRunError(self._message(request, lasting))

    def _raise_if_final(self, request: Request, reply: _Reply, failures: int) -> None:
        say, setting = self._say, self.setting
        answer = say("service.asked", told=reply.message, times=failures) if failures > 1 else reply.message
        if reply.status in ACCESS:
            variables = ", ".join(header["value_env"] for header in self._headers)
            key = "service.access" if variables else "service.access_none"
            message = say(key, told=reply.message, variables=variables, setting=f"{setting}.headers")
            raise StopRunError(self._message(request, message))
        has_answered = request.name in self._answered
        if has_answered and (300 <= reply.status < 400 or reply.status in MOVED):
            raise EvaluationError(self._message(request, answer))
        if 300 <= reply.status < 400:
            elsewhere = say("service.elsewhere", told=reply.message, setting=f"{setting}.url")
            raise StopRunError(self._message(request, elsewhere))
        if reply.status in MOVED:
            place = f"{setting}.{request.name}.path" if request.name != "url" else f"{setting}.url"
            raise StopRunError(self._message(request, say("service.missing", told=reply.message, setting=place)))
        if request.is_write and not request.key and reply.is_uncertain:
            raise UncertainWriteError(self._message(request, say("service.uncertain", told=answer)))
        if reply.status > 0 and reply.status not in AGAIN and not reply.is_success:
            raise EvaluationError(self._message(request, answer))
        if failures < self._patience.attempts:
            return
        if reply.is_down:
            raise StopRunError(self._message(request, say("service.down", told=answer, setting=f"{setting}.url")))
        raise EvaluationError(self._message(request, answer))

    def _message(self, request: Request, message: str) -> str:
        path = request.path.partition("?")[0]
        return redact(f"{self.setting}.{request.name}: {request.method} {self.url}{path}: {message}")


@dataclass(frozen=True, slots=True)
class _Reply:
    """`status` 0: none came. `kind`: the content type, without parameters; `fault`: why the content is of no use."""

    status: int
    body: bytes = b""
    after_s: float | None = None
    message: str = ""
    is_down: bool = False
    kind: str = ""
    charset: str | None = None
    content: Any = None
    fault: str = ""
    took_s: float = 0.0

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_fine(self) -> bool:
        return self.is_success and not self.fault

    @property
    def is_uncertain(self) -> bool:
        """Whether the service may have done what it was asked for all the same."""
        has_failed = self.status in AGAIN or self.status == 0 or self.status >= 500
        return not self.is_down and (has_failed or bool(self.fault))


def _charset(response: ClientResponse) -> str | None:
    message = Message()
    message["Content-Type"] = response.headers.get("Content-Type", "")
    return message.get_content_charset()


def _excerpt(body: bytes) -> str:
    return " ".join(body.decode("utf-8", "replace").split())[:SHOWN]


def excerpt_keys(reply: Mapping[str, Any]) -> tuple[str, ...]:
    """The first keys of a reply for a message, long ones cut."""
    keys = [str(key) for key in list(reply)[:SHOWN_KEYS]]
    return tuple(key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}…" for key in keys)


# --- templates ------------------------------------------------------------------------------------


class _Nothing:
    """The result of a placeholder that has no value."""


_NOTHING = _Nothing()


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its placeholders filled in. What is filled in is not looked at again. Raises KeyError for a
    placeholder that has no value."""
    body = _fill(template, values)
    return None if body is _NOTHING else body


def filled_path(template: str, values: Mapping[str, Any]) -> str:
    """The same for the path and the query of an address, percent-encoded."""
    return PLACEHOLDER.sub(lambda match: quote(_as_text(values[match[1]]), safe=""), template)


def _fill(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, str):
        if placeholder := PLACEHOLDER.fullmatch(template):
            value = values[placeholder[1]]
            return _NOTHING if value in ("", None) else value
        return PLACEHOLDER.sub(lambda match: _as_text(values[match[1]]), template)
    if isinstance(template, Mapping):
        fields = {str(name): _fill(inner, values) for name, inner in template.items()}
        return {name: inner for name, inner in fields.items() if inner is not _NOTHING}
    if isinstance(template, list | tuple):
        entries = [(inner, _fill(inner, values)) for inner in template]
        return [entry for inner, entry in entries if entry is not _NOTHING and not _lacks_some(inner, entry)]
    return template


def _as_text(value: Any) -> str:
    """The value as it stands within a text."""
    if isinstance(value, Mapping | list | tuple):
        return orjson.dumps(value).decode()
    return "" if value is None else str(value)


def _lacks_some(template: Any, entry: Any) -> bool:
    """Whether an entry of a list lacks something that its template has."""
    return isinstance(template, Mapping) and len(entry) < len(template)


def placeholders(template: Any) -> Iterator[str]:
    """Names, in order."""
    if isinstance(template, str):
        yield from PLACEHOLDER.findall(template)
    elif isinstance(template, Mapping):
        for inner in template.values():
            yield from placeholders(inner)
    elif isinstance(template, list | tuple):
        for inner in template:
            yield from placeholders(inner)


def expression_problem(expression: str) -> str | None:
    """The problem of a JMESPath expression."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        jmespath.compile(expression)
    except JMESPathError as error:
        why = _excerpt(str(error).encode())
        return f"expected a JMESPath expression such as results[].memory, found '{expression}': {why}"
    return None


def extract(expression: str | None, reply: Any) -> Any:
    """The value that a JMESPath expression finds; None where it finds none."""
    if expression is None:
        return None
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.search(expression, reply)
    except JMESPathError as error:
        raise EvaluationError(f"{expression}: {_excerpt(str(error).encode())}") from None


@dataclass(frozen=True, slots=True)
class PathMiss:
    """Where an expression leaves a reply: the `key` that an object with `keys` lacks; "" where there is no object."""

    key: str
    keys: tuple[str, ...]


def path_miss(expression: str, reply: Any) -> PathMiss | None:
    """Why an expression that finds nothing cannot find anything in such a reply; None where what it names is there, and
    empty. Of alternatives (`a || b`) one is enough."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    trace = _Trace()
    try:
        value = jmespath.search(expression, trace.follow(reply))
    except JMESPathError:  # of a function, which knows plain objects only
        return None
    if trace.misses and not ("||" in expression and trace.n_hits):
        return trace.misses[0]
    return PathMiss("", ()) if value is None and trace.last not in _EMPTY else None


_EMPTY: tuple[Any, ...] = (None, "", [], {})


class _Trace:
    """The keys of a reply that an expression asks for. `last`: the value that was last there."""

    def __init__(self) -> None:
        self.misses: list[PathMiss] = []
        self.n_hits = 0
        self.last: Any = None

    def follow(self, reply: Any) -> Any:
        """The reply, with objects that note what they are asked for."""
        self.last = reply
        return self._wrap(reply)

    def _wrap(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._wrap(item) for item in value]
        return _TracedObject(value, self) if isinstance(value, dict) else value

    def note(self, key: str, content: Mapping[str, Any]) -> Any:
        if key not in content:
            self.misses.append(PathMiss(key, excerpt_keys(content)))
            return None
        self.n_hits += 1
        self.last = content[key]
        return self._wrap(self.last)


class _TracedObject:
    """All that JMESPath asks of an object whose field it takes."""

    def __init__(self, content: Mapping[str, Any], trace: _Trace) -> None:
        self._content, self._trace = content, trace

    def get(self, key: str) -> Any:
        return self._trace.note(key, self._content)
