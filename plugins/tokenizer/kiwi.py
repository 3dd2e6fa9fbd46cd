"""Korean by morphemes (kiwipiepy), everything else as `auto` has it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from runner.errors import InputError, install_command
from runner.system.metadata import version_of
from runner.text.tokens import HANGUL, by_script

CONTENT = ("NN", "NR", "VV", "VA", "XR", "MAG")  # nouns, numerals, verbs, adjectives, roots, adverbs
_SURROGATE = re.compile("[\ud800-\udfff]")
_PIECE = re.compile(r"\S.{0,1999}(?!\S)|\S{1,2000}", re.DOTALL)  # the time of an analysis grows with the square


class KiwiTokenizer:
    """Content morphemes of Korean, without particles and endings, and the terms of `auto` for the rest.

    With `bigrams` the letter pairs of Korean are terms too: they find what the analysis gets wrong.
    Needs the extra `kiwi`.
    """

    def __init__(self, *, bigrams: bool = True) -> None:
        self.bigrams = bigrams

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Raises InputError where the package is missing."""
        _kiwipiepy()
        return {name: version_of(name) for name in ("kiwipiepy", "kiwipiepy_model", "pystemmer")}

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        return [self._morphemes(text) + self._other_scripts(text) for text in texts]

    @cached_property
    def _kiwi(self) -> Any:
        return _kiwipiepy().Kiwi(num_workers=1)

    def _morphemes(self, text: str) -> list[str]:
        if HANGUL.search(text) is None:
            return []
        pieces = _PIECE.findall(_SURROGATE.sub(" ", text))
        analysed = (self._kiwi.tokenize(piece, normalize_coda=True) for piece in pieces)
        return [token.form for tokens in analysed for token in tokens if token.tag.startswith(CONTENT)]

    def _other_scripts(self, text: str) -> list[str]:
        terms = by_script(text)
        return terms if self.bigrams else [term for term in terms if HANGUL.search(term) is None]


def _kiwipiepy() -> Any:
    try:
        import kiwipiepy
    except ImportError as error:
        raise InputError(
            f"tokenizer=kiwi needs the package kiwipiepy ({error}); install the extra: {install_command('kiwi')}"
        ) from error
    return kiwipiepy
