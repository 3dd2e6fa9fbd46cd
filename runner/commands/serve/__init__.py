"""Serve an HTTP API and one page for all runs below a folder. Runs are commands of this program, one process each."""

from __future__ import annotations

import ipaddress
import os
import resource
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.commands import Command, Option, whole_number_reader
from runner.errors import InputError, install_command
from runner.system import redaction, terminal
from runner.words.wording import supported_language, wording

if TYPE_CHECKING:
    from runner.commands.serve.desk import Desk

COMMAND = Command(
    "serve",
    options=(
        Option("host", "HOST", default="127.0.0.1"),
        Option("port", "PORT", whole_number_reader(1, 65535), 8000),
        Option("root", "FOLDER", Path, Path("outputs")),
        Option("jobs", "N", whole_number_reader(1, 64), 2),
        Option("token_env", "NAME"),
        Option("name", "HOST,…", lambda text: tuple(filter(None, map(str.strip, text.split(","))))),
        Option("max_upload_mb", "N", whole_number_reader(1, 100_000), 512),
        Option("read_only"),
    ),
    words="OPTION=VALUE",
)
TICK_S, WARM_S = 0.3, 3.0  # between two looks at the queue, at finished runs
CONNECTIONS = 2000
SHORTEST = 16  # characters of a token


def main(argv: Sequence[str]) -> int:
    """Ends with Ctrl-C. Raises InputError for what cannot be served, ConfigError for words that no run takes."""
    options = COMMAND.read(argv)
    _demand_extra()
    token = token_of(options.token_env, options.host)
    os.environ.pop(options.token_env or "", None)  # jobs have no use for it
    root = _root(options.root, read_only=options.read_only)
    from runner.commands.serve.datasets import Bounds
    from runner.commands.serve.desk import Desk, Settings

    bounds = Bounds(options.max_upload_mb * 1024 * 1024)
    settings = Settings(root, tuple(options.words), options.jobs, options.read_only, bounds)
    desk = Desk(settings)
    if options.words:
        desk.makes_sweep(["+experiment=full_rag", *options.words])
    with _hold_queue(root, read_only=options.read_only), _listening(options.host, options.port) as door:
        address = f"http://{f'[{options.host}]' if ':' in options.host else options.host}:{options.port}"
        say = wording(_language(options.words), "serve")
        terminal.note(say("serving", address=address, root=root))
        terminal.note(say("serving.docs", address=address))
        with work_on_queue(desk):
            _make_room()
            server_of(desk, token=token, hosts=(options.host, *(options.name or ()))).run(sockets=[door])
    return 0


def app_of(desk: Desk, *, token: str | None = None, hosts: Sequence[str] = ()) -> Any:
    """The ASGI application behind its guard."""
    from runner.commands.serve.application import application
    from runner.commands.serve.guard import Guard

    settings = desk.settings
    most = settings.bounds.n_bytes + (1 << 20)
    app = application(desk)
    guard = Guard(app, token=token, hosts=hosts, read_only=settings.read_only, most_bytes=most)
    app.state.guard = guard
    return guard


def _demand_extra() -> None:
    try:
        import fastapi  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"serve needs the extra `serve` ({error.name} is missing): {install_command('serve')}"
        ) from None


def token_of(name: str | None, host: str) -> str | None:
    """The token. Raises InputError where a server that others can reach has none."""
    if name is None:
        if not is_loopback(host):
            raise InputError(
                f"--host {host}: others reach it, so it needs a token; --token-env NAME names the environment variable "
                "that holds one"
            )
        return None
    token = os.environ.get(name, "")
    if len(token) < SHORTEST:
        has = "is not set" if not token else f"holds {len(token)} characters"
        raise InputError(f"--token-env: {name} {has}; expected a token of at least {SHORTEST} characters")
    redaction.learn([f"token={token}"])
    return token


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _root(folder: Path, *, read_only: bool) -> Path:
    if not folder.is_dir():
        if read_only:
            raise InputError(f"--root: {folder} is no folder")
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"--root: cannot make {folder}: {error.strerror}") from None
    return folder.resolve()


@contextmanager
def _hold_queue(root: Path, *, read_only: bool) -> Iterator[None]:
    """Lock the queue of a root, which only one server may have."""
    from runner.run.folders import lock_folder

    if read_only:
        yield
        return
    try:
        with lock_folder(root / ".serve"):
            yield
    except InputError as error:
        if "in use" not in str(error):
            raise
        raise InputError(f"--root: {root} is served by another process; only --read-only can be a second one") from None


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        host.encode("idna")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        door = socket.create_server((host, port), family=family, backlog=512)
    except (OSError, UnicodeError) as error:
        raise InputError(f"cannot listen on {host}:{port} ({error}); choose another --host or --port") from None
    with door:
        yield door


@contextmanager
def work_on_queue(desk: Desk) -> Iterator[None]:
    """Work on the queue until the context ends. Jobs that run then continue by themselves."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(TICK_S):
            with suppress(OSError):  # a disk that is full for a while
                if desk.jobs is not None:
                    desk.jobs.tick()

    def warm() -> None:
        while not stop.wait(WARM_S):
            desk.warm()

    threads = [threading.Thread(target=target, daemon=True) for target in (work, warm)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        threads[0].join()


def server_of(desk: Desk, *, token: str | None = None, hosts: Sequence[str] = (), **options: Any) -> Any:
    """The HTTP server of the application. `options`: further ones of uvicorn."""
    import uvicorn

    from runner.commands.serve.guard import Connection

    settings = {
        "http": Connection,
        "ws": "none",
        "log_level": "warning",
        "server_header": False,
        "timeout_keep_alive": 75,  # a busy server must not hang up on who is about to ask again
        "timeout_graceful_shutdown": 3,
        "limit_concurrency": CONNECTIONS,
        "h11_max_incomplete_event_size": 64 * 1024,
    }
    return uvicorn.Server(uvicorn.Config(app_of(desk, token=token, hosts=hosts), **{**settings, **options}))


def _make_room() -> None:
    """Raise the limit of open files of the process for connections, as far as the system allows."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (now, most):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, min(2 * CONNECTIONS, most)), most))


def _language(words: Sequence[str]) -> str:
    named = [word.partition("=")[2] for word in words if word.startswith("report.language=")]
    return supported_language(named[-1]) if named else "en"
