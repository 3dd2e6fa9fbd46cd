"""Settings that data sets share."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from runner.errors import ConfigError, Problem
from runner.text.chunking import Chunker


class ChunkerSettings(TypedDict, total=False):
    """How documents are cut into chunks. What is not given has the default of `Chunker`, but for `headings`:
    data sets of Markdown set it."""

    max_chars: Annotated[int, Field(ge=20, strict=True)]
    min_chars: Annotated[int, Field(ge=0, strict=True)]
    overlap: Annotated[int, Field(ge=0, strict=True)]
    headings: Annotated[bool, Field(strict=True)]


ChunkerSettings.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]


def chunker_of(settings: ChunkerSettings | None, *, headings: bool = False, key: str = "dataset.chunker") -> Chunker:
    """`headings` is the default of that setting, `key` the place of the settings in the configuration. Raises
    ConfigError for values that do not go together."""
    try:
        return Chunker(**({"headings": headings} | (settings or {})))
    except (TypeError, ValueError) as problem:
        raise ConfigError([Problem(key, str(problem))]) from None
