"""Prices of tokens."""

from __future__ import annotations

from fnmatch import fnmatchcase

from runner.llm.messages import Usage
from runner.llm.names import without_date
from runner.llm.settings import Price, Prices


def price_of(prices: Prices, base_url: str, model: str) -> Price | None:
    """The price of a model by its name, else of the name without its date, else of the longest pattern that fits; None
    where the table has no entry, or is for another server."""
    if (prices.get("base_url") or base_url).rstrip("/") != base_url:
        return None
    table = prices.get("usd_per_million", {})
    for name in (model, without_date(model)):
        if name in table:
            return table[name]
    fitting = [pattern for pattern in table if fnmatchcase(model, pattern)]
    return table[max(fitting, key=len)] if fitting else None


def nano_usd(price: Price | None, usage: Usage) -> int | None:
    """Cost in 1e-9 USD; None where a price that is needed is unknown."""
    if price is None or "input" not in price or (usage.output_tokens and "output" not in price):
        return None
    fresh = usage.input_tokens - usage.cached_input_tokens
    cost = (
        fresh * price["input"]
        + usage.cached_input_tokens * price.get("cached_input", price["input"])
        + usage.output_tokens * price.get("output", 0.0)
    )
    return round(cost * 1000)
