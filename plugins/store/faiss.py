"""A FAISS index in the cache of this machine, searched in the memory of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runner.system.metadata import version_of

if TYPE_CHECKING:
    from runner.retrieval.stores import Collection, OpenCollection, Transfer


class FaissStore:
    """No store: the retriever keeps its own index."""

    is_within = True
    is_implied = True
    kinds = ("flat", "hnsw", "ivf")
    filters = True

    @property
    def transfer(self) -> Transfer:
        """No requests are made."""
        from runner.retrieval.stores import Transfer

        return Transfer()

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {"faiss": version_of("faiss-cpu")}

    async def open(self, collection: Collection) -> OpenCollection:
        raise RuntimeError("store=faiss is not asked")
