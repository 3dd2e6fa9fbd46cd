"""Settings of stores: how long sessions live, and the address of a Redis."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from runner.llm.address import KEY, LONGEST_NAME, NAME, NOT_SHOWN

EXAMPLE = "redis://127.0.0.1:6379/0, rediss://HOST:PORT/0 or unix:///PATH"
PRIVATE = (
    "this one holds user:password@, ? or #, and it is kept with the results: put the name of the user into "
    "`username` beside it, the password into an environment variable, and its NAME into `password_env`"
)


def _refuse(message: str) -> PydanticCustomError:
    """The message does not repeat the value: it may be a password."""
    return PydanticCustomError(NOT_SHOWN, "{message}", {"message": message})


def _url(url: str) -> str:
    if fault := _fault(url):
        raise _refuse(f"expected an address such as {EXAMPLE}; {fault}")
    return url


def _fault(url: str) -> str | None:
    if not url.isprintable() or " " in url:
        return "this one holds a space or a character that cannot be seen"
    if any(mark in url for mark in "@?#"):
        return PRIVATE
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        return "its host or its port cannot be read"
    if parts.scheme == "unix":
        return None if not parts.netloc and len(parts.path) > 1 else "this one names no socket: three slashes, and PATH"
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or not has_port:
        return "this one is none of them"
    is_database = parts.path in ("", "/") or parts.path[1:].isdecimal()
    return None if is_database else "after the slash stands the number of a database"


def _node(node: str) -> str:
    try:
        parts = urlsplit(f"//{node}")
        if not any(mark in node for mark in "@?#/ ") and parts.hostname and parts.port:
            return node
    except ValueError:
        pass
    raise _refuse("expected HOST:PORT, such as 10.0.0.7:26379")


def _variable(name: str) -> str:
    if NAME.fullmatch(name) and len(name) <= LONGEST_NAME and not KEY.fullmatch(name):
        return name
    raise _refuse(
        "expected the NAME of the environment variable that holds the password, such as REDIS_PASSWORD, or null; what "
        "is given is no such name (and not shown here, as it may be the password)"
    )


Hours = Annotated[float, Field(gt=0, le=87_600)]
Url = Annotated[str, AfterValidator(_url)]
Node = Annotated[str, AfterValidator(_node)]
Variable = Annotated[str, AfterValidator(_variable)]


class RedisSettings(TypedDict, total=False):
    """Address and access of a Redis; meaning and default of each setting are documented at RedisServer."""

    url: Url
    cluster: bool
    nodes: list[Node]
    sentinels: list[Node]
    username: str | None
    password_env: Variable | None
    sentinel_password_env: Variable | None
    ca_file: str | None
    cert_file: str | None
    key_file: str | None
    timeout_ms: Annotated[int, Field(ge=1)]
    retries: Annotated[int, Field(ge=0, le=10)]
    failover_s: Annotated[float, Field(ge=0, le=600)]
