"""Character 2- and 3-grams as integers: no table of strings, the same for every script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BETWEEN = re.compile(r"[\W_]+")
_BITS = 21  # of a code point; three of them fit into 63 bits


@dataclass(frozen=True, slots=True)
class NgramCounts:
    """Row `i` holds `codes[offsets[i]:offsets[i + 1]]`, ascending and distinct, each with its `counts`."""

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    offsets: NDArray[np.int64]


def count_ngrams(texts: Sequence[str]) -> NgramCounts:
    """How often each text holds each 2- and 3-gram of its lower-cased letters and digits.

    What stands between words counts as one space, and so do the two ends of a text.
    """
    rows = [np.unique(_codes(text), return_counts=True) for text in texts]
    empty = np.empty(0, dtype=np.int64)
    return NgramCounts(
        codes=np.concatenate([empty, *(codes for codes, _ in rows)]),
        counts=np.concatenate([empty, *(counts for _, counts in rows)]),
        offsets=np.cumsum([0, *(len(codes) for codes, _ in rows)], dtype=np.int64),
    )


def _codes(text: str) -> NDArray[np.int64]:
    letters = _BETWEEN.sub(" ", unicodedata.normalize("NFC", text).lower()).strip()
    if not letters:
        return np.empty(0, dtype=np.int64)
    points = np.frombuffer(f" {letters} ".encode("utf-32-le"), dtype="<u4").astype(np.int64)
    pairs = points[:-1] << _BITS | points[1:]
    return np.concatenate([pairs, pairs[:-1] << _BITS | points[2:]])
