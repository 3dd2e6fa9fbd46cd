"""Settings of the chunker outside of a component."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from runner.errors import ConfigError, Problem
from runner.text.chunking import Cutter


class CutterSettings(TypedDict, total=False):
    """Missing settings have the defaults of `Cutter`."""

    max_chars: Annotated[int, Field(ge=20, strict=True)]
    min_chars: Annotated[int, Field(ge=0, strict=True)]
    overlap: Annotated[int, Field(ge=0, strict=True)]
    headings: Annotated[bool, Field(strict=True)]


CutterSettings.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]


def cutter_of(settings: CutterSettings, key: str) -> Cutter:
    """`key`: the place of the settings in the configuration. Raises ConfigError for contradictory values."""
    try:
        return Cutter(**settings)
    except ValueError as problem:
        raise ConfigError([Problem(key, str(problem))]) from None
