"""What else changed between two runs: documents that were added, removed or edited, and the cases that met them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from runner.compare.sides import Side
from runner.system.folder import lines

NAMED = 1_000  # cases that are named


@dataclass(frozen=True, slots=True)
class CorpusChange:
    """Counts are None where a snapshot does not hold the digests of its documents. `gold` and `retrieved` are cases of
    which a gold document, or one that was found, is another one in the two corpora; None where the rows of a run are
    not at hand."""

    added: int | None = None
    removed: int | None = None
    edited: int | None = None
    gold: tuple[str, ...] | None = None
    retrieved: tuple[str, ...] | None = None


def corpus_change(baseline: Side, candidate: Side) -> CorpusChange | None:
    """None where both have the same documents."""
    one, other = (side.snapshot for side in (baseline, candidate))
    if one.identity.get("documents") == other.identity.get("documents"):
        return None
    if not one.documents or not other.documents:
        return CorpusChange()
    edited = {id for id in one.documents.keys() & other.documents.keys() if one.documents[id] != other.documents[id]}
    removed, added = one.documents.keys() - other.documents.keys(), other.documents.keys() - one.documents.keys()
    counts = len(added), len(removed), len(edited)
    if baseline.folder is None or candidate.folder is None:
        return CorpusChange(*counts)
    found: tuple[set[str], set[str]] = set(), set()
    for side in (baseline, candidate):
        _collect(side, removed | added | edited, found)
    gold, retrieved = (tuple(sorted(ids)[:NAMED]) for ids in found)
    return CorpusChange(*counts, gold, retrieved)


def _collect(side: Side, changed: Set[str], found: tuple[set[str], set[str]]) -> None:
    """Ids of the cases with gold documents, and with retrieved ones, among those that changed."""
    assert side.folder is not None  # noqa: S101  its caller has looked
    for row in lines(side.folder / "per_item.jsonl"):
        output = row.get("output")
        kept: Mapping[str, Any] = output if isinstance(output, Mapping) else {}
        if not changed.isdisjoint(kept.get("expected") or ()):
            found[0].add(row["id"])
        if any(hit.get("id") in changed for hit in kept.get("retrieved") or ()):
            found[1].add(row["id"])
