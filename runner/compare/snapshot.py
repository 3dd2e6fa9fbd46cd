"""snapshot.json: everything needed to compare a run with another one, without texts of the data.

    {"schema": 1, "kind": "runner.snapshot", "run": {...}, "config": {...}, "identity": {name: hash},
     "depends": {metric: [names of identity]}, "declared": [records of metrics], "metrics", "slices", "counts",
     "cases_count", "cost", "timing",
     "cases": {"ids": [...], "content": [...], "gold": [...], …, "values": {metric: [number or null]}}}

Columns of `cases` have one entry for each finished case, by ascending id. `content` and `gold` are hashes of the
question and of its labels (null where a case failed before it told them). `cluster`: what a case shares with others
that are not independent of it, such as the document it asks about (null for none). `latency_ms` is null for what came
from a cache or did not end well. `unscored`, `weights` and `noise` map metrics to {place: number}, where there is one;
`noise` is the standard error of the score of a judge that was asked several times. `chunk_gold` maps places of cases
to where their gold chunks stand (runner.retrieval.stage.record_of), where those are labelled by id. `documents` maps
the documents of a corpus that is not large to short digests, by which a comparison says how many changed.
"""

from __future__ import annotations

import hashlib
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from runner.metrics.catalogue import DECLARED, catalogue_in
from runner.metrics.clusters import AUTO, cluster_key
from runner.metrics.judging import noise_of
from runner.metrics.metric import Catalogue
from runner.system.folder import DOCUMENTS, RunFolder, open_run
from runner.system.journal import whole_rows
from runner.system.metadata import read_json
from runner.system.shared_record import note_once
from runner.system.writing import replacing

SCHEMA = 1
KIND = "runner.snapshot"
FILE, ROWS = "snapshot.json", "per_item.jsonl"
NOTHING = float("nan")
HASHES = ("content", "gold")  # columns with few repeated values
BLOCK = 512  # rows whose numbers are put into columns together
RUN = (
    "id", "experiment", "evaluation_type", "k", "status", "created_at", "updated_at", "git", "versions", "choices",
    "overrides", "sweep_id", "fingerprint", "models",
)  # fmt: skip

# Identities that an experiment varies, as it varies every component; metrics depend on all others.
TREATMENTS = frozenset(
    {"chunks", "given", "generator", "retriever", "store", "embedder", "tokenizer", "models", "slices", "memory"}
    | {"traces", "profile", "novelty", "trace_weights", "memory_weights", "agent", "reranker", "suggester", "system"}
)
# Components that contain others, or have their own identity.
NOT_IDENTITY = ("evaluation", "dataset", "scenario", "models", "judge")


def write_snapshot(folder: Path) -> Path:
    """Args:
        folder: of a run.

    Returns:
        The snapshot that was written there.

    Raises:
        InputError: the folder holds no run.
    """
    path = folder / FILE
    with replacing(path) as scratch, scratch.open("wb") as file:
        file.writelines(_parts(open_run(folder)))
    return path


def encode(opened: RunFolder) -> bytes:
    """The content of snapshot.json of a run folder."""
    return b"".join(_parts(opened))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as scratch:
        scratch.write_bytes(data)


def _parts(run: RunFolder) -> Iterator[bytes]:
    """The columns of cases are encoded one at a time."""
    yield orjson.dumps(_head(run)).removesuffix(b"}") + b',"cases":'
    cluster = str((run.run.get("config") or {}).get("cluster", AUTO))
    yield from _object(_cases(whole_rows(run.path / ROWS), catalogue_in(run.run), cluster))
    yield b"}\n"


def _object(entries: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
    """The parts of a JSON object; an iterator of entries becomes a nested object."""
    yield b"{"
    for number, (name, value) in enumerate(entries):
        yield (b"," if number else b"") + orjson.dumps(name) + b":"
        if isinstance(value, Iterator):
            yield from _object(value)
        else:
            yield orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    yield b"}"


def _head(folder: RunFolder) -> dict[str, Any]:
    """Everything but the cases."""
    run, summary = folder.run, folder.summary
    identity, components = _identity(run), run.get("components") or {}
    metrics, catalogue = summary.get("metrics") or {}, catalogue_in(run)
    timing = summary.get("timing") or {}
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "run": {name: run.get(name) for name in RUN}
        | {"k": summary.get("k", run.get("k"))},  # evaluation.topk of links
        "config": run.get("config") or {},
        "identity": identity,
        "depends": {name: list(depends_on(name, identity, catalogue, components)) for name in metrics},
        DECLARED: catalogue.record(metrics),
        "metrics": metrics,
        "slices": summary.get("slices") or {},
        "counts": summary.get("counts") or {},
        "cases_count": summary.get("cases") or {},
        **({"cost": summary["cost"]} if summary.get("cost") else {}),
        **({"documents": documents} if (documents := read_json(folder.path / DOCUMENTS)) else {}),
        "timing": {name: timing[name] for name in ("latency", "usage", "usage_total") if name in timing},
    }


def depends_on(
    metric: str, identity: Iterable[str], catalogue: Catalogue, components: Iterable[str] = ()
) -> tuple[str, ...]:
    """Args:
        metric: its name in rows.
        identity: the names of the identities that the run has.
        catalogue: the metrics of the run.
        components: identities of the run's own components, also of kinds that only another package has.

    Returns:
        The identities that must be equal for two values of the metric to be comparable.
    """
    fields = set(identity)
    depends = catalogue.variant(metric).depends
    if depends is None:
        depends = tuple(sorted(fields - TREATMENTS - set(components)))
    found = catalogue.variant(metric).metric
    own_code = () if found is None else (f"metric_code.{found.name}",)  # of a class outside this program
    return tuple(dict.fromkeys(name for name in (*depends, *own_code) if name in fields))


def content_hash(text: str) -> str:
    """A hash of a question, independent of its id; 16 hex digits."""
    normal = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _identity(run: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of the data, of the components, of the judge and of the code that scores, as the run recorded them."""
    components = {name: digest for name, digest in (run.get("components") or {}).items() if name not in NOT_IDENTITY}
    data = {"chunks" if name == "corpus" else name: digest for name, digest in (run.get("identity") or {}).items()}
    data.pop("judge", None)  # it includes the prompts; they are separated below
    judged_by = run.get("judged_by") or {}
    judge = {"judge": judged_by["judge"]} if judged_by else {}
    prompts = {f"judge_prompt.{rubric}": digest for rubric, digest in (judged_by.get("prompts") or {}).items()}
    code = {f"metric_code.{family}": digest for family, digest in (run.get("metric_code") or {}).items()}
    return {**data, **components, **judge, **prompts, **code}


# --- cases ----------------------------------------------------------------------------------------


def _cases(rows: Iterable[Mapping[str, Any]], catalogue: Catalogue, cluster: str) -> Iterator[tuple[str, Any]]:
    """(name, column); a column of columns is an iterator of such pairs."""
    columns = _Columns(catalogue, cluster)
    for row in rows:
        columns.add(row)
    return columns.by_id()


class _Columns:
    """Rows as compact columns. Metrics have their names of summary.json."""

    def __init__(self, catalogue: Catalogue, cluster: str) -> None:
        self._names, self._cluster = catalogue.summary_names, cluster
        self._decided = frozenset(metric.name for metric in catalogue.metrics if metric.decided_by)
        self._ids: dict[str, int] = {}
        self._texts: dict[str, list[Any]] = {
            name: [] for name in ("content", "gold", "status", "language", "difficulty", "tags", "cluster")
        }
        self._latency: array[float] = array("d")
        self._numbers: dict[str, array[float]] = {}
        self._waiting: dict[tuple[str, ...], tuple[list[int], list[list[float | None]]]] = {}  # by the names of rows
        self._labels: dict[str, list[str | None]] = {}
        self._sparse: dict[str, dict[str, dict[int, float]]] = {"unscored": {}, "weights": {}, "noise": {}}
        self._chunk_gold: dict[int, Any] = {}
        self._interned: dict[Any, Any] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row. A second one of the same case is ignored, as in the journal."""
        place, id = len(self._ids), row["id"]
        if id in self._ids:
            return
        self._ids[id] = place
        self._add_texts(row)
        self._latency.append(_latency(row))
        self._add_numbers(place, row["metrics"])
        interned, columns = self._interned, self._labels
        for name, label in row["labels"].items():
            column = columns[name] if name in columns else columns.setdefault(name, [])
            if len(column) < place:
                self._fill(column, place, None)
            column.append(interned.setdefault(label, label))
        if row["unscored"] or row["weights"] or row["judgements"]:
            self._add_sparse(place, row)

    def _add_texts(self, row: Mapping[str, Any]) -> None:
        output, texts, interned = row.get("output"), self._texts, self._interned
        kept = output if isinstance(output, dict) or isinstance(output, Mapping) else {}  # noqa: SIM101 - in turn
        question = kept.get("query", row["id"])
        texts["content"].append(note_once(output, "content", lambda: content_hash(str(question))) if kept else None)
        texts["gold"].append(kept.get("gold"))
        cluster = cluster_key(row.get("clusters") or {}, row.get("tags") or (), self._cluster)
        columns = {"cluster": cluster, **{name: row.get(name) for name in ("status", "language", "difficulty")}}
        for name, text in columns.items():
            texts[name].append(interned.setdefault(text, text))
        tags = tuple(row.get("tags") or ())
        texts["tags"].append(interned.setdefault(tags, tags))
        if kept and kept.get("chunk_gold"):
            self._chunk_gold[len(self._ids) - 1] = kept["chunk_gold"]

    def _add_sparse(self, place: int, row: Mapping[str, Any]) -> None:
        """Entries that few rows have."""
        unscored, noise = dict.fromkeys(row["unscored"], 1), noise_of(row["judgements"])
        for kind, entries in (("unscored", unscored), ("weights", row["weights"]), ("noise", noise)):
            for name, number in entries.items():
                self._sparse[kind].setdefault(name, {})[place] = number

    def _add_numbers(self, place: int, metrics: Mapping[str, float | None]) -> None:
        names = tuple(metrics)
        waiting = self._waiting
        places, values = waiting[names] if names in waiting else waiting.setdefault(names, ([], []))
        places.append(place)
        values.append(list(metrics.values()))
        if (place + 1) % BLOCK == 0:
            self._put_waiting()

    def _put_waiting(self) -> None:
        n = len(self._ids)
        for names, (places, values) in self._waiting.items():
            block = np.array(values, dtype=np.float64)
            has_any = ~np.isnan(block).all(axis=0) | np.array([name in self._decided for name in names], dtype=bool)
            for number in np.flatnonzero(has_any).tolist():
                column = self._fill(self._numbers.setdefault(names[number], array("d")), n, NOTHING)
                np.frombuffer(column, dtype=np.float64)[places] = block[:, number]
        self._waiting.clear()

    def by_id(self) -> Iterator[tuple[str, Any]]:
        """The columns by ascending id; numbers are float64 [n_cases], with NaN for null."""
        self._put_waiting()
        ids = sorted(self._ids)
        n, order = len(ids), np.fromiter((self._ids[id] for id in ids), dtype=np.intp, count=len(ids))
        places = np.empty(n, dtype=np.intp)
        places[order] = np.arange(n)
        unscored = {name: array("d") for name in self._sparse["unscored"]}
        numbers = {name: self._fill(column, n, NOTHING) for name, column in sorted((unscored | self._numbers).items())}
        labels = {name: self._fill(column, n, None) for name, column in sorted(self._labels.items())}
        yield "ids", ids
        for name, texts in self._texts.items():
            yield name, [texts[place] for place in order]
        yield "latency_ms", np.array(self._latency, dtype=np.float64)[order]
        yield "values", ((self._names.get(name, name), np.array(column)[order]) for name, column in numbers.items())
        for kind, columns in self._sparse.items():
            yield kind, self._place(columns, places)
        yield "labels", ((name, [column[place] for place in order]) for name, column in labels.items())
        yield "chunk_gold", {str(places[row]): found for row, found in self._chunk_gold.items()}

    def _place(
        self, columns: Mapping[str, Mapping[int, float]], places: Sequence[int] | Any
    ) -> dict[str, dict[str, float]]:
        """Metric -> place in the order of ids (as a text) -> number."""
        return {
            self._names.get(name, name): {
                str(place): n for place, n in sorted((places[row], column[row]) for row in column)
            }
            for name, column in sorted(columns.items())
        }

    @staticmethod
    def _fill(column: Any, n: int, nothing: Any) -> Any:
        """The column with entries for the first `n` cases."""
        column.extend([nothing] * (n - len(column)))
        return column


def _latency(row: Mapping[str, Any]) -> float:
    """The latency of a successful case whose stages were all live; else NaN."""
    ms = row.get("latency_ms")
    if ms is None or row.get("status") != "ok":
        return NOTHING
    timings = (row.get("timings") or {}).values()
    return float(ms) if all(timing.get("live", True) for timing in timings) else NOTHING
