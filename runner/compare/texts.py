"""The texts of flips: the question, both answers, the added and removed chunks, and the judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runner.compare.flips import Flip, Flips
from runner.compare.sides import Side

MOST = 50  # most flips of a kind with texts, heaviest first


def with_texts(flips: Flips, baseline: Side, candidate: Side) -> Flips:
    """The flips with texts for the heaviest, where rows are available. A snapshot file has no rows, but the other run
    has the same questions."""
    heaviest = [*flips.lost[:MOST], *flips.won[:MOST]]
    before, after = (
        baseline.rows({flip.baseline_id for flip in heaviest}),
        candidate.rows({flip.id for flip in heaviest}),
    )
    k = (baseline.snapshot.k, candidate.snapshot.k)

    def with_text(flip: Flip) -> Flip:
        rows = before.get(flip.baseline_id), after.get(flip.id)
        return flip if rows == (None, None) else replace(flip, texts=_texts(*rows, k))

    lost = [*map(with_text, flips.lost[:MOST]), *flips.lost[MOST:]]
    won = [*map(with_text, flips.won[:MOST]), *flips.won[MOST:]]
    return replace(flips, lost=lost, won=won)


def _texts(
    baseline_row: Mapping[str, Any] | None, candidate_row: Mapping[str, Any] | None, k: tuple[int | None, int | None]
) -> dict[str, Any]:
    """The texts of a flip; a side without a row is None, and texts that need both rows are empty."""
    before, after = (_output(row) for row in (baseline_row, candidate_row))
    chunks = [_chunks(output, depth) for output, depth in zip((before, after), k, strict=True)]
    has_both = baseline_row is not None and candidate_row is not None
    return {
        "question": after.get("query") or before.get("query"),
        "expected": list(after.get("expected") or before.get("expected") or ()),
        "ranks": [_rank(before), _rank(after)] if has_both else [],
        "answers": list(after.get("answers") or before.get("answers") or ()),
        "baseline": _side(baseline_row),
        "candidate": _side(candidate_row),
        "came": [chunk for chunk in chunks[1] if has_both and chunk["id"] not in {each["id"] for each in chunks[0]}],
        "went": [chunk for chunk in chunks[0] if has_both and chunk["id"] not in {each["id"] for each in chunks[1]}],
        "judges": _judges(baseline_row.get("judgements") or {}, candidate_row.get("judgements") or {})
        if baseline_row and candidate_row
        else {},
    }


def _output(row: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (row or {}).get("output") or {}


def _side(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    output = _output(row)
    shown = {name: output.get(name) for name in ("answer", "declined")}
    return None if row is None else {**shown, "error": row.get("error")}


def _chunks(output: Mapping[str, Any], k: int | None) -> list[dict[str, Any]]:
    """The contexts of a generator, or the best documents of a ranking, with rank and whether they were expected."""
    chunks: Sequence[Mapping[str, Any]] = output.get("contexts") or (output.get("retrieved") or ())[:k]
    expected = set(output.get("expected") or ())
    return [
        {
            "id": str(chunk.get("chunk") or chunk.get("id")),
            "title": chunk.get("title") or "",
            "rank": rank,
            "expected": str(chunk.get("id")).rpartition("#")[0] in expected or chunk.get("id") in expected,
        }
        for rank, chunk in enumerate(chunks, start=1)
    ]


def _rank(output: Mapping[str, Any]) -> int | None:
    """The rank of the best expected document in a row."""
    expected = set(output.get("expected") or ())
    ranked = enumerate(output.get("retrieved") or (), start=1)
    return next((rank for rank, document in ranked if document.get("id") in expected), None)


def _judges(before_judgements: Mapping[str, Any], after_judgements: Mapping[str, Any]) -> dict[str, Any]:
    """Rubric -> scores and reasons of both runs, where the score changed."""
    changes = {}
    for rubric in dict.fromkeys([*before_judgements, *after_judgements]):
        before, after = (_judgement(judgements.get(rubric)) for judgements in (before_judgements, after_judgements))
        if before["score"] != after["score"]:
            changes[rubric] = {"baseline": before, "candidate": after}
    return changes


def _judgement(judgement: Mapping[str, Any] | None) -> dict[str, Any]:
    fields = judgement or {}
    return {"score": fields.get("score"), "reason": fields.get("reasoning") or fields.get("error") or ""}
