import pytest

from runner.report import usage
from runner.report.usage import Consumption
from runner.words.wording import LANGUAGES
from tests.model_runs import GENERATOR, JUDGE, MODELS_RUN, MODELS_SUMMARY, used

EN, KO = LANGUAGES["en"], LANGUAGES["ko"]


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (0, "$0"),
        (0.00004, "<$0.0001"),
        (0.0001, "$0.0001"),
        (0.0132, "$0.0132"),
        (0.5, "$0.5000"),
        (1.005, "$1.00"),
        (1234.5, "$1,234.50"),
    ],
)
def test_dollars(usd: float, shown: str) -> None:
    assert usage.dollars(usd) == shown


def test_counts_of_tokens() -> None:
    assert [usage.count(number) for number in (0, 999_999, 1_210_000, 12_345_678)] == [
        "0", "999,999", "1.21 M", "12.35 M",
    ]  # fmt: skip


def test_an_unknown_price_is_said_to_be_unknown() -> None:
    unknown = Consumption(requests=3, unpriced=("local:x",))
    assert (usage.money(unknown, EN), usage.money(unknown, KO)) == ("unknown price", "가격 미상")
    both = usage.total([unknown, Consumption(requests=1, usd=0.25)])
    assert (usage.money(both, EN), usage.money(both, KO)) == ("at least $0.2500", "$0.2500 이상")
    assert usage.money(Consumption(requests=3), EN) == "$0"  # a price of 0 is known


def test_spending() -> None:
    spent = Consumption(requests=1124, input_tokens=1_200_000, output_tokens=10_000, usd=0.0132)
    assert usage.spending(spent, EN) == "$0.0132 (1,124 requests, 1.21 M tokens)"
    assert usage.spending(spent, KO) == "$0.0132 (요청 1,124건, 1.21 M 토큰)"


def test_uses_are_along_the_pipeline() -> None:
    found = usage.uses(MODELS_SUMMARY)
    assert [(use.role, use.model) for use in found] == [("generator", GENERATOR), ("judge", JUDGE)]
    assert found[1].live == Consumption(1104, 1_150_000, 50_000, 3, 0.0121)
    assert found[0].cached == Consumption()
    assert usage.uses({}) == usage.uses({"timing": {}}) == []


def test_the_total_of_uses() -> None:
    found = usage.total(use.live for use in usage.uses(MODELS_SUMMARY))
    assert (found.requests, found.tokens, found.retries) == (1124, 1_210_000, 3)
    assert found.usd == pytest.approx(0.0132)


def test_a_model_that_was_not_asked_has_no_unknown_price() -> None:
    entry = {"live": used(0, 0, 0, None), "cached": used(2, 5, 5, None)}
    (use,) = usage.uses({"timing": {"usage": {"judge": {"local:x": entry}}}})
    assert (use.live.unpriced, use.cached.unpriced) == ((), ("local:x",))


def test_an_unknown_role_comes_last() -> None:
    assert usage.in_order(["zz", "embedder", "judge", "generator", "aa"]) == [
        "generator", "judge", "embedder", "aa", "zz",
    ]  # fmt: skip


def test_models_by_role() -> None:
    assert list(usage.models(MODELS_RUN).items()) == [("generator", [GENERATOR]), ("judge", [JUDGE])]
    assert usage.models({"models": {"judge": []}}) == usage.models({}) == {}


def test_dates_of_prices_are_those_of_providers_in_use() -> None:
    assert list(usage.price_dates(MODELS_RUN, [JUDGE, GENERATOR, "local:x", "gone:y"])) == [("openai", "2025-08-07")]
    assert list(usage.price_dates(MODELS_RUN, ["local:x"])) == []
    assert list(usage.price_dates({}, [JUDGE])) == []
