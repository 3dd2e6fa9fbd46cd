"""The default terms: what is known to rank best for each script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.system.metadata import version_of
from runner.text.tokens import by_script


class AutoTokenizer:
    """Letter pairs for Hangul and other CJK, lower-cased words for the rest, English words stemmed.

    Differs from `bigram` in the stems only: it knows English, `bigram` knows no language.
    """

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"pystemmer": version_of("pystemmer")}

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [by_script(text) for text in texts]
