"""Counts the model requests of a run without sending them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import orjson

from runner.errors import ReplyError
from runner.llm.examples import example_of
from runner.llm.ledger import Account
from runner.llm.messages import ChatRequest, FunctionCall, Usage

REHEARSED = "rehearsed"  # finish_reason of a made-up reply, and id of a call in it


class MadeUpError(ReplyError):
    """A reply cannot be used because it is made up."""


@dataclass(slots=True)
class ExpectedRequests:
    """Expected requests to one model in one role of one run. `stored`: answered by the cache; `shared`: by an identical
    request of this sweep; `live`: sent. Tokens and cost are those of the live requests.

    `nano_usd` is None where a price is unknown; `saved_nano_usd` is what the stored and shared requests would cost.
    """

    live: int = 0
    stored: int = 0
    shared: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nano_usd: int | None = 0
    saved_nano_usd: int | None = 0

    def send(self, usage: Usage, nano_usd: int | None) -> None:
        """Count a request that will be sent."""
        self.live += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.nano_usd = _sum(self.nano_usd, nano_usd)

    def save(self, nano_usd: int | None) -> None:
        """Add the saved cost of a request that is not sent."""
        self.saved_nano_usd = _sum(self.saved_nano_usd, nano_usd)

    @property
    def n_saved(self) -> int:
        """Requests that are not sent."""
        return self.stored + self.shared

    def stretch(self, before: ExpectedRequests, factor: float) -> None:
        """Multiply what was added since `before`."""
        for name in (each.name for each in fields(self)):
            earlier, now = getattr(before, name), getattr(self, name)
            if now is not None:
                setattr(self, name, earlier + round((now - earlier) * factor))

    def add(self, counts: ExpectedRequests) -> None:
        """Add the counts of another role or run."""
        for name in ("live", "stored", "shared", "input_tokens", "output_tokens"):
            setattr(self, name, getattr(self, name) + getattr(counts, name))
        self.nano_usd = _sum(self.nano_usd, counts.nano_usd)
        self.saved_nano_usd = _sum(self.saved_nano_usd, counts.saved_nano_usd)


def _sum(one: int | None, other: int | None) -> int | None:
    """None where either is None."""
    return None if one is None or other is None else one + other


@dataclass(slots=True)
class Rehearsal:
    """The Models of each cell get it in turn, so that a request that two cells make is counted once.

    `reply_tokens`: the assumed length of a reply, unless `max_tokens` is less. `vectors`: made-up vectors, by the file
    in which the real ones will be stored. `has_vectors`: whether there are any. `n_made_up`: number of made-up replies.
    """

    reply_tokens: int = 120
    expected: defaultdict[Account, ExpectedRequests] = field(default_factory=lambda: defaultdict(ExpectedRequests))
    vectors: dict[Path, dict[bytes, Any]] = field(default_factory=dict)
    has_vectors: bool = False
    n_made_up: int = 0
    _request_keys: set[bytes] = field(default_factory=set)

    def is_new(self, request: bytes) -> bool:
        """Whether this is the first time that a request is made."""
        digest = hashlib.sha256(request).digest()
        if digest in self._request_keys:
            return False
        self._request_keys.add(digest)
        return True

    def snapshot(self) -> dict[Account, ExpectedRequests]:
        """A copy of what is expected so far."""
        return {account: replace(expected) for account, expected in self.expected.items()}

    def extrapolate(self, before: Mapping[Account, ExpectedRequests], factor: float, *, are_saved: bool) -> bool:
        """Multiply what was added since `before`, where none of these requests is stored or shared or, if `are_saved`,
        all are: a sample cannot say how large that part is in all cases. Returns whether it did."""
        earlier = {account: before.get(account, ExpectedRequests()) for account in self.expected}
        others = "live" if are_saved else "n_saved"
        if any(getattr(found, others) > getattr(earlier[account], others) for account, found in self.expected.items()):
            return False
        for account, expected in self.expected.items():
            expected.stretch(earlier[account], factor)
        return True


def made_up_calls(request: ChatRequest) -> tuple[FunctionCall, ...]:
    """A call of the first function that is offered; none once the messages hold a result."""
    if not request.functions or any(message.role == "tool" for message in request.messages):
        return ()
    first = request.functions[0]
    return (FunctionCall(REHEARSED, first.name, orjson.dumps(example_of(first.parameters, REHEARSED)).decode()),)
