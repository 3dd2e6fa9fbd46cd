"""One model on behalf of one role. A request goes through cache, budget, limiter and retries."""

from __future__ import annotations

import time
import zlib
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import orjson

from runner.errors import ReplyError, StopRunError
from runner.llm import metering
from runner.llm.cache import Reply
from runner.llm.calls import CallRequest, EmbeddingCall, RepeatedCall
from runner.llm.door import Door
from runner.llm.examples import example_of
from runner.llm.ledger import Account, Cost
from runner.llm.messages import ChatReply, ChatRequest, Role, Usage
from runner.llm.prices import nano_usd, price_of
from runner.llm.provider import replace_surrogates
from runner.llm.rehearsal import REHEARSED, MadeUpError, Rehearsal, made_up_calls
from runner.llm.replies import Vectors, chat_reply, miscounts, reply_from_json, reply_to_json, vectors_of
from runner.llm.retry import Retry
from runner.llm.settings import Price
from runner.llm.structured import Ask, ask_for_json
from runner.llm.tokens import PER_MESSAGE, count_tokens
from runner.llm.toll import Toll
from runner.system import stopwatch, terminal
from runner.system.redaction import mark_secrets, marked_bytes
from runner.system.shared import are_several, make_once
from runner.words.wording import current_wording

T = TypeVar("T")

UNSEEN = 64  # tokens that a server may put before what it was sent
REHEARSED_DIM = 16
KEPT_BYTES = 2**26  # of requests, by a sweep, whose answers its runs share

_heard: ContextVar[list[tuple[CallRequest, ChatReply]] | None] = ContextVar("heard", default=None)


@dataclass(slots=True)
class _SharedResults:
    """Results of requests that an earlier run of a sweep made, with the requests themselves, by all that the result
    depends on. Only the first ones are kept, as memory allows."""

    free_bytes: int = KEPT_BYTES
    entries: dict[Hashable, tuple[Any, Sequence[RepeatedCall]]] = field(default_factory=dict)

    def keep(self, key: Hashable, result: Any, heard: Sequence[tuple[CallRequest, ChatReply]]) -> None:
        self.free_bytes -= sum(2 * len(request.key) + len(reply.text) for request, reply in heard)
        if self.free_bytes >= 0:
            calls = [RepeatedCall(request.settle(), replace(reply, attempts=0)) for request, reply in heard]
            self.entries[key] = result, calls


class Model:
    """A model in a role: requests of components go through it to cache, budget, limiter and provider."""

    def __init__(self, door: Door, retry: Retry, own_name: str, role: Role) -> None:
        self.provider, self.role = retry.provider, role
        self.name = str(mark_secrets(f"{self.provider.name}:{own_name}"))  # as it is shown and kept
        self._door, self._retry, self._own_name = door, retry, own_name
        self._known_account = Account(door.cell, role, self.name)

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Model:
        """Itself: a copy of what asks a model goes through the same door."""
        return self

    @property
    def provenance(self) -> Mapping[str, Any]:
        """All that a reply depends on besides the request: model, server, and the parameters that conf omits and
        adds."""
        changes = self.provider.changes(self._own_name)
        settings = {"model": self.name, "url": self.provider.address, **({"changes": changes} if changes else {})}
        provenance: Mapping[str, Any] = mark_secrets(settings)
        return provenance

    @property
    def is_rehearsed(self) -> bool:
        """Whether requests are counted instead of made."""
        return self._door.rehearsal is not None

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Raises StopRunError and InputError for errors that hold for every request, EvaluationError for an error of
        this one."""
        body = self.provider.body(self._own_name, request)
        return await self._chat(request, body, self._key(body, request))

    async def _chat(self, request: ChatRequest, body: Mapping[str, Any], key: bytes) -> ChatReply:
        call = CallRequest(self.role, self.name, body, key, request.repeat, request.attempt)
        if self._door.calls is None:
            reply = await self._answer(request, body, key)
        else:
            with self._door.calls.chat(call) as record_reply:
                reply = await self._answer(request, body, key)
                record_reply(reply, self._cost(reply.usage))
        if (heard := _heard.get()) is not None:
            heard.append((call, reply))
        return reply.within(_limit(body))

    async def make_or_reuse(self, key: Hashable, make: Callable[[], Awaitable[T]], is_whole: Callable[[T], bool]) -> T:
        """The result of `make`, which calls this model only. A later run of the sweep gets the result of an earlier
        run, where `is_whole(result)` and all its replies are in the cache. Its requests are counted and noted as if
        they had been made again. `key`: all that the result depends on besides the model."""
        if not are_several() or self._door.cache.mode == "none":
            return await make()
        results: _SharedResults = make_once("repeated", "", _SharedResults)
        key = self._door.stored_in, self.name, self._identity, key
        if key in results.entries:
            result, heard = results.entries[key]
            for call in heard:
                self._hear_again(call)
            return result  # type: ignore[no-any-return]
        listening: list[tuple[CallRequest, ChatReply]] = []
        token = _heard.set(listening)
        try:
            result = await make()
        finally:
            _heard.reset(token)
        if is_whole(result) and all(reply.cached for _, reply in listening):
            results.keep(key, result, listening)
        return result

    def _hear_again(self, call: RepeatedCall) -> None:
        """Count a request whose stored reply was read before, and note it, as one whose reply is read now."""
        reply, key = call.reply, call.request.key
        if self._door.rehearsal is not None:
            self._count_stored(self._door.rehearsal, reply, key)
            return
        self._reused_reply(reply, key)
        if self._door.calls is not None:
            self._door.calls.note_repeated(call, self._cost(reply.usage))

    @contextmanager
    def series(self) -> Iterator[Ask]:
        """`chat` for requests that are made until a reply is of use. Where a ReplyError ends them none was: their
        replies are not taken from the cache by a later command, which sends the request again."""
        keys: list[bytes] = []

        async def ask(request: ChatRequest) -> ChatReply:
            body = self.provider.body(self._own_name, request)
            keys.append(self._key(body, request))
            return await self._chat(request, body, keys[-1])

        try:
            yield ask
        except ReplyError:
            if not self.is_rehearsed:
                self._door.cache.mark_useless(keys)
            raise

    async def _answer(self, request: ChatRequest, body: Mapping[str, Any], key: bytes) -> ChatReply:
        cache, rehearsal = self._door.cache, self._door.rehearsal
        stored_reply = cache.find(key, for_plan=rehearsal is not None)
        if rehearsal is not None:
            return self._rehearse(rehearsal, request, body, key, stored_reply)
        if stored_reply is not None:
            return self._reused_reply(reply_from_json(stored_reply), key)
        self._check_may_ask()
        began = time.perf_counter()
        reply, is_shared = await self._door.once(key, lambda: self._fetch(request, body, key))
        if is_shared or reply.cached:
            return self._reused_reply(reply, key)
        waited_s = time.perf_counter() - began - reply.took_s
        stopwatch.note(waited_s=waited_s, live=reply.attempts == 1, repeated_s=reply.repeated_s)
        metering.note(self.role, key, self._cost(reply.usage))
        return reply

    async def ask_for_json(
        self,
        request: ChatRequest,
        read: Callable[[Mapping[str, Any]], T],
        read_clamped: Callable[[Mapping[str, Any]], T] | None = None,
    ) -> T:
        """The JSON object of the reply, as `read` converts it; `read` raises ValueError for an object that it cannot
        use. `read_clamped` converts one with a score that is outside of its range after it was asked for again. Raises
        ReplyError when repeats and a repair did not help, and the errors of `chat`."""
        if self.is_rehearsed:
            return await ask_for_json(self._rehearsing_ask(), request, read, read_clamped)
        with self.series() as ask:
            return await ask_for_json(ask, request, read, read_clamped)

    async def embed(self, texts: Sequence[str], dimensions: int | None = None, *, prefix: str = "") -> Vectors:
        """The vectors of one request as the server sends them; the texts begin with `prefix`. Nothing is stored. Raises
        what `chat` does."""
        began = time.perf_counter()
        body = self.provider.embedding_body(self._own_name, texts, dimensions)
        tokens = sum(map(count_tokens, body["input"]))
        if (rehearsal := self._door.rehearsal) is not None:
            return self._rehearsed_vectors(rehearsal, texts, tokens)
        self._check_may_ask()
        toll = self._toll(Usage(_most_tokens(orjson.dumps(body))))
        with self._door.list_in_flight(f"{self.role} {self.name}"):
            read = self._read(lambda reply: vectors_of(reply, len(texts)))
            answer = await self._retry.ask("/embeddings", body, tokens, read, toll)
        vectors, usage = answer.content
        self._pay(toll, usage or Usage(tokens), answer.attempts)
        lengths = {vector.size for vector in vectors.rows if vector.size}
        if lengths and body.get("dimensions", min(lengths)) not in lengths:
            raise StopRunError(
                f"{self.name} at {self.provider.address} sends vectors of {max(lengths)} numbers, asked for "
                f"{dimensions}; dimensions=null takes them as they are"
            )
        stopwatch.note(waited_s=answer.waited_s, live=answer.attempts == 1, repeated_s=answer.repeated_s)
        self._note_embedding(
            body, texts, EmbeddingCall(self._cost_of_texts, prefix, began, answer.attempts, max(lengths, default=0))
        )
        return vectors

    def note_stored(self, texts: Sequence[str], *, prefix: str = "") -> None:
        """One request to embed these texts was not made: their vectors are stored. In the event loop only."""
        body = self.provider.embedding_body(self._own_name, texts, None)
        self._note_embedding(body, texts, EmbeddingCall(self._cost_of_texts, prefix, time.perf_counter()))
        cost = self._cost_of_texts(texts)
        if (rehearsal := self._door.rehearsal) is not None:
            expected = rehearsal.expected[self._account]
            expected.stored += 1
            expected.save(cost.nano_usd)
        else:
            self._door.ledger.note_cached(self._account, cost)

    def meter(self, texts: Iterable[str]) -> None:
        """Charge the embedding of these texts, whether they were embedded now or before. Each text counts by itself, by
        our own count of tokens: the count of a server for a batch depends on which of its texts were stored."""
        metering.note_texts(
            self.role, self.name, texts, lambda text: self._cost(Usage(count_tokens(replace_surrogates(text))))
        )

    # --- inside -----------------------------------------------------------------------------------

    def _note_embedding(self, body: Mapping[str, Any], texts: Sequence[str], call: EmbeddingCall) -> None:
        if self._door.calls is not None:
            self._door.calls.note_embedding(CallRequest(self.role, self.name, body, self.name.encode()), texts, call)

    def _cost_of_texts(self, texts: Sequence[str]) -> Cost:
        return self._cost(Usage(sum(count_tokens(replace_surrogates(text)) for text in texts)))

    @property
    def _account(self) -> Account:
        if self._known_account.cell != self._door.cell:
            self._known_account = Account(self._door.cell, self.role, self.name)
        return self._known_account

    @cached_property
    def _identity(self) -> str:
        """The server, and what conf leaves out and adds."""
        return repr((self.provider.name, self.provider.address, self.provider.changes(self._own_name)))

    @cached_property
    def _price(self) -> Price | None:
        return price_of(self.provider.settings.get("prices") or {}, self.provider.address, self._own_name)

    def _cost(self, usage: Usage) -> Cost:
        return Cost(usage, nano_usd(self._price, usage))

    def _key(self, body: Mapping[str, Any], request: ChatRequest) -> bytes:
        """All that a reply depends on."""
        fields = {"provider": self.provider.name, "url": self.provider.address, "body": body}
        key = {**fields, "repeat": request.repeat, "attempt": request.attempt}
        return marked_bytes(orjson.dumps(key, option=orjson.OPT_SORT_KEYS))

    def _check_may_ask(self) -> None:
        if self._door.cache.mode == "replay":
            raise StopRunError(f"cache=replay: no stored reply of {self.name} to a request of the {self.role}")
        if self._door.limits_usd and self._price is None:
            raise StopRunError(
                f"budget.usd is set and the price of {self.name} at {self.provider.address} is unknown; tell it in "
                f"provider.{self.provider.name}.prices (usd_per_million, base_url), or limit budget.tokens"
            )

    def _toll(self, most: Usage) -> Toll:
        return Toll(self._door.ledger, self._account, self._cost(most))

    async def _fetch(self, request: ChatRequest, body: Mapping[str, Any], key: bytes) -> ChatReply:
        return await self._door.fetch(f"{self.role} {self.name}", key, lambda: self._ask(request, body, key))

    async def _ask(self, request: ChatRequest, body: Mapping[str, Any], key: bytes) -> ChatReply:
        longest = _limit(body) or self._assumed_max_tokens(request)
        tokens = _prompt_tokens(body) + longest if self.provider.counts_tokens else 0
        toll = self._toll(Usage(_most_tokens(key), longest))
        answer = await self._retry.ask("/chat/completions", body, tokens, self._read(chat_reply), toll)
        reply, counted_usage = answer.content
        usage = counted_usage or _count_usage(body, reply, longest)
        try:
            reply_usage = usage
            if self._door.cache.stores:
                reply = reply_from_json(self._door.cache.store(key, reply_to_json(reply, usage)))
                reply_usage = reply.usage
        finally:
            self._pay(toll, usage, answer.attempts)
        times = {"waited_s": answer.waited_s, "took_s": answer.took_s, "repeated_s": answer.repeated_s}
        return reply.as_live(reply_usage, answer.attempts, _limit(body), **times)

    def _read(self, read: Callable[[Mapping[str, Any]], T]) -> Callable[[Mapping[str, Any]], T]:
        """Tells once of a server whose counts of tokens cannot be."""

        def reading(reply: Mapping[str, Any]) -> T:
            content = read(reply)
            if not self.provider.is_miscounting and (counts := miscounts(reply)):
                self.provider.is_miscounting = True
                server = {"model": self.name, "address": self.provider.address}
                terminal.note(current_wording()("progress.miscounted", counts=counts, **server))
            return content

        return reading

    def _assumed_max_tokens(self, request: ChatRequest) -> int:
        """The assumed maximum of an answer where conf sets no limit."""
        if self._door.ledger.is_limited:
            raise StopRunError(
                f"a budget cannot hold for {self.name}: provider.{self.provider.name}.leave_out takes the limit of an "
                "answer (max_tokens, max_completion_tokens) out of its requests"
            )
        return request.max_tokens

    def _pay(self, toll: Toll, usage: Usage, attempts: int) -> None:
        cost = self._cost(usage)
        toll.pay(cost, attempts - 1)
        self._door.note_live(cost)

    def _reused_reply(self, reply: ChatReply, key: bytes) -> ChatReply:
        """A reply from the cache, or shared with an identical request."""
        cost = self._cost(reply.usage)
        self._door.ledger.note_cached(self._account, cost)
        metering.note(self.role, key, cost)
        stopwatch.note(live=False)
        return replace(reply, attempts=0) if reply.attempts else reply

    def _rehearse(
        self,
        rehearsal: Rehearsal,
        request: ChatRequest,
        body: Mapping[str, Any],
        key: bytes,
        stored_reply: Reply | None,
    ) -> ChatReply:
        if stored_reply is not None:
            reply = reply_from_json(stored_reply)
            self._count_stored(rehearsal, reply, key)
            return reply
        expected = rehearsal.expected[self._account]
        usage = Usage(_prompt_tokens(body), min(request.max_tokens, rehearsal.reply_tokens))
        cost = self._cost(usage).nano_usd
        if not self._door.cache.stores or rehearsal.is_new(key):
            expected.send(usage, cost)
        else:
            expected.shared += 1
            expected.save(cost)
        rehearsal.n_made_up += 1
        # Each request gets another text: requests that depend on different replies must differ, too.
        filler = f"{zlib.crc32(key):08x} [1]" + " word" * max(0, usage.output_tokens - 8)
        if request.schema is not None:
            filler = orjson.dumps(example_of(request.schema, filler)).decode()
        return ChatReply(filler, REHEARSED, None, usage, made_up_calls(request))

    def _count_stored(self, rehearsal: Rehearsal, reply: ChatReply, key: bytes) -> None:
        expected, cost = rehearsal.expected[self._account], self._cost(reply.usage)
        expected.stored += 1
        expected.save(cost.nano_usd)
        metering.note(self.role, key, cost)

    def _rehearsing_ask(self) -> Ask:
        """Ask a made-up reply only once: a repeat would bring the same."""
        is_made_up = False

        async def ask(request: ChatRequest) -> ChatReply:
            nonlocal is_made_up
            if is_made_up:
                raise MadeUpError("a rehearsal has no replies")
            reply = await self.chat(request)
            is_made_up = reply.finish_reason == REHEARSED
            return reply

        return ask

    def _rehearsed_vectors(self, rehearsal: Rehearsal, texts: Sequence[str], tokens: int) -> Vectors:
        import numpy as np

        rehearsal.expected[self._account].send(Usage(tokens), self._cost(Usage(tokens)).nano_usd)
        rehearsal.has_vectors = True
        seed = zlib.crc32("\0".join(texts).encode("utf-8", "replace"))
        return Vectors(list(np.random.default_rng(seed).standard_normal((len(texts), REHEARSED_DIM))))


def _limit(body: Mapping[str, Any]) -> int | None:
    """The limit on the tokens of an answer."""
    limit: int | None = body.get("max_completion_tokens") or body.get("max_tokens")
    return limit


def _prompt_tokens(body: Mapping[str, Any]) -> int:
    """Functions and calls of them as the JSON that they are."""
    messages = body["messages"]
    texts = [message["content"] or "" for message in messages]
    tool_parts = [body["tools"]] if "tools" in body else []
    tool_parts += [message["tool_calls"] for message in messages if "tool_calls" in message]
    texts += [orjson.dumps(part).decode() for part in tool_parts]
    return PER_MESSAGE * len(messages) + sum(map(count_tokens, texts))


def _count_usage(body: Mapping[str, Any], reply: ChatReply, longest: int) -> Usage:
    """Count the tokens in place of a server that does not."""
    return Usage(_prompt_tokens(body), longest if reply.finish_reason == "length" else count_tokens(reply.text))


def _most_tokens(body: bytes) -> int:
    """The largest possible number of tokens: no tokenizer makes more of a text than it has bytes."""
    return len(body) + UNSEEN
