"""No system, but references for systems: the gold documents, random chunks, or nothing."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Annotated, Any, Literal

from pydantic import Field

from runner.protocols import Workspace
from runner.records import Chunk, Corpus, Query, Ranking
from runner.retrieval.stage import relevant_chunks


class OracleRetriever:
    """A reference, which no ranking of a system can be: it sees the labels.

    gold     the chunks of the gold documents, the best grade first, one of each document in turn; of a document
             first those that are labelled, then those that hold a known answer, then the rest in their order.
             Nothing for a question without an answer
    random   chunks drawn for each question
    none     nothing at all

    Relevance is 1 for whatever is found.
    """

    def __init__(self, *, mode: Literal["gold", "random", "none"], seed: Annotated[int, Field(ge=0)]) -> None:
        self.mode, self.seed = mode, seed
        self._corpus = Corpus((), (), "")

    @property
    def reference(self) -> str:
        return self.mode

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        self._corpus = corpus
        return {"kind": f"reference ({self.mode})"}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        return [_ranking(self._ids(query, depth)) for query in queries]

    def _ids(self, query: Query, depth: int) -> list[str]:
        if self.mode == "gold":
            return self._gold(query)[:depth]
        return self._draw(query, depth) if self.mode == "random" else []

    def _gold(self, query: Query) -> list[str]:
        graded = sorted(query.relevance.items(), key=lambda item: -item[1])  # stable
        gold = [id for id, grade in graded if grade > 0]
        if not self._corpus.documents:  # rankings of another system are scored against labels alone
            return gold
        labelled = relevant_chunks(query, self._corpus)

        def rank(chunk: Chunk) -> tuple[bool, bool]:
            return chunk.id not in labelled, not any(answer in chunk.text for answer in query.answers)

        columns = [sorted(self._corpus.chunks_of(id), key=rank) for id in gold]
        return [chunk.id for chunk in chain.from_iterable(zip_longest(*columns)) if chunk is not None]

    def _draw(self, query: Query, depth: int) -> list[str]:
        """Chunks of a question, independent of the other questions."""
        digest = hashlib.sha256(f"{self.seed}\0{query.id}".encode("utf-8", "surrogatepass")).digest()
        chunks = self._corpus.chunks
        places = random.Random(int.from_bytes(digest[:8], "big")).sample(range(len(chunks)), min(depth, len(chunks)))
        return [chunks[place].id for place in places]


def _ranking(ids: Sequence[str]) -> Ranking:
    scores = tuple([1 / rank for rank in range(1, len(ids) + 1)])
    return Ranking(tuple(ids), scores, (1.0,) * len(ids))
