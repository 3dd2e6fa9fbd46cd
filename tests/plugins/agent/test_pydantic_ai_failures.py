"""The agent of pydantic-ai when tools, models or packages fail."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.errors import StopRunError
from tests.plugins.agent.scripted_models import ENOUGH, LACKING, QUESTION, VERDICT, Call, Script, asked, run, search
from tests.services.doors import models
from tests.services.models_replies import Reply, completion, error
from tests.services.models_server import ModelsServer


def reranked(server: ModelsServer) -> list[dict[str, Any]]:
    return [body for body in server.requests if "tools" not in body]


def _tokens(body: dict[str, Any]) -> int:
    """As the server counts those of a request."""
    counted: int = json.loads(completion(body, "").body)["usage"]["prompt_tokens"]
    return counted


def test_malformed_replies_of_the_reranker(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: "찾았습니다." if n else [search("비용")], '{"ranked_indices": [1, 1')
    found = run(models(server.url, tmp_path), tmp_path)
    (call,) = found.calls
    assert call.assessment.ranked == call.found == ("guide#0", "faq#0")  # as the search found them
    assert "no usable answer in 4 replies" in str(call.error)
    agent, reranker = (sum(_tokens(body) for body in bodies) for bodies in (asked(server), reranked(server)))
    assert call.input_tokens == agent + reranker  # what was of no use was paid for, too
    assert (found.fallback, found.message, found.confidence) == ("best_effort", None, None)


def test_a_query_that_is_repeated(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: [search("비용")] if "search_all" in offered else "더 없습니다.")
    found = run(models(server.url, tmp_path), tmp_path)
    assert [call.arguments for call in found.calls] == [{"query": "비용"}] * 3
    assert (found.stopped, found.fallback) == ("calls_spent", "best_effort")


def test_tools_that_fail(server: ModelsServer, tmp_path: Path) -> None:
    calls = [
        ("get_section", '{"chunk_id": "nowhere#1"}'),
        ("search_by_metadata", '{"query": "비용", "doc_type": "faq"}'),
        ("search_by_metadata", '{"query": "비용"}'),
    ]
    server.respond = Script(lambda n, offered: [calls[n]] if n < 3 else "없습니다.")
    found = run(models(server.url, tmp_path), tmp_path)
    assert [call.error for call in found.calls] == [
        "there is no chunk 'nowhere#1'",
        "no chunk has a tag 'doc_type'; known: has_steps, section",
        "expected at least one tag to search by",
    ]
    assert (found.fallback, found.message) == ("not_ready", "해당 내용은 준비 중입니다.")
    assert "there is no chunk" in asked(server)[1]["messages"][-1]["content"]  # the model is told


def test_a_low_confidence(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: "끝." if n else [search("비용")], {**LACKING, "confidence": 0.49})
    found = run(models(server.url, tmp_path), tmp_path)
    assert (found.fallback, found.message) == ("not_found", "관련 문서를 찾지 못했습니다.\n- [비용](/cost)")


def test_a_model_that_calls_nothing_gets_the_question_searched(server: ModelsServer, tmp_path: Path) -> None:
    server.respond = Script(lambda n, offered: "예약 인스턴스를 사세요.", dict(ENOUGH))
    found = run(models(server.url, tmp_path), tmp_path)
    assert [call.arguments["query"] for call in found.calls] == [QUESTION.text]
    assert (found.stopped, found.fallback) == ("sufficient", None)


def test_arguments_that_are_none_are_no_call(server: ModelsServer, tmp_path: Path) -> None:
    turns: list[Sequence[Call] | str] = [
        [("search_all", "{broken")],
        [("search_all", '{"words": "비용"}')],
        [("look_up", "{}")],
        [search("비용")],
        [VERDICT],
    ]
    server.respond = Script(lambda n, offered: turns[n], dict(ENOUGH))
    found = run(models(server.url, tmp_path), tmp_path)
    assert len(found.calls) == 1
    assert found.stopped == "sufficient"
    assert len(asked(server)) == 5


def test_a_request_that_fails_leaves_what_was_found(server: ModelsServer, tmp_path: Path) -> None:
    script = Script(lambda n, offered: [search("비용")])

    def respond(body: dict[str, Any]) -> Reply:
        if any(message["role"] == "tool" for message in body["messages"]):
            return error(400, "context length exceeded", kind="invalid_request_error")
        return script(body)

    server.respond = respond
    found = run(models(server.url, tmp_path), tmp_path)
    assert len(found.calls) == 1
    assert (found.stopped, found.fallback) == ("failed", "best_effort")
    assert "context length exceeded" in found.facts["error"]


@pytest.mark.parametrize("whose", ["agent", "reranker"])
def test_what_is_wrong_for_every_question_ends_the_run(whose: str, server: ModelsServer, tmp_path: Path) -> None:
    script = Script(lambda n, offered: [search("비용")])

    def respond(body: dict[str, Any]) -> Reply:
        if ("tools" in body) == (whose == "agent"):
            return error(401, "Incorrect API key", kind="invalid_request_error")
        return script(body)

    server.respond = respond
    with pytest.raises(StopRunError, match="Incorrect API key"):
        run(models(server.url, tmp_path), tmp_path)
