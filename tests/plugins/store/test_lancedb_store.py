from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lancedb", reason="the extra lancedb is not installed")

from plugins.store.lancedb import LancedbStore
from runner.errors import StopRunError
from runner.retrieval.stores import Collection, IndexSettings
from tests.store_kinds import (
    DIM,
    Cloud,
    filters_as_exact_search,
    goes_on_where_it_was_cut_off,
    holds_as_exact_search,
    indexed,
    lists_and_deletes,
    rankings,
    tells_texts,
)


def test_finds_what_the_exact_search_finds(tmp_path: Path) -> None:
    facts = holds_as_exact_search(tmp_path, LancedbStore(path=str(tmp_path / "kept"), batch_size=50))
    assert (facts["kind"], facts["n_chunks"], facts["dim"]) == ("flat", 120, DIM)
    assert (tmp_path / "kept" / f"{facts['collection']}.lance").is_dir()


async def test_a_cut_off_collection_is_gone_on_with(tmp_path: Path) -> None:
    await goes_on_where_it_was_cut_off(tmp_path, LancedbStore())


async def test_collections_are_listed_and_deleted(tmp_path: Path) -> None:
    await lists_and_deletes(tmp_path, LancedbStore())


def test_ivf_tells_its_recall(tmp_path: Path) -> None:
    cloud = Cloud(400)
    few, facts = indexed(tmp_path / "1", LancedbStore(), cloud, index="ivf", ivf_lists=10, ivf_probes=1)
    _, all_of_it = indexed(tmp_path / "2", LancedbStore(), cloud, index="ivf", ivf_lists=10, ivf_probes=10)
    assert facts["recall_at_10"] < 0.95 < all_of_it["recall_at_10"] <= 1
    assert rankings(few)[0].ids[0] == "000#0"


async def test_vectors_of_another_length_are_refused(tmp_path: Path) -> None:
    store, name = LancedbStore(), "runner_" + "c" * 24
    await (await store.open(Collection(name, 3, 4, IndexSettings(), tmp_path))).close()
    with pytest.raises(StopRunError) as raised:
        await store.open(Collection(name, 3, 5, IndexSettings(), tmp_path))
    assert str(raised.value) == (
        f"store: the collection {name} at the cache has vectors of 4 numbers, and the embedder makes 5; delete it: "
        "python -m runner clean stores"
    )


def test_a_folder_that_is_a_file_is_told_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file")
    assert [str(each) for each in LancedbStore(path=path).preflight()] == [
        f"store.path: expected a folder; {path} is a file"
    ]


def test_filters_and_tells_what_it_holds(tmp_path: Path) -> None:
    filters_as_exact_search(tmp_path / "filtered", LancedbStore())
    tells_texts(tmp_path / "told", LancedbStore())
