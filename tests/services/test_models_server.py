"""The models server as a plain openai client sees it."""

import asyncio
import json
import math
import signal
import subprocess
import sys
import urllib.request
from typing import Any

import numpy as np
import pytest

from tests.services.models_client import JUDGED, ask, client, content
from tests.services.models_faults import Faults
from tests.services.models_replies import SOURCE, Reply, completion, fitting, vector
from tests.services.models_server import ROOT, models_process, serving_models

# --- good answers ---------------------------------------------------------------------------------


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
    import openai

    with serving_models() as server:
        async with client(server) as opened:
            assert [model.id for model in (await opened.models.list()).data] == ["test-model"]
            with pytest.raises(openai.NotFoundError):
                await opened.completions.create(model="test-model", prompt="x")
        assert server.count == 0


# --- what it tells --------------------------------------------------------------------------------


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
    import openai

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
