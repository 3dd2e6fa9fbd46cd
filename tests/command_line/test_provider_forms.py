"""The providers of conf/provider against replies and errors in the form that each of them documents, on loopback."""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from runner.llm.messages import Usage
from runner.llm.replies import chat_reply
from tests.services.models_replies import Reply, chat
from tests.services.models_server import ModelsServer, serving_models
from tests.small_data import small_data

CONF = Path(__file__).resolve().parents[2] / "conf" / "provider"
NAMES = sorted(path.stem for path in CONF.glob("*.yaml"))
KEY = "key-of-the-tests-1234567890"
CHECKED = {"messages", "model"}  # what every server is sent


def settings(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CONF / f"{name}.yaml").read_text(encoding="utf-8"))
    return loaded


def run(name: str, server: ModelsServer, folder: Path, *words: str, model: str = "m") -> int:
    """The judge and the generator are a model of this provider."""
    chosen = ["openai", "local", *([name] if name not in ("openai", "local") else [])]
    return main(
        [
            "+experiment=full_rag",
            *small_data(folder),
            f"provider=[{','.join(chosen)}]",
            f"provider.{name}.base_url={server.url}",
            "generator=openai",
            f"generator.model={name}:{model}",
            "judge=openai",
            f"judge.model={name}:{model}",
            "judge.health=false",
            "tracking=none",
            "out=run",
            "sample=1",
            "format=json",
            *words,
        ]
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        if variable := settings(name).get("api_key_env"):
            monkeypatch.setenv(variable, KEY)


def test_every_provider_of_the_task_is_there() -> None:
    asked = "anthropic gemini azure openrouter mistral deepseek upstage vllm ollama llama_cpp openai local"
    assert sorted(asked.split()) == NAMES


# Asked in the same way as another one, with which CI runs.
ALIKE = {"upstage": "gemini", "llama_cpp": "local", "ollama": "local", "vllm": "local"}


def test_those_that_are_asked_alike_have_the_same_ways() -> None:
    ways = {
        name: ([settings(name).get(way) for way in ("leave_out", "rename", "response_format", "add")], key is None)
        for name in NAMES
        for key in [settings(name)["api_key_env"]]
    }
    assert {name: ways[name] for name in ALIKE} == {name: ways[other] for name, other in ALIKE.items()}


def fewest(names: Iterable[str], alike: Collection[str]) -> list[Any]:
    """All names; those that are asked like another one only in `make slow`."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in alike else name for name in names]


@pytest.mark.parametrize("name", fewest(NAMES, ALIKE))
def test_a_run_with_the_parameters_that_each_takes(name: str, tmp_path: Path) -> None:
    with serving_models() as server:
        assert run(name, server, tmp_path) == 0
        sent: set[str] = set().union(*server.requests)
        formats = {body["response_format"]["type"] for body in server.requests if "response_format" in body}
        headers = [{key.lower(): value for key, value in each.items()} for each in server.headers]
    assert sent >= CHECKED
    takes_seed = name in ("openai", "openrouter", "azure", "vllm", "ollama", "llama_cpp", "local")
    assert ("seed" in sent, "random_seed" in sent) == (takes_seed, name == "mistral")
    assert formats == {"anthropic": set(), "deepseek": {"json_object"}}.get(name, {"json_schema"})
    assert ("provider" in sent) == (name == "openrouter")
    has_key = settings(name)["api_key_env"] is not None
    expected = {"api-key": KEY} if name == "azure" else {"authorization": f"Bearer {KEY if has_key else 'none'}"}
    assert all(
        {key: each.get(key) for key in ("api-key", "authorization") if key in each} == expected for each in headers
    )


def test_the_version_that_azure_wants_is_asked_for(tmp_path: Path) -> None:
    with serving_models() as server:
        assert (
            run("azure", server, tmp_path, '+provider.azure.query={api-version: "2024-10-21"}', model="gpt-5-mini") == 0
        )
        assert {path.partition("?")[2] for path in server.paths} == {"api-version=2024-10-21"}
        assert all("max_completion_tokens" in body and "max_tokens" not in body for body in server.requests)


def test_azure_without_its_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["judge=openai", "judge.model=azure:m", "+experiment=full_rag", "provider=[openai,azure]", "out=x"]) == 1
    )
    assert capsys.readouterr().err == (
        "error: 1 problem in the configuration:\n"
        "  provider.azure.base_url: expected an address such as http://127.0.0.1:8080/v1; none is given\n"
    )


def test_a_provider_that_is_not_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["+experiment=full_rag", "judge=openai", "judge.model=mistral:mistral-small-latest", "out=x"]) == 1
    assert capsys.readouterr().err == (
        "error: 1 problem in the configuration:\n"
        "  judge.model: the provider 'mistral' is not chosen; provider=[openai,local,mistral] adds it\n"
    )


# --- replies ----------------------------------------------------------------------------------------


def said(usage: Mapping[str, Any] | None, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Yes.", **message}, "finish_reason": "stop"}
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


USAGES: list[tuple[str, Any, Usage | None]] = [
    ("anthropic", {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}, Usage(20, 5, 0)),
    ("gemini, which thinks", {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 125}, Usage(20, 105, 0)),
    (
        "deepseek",
        {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "total_tokens": 25,
            "prompt_cache_hit_tokens": 12,
            "prompt_cache_miss_tokens": 8,
        },
        Usage(20, 5, 12),
    ),
    (
        "openai",
        {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "total_tokens": 25,
            "prompt_tokens_details": {"cached_tokens": 16},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        Usage(20, 5, 16),
    ),
    ("openrouter", {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25, "cost": 0.0001}, Usage(20, 5, 0)),
    ("a server that counts nothing", None, None),
]


@pytest.mark.parametrize(("usage", "expected"), [case[1:] for case in USAGES], ids=[case[0] for case in USAGES])
def test_usage(usage: Any, expected: Usage | None) -> None:
    reply, counted = chat_reply(said(usage))
    assert (reply.text, counted) == ("Yes.", expected)


def test_what_a_model_thinks_is_no_part_of_its_answer() -> None:
    mistral = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Yes."}]
    assert chat_reply(said(None, content=mistral))[0].text == "Yes."
    assert chat_reply(said(None, reasoning_content="hm"))[0].text == "Yes."  # DeepSeek, vLLM
    assert chat_reply(said(None, content=None, refusal="I cannot help."))[0].refusal == "I cannot help."


# --- errors -----------------------------------------------------------------------------------------

GEMINI_SPENT = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.1s"}],
        }
    }
]
TOO_MANY: dict[str, tuple[int, Any, dict[str, str]]] = {
    "anthropic": (429, {"error": {"type": "rate_limit_error", "message": "slow down"}}, {"retry-after": "0"}),
    "gemini": (429, GEMINI_SPENT, {}),
    "openrouter": (200, {"error": {"code": 429, "message": "upstream is busy", "metadata": {}}}, {}),
    "mistral": (429, {"object": "error", "message": "Requests rate limit exceeded", "type": "rate_limited"}, {}),
    "azure": (429, {"error": {"code": "429", "message": "retry after 1 s"}}, {"retry-after-ms": "10"}),
}


def scripted(server: ModelsServer, status: int, body: Any, headers: Mapping[str, str], times: int = 1) -> None:
    """The first answers, before all is as usual."""
    left = [times]

    def respond(request: dict[str, Any]) -> Reply | None:
        left[0] -= 1
        return Reply(status, json.dumps(body).encode(), headers) if left[0] >= 0 else None

    server.respond = respond


@pytest.mark.parametrize("name", fewest(TOO_MANY, {"anthropic", "mistral", "azure"}))
def test_too_many_requests_are_waited_for(name: str, tmp_path: Path) -> None:
    with serving_models() as server:
        scripted(server, *TOO_MANY[name])
        assert run(name, server, tmp_path) == 0
        assert server.count > 2
    summary = json.loads(Path("run/summary.json").read_text(encoding="utf-8"))
    assert summary["cases"]["failed"] == 0


def test_an_overloaded_server_is_asked_again(tmp_path: Path) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with serving_models() as server:
        scripted(server, 529, overloaded, {})
        assert run("anthropic", server, tmp_path) == 0


UNPAID: list[tuple[str, int, Any, str]] = [
    (
        "deepseek",
        402,
        {"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}},
        "402: Insufficient Balance",
    ),
    ("openrouter", 402, {"error": {"code": 402, "message": "Insufficient credits"}}, "402: Insufficient credits"),
    (
        "upstage",
        401,
        {"error": {"message": "The API key is invalid.", "code": "invalid_api_key"}},
        "401: The API key is invalid.",
    ),
    (
        "ollama",
        404,
        {"error": {"message": "model 'm' not found", "type": "not_found_error"}},
        "404: model 'm' not found",
    ),
    (
        "vllm",
        404,
        {"object": "error", "message": "The model `m` does not exist.", "code": 404},
        "404: The model `m` does not",
    ),
]


@pytest.mark.parametrize("name", fewest([case[0] for case in UNPAID], {"openrouter", "ollama"}))
def test_what_ends_a_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ((status, body, told),) = [case[1:] for case in UNPAID if case[0] == name]
    with serving_models() as server:
        scripted(server, status, body, {}, times=1000)
        assert run(name, server, tmp_path) == 3
        assert server.count <= 4  # those in flight
    assert told in " ".join(capsys.readouterr().err.split())


GEMINI_UNKNOWN = [
    {"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'}}
]
EXTRA = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 1}
REFUSED_SEED: dict[str, tuple[int, Any]] = {
    "gemini": (400, GEMINI_UNKNOWN),
    "mistral": (422, {"object": "error", "message": {"detail": [EXTRA]}, "type": "invalid_request_error"}),
}


@pytest.mark.parametrize("name", REFUSED_SEED)
def test_a_parameter_that_is_refused_is_left_out(name: str, tmp_path: Path) -> None:
    """As if conf did not know it."""
    status, body = REFUSED_SEED[name]
    with serving_models() as server:

        def respond(request: dict[str, Any]) -> Reply | None:
            return Reply(status, json.dumps(body).encode()) if "seed" in request else None

        server.respond = respond
        assert run(name, server, tmp_path, f"provider.{name}.leave_out={{}}", f"++provider.{name}.rename={{}}") == 0


def test_what_azure_filters_fails_its_case_alone(tmp_path: Path) -> None:
    filtered = {
        "error": {
            "message": "The response was filtered due to the prompt triggering the content management policy.",
            "param": "prompt",
            "code": "content_filter",
            "status": 400,
            "innererror": {"code": "ResponsibleAIPolicyViolation"},
        }
    }
    with serving_models() as server:

        def respond(request: dict[str, Any]) -> Reply | None:
            is_answer = "response_format" not in request
            asks = "Moon" in json.dumps(request["messages"][-1]["content"])
            return Reply(400, json.dumps(filtered).encode()) if is_answer and asks else chat(request)

        server.respond = respond
        assert run("azure", server, tmp_path, "sample=null", "max_failure_rate=1") == 0
    rows = [json.loads(line) for line in Path("run/per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    failed = [row for row in rows if row["status"] == "failed"]
    assert 0 < len(failed) < len(rows)
    assert all("content management policy" in row["error"] for row in failed)
