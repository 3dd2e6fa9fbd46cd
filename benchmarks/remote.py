"""What a question costs whose vectors are kept on a server, by how many questions a request has and how many requests
are in flight.

    python benchmarks/remote.py [--questions 256] [--latency-ms 5]

The servers are stand-ins in a process of their own, which answer any search after the latency with the same 132 hits
(depth 100 and a margin), each with its vector of 384 numbers: 0.5 MB of JSON a question. The client libraries are the
real ones. `before`: 64 questions a request, one request after the other. Each line is a process of its own; times are
per question, and the wall time is that of a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.retrieval import memory_mb
from plugins.store.opensearch import OpensearchStore
from plugins.store.qdrant import QdrantStore
from runner.retrieval import stores
from runner.retrieval.stores import Collection, IndexSettings, StoreIndex

DIM, HITS, SIZE = 384, 132, 100_000
WAYS = {"before": (64, 1), "8 questions": (8, 1), "8 questions, 4 in flight": (8, 4), "1 question, 4 in flight": (1, 4)}
STORES = {"opensearch": OpensearchStore, "qdrant": QdrantStore}


def serve(latency_s: float, told: Connection) -> None:
    """A process that answers searches of both kinds; tells its port."""
    from aiohttp import web

    vectors = np.random.default_rng(42).standard_normal((HITS, DIM), dtype=np.float32)
    hits = [{"_id": str(n), "_score": 1.0, "_source": {"vector": own}} for n, own in enumerate(vectors)]
    points = [{"id": n, "version": 1, "score": 1.0, "vector": own} for n, own in enumerate(vectors)]
    opensearch, qdrant = (
        orjson.dumps(reply, option=orjson.OPT_SERIALIZE_NUMPY)
        for reply in ({"status": 200, "hits": {"hits": hits}}, {"points": points})
    )

    async def answer(request: web.Request) -> web.Response:
        body = await request.read()
        await asyncio.sleep(latency_s)
        if request.path.endswith("_msearch"):
            replies = b",".join([opensearch] * (body.count(b"\n") // 2))
            return web.Response(body=b'{"responses":[' + replies + b"]}", content_type="application/json")
        replies = b",".join([qdrant] * len(orjson.loads(body)["searches"]))
        reply = b'{"status":"ok","time":0,"result":[' + replies + b"]}"
        return web.Response(body=reply, content_type="application/json")

    async def main() -> None:
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await (site := web.TCPSite(runner, "127.0.0.1", 0)).start()
        told.send(site._server.sockets[0].getsockname()[1])  # type: ignore[union-attr]
        await asyncio.Event().wait()

    asyncio.run(main())


@contextmanager
def serving(latency_s: float) -> Iterator[str]:
    context = multiprocessing.get_context("spawn")
    told, telling = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(latency_s, telling), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{told.recv()}"
    finally:
        process.terminate()
        process.join()


def measured(name: str, url: str, way: str, n_questions: int) -> tuple[float, float, float]:
    """Wall and CPU milliseconds a question, and the peak of memory in MB."""
    stores.VECTORS_A_REQUEST, in_flight = WAYS[way]
    store: Any = STORES[name](url=url)  # type: ignore[abstract]
    store.transfer = replace(store.transfer, max_concurrency=in_flight)
    store.open = lambda collection: _opened(store, collection)
    questions = np.random.default_rng(1).standard_normal((n_questions, DIM), dtype=np.float32)

    async def search() -> tuple[float, float]:
        index = StoreIndex(store, Collection("runner_" + "a" * 24, SIZE, DIM, IndexSettings(), Path()))
        await index.nearest(questions[:1], HITS)
        wall, cpu = time.perf_counter(), time.process_time()
        await index.nearest(questions, HITS)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        await asyncio.to_thread(index.close)
        return 1000 * wall / n_questions, 1000 * cpu / n_questions

    return (*asyncio.run(search()), memory_mb())


async def _opened(store: Any, collection: Collection) -> Any:
    """A collection that is taken to be there."""
    from plugins.store.opensearch import _Index
    from plugins.store.qdrant import _Points

    if isinstance(store, OpensearchStore):
        return _Index(store, collection, store._client(), SIZE, 1.0)
    return _Points(store, collection, store._client(collection.name, Path()), SIZE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=256)
    parser.add_argument("--latency-ms", type=float, default=5.0)
    options = parser.parse_args()
    print(f"{options.questions} questions, a server {options.latency_ms:g} ms away")
    print(f"{'':<38}{'wall ms':>9}{'CPU ms':>9}{'peak MB':>9}")
    with serving(options.latency_ms / 1000) as url:
        for name in STORES:
            for way in WAYS:
                with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
                    wall, cpu, peak = executor.submit(measured, name, url, way, options.questions).result()
                print(f"{name:<12}{way:<26}{wall:>9.1f}{cpu:>9.1f}{peak:>9.0f}", flush=True)


if __name__ == "__main__":
    main()
