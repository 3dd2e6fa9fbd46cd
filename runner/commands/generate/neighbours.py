"""The chunks that fit a question best, by words."""

from __future__ import annotations

import logging

import numpy as np

from runner.records import Chunk, Corpus
from runner.text.passages import passages
from runner.text.tokens import by_script


class Neighbours:
    """BM25 (Lucene's, k1 1.5, b 0.75) over the passages of a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)
        self._chunks = corpus.chunks
        self._numbers: dict[str, int] = {}
        numbered = [
            [self._numbers.setdefault(term, len(self._numbers)) for term in by_script(text)]
            for text in passages(corpus)
        ]
        self._bm25 = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        self._bm25.index((numbered, self._numbers), create_empty_token=False, show_progress=False)

    def of(self, question: str, beside: Chunk, count: int) -> list[Chunk]:
        """Best first, without `beside` and without those that share no word with the question. Ties in corpus order."""
        known = [self._numbers[term] for term in by_script(question) if term in self._numbers]
        if not known:
            return []
        scores = self._bm25.get_scores_from_ids(known)
        order = np.argsort(-scores, kind="stable")[: count + 1]
        found = [self._chunks[place] for place in order if scores[place] > 0]
        return [chunk for chunk in found if chunk.id != beside.id][:count]
