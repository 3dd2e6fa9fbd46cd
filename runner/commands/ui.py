"""Browse tracked runs in the MLflow UI."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from runner.commands import LANGUAGE, URI, Command, Option, whole_number_reader
from runner.config.language import language_of
from runner.errors import InputError, install_command
from runner.system import terminal
from runner.tracking.mlflow_client import (
    configured_uri,
    connect,
    demand_store,
    environment,
    redact_uri,
    reporting,
    sqlite_file,
)
from runner.tracking.mlflow_pages import APP, INDEX, STORE, is_installed, newest_experiments
from runner.tracking.mlflow_views import link
from runner.words.wording import wording

COMMAND = Command(
    "ui",
    options=(
        URI,
        Option("host", "HOST", default="127.0.0.1"),
        Option("port", "PORT", whole_number_reader(1, 65535), 5000),
        LANGUAGE,
    ),
)
SHOWN = 5  # experiments
NO_JOBS = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # four processes that browsing does not need


def main(argv: Sequence[str]) -> int:
    """Start the MLflow server in place of this process; Ctrl-C ends it. Raises InputError where there is nothing to
    show."""
    options = COMMAND.read(argv)
    uri, say = options.uri or configured_uri(), wording(language_of(argv), "outcomes")
    if uri.startswith(("http://", "https://")):
        terminal.lines(say("ui.elsewhere", uri=redact_uri(uri)))
        return 0
    _demand_pages()
    _demand_store(uri)
    _demand_port(options.host, options.port)
    address = f"http://{f'[{options.host}]' if ':' in options.host else options.host}:{options.port}"
    terminal.note(say("ui.serving", address=address))
    for name, experiment in newest_experiments(uri, SHOWN):
        terminal.note(f"  {name}: {address}/{link(experiment)}")
    return _become_server(uri, options.host, options.port)


def _become_server(uri: str, host: str, port: int) -> NoReturn:
    """Replace this process by the server, so that signals reach MLflow and no process is left over."""
    options = ["--host", host, "--port", str(port), "--workers", "1", *(["--app-name", APP] if is_installed() else [])]
    command = [sys.executable, "-m", "mlflow", "ui", *options]
    sys.stdout.flush()
    os.execve(command[0], command, {**os.environ, **environment(), **NO_JOBS, STORE: uri})  # noqa: S606


def _demand_pages() -> None:
    """Raises InputError where only mlflow-skinny is installed, which has no pages."""
    found = find_spec("mlflow")
    places = [Path(place) for place in (found.submodule_search_locations or ())] if found is not None else []
    if not any(place.joinpath(*INDEX).is_file() for place in places):
        raise InputError(f"ui needs the pages of MLflow: {install_command('ui')} (runs are tracked without them)")


def _demand_store(uri: str) -> None:
    """Raises InputError for an unusable store, for which the server would print a traceback."""
    demand_store(uri)
    database = sqlite_file(uri)
    if database is None:
        with reporting(uri, "nothing to show", "check --uri"):
            connect(uri).search_experiments(max_results=1)
    elif not database.is_file():
        raise InputError(
            f"{database}: no tracking store yet; a run with tracking=mlflow makes one "
            "(start from the folder of your runs, or name the store with --uri)"
        )


def _demand_port(host: str, port: int) -> None:
    try:
        host.encode("idna")
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"cannot listen on {host}:{port} ({error}); choose another one with --host and --port"
        ) from None
