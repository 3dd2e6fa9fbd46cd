"""LanceDB: tables in a folder of this machine, read where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from runner.errors import InputError, Problem, StopRunError
from runner.retrieval.filters import Where
from runner.retrieval.stores import (
    NAME,
    Collection,
    Hits,
    OpenCollection,
    Points,
    StoredCollection,
    Transfer,
    TransferSettings,
    missing_packages,
    of_another_length,
)
from runner.system.metadata import version_of

MOST_TABLES = 100_000  # that are listed
LEAST_IVF = 256  # vectors that its clustering wants; fewer are compared one by one


class LancedbStore:
    """One table a collection. `path`: the folder; None: `stores/lancedb` in the cache. Needs the extra `lancedb`. `ivf`
    is IVF_FLAT with whole vectors; its clusters differ each time that a table is made."""

    kinds = ("flat", "ivf")
    filters = tells = True
    incidental = ("path", "batch_size", "timeout_ms", "retries")

    def __init__(self, *, path: str | None = None, **transfer: Unpack[TransferSettings]) -> None:
        self._path = path
        self.transfer = Transfer(**transfer, place=path or "the cache", setting="store.path")

    def preflight(self) -> Sequence[Problem]:
        try:
            _lancedb()
        except InputError as error:
            return [Problem("store", str(error))]
        if self._path is not None and Path(self._path).is_file():
            return [Problem("store.path", f"expected a folder; {self._path} is a file")]
        return []

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Raises InputError where the package is missing."""
        _lancedb()
        return {"lancedb": version_of("lancedb")}

    async def open(self, collection: Collection) -> OpenCollection:
        import pyarrow

        database = await self._database(collection.root)
        try:
            try:
                table = await database.open_table(collection.name)
            except ValueError:  # it has no such table
                vectors = pyarrow.list_(pyarrow.float32(), collection.dim)
                word = pyarrow.string()
                words = [("id", word), ("text", word), ("facets", pyarrow.list_(word))]
                columns = [("number", pyarrow.int64()), *words, ("vector", vectors)]
                table = await database.create_table(collection.name, schema=pyarrow.schema(columns), exist_ok=True)
            dim = (await table.schema()).field("vector").type.list_size
            if dim != collection.dim:
                raise of_another_length(collection.name, dim, collection.dim, self.transfer)
            return _Table(collection, table, await table.count_rows())
        except (OSError, RuntimeError) as error:
            raise _in_words(error, self.transfer) from error

    async def list_collections(self, root: Path) -> Sequence[StoredCollection]:
        if not self._folder(root).is_dir():
            return []
        database = await self._database(root)
        collections = []
        for name in filter(NAME.fullmatch, (await database.list_tables(limit=MOST_TABLES)).tables):
            table = await database.open_table(name)
            made = min(each["timestamp"] for each in await table.list_versions())
            collections.append(StoredCollection(name, await table.count_rows(), made.astimezone(UTC)))
        return collections

    async def drop(self, name: str, root: Path) -> None:
        await (await self._database(root)).drop_table(name)

    def _folder(self, root: Path) -> Path:
        return root / "lancedb" if self._path is None else Path(self._path)

    async def _database(self, root: Path) -> Any:
        try:
            return await _lancedb().connect_async(str(self._folder(root)))
        except (OSError, RuntimeError, ValueError) as error:
            raise _in_words(error, self.transfer) from error


class _Table:
    def __init__(self, collection: Collection, table: Any, n_points: int) -> None:
        self._collection, self._table, self.n_points = collection, table, n_points

    async def add(self, points: Points) -> None:
        import pyarrow

        if points.start < self.n_points:
            await self._table.delete(f"number >= {points.start}")
        flat = pyarrow.array(points.vectors.ravel())
        vectors = pyarrow.FixedSizeListArray.from_arrays(flat, self._collection.dim)
        facets = pyarrow.array([list(own) for own in points.facets], pyarrow.list_(pyarrow.string()))
        words = {"id": list(points.ids), "text": list(points.texts), "facets": facets}
        columns = {"number": pyarrow.array(points.numbers), **words, "vector": vectors}
        await self._table.add(pyarrow.table(columns))
        self.n_points = points.start + len(points.ids)

    async def finish(self) -> None:
        from lancedb.index import IvfFlat

        await self._table.optimize()
        if self._collection.index.kind == "ivf" and self._collection.size >= LEAST_IVF:
            lists = self._collection.index.lists_of(self._collection.size)
            await self._table.create_index("vector", config=IvfFlat(distance_type="dot", num_partitions=lists))

    async def search(self, vectors: NDArray[np.float32], depth: int) -> Sequence[Hits]:
        return [await self._nearest(vector, depth) for vector in vectors]

    async def search_among(self, vectors: NDArray[np.float32], depth: int, where: Where) -> Sequence[Hits]:
        groups = [", ".join(f"'{_escape(facet)}'" for facet in group) for group in where]
        condition = " AND ".join(f"array_has_any(facets, [{group}])" for group in groups)
        return [await self._nearest(vector, depth, condition) for vector in vectors]

    async def texts(self, numbers: Sequence[int]) -> Sequence[str]:
        wanted = ", ".join(map(str, numbers))
        rows = self._table.query().where(f"number IN ({wanted})").select(["number", "text"])
        found = (await rows.to_arrow()).to_pydict()
        by_number = dict(zip(found["number"], found["text"], strict=True))
        return [by_number[number] for number in numbers]

    async def _nearest(self, vector: NDArray[np.float32], depth: int, condition: str | None = None) -> Hits:
        query = self._table.query().nearest_to(vector).column("vector").distance_type("dot").limit(depth)
        if self._collection.index.kind == "flat":
            query = query.bypass_vector_index()
        else:
            query = query.nprobes(self._collection.index.probes)
        if condition is not None:
            query = query.where(condition)
        found = await query.select(["number", "vector", "_distance"]).to_arrow()
        rows = found["vector"].combine_chunks().flatten().to_numpy().reshape(-1, self._collection.dim)
        return Hits(found["number"].to_numpy(), 1.0 - found["_distance"].to_numpy().astype(np.float64), rows)

    async def close(self) -> None:
        self._table.close()


def _escape(text: str) -> str:
    """Escape a text for a literal of SQL."""
    return text.replace("'", "''")


def _in_words(error: Exception, transfer: Transfer) -> StopRunError:
    reason = " ".join(str(error).split())[:300]
    return StopRunError(f"{transfer.setting}: LanceDB cannot use {transfer.place}: {reason}")


def _lancedb() -> Any:
    try:
        import lancedb
    except ImportError as error:
        raise missing_packages("lancedb", "lancedb", error) from error
    return lancedb
