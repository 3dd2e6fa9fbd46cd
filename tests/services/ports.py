"""Ports of loopback that stay free until a server of a test takes them."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

FIRST, LAST = 10_000, 32_000  # below those that systems hand out for connections, which are taken again at once


def free_port() -> int:
    """Another one each time, as tests run beside each other."""
    chance = random.SystemRandom()
    while True:
        port = chance.randint(FIRST, LAST)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
