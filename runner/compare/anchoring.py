"""Gold chunks that are labelled by id, in two corpora that chunk the same documents differently.

An id such as `guide#3` then names another span of text in each corpus, or none. The gold span is that of the chunk in
the baseline, or in the candidate where only that one has the chunk. A chunk of either corpus is relevant if it shares
at least half of the shorter one with the gold span, as for gold that is labelled by a span. The metrics of chunks are
recomputed from the ranks of the chunks of these documents. An id that neither corpus has remains a gold chunk that was
not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runner.compare.pairing import Pairing
from runner.compare.snapshots import ChunkGold, Snapshot
from runner.metrics.ranking import ranking_metrics
from runner.metrics.statistics import Floats
from runner.retrieval.stage import overlap

PART = "chunk/"
Stretch = tuple[str, int, int]  # document, start, end


@dataclass(frozen=True, eq=False)
class Anchoring:
    """`moved`: cases with labels at another place in the candidate's corpus; `vanished`: cases with labels that one
    corpus lacks. `values`: metric -> values of the pairs in both runs, float64 [n_pairs] each."""

    cases: int
    moved: int
    vanished: int
    values: Mapping[str, tuple[Floats, Floats]]


def anchor_snapshots(baseline: Snapshot, candidate: Snapshot, pairing: Pairing) -> Anchoring | None:
    """Match the gold chunks of two corpora by their place in the documents.

    Args:
        baseline: the snapshot of one run.
        candidate: the snapshot of the other.
        pairing: of their cases.

    Returns:
        The chunk metrics, computed again; None where both corpora have the same chunks, or different documents.
    """
    one, other = baseline.identity, candidate.identity
    if one.get("documents") != other.get("documents") or one.get("chunks") == other.get("chunks"):
        return None
    names = [name for name in candidate.cases.values if name.startswith(PART) and name in baseline.cases.values]
    sides = ((baseline, pairing.baseline), (candidate, pairing.candidate))
    values = {name: [run.cases.values[name][places] for run, places in sides] for name in names}
    cases = moved = vanished = 0
    for pair, golds in _labelled_pairs(baseline, candidate, pairing):
        stretches = _Stretches.of(*golds)
        cases += stretches.moved + stretches.vanished > 0
        moved, vanished = moved + stretches.moved, vanished + stretches.vanished
        for side, gold in enumerate(golds):
            for name, value in _metrics(gold, stretches.gold, sides[side][0].k, names).items():
                values[name][side][pair] = np.nan if value is None else value
    return Anchoring(cases, moved, vanished, {name: (found[0], found[1]) for name, found in values.items()})


def _labelled_pairs(
    baseline: Snapshot, candidate: Snapshot, pairing: Pairing
) -> Iterator[tuple[int, tuple[ChunkGold, ChunkGold]]]:
    """Pairs with gold chunks labelled by id, with the same labels in both runs."""
    baseline_gold, candidate_gold = baseline.cases.chunk_gold, candidate.cases.chunk_gold
    for pair, (left, right) in enumerate(zip(pairing.baseline.tolist(), pairing.candidate.tolist(), strict=True)):
        if left in baseline_gold and right in candidate_gold and not pairing.new_gold[pair]:
            yield pair, (baseline_gold[left], candidate_gold[right])


@dataclass(frozen=True, slots=True)
class _Stretches:
    """The gold spans; None for an id that neither corpus has."""

    gold: list[Stretch | None]
    moved: int
    vanished: int

    @classmethod
    def of(cls, baseline: ChunkGold, candidate: ChunkGold) -> _Stretches:
        label_pairs = [(place, candidate.labels[id]) for id, place in baseline.labels.items()]
        differ = [pair for pair in label_pairs if pair[0] != pair[1]]
        vanished = sum(None in pair for pair in differ)
        return cls([one or other for one, other in label_pairs], len(differ) - vanished, vanished)


def _metrics(
    gold: ChunkGold, stretches: Sequence[Stretch | None], k: int | None, names: Sequence[str]
) -> dict[str, float | None]:
    relevant = dict.fromkeys(gold.spans, 1)
    for number, stretch in enumerate(stretches):
        relevant |= dict.fromkeys(_chunks_at(gold, stretch) or [f"not there {number}"], 1)
    cutoffs = {name: cutoff for name in names if (cutoff := _cutoff(name, k)) is not None}
    depth = max(cutoffs.values(), default=1)
    ranked = {rank: id for id, (*_, rank) in gold.chunks.items() if rank is not None}
    ids = [ranked.get(rank, f"other {rank}") for rank in range(1, depth + 1)]
    found = ranking_metrics(ids, relevant, sorted(set(cutoffs.values())))
    return {name: found[f"{_measure(name)}@{cutoff}"] for name, cutoff in cutoffs.items()}


def _chunks_at(gold: ChunkGold, stretch: Stretch | None) -> list[str]:
    if stretch is None:
        return []
    document, start, end = stretch
    places = gold.chunks.items()
    return [id for id, (of, first, last, _) in places if of == document and overlap((first, last), (start, end))]


def _measure(name: str) -> str:
    return name.removeprefix(PART).partition("_at_")[0]


def _cutoff(name: str, k: int | None) -> int | None:
    """The cutoff of a metric: 5 for chunk/recall_at_5, the run's k for chunk/recall_at_k and chunk/mrr."""
    number = re.search(r"_at_(\d+)$", name)
    return int(number.group(1)) if number else k
