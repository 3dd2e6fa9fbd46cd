"""A ranking moved by the links between its documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.domains.links.graph import VaultGraph
from runner.domains.links.links import may_hold_links, property_links
from runner.domains.links.store import NoteStore
from runner.protocols import Workspace
from runner.records import Corpus, Document, Ranking
from runner.text.ordering import best, byte_ranks

LEG, FOUND = "no_graph", "found.json"
POOL = 100  # best chunks that take part, whatever the depth
CENTRALITY = 0.25  # what the most central document has, where a neighbourhood that is all relevant has about 1


class GraphRerank:
    """Documents gain by what their neighbours (linked in either direction) are worth, and by their centrality.

    The scores of the POOL best chunks are brought to 0..1, what was not found being 0 at most; a document is worth its
    best chunk. Each chunk then scores

        own + weight x (sum over neighbours of worth / sqrt(degree x degree of the neighbour)
                        + CENTRALITY x PageRank / highest PageRank)

    What ranks behind the pool stays behind it. Relevance stays with its chunk. The ranking without the graph is kept
    as the leg `no_graph`. `enabled` None: where a link between the documents of the corpus was resolved.
    """

    def __init__(self, enabled: bool | None, weight: float) -> None:
        self._enabled, self._weight = enabled, weight
        self._active = False

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        """Facts about the graph; none where it is not used. Notes that are known there are not parsed again."""
        self._active = False
        if not (self._enabled or (self._enabled is None and _may_hold_links(corpus, workspace))):
            return {}
        graph = VaultGraph(
            corpus.documents, NoteStore(workspace.root, cold=workspace.cold, reads=workspace.stored_root).markup
        )
        if not graph.n_links and not self._enabled:
            return {}
        self._active = True
        self._ids = corpus.place_by_id
        self._ranks = byte_ranks(corpus.ids)
        self._documents = np.array([graph.places[chunk.document_id] for chunk in corpus.chunks], dtype=np.int64)
        self._neighbourhood = graph.neighbourhood
        self._centrality = CENTRALITY * graph.centrality / graph.centrality.max()
        counts = {"links": graph.n_links, "broken": len(graph.broken), "ambiguous": len(graph.ambiguous)}
        return {"graph": counts}

    def depth(self, wanted: int) -> int:
        """How deep the rankings must be that are reranked to a depth."""
        return max(wanted, POOL) if self._active else wanted

    def rerank(self, rankings: list[Ranking], depth: int) -> list[Ranking]:
        return [self._rerank(ranking, depth) for ranking in rankings] if self._active else rankings

    def _rerank(self, ranking: Ranking, depth: int) -> Ranking:
        places = np.array([self._ids[id] for id in ranking.ids], dtype=np.int64)
        scores = normalise_scores(np.array(ranking.scores))
        scores[:POOL] += self._weight * self._gains(places[:POOL], scores[:POOL])
        order = best(scores, self._ranks[places], depth)
        legs = {name: _top(leg, depth) for name, leg in ranking.legs.items()}
        return replace(
            ranking,
            ids=tuple([ranking.ids[place] for place in order]),
            scores=tuple(scores[order].tolist()),
            relevance=tuple([ranking.relevance[place] for place in order]),
            legs=legs | {LEG: _top(ranking, depth)},
        )

    def _gains(self, places: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The gain of each chunk, before it is weighed."""
        documents = self._documents[places]
        worth = np.zeros(len(self._centrality))
        np.maximum.at(worth, documents, scores)
        gains: NDArray[np.float64] = self._neighbourhood @ worth + self._centrality
        return gains[documents]


def _may_hold_links(corpus: Corpus, workspace: Workspace) -> bool:
    """Whether any document may hold a link; most corpora have none, and need no graph. One on disk is looked through
    once."""

    def look(folder: Path) -> None:
        (folder / FOUND).write_text(json.dumps(any(map(_may_hold_link, corpus.documents))), encoding="utf-8")

    if corpus.shelf is None:
        return any(map(_may_hold_link, corpus.documents))
    folder = workspace.folder("links", {"corpus": corpus.fingerprint}, look)
    return bool(json.loads((folder / FOUND).read_text(encoding="utf-8")))


def _may_hold_link(document: Document) -> bool:
    return may_hold_links(document.text) or bool(property_links(document.metadata))


def normalise_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Descending scores with the best at 1 and the last of the pool at 0; where everything that was found is in the
    pool, 0 is the score of what was not found, or the lowest one."""
    if not len(scores):
        return scores
    lowest = scores[POOL - 1] if len(scores) >= POOL else min(0.0, scores[-1])
    scaled: NDArray[np.float64] = (scores - lowest) / ((scores[0] - lowest) or 1.0)
    return scaled


def _top(ranking: Ranking, depth: int) -> Ranking:
    return Ranking(ranking.ids[:depth], ranking.scores[:depth], ranking.relevance[:depth])
