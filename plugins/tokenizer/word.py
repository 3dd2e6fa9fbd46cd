"""Lower-cased words. Korean words keep their particles, so few of them match: a baseline."""

from __future__ import annotations

from collections.abc import Sequence

from runner.text.tokens import words


class WordTokenizer:
    """Lower-cased words, without stemming."""

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [words(text) for text in texts]
