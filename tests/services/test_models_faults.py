"""The faults that the models server is told to have, as a plain openai client meets them."""

import json
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tests.services.models_client import JUDGED, ask, client, content
from tests.services.models_faults import Faults
from tests.services.models_replies import fraction
from tests.services.models_server import serving_models

# --- errors ---------------------------------------------------------------------------------------


async def test_a_wrong_key_is_refused() -> None:
    import openai

    with serving_models(api_key="sk-right") as server:
        async with client(server, "sk-wrong") as opened:
            with pytest.raises(openai.AuthenticationError, match="Incorrect API key provided") as raised:
                await ask(opened)
        async with client(server, "sk-right") as opened:
            await ask(opened)
    assert raised.value.code == "invalid_api_key"
    assert server.counts.statuses == {401: 1, 200: 1}


@pytest.mark.parametrize(
    ("parameter", "value", "code", "words"),
    [
        ("temperature", 0, "unsupported_value", "does not support 0"),
        ("seed", 7, "unsupported_parameter", "'seed'"),
        ("max_tokens", 9, "unsupported_parameter", "Use 'max_completion_tokens' instead."),
        ("response_format", JUDGED["response_format"], None, "'json_schema'"),
    ],
)
async def test_a_refused_parameter_is_named(parameter: str, value: Any, code: str | None, words: str) -> None:
    import openai

    with serving_models(refuses=[parameter]) as server:
        async with client(server) as opened:
            with pytest.raises(openai.BadRequestError, match=words) as raised:
                await ask(opened, **{parameter: value})
            await ask(opened)
    assert (raised.value.param, raised.value.code) == (parameter, code)


STATUSES = {
    **dict.fromkeys(("rate_limit", "rate_limit_date", "rate_limit_ms", "quota"), 429),
    "server_error": 500,
    "unavailable": 503,
    "request_timeout": 408,
    "no_model": 404,
}


async def met(name: str, **more: Any) -> Any:
    """The error of the first request to a server that has only this fault."""
    import openai

    with serving_models(faults=Faults(**{name: 1.0}, **more)) as server:
        async with client(server) as opened:
            with pytest.raises(openai.APIStatusError) as raised:
                await ask(opened)
    assert server.counts.faults == {name: 1}
    assert server.counts.answered == 0
    return raised.value


@pytest.mark.parametrize("name", STATUSES)
async def test_statuses(name: str) -> None:
    assert (await met(name)).status_code == STATUSES[name]


async def test_the_three_ways_to_say_retry_after() -> None:
    assert (await met("rate_limit", retry_after_s=2)).response.headers["Retry-After"] == "2"
    assert (await met("rate_limit_ms", retry_after_s=0.25)).response.headers["retry-after-ms"] == "250"
    dated = (await met("rate_limit_date", retry_after_s=5)).response.headers
    wait = parsedate_to_datetime(dated["Retry-After"]) - parsedate_to_datetime(dated["Date"])
    assert 5 <= wait.total_seconds() <= 7


async def test_permanent_errors_name_themselves() -> None:
    quota, no_model = await met("quota"), await met("no_model")
    assert quota.code == "insufficient_quota"
    assert no_model.code == "model_not_found"
    assert "`test-model` does not exist" in no_model.message


@pytest.mark.parametrize("name", ["dropped", "truncated"])
async def test_a_broken_connection_is_followed_by_an_answer(name: str) -> None:
    import openai

    with serving_models(faults=Faults(**{name: 1.0})) as server:
        async with client(server) as opened:
            for _ in range(2):
                with pytest.raises(openai.APIConnectionError):
                    await ask(opened)
            await ask(opened)
    assert server.counts.faults == {name: 2}
    assert (server.counts.answered, server.counts.statuses) == (1, {0: 2, 200: 1})


async def test_a_body_that_is_no_json() -> None:
    with serving_models(faults=Faults(not_json=1.0)) as server:
        async with client(server) as opened:
            with pytest.raises(ValueError, match="Expecting value"):
                await ask(opened)


async def test_a_stalled_answer_is_late_and_leaves_with_its_client() -> None:
    import openai

    with serving_models(faults=Faults(stalled=1.0, stall_s=60)) as server:
        async with client(server, timeout_s=0.2) as opened:
            with pytest.raises(openai.APITimeoutError):
                await ask(opened)
    with serving_models(faults=Faults(stalled=1.0, stall_s=0.05)) as server:
        async with client(server) as opened:
            await ask(opened)
        assert server.noted().span_s >= 0.05


# --- messages that cannot be used -----------------------------------------------------------------


async def faulty(name: str, text: str, **more: Any) -> Any:
    with serving_models(faults=Faults(**{name: 1.0})) as server:
        async with client(server) as opened:
            return (await ask(opened, text, **more)).choices[0]


async def test_malformed_json_holds_no_object() -> None:
    choice = await faulty("malformed", "x", **JUDGED)
    assert choice.message.content.startswith('{"score": ')
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(choice.message.content)


async def test_the_ways_to_miss_the_schema() -> None:
    with serving_models(faults=Faults(wrong_schema=1.0)) as server:
        async with client(server) as opened:
            texts = {await content(opened, f"case {n}", **JUDGED) for n in range(40)}
    scores = {str(json.loads(text).get("score")) for text in texts}
    assert scores == {"None", "high", "nan", "inf", "True"}


async def test_cut_off_empty_and_refused() -> None:
    cut = await faulty("cut_off", "x", **JUDGED)
    assert cut.finish_reason == "length"
    assert (await faulty("empty", "x")).message.content == ""
    refused = (await faulty("refusal", "x")).message
    assert refused.content is None
    assert refused.refusal.startswith("I'm sorry")


async def test_a_fenced_object_is_the_good_one() -> None:
    text = (await faulty("fenced", "x", **JUDGED)).message.content
    with serving_models() as server:
        async with client(server) as opened:
            good = await content(opened, "x", **JUDGED)
    assert text.partition("```json\n")[2].partition("\n```")[0] == good
    assert not text.startswith("{")


async def test_faults_of_json_leave_text_alone_and_faults_of_chat_embeddings() -> None:
    with serving_models(faults=Faults(malformed=0.5, empty=0.5)) as server:
        async with client(server) as opened:
            await opened.embeddings.create(model="test-model", input="x")
            assert server.counts.faults == {}
            texts = [await content(opened, f"case {n}") for n in range(10)]
    assert set(server.counts.faults) == {"empty"}
    assert any(texts)


# --- the plan -------------------------------------------------------------------------------------


def test_a_body_is_faulted_in_a_row_at_most_so_often() -> None:
    always = Faults(server_error=1.0, in_a_row=2)
    assert [always.fault("a", n) for n in range(6)] == ["server_error", "server_error", None] * 2
    often = Faults(server_error=0.4, dropped=0.4, in_a_row=3)
    for body in map(str, range(200)):
        faults = [often.fault(body, n) for n in range(12)]
        assert all(None in faults[n : n + 4] for n in range(9))


def test_the_shares_are_kept_and_the_seed_changes_who_is_met() -> None:
    bodies = [str(n) for n in range(20_000)]

    def plan(seed: int) -> list[str | None]:
        faults = Faults(seed=seed, rate_limit=0.05, dropped=0.10, malformed=0.02)
        return [faults.fault(body, 0) for body in bodies]

    first = plan(1)
    for name, share in (("rate_limit", 0.05), ("dropped", 0.10), ("malformed", 0.02)):
        assert first.count(name) / len(bodies) == pytest.approx(share, abs=0.006)
    assert plan(1) == first
    assert plan(2) != first


async def test_who_is_met_does_not_depend_on_the_order_of_arrival() -> None:
    import openai

    faults = Faults(seed=3, server_error=0.2, empty=0.2)

    async def outcomes(order: list[int]) -> dict[int, str]:
        found = {}
        with serving_models(faults=faults) as server:
            async with client(server) as opened:
                for n in order:
                    try:
                        found[n] = await content(opened, f"case {n}")
                    except openai.InternalServerError:
                        found[n] = "500"
        return found

    forwards = await outcomes(list(range(30)))
    assert await outcomes(list(range(30))[::-1]) == forwards
    assert {"500", ""} < set(forwards.values())


def test_fractions_are_spread_evenly() -> None:
    tenths = [int(10 * fraction(str(n))) for n in range(10_000)]
    assert all(abs(tenths.count(tenth) - 1000) < 150 for tenth in range(10))
