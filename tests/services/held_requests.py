"""Requests that a server holds back, to see how many are in flight and what becomes of them."""

from __future__ import annotations

import select
import socket
import threading


class HeldRequests:
    """`n`: how many requests must be there before they are answered. `came`: set with the first; `left`: set where the
    client of one has gone."""

    def __init__(self, n: int) -> None:
        self._n, self._there, self._lock = n, 0, threading.Lock()
        self.came, self.left = threading.Event(), threading.Event()

    def wait(self, connection: socket.socket) -> None:
        """Raises ConnectionAbortedError where the client has gone."""
        with self._lock:
            self._there += 1
        self.came.set()
        while self._there < self._n:
            if select.select([connection], [], [], 0.01)[0] and not connection.recv(1, socket.MSG_PEEK):
                self.left.set()
                raise ConnectionAbortedError
