"""One model on behalf of one role. A request goes through cache, budget, limiter and retries."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from runner import stopwatch
from runner.errors import ReplyError, StopRunError
from runner.llm.door import Door
from runner.llm.ledger import Account
from runner.llm.messages import ChatReply, ChatRequest, Role, Usage
from runner.llm.prices import nano_usd, price_of
from runner.llm.provider import Provider
from runner.llm.rehearsal import Rehearsal
from runner.llm.structured import structured
from runner.llm.tokens import PER_MESSAGE, count_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

MARGIN = 1.1  # of an estimate that a budget is held against
REHEARSED_DIM = 16


class Model:
    def __init__(self, door: Door, provider: Provider, own_name: str, role: Role) -> None:
        self.name = f"{provider.name}:{own_name}"
        self.provider, self.role = provider, role
        self._door, self._own_name = door, own_name

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What a reply depends on besides the request: model, server, and what conf leaves out and adds."""
        changes = self.provider.changes(self._own_name)
        return {"model": self.name, "url": self.provider.address, **({"changes": changes} if changes else {})}

    @property
    def is_rehearsed(self) -> bool:
        """Whether requests are counted instead of made."""
        return self._door.rehearsal is not None

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Raises StopRunError for what is wrong for every request, EvaluationError for what is wrong with this one."""
        body = self.provider.body(self._own_name, request)
        key = orjson.dumps(
            {
                "provider": self.provider.name,
                "url": self.provider.address,
                "body": body,
                "repeat": request.repeat,
                "attempt": request.attempt,
            },
            option=orjson.OPT_SORT_KEYS,
        )
        stored = self._door.cache.find(key)
        if (rehearsal := self._door.rehearsal) is not None:
            return self._rehearsed(rehearsal, request, key, None if stored is None else _stored_reply(stored))
        if stored is not None:
            return self._from_elsewhere(_stored_reply(stored))
        if self._door.cache.mode == "replay":
            raise StopRunError(f"cache=replay: no stored reply of {self.name} to a request of the {self.role}")
        reply, is_shared = await self._door.once(key, lambda: self._fetch(request, body, key))
        if is_shared:
            return self._from_elsewhere(reply)
        stopwatch.note(waited_s=reply.waited_s, live=reply.attempts == 1)
        return reply

    async def structured(self, request: ChatRequest, read: Callable[[Mapping[str, Any]], T]) -> T:
        """What `read` makes of the JSON object of the reply; it raises ValueError for what it cannot take. Raises
        ReplyError when repeats and a repair did not help, and what `chat` does."""
        return await structured(self.chat, request, read)

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> NDArray[np.float32]:
        """float32 [n_texts, dim] as the server sends them, by one request. Nothing is stored."""
        body: dict[str, Any] = {"model": self._own_name, "input": list(texts), "encoding_format": "float"}
        if dimensions is not None:
            body["dimensions"] = dimensions
        tokens = sum(map(count_tokens, texts))
        if (rehearsal := self._door.rehearsal) is not None:
            return self._rehearsed_vectors(rehearsal, texts, tokens)
        reservation = await self._door.reserve(self._account, round(tokens * MARGIN), self._cost(Usage(tokens)))
        with self._door.under_way(f"{self.role} {self.name}"):
            try:
                answered = await self.provider.ask("/embeddings", body, tokens, lambda said: _vectors(said, len(texts)))
            except Exception:
                self._door.ledger.release(reservation)
                raise
        vectors, counted = answered.content
        self._settle(reservation, counted or Usage(tokens), answered.attempts)
        stopwatch.note(waited_s=answered.waited_s, live=answered.attempts == 1)
        return vectors

    # --- inside -----------------------------------------------------------------------------------

    @property
    def _account(self) -> Account:
        return Account(self._door.cell, self.role, self.name)

    def _cost(self, usage: Usage) -> int | None:
        prices = self.provider.settings.get("prices") or {}
        return nano_usd(price_of(prices, self.provider.address, self._own_name), usage)

    async def _fetch(self, request: ChatRequest, body: Mapping[str, Any], key: bytes) -> ChatReply:
        door, ledger, tokens = self._door, self._door.ledger, 0
        if ledger.is_limited or self.provider.counts_tokens:
            tokens = round(_prompt_tokens(request) * MARGIN)
        worst = Usage(tokens, request.max_tokens)
        reservation = await door.reserve(self._account, tokens + request.max_tokens, self._cost(worst))
        with door.under_way(f"{self.role} {self.name}"):
            try:
                answered = await self.provider.ask("/chat/completions", body, tokens + request.max_tokens, _reply)
            except asyncio.CancelledError:  # the server may have answered all the same
                if reservation is not None:
                    ledger.settle(reservation, self._account, worst, self._cost(worst))
                raise
            except Exception:
                ledger.release(reservation)
                raise
        reply, counted = answered.content
        usage = counted or Usage(_prompt_tokens(request), count_tokens(reply.text))
        door.cache.store(key, _storable(reply, usage))
        self._settle(reservation, usage, answered.attempts)
        return ChatReply(reply.text, reply.finish_reason, reply.refusal, usage, answered.attempts, answered.waited_s)

    def _settle(self, reservation: int | None, usage: Usage, attempts: int) -> None:
        cost = self._cost(usage)
        self._door.ledger.settle(reservation, self._account, usage, cost, attempts - 1)
        self._door.note_live(usage, cost)

    def _from_elsewhere(self, reply: ChatReply) -> ChatReply:
        """From the cache, or together with an identical request."""
        self._door.ledger.note_cached(self._account, reply.usage, self._cost(reply.usage))
        stopwatch.note(live=False)
        return reply

    def _rehearsed(self, rehearsal: Rehearsal, request: ChatRequest, key: bytes, stored: ChatReply | None) -> ChatReply:
        expected = rehearsal.expected[self._account]
        if stored is not None:
            expected.stored += 1
            expected.save(self._cost(stored.usage))
            return stored
        usage = Usage(_prompt_tokens(request), min(request.max_tokens, rehearsal.reply_tokens))
        if self._door.cache.mode not in ("use", "refresh") or rehearsal.is_new(key):
            expected.send(usage, self._cost(usage))
        else:
            expected.shared += 1
            expected.save(self._cost(usage))
        if request.schema is not None:
            raise ReplyError("a rehearsal has no replies")
        filler = f"{zlib.crc32(key):08x} [1]" + " word" * max(0, usage.output_tokens - 8)
        return ChatReply(filler, "stop", None, usage)

    def _rehearsed_vectors(self, rehearsal: Rehearsal, texts: Sequence[str], tokens: int) -> NDArray[np.float32]:
        import numpy as np

        rehearsal.expected[self._account].send(Usage(tokens), self._cost(Usage(tokens)))
        seed = zlib.crc32("\0".join(texts).encode("utf-8", "replace"))
        return np.random.default_rng(seed).standard_normal((len(texts), REHEARSED_DIM)).astype(np.float32)


def _prompt_tokens(request: ChatRequest) -> int:
    return sum(PER_MESSAGE + count_tokens(message.text) for message in request.messages)


def _reply(said: Mapping[str, Any]) -> tuple[ChatReply, Usage | None]:
    """Of a chat completion. Raises what reading something else raises."""
    choice = said["choices"][0]
    message = choice["message"]
    text = message.get("content") or ""
    if not isinstance(text, str):
        raise ValueError(f"expected text as content, got {str(text)[:80]!r}")
    usage = _usage(said.get("usage"))
    return ChatReply(text, choice.get("finish_reason"), message.get("refusal"), usage or Usage()), usage


def _usage(said: Any) -> Usage | None:
    """As the server counted; None where it did not."""
    if not isinstance(said, Mapping) or not isinstance(said.get("prompt_tokens"), int):
        return None
    details = said.get("prompt_tokens_details") or {}
    return Usage(said["prompt_tokens"], said.get("completion_tokens") or 0, details.get("cached_tokens") or 0)


def _vectors(said: Mapping[str, Any], n_texts: int) -> tuple[NDArray[np.float32], Usage | None]:
    import numpy as np

    rows = sorted(said["data"], key=lambda item: int(item["index"]))
    vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != n_texts:
        raise ValueError(f"expected {n_texts} vectors of one length, got an array of shape {vectors.shape}")
    return vectors, _usage(said.get("usage"))


def _storable(reply: ChatReply, usage: Usage) -> dict[str, Any]:
    return {
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "refusal": reply.refusal,
        "usage": [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens],
    }


def _stored_reply(stored: Mapping[str, Any]) -> ChatReply:
    return ChatReply(stored["text"], stored["finish_reason"], stored["refusal"], Usage(*stored["usage"]), attempts=0)
