"""Functions that a model may call, from the request to the reply, against a real server."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.errors import EvaluationError
from runner.llm.messages import ChatReply, ChatRequest, Function, FunctionCall, Message, Usage
from runner.llm.rehearsal import REHEARSED, Rehearsal
from runner.llm.replies import chat_reply, reply_from_json, reply_to_json
from runner.llm.tokens import PER_MESSAGE, count_tokens
from tests.services.doors import models
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer

SEARCH = Function(
    "search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
)
READ = Function("read", "Reads.", {"type": "object", "properties": {"id": {"type": "string"}}})
REQUEST = ChatRequest((Message("user", "배포는 어떻게 하나요?"),), max_tokens=50, functions=(SEARCH, READ))
TOOLS = [
    {
        "type": "function",
        "function": {"name": each.name, "description": each.description, "parameters": each.parameters},
    }
    for each in (SEARCH, READ)
]


def calling(body: dict[str, Any]) -> Reply | None:
    """Two searches first, then an answer."""
    if any(message["role"] == "tool" for message in body["messages"]):
        return completion(body, "찾았습니다.")
    return completion(body, None, calls=[("search", '{"query": "배포"}'), ("search", '{"query": "릴리스"}')])


async def test_a_conversation_with_calls(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = calling
    door = models(server.url, tmp_path)
    model = door.model("test:m", "agent")
    async with door.open("0"):
        asked = await model.chat(REQUEST)
        again = await model.chat(REQUEST)
        results = tuple(Message("tool", f"결과 {call.arguments}", call_id=call.id) for call in asked.calls)
        told = await model.chat(replace(REQUEST, messages=(*REQUEST.messages, *_said(asked), *results)))
    assert [(call.name, json.loads(call.arguments)["query"]) for call in asked.calls] == [
        ("search", "배포"),
        ("search", "릴리스"),
    ]
    assert asked.text == ""
    assert (again.calls, again.cached) == (asked.calls, True)  # calls are kept with the reply
    assert (told.text, told.calls) == ("찾았습니다.", ())
    first, second = server.requests
    assert first["tools"] == second["tools"] == TOOLS
    ids = [call.id for call in asked.calls]
    assert second["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": ids[0], "type": "function", "function": {"name": "search", "arguments": '{"query": "배포"}'}},
                {"id": ids[1], "type": "function", "function": {"name": "search", "arguments": '{"query": "릴리스"}'}},
            ],
        },
        {"role": "tool", "content": '결과 {"query": "배포"}', "tool_call_id": ids[0]},
        {"role": "tool", "content": '결과 {"query": "릴리스"}', "tool_call_id": ids[1]},
    ]


def _said(reply: ChatReply) -> tuple[Message, ...]:
    return (Message("assistant", reply.text, reply.calls),)


async def test_other_functions_are_another_request(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    async with door.open():
        for functions in ((SEARCH, READ), (SEARCH,), ()):
            await door.model("test:m", "agent").chat(replace(REQUEST, functions=functions))
    assert server.count == 3
    assert "tools" not in server.requests[2]


async def test_a_server_without_functions_is_not_asked_without_them(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = lambda body: error(400, "Unsupported parameter: 'tools'", kind="invalid_request_error")
    door = models(server.url, tmp_path)
    async with door.open():
        with pytest.raises(EvaluationError, match="Unsupported parameter: 'tools'"):
            await door.model("test:m", "agent").chat(REQUEST)
    assert server.count == 1


@pytest.mark.parametrize(
    ("arguments", "read"),
    [('{"query": "a"}', '{"query": "a"}'), ({"query": "가"}, '{"query": "가"}'), (None, "{}"), ("", "{}")],
)
def test_arguments_as_servers_send_them(arguments: Any, read: str) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": arguments}}
    reply, _ = chat_reply({"choices": [{"message": {"content": None, "tool_calls": [call]}}]})
    assert reply.calls == (FunctionCall("1", "search", read),)


@pytest.mark.parametrize("call", [{}, {"id": 1, "function": {"name": "a"}}, {"id": "1", "function": {"name": None}}])
def test_what_is_no_call(call: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        chat_reply({"choices": [{"message": {"content": None, "tool_calls": [call]}}]})


def test_calls_are_stored_with_a_reply() -> None:
    reply = ChatReply("", "tool_calls", None, Usage(), (FunctionCall("1", "search", "{}"),))
    assert reply_from_json(reply_to_json(reply, Usage())).calls == reply.calls
    assert "calls" not in reply_to_json(replace(reply, calls=()), Usage())  # as replies were stored before


async def test_a_rehearsal_makes_one_call_and_counts_the_functions(tmp_path: Path) -> None:
    door, rehearsal = models("http://127.0.0.1:9/v1", tmp_path), Rehearsal(reply_tokens=8)
    model = door.model("test:m", "agent")
    with door.rehearsing(rehearsal, "0"):
        async with door.open():
            first = await model.chat(REQUEST)
            result = Message("tool", "nothing", call_id=first.calls[0].id)
            second = await model.chat(replace(REQUEST, messages=(*REQUEST.messages, *_said(first), result)))
    assert first.calls == (FunctionCall(REHEARSED, "search", f'{{"query":"{REHEARSED}"}}'),)
    assert second.calls == ()
    (expected,) = rehearsal.expected.values()
    assert expected.live == 2
    tools = count_tokens(json.dumps(TOOLS, separators=(",", ":")))
    assert expected.input_tokens > 2 * tools + 4 * PER_MESSAGE
