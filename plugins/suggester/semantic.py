"""Notes whose text is like the text around the anchor, and notes that others link to from text like it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from runner.domains.links.link_texts import LinkText, link_texts, with_link_texts
from runner.domains.links.reasons import n_shared, of_link, of_text
from runner.domains.links.suggesting import Place, Suggestions, Vault, best_suggestions
from runner.protocols import CachedRetriever, Retriever, Workspace, attribute_of
from runner.records import Query, Ranking

ANCHOR = 2  # repetitions of the anchor in the query, besides its place in the context


class SemanticSuggester:
    """A note is worth the relevance of its best passage, as the retriever has it. With `graph`, `graph_weight` times
    that of the sentences in which other notes link to it comes on top, and the sum is divided by 1 + graph_weight;
    the suggestions without it are the leg `no_graph`. The title of the note is searched for, too. `pool`: passages
    looked at."""

    def __init__(
        self,
        *,
        retriever: Retriever,
        graph: bool = True,
        graph_weight: Annotated[float, Field(ge=0)] = 0.3,
        pool: Annotated[int, Field(ge=1)] = 300,
    ) -> None:
        self.retriever = retriever
        self.graph, self.graph_weight = graph, graph_weight
        self.pool = pool

    @property
    def provenance(self) -> Mapping[str, Any]:
        return dict(attribute_of(self.retriever, "provenance"))

    @property
    def caches(self) -> bool:
        return isinstance(self.retriever, CachedRetriever) and self.retriever.caches

    def index(self, vault: Vault, workspace: Workspace) -> Mapping[str, Any]:
        texts = link_texts(vault) if self.graph else []
        self._corpus, self._links = with_link_texts(vault.corpus, texts)
        self._texts: dict[str, list[LinkText]] = defaultdict(list)
        for text in texts:
            self._texts[text.target].append(text)
        return dict(self.retriever.index(self._corpus, workspace))

    def suggest(self, places: Sequence[Place], depth: int) -> list[Suggestions]:
        queries = [Query(str(number), self._query(place), True, {}) for number, place in enumerate(places)]
        rankings = self.retriever.search(queries, self.pool)
        return [self._suggestions(place, ranking, depth) for place, ranking in zip(places, rankings, strict=True)]

    def reason(self, place: Place, note: str) -> str:
        place_text = f"{place.anchor}\n{place.context}"
        chunks = [chunk.text for chunk in self._corpus.chunks_of(note) if chunk.id not in self._links]
        own_reason = (
            of_text(place_text, max(chunks, key=lambda text: n_shared(place_text, text)), place.language)
            if chunks
            else ""
        )
        texts = self._texts.get(note)
        if not texts:
            return own_reason
        nearest = max(texts, key=lambda text: n_shared(place_text, text.sentence))
        linked = of_link(place_text, nearest.sentence, self._corpus.title_of(nearest.source), place.language)
        return " ".join(filter(None, (own_reason, linked)))

    def _query(self, place: Place) -> str:
        title = self._corpus.title_of(place.note)
        return "\n".join(filter(None, (title, *[place.anchor] * ANCHOR, place.context)))

    def _suggestions(self, place: Place, ranking: Ranking, depth: int) -> Suggestions:
        by_text: dict[str, float] = defaultdict(float)
        by_links: dict[str, float] = defaultdict(float)
        for chunk, relevance in zip(ranking.ids, ranking.relevance, strict=True):
            note = self._corpus.document_of(chunk)
            part = by_links if chunk in self._links else by_text
            part[note] = max(part[note], relevance)
        alone = best_suggestions(by_text, place, depth)
        if not self._links:
            return Suggestions(alone)
        confidences = {
            note: (by_text[note] + self.graph_weight * by_links[note]) / (1 + self.graph_weight)
            for note in [*by_text, *by_links]
        }
        best = tuple(
            replace(each, parts={"text": by_text[each.note], "links": by_links[each.note]})
            for each in best_suggestions(confidences, place, depth)
        )
        return Suggestions(best, {"no_graph": alone})
