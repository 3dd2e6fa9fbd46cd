"""The models server as a plain openai client sees it."""

import asyncio
import json
import math
import signal
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
import openai
import pytest
from openai import AsyncOpenAI, DefaultAioHttpClient

from tests.services.models_faults import Faults
from tests.services.models_replies import SOURCE, Reply, completion, fitting, fraction, vector
from tests.services.models_server import ROOT, ModelsServer, models_process, serving_models

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}, "reasoning": {"type": "string"}},
    "required": ["score", "reasoning"],
    "additionalProperties": False,
}
JUDGED: dict[str, Any] = {
    "response_format": {"type": "json_schema", "json_schema": {"name": "judgement", "strict": True, "schema": SCHEMA}}
}


@asynccontextmanager
async def client(server: ModelsServer, key: str = "sk-test", timeout: float = 10) -> AsyncIterator[AsyncOpenAI]:
    http = DefaultAioHttpClient()
    async with AsyncOpenAI(
        base_url=server.url, api_key=key, http_client=http, max_retries=0, timeout=timeout
    ) as opened:
        yield opened


async def ask(opened: AsyncOpenAI, text: str = "Is it so?", **more: Any) -> Any:
    return await opened.chat.completions.create(
        model="test-model", messages=[{"role": "user", "content": text}], **more
    )


async def content(opened: AsyncOpenAI, text: str = "Is it so?", **more: Any) -> str:
    return str((await ask(opened, text, **more)).choices[0].message.content)


# --- good answers -----------------------------------------------------------------------------------


async def test_a_judge_gets_the_score_that_its_messages_hash_to() -> None:
    with serving_models() as server:
        async with client(server) as opened:
            texts = [await content(opened, f"case {n}", **JUDGED) for n in range(60)]
            again = await content(opened, "case 7", **JUDGED, temperature=0.5)
    judged = [json.loads(text) for text in texts]
    assert all(set(each) == {"score", "reasoning"} and 0 <= each["score"] < 1 for each in judged)
    assert len({each["score"] for each in judged}) > 50
    assert min(each["score"] for each in judged) < 0.2
    assert max(each["score"] for each in judged) > 0.8
    assert again == texts[7]


async def test_usage_and_finish_reason_come_with_an_answer() -> None:
    with serving_models() as server:
        async with client(server) as opened:
            reply = await ask(opened, "12345")
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.prompt_tokens == 3 + 2  # a message, and five characters at four to a token
    assert reply.usage.completion_tokens == math.ceil(len(reply.choices[0].message.content) / 4)
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


@pytest.mark.parametrize(
    ("asked", "begins", "cited"),
    [
        ("[1] Mars\n[2] Moon\n[3] Sun\nWhich?", "Answer", ["1", "2"]),
        ("[2] 달\n질문은?", "답", ["2"]),
        ("Who?", "Answer", []),
    ],
)
async def test_a_generator_gets_a_text_that_cites_its_sources(asked: str, begins: str, cited: list[str]) -> None:
    with serving_models() as server:
        async with client(server) as opened:
            text = await content(opened, asked)
            assert await content(opened, asked) == text
    assert text.startswith(begins)
    assert SOURCE.findall(text) == cited


async def test_a_function_is_called_once_with_the_question() -> None:
    parameters = {"type": "object", "properties": {"query": {"type": "string"}, "depth": {"type": "integer"}}}
    search = {"type": "function", "function": {"name": "search", "parameters": parameters}}
    asked: list[Any] = [{"role": "user", "content": '<data-1 name="question">\n배포?\n</data-1>'}]
    with serving_models() as server:
        async with client(server) as asking:
            first = await asking.chat.completions.create(model="m", messages=asked, tools=[search])  # type: ignore[list-item]
            message = first.choices[0].message
            assert message.tool_calls is not None
            (call,) = message.tool_calls
            result = {"role": "tool", "tool_call_id": call.id, "content": "[1]"}
            told: list[Any] = [*asked, message.model_dump(), result]
            second = await asking.chat.completions.create(model="m", messages=told, tools=[search])  # type: ignore[list-item]
    assert call.type == "function"
    assert call.function.name == "search"
    assert json.loads(call.function.arguments)["query"] == "배포?"
    assert second.choices[0].message.tool_calls is None
    assert second.choices[0].message.content


async def test_a_judge_without_a_schema_gets_json_as_well() -> None:
    with serving_models() as server:
        async with client(server) as opened:
            text = await content(opened, 'Answer with {"score": …, "reasoning": …}')
    assert set(json.loads(text)) == {"score", "reasoning"}


def test_any_schema_is_fitted() -> None:
    schema = {
        "type": "object",
        "$defs": {"verdict": {"type": "string", "enum": ["supported", "contradicted"]}},
        "properties": {
            "claims": {"type": "array", "items": {"$ref": "#/$defs/verdict"}, "minItems": 3},
            "chunk": {"anyOf": [{"type": "integer", "minimum": 2, "maximum": 2}, {"type": "null"}]},
            "kind": {"const": "x"},
            "sure": {"type": "boolean"},
            "note": {"type": ["null", "string"]},
            "score": {"type": "number", "minimum": 1, "maximum": 5},
        },
    }
    made = fitting(schema, "seed")
    assert made == fitting(schema, "seed")
    assert len(made["claims"]) == 3
    assert set(made["claims"]) <= {"supported", "contradicted"}
    assert 1 <= made["score"] <= 5
    assert isinstance(made["sure"], bool)
    assert (made["chunk"], made["kind"], made["note"]) == (2, "x", None)


@pytest.mark.parametrize("encoding", ["float", "base64"])
async def test_embeddings_come_in_both_encodings(encoding: Any) -> None:
    with serving_models() as server:
        async with client(server) as opened:
            reply = await opened.embeddings.create(
                model="test-model", input=["달은 돈다", "moon"], dimensions=16, encoding_format=encoding
            )
            default = await opened.embeddings.create(model="test-model", input="moon")
    first, second = (each.embedding for each in reply.data)
    if encoding == "base64":  # the client decodes only where it chose the encoding itself
        import base64

        first, second = (np.frombuffer(base64.b64decode(str(each)), dtype="<f4").tolist() for each in (first, second))
    assert np.allclose(first, vector("달은 돈다", 16), atol=1e-7)
    assert np.allclose(second, vector("moon", 16), atol=1e-7)
    assert np.linalg.norm(second) == pytest.approx(1)
    assert len(default.data[0].embedding) == 64
    assert reply.usage.prompt_tokens == 2 + 1


async def test_models_are_listed_and_other_addresses_are_not_there() -> None:
    with serving_models() as server:
        async with client(server) as opened:
            assert [model.id for model in (await opened.models.list()).data] == ["test-model"]
            with pytest.raises(openai.NotFoundError):
                await opened.completions.create(model="test-model", prompt="x")
        assert server.count == 0


# --- errors -----------------------------------------------------------------------------------------


async def test_a_wrong_key_is_refused() -> None:
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


async def met(name: str, **more: Any) -> openai.APIStatusError:
    """The error of the first request to a server that has only this fault."""
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
    with serving_models(faults=Faults(stalled=1.0, stall_s=60)) as server:
        async with client(server, timeout=0.2) as opened:
            with pytest.raises(openai.APITimeoutError):
                await ask(opened)
    with serving_models(faults=Faults(stalled=1.0, stall_s=0.05)) as server:
        async with client(server) as opened:
            await ask(opened)
        assert server.noted().span_s >= 0.05


# --- messages that cannot be used -------------------------------------------------------------------


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


# --- the plan ---------------------------------------------------------------------------------------


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


# --- what it tells ----------------------------------------------------------------------------------


async def test_requests_headers_and_counters_are_kept() -> None:
    with serving_models(latency_ms=30) as server:
        async with client(server, "sk-seen") as opened:
            await asyncio.gather(*(ask(opened, f"case {n % 5}") for n in range(10)))
        counts = server.noted()
        assert server.count == len(server.requests) == counts.requests == counts.answered == 10
        assert {body["messages"][0]["content"] for body in server.requests} == {f"case {n}" for n in range(5)}
        assert {headers["authorization"] for headers in server.headers} == {"Bearer sk-seen"}
        assert sorted(counts.arrivals.values()) == sorted(counts.answers.values()) == [2] * 5
        assert (counts.max_in_flight, counts.in_flight) == (10, 0)
        assert counts.bytes_in > 500
        assert counts.bytes_out > 2000
        assert counts.span_s >= 0.03
        server.reset()
        assert (server.count, len(server.requests)) == (0, 0)


async def test_a_script_answers_before_everything_else() -> None:
    def respond(body: dict[str, Any]) -> Reply | None:
        return completion(body, "scripted", finish_reason="stop") if body["messages"][0]["content"] == "x" else None

    with serving_models(api_key="sk-right") as server:
        server.respond = respond
        async with client(server, "sk-wrong") as opened:
            assert await content(opened, "x") == "scripted"
            with pytest.raises(openai.AuthenticationError):
                await content(opened, "y")


async def test_a_port_can_be_served_again() -> None:
    with serving_models() as server:
        port = int(server.url.split(":")[2].partition("/")[0])
    with serving_models(port=port) as server:
        async with client(server) as opened:
            await ask(opened)


def test_connections_are_kept_alive() -> None:
    import http.client

    with serving_models() as server:
        connection = http.client.HTTPConnection("127.0.0.1", int(server.url.split(":")[2].partition("/")[0]))
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]})
        for _ in range(2):
            connection.request("POST", "/v1/chat/completions", body)
            sent_by = connection.sock
            with connection.getresponse() as answer:
                answer.read()
            assert connection.sock is sent_by is not None
        connection.close()


def test_in_a_process_of_its_own() -> None:
    with models_process(faults=Faults(server_error=1.0, in_a_row=1)) as process:
        for _ in range(2):
            body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
            request = urllib.request.Request(f"{process.url}/chat/completions", body)
            try:
                urllib.request.urlopen(request, timeout=10).close()
            except OSError as error:
                error.close()  # type: ignore[attr-defined]
        counters = process.counters()
        assert (counters["requests"], counters["answered"]) == (2, 1)
        assert counters["statuses"] == {"500": 1, "200": 1}
        assert counters["faults"] == {"server_error": 1}
        assert list(counters["arrivals"].values()) == [2]
        assert [body["messages"][0]["content"] for body in process.requests()] == ["x", "x"]
        assert process.counters(reset=True)["requests"] == 0


def test_the_process_prints_its_address_and_ends_when_told() -> None:
    command = [sys.executable, "-m", "tests.services.models_server", "--port", "0", "--latency-ms", "1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.terminate()
        assert process.wait(10) == -signal.SIGTERM
