"""Reckoned by hand. The table is that of a month with 1,000 sessions a day."""

from typing import Any

import pytest

from runner.llm.projection import Projection

PROVIDERS: Any = {
    "openai": {
        "prices": {"base_url": "https://x/v1", "usd_per_million": {"gpt-5-nano": {"input": 0.05, "output": 0.4}}}
    }
}
NANO = "openai:gpt-5-nano"


def request(input_tokens: int, output_tokens: int, usd: float | None, model: str = NANO) -> Any:
    return {"model": model, "input_tokens": input_tokens, "output_tokens": output_tokens, "usd": usd}


PRINTED = {"update": request(2000, 400, 0.0003), "rerank": request(1000, 500, 0.0003)}
PRINTED |= {"answer": request(1500, 1000, 0.00055)}


def projection(**changes: Any) -> Projection:
    return Projection(**{"providers": PROVIDERS, **PRINTED, **changes})


def test_the_table_of_the_design_comes_out_of_its_unit_costs() -> None:
    months = projection(turns_per_session=[20, 50, 100]).months()
    usd = [[line.nano_usd / 10**9 for line in month.lines if line.nano_usd is not None] for month in months]
    assert [month.nano_usd for month in months] == [726 * 10**9, 1815 * 10**9, 3630 * 10**9]
    assert [(updates, reranks + answers) for updates, reranks, answers in usd] == [(36, 690), (90, 1725), (180, 3450)]


def test_requests_of_a_month() -> None:
    (month,) = projection(sessions_per_day=10, days=2, turns_per_session=9, reranks_per_turn=3).months()
    assert {line.kind: line.requests for line in month.lines} == {"update": 20, "rerank": 540, "answer": 180}


def test_tokens_times_prices_stand_beside_the_unit_costs_and_take_their_place() -> None:
    """An update is 2000 x 0.05 + 400 x 0.4 = 260 millionths of a dollar, a rerank 250, an answer 475."""
    (month,) = projection().months()
    assert [line.nano_usd_by_tokens for line in month.lines] == [31_200_000_000, 300_000_000_000, 285_000_000_000]
    by_tokens = {name: {**unit, "usd": None} for name, unit in PRINTED.items()}
    (same,) = projection(**by_tokens).months()
    assert same.nano_usd == same.nano_usd_by_tokens == month.nano_usd_by_tokens == 616_200_000_000


@pytest.mark.parametrize("model", ["openai:gpt-9", "nowhere:gpt-5-nano"])
def test_an_unknown_price_is_no_price_of_nothing(model: str) -> None:
    (month,) = projection(rerank=request(1000, 500, None, model)).months()
    assert (month.nano_usd, month.nano_usd_by_tokens) == (None, None)
    (given,) = projection(rerank=request(1000, 500, 0.0003, model)).months()
    assert (given.nano_usd, given.nano_usd_by_tokens) == (726 * 10**9, None)
