"""All models of a run together."""

import asyncio
from pathlib import Path
from threading import Thread

import pytest

from runner.errors import ConfigError, InputError, StopRunError
from runner.llm.models import Models, models_among
from tests.services.doors import models, question
from tests.services.models_server import ModelsServer


async def ask(door: Models, text: str) -> str:
    model = door.model("test:m", "judge")
    async with door.open():
        return (await model.chat(question(text))).text


def test_one_event_loop_after_the_other(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, budget={"requests": 3})
    texts = [asyncio.run(ask(door, text)) for text in ("1", "2", "1")]
    assert texts[0] == texts[2] != texts[1]
    assert server.count == 2
    asyncio.run(ask(models(server.url, tmp_path), "3"))
    assert server.count == 3


def test_a_program_without_an_event_loop_and_a_thread_beside_one(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path)
    model = door.model("test:e", "embedder")
    assert [len(row) for row in door.blocking(model.embed(["a"])).rows] == [64]
    found = []

    async def main() -> None:
        async with door.open():
            beside = Thread(target=lambda: found.append(len(door.blocking(model.embed(["a", "b"])).rows)))
            beside.start()
            while beside.is_alive():
                await asyncio.sleep(0.01)

    asyncio.run(main())
    assert found == [2]


def test_names_and_providers(tmp_path: Path) -> None:
    door = models("http://127.0.0.1:9/v1", tmp_path)
    door.model("test:b", "judge")
    door.model("test:a", "judge")
    door.model("test:a", "generator")
    assert door.names == {"generator": ["test:a"], "judge": ["test:a", "test:b"]}
    with pytest.raises(ConfigError, match="judge: no provider 'tets'; did you mean 'test'"):
        door.model("tets:a", "judge")
    with pytest.raises(ConfigError, match="judge: expected provider:model"):
        door.model("gpt-4o-mini", "judge")
    assert models_among([1, door, "x"]) is door
    assert models_among([1]) is None


async def test_a_key_is_only_needed_where_something_is_asked(
    server: ModelsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "a key")
    await ask(models(server.url, tmp_path, provider_api_key_env="TEST_KEY"), "1")
    monkeypatch.delenv("TEST_KEY")
    door = models(server.url, tmp_path, provider_api_key_env="TEST_KEY")
    assert await ask(door, "1")
    with pytest.raises(InputError, match="TEST_KEY is not set"):
        await ask(door, "2")
    assert [problem.key for problem in door.keys_missing(["test:m", "test:n"])] == ["provider.test.api_key_env"]
    assert door.keys_missing([]) == []
    assert server.count == 1


async def test_nothing_is_asked_where_answers_could_not_be_stored(server: ModelsServer, tmp_path: Path) -> None:
    (tmp_path / "models.sqlite").mkdir()
    with pytest.raises(StopRunError, match="cache=use cannot store answers"):
        await ask(models(server.url, tmp_path), "1")
    assert server.count == 0
    assert await ask(models(server.url, tmp_path, cache="none"), "1")


async def test_a_run_that_asks_no_model_leaves_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    door = models("http://127.0.0.1:9/v1", tmp_path / "cache", out=str(folder), budget={"usd": 1.0})
    async with door.open("0"):
        pass
    assert door.usage("0") == {}
    assert door.describe_spending() == ""
    assert list(folder.iterdir()) == []
    assert not (tmp_path / "cache").exists()


async def test_a_model_that_is_made_while_the_door_is_open_is_closed_with_it(
    server: ModelsServer, tmp_path: Path
) -> None:
    """An open socket would be an error here."""
    door = models(server.url, tmp_path)
    async with door.open():
        await door.model("test:m", "judge").chat(question("1"))


async def test_cells_are_told_apart(server: ModelsServer, tmp_path: Path) -> None:
    door = models(server.url, tmp_path, out=str(tmp_path))
    model = door.model("test:m", "judge")
    for cell in ("0", "1"):
        async with door.open(cell):
            await model.chat(question(cell))
    again = models(server.url, tmp_path, out=str(tmp_path))
    for cell in ("0", "1"):
        assert again.usage(cell)["usage_total"]["live"]["requests"] == 1
    assert again.usage("2") == {}


async def test_the_budget_of_an_earlier_start_is_spent_still(server: ModelsServer, tmp_path: Path) -> None:
    settings = {"out": str(tmp_path), "budget": {"requests": 2}}
    for text in ("1", "2"):
        await ask(models(server.url, tmp_path, **settings), text)
    with pytest.raises(StopRunError, match=r"^budget\.requests=2 is spent \(2 used\)$"):
        await ask(models(server.url, tmp_path, **settings), "3")
    assert await ask(models(server.url, tmp_path, out=str(tmp_path), budget={"requests": 3}), "3")
    assert not list(tmp_path.glob(".present-*"))


async def test_requests_in_flight_are_limited_over_all_models_of_a_server(server: ModelsServer, tmp_path: Path) -> None:
    server.latency_s = 0.05
    door = models(server.url, tmp_path, max_concurrency=3)
    judge, generator = door.model("test:m", "judge"), door.model("test:g", "generator")
    async with door.open():
        await asyncio.gather(*(each.chat(question(str(n))) for n in range(6) for each in (judge, generator)))
    assert server.counts.max_in_flight == 3


def test_no_network_is_needed_to_open_a_door(tmp_path: Path, closed_port: int) -> None:

    async def main() -> None:
        door = models(f"http://127.0.0.1:{closed_port}/v1", tmp_path)
        door.model("test:m", "judge")
        async with door.open():
            pass

    asyncio.run(main())


def test_a_model_at_an_address_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:hunter22@127.0.0.1/v1")
    door = Models(
        providers={"test": {"base_url": None, "api_key_env": None}, "other": {"base_url": "http://127.0.0.1:8/v1"}},
        cache="replay",
        budget={},
        cache_dir=str(tmp_path),
        out=None,
        timeout_ms=1000,
        max_concurrency=1,
    )
    door.model("other:m", "judge")
    with pytest.raises(ConfigError) as caught:
        door.model("test:m", "judge")
    assert str(caught.value) == (
        "1 problem in the configuration:\n"
        "  OPENAI_BASE_URL: expected an address such as http://127.0.0.1:8080/v1; this one holds user:password@, ? or "
        "#, and it is kept with the results: put the key into an environment variable, and its NAME into api_key_env"
    )
