"""Removes what belongs to one machine from values: absolute paths where relative ones will do, and credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.system.metadata import without_credentials

SQLITE = "sqlite:///"


def portable(value: Any) -> Any:
    """The JSON value with paths below the working directory made relative, and URLs without user:password@."""
    here = f"{Path.cwd()}/"
    return without_credentials(_map(value, lambda text: text.replace(f"{SQLITE}{here}", SQLITE).removeprefix(here)))


def portable_text(text: str) -> str:
    """A text with the same changes."""
    return str(without_credentials(text.replace(f"{Path.cwd()}/", "")))


def outside(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """(key, path) of the absolute paths that exist on this machine, and may be missing on others."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from outside(item, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list):
        for item in value:
            yield from outside(item, key)
    elif isinstance(value, str) and value.removeprefix(SQLITE).startswith("/") and _exists(value.removeprefix(SQLITE)):
        yield key, value


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _map(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _map(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [_map(item, change) for item in value]
    return value
