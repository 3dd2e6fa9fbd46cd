"""Projects the monthly cost of answering users from sessions, turns and the price of one request of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.llm.messages import Usage
from runner.llm.prices import nano_usd, price_of
from runner.llm.settings import ProviderSettings

Kind = Literal["update", "rerank", "answer"]
KINDS: tuple[Kind, ...] = ("update", "rerank", "answer")
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class RequestSettings(TypedDict):
    """One request: its model, its tokens, those of the reply, and its price; `usd` null: tokens x prices of
    `provider`."""

    model: str
    input_tokens: Count
    output_tokens: Count
    usd: Annotated[float, Field(ge=0)] | None


@dataclass(frozen=True, slots=True)
class Line:
    """The requests of one kind in a month. `nano_usd` by the configured price of one request, `nano_usd_by_tokens` by
    tokens x prices; None where a price is unknown."""

    kind: Kind
    requests: int
    nano_usd: int | None
    nano_usd_by_tokens: int | None


@dataclass(frozen=True, slots=True)
class Month:
    """The cost of a month, one line a kind of request; None where a price is unknown."""

    turns_per_session: int
    lines: tuple[Line, ...]

    @property
    def nano_usd(self) -> int | None:
        """The sum over kinds; None where a price is not known."""
        return _sum([line.nano_usd for line in self.lines])

    @property
    def nano_usd_by_tokens(self) -> int | None:
        """The same by tokens x prices."""
        return _sum([line.nano_usd_by_tokens for line in self.lines])


class Projection:
    """Every turn is answered once and reranked `reranks_per_turn` times; a memory is updated once every `update_every`
    turns of a session. Each of several numbers of turns a session is projected. A projection does not affect a run."""

    not_in_identity: ClassVar[bool] = True

    def __init__(
        self,
        *,
        providers: dict[str, ProviderSettings],
        update: RequestSettings,
        rerank: RequestSettings,
        answer: RequestSettings,
        sessions_per_day: Positive = 1000,
        turns_per_session: Positive | Annotated[list[Positive], Field(min_length=1)] = 20,
        days: Positive = 30,
        reranks_per_turn: Count = 2,
        update_every: Positive = 5,
    ) -> None:
        self._providers = providers
        self.requests: Mapping[Kind, RequestSettings] = {"update": update, "rerank": rerank, "answer": answer}
        self.sessions_per_day, self.days = sessions_per_day, days
        self.turns_per_session = [turns_per_session] if isinstance(turns_per_session, int) else turns_per_session
        self.reranks_per_turn, self.update_every = reranks_per_turn, update_every

    def months(self) -> Sequence[Month]:
        """The projected months, one for each number of turns a session."""
        return [Month(turns, tuple(self._line(kind, turns) for kind in KINDS)) for turns in self.turns_per_session]

    def questions(self, turns: int) -> int:
        """Questions in a month."""
        return self.sessions_per_day * self.days * turns

    def unit(self, kind: Kind) -> int | None:
        """The price of one request, in 1e-9 USD."""
        given = self.requests[kind]["usd"]
        return self._by_tokens(kind) if given is None else round(given * 1e9)

    def _line(self, kind: Kind, turns: int) -> Line:
        each = {"update": turns // self.update_every, "rerank": turns * self.reranks_per_turn, "answer": turns}
        requests = self.questions(each[kind])
        return Line(kind, requests, _times(self.unit(kind), requests), _times(self._by_tokens(kind), requests))

    def _by_tokens(self, kind: Kind) -> int | None:
        request = self.requests[kind]
        provider, _, name = request["model"].partition(":")
        prices = self._providers.get(provider, {}).get("prices") or {}
        price = price_of(prices, (prices.get("base_url") or "").rstrip("/"), name)
        return nano_usd(price, Usage(request["input_tokens"], request["output_tokens"]))


def _times(unit: int | None, requests: int) -> int | None:
    return None if unit is None else unit * requests


def _sum(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
