"""A running system that is evaluated, behind the door that models pass: cache, budget, and one request per question.

Its plugin decides how it is called (over HTTP, by a function, by a line to a process). A reply is on disk before it is
used, so that a killed run does not ask again. JMESPath expressions say where the parts of a reply are.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import orjson
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.data.fields import clean
from runner.errors import EvaluationError, Problem, ReplyError, StopRunError
from runner.llm import metering
from runner.llm.cache import Reply as StoredReply
from runner.llm.calls import CallRequest
from runner.llm.door import Door
from runner.llm.endpoint import EndpointReply, excerpt_keys, expression_problem, extract
from runner.llm.ledger import Account, Cost
from runner.llm.limiter import Ending, Limiter, limiter_of
from runner.llm.messages import ChatReply, Role, Usage
from runner.llm.rehearsal import Rehearsal
from runner.llm.replies import reply_from_json, reply_to_json
from runner.llm.settings import Limit
from runner.llm.toll import Toll
from runner.records import NamedContext, Query, SystemReply
from runner.system import stopwatch, terminal
from runner.system.redaction import mark_secrets, marked_bytes, redact, redacted_bytes
from runner.text.reply import Reply, error_in, read_body, refusal_in, text_of_parts, thought_in
from runner.words.wording import Wording, wording

HOPELESS = 8  # consecutive questions without a usable reply, after which the system counts as broken
UNPRICED = Cost(Usage(), None)
MOST = 10**9  # tokens, or USD, of one question
# `docs[].meta.id`, whose entries without an id JMESPath leaves out; `docs[].[meta.id]` has them.
PROJECTION = re.compile(r'(?P<entries>.+\[(?:\*?|\?.*)\])\.(?P<field>[\w."-]+)')
FOR_TOKENS = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
FOR_COST = ("cost_usd", "usd", "cost", "total_cost")

Send = Callable[[Toll, str], Awaitable[EndpointReply]]
Read = Callable[[Any], SystemReply]


@with_config(ConfigDict(extra="forbid"))
class FormSettings(TypedDict, total=False):
    """Where the parts of a reply are, as JMESPath; null: the reply lacks the part. conf/system/http.yaml documents
    each."""

    answer: str
    contexts: str | None
    ids: str | None
    scores: str | None
    usage: str | None
    error: str | None


@with_config(ConfigDict(extra="forbid"))
class SystemSettings(FormSettings, total=False):
    """The settings that all systems have in common."""

    repeats: Annotated[int, Field(ge=1, le=100)]
    price_usd: Annotated[float, Field(ge=0)] | None
    cache: bool
    language: str
    timeout_ms: Annotated[int, Field(ge=1)]
    max_concurrency: Annotated[int, Field(ge=1)]
    requests_per_minute: Limit


# Settings that decide how a system is asked, not what it says.
INCIDENTAL = ("cache", "language", "timeout_ms", "max_concurrency", "requests_per_minute", "retries")


class Service:
    """One system. `name` is what ledger and reports call it."""

    role: Role = "system"

    def __init__(self, door: Door, name: str, *, is_shared: bool, language: str) -> None:
        self.name = str(mark_secrets(name))
        self._door, self._is_shared = door, is_shared
        self._say = wording(language, "service")
        self._is_noted = False  # whether replies lack contexts
        self.begin()

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Service:
        """Itself: a copy of what asks a system goes through the same door."""
        return self

    def begin(self) -> None:
        """A run starts: what was hopeless before is tried again."""
        self._failed_in_a_row = 0

    async def ask(
        self, content: Mapping[str, Any], send: Send, form: ReplyForm, repeat: int, question: str = ""
    ) -> SystemReply:
        """The reply to a question, as `form` reads it. `content`: all that the reply depends on; `send` is called where
        no reply is stored, with the place of the request in the budget and a key that is the same whenever the request
        is sent again. `question`: in words. Raises StopRunError for errors that hold for all questions, EvaluationError
        for an error of this one."""
        try:
            reply = await self._ask_and_read(content, send, replace(form, question=question), repeat)
        except StopRunError:
            raise
        except EvaluationError as error:
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= HOPELESS:
                raise StopRunError(self._say("service.hopeless", told=error, n=self._failed_in_a_row)) from error
            raise
        self._failed_in_a_row = 0
        return reply

    def problems(self, form: ReplyForm) -> Iterator[Problem]:
        """The problem of a budget in USD that cannot be kept."""
        if self._door.limits_usd and form.nano_usd is None:
            yield Problem("system.price_usd", self._say("setting.price_usd"))

    # --- inside -----------------------------------------------------------------------------------

    @property
    def _account(self) -> Account:
        return Account(self._door.cell, self.role, self.name)

    def _key(self, request: Mapping[str, Any], repeat: int) -> bytes:
        """All that a reply depends on; also the sweep, where it is for this one alone. A plan begins none."""
        has_sweep = not self._is_shared and (self._door.rehearsal is None or self._door.ledger.is_begun)
        sweep = self._door.ledger.sweep if has_sweep else ""
        key = {"system": self.name, "asked": request, "repeat": repeat, "sweep": sweep}
        return marked_bytes(orjson.dumps(key, option=orjson.OPT_SORT_KEYS))

    async def _ask_and_read(self, content: Mapping[str, Any], send: Send, form: ReplyForm, repeat: int) -> SystemReply:
        key, rehearsal = self._key(content, repeat), self._door.rehearsal
        if rehearsal is not None:
            return self._rehearse(rehearsal, key, self._door.cache.find(key, for_plan=True), form)
        if self._door.calls is None:
            return self._read(await self._ask(key, send, form), key, form)
        with self._door.calls.chat(CallRequest(self.role, self.name, content, key, repeat)) as answered:
            reply = await self._ask(key, send, form)
            answered(reply, form.cost(_content(reply)))
        return self._read(reply, key, form)

    async def _ask(self, key: bytes, send: Send, form: ReplyForm) -> ChatReply:
        cache, began = self._door.cache, time.perf_counter()
        if (stored := cache.find(key)) is not None:
            return self._reused_reply(reply_from_json(stored), key, form)
        if cache.mode == "replay":
            missing = self._say("service.replay", name=self.name)
            if not self._is_shared:
                missing = self._say("service.replay_shared", told=missing, setting="system.cache")
            raise StopRunError(missing)
        label = f"{self.role} {self.name}"
        reply, is_shared = await self._door.once(
            key, lambda: self._door.fetch(label, key, lambda: self._fetch(key, send, form))
        )
        if is_shared or reply.cached:
            return self._reused_reply(reply, key, form)
        self._note_time(reply, began)
        metering.note(self.role, key, form.cost(_content(reply)))
        return reply

    async def _fetch(self, key: bytes, send: Send, form: ReplyForm) -> ChatReply:
        toll = Toll(self._door.ledger, self._account, Cost(Usage(), form.nano_usd))
        received = await send(toll, hashlib.sha256(key).hexdigest()[:32])
        cost = form.cost(received.content)
        text = self._encode(received, toll, cost)
        reply = _with_times(ChatReply(text, None, None, cost.usage), received)
        try:
            stored_reply = reply_from_json(self._door.cache.store(key, reply_to_json(reply, cost.usage)))
        finally:
            toll.pay(cost, received.attempts - 1)
            if cost.nano_usd is not None:
                self._door.note_live(cost)
        return _with_times(stored_reply, received)

    def _note_time(self, reply: ChatReply, began: float) -> None:
        """The latency is that of the exchange: all else since `began` is the wait of this process."""
        waited_s = time.perf_counter() - began - reply.took_s
        stopwatch.note(waited_s=waited_s, live=reply.attempts == 1, repeated_s=reply.repeated_s)

    def _encode(self, received: EndpointReply, toll: Toll, cost: Cost) -> str:
        """The reply as it is stored. Raises ReplyError for one that cannot be, which is paid all the same."""
        try:
            return redacted_bytes(orjson.dumps(received.content)).decode()
        except TypeError:  # more than 254 levels
            toll.pay(cost, received.attempts - 1)
            raise ReplyError(self._say("reply.deep")) from None

    def _reused_reply(self, reply: ChatReply, key: bytes, form: ReplyForm) -> ChatReply:
        """A reply from the cache, or shared with an identical question."""
        cost = form.cost(_content(reply))
        self._door.ledger.note_cached(self._account, cost)
        metering.note(self.role, key, cost)
        stopwatch.note(live=False)
        return replace(reply, attempts=0)

    def _read(self, reply: ChatReply, key: bytes, form: ReplyForm) -> SystemReply:
        """Read a reply. The next command asks again for a reply that cannot be used."""
        try:
            value = form.read(_content(reply))
        except ReplyError:
            self._door.cache.mark_useless([key])
            raise
        if value.contexts is None and form.settings.get("contexts") and not self._is_noted:
            self._is_noted = True
            setting, keys = f"system.contexts={form.settings['contexts']}", ", ".join(value.keys)
            terminal.note(self._say("system.first", name=self.name, setting=setting, keys=keys))
        return value

    def _rehearse(
        self, rehearsal: Rehearsal, key: bytes, stored_reply: StoredReply | None, form: ReplyForm
    ) -> SystemReply:
        """A made-up reply. The own cost of the system is unknown before it replies."""
        expected = rehearsal.expected[self._account]
        if stored_reply is not None:
            expected.stored += 1
            return form.read(_content(reply_from_json(stored_reply)))
        if not self._door.cache.stores or rehearsal.is_new(key):
            expected.send(Usage(), form.nano_usd or 0)
        else:
            expected.shared += 1
        rehearsal.n_made_up += 1
        filler = f"{zlib.crc32(key):08x} [1]" + " word" * rehearsal.reply_tokens
        return SystemReply(filler, (NamedContext(text=filler),))


class UnstoredService:
    """A service whose replies depend on all earlier requests: each request is sent and counts, and no reply is stored.
    The caller computes its cost."""

    def __init__(self, door: Door, name: str, role: Role) -> None:
        self.name, self.role = str(mark_secrets(name)), role
        self._door = door

    def __deepcopy__(self, memo: Mapping[int, Any]) -> UnstoredService:
        """Itself: a copy of what asks a service goes through the same door."""
        return self

    async def ask(self, send: Callable[[Toll | None], Awaitable[EndpointReply]], *, is_paid: bool = False) -> Any:
        """The content of the reply; None in a plan, which counts requests and sends none. `is_paid`: by `pay`, so that
        no budget is in its way; further attempts do not count then. Raises what `send` raises, and BudgetSpentError."""
        if self._door.rehearsal is not None:
            if not is_paid:
                self._expect(self._door.rehearsal)
            return None
        with self._door.list_in_flight(f"{self.role} {self.name}"):
            if is_paid:
                return (await send(None)).content
            toll = self._toll()
            received = await send(toll)
            toll.pay(UNPRICED, received.attempts - 1)
            return received.content

    async def pay(self) -> None:
        """Charge a request that must be sent later, whatever is left of the budget then."""
        if self._door.rehearsal is not None:
            self._expect(self._door.rehearsal)
        else:
            toll = self._toll()
            await toll.enter()
            toll.pay(UNPRICED, 0)

    @property
    def is_rehearsed(self) -> bool:
        return self._door.rehearsal is not None

    def made_up_reply(self) -> str | None:
        """The assumed text of a reply in a plan; None where requests are sent."""
        if (rehearsal := self._door.rehearsal) is None:
            return None
        rehearsal.n_made_up += 1
        return " ".join(["word"] * rehearsal.reply_tokens)

    def _expect(self, rehearsal: Rehearsal) -> None:
        rehearsal.expected[self._account].send(Usage(), 0)

    @property
    def _account(self) -> Account:
        return Account(self._door.cell, self.role, self.name)

    def _toll(self) -> Toll:
        return Toll(self._door.ledger, self._account, UNPRICED)


def _content(reply: ChatReply) -> Any:
    return orjson.loads(reply.text)


# --- the parts of a reply -------------------------------------------------------------------------


@dataclass(frozen=True)
class ReplyForm:
    """Reads the parts of a reply. Raises ReplyError for a missing part, with the keys that the reply has."""

    settings: SystemSettings
    say: Wording
    question: str = ""

    def problems(self) -> Iterator[Problem]:
        """Problems of invalid expressions."""
        for name, expression in self._expressions():
            if (problem := expression_problem(expression)) is not None:
                reason = problem.partition(": ")[2]
                yield Problem(f"system.{name}", self.say("setting.expression", expression=expression, reason=reason))

    def _expressions(self) -> Iterator[tuple[str, str]]:
        for name in ("answer", "contexts", "ids", "scores", "usage", "error"):
            if (expression := self.settings.get(name)) is not None:
                yield name, str(expression)

    def read(self, reply: Any) -> SystemReply:
        keys = excerpt_keys(reply) if isinstance(reply, Mapping) else ()
        said = self._parts(reply, self._answer(reply))
        if said.error:
            raise ReplyError(redact(f"system.answer: {self.say('service.told', error=said.error)}"))
        return SystemReply(said.answer, self._contexts(reply), keys, said.cut_off, said.thought)

    def fault_in(self, reply: Any) -> str:
        """What is wrong with a reply that may be another one when it is asked for again; empty for any other."""
        if reply is None:
            return self.say("reply.empty")
        try:
            answer = extract(self._answer_expression, reply)
            error = self._parts(reply, answer if isinstance(answer, str) else "").error
        except EvaluationError:
            return ""
        is_told = error and (answer is None or isinstance(answer, str))
        return self.say("service.told", error=error) if is_told else ""

    def _parts(self, reply: Any, answer: str) -> Reply:
        """The answer, apart from thoughts and errors. A setting that finds an error beside an answer finds one."""
        return read_body(reply, answer, self.question, error=extract(self.settings.get("error"), reply))

    def cost(self, reply: Any) -> Cost:
        """The tokens and USD that the reply states; without a price there, `price_usd`."""
        expression = self.settings.get("usage")
        usage = extract(expression, reply)
        if not isinstance(usage, Mapping):
            return Cost(Usage(), self.nano_usd)
        sent, received = (next((usage[key] for key in keys if _is_count(usage.get(key))), 0) for keys in FOR_TOKENS)
        usd = next((usage[key] for key in FOR_COST if _is_amount(usage.get(key))), None)
        return Cost(Usage(sent, received), self.nano_usd if usd is None else round(usd * 1e9))

    @property
    def nano_usd(self) -> int | None:
        """The price of a question by the settings, in 1e-9 USD; None where it is unknown."""
        price = self.settings.get("price_usd")
        return None if price is None else round(price * 1e9)

    @property
    def _answer_expression(self) -> str:
        return self.settings.get("answer") or "answer"

    def _answer(self, reply: Any) -> str:
        """The text of the answer, empty where the model only thought or the reply says null."""
        answer = extract(self._answer_expression, reply)
        if isinstance(answer, list) and answer and all(isinstance(part, Mapping) and "type" in part for part in answer):
            return clean(text_of_parts(answer))
        if answer is None and (refusal := refusal_in(reply)):
            return clean(refusal)
        if answer is None and (thought_in(reply) or error_in(reply) or self._is_null(reply)):
            return ""
        if answer is None:
            raise self._wrong("answer", "reply.no_answer", reply, setting="system.answer")
        if not isinstance(answer, str):
            raise self._wrong("answer", "reply.not_text", reply, kind=self._kind(answer))
        return clean(answer)

    def _is_null(self, reply: Any) -> bool:
        """Whether the reply has the key of the answer, with null."""
        return isinstance(reply, Mapping) and self._answer_expression in reply

    def _contexts(self, reply: Any) -> tuple[NamedContext, ...] | None:
        texts, ids = self._list_of("contexts", reply), self._list_of("ids", reply)
        if texts is None and ids is None:
            return None
        n = len(texts if texts is not None else ids or ())
        scores = self._list_of("scores", reply)
        columns = {"contexts": texts, "ids": ids, "scores": scores}
        for name, column in columns.items():
            if column is not None and len(column) != n and any(item is not None for item in column):
                raise self._wrong(name, "reply.lengths", reply, n=len(column), contexts=n)
        full = {name: column if column and len(column) == n else [None] * n for name, column in columns.items()}
        contexts = (
            NamedContext(
                None if id is None or id == "" else clean(str(id)),
                self._text(text, place, reply),
                self._score(score, place, reply),
            )
            for place, (text, id, score) in enumerate(zip(*full.values(), strict=True), start=1)
        )
        return tuple(item for item in contexts if item.id is not None or item.text is not None)

    def _list_of(self, name: str, reply: Any) -> list[Any] | None:
        """One value for each entry, None where it has none; a text alone is a list of one. None where the expression
        finds nothing."""
        expression = self.settings.get(name)
        entries = None if expression is None else _entries(str(expression), reply, or_texts=name == "contexts")
        if isinstance(entries, str):
            return [entries]
        if entries is not None and not isinstance(entries, list):
            raise self._wrong(name, "reply.not_list", reply, kind=self._kind(entries))
        return entries

    def _text(self, value: Any, place: int, reply: Any) -> str | None:
        if value is not None and not isinstance(value, str):
            raise self._wrong("contexts", "reply.not_texts", reply, kind=self._kind(value), place=place)
        return clean(value) if value else None

    def _score(self, value: Any, place: int, reply: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._wrong("scores", "reply.not_numbers", reply, kind=self._kind(value), place=place)
        return float(value)

    def _wrong(self, name: str, key: str, reply: Any, **values: Any) -> ReplyError:
        expression = str(self.settings.get(name) or name)
        told = self.say(key, expression=expression, reply=self._describe(reply), **values)
        return ReplyError(redact(f"system.{name}: {told}"))

    def _describe(self, reply: Any) -> str:
        if reply is None or reply == {}:
            return self.say("reply.empty")
        if isinstance(reply, Mapping):
            return self.say("reply.keys", keys=", ".join(excerpt_keys(reply)))
        return self.say("reply.kind", kind=self._kind(reply))

    def _kind(self, value: Any) -> str:
        return kind_of(value, self.say)


def kind_of(value: Any, say: Wording) -> str:
    """The kind of a JSON value, in words."""
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "boolean"),
        (str, "text"),
        ((int, float), "number"),
        (Mapping, "object"),
        ((list, tuple), "list"),
        (type(None), "nothing"),
    )
    name = next((name for kind, name in kinds if isinstance(value, kind)), "")
    return say(f"kind.{name}") if name else type(value).__name__


def _entries(expression: str, reply: Any, *, or_texts: bool) -> Any:
    """The values that an expression finds: one value an entry of a projection, also where an entry lacks the field;
    with `or_texts`, entries that are texts are the values."""
    projection = PROJECTION.fullmatch(expression)
    if projection is None:
        return extract(expression, reply)
    entries = extract(projection["entries"], reply)
    rows = extract(f"{projection['entries']}.[{projection['field']}]", reply)
    if not isinstance(entries, list) or not isinstance(rows, list) or len(rows) != len(entries):
        return extract(expression, reply)
    return [entry if or_texts and isinstance(entry, str) else row[0] for entry, row in zip(entries, rows, strict=True)]


def _with_times(reply: ChatReply, received: EndpointReply) -> ChatReply:
    """The reply with what its requests took."""
    return replace(
        reply,
        attempts=received.attempts,
        waited_s=received.waited_s,
        took_s=received.took_s,
        repeated_s=received.repeated_s,
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


# --- a system in this process, or a process of it -------------------------------------------------


class Calls:
    """Requests to what runs on this machine: so many at once, so many a minute, each within the budget and its time."""

    def __init__(self, name: str, settings: SystemSettings) -> None:
        self.timeout_s = settings.get("timeout_ms", 30_000) / 1000
        self._limits = {
            "ceiling": settings.get("max_concurrency", 4),
            "requests_per_minute": settings.get("requests_per_minute"),
        }
        self._name = name
        self._limiter: Limiter | None = None

    async def make(self, call: Callable[[], Awaitable[Any]], toll: Toll) -> EndpointReply:
        """Raises TimeoutError, and what the call raises."""
        if self._limiter is None:
            limits: dict[str, Any] = self._limits
            self._limiter = limiter_of(self._name, "", tokens_per_minute=None, **limits)
        with stopwatch.stopwatch() as watch:
            with stopwatch.in_line():
                ticket = await self._limiter.acquire(1)
            waited_s = watch.ms / 1000
        ending: Ending = "failed"
        try:
            with stopwatch.in_line():
                await toll.enter()
            try:
                sent_at = time.perf_counter()
                async with asyncio.timeout(self.timeout_s):
                    content = await call()
            except BaseException:
                toll.lose(may_be_billed=False)
                raise
            ending = "answered"
            return EndpointReply(content, 1, waited_s, time.perf_counter() - sent_at)
        finally:
            self._limiter.release(ticket, ending)


def values_of(query: Query, k: int) -> dict[str, Any]:
    """The values for the placeholders of a request: the question, the turns before it if any, and its known labels."""
    history = [{"role": turn.role, "content": turn.text} for turn in query.history]
    return {
        "question": query.text,
        "history": history or None,
        "language": query.language,
        "id": query.id,
        "k": k,
    }


KNOWN = ("question", "history", "language", "id", "k")
