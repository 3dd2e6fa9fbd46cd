"""Accounts, and the cost of a request, for tests of the ledger."""

from typing import Any

from runner.llm.ledger import Account, Cost
from runner.llm.messages import Usage

JUDGE = Account("0", "judge", "test:m")


def cost(tokens_in: int = 100, tokens_out: int = 10, nano: int | None = 1_000_000, cached: int = 0) -> Cost:
    return Cost(Usage(tokens_in, tokens_out, cached), nano)


def counted(requests: int, tokens_in: int, tokens_out: int, usd: float | None, **rest: int) -> dict[str, Any]:
    counts = {"requests": requests, "input_tokens": tokens_in, "output_tokens": tokens_out}
    return {**counts, "cached_input_tokens": 0, "retries": 0, "usd": usd, **rest}


NONE = counted(0, 0, 0, 0.0)
