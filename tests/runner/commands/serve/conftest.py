from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from runner.commands.serve import app_of, server_of
from runner.commands.serve.desk import Desk, Settings
from tests.record_folders import copy_of
from tests.services.ports import free_port

Serving = Callable[..., TestClient]


@pytest.fixture
def root(small_runs: Path, tmp_path: Path) -> Path:
    """Runs that were started at a command line: `run`, and the sweep `sweep` of two."""
    copy_of(small_runs, tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture
def serving(root: Path) -> Iterator[Serving]:
    """`serving(token=…, read_only=True)`: a client of a server of the root, in this process."""
    clients = []

    def serve(*, token: str | None = None, host: str = "127.0.0.1", **settings: object) -> TestClient:
        desk = Desk(Settings(root, **settings))  # type: ignore[arg-type]
        client = TestClient(app_of(desk, token=token), base_url=f"http://{host}", raise_server_exceptions=False)
        client.app_state = {"desk": desk}
        clients.append(client)
        return client

    yield serve
    for client in clients:
        client.close()


@contextmanager
def listening(desk: Desk, **options: object) -> Iterator[int]:
    """The port of a server that others connect to."""
    port = free_port()
    server = server_of(desk, port=port, **options)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def client(serving: Serving) -> TestClient:
    return serving()
