from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.llm.messages import Usage
from runner.llm.prices import nano_usd, price_of
from runner.llm.settings import Price, Prices

ROOT = Path(__file__).resolve().parents[3]
URL = "https://api.openai.com/v1"
TABLE: dict[str, Price] = {
    "gpt-4o-mini": {"input": 0.15, "cached_input": 0.075, "output": 0.60},
    "gpt-4o-mini-2024-07-18": {"input": 0.2, "output": 0.7},
    "gpt-4*": {"input": 30.0, "output": 60.0},
    "*": {"input": 0.0, "output": 0.0},
}


@pytest.mark.parametrize(
    ("model", "input_price"),
    [
        ("gpt-4o-mini", 0.15),
        ("gpt-4o-mini-2024-07-18", 0.2),  # its own
        ("gpt-4o-mini-2025-01-01", 0.15),  # that of the name without its date
        ("gpt-4-0613", 30.0),
        ("llama", 0.0),
    ],
)
def test_by_name_then_without_the_date_then_by_the_longest_pattern(model: str, input_price: float) -> None:
    price = price_of({"usd_per_million": TABLE}, URL, model)
    assert price is not None
    assert price["input"] == input_price


@pytest.mark.parametrize(
    ("prices", "is_known"),
    [
        ({}, False),
        ({"usd_per_million": {"gpt-4o": {"input": 1.0}}}, False),
        ({"base_url": URL, "usd_per_million": TABLE}, True),
        ({"base_url": f"{URL}/", "usd_per_million": TABLE}, True),
        ({"base_url": None, "usd_per_million": TABLE}, True),
        ({"base_url": "http://127.0.0.1:8080/v1", "usd_per_million": TABLE}, False),  # of another server
    ],
)
def test_unknown_where_the_table_does_not_say(prices: Prices, is_known: bool) -> None:
    assert (price_of(prices, URL, "gpt-4o-mini") is not None) == is_known


@pytest.mark.parametrize(
    ("price", "usage", "expected"),
    [
        # 600 x 0.15 + 400 x 0.075 + 50 x 0.60 = 150 micro-USD
        (TABLE["gpt-4o-mini"], Usage(1000, 50, 400), 150_000),
        (TABLE["gpt-4o-mini-2024-07-18"], Usage(1000, 50, 400), 235_000),  # no discount is known
        ({"input": 0.02}, Usage(1000), 20_000),  # an embedding has no answer
        ({"input": 0.02}, Usage(1000, 1), None),
        ({"output": 0.02}, Usage(1000, 1), None),
        (None, Usage(), None),
        (TABLE["*"], Usage(1000, 50), 0),
    ],
)
def test_cost_in_nano_usd(price: Price | None, usage: Usage, expected: int | None) -> None:
    assert nano_usd(price, usage) == expected


def test_the_prices_that_come_along_are_dated_and_whole() -> None:
    prices: Any = yaml.safe_load((ROOT / "conf/provider/openai.yaml").read_text(encoding="utf-8"))["prices"]
    assert prices["date"]
    for model, price in prices["usd_per_million"].items():
        assert price_of(prices, URL, model) == price
        assert price["input"] > 0
        assert price.get("cached_input", 0) < price["input"]
        assert ("output" in price) != model.startswith("text-embedding")
