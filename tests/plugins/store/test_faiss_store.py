from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from hydra import compose

from plugins.retriever.semantic import SemanticRetriever
from plugins.store.faiss import FaissStore
from runner.config.components import build, identity
from runner.config.compose import initialise
from tests.store_kinds import Cloud, filters_as_exact_search, indexed, rankings


def test_is_the_index_of_the_retriever_itself(tmp_path: Path) -> None:
    retriever, facts = indexed(tmp_path / "1", FaissStore())
    plain, expected = indexed(tmp_path / "2", None)
    assert rankings(retriever) == rankings(plain)
    assert {**facts, "size_bytes": 0} == {**expected, "size_bytes": 0}
    assert SemanticRetriever(embedder=Cloud(), store=FaissStore()).provenance == {
        "faiss": version("faiss-cpu"),
        "embedder": {},
    }


def test_leaves_the_identity_of_what_takes_it_as_it_was() -> None:
    """Of results that were made before a store could be chosen."""
    with initialise(None):
        cfg = compose("config", ["evaluation=retrieval_only", "retriever=semantic"])
        other = compose("config", ["evaluation=retrieval_only", "retriever=semantic", "store=lancedb"])
    before = compose_without_store(cfg.copy())
    assert identity(cfg.evaluation) == identity(before.evaluation) != identity(other.evaluation)
    assert build(cfg.evaluation).root.retrieval.retriever.store is None


def compose_without_store(cfg):  # type: ignore[no-untyped-def]
    from omegaconf import open_dict

    with open_dict(cfg):
        del cfg.retriever["store"], cfg["store"]
    return cfg


@pytest.mark.parametrize("index", ["flat", "hnsw", "ivf"])
def test_a_filter_leaves_some_of_the_vectors(tmp_path: Path, index: str) -> None:
    """Whatever the index: with all its effort it finds what the exact search finds."""
    filters_as_exact_search(tmp_path, FaissStore(), index=index, hnsw_effort=120, ivf_lists=3, ivf_probes=3)
