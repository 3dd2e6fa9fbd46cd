"""Batches that are made at once, and what may be read and stored."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from runner.errors import EvaluationError
from runner.llm.settings import CacheMode
from runner.retrieval.embeddings import BatchSink, EmbeddingStore, Vectors, in_turn
from tests.runner.letters import MODEL, Letters, embed

# --- several batches at once ----------------------------------------------------------------------


class Gathered:
    """Hands back batches in the order of `order`, and fails after them."""

    def __init__(self, order: Sequence[int], error: Exception | None = None) -> None:
        self.order, self.error = order, error
        self.asked: list[list[str]] = []

    def __call__(self, batches: Sequence[list[str]], done: BatchSink) -> None:
        self.asked += batches
        for number in self.order:
            thread = threading.Thread(target=done, args=(number, Letters()(batches[number])))
            thread.start()
            thread.join()
        if self.error is not None:
            raise self.error


def test_batches_come_back_in_any_order_from_any_thread(tmp_path: Path) -> None:
    texts = ["a", "환불", "ccc", "dddd", "eeeee"]
    gathered = Gathered([2, 0, 1])
    rows = EmbeddingStore(tmp_path, MODEL).embed(texts, "passage", gathered, batch_size=2)
    assert gathered.asked == [["a", "환불"], ["ccc", "dddd"], ["eeeee"]]
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [1, 2, 3, 4, 5], rtol=1e-6)


def test_each_batch_is_stored_as_it_comes_back(tmp_path: Path) -> None:
    texts = ["a", "bb", "ccc", "dddd"]
    with pytest.raises(EvaluationError, match=r"^gone$"):
        EmbeddingStore(tmp_path, MODEL).embed(texts, "passage", Gathered([3, 1], EvaluationError("gone")), batch_size=1)
    assert EmbeddingStore(tmp_path, MODEL).has(texts, "passage") == [False, True, False, True]


def test_who_is_told_what_was_stored(tmp_path: Path) -> None:
    embed(tmp_path, ["a", "bb"])
    store, told = EmbeddingStore(tmp_path, MODEL), list[str]()
    for texts in (["a", "ccc", "", "a"], ["a", "bb", "ccc"]):
        store.embed(texts, "passage", in_turn(Letters()), batch_size=8, note_stored=told.extend)
    assert told == ["a", "bb"]


# --- what may be read and stored ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["read", "replay"])
def test_reading_only(tmp_path: Path, mode: CacheMode) -> None:
    embed(tmp_path, ["a"])
    store, letters = EmbeddingStore(tmp_path, MODEL, mode), Letters()
    for _ in range(2):
        store.embed(["a", "bb"], "passage", in_turn(letters), batch_size=8)
    assert letters.texts == ["bb"]
    assert store.has(["a", "bb"], "passage") == [True, True]
    assert EmbeddingStore(tmp_path, MODEL, mode).has(["a", "bb"], "passage") == [True, False]


def test_reading_only_makes_no_file(tmp_path: Path) -> None:
    embed(tmp_path, ["a"], mode="read")
    assert list(tmp_path.iterdir()) == []


def test_neither_reading_nor_storing(tmp_path: Path) -> None:
    embed(tmp_path, ["a"])
    store, letters = EmbeddingStore(tmp_path, MODEL, "none"), Letters()
    assert store.has(["a"], "passage") == [False]
    for _ in range(2):
        store.embed(["a", "bb"], "passage", in_turn(letters), batch_size=8)
    assert letters.texts == ["a", "bb"]
    assert EmbeddingStore(tmp_path, MODEL).has(["a", "bb"], "passage") == [True, False]


def test_refreshing_asks_once_for_each_sweep_and_stores(tmp_path: Path) -> None:
    embed(tmp_path, ["a", "bb"])
    assert embed(tmp_path, ["a"], mode="refresh", sweep="1")[0].texts == ["a"]
    assert embed(tmp_path, ["a", "bb"], mode="refresh", sweep="1")[0].texts == ["bb"]
    assert EmbeddingStore(tmp_path, MODEL, "refresh", sweep="1").has(["a", "bb"], "passage") == [True, True]
    assert embed(tmp_path, ["a"], mode="refresh", sweep="2")[0].texts == ["a"]
    assert embed(tmp_path, ["a", "bb"])[0].texts == []


def test_a_rehearsal_stores_nothing_and_knows_what_it_has_made_up(tmp_path: Path) -> None:
    made_up: dict[Path, Vectors] = {}
    assert embed(tmp_path, ["a"], made_up=made_up)[0].texts == ["a"]
    assert list(tmp_path.iterdir()) == []
    assert embed(tmp_path, ["a", "bb"], made_up=made_up)[0].texts == ["bb"]
    embed(tmp_path, ["ccc"])
    letters, rows = embed(tmp_path, ["a", "ccc"], made_up=made_up)
    assert letters.texts == []
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [1, 3], rtol=1e-6)
    assert EmbeddingStore(tmp_path, MODEL).has(["a", "bb", "ccc"], "passage") == [False, False, True]
    assert embed(tmp_path, ["a"], made_up={})[0].texts == ["a"]


def test_what_runs_do_not_share_a_rehearsal_does_not_either(tmp_path: Path) -> None:
    made_up: dict[Path, Vectors] = {}
    for _ in range(2):
        assert embed(tmp_path, ["a"], mode="none", made_up=made_up)[0].texts == ["a"]


def test_made_up_vectors_are_made_as_long_as_stored_ones(tmp_path: Path) -> None:
    embed(tmp_path, ["a"])
    longer = in_turn(lambda texts: np.ones((len(texts), 3), "f4"))
    rows = EmbeddingStore(tmp_path, MODEL, made_up={}).embed(["a", "bb"], "passage", longer, batch_size=8)
    assert rows.shape == (2, 2)
    assert rows.any(axis=1).all()
