"""Gold chunks by id in a corpus that is cut otherwise. The document has 40 characters, in chunks of 10 or of 20."""

from typing import Any

import pytest

from runner.compare.anchoring import anchor_snapshots
from runner.compare.comparability import reasons
from runner.compare.snapshots import ChunkGold
from tests.comparison_runs import cases, paired, snapshot

NAMES = ("chunk/recall_at_1", "chunk/recall_at_5", "chunk/mrr", "chunk/precision_at_k")
TENS = {f"doc#{n}": (10 * n, 10 * n + 10) for n in range(4)}
TWENTIES = {f"doc#{n}": (20 * n, 20 * n + 20) for n in range(2)}


def gold(
    labels: list[str], chunks: dict[str, tuple[int, int]], ranks: dict[str, int], spans: list[str] | None = None
) -> ChunkGold:
    places = {id: ("doc", *chunks[id]) for id in chunks}
    return ChunkGold(
        labels={id: places.get(id) for id in labels},
        spans=spans or [],
        chunks={id: (*place, ranks.get(id)) for id, place in places.items()},
    )


def run(found: ChunkGold | None, chunks: str, value: float = 0.0, **changes: Any) -> Any:
    columns = {} if found is None else {"chunk_gold": {0: found}}
    values = {name: [value] for name in NAMES}
    return snapshot(cases(["a"], values, **columns), identity={"chunks": chunks, **changes})


def worked_out(one: ChunkGold, other: ChunkGold) -> tuple[dict[str, tuple[float, float]], tuple[int, int, int]]:
    runs = paired(run(one, "tens"), run(other, "twenties"))
    found = runs.anchored
    assert found is not None
    values = {name: (float(pair[0][0]), float(pair[1][0])) for name, pair in found.values.items()}
    return values, (found.cases, found.moved, found.vanished)


def test_an_id_that_is_gone_is_found_by_its_place() -> None:
    """doc#3 is 30..40, which is half of doc#1 of the other corpus (20..40), found there at rank 2."""
    values, counts = worked_out(gold(["doc#3"], TENS, {"doc#3": 4}), gold(["doc#3"], TWENTIES, {"doc#1": 2}))
    assert counts == (1, 0, 1)
    assert values == {
        "chunk/recall_at_1": (0.0, 0.0), "chunk/recall_at_5": (1.0, 1.0), "chunk/mrr": (0.25, 0.5),
        "chunk/precision_at_k": (0.2, 0.2),
    }  # fmt: skip


def test_an_id_that_stands_for_another_passage_follows_the_baseline() -> None:
    """doc#1 is 10..20 in the baseline: the second half of doc#0 of the candidate, whose own doc#1 is 20..40."""
    values, counts = worked_out(
        gold(["doc#1"], TENS, {"doc#1": 1}), gold(["doc#1"], TWENTIES, {"doc#1": 1, "doc#0": 5})
    )
    assert counts == (1, 1, 0)
    assert values["chunk/mrr"] == (1.0, 0.2)
    assert values["chunk/recall_at_1"] == (1.0, 0.0)


def test_an_id_that_only_the_candidate_has() -> None:
    """doc#3 is 30..40 there: half of doc#1 of the baseline."""
    values, counts = worked_out(gold(["doc#3"], TWENTIES, {"doc#1": 3}), gold(["doc#3"], TENS, {"doc#3": 1}))
    assert counts == (1, 0, 1)
    assert values["chunk/mrr"] == (pytest.approx(1 / 3), 1.0)


def test_an_id_that_neither_has_stays_unfound() -> None:
    both = ["doc#0", "doc#9"]
    values, counts = worked_out(gold(both, TENS, {"doc#0": 1}), gold(both, TWENTIES, {"doc#0": 1}))
    assert counts == (1, 1, 0)  # doc#0 is 0..10 and 0..20
    assert values["chunk/recall_at_5"] == (0.5, 0.5)


def test_chunks_that_are_gold_by_a_span_stay_gold() -> None:
    one = gold(["doc#3"], TENS, {"doc#3": 1}, spans=["doc#0"])
    other = gold(["doc#3"], TWENTIES, {"doc#1": 1}, spans=["doc#0"])
    assert worked_out(one, other)[0]["chunk/recall_at_5"] == (0.5, 0.5)


def test_an_id_that_stands_where_it_stood_counts_as_no_change() -> None:
    halves = {"doc#0": (0, 10), "doc#1": (10, 40)}
    values, counts = worked_out(gold(["doc#0"], TENS, {"doc#0": 1}), gold(["doc#0"], halves, {"doc#0": 2}))
    assert counts == (0, 0, 0)
    assert values["chunk/mrr"] == (1.0, 0.5)


def test_ids_that_stand_where_they_stood() -> None:
    """Nothing to find again, but the metrics of the two corpora are comparable."""
    runs = paired(run(None, "tens", 0.25), run(None, "twenties", 0.75))
    assert runs.anchored is not None
    assert (runs.anchored.cases, runs.anchored.moved, runs.anchored.vanished) == (0, 0, 0)
    assert reasons(runs, "chunk/mrr") == []
    found = runs.differences(["chunk/mrr"])["chunk/mrr"].numbers
    assert found is not None and (found.baseline, found.candidate) == (0.25, 0.75)


@pytest.mark.parametrize("changes", [{}, {"documents": "other"}])
def test_only_where_the_same_documents_are_cut_otherwise(changes: dict[str, str]) -> None:
    one, other = run(None, "tens"), run(None, "tens" if not changes else "twenties", **changes)
    assert anchor_snapshots(one, other, paired(one, other).pairing) is None


def test_labels_that_changed_are_not_followed() -> None:
    one = gold(["doc#3"], TENS, {})
    values = {"chunk/mrr": [0.5]}
    left = snapshot(cases(["a"], values, gold=["g"], chunk_gold={0: one}), identity={"chunks": "tens"})
    right = snapshot(cases(["a"], values, gold=["h"], chunk_gold={0: one}), identity={"chunks": "twenties"})
    found = paired(left, right).anchored
    assert found is not None and found.cases == 0 and found.values["chunk/mrr"][0].tolist() == [0.5]
