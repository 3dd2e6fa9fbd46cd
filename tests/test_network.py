import socket

import pytest


def test_a_test_cannot_reach_beyond_this_machine() -> None:
    with socket.socket() as client, pytest.raises(ConnectionRefusedError, match=r"tests must not reach 192\.0\.2\.1"):
        client.connect(("192.0.2.1", 80))
    with pytest.raises(ConnectionRefusedError, match=r"tests must not reach example\.org"):
        socket.getaddrinfo("example.org", 80)


def test_a_test_can_reach_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
