"""Parameters that a server or a model refuses are left out, against a real server."""

from pathlib import Path
from typing import Any

from runner.errors import StopRunError
from runner.llm.messages import ChatReply
from runner.llm.retry import accepted_body
from tests.runner.llm.asked_model import asked
from tests.services.doors import models, question, score
from tests.services.models_faults import refused
from tests.services.models_replies import Reply, error
from tests.services.models_server import ModelsServer

JSON_OBJECT = {"type": "json_object"}


async def test_parameters_are_left_out_one_after_the_other_and_for_good(server: ModelsServer, tmp_path: Path) -> None:
    server.refuses = ("max_tokens", "temperature", "seed", "response_format")
    door = models(server.url, tmp_path, provider_add={"*": {"top_k": 5}})
    first, second = await asked(door, 2, at_once=False, seed=1)
    assert isinstance(first, ChatReply) and isinstance(second, ChatReply)
    assert first.attempts == 6  # any JSON is refused before none is asked for
    assert second.attempts == 1
    assert server.count == 7
    assert set(server.requests[-1]) == {"model", "messages", "max_completion_tokens", "top_k"}
    assert server.requests[-1]["max_completion_tokens"] == 50


async def test_requests_that_were_under_way_when_it_was_learnt_are_sent_again(
    server: ModelsServer, tmp_path: Path
) -> None:
    server.refuses = ("temperature", "max_tokens")
    replies = await asked(models(server.url, tmp_path), 8)
    assert all(isinstance(reply, ChatReply) for reply in replies)
    assert server.requests[-1].keys() == {"model", "messages", "max_completion_tokens", "response_format"}


async def test_a_schema_that_is_refused_becomes_any_json_where_that_is_taken(
    server: ModelsServer, tmp_path: Path
) -> None:
    def respond(body: dict[str, Any]) -> Reply | None:
        return (
            refused("response_format", body) if body.get("response_format", {}).get("type") == "json_schema" else None
        )

    server.respond = respond
    door = models(server.url, tmp_path)
    async with door.open():
        assert 0 <= await door.model("test:m", "judge").ask_for_json(question("1"), score) <= 1
    assert [body["response_format"]["type"] for body in server.requests] == ["json_schema", "json_object"]


async def test_a_field_that_conf_adds_is_left_out_when_its_value_is_refused(
    server: ModelsServer, tmp_path: Path
) -> None:
    complaint = "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."

    def respond(body: dict[str, Any]) -> Reply | None:
        wrong = "reasoning_effort" in body
        return error(400, complaint, kind="x", param="reasoning_effort", code="unsupported_value") if wrong else None

    server.respond = respond
    replies = await asked(models(server.url, tmp_path, provider_add={"*": {"reasoning_effort": "minimal"}}), 3)
    assert all(isinstance(reply, ChatReply) for reply in replies)


async def test_how_long_an_answer_may_be_is_never_left_open(server: ModelsServer, tmp_path: Path) -> None:
    server.refuses = ("max_tokens", "max_completion_tokens")
    failed, again = await asked(models(server.url, tmp_path), 2, at_once=False)
    assert isinstance(failed, StopRunError) and isinstance(again, StopRunError)
    assert "Unsupported parameter: 'max_completion_tokens'" in str(failed)
    assert server.count == 2


async def test_what_one_model_refuses_another_gets(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: (
        refused("temperature", body) if body["model"] == "strict" and "temperature" in body else None
    )
    door = models(server.url, tmp_path)
    async with door.open():
        for name in ("test:strict", "test:lax"):
            await door.model(name, "judge").chat(question("1"))
    assert ["temperature" in body for body in server.requests] == [True, False, True]


def test_any_json_is_asked_for_only_where_a_message_speaks_of_it() -> None:
    body = {"messages": [{"role": "user", "content": "판정하라"}], "response_format": {"type": "json_schema"}}
    assert accepted_body(body, {"response_format": 1}).keys() == {"messages"}
    body["messages"] = [{"role": "user", "content": "JSON으로 답하라"}]
    assert accepted_body(body, {"response_format": 1})["response_format"] == JSON_OBJECT
    assert accepted_body(body, {"response_format": 2}).keys() == {"messages"}
