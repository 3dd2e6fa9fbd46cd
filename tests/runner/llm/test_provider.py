from typing import Any

import pytest

from runner.errors import InputError
from runner.llm.messages import ChatRequest, Message
from runner.llm.provider import Provider, replace_surrogates
from tests.services.models_replies import completion
from tests.services.models_server import serving_models

REQUEST = ChatRequest(
    (Message("system", "판정"), Message("user", "a\ud800b")),
    max_tokens=9,
    temperature=0.0,
    seed=3,
    schema={"type": "object"},
)
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}}}
MESSAGES = [{"role": "system", "content": "판정"}, {"role": "user", "content": "a?b"}]


def provider(**settings: Any) -> Provider:
    return Provider("test", {"api_key_env": None, **settings}, timeout_s=1, max_concurrency=8)  # type: ignore[typeddict-item]


def test_the_body_says_all_that_was_asked_for() -> None:
    assert provider().body("m", REQUEST) == {
        "model": "m",
        "messages": MESSAGES,
        "max_tokens": 9,
        "temperature": 0.0,
        "seed": 3,
        "response_format": FORMAT,
    }
    plain = ChatRequest((Message("user", "hello"),), max_tokens=9)
    assert provider().body("m", plain) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 9,
    }


def test_what_conf_leaves_out_and_adds_by_the_name_of_the_model() -> None:
    settings = {
        "leave_out": {"o*": ["temperature", "max_tokens"], "o1": ["seed"], "x": ["max_tokens"]},
        "add": {"*": {"user": "me"}, "o1": {"reasoning_effort": "low", "user": "o"}},
    }
    one = provider(**settings)
    assert one.body("o1", REQUEST) == {
        "model": "o1",
        "messages": MESSAGES,
        "max_completion_tokens": 9,
        "response_format": FORMAT,
        "user": "o",
        "reasoning_effort": "low",
    }
    assert one.changes("o1") == {
        "leave_out": ["max_tokens", "seed", "temperature"],
        "add": {"user": "o", "reasoning_effort": "low"},
    }
    assert one.changes("gpt") == {"add": {"user": "me"}}
    assert provider().changes("gpt") == {}
    unlimited = provider(leave_out={"*": ["max_tokens", "max_completion_tokens"]}).body("m", REQUEST)
    assert not {"max_tokens", "max_completion_tokens"} & unlimited.keys()


def test_what_conf_leaves_out_of_requests_for_vectors_and_adds() -> None:
    plain = {"model": "e", "input": ["a?b"], "encoding_format": "float"}
    assert provider().embedding_body("e", ["a\ud800b"], None) == plain
    settings = {"leave_out": {"e*": ["encoding_format", "dimensions", "max_tokens"]}, "add": {"e": {"truncate": True}}}
    assert provider(**settings).embedding_body("e", ["x"], 8) == {"model": "e", "input": ["x"], "truncate": True}
    assert provider(**settings).embedding_body("other", ["x"], 8) == {**plain, "model": "other", "input": ["x"]} | {
        "dimensions": 8
    }


def test_without_an_address_the_variable_then_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert provider().address == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert provider().address == "http://127.0.0.1:9/v1"
    assert provider(base_url="http://127.0.0.1:8/v1/").address == "http://127.0.0.1:8/v1"


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        (None, "is not set"),
        (" \n", "is not set"),
        ("sk-가나다", "holds characters that no key has"),
        ("sk-a\nb", "holds characters that no key has"),
    ],
)
def test_a_key_that_is_missing(key: str | None, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("TEST_KEY", key)
    problem = provider(base_url="http://127.0.0.1:8/v1", api_key_env="TEST_KEY").problem()
    assert str(problem) == (
        f"provider.test.api_key_env: the environment variable TEST_KEY {fault}; it holds the key for "
        "http://127.0.0.1:8/v1 (provider.test.api_key_env=NAME names another one, null sends none; "
        "cache=replay needs none)"
    )
    with pytest.raises(InputError, match=fault):
        provider(base_url="http://127.0.0.1:8/v1", api_key_env="TEST_KEY").connect()


@pytest.mark.parametrize("address", ["http://u:hunter22@127.0.0.1:9/v1", "http://[::1", "http://😀.invalid/v1"])
def test_an_address_that_is_none(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as of_conf:
        provider(base_url=address).connect()
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(InputError) as of_environment:
        provider().connect()
    for error, key in ((of_conf, "provider.test.base_url"), (of_environment, "OPENAI_BASE_URL")):
        assert str(error.value).startswith(f"{key}: expected an address such as http://127.0.0.1:8080/v1; ")
        assert "hunter22" not in str(error.value)


def test_a_key_that_a_server_repeats_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "my-own-secret")
    one = provider(base_url="http://127.0.0.1/v1", api_key_env="TEST_KEY")
    shown = one.clean_message("Wrong key my-own-secret, or sk-proj-abcdefgh12345678, or sk-live*********1234.")
    assert shown == "Wrong key ***, or sk-proj***, or sk-live***."
    assert len(one.clean_message("x" * 9999)) == 500


@pytest.mark.parametrize(("key", "kept"), [("my-own-secret-0123", "Bearer ***"), ("secret", "Bearer secret")])
async def test_an_answer_that_repeats_the_key_is_kept_without_it(
    key: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it is a word that answers hold anyway."""
    monkeypatch.setenv("TEST_KEY", key)
    with serving_models(api_key=key) as server:
        server.respond = lambda body: completion(body, f"Bearer {key}")
        one = provider(base_url=server.url, api_key_env="TEST_KEY")
        said = await one.send("/chat/completions", {"model": "m", "messages": []})
        await one.close()
    assert said["choices"][0]["message"]["content"] == kept


@pytest.mark.parametrize(("variable", "organisation"), [("OPENAI_API_KEY", "org-1"), ("TEST_KEY", None), (None, None)])
async def test_whose_organisation_it_is_stays_with_openai(
    variable: str | None, organisation: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in [("OPENAI_ORG_ID", "org-1"), ("OPENAI_API_KEY", "k"), ("TEST_KEY", "k")]:
        monkeypatch.setenv(name, value)
    with serving_models() as server:
        one = provider(base_url=server.url, api_key_env=variable)
        assert one.connect() is one.connect()
        await one.send("/chat/completions", one.body("m", REQUEST))
        await one.close()
    assert server.headers[0].get("OpenAI-Organization") == organisation


def test_requests_in_flight_are_those_of_the_run_unless_the_server_bears_less() -> None:
    for number, (setting, ceiling) in enumerate([(None, 8), (3, 3), (100, 8)]):
        one = provider(base_url=f"http://127.0.0.1:{number + 1}/v1", max_concurrency=setting)
        assert one.limiter().ceiling == ceiling


def test_only_what_utf_8_has_is_sent() -> None:
    assert replace_surrogates("plain") == "plain"
    assert replace_surrogates("한글 🎉") == "한글 🎉"
    assert replace_surrogates("\udc80한") == "?한"
