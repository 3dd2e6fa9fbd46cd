"""Names, texts and links together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from runner.domains.links.reasons import of_back_links
from runner.domains.links.suggesting import Place, Suggester, Suggestion, Suggestions, Vault, best_suggestions
from runner.protocols import Workspace, attribute_of


class HybridSuggester:
    """Confidence is weight x lexical + (1 - weight) x text. With `graph`, structure_weight x (how central a note
    is, and how often it is linked to together with what the note of the place links to) comes on top, and the sum is
    divided by 1 + 2 x structure_weight; the legs that have a graph of their own use it, too. What each leg would
    suggest alone is a leg, and so are the suggestions without any graph (`no_graph`). `pool`: notes taken from each
    leg."""

    def __init__(
        self,
        *,
        lexical: Suggester,
        text: Suggester,
        weight: Annotated[float, Field(ge=0, le=1)] = 0.1,
        graph: bool = True,
        structure_weight: Annotated[float, Field(ge=0)] = 0.02,
        pool: Annotated[int, Field(ge=1)] = 100,
    ) -> None:
        self.legs: Mapping[str, Suggester] = {"lexical": lexical, "text": text}
        self.weights = {"lexical": weight, "text": 1 - weight}
        self.graph, self.structure_weight = graph, structure_weight
        self.pool = pool

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {name: attribute_of(leg, "provenance") for name, leg in self.legs.items()}

    @property
    def caches(self) -> bool:
        return any(attribute_of(leg, "caches") for leg in self.legs.values())

    def index(self, vault: Vault, workspace: Workspace) -> Mapping[str, Any]:
        self._graph = vault.graph
        if self.graph and vault.graph.n_links:
            counts = np.log1p(np.asarray(vault.graph.matrix.sum(axis=0)).ravel())
            self._central = dict(zip(vault.graph.notes, (counts / counts.max()).tolist(), strict=True))
        else:
            self._central = {}
        return {"kind": "hybrid", **{name: dict(leg.index(vault, workspace)) for name, leg in self.legs.items()}}

    def suggest(self, places: Sequence[Place], depth: int) -> list[Suggestions]:
        found = {name: leg.suggest(places, max(depth, self.pool)) for name, leg in self.legs.items()}
        return [
            self._join(place, {name: each[number] for name, each in found.items()}, depth)
            for number, place in enumerate(places)
        ]

    def reason(self, place: Place, note: str) -> str:
        reasons = [leg.reason(place, note) for leg in self.legs.values()]
        if self._central:
            reasons.append(of_back_links(len(self._graph.linking_to(note)), place.language))
        return " ".join(filter(None, reasons))

    def _join(self, place: Place, suggestions: Mapping[str, Suggestions], depth: int) -> Suggestions:
        legs = {name: leg.best for name, leg in suggestions.items()}
        best_by_leg = {name: best[:depth] for name, best in legs.items()}
        confidences = self._mix(legs)
        if not self._central:
            return Suggestions(self._with_parts(best_suggestions(confidences, place, depth), legs), best_by_leg)
        without = self._mix({name: leg.legs.get("no_graph", leg.best) for name, leg in suggestions.items()})
        co_citation = self._linked_together(place.note)
        scored = {
            note: (confidence + self.structure_weight * (self._central[note] + co_citation.get(note, 0.0)))
            / (1 + 2 * self.structure_weight)
            for note, confidence in confidences.items()
        }
        best = self._with_parts(best_suggestions(scored, place, depth), legs)
        return Suggestions(best, {**best_by_leg, "no_graph": best_suggestions(without, place, depth)})

    def _mix(self, legs: Mapping[str, Sequence[Suggestion]]) -> dict[str, float]:
        mixed: dict[str, float] = defaultdict(float)
        for name, best in legs.items():
            for each in best:
                mixed[each.note] += self.weights[name] * each.confidence
        return mixed

    def _with_parts(
        self, best: Sequence[Suggestion], legs: Mapping[str, Sequence[Suggestion]]
    ) -> tuple[Suggestion, ...]:
        parts: dict[str, dict[str, float]] = defaultdict(dict)
        for name, found in legs.items():
            for each in found:
                parts[each.note][name] = each.confidence
        return tuple(replace(each, parts=parts[each.note]) for each in best)

    def _linked_together(self, note: str) -> dict[str, float]:
        """Notes that others link to together with what this note links to: each of those others counts the share that
        the note's links are of its links. The highest is 1."""
        own_links = self._graph.links_from(note)
        counts: dict[str, float] = defaultdict(float)
        sources = {source for target in own_links for source in self._graph.linking_to(target)} - {note}
        for source in sorted(sources):
            targets = self._graph.links_from(source)
            for target in sorted(targets):
                counts[target] += len(own_links & targets) / len(targets)
        highest = max(counts.values(), default=1.0)
        return {target: count / highest for target, count in counts.items()}
