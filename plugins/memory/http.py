"""The memory of another system, over HTTP: mem0, Zep, Letta or a service of one's own."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Unpack

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.domains.memory.protocols import MemoryStore, Summariser
from runner.domains.memory.records import ChatTurn, Entity, MemoryContent, SessionKey, SessionState, Upkeep
from runner.errors import EvaluationError, Problem, UncertainWriteError, did_you_mean
from runner.llm.endpoint import (
    Endpoint,
    EndpointLimits,
    EndpointReply,
    PathMiss,
    Request,
    expression_problem,
    extract,
    fill_template,
    filled_path,
    path_miss,
    placeholders,
)
from runner.llm.models import Models
from runner.llm.settings import Address
from runner.llm.toll import Toll
from runner.system import terminal
from runner.system.redaction import redact
from runner.text.reply import error_in, split_thought
from runner.words.wording import current_wording

KEPT = 4096  # sessions whose turns are known
EMPTY: tuple[Any, ...] = (None, "", [])
OF_SESSION = ("tenant", "session", "language")
OF_TURN = (*OF_SESSION, "user", "assistant", "speaker", "said_at", "id", "number")
KNOWN: Mapping[str, tuple[str, ...]] = {
    "append": OF_TURN,
    "read": (*OF_SESSION, "question", "n"),
    "delete": OF_SESSION,
}
BODIES: Mapping[str, Any] = {
    "append": {
        "session": "{tenant}/{session}",
        "messages": [{"role": "user", "content": "{user}"}, {"role": "assistant", "content": "{assistant}"}],
        "metadata": {"turn": "{id}", "said_at": "{said_at}", "speaker": "{speaker}"},
    },
    "read": {"session": "{tenant}/{session}", "query": "{question}", "limit": "{n}"},
}  # where a request has none and its method takes one
EXPRESSIONS = ("memory", "entities", "turns")


@with_config(ConfigDict(extra="forbid"))
class RequestForm(TypedDict, total=False):
    """A request: `body` is a template of JSON, null for that of BODIES, and for none with GET and DELETE."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    body: Any


@with_config(ConfigDict(extra="forbid"))
class ReadRequest(RequestForm, total=False):
    """A request, with JMESPaths of what its reply holds; null: the reply lacks the part."""

    memory: str | None
    entities: str | None
    turns: str | None


class HttpMemory:
    """A memory service. `append` sends each turn when it is said, `read` asks for the memory of a question, `delete`
    forgets a session; null for a service without that request. Takes a store and a summariser, like every strategy,
    and uses neither.

    The reply to `read`: `memory` is a text or a list of texts, `entities` a list of {key, value}, `turns` a list of
    texts or of {text, id, said_at, speaker}, best first. `id` is that of the data set where it was sent with the turn:
    then recall can be measured. A reply in which none of these paths exists is an error; one in which they are empty
    means that nothing is remembered, and a note says so where no reply had anything.

    A turn of which the service did not say whether it stored it is sent again only with a key, in the
    `idempotency_header` by which the service recognises a repeat. Without one the session has to be written anew.

    `settle_ms` is waited after the last turn before a question, for services that process turns after they have
    answered. Every request counts for `budget.requests`; that of a deletion is reserved with the first turn of its
    session, so that a spent budget leaves no session there.
    """

    idle: ClassVar[tuple[str, ...]] = ("store", "summariser")  # parts that it takes and does not use

    def __init__(
        self,
        *,
        models: Models,
        store: MemoryStore,
        summariser: Summariser,
        url: Address,
        append: RequestForm,
        read: ReadRequest,
        delete: RequestForm | None = None,
        idempotency_header: str | None = None,
        n: Annotated[int, Field(ge=1)] = 10,
        settle_ms: Annotated[int, Field(ge=0)] = 0,
        **limits: Unpack[EndpointLimits],
    ) -> None:
        self.requests: dict[str, RequestForm | ReadRequest] = {"append": append, "read": read}
        self.requests |= {} if delete is None else {"delete": delete}
        self.endpoint = Endpoint("memory", url, **limits)
        self._service = models.memory(url)
        self.n, self.settle_s = n, settle_ms / 1000
        self._key_header = idempotency_header
        self._sessions: OrderedDict[SessionKey, _Session] = OrderedDict()
        self._finds = _Finds(tuple(name for name in EXPRESSIONS if read.get(name)))

    def preflight(self) -> list[Problem]:
        """Problems of unknown placeholders, invalid expressions and missing headers."""
        return [*self.endpoint.problems(), *self._problems()]

    def _problems(self) -> Iterator[Problem]:
        for name, request in self.requests.items():
            if not str(request.get("path", "")).startswith("/"):
                yield Problem(
                    f"memory.{name}.path", f"expected a path such as /memories, found {request.get('path')!r}"
                )
            for word in dict.fromkeys([*placeholders(request.get("path")), *placeholders(request.get("body"))]):
                if word not in KNOWN[name]:
                    known = f"{did_you_mean(word, KNOWN[name])}; known here: {', '.join(KNOWN[name])}"
                    yield Problem(f"memory.{name}", f"unknown placeholder {{{word}}}{known}")
        read = self.requests["read"]
        for name in EXPRESSIONS:
            if (problem := expression_problem(str(read.get(name) or "@"))) is not None:
                yield Problem(f"memory.read.{name}", problem)
        if not any(read.get(name) for name in EXPRESSIONS):
            yield Problem("memory.read", f"expected one of {', '.join(EXPRESSIONS)}: what the reply holds, as JMESPath")

    def open(self) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def session() -> AsyncIterator[None]:
            async with self.endpoint.open():
                yield
            self._finds.note_empty_paths(self.requests["read"])

        return session()

    async def append(self, key: SessionKey, turn: ChatTurn, language: str | None = None) -> None:
        session = self._of(key)
        session.language = language or session.language
        number = session.n_turns + 1
        said = {name: getattr(turn, name) for name in ("user", "assistant", "speaker", "said_at", "id")}
        values = {**self._names_of(key, session), **said, "id": turn.id or f"turn-{number}", "number": number}
        if "delete" in self.requests and not session.is_delete_paid:
            await self._service.pay()
            session.is_delete_paid = True
        started = time.perf_counter()
        await self._write(values)
        session.upkeep.appends_ms.append((time.perf_counter() - started) * 1000)
        session.n_turns, session.is_settled = number, False
        session.numbers[str(values["id"])] = number

    async def read(self, key: SessionKey, question: str) -> MemoryContent:
        session = self._of(key)
        values = {**self._names_of(key, session), "question": question, "n": self.n}
        reply = await self._ask(self._request("read", values))
        if (made_up := self._service.made_up_reply()) is not None:
            return MemoryContent(made_up)
        self._check_paths(reply)
        texts = self._value_of("memory", reply)
        return MemoryContent(
            memory="\n".join(_text("memory", each) for each in (texts if isinstance(texts, list) else [texts or ""])),
            entities=tuple(_entity(each, session.n_turns) for each in self._list_of("entities", reply)),
            retrieved=tuple(_turn(each, place, session) for place, each in enumerate(self._list_of("turns", reply), 1)),
        )

    async def update(self, key: SessionKey) -> None:
        """The service does not report its updates."""
        session = self._of(key)
        if not session.is_settled and self.settle_s and not self._service.is_rehearsed:
            await asyncio.sleep(self.settle_s)
        session.is_settled = True

    async def delete(self, key: SessionKey) -> None:
        session = self._sessions.pop(key, None)
        if "delete" in self.requests:
            session = session or _Session()
            request = self._request("delete", self._names_of(key, session))
            await self._ask(request, missing_is_fine=True, is_paid=session.is_delete_paid)

    async def inspect(self, key: SessionKey) -> SessionState:
        return SessionState()

    def upkeep(self, key: SessionKey) -> Upkeep:
        return self._of(key).upkeep

    # --- inside -----------------------------------------------------------------------------------

    def _of(self, key: SessionKey) -> _Session:
        session = self._sessions.setdefault(key, _Session())
        self._sessions.move_to_end(key)
        if len(self._sessions) > KEPT:
            self._sessions.popitem(last=False)
        return session

    async def _write(self, values: Mapping[str, Any]) -> None:
        """Send a turn. Raises UncertainWriteError where it may be stored, or not."""
        request = replace(self._request("append", values), is_write=True)
        if self._key_header:
            request = replace(request, key=secrets.token_hex(16), key_header=self._key_header)
        try:
            await self._ask(request)
        except UncertainWriteError as error:
            error.can_begin_anew = "delete" in self.requests or self._are_sessions_apart()
            raise

    def _are_sessions_apart(self) -> bool:
        """Whether turns are stored and read by session, so that nothing of another session is read."""
        sent = [(self.requests[name].get("path"), _body_of(name, self.requests[name])) for name in ("append", "read")]
        return all("session" in placeholders(each) for each in sent)

    async def _ask(self, request: Request, *, missing_is_fine: bool = False, is_paid: bool = False) -> Any:
        async def send(toll: Toll | None) -> EndpointReply:
            return await self.endpoint.exchange(
                request, toll, missing_is_fine=missing_is_fine, fault_in=partial(self._fault_in, request.name)
            )

        return await self._service.ask(send, is_paid=is_paid)

    def _fault_in(self, name: str, reply: Any) -> str:
        """The error that a reply reports in place of what it was asked for; empty for any other."""
        if name == "read" and any(self._value_of(each, reply) not in EMPTY for each in self._finds.names):
            return ""
        error = error_in(reply)
        return current_wording()("service.told", error=error) if error else ""

    def _names_of(self, key: SessionKey, session: _Session) -> dict[str, Any]:
        return {"tenant": key.tenant, "session": key.session, "language": session.language}

    def _request(self, name: str, values: Mapping[str, Any]) -> Request:
        sent = self.requests[name]
        path, method = filled_path(sent.get("path", ""), values), sent.get("method", "POST")
        return Request(name, method, path, fill_template(_body_of(name, sent), values))

    def _check_paths(self, reply: Any) -> None:
        """Raises EvaluationError for a reply in which no path exists: it is not what was expected."""
        read = self.requests["read"]
        empty = [name for name in self._finds.names if self._value_of(name, reply) in EMPTY]
        misses = {name: path_miss(str(read.get(name)), reply) for name in empty}
        if len(empty) == len(self._finds.names) and (reply is None or None not in misses.values()):
            name, miss = next(iter(misses.items()))
            raise EvaluationError(redact(_no_path(name, str(read.get(name)), reply, miss)))
        self._finds.count(empty)

    def _value_of(self, name: str, reply: Any) -> Any:
        expression = self.requests["read"].get(name)
        return extract(None if expression is None else str(expression), reply)

    def _list_of(self, name: str, reply: Any) -> Sequence[Any]:
        value = self._value_of(name, reply)
        if value is not None and not isinstance(value, list):
            raise EvaluationError(f"memory.read.{name}: expected a list, found {type(value).__name__}")
        return value or ()


def _body_of(name: str, request: RequestForm | ReadRequest) -> Any:
    """The template of the body of a request."""
    body = request.get("body")
    return BODIES.get(name) if body is None and request.get("method", "POST") not in ("GET", "DELETE") else body


def _no_path(name: str, expression: str, reply: Any, miss: PathMiss | None) -> str:
    """What is wrong with a reply, or with the path into it."""
    say = current_wording()
    values = {"setting": f"memory.read.{name}", "expression": expression}
    if miss is None or reply in (None, {}):
        return say("read.no_reply", **values)
    if not miss.key:
        return say("read.no_object", **values)
    return say("read.no_key", **values, key=miss.key, keys=", ".join(miss.keys))


class _Finds:
    """How many replies had nothing at each path."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._n_replies = 0
        self._n_empty: Counter[str] = Counter()

    def count(self, empty: Sequence[str]) -> None:
        """Count a reply, with nothing at the paths of these names."""
        self._n_replies += 1
        self._n_empty.update(empty)

    def note_empty_paths(self, read: Mapping[str, Any]) -> None:
        """A note for each path that no reply had anything at."""
        for name in self.names:
            if 0 < self._n_replies == self._n_empty[name]:
                path = f"memory.read.{name}={read.get(name)}"
                terminal.note(current_wording()("read.always_empty", path=path, n=f"{self._n_replies:,}"))
        self._n_replies = 0
        self._n_empty.clear()


class _Session:
    """`numbers`: of its turns, by the ids that were sent to the service."""

    def __init__(self) -> None:
        self.language = ""
        self.n_turns = 0
        self.is_settled = True
        self.is_delete_paid = False
        self.numbers: dict[str, int] = {}
        self.upkeep = Upkeep()


def _text(name: str, value: Any) -> str:
    """The text without what a model thought while it wrote it."""
    if not isinstance(value, str):
        raise EvaluationError(f"memory.read.{name}: expected text, found {type(value).__name__}")
    return split_thought(value)[0]


def _entity(value: Any, turn: int) -> Entity:
    if not isinstance(value, Mapping) or not {"key", "value"} <= value.keys():
        raise EvaluationError("memory.read.entities: expected {key, value}, as results[].{key: name, value: summary}")
    return Entity(str(value["key"]), str(value["value"]), turn)


def _turn(value: Any, place: int, session: _Session) -> ChatTurn:
    """A turn that was sent to the service has its number; one that the service generated has 0."""
    fields = {"text": value} if isinstance(value, str) else value
    if not isinstance(fields, Mapping) or not isinstance(fields.get("text"), str):
        needs = "texts, or {text, id, said_at, speaker}, as results[].{text: memory, id: metadata.turn}"
        raise EvaluationError(f"memory.read.turns: expected {needs}")
    said_at, speaker = (str(fields.get(name) or "") for name in ("said_at", "speaker"))
    id = str(fields.get("id") or f"memory-{place}")
    return ChatTurn(fields["text"], speaker=speaker, said_at=said_at, id=id, number=session.numbers.get(id, 0))
