"""A whole retriever: a constructor that is the schema of its YAML, `index` and `search`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from runner.protocols import Workspace
from runner.records import Corpus, Query, Ranking


class ReverseRetriever:
    def __init__(self, *, limit: Annotated[int, Field(ge=1)] = 100) -> None:
        self.limit = limit
        self.chunk_ids: list[str] = []

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        self.chunk_ids = [chunk.id for chunk in reversed(corpus.chunks)]
        return {"kind": "reverse"}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        ids = tuple(self.chunk_ids[: min(depth, self.limit)])
        scores = tuple(float(len(ids) - place) for place in range(len(ids)))
        return [Ranking(ids, scores, relevance=(1.0,) * len(ids)) for _ in queries]
