"""MLflow: one flat run per run folder, and one more per sweep, found together by the tag `sweep_id`.

Runs are not nested: the MLflow UI collapses children and draws no charts for a parent that has some.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from runner.system.redaction import redacted
from runner.tracking.entry import PASSING, DatasetEntry, Entry, draw, run_entry, sweep_entry
from runner.tracking.mlflow_client import connect, reported, shown, sqlite_file

MARKER = ".mlflow_run.json"
PARAM_LIMIT, TAG_LIMIT, NAME_LIMIT = 6000, 8000, 250  # characters that MLflow keeps
PARAMS_A_BATCH, METRICS_A_BATCH = 100, 1000
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # the UI opens at the table of runs
STATUS = {"completed": "FINISHED", "failed": "FAILED", "partial": "KILLED"}


class MlflowTracking:
    """A folder that was uploaded before is updated: it keeps the run id in `.mlflow_run.json`.

    A logged param cannot change in MLflow, so a folder whose params differ from those of its earlier
    upload replaces that run by a new one.
    """

    def __init__(
        self,
        *,
        uri: str = "sqlite:///mlflow.db",
        experiment: str | None = None,
        figures: bool = True,
        slices: list[Literal["language", "difficulty", "tag"]] | None = None,
        timeout_s: Annotated[int, Field(ge=1)] = 5,
    ) -> None:
        self.uri = uri
        self.experiment = experiment
        self.figures = figures
        self.slices = slices or ()
        self.timeout_s = timeout_s

    def prepare(self) -> None:
        remedy = "results stay in the run folder; upload them later with: python -m runner track RUN_DIR"
        with reported(self.uri, "tracking is not ready", remedy), _alone(self.uri):
            client = connect(self.uri, self.timeout_s)
            client.search_experiments(max_results=1)
            if self.experiment is not None:
                _experiment_id(client, self.uri, redacted(self.experiment))

    def upload(self, folder: Path) -> str | None:
        return self._upload(folder, run_entry(folder, slices=self.slices))

    def upload_sweep(self, folder: Path) -> str | None:
        return self._upload(folder, sweep_entry(folder))

    def _upload(self, folder: Path, entry: Entry) -> str:
        remedy = f"upload it later with: python -m runner track {shlex.quote(str(folder))}"
        with reported(self.uri, f"{folder} was not uploaded", remedy):
            client = connect(self.uri, self.timeout_s)
            params = {_name(name): _cut(value, PARAM_LIMIT) for name, value in entry.params.items()}
            run_id = self._run_id(client, folder, entry, params)
            _log_numbers(client, run_id, params, entry)
            if entry.dataset is not None:
                _log_dataset(client, run_id, entry.dataset)
            for path in entry.files:
                client.log_artifact(run_id, str(path))
            client.set_terminated(run_id, STATUS.get(entry.status, "FAILED"), entry.updated_ms)
            if self.figures:
                _log_figures(client, run_id, folder)
            return run_id

    def _run_id(self, client: Any, folder: Path, entry: Entry, params: Mapping[str, str]) -> str:
        """The run of an earlier upload of this folder with its tags brought up to date, or a new one."""
        experiment_id = _experiment_id(client, self.uri, redacted(self.experiment or entry.experiment))
        tags = _tags(entry)
        earlier = _earlier(client, folder, self.uri, experiment_id)
        if earlier is not None and all(params.get(name) == value for name, value in earlier.data.params.items()):
            for name, value in tags.items():
                if earlier.data.tags.get(name) != value:
                    client.set_tag(earlier.info.run_id, name, value)
            for name in set(PASSING) & earlier.data.tags.keys() - tags.keys():
                client.delete_tag(earlier.info.run_id, name)
            return str(earlier.info.run_id)
        if earlier is not None:
            client.delete_run(earlier.info.run_id)
        run_id = str(client.create_run(experiment_id, entry.created_ms, tags, redacted(entry.name)).info.run_id)
        _mark(folder, {"uri": shown(self.uri), "experiment_id": experiment_id, "run_id": run_id})
        return run_id


def _tags(entry: Entry) -> dict[str, str]:
    special = {
        "mlflow.runName": entry.name,
        "mlflow.note.content": entry.description,
        "mlflow.source.name": "runner",
        "mlflow.source.git.commit": entry.commit,
    }
    tags = {name: value for name, value in special.items() if value} | dict(entry.tags)
    return {name: _cut(value, TAG_LIMIT) for name, value in tags.items()}


def _log_numbers(client: Any, run_id: str, params: Mapping[str, str], entry: Entry) -> None:
    """Only what the run does not have yet: a metric logged twice would become a curve of two points."""
    from mlflow.entities import Metric, Param

    logged = client.get_run(run_id).data
    metrics = {_name(name): value for name, value in entry.metrics.items()}
    new_params = [Param(name, value) for name, value in params.items() if name not in logged.params]
    new_metrics = [
        Metric(name, value, entry.updated_ms, 0) for name, value in metrics.items() if logged.metrics.get(name) != value
    ]
    for batch in _batches(new_params, PARAMS_A_BATCH):
        client.log_batch(run_id, params=batch)
    for batch in _batches(new_metrics, METRICS_A_BATCH):
        client.log_batch(run_id, metrics=batch)


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _log_dataset(client: Any, run_id: str, entry: DatasetEntry) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag
    from mlflow.exceptions import MlflowException

    source, profile = redacted(json.dumps(dict(entry.source))), json.dumps({"cases": entry.n_cases})
    dataset = Dataset(redacted(entry.name), entry.digest, "local", source, profile=profile)
    inputs = [DatasetInput(dataset, [InputTag("mlflow.data.context", "eval")])]
    for attempts_left in (2, 1, 0):
        try:
            client.log_inputs(run_id, datasets=inputs)
            return
        except MlflowException as error:
            # Two runs of one data set that end together both find it missing and both insert it; the store
            # refuses the later one, which finds it when it looks again.
            raced = "UNIQUE constraint" in str(error) or "duplicate key" in str(error)
            if not raced or not attempts_left:
                raise


def _log_figures(client: Any, run_id: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for path in draw(folder, Path(scratch)):
            client.log_artifact(run_id, str(path), "figures")


# --- names and places -----------------------------------------------------------------------------


def _name(name: str) -> str:
    """A name that MLflow takes: 250 word characters (Hangul too), dots, dashes and blanks. No slash: the UI
    would show groups of names with a slash before everything else. Changed names are told apart by a hash."""
    allowed = re.sub(r"[^\w.\- ]", "_", name)
    if allowed == name and name.strip(".") and len(name) <= NAME_LIMIT:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{allowed[: NAME_LIMIT - 9]}-{digest}"


def _cut(text: str, limit: int) -> str:
    text = redacted(text)
    if len(text) <= limit:
        return text
    end = f" … ({len(text)} characters; the files of the run hold all of them)"
    return text[: limit - len(end)] + end


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


def _experiment_id(client: Any, uri: str, name: str) -> str:
    """The experiment of that name, made or brought back from the bin where needed."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, _artifacts(uri, name), EXPERIMENT_TAGS))
        except MlflowException:  # another process was faster
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage != "active":
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)


def _artifacts(uri: str, experiment: str) -> str | None:
    """Beside the database for sqlite, wherever the process was started; a server decides for itself."""
    database = sqlite_file(uri)
    if database is None:
        return None
    return str(database.parent.resolve() / "mlruns" / re.sub(r"[^\w.-]+", "-", experiment))


def _earlier(client: Any, folder: Path, uri: str, experiment_id: str) -> Any:
    """The run that this folder was uploaded as before, where it still is in the same store and experiment."""
    from mlflow.exceptions import MlflowException

    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        if marker["uri"] != shown(uri) or marker["experiment_id"] != experiment_id:
            return None
        run = client.get_run(marker["run_id"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, MlflowException):
        return None
    return run if run.info.lifecycle_stage == "active" else None


def _mark(folder: Path, value: Mapping[str, str]) -> None:
    scratch = folder / f"{MARKER}.{os.getpid()}"
    scratch.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    scratch.replace(folder / MARKER)
