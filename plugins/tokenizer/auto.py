"""The default terms: what is known to rank best for each script."""

from __future__ import annotations

from collections.abc import Sequence

from runner.text.tokens import by_script


class AutoTokenizer:
    """Letter pairs for Hangul and other CJK, lower-cased words for the rest, English plurals folded.

    Differs from `bigram` in the plurals only: it knows English, `bigram` knows no language.
    """

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [by_script(text) for text in texts]
