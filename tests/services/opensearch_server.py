"""The part of OpenSearch's HTTP interface that a store uses, on loopback, by its documentation: no OpenSearch can run
here. It refuses requests of another form, so that what is sent is tested, not what OpenSearch makes of it."""

from __future__ import annotations

import base64
import json
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from tests.services.held_requests import HeldRequests

MOST_CLAUSES = 1024
ANALYZERS = ("nori", "standard", "english")
USER, PASSWORD, VARIABLE = "admin", "맞는 열쇠 s3cret", "TEST_OPENSEARCH_PASSWORD"


class Indexes:
    """`url` of the server; `indexes`: name -> its body, and documents by id; `faults`: statuses that the next requests
    get; `held`: holds searches back. `version`: below 3, scores of words have the factor k1 + 1. Terms are lower-cased
    words, whatever analyzer."""

    def __init__(self) -> None:
        self.url, self.version = "", "3.1.0"
        self.indexes: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.faults: list[int] = []
        self.held: HeldRequests | None = None

    def answer(self, method: str, path: str, lines: list[Any]) -> tuple[int, Any]:
        name, _, action = path.partition("?")[0].strip("/").partition("/")
        if method == "PUT":
            assert set(lines[0]) == {"settings", "mappings"}
            if (analyzer := lines[0]["mappings"]["properties"]["text"].get("analyzer", "nori")) not in ANALYZERS:
                reason = f"analyzer [{analyzer}] has not been configured in mappings"
                return 400, {"error": {"type": "mapper_parsing_exception", "reason": reason}}
            self.indexes[name] = (lines[0], {})
            return 200, {"acknowledged": True}
        if name == "runner_*":
            return 200, {each: {"mappings": body["mappings"]} for each, (body, _) in self.indexes.items()}
        if name not in self.indexes:
            return 404, {"error": {"type": "index_not_found_exception", "reason": f"no such index [{name}]"}}
        if method == "DELETE":
            del self.indexes[name]
            return 200, {"acknowledged": True}
        body, documents = self.indexes[name]
        if action == "_bulk":
            documents |= {head["index"]["_id"]: row for head, row in zip(lines[::2], lines[1::2], strict=True)}
            return 200, {"errors": False, "items": [{"index": {"status": 201}} for _ in lines[::2]]}
        if action == "_mget":
            return 200, {"docs": [{"_id": id, "_source": {"text": documents[id]["text"]}} for id in lines[0]["ids"]]}
        if action == "_msearch":
            find = self._found if "vector" in body["mappings"]["properties"] else self._matching
            return 200, {"responses": [find(each, body, documents) for each in lines[1::2]]}
        if action == "_mtermvectors":
            return 200, {"docs": [self._terms(each["doc"]["text"], documents) for each in lines[0]["docs"]]}
        return 200, {"_mapping": {name: {"mappings": body["mappings"]}}, "_count": {"count": len(documents)}}.get(
            action
        )

    @property
    def about(self) -> dict[str, Any]:
        """What the server says of itself."""
        return {"version": {"number": self.version, "distribution": "opensearch"}}

    def _matching(self, search: dict[str, Any], body: dict[str, Any], documents: dict[str, Any]) -> dict[str, Any]:
        """Lucene's BM25, with lengths as they are."""
        assert search["sort"] == ["_score", {"id": "desc"}] and search["track_scores"] is True
        query, own = search["query"]["bool"], body["settings"]["index"]["similarity"]["own"]
        asked = terms_of(query["must"]["match"]["text"])
        if len(asked) > MOST_CLAUSES:
            return {"status": 400, "error": {"reason": "maxClauseCount is set to 1024"}}
        groups = [set(each["terms"]["facets"]) for each in query.get("filter", ())]
        passages = {id: terms_of(row["text"]) for id, row in documents.items()}
        mean = sum(map(len, passages.values())) / len(passages)
        scores: dict[str, float] = {}
        for id, terms in passages.items():
            norm = own["k1"] * (1 - own["b"] + own["b"] * len(terms) / mean)
            parts = [weight(passages, term) * terms.count(term) / (terms.count(term) + norm) for term in asked]
            scores[id] = sum(parts) * (1 if self.version >= "3" else own["k1"] + 1)
        ids = [id for id, row in documents.items() if scores[id] > 0 and all(g & set(row["facets"]) for g in groups)]
        ids.sort(key=lambda own: (scores[own], documents[own]["id"].encode()), reverse=True)
        return {"hits": {"hits": [{"_id": id, "_score": scores[id]} for id in ids[: search["size"]]]}}

    def _terms(self, text: str, documents: dict[str, Any]) -> dict[str, Any]:
        asked, passages = terms_of(text), {id: terms_of(row["text"]) for id, row in documents.items()}
        if not asked:
            return {"found": True, "term_vectors": {}}
        terms = {}
        for term in asked:
            frequency = sum(term in own for own in passages.values())
            terms[term] = {"term_freq": asked.count(term), **({"doc_freq": frequency} if frequency else {})}
        statistics = {"doc_count": len(passages), "sum_ttf": sum(map(len, passages.values()))}
        return {"found": True, "term_vectors": {"text": {"field_statistics": statistics, "terms": terms}}}

    def _found(self, search: dict[str, Any], body: dict[str, Any], documents: dict[str, Any]) -> dict[str, Any]:
        query = search["query"]
        is_graph = body["settings"]["index"]["knn"]
        assert search["_source"] == ["vector"] and is_graph == ("knn" in query)
        if is_graph:
            assert query["knn"]["vector"]["k"] == search["size"]
            vector, wanted = query["knn"]["vector"]["vector"], query["knn"]["vector"].get("filter")
        else:
            script = query["script_score"]["script"]
            assert (script["source"], script["lang"], script["params"]["field"]) == ("knn_score", "knn", "vector")
            vector, inner = script["params"]["query_value"], query["script_score"]["query"]
            assert inner == {"match_all": {}} or set(inner) == {"bool"}
            wanted = inner if "bool" in inner else None
        groups = [set(each["terms"]["facets"]) for each in wanted["bool"]["filter"]] if wanted else []
        assert body["mappings"]["properties"]["facets"] == {"type": "keyword"}
        ids = [id for id, row in documents.items() if all(group & set(row["facets"]) for group in groups)]
        scores = np.array([documents[id]["vector"] for id in ids], dtype=np.float32) @ np.array(
            vector, dtype=np.float32
        )
        best = np.argsort(-scores)[: search["size"]]
        return {
            "hits": {
                "hits": [{"_id": ids[n], "_score": 1.0 + scores[n].item(), "_source": documents[ids[n]]} for n in best]
            }
        }


def terms_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def weight(passages: dict[str, list[str]], term: str) -> float:
    frequency = sum(term in own for own in passages.values())
    return math.log1p((len(passages) - frequency + 0.5) / (frequency + 0.5))


@contextmanager
def serving_indexes() -> Iterator[Indexes]:
    indexes = Indexes()
    access = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            text = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            is_list = self.path.partition("?")[0].endswith(("_bulk", "_msearch"))  # one JSON value a line
            lines = [json.loads(line) for line in (text.splitlines() if is_list else filter(None, [text]))]
            if indexes.held is not None and "_msearch" in self.path:
                try:
                    indexes.held.wait(self.connection)
                except ConnectionAbortedError:
                    self.close_connection = True
                    return
            if indexes.faults:
                status, reply = indexes.faults.pop(0), {"error": {"type": "odd", "reason": "not now"}}
            elif self.headers.get("authorization") != access:
                status, reply = 401, {"error": {"type": "security_exception", "reason": "Unauthorized"}}
            elif self.path == "/":
                status, reply = 200, indexes.about
            else:
                status, reply = indexes.answer(self.command, self.path, lines)
            sent = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            with suppress(ConnectionError):  # the client has gone
                self.wfile.write(b"" if self.command == "HEAD" else sent)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        indexes.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield indexes
        server.shutdown()
