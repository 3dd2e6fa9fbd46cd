"""Passages by structure: headings, then paragraphs, then sentences, then wherever it must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from runner.data.settings import CutterSettings, cutter_of
from runner.text.chunking import Passage


class SectionsChunker:
    """The meaning of each setting is documented at runner.text.chunking.Cutter."""

    def __init__(
        self,
        *,
        max_chars: Annotated[int, Field(ge=20)] = 3000,
        min_chars: Annotated[int, Field(ge=0)] = 200,
        overlap: Annotated[int, Field(ge=0)] = 0,
        headings: bool = True,
    ) -> None:
        """Raises ConfigError for values that do not go together."""
        settings = CutterSettings(max_chars=max_chars, min_chars=min_chars, overlap=overlap, headings=headings)
        self.cutter = cutter_of(settings, "dataset.chunker")

    def passages(self, text: str) -> Sequence[Passage]:
        return self.cutter.passages(text)
