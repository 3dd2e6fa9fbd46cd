"""The requests of a run to models and their cost, from summary.json and run.json."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from runner.llm.messages import Role
from runner.words.wording import Wording

ROLES: tuple[str, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Consumption:
    """`usd` covers the requests whose price is known; `unpriced` names the models of the others."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    retries: int = 0
    usd: float = 0.0
    unpriced: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Use:
    """One model in one role. `live` was asked of the server; `cached` came from the cache, and its `usd` is
    what that saved. `unanswered` are attempts that brought no answer: what they may have been billed at most."""

    role: str
    model: str
    live: Consumption
    cached: Consumption
    unanswered: Consumption = field(default_factory=Consumption)

    @property
    def all_requests(self) -> Consumption:
        """What was asked of the server, with the number of all requests that were sent, answered or not."""
        return replace(self.live, requests=self.live.requests + self.unanswered.requests)


def uses(summary: Mapping[str, Any]) -> list[Use]:
    """Along the pipeline, then by name of the model."""
    by_role = (summary.get("timing") or {}).get("usage") or {}
    return [
        Use(role, model, *(_spending(model, entry.get(source)) for source in ("live", "cached", "unanswered")))
        for role in in_order(by_role)
        for model, entry in sorted(by_role[role].items())
    ]


def of_a_case(summary: Mapping[str, Any], roles: Collection[str] | None = None) -> tuple[float | None, float] | None:
    """(USD, tokens) of the requests of one case, each once, in all roles or in some; USD None where a price is unknown.
    None where no model was called, or where the number of cases is unknown."""
    cost = summary.get("cost") or {}
    spending = [spent for role, spent in (cost.get("roles") or {}).items() if roles is None or role in roles]
    n = cost.get("cases") or 0
    if not spending or not n:
        return None
    usd = [spent["usd"] for spent in spending]
    tokens = sum(spent["input_tokens"] + spent["output_tokens"] for spent in spending)
    return None if None in usd else math.fsum(usd) / n, tokens / n


def total(parts: Iterable[Consumption]) -> Consumption:
    """The sum of several consumptions."""
    spending = list(parts)
    return Consumption(
        requests=sum(part.requests for part in spending),
        input_tokens=sum(part.input_tokens for part in spending),
        output_tokens=sum(part.output_tokens for part in spending),
        retries=sum(part.retries for part in spending),
        usd=sum(part.usd for part in spending),
        unpriced=tuple(dict.fromkeys(name for part in spending for name in part.unpriced)),
    )


def models(run: Mapping[str, Any]) -> dict[str, list[str]]:
    """Role -> everything that the run was configured to ask in it, along the pipeline."""
    named = run.get("models") or {}
    return {role: list(map(str, named[role])) for role in in_order(named) if named[role]}


def in_order(roles: Iterable[str]) -> list[str]:
    """Roles in the order of ROLES, unknown ones after them by name."""
    return sorted(roles, key=lambda role: (ROLES.index(role) if role in ROLES else len(ROLES), role))


def price_dates(run: Mapping[str, Any], model_names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(provider, date of its prices) of those providers of the models that have one."""
    providers = (run.get("config") or {}).get("provider") or {}
    for name in sorted({model.partition(":")[0] for model in model_names}):
        date = ((providers.get(name) or {}).get("prices") or {}).get("date")
        if date:
            yield name, str(date)


def money(consumption: Consumption, say: Wording) -> str:
    """An unknown price is said to be unknown, and is never 0."""
    if not consumption.unpriced:
        return dollars(consumption.usd)
    return say("cost.at_least", usd=dollars(consumption.usd)) if consumption.usd else say("cost.unknown")


def dollars(usd: float) -> str:
    """Cents where they tell something, else ten-thousandths."""
    if 0 < usd < 0.0001:
        return "<$0.0001"
    if usd < 1:
        return f"${usd:.4f}" if usd else "$0"
    return f"${usd:,.2f}"


def count(number: int) -> str:
    """`812,345`, but `1.21 M`."""
    return f"{number:,}" if number < 1_000_000 else f"{number / 1e6:,.2f} M"


def spending(spent: Consumption, say: Wording) -> str:
    """`$0.0132 (1,124 requests, 1.21 M tokens)`"""
    return say("cost.line", cost=money(spent, say), requests=f"{spent.requests:,}", tokens=count(spent.tokens))


def unanswered_notes(uses: Iterable[Use], say: Wording, words: str) -> list[str]:
    """`words` filled in with what attempts without an answer may have been billed; none where that is nothing."""
    unanswered = total(use.unanswered for use in uses)
    if not unanswered.tokens:
        return []
    cost = say("cost.unknown") if unanswered.unpriced else say("cost.up_to", usd=dollars(unanswered.usd))
    return [say(words, cost=cost, attempts=f"{unanswered.requests:,}", tokens=count(unanswered.tokens))]


def _spending(model: str, entry: Mapping[str, Any] | None) -> Consumption:
    if not entry or not entry.get("requests"):
        return Consumption()
    usd = entry.get("usd")
    return Consumption(
        requests=entry["requests"],
        input_tokens=entry.get("input_tokens") or 0,
        output_tokens=entry.get("output_tokens") or 0,
        retries=entry.get("retries") or 0,
        usd=usd or 0.0,
        unpriced=(model,) if usd is None else (),
    )
