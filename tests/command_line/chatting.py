"""The words of a chat, what its models say, and a chat through a pipe."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.services.models_server import ModelsServer

COMMAND = [sys.executable, "-m", "runner", "chat"]
LOCAL = "memory/store=local"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), **more}


def asking(server: ModelsServer, *words: str) -> list[str]:
    """The words of a chat with a model called gen."""
    at = [f"provider.local.base_url={server.url}", "provider.local.api_key_env=null"]
    return [LOCAL, "generator=openai", "generator.model=local:gen", *at, *words]


def piped(text: str | bytes, *words: str) -> tuple[int, str, str]:
    given = text if isinstance(text, bytes) else text.encode()
    command = [*COMMAND, *words]
    done = subprocess.run(command, input=given, capture_output=True, env=environment(), check=False, timeout=240)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def after_hosts(err: str) -> str:
    """What a chat says on stderr after it has named the servers that get data."""
    first, _, rest = err.partition("\n")
    assert first.startswith("data goes to ")
    return rest


Chat = Callable[..., tuple[int, str, str]]
