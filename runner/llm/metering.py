"""Counts the model requests and the cost of one step: each request once, live or from the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TypeVar

from runner.llm.ledger import Cost
from runner.llm.messages import request_digest
from runner.records import RoleCost

T = TypeVar("T")

Key = tuple[str, str, bytes]  # owner, role, digest of the request
Entries = dict[Key, RoleCost]


class Meter:
    """A reply from the cache counts like a live one, so that a step costs the same in every run; a repeated request
    counts once. `owners` maps a text that is embedded to its owner."""

    def __init__(self, owners: Mapping[str, str] | None = None) -> None:
        self.owners = owners or {}
        self.entries: Entries = {}
        self._lock = Lock()

    @property
    def by_role(self) -> dict[str, RoleCost]:
        """The cost of each role."""
        return by_role(self.entries)

    @property
    def total(self) -> RoleCost:
        """The cost of all roles."""
        return _sum(self.entries.values())

    def add(self, owner: str, role: str, request: bytes, cost: RoleCost) -> None:
        """Count a request, once per owner and role."""
        with self._lock:
            self.entries.setdefault((owner, role, request), cost)

    def of_each(self, owners: Sequence[str]) -> list[Entries]:
        """The cost of each owner, with an equal share of the requests that have no owner."""
        by_owner: dict[str, Entries] = {owner: {} for owner in owners}
        without_owner: Entries = {}
        for key, cost in self.entries.items():
            by_owner.get(key[0], without_owner)[key] = cost
        digest = hashlib.sha256(b"".join(sorted(request for _, _, request in without_owner))).digest()
        for role, cost in by_role(without_owner).items():
            for owner, share in zip(owners, _shares(cost, len(owners)), strict=True):
                by_owner[owner]["", role, digest] = share
        return [by_owner[owner] for owner in owners]


_running: ContextVar[tuple[tuple[Meter, ...], str]] = ContextVar("meters", default=((), ""))  # and the owner


class _Metering:
    """The context manager of `metering`; a class, which takes a third of the time of a generator, since every case uses
    it."""

    __slots__ = ("_meter", "_running", "_token")

    def __init__(self, meter: Meter, meters: tuple[Meter, ...], owner: str) -> None:
        self._meter, self._running = meter, (meters, owner)

    def __enter__(self) -> Meter:
        self._token = _running.set(self._running)
        return self._meter

    def __exit__(self, *error: object) -> None:
        _running.reset(self._token)


def metering(
    *, alone: bool = False, owners: Mapping[str, str] | None = None, owner: str = ""
) -> AbstractContextManager[Meter]:
    """Count the requests made in the body, from any thread or task, and charge them to `owner`, where one is given.
    Meters around this one count them as well, unless it is `alone`."""
    meter, (meters, outer_owner) = Meter(owners), _running.get()
    return _Metering(meter, (meter,) if alone else (*meters, meter), owner or outer_owner)


@contextmanager
def asking_for(owner: str) -> Iterator[None]:
    """Charge the requests made in the body to one of the owners of a meter."""
    meters, _ = _running.get()
    token = _running.set((meters, owner))
    try:
        yield
    finally:
        _running.reset(token)


def owner_of(text: str = "") -> str:
    """The owner of a text that is embedded, or of requests made now; empty where none is known."""
    meters, owner = _running.get()
    return owner or next((meter.owners[text] for meter in meters if text in meter.owners), "")


def call_with_meter(function: Callable[..., T], *arguments: object, owner: str = "") -> tuple[T, Meter]:
    """The result of a call in another thread and the cost of its requests: neither the meters nor the owner of the
    calling thread are known there."""
    with metering(owner=owner) as meter:
        return function(*arguments), meter


def note(role: str, request: bytes, cost: Cost) -> None:
    """Count a reply; called once for each reply that is delivered. `request`: everything the reply depends on."""
    meters, owner = _running.get()
    if meters:
        digest, own = request_digest(request), _role_cost(cost)
        for meter in meters:
            meter.add(owner, role, digest, own)


def note_texts(role: str, model: str, texts: Iterable[str], cost: Callable[[str], Cost]) -> None:
    """Count embedded texts, whichever requests brought their vectors."""
    meters, owner = _running.get()
    for text in texts if meters else ():
        digest = hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()
        for meter in meters:
            meter.add(owner or meter.owners.get(text, ""), role, digest, _role_cost(cost(text)))


def so_far() -> dict[str, RoleCost]:
    """The cost by role since the innermost meter began; empty without a meter."""
    meters, _ = _running.get()
    return meters[-1].by_role if meters else {}


def pass_on(meter: Meter) -> None:
    """Count what an `alone` meter holds for the meters around it as well."""
    for outer in _running.get()[0]:
        for key, cost in meter.entries.items():
            outer.entries.setdefault(key, cost)


def charge(costs: Mapping[str, RoleCost]) -> None:
    """Add the cost of requests that were made earlier for what is metered now. `costs`: by role."""
    meters, owner = _running.get()
    for meter in meters:
        for role, cost in costs.items():
            meter.add(owner, role, b"%d" % len(meter.entries), cost)


def by_role(entries: Mapping[Key, RoleCost]) -> dict[str, RoleCost]:
    """The cost of each role, summed over its owners and requests; roles in the order of their names."""
    if not entries:  # as of each case that asks no model
        return {}
    roles = sorted({role for _, role, _ in entries})
    return {role: _sum(cost for (_, of, _), cost in entries.items() if of == role) for role in roles}


def sum_costs(first: Mapping[str, RoleCost], second: Mapping[str, RoleCost]) -> dict[str, RoleCost]:
    """The sum of two costs, by role."""
    roles = sorted({*first, *second})
    return {role: _sum(costs[role] for costs in (first, second) if role in costs) for role in roles}


def _sum(costs: Iterable[RoleCost]) -> RoleCost:
    """The price of the sum is unknown where that of a part is."""
    parts = list(costs)
    nano = [cost.nano_usd for cost in parts]
    known_usd = [usd for usd in nano if usd is not None]
    return RoleCost(
        requests=sum(cost.requests for cost in parts),
        input_tokens=sum(cost.input_tokens for cost in parts),
        output_tokens=sum(cost.output_tokens for cost in parts),
        usd=sum(known_usd) / 1e9 if len(known_usd) == len(nano) else None,
    )


def _shares(cost: RoleCost, n: int) -> Iterator[RoleCost]:
    """Split a cost into n shares of whole tokens, as equal as possible; they sum up to the cost."""
    nano = cost.nano_usd
    parts = [_parts(number, n) for number in (cost.requests, cost.input_tokens, cost.output_tokens, nano or 0)]
    for requests, tokens_in, tokens_out, part in zip(*parts, strict=True):
        yield RoleCost(requests, tokens_in, tokens_out, None if nano is None else part / 1e9)


def _parts(number: int, n: int) -> list[int]:
    share, rest = divmod(number, n)
    return [share + (place < rest) for place in range(n)]


def _role_cost(cost: Cost) -> RoleCost:
    usd = None if cost.nano_usd is None else cost.nano_usd / 1e9
    return RoleCost(1, cost.usage.input_tokens, cost.usage.output_tokens, usd)
