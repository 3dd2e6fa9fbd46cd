"""PostgreSQL with the extension pgvector."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Unpack

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from runner.errors import InputError, Problem, StopRunError
from runner.llm.address import NOT_SHOWN
from runner.retrieval.filters import Where
from runner.retrieval.stores import (
    NAME,
    REQUESTS,
    AwayError,
    Collection,
    Hits,
    IndexSettings,
    InFlight,
    OpenCollection,
    Points,
    StoredCollection,
    Transfer,
    TransferSettings,
    Variable,
    missing_packages,
    of_another_length,
    refusal_error,
    unset_variable,
)
from runner.system.metadata import version_of

MOST_LINKS, MOST_EFFORT = 100, 1000  # that pgvector takes
SAMPLES_A_LIST, LEAST_SAMPLES = 50, 10_000  # vectors from which pgvector draws its clusters
LEAST_MEMORY_MB = 64
PASSING = re.compile(r"08...|40...|57P..|53300|55P03")  # of states: connections, conflicts, restarts, crowding
URL = re.compile(r"postgres(ql)?://[\w.\-\[\]:,]*/[\w.\-]+")
EXAMPLE = "postgresql://127.0.0.1:5432/DATABASE"
NO_ACCESS = re.compile(r"authentication|password|pg_hba|role .* does not exist", re.I)
NO_DATABASE = re.compile(r"database .* does not exist", re.I)
LISTED = """
SELECT relname, obj_description(pg_class.oid) FROM pg_class
WHERE relkind = 'r' AND relname ~ '^runner_[0-9a-f]{24}$' AND pg_table_is_visible(oid) ORDER BY relname
"""


def _url(url: str) -> str:
    if URL.fullmatch(url):
        return url
    message = (
        f"expected an address such as {EXAMPLE}, without user, password and parameters: the name of the user goes into "
        "`username`, the password into an environment variable, and its NAME into `password_env`"
    )
    raise PydanticCustomError(NOT_SHOWN, "{message}", {"message": message})


Url = Annotated[str, AfterValidator(_url)]


class PgvectorStore:
    """One table a collection, in the schema that the user's tables go to. `username` None: that of this process;
    `password_env`: the name of the environment variable that holds the password. Needs the extra `pgvector`, and the
    extension `vector` in the database, which is made where the user may.
    """

    kinds = ("flat", "hnsw", "ivf")
    filters = tells = True
    incidental = ("url", "username", "password_env", *REQUESTS)

    def __init__(
        self,
        *,
        url: Url = "postgresql://127.0.0.1:5432/postgres",
        username: str | None = None,
        password_env: Variable | None = None,
        max_concurrency: InFlight = 4,
        **transfer: Unpack[TransferSettings],
    ) -> None:
        self._url, self._username, self._password = url, username, password_env
        self.transfer = Transfer(**transfer, max_concurrency=max_concurrency, place=url, setting="store.url")

    def preflight(self) -> Sequence[Problem]:
        try:
            _psycopg()
        except InputError as error:
            return [Problem("store", str(error))]
        return unset_variable("store.password_env", self._password, self._url)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Raises InputError where the package is missing."""
        _psycopg()
        return {"pgvector": version_of("pgvector")}

    async def open(self, collection: Collection) -> OpenCollection:
        name, dim = collection.name, collection.dim
        table = _Table(self, collection)
        try:
            async with table.connection() as connection:
                await self._make(connection, name, dim)
                length = "SELECT atttypmod FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'vector'"
                there = await _first_value(connection, length, name)
                if there != dim:
                    raise of_another_length(name, there, dim, self.transfer)
                table.n_points = await _first_value(connection, f"SELECT count(*) FROM {name}")  # noqa: S608
        except BaseException:
            await table.close()
            raise
        return table

    async def list_collections(self, root: Path) -> Sequence[StoredCollection]:
        async with self.open_connection() as connection:
            tables = await (await connection.execute(LISTED)).fetchall()
            collections = []
            for name, comment in tables:
                count = await _first_value(connection, f"SELECT count(*) FROM {name}")  # noqa: S608
                collections.append(StoredCollection(name, count, datetime.fromisoformat(comment) if comment else None))
        return collections

    async def drop(self, name: str, root: Path) -> None:
        if NAME.fullmatch(name):
            async with self.open_connection() as connection:
                await connection.execute(f"DROP TABLE IF EXISTS {name}")

    async def _make(self, connection: Any, name: str, dim: int) -> None:
        if await _first_value(connection, "SELECT to_regclass(%s)", name) is not None:
            return
        await connection.execute(
            f"CREATE TABLE IF NOT EXISTS {name} (number bigint PRIMARY KEY, id text NOT NULL, text text NOT NULL, "
            f"facets text[] NOT NULL, vector vector({dim}))"
        )
        await connection.execute(f"COMMENT ON TABLE {name} IS '{datetime.now(UTC).isoformat()}'")

    # --- connections --------------------------------------------------------------------------------

    @asynccontextmanager
    async def open_connection(self) -> AsyncIterator[Any]:
        """A connection that knows vectors, closed afterwards."""
        connection = await self.connect()
        try:
            with self.errors():
                yield connection
        finally:
            await connection.close()

    async def connect(self) -> Any:
        """A connection that knows vectors."""
        from pgvector.psycopg import register_vector_async

        password = None if self._password is None else os.environ[self._password]
        seconds = max(2, self.transfer.timeout_ms // 1000)
        with self.errors():
            connection = await _psycopg().AsyncConnection.connect(
                self._url, user=self._username, password=password, connect_timeout=seconds, autocommit=True
            )
            try:
                if not await _first_value(connection, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"):
                    await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                await register_vector_async(connection)
            except BaseException:
                await connection.close()
                raise
        return connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the client into errors of a store."""
        psycopg = _psycopg()
        try:
            yield
        except psycopg.OperationalError as error:
            reason = " ".join(str(error).split())
            if NO_ACCESS.search(reason):
                raise refusal_error(self.transfer, "store.password_env", reason) from error
            if NO_DATABASE.search(reason):
                raise StopRunError(f"store.url: {self._url}: {reason}") from error
            if error.sqlstate is None or PASSING.fullmatch(error.sqlstate):
                raise AwayError(reason) from error
            raise StopRunError(f"store.url: {self._url} answers: {reason}") from error
        except psycopg.Error as error:
            reason = " ".join(str(error).split())
            hint = ""
            if error.sqlstate in ("0A000", "42501", "58P01") and "extension" in reason:
                hint = "; pgvector has to be installed there, and an administrator runs CREATE EXTENSION vector"
            raise StopRunError(f"store.url: {self._url} answers: {reason}{hint}") from error


class _Table:
    """Idle connections are in `_idle`; a connection with an error is not used again."""

    n_points = 0

    def __init__(self, store: PgvectorStore, collection: Collection) -> None:
        self._store, self._collection = store, collection
        self._idle: list[Any] = []

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection that nothing else uses; there are as many as requests in flight."""
        connection = self._idle.pop() if self._idle else await self._connect()
        try:
            with self._store.errors():
                yield connection
        except BaseException:
            await connection.close()
            raise
        self._idle.append(connection)

    async def _connect(self) -> Any:
        connection = await self._store.connect()
        if self._collection.index.kind == "ivf":
            await connection.execute(f"SET ivfflat.probes = {self._collection.index.probes}")
        return connection

    async def add(self, points: Points) -> None:
        name = self._collection.name
        async with self.connection() as connection, connection.transaction():
            cursor = connection.cursor()
            await cursor.execute(f"CREATE TEMP TABLE incoming (LIKE {name}) ON COMMIT DROP")
            async with cursor.copy("COPY incoming FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(["int8", "text", "text", "text[]", "vector"])
                for number, id, text, facets, vector in zip(
                    points.numbers, points.ids, points.texts, points.facets, points.vectors, strict=True
                ):
                    await copy.write_row(
                        (number, _without_nul(id), _without_nul(text), list(map(_without_nul, facets)), vector)
                    )
            await cursor.execute(
                f"INSERT INTO {name} SELECT * FROM incoming "  # noqa: S608
                "ON CONFLICT (number) DO UPDATE SET id = excluded.id, text = excluded.text, facets = excluded.facets, "
                "vector = excluded.vector"
            )
        self.n_points = max(self.n_points, points.start + len(points.ids))

    async def finish(self) -> None:
        name = self._collection.name
        async with self.connection() as connection:
            await connection.execute(f"DROP INDEX IF EXISTS {name}_near")
            if kind := _index(self._collection.index, self._collection.size):
                await connection.execute(f"SET maintenance_work_mem = '{_memory_mb(self._collection)}MB'")
                await connection.execute(f"CREATE INDEX {name}_near ON {name} {kind}")
            await connection.execute(f"ANALYZE {name}")

    async def search(self, vectors: NDArray[np.float32], depth: int) -> Sequence[Hits]:
        return await self._nearest(vectors, depth)

    async def search_among(self, vectors: NDArray[np.float32], depth: int, where: Where) -> Sequence[Hits]:
        """Compares every point that passes: an approximate index would look at its nearest points first, and lose
        those that do not pass."""
        return await self._nearest(vectors, depth, where)

    async def texts(self, numbers: Sequence[int]) -> Sequence[str]:
        find = f"SELECT number, text FROM {self._collection.name} WHERE number = ANY(%s)"  # noqa: S608
        async with self.connection() as connection:
            by_number = dict(await (await connection.execute(find, (list(numbers),))).fetchall())
        return [by_number[number] for number in numbers]

    async def _nearest(self, vectors: NDArray[np.float32], depth: int, where: Where = ()) -> list[Hits]:
        """All queries are sent at once (pipeline mode), and answered one after the other."""
        name = self._collection.name
        condition = " AND ".join(["facets && %s"] * len(where)) or "true"
        find = (
            f"WITH candidate AS MATERIALIZED (SELECT number, vector FROM {name} WHERE {condition}) "  # noqa: S608
            if where
            else ""
        )
        find += (
            f"SELECT number, vector, -(vector <#> %s) FROM {'candidate' if where else name} "  # noqa: S608
            f"ORDER BY vector <#> %s LIMIT {int(depth)}"
        )
        groups = [list(map(_without_nul, group)) for group in where]
        async with self.connection() as connection, connection.pipeline():
            if self._collection.index.kind == "hnsw" and not where:
                effort = min(MOST_EFFORT, max(self._collection.index.effort, depth))
                await connection.execute(f"SET hnsw.ef_search = {effort}")
            cursors = [await connection.execute(find, (*groups, own, own), binary=True) for own in vectors]
            return [_hits(await cursor.fetchall()) for cursor in cursors]

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()


def _hits(rows: Sequence[Any]) -> Hits:
    numbers = np.array([row[0] for row in rows], dtype=np.int64)
    scores = np.array([row[2] for row in rows], dtype=np.float64)
    return Hits(numbers, scores, np.array([_array(row[1]) for row in rows], dtype=np.float32).reshape(len(rows), -1))


def _index(index: IndexSettings, size: int) -> str:
    """The rest of CREATE INDEX; empty for none."""
    if index.kind == "hnsw":
        links = min(index.links, MOST_LINKS)
        effort = min(MOST_EFFORT, max(index.effort, 2 * links))
        return f"USING hnsw (vector vector_ip_ops) WITH (m = {links}, ef_construction = {effort})"
    if index.kind == "ivf":
        return f"USING ivfflat (vector vector_ip_ops) WITH (lists = {index.lists_of(size)})"
    return ""


def _memory_mb(collection: Collection) -> int:
    """The memory that clustering needs, without which pgvector refuses: samples, their distances to all centres, and
    those of the centres to each other. 64 is the default of PostgreSQL."""
    if collection.index.kind != "ivf":
        return LEAST_MEMORY_MB
    lists = collection.index.lists_of(collection.size)
    samples = max(SAMPLES_A_LIST * lists, LEAST_SAMPLES)
    n_bytes = samples * (4 * collection.dim + 16) + 4 * samples * lists + 4 * lists * (lists + 4 * collection.dim)
    return max(LEAST_MEMORY_MB, n_bytes * 5 // 4 // 2**20 + 1)


def _without_nul(text: str) -> str:
    """The text without NUL, which PostgreSQL cannot hold."""
    return text.replace("\0", "")


def _array(vector: Any) -> NDArray[np.float32]:
    """Newer versions of the client have a class of their own for vectors."""
    return np.asarray(vector if isinstance(vector, np.ndarray) else vector.to_numpy(), dtype=np.float32)


async def _first_value(connection: Any, query: str, *values: Any) -> Any:
    row = await (await connection.execute(query, values or None)).fetchone()
    return None if row is None else row[0]


def _psycopg() -> Any:
    try:
        import pgvector.psycopg  # noqa: F401
        import psycopg
    except ImportError as error:
        raise missing_packages("pgvector", "psycopg and pgvector", error) from error
    return psycopg
