"""Letter pairs for Hangul and other CJK, lower-cased words for the rest, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from runner.text.tokens import bigrams


class BigramTokenizer:
    """The same rule for every text, in any language; `auto` also knows English."""

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [bigrams(text) for text in texts]
