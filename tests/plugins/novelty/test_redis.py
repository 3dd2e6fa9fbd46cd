"""A cache that lasts, and a server that is guarded, foreign or gone."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from plugins.embedder.none import NoEmbedder
from plugins.novelty.redis import RedisNovelty
from runner.domains.memory import redis_server
from runner.domains.traces.records import Trace
from runner.errors import ConfigError, InputError, StopRunError
from runner.protocols import Embedder
from runner.system.store import Store
from tests.plugins.novelty.embedders import Fitted, Points
from tests.runner.domains.traces.examples import trace
from tests.services.redis_proxies import serving_tls, write_certificate
from tests.services.redis_server import PASSWORD, VARIABLE, RedisServer, serving_cluster


@pytest.fixture
def server(redis: RedisServer) -> RedisServer:
    redis.asked("FLUSHALL")
    return redis


def at(id: str, point: str) -> Trace:
    return trace(id, [("thought", point, None)])


async def told(
    server: RedisServer, folder: Path, traces: Sequence[Trace], embedder: Embedder | None = None, **settings: Any
) -> dict[str, float]:
    embedder = embedder or Points()
    given = {"url": server.url, "password_env": VARIABLE, "dimensions": 2, "retries": 0}
    subject = RedisNovelty(embedder=embedder, **{**given, **settings})
    return dict(await subject.of(traces, {trace.id for trace in traces}, Store(folder, {id(embedder): "1"})))


A, B, C = at("a", "1 0"), at("b", "0 1"), at("c", "3 4")


async def test_a_cache_without_a_name_ends_with_its_run(server: RedisServer, tmp_path: Path) -> None:
    assert await told(server, tmp_path, [A, B]) == {"a": 0.5, "b": 1.0}
    assert server.asked("KEYS", "*") == []


async def test_a_cache_with_a_name_lasts(server: RedisServer, tmp_path: Path) -> None:
    assert await told(server, tmp_path, [A], name="팀:1", idle_hours=2) == {"a": 0.5}
    assert await told(server, tmp_path, [B, C], name="팀:1", idle_hours=2) == {"b": 1.0, "c": pytest.approx(0.2)}
    assert await told(server, tmp_path, [C], name="팀") == {"c": 0.5}
    keys = sorted(server.asked("KEYS", "novelty:{%ED%8C%80%3A1}:*"))
    assert keys == [b"novelty:{%ED%8C%80%3A1}:" + part for part in (b"state", b"vectors")]
    assert all(7_100_000 < server.asked("PTTL", key) <= 7_200_000 for key in keys)
    assert server.asked("LLEN", keys[1]) == 3


async def test_a_run_that_is_repeated_finds_what_it_found(server: RedisServer, tmp_path: Path) -> None:
    await told(server, tmp_path, [A], name="team")
    first = await told(server, tmp_path, [B, C], name="team")
    assert await told(server, tmp_path, [B, C], name="team") == first
    changed = at("b", "1 0")  # the same id says something else, and is another trace
    assert await told(server, tmp_path, [changed], name="team") == {"b": 0.0}
    assert server.asked("LLEN", "novelty:{team}:vectors") == 4


async def test_a_cache_holds_vectors_of_one_form(server: RedisServer, tmp_path: Path) -> None:
    await told(server, tmp_path, [A], name="team")
    for others in ({"dimensions": 3}, {"max_elements": 9}, {"embedder": Points(version=2)}):
        with pytest.raises(InputError, match=r"novelty\.name: 'team' holds other vectors"):
            await told(server, tmp_path, [B], name="team", **others)
    assert server.asked("LLEN", "novelty:{team}:vectors") == 1


async def test_vectors_that_the_server_lost_are_missed(server: RedisServer, tmp_path: Path) -> None:
    await told(server, tmp_path, [A, B], name="team")
    server.asked("DEL", "novelty:{team}:vectors")
    with pytest.raises(StopRunError) as caught:
        await told(server, tmp_path, [C], name="team")
    assert str(caught.value) == (
        f"the store {server.url} has lost vectors of the novelty cache; "
        "raise its maxmemory, with maxmemory-policy noeviction"
    )


async def test_who_may_ask(server: RedisServer, tmp_path: Path) -> None:
    with pytest.raises(StopRunError) as caught:
        await told(server, tmp_path, [A], password_env=None)
    assert str(caught.value).startswith(f"the store {server.url} refuses access: ")
    assert str(caught.value).endswith(
        "; novelty.username and novelty.password_env (the NAME of a variable) say who asks"
    )
    assert PASSWORD not in str(caught.value)
    with pytest.raises(StopRunError, match=r"cannot be reached: .* is it up, and novelty\.url right\?"):
        await told(server, tmp_path, [A], url="redis://127.0.0.1:1/0")


async def test_tls(server: RedisServer, tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    async with serving_tls(server.port, certificate, key) as port:
        url = f"rediss://127.0.0.1:{port}"
        assert await told(server, tmp_path, [A, A], url=url, ca_file=str(certificate)) == {"a": 0.0}
        with pytest.raises(StopRunError, match="certificate verify failed"):
            await told(server, tmp_path, [A], url=url)


async def test_a_cluster(tmp_path: Path) -> None:
    with serving_cluster(2) as nodes:
        for name in ("1", "2", "3", "4"):  # on either node
            assert await told(nodes[0], tmp_path, [A, C], cluster=True, name=name) == {
                "a": 0.5,
                "c": pytest.approx(0.4),
            }
        messages = set()
        for name in ("1", "2", "3", "4"):
            try:
                await told(nodes[0], tmp_path, [B], name=name)
            except StopRunError as error:
                messages.add(str(error))
    assert messages == {f"the store {nodes[0].url} is one node of a cluster: set novelty.cluster=true"}
    with pytest.raises(ConfigError, match=r"novelty\.url: expected the address of a node and database 0"):
        RedisNovelty(embedder=Points(), cluster=True, url="redis://127.0.0.1:7000/2")


def test_what_is_missing_is_told_before_the_start() -> None:
    settings: dict[str, Any] = {"password_env": "NOT_SET", "ca_file": "nowhere.pem"}
    problems = RedisNovelty(embedder=Points(), **settings).preflight()
    assert [problem.key for problem in problems] == ["novelty.password_env", "novelty.ca_file"]
    assert RedisNovelty(embedder=NoEmbedder(), **settings).preflight() == []


def test_an_embedder_that_is_fitted_on_a_run_makes_nothing_that_lasts() -> None:
    (problem,) = RedisNovelty(embedder=Fitted(), name="team").preflight()
    assert str(problem) == (
        "novelty.name: this embedder is fitted on the traces of a run; a cache that lasts needs embedder=e5 or openai"
    )
    for embedder, name in ((Fitted(), None), (Points(), "team"), (NoEmbedder(), "team")):
        assert RedisNovelty(embedder=embedder, name=name).preflight() == []


def test_configuration_writes_out_every_setting_and_its_default() -> None:
    path = Path(__file__).parents[3] / "conf/novelty/redis.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert settings == {
        "_target_": "plugins.novelty.redis.RedisNovelty",
        "embedder": "${embedder}",
        **RedisNovelty.__init__.__kwdefaults__,
        **{field.name: field.default for field in fields(redis_server.RedisServer) if field.name != "setting"},
        "nodes": [],
        "sentinels": [],
    }
