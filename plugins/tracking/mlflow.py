"""MLflow: one flat run per run folder, and one more per sweep, found together by the tag `sweep_id`.

Runs are not nested: the MLflow UI collapses children and draws no charts for a parent that has some.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from runner.tracking import connect, reported, shown, sqlite_file

MARKER = ".mlflow_run.json"
PARAM_LIMIT, TAG_LIMIT = 6000, 8000  # characters that MLflow keeps
PARAMS_A_BATCH, METRICS_A_BATCH = 100, 1000
NOT_PARAMS = ("tracking", "out", "cache_dir", "report", "format")
CHOICES = ("dataset", "retriever", "tokenizer", "embedder", "generator", "judge")
WITH_INTERVAL = (
    "precision_at_k", "recall_at_k", "hit_rate_at_k", "ndcg_at_k", "map_at_k", "mrr",
    "mean_faithfulness", "mean_answer_relevancy",
)  # fmt: skip
SLICED = ("recall_at_k", "ndcg_at_k", "mrr", "mean_faithfulness", "mean_answer_relevancy")
STATUS = {"completed": "FINISHED", "failed": "FAILED", "partial": "KILLED"}


class MlflowTracking:
    """A run that was uploaded before is updated: its folder keeps the run id in `.mlflow_run.json`.

    A logged param cannot change in MLflow, so a folder whose params differ from those of its earlier
    upload replaces that run by a new one.
    """

    def __init__(
        self,
        *,
        uri: str = "sqlite:///mlflow.db",
        experiment: str | None = None,
        figures: bool = True,
        slices: bool = True,
        timeout_s: Annotated[int, Field(ge=1)] = 5,
    ) -> None:
        self.uri = uri
        self.experiment = experiment
        self.figures = figures
        self.slices = slices
        self.timeout_s = timeout_s

    def prepare(self) -> None:
        with (
            reported(self.uri, "cannot prepare tracking", "runs are kept in their folders, upload them later with: "
                     "python -m runner track RUN_DIR"),
            _alone(self.uri),
        ):
            client = connect(self.uri, self.timeout_s)
            client.search_experiments(max_results=1)
            if self.experiment is not None:
                self._experiment_id(client, self.experiment)

    def upload(self, folder: Path) -> str | None:
        with self._reported(folder):
            run, summary = _read(folder / "run.json"), _read(folder / "summary.json")
            client = connect(self.uri, self.timeout_s)
            params = _params(run)
            run_id = self._run_id(client, folder, run, params, _tags(folder, run, summary))
            _log(client, run_id, params, _metrics(summary, self.slices), _milliseconds(run["updated_at"]))
            _log_dataset(client, run_id, run, summary)
            self._log_files(client, run_id, folder, "run")
            client.set_terminated(run_id, STATUS.get(run["status"], "FAILED"), _milliseconds(run["updated_at"]))
            return run_id

    def upload_sweep(self, folder: Path) -> str | None:
        with self._reported(folder):
            sweep, summary = _read(folder / "sweep.json"), _read(folder / "summary.json")
            client = connect(self.uri, self.timeout_s)
            run_id = self._run_id(client, folder, sweep, {}, _sweep_tags(folder, sweep, summary))
            self._log_files(client, run_id, folder, "sweep")
            ended = _milliseconds(sweep.get("updated_at") or sweep["created_at"])
            client.set_terminated(run_id, STATUS.get(sweep["status"], "FAILED"), ended)
            return run_id

    @contextmanager
    def _reported(self, folder: Path) -> Iterator[None]:
        remedy = f"upload it later with: python -m runner track {folder}"
        with reported(self.uri, f"{folder} was not uploaded", remedy):
            yield

    def _run_id(
        self, client: Any, folder: Path, run: Mapping[str, Any], params: Mapping[str, str], tags: Mapping[str, str]
    ) -> str:
        """The run of an earlier upload of this folder, brought up to date, or a new one."""
        experiment_id = self._experiment_id(client, self.experiment or str(run["experiment"]))
        earlier = _earlier(client, folder, self.uri, experiment_id)
        if earlier is not None and all(params.get(name) == value for name, value in earlier.data.params.items()):
            for name, value in tags.items():
                if earlier.data.tags.get(name) != value:
                    client.set_tag(earlier.info.run_id, name, value)
            return str(earlier.info.run_id)
        if earlier is not None:
            client.delete_run(earlier.info.run_id)
        created = client.create_run(
            experiment_id, _milliseconds(run["created_at"]), dict(tags), tags.get("mlflow.runName")
        )
        run_id = str(created.info.run_id)
        _mark(folder, {"uri": shown(self.uri), "experiment_id": experiment_id, "run_id": run_id})
        return run_id

    def _experiment_id(self, client: Any, name: str) -> str:
        from mlflow.exceptions import MlflowException

        found = client.get_experiment_by_name(name)
        if found is None:
            try:
                return str(client.create_experiment(name, artifact_location=_artifacts(self.uri, name)))
            except MlflowException:  # another process was faster
                found = client.get_experiment_by_name(name)
                if found is None:
                    raise
        if found.lifecycle_stage != "active":
            client.restore_experiment(found.experiment_id)
        return str(found.experiment_id)

    def _log_files(self, client: Any, run_id: str, folder: Path, kind: str) -> None:
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.name.startswith(".") and path.suffix not in (".lock", ".writing"):
                client.log_artifact(run_id, str(path))
        if self.figures:
            from runner import figures

            draw = figures.draw_run if kind == "run" else figures.draw_sweep
            with tempfile.TemporaryDirectory() as scratch:
                for path in draw(folder, Path(scratch)):
                    client.log_artifact(run_id, str(path), "figures")


# --- what is logged -------------------------------------------------------------------------------


def _params(run: Mapping[str, Any]) -> dict[str, str]:
    """The chosen components, and every setting of the configuration under its dotted key.

    What a component shares with the top level (`evaluation.retriever`, `evaluation.k`) is not repeated.
    """
    config = {name: value for name, value in run["config"].items() if name not in NOT_PARAMS}
    params = {name: str(choice) for name, choice in (run.get("choices") or {}).items() if name not in NOT_PARAMS}
    for name, value in _flat(config, config, ""):
        params[name] = _cut(value, PARAM_LIMIT)
    return {_name(name): value for name, value in params.items()}


def _flat(node: Mapping[str, Any], config: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in node.items():
        if prefix and name in config and config[name] == value:
            continue
        if isinstance(value, Mapping) and value:
            yield from _flat(value, config, f"{prefix}{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{prefix}{name}", text


def _metrics(summary: Mapping[str, Any], slices: bool) -> dict[str, float]:
    metrics = summary.get("metrics") or {}
    found = {name: entry["value"] for name, entry in metrics.items()}
    for name in WITH_INTERVAL:
        for end in ("ci_low", "ci_high"):
            found[f"{name}_{end}"] = (metrics.get(name) or {}).get(end)
    for stage, entry in ((summary.get("timing") or {}).get("latency") or {}).items():
        for percentile in ("p50_ms", "p95_ms"):
            found[f"latency/{stage}_{percentile}"] = entry.get(percentile)
    for name, count in (summary.get("cases") or {}).items():
        found[f"cases/{name}"] = count
    for dimension, groups in ((summary.get("slices") or {}) if slices else {}).items():
        for group, entries in groups.items():
            for name in SLICED:
                found[f"slice/{dimension}/{_part(group)}/{name}"] = (entries.get(name) or {}).get("value")
    return {_name(name): float(value) for name, value in found.items() if value is not None}


def _tags(folder: Path, run: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, str]:
    choices, git = run.get("choices") or {}, run.get("git") or {}
    commit = f"{git['commit']}{'-dirty' if git.get('dirty') else ''}" if git.get("commit") else None
    baselines = ", ".join((summary.get("facts") or {}).get("baselines") or [])
    tags = {
        "mlflow.runName": _run_name(folder, run),
        "mlflow.note.content": _note(run, baselines),
        "mlflow.source.name": "runner",
        "mlflow.source.git.commit": git.get("commit"),
        "experiment": run.get("experiment"),
        "evaluation": run.get("evaluation_type"),
        **{name: choices.get(name) for name in CHOICES},
        "git_commit": commit,
        "fingerprint": run.get("fingerprint"),
        "status": run.get("status"),
        "error_message": run.get("error_message"),
        "sweep_id": run.get("sweep_id"),
        "sweep_role": "cell" if run.get("sweep_id") else None,
        "baselines": baselines or "none",
    }
    return {name: _cut(str(value), TAG_LIMIT) for name, value in tags.items() if value}


def _sweep_tags(folder: Path, sweep: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, str]:
    baselines = sorted({name for cell in summary.get("cells") or () for name in cell.get("baselines") or ()})
    report = folder / "summary.md"
    tags = {
        "mlflow.runName": f"summary of {sweep['id']}",
        "mlflow.note.content": report.read_text(encoding="utf-8") if report.is_file() else None,
        "mlflow.source.name": "runner",
        "experiment": sweep.get("experiment"),
        "status": sweep.get("status"),
        "sweep_id": sweep.get("id"),
        "sweep_role": "summary",
        "baselines": ", ".join(baselines) or "none",
    }
    return {name: _cut(str(value), TAG_LIMIT) for name, value in tags.items() if value}


def _run_name(folder: Path, run: Mapping[str, Any]) -> str:
    """What sets a run apart: its overrides in the sweep, else its retriever and k."""
    cells = _read(folder.parent / "sweep.json").get("cells") or () if run.get("sweep_id") else ()
    for cell in cells:
        if cell.get("folder") == folder.name and cell.get("overrides"):
            return ", ".join(cell["overrides"])
    words = [run.get("experiment"), (run.get("choices") or {}).get("retriever"), f"k={run.get('k')}"]
    return " ".join(str(word) for word in words if word)


def _note(run: Mapping[str, Any], baselines: str) -> str:
    """The description that the MLflow UI shows: who judged, and how to run it again."""
    overrides = [name for name in run.get("overrides") or () if not name.startswith(("out=", "hydra."))]
    lines = [f"    python -m runner {' '.join(overrides)}"]
    if baselines:
        lines = [f"Baselines without a language model: {baselines}. Their scores are rough estimates.", *lines]
    if run.get("error_message"):
        lines.append(f"{run['status']}: {run['error_message']}")
    return "\n\n".join(lines)


def _log_dataset(client: Any, run_id: str, run: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    """The data set as an MLflow input: its choice as the name, a hash over everything that was read as the digest."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    identity = run.get("identity") or {}
    if not identity:
        return
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    name = (run.get("choices") or {}).get("dataset") or run["experiment"]
    profile = json.dumps({"cases": (summary.get("cases") or {}).get("total")})
    dataset = Dataset(str(name), digest, "local", json.dumps(identity), profile=profile)
    client.log_inputs(run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", "eval")])])


def _log(client: Any, run_id: str, params: Mapping[str, str], metrics: Mapping[str, float], now: int) -> None:
    """Only what the run does not have yet: a metric logged twice would become a curve of two points."""
    from mlflow.entities import Metric, Param

    logged = client.get_run(run_id).data
    new_params = [Param(name, value) for name, value in params.items() if name not in logged.params]
    new_metrics = [Metric(name, value, now, 0) for name, value in metrics.items() if logged.metrics.get(name) != value]
    for batch in _batches(new_params, PARAMS_A_BATCH):
        client.log_batch(run_id, params=batch)
    for batch in _batches(new_metrics, METRICS_A_BATCH):
        client.log_batch(run_id, metrics=batch)


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


# --- names and places -----------------------------------------------------------------------------


def _name(name: str) -> str:
    """MLflow takes word characters (Hangul too), dots, dashes, blanks and slashes, 250 at most, and no
    path that resolves to another one. Two names that would collide are told apart by a hash."""
    allowed = re.sub(r"[^\w.\- /]", "_", name)
    if allowed != name or len(allowed) > 250:
        return f"{allowed[:240]}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return allowed


def _part(text: str) -> str:
    """`text` as one part of a path-like name."""
    return text.replace("/", "|") if text.strip(".") else f"|{text}"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = f" … ({len(text)} characters; all of them are in run.json)"
    return text[: limit - len(end)] + end


def _milliseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000)


def _artifacts(uri: str, experiment: str) -> str | None:
    """Beside the database for sqlite, wherever the process was started; a server decides for itself."""
    database = sqlite_file(uri)
    if database is None:
        return None
    return str(database.parent.resolve() / "mlruns" / re.sub(r"[^\w.-]+", "-", experiment))


@contextmanager
def _alone(uri: str) -> Iterator[None]:
    """One process at a time makes the tables of a new sqlite database; the others wait."""
    database = sqlite_file(uri)
    if database is None:
        yield
        return
    database.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(database.with_name(f"{database.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _earlier(client: Any, folder: Path, uri: str, experiment_id: str) -> Any:
    """The run that this folder was uploaded as before, where it still is in the same store and experiment."""
    from mlflow.exceptions import MlflowException

    marker = _read(folder / MARKER)
    if marker.get("uri") != shown(uri) or marker.get("experiment_id") != experiment_id:
        return None
    try:
        run = client.get_run(marker["run_id"])
    except MlflowException:
        return None
    return run if run.info.lifecycle_stage == "active" else None


def _mark(folder: Path, value: Mapping[str, str]) -> None:
    scratch = folder / f"{MARKER}.{os.getpid()}"
    scratch.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    scratch.replace(folder / MARKER)


def _read(path: Path) -> dict[str, Any]:
    """The object in a file; empty when there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
