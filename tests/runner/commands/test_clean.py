"""What a store should not hold any more is deleted, and nothing else."""

import asyncio

import pytest

from plugins.memory.store.redis import RedisStore
from runner.cli import main
from runner.domains.memory.records import ChatTurn, SessionKey
from runner.domains.memory.stored import keys_of
from tests.services.redis_server import VARIABLE, RedisServer, serving_cluster

FRESH, IDLE, TORN, ENDLESS, OTHER = (
    SessionKey("acme", "fresh"), SessionKey("acme", "오래된 것"), SessionKey("acme", "torn"),
    SessionKey("acmecorp", "endless\n*"), SessionKey("acmecorp", "idle"),
)  # fmt: skip
EVERY = (FRESH, IDLE, TORN, ENDLESS, OTHER)
HOUR_MS = 3_600_000


@pytest.fixture
def server(redis: RedisServer) -> RedisServer:
    """Sessions of 24 hours: one just used, two not used for 10 hours, one torn, one without expiry."""
    redis.asked("FLUSHALL")
    asyncio.run(_fill(RedisStore(url=redis.url, password_env=VARIABLE)))
    for key in (IDLE, OTHER):
        for name in keys_of(key):
            redis.asked("PEXPIRE", name, 14 * HOUR_MS)
    redis.asked("DEL", keys_of(TORN)[2])
    redis.asked("PERSIST", keys_of(ENDLESS)[1])
    redis.asked("SET", "chat:acme:legacy:short", "theirs")
    return redis


async def _fill(store: RedisStore) -> None:
    async with store.open():
        for key in EVERY:
            await store.append(key, ChatTurn("u1"))
            await store.append(key, ChatTurn("u2"))
            state = await store.read(key)
            await store.commit(
                key, version=0, generation=state.generation, up_to_turn=1, memory="m", entities=()
            )  # fmt: skip


def left(server: RedisServer) -> set[SessionKey]:
    names = set(server.asked("KEYS", "*"))
    assert b"chat:acme:legacy:short" in names
    return {key for key in EVERY if names & {name.encode() for name in keys_of(key)}}


def clean(server: RedisServer, *words: str) -> int:
    return main(["clean", *words, f"memory.store.url={server.url}", f"memory.store.password_env={VARIABLE}"])


def test_only_what_nobody_can_use_goes(server: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert clean(server) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines[:2]) == [
        "deleted 'acme' 'torn', incomplete: a part of it is missing",
        r"deleted 'acmecorp' 'endless\n*', without expiry: a part of it has no time to live",
    ]
    assert lines[2:] == [
        "deleted 2 of 5 sessions",
        "  1 incomplete: a part of it is missing",
        "  1 without expiry: a part of it has no time to live",
    ]
    assert left(server) == {FRESH, IDLE, OTHER}
    assert clean(server) == 0
    assert capsys.readouterr().out == "deleted 0 of 3 sessions\n"


def test_what_was_not_used_for_long(server: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert clean(server, "--idle", "10.5") == 0
    assert left(server) == {FRESH, IDLE, OTHER}
    out = capsys.readouterr().out
    assert "not used" not in out
    assert "1 without expiry" in out
    assert clean(server, "--idle=9.5") == 0
    assert left(server) == {FRESH}
    assert capsys.readouterr().out.endswith("deleted 2 of 3 sessions\n  2 not used for 9.5 hours\n")
    assert clean(server, "idle=0") == 0
    assert left(server) == set()


def test_in_korean(server: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--language", "ko"], ["report.language=ko"]):
        assert clean(server, "--dry-run", *words) == 0
        out = capsys.readouterr().out
        assert "삭제 예정: 'acme' 'torn', 불완전함: 일부가 사라졌습니다\n" in out
        assert "세션 5개 중 2개를 삭제하게 됩니다\n  1 " in out
    assert left(server) == set(EVERY)


def test_one_tenant(server: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert clean(server, "--tenant", "acme", "--idle", "1") == 0
    assert "deleted 2 of 3 sessions" in capsys.readouterr().out
    assert left(server) == {FRESH, ENDLESS, OTHER}
    assert clean(server, "--tenant", "acm*", "--idle", "0") == 0
    assert capsys.readouterr().out == "deleted 0 of 0 sessions\n"


def test_a_rehearsal_deletes_nothing(server: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert clean(server, "--dry-run", "--idle", "0") == 0
    out = capsys.readouterr().out
    assert "would delete 'acme' 'fresh', not used for 0 hours\n" in out
    assert "would delete 5 of 5 sessions\n" in out
    assert left(server) == set(EVERY)


def test_asking_is_no_use(server: RedisServer) -> None:
    before = server.asked("PTTL", keys_of(IDLE)[1])
    assert clean(server, "--idle", "20") == 0
    assert server.asked("PTTL", keys_of(IDLE)[1]) <= before


def test_all_nodes_of_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    with serving_cluster(2) as nodes:
        asyncio.run(_fill(RedisStore(url=nodes[0].url, password_env=VARIABLE, cluster=True)))
        assert clean(nodes[0], "--idle", "0", "memory.store.cluster=true") == 0
        assert sum(node.asked("DBSIZE") for node in nodes) == 0
    assert "deleted 5 of 5 sessions" in capsys.readouterr().out


PRIVATE = "this one holds user:password@, ? or #"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--idle"], "--idle: expected a value"),
        (["--idle", "soon"], "idle: expected a number, got 'soon'"),
        (["idle=-1"], "idle: expected 0 or more, got -1"),
        (["--dry"], "unknown option --dry; did you mean '--dry-run'?"),
        (["--dry-run=false"], "--dry-run takes no value"),
        (["--language", "fr"], "--language: expected en or ko, found 'fr'"),
        (["acme"], "no command 'clean acme'; did you mean 'cache'?"),
        (["tenants=acme"], "tenants: unknown setting; did you mean 'tenant'?"),
        (["memory=window"], "memory: clean has no memory; it uses memory/store"),
        (["memory/store=embedded"], "memory/store: this one keeps nothing after its program has ended"),
        (["memory.store=local"], "memory.store: a setting of this name is no choice; memory/store=local chooses it"),
        (
            ["memory.store.password_env=NOT_SET"],
            "memory.store.password_env: the environment variable NOT_SET is not set",
        ),
        (["memory.store.url=redis://me:s3cret@host"], PRIVATE),
    ],
)
def test_bad_input(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean", *words]) == 1
    told = capsys.readouterr().err
    assert message in told
    assert "s3cret" not in told


def test_a_store_that_is_not_there(closed_port: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean", f"memory.store.url=redis://127.0.0.1:{closed_port}", "memory.store.retries=0"]) == 3
    assert f"the store redis://127.0.0.1:{closed_port} cannot be reached: " in capsys.readouterr().err


def test_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean", "--help"]) == 0
    told = capsys.readouterr().out
    assert all(word in told for word in ("--idle", "--tenant", "--dry-run", "tenant: null"))
    assert "_target_" not in told
