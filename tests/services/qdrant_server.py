"""The part of Qdrant's HTTP interface that a store uses, on loopback, by its documentation, over the local mode of the
client: no Qdrant server can be installed here. What is sent and how replies are read is tested, not what a server
finds."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.services.held_requests import HeldRequests

KEY, VARIABLE = "s3cret", "TEST_QDRANT_KEY"


class Collections:
    """`url` of the server; `faults`: statuses that the next requests get; `held`: holds searches back; `indexed`: the
    payload indexes that were asked for; `searches`: the parameters of searches."""

    def __init__(self, local: Any) -> None:
        self.url, self.local = "", local
        self.faults: list[int] = []
        self.held: HeldRequests | None = None
        self.indexed: list[dict[str, Any]] = []
        self.searches: list[Any] = []
        self.lock = threading.Lock()

    def answer(self, method: str, path: str, body: Any) -> Any:
        from qdrant_client import models

        name, _, action = path.partition("?")[0].removeprefix("/collections").strip("/").partition("/")
        local = self.local
        if not name:
            return local.get_collections()
        if action == "exists":
            return {"exists": local.collection_exists(name)}
        if action == "index":
            self.indexed.append(body)
            return {"operation_id": 1, "status": "completed"}
        if action == "points/count":
            assert body["exact"] is True
            return local.count(name)
        if action == "points/query/batch":
            requests = [models.QueryRequest(**each) for each in body["searches"]]
            self.searches += [each.params for each in requests]
            return local.query_batch_points(name, requests)
        if action == "points" and method == "PUT":
            local.upsert(name, models.Batch(**body["batch"]))
            return {"operation_id": 1, "status": "completed"}
        if action == "points":
            return local.retrieve(name, body["ids"], with_payload=body["with_payload"])
        if method == "PUT":
            vectors = models.VectorParams(**body["vectors"])
            return local.create_collection(name, vectors_config=vectors, metadata=body["metadata"])
        return local.delete_collection(name) if method == "DELETE" else local.get_collection(name)


@contextmanager
def serving_collections() -> Iterator[Collections]:
    from qdrant_client import QdrantClient

    collections = Collections(QdrantClient(":memory:", force_disable_check_same_thread=True))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            text = self.rfile.read(int(self.headers.get("content-length") or 0))
            if collections.held is not None and self.path.partition("?")[0].endswith("/query/batch"):
                try:
                    collections.held.wait(self.connection)
                except ConnectionAbortedError:
                    self.close_connection = True
                    return
            status, result = 200, None
            if collections.faults:
                status = collections.faults.pop(0)
            elif self.headers.get("api-key") != KEY:
                status = 401
            else:
                with collections.lock:  # the local mode takes one request at a time
                    result = collections.answer(self.command, self.path, json.loads(text) if text else None)
            reply = {"status": "ok", "time": 0.0, "result": _plain(result)}
            sent = json.dumps(reply if status == 200 else {"status": {"error": "not now"}}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            with suppress(ConnectionError):  # the client has gone
                self.wfile.write(sent)

        do_GET = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collections.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield collections
        server.shutdown()
    collections.local.close()


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(each) for each in result]
    return result.model_dump(mode="json", exclude_none=True) if hasattr(result, "model_dump") else result
