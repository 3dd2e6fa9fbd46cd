"""The place of one request in the budget."""

from __future__ import annotations

import asyncio

from runner.llm.ledger import NOTHING, Account, Cost, Ledger

PATIENCE_S = 0.05  # between checks of a budget that other requests hold


class Toll:
    """Before each attempt `most`, which the request may cost, is reserved; after it, what it did cost is noted."""

    __slots__ = ("_account", "_ledger", "_most", "_reservation")

    def __init__(self, ledger: Ledger, account: Account, most: Cost) -> None:
        self._ledger, self._account, self._most = ledger, account, most
        self._reservation: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there is a budget to `enter`."""
        return self._ledger.is_limited

    async def enter(self) -> None:
        """Wait while requests under way hold the rest of the budget. Raises BudgetSpentError."""
        if self._ledger.is_limited:
            while (reservation := self._ledger.reserve(self._account, self._most)) is None:
                await asyncio.sleep(PATIENCE_S)
            self._reservation = reservation

    def lose(self, *, may_be_billed: bool) -> None:
        """The attempt was made, and brought no answer."""
        self._ledger.forfeit(self._reservation, self._account, self._most if may_be_billed else NOTHING)

    def pay(self, cost: Cost, retries: int) -> None:
        """Replace the reservation by the actual cost of the request."""
        self._ledger.learn(self._account, self._most.usage, cost.usage)
        self._ledger.settle(self._reservation, self._account, cost, retries)
