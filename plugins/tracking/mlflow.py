"""MLflow: one flat run per run folder, and one more per sweep, found together by the tag `sweep_id`.

Runs are not nested: the MLflow UI collapses children and draws no charts for a parent that has some.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from runner.llm.address import NOT_SHOWN
from runner.system.locks import lock
from runner.system.redaction import redact
from runner.system.writing import ignore_in_git
from runner.tracking.entry import PASSING, DatasetEntry, Entry, draw, run_entry, sweep_entry
from runner.tracking.mlflow_client import (
    COPIES,
    connect,
    redact_uri,
    reporting,
    sqlite_file,
    store_fault,
    with_password,
)
from runner.tracking.mlflow_views import NOTE_TAG, STATE_TAG, group_of, links, state, tables_tag
from runner.tracking.traces import ROOT, CaseScore, CaseTrace, Span, case_traces

MARKER = ".mlflow_run.json"
PARAM_LIMIT, TAG_LIMIT, NAME_LIMIT = 6000, 8000, 250  # characters that MLflow keeps
PARAMS_A_BATCH, METRICS_A_BATCH = 100, 900  # of 1000 things in a request
FILES_AT_ONCE = 4
RUNS_AT_ONCE = 4  # to a server, which answers others while its database is asked
RACED = ("UNIQUE constraint", "duplicate key")  # of SQLite, of PostgreSQL
SPANS_A_BATCH, BYTES_A_BATCH = 100, 500_000
TRACE_TAG_LIMIT = 4000
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}  # evaluations are runs, not traces
OF_A_SWEEP = ("cell", "reference")  # its single runs
STATUS = {"completed": "FINISHED", "failed": "FAILED", "partial": "KILLED"}


def _store(uri: str) -> str:
    if fault := store_fault(uri):
        raise PydanticCustomError(NOT_SHOWN, "{message}", {"message": fault})
    return uri


class MlflowTracking:
    """A folder that was uploaded before is updated: it keeps the run id in `.mlflow_run.json`.

    A logged param cannot change in MLflow, so a folder whose params differ from those of its earlier
    upload replaces that run by a new one.
    """

    def __init__(
        self,
        *,
        uri: Annotated[str, AfterValidator(_store)] = "sqlite:///mlflow.db",
        experiment: str | None = None,
        figures: bool | Literal["auto"] = "auto",
        slices: list[Literal["language", "difficulty", "tag"]] | None = None,
        traces: Annotated[int, Field(ge=0)] = 0,
        timeout_s: Annotated[int, Field(ge=1)] = 5,
    ) -> None:
        self.uri = uri
        self.experiment = experiment
        self.figures = figures
        self.slices = slices or ()
        self.traces = traces
        self.timeout_s = timeout_s

    @property
    def concurrency(self) -> int:
        """Uploads at once: a file of SQLite has one writer."""
        return 1 if sqlite_file(self.uri) is not None else RUNS_AT_ONCE

    def prepare(self) -> None:
        remedy = "results stay in the run folder; upload them later with: python -m runner track RUN_DIR"
        with reporting(self.uri, "tracking is not ready", remedy), _alone(self.uri):
            client = connect(self.uri, self.timeout_s)
            client.search_experiments(max_results=1)
            if self.experiment is not None:
                _experiment(client, self.uri, redact(self.experiment))

    def upload(self, folder: Path) -> str | None:
        entry, traces = run_entry(folder, slices=self.slices), case_traces(folder, self.traces)
        run_id = self._upload(folder, entry)
        if traces:
            with reporting(self.uri, f"traces of {folder} were not uploaded", _remedy(folder)):
                client = connect(self.uri, self.timeout_s)
                _log_traces(with_password(self.uri), client.get_run(run_id).info.experiment_id, run_id, traces)
        return run_id

    def upload_sweep(self, folder: Path) -> str | None:
        return self._upload(folder, sweep_entry(folder))

    def _upload(self, folder: Path, entry: Entry) -> str:
        with reporting(self.uri, f"{folder} was not uploaded", _remedy(folder)):
            client = connect(self.uri, self.timeout_s)
            experiment = _experiment(client, self.uri, redact(self.experiment or entry.experiment))
            params = {_name(name): _shorten(value, PARAM_LIMIT) for name, value in entry.params.items()}
            run = self._run(client, folder, entry, params, experiment.experiment_id)
            run_id = str(run.info.run_id)
            if entry.dataset is not None:
                _log_dataset(client, run_id, entry.dataset)
            _log_numbers(client, run, params, entry)
            _log_files(client, run_id, entry, folder if self._draws(entry) else None)
            _keep_view(client, experiment, entry)
            client.set_terminated(run_id, STATUS.get(entry.status, "FAILED"), entry.updated_ms)
            return run_id

    def _draws(self, entry: Entry) -> bool:
        """A chart of every cell of a sweep would cost more than the cell; that of the sweep shows them all."""
        return self.figures is True or (self.figures == "auto" and entry.tags.get("sweep_role") not in OF_A_SWEEP)

    def _run(self, client: Any, folder: Path, entry: Entry, params: Mapping[str, str], experiment_id: str) -> Any:
        """The run of an earlier upload of this folder with its tags brought up to date, or a new one."""
        tags = _tags(entry, experiment_id)
        earlier = _earlier(client, folder, self.uri, experiment_id)
        if earlier is not None and all(params.get(name) == value for name, value in earlier.data.params.items()):
            for name, value in tags.items():
                if earlier.data.tags.get(name) != value:
                    client.set_tag(earlier.info.run_id, name, value)
            for name in set(PASSING) & earlier.data.tags.keys() - tags.keys():
                client.delete_tag(earlier.info.run_id, name)
            return earlier
        if earlier is not None:
            for model in _models(earlier):
                client.delete_logged_model(model)
            client.delete_run(earlier.info.run_id)
        run = client.create_run(experiment_id, entry.created_ms, tags, _excerpt(entry.name))
        _mark(folder, {"uri": redact_uri(self.uri), "experiment_id": experiment_id, "run_id": str(run.info.run_id)})
        return run


def _remedy(folder: Path) -> str:
    return f"upload it later with: python -m runner track {shlex.quote(str(folder))}"


def _tags(entry: Entry, experiment_id: str) -> dict[str, str]:
    note = entry.description
    if entry.tags.get("sweep_role") == "summary":
        note = f"{links(experiment_id, entry.say, entry.tags['sweep_id'])}\n\n{note}"
    special = {
        "mlflow.runName": _excerpt(entry.name),
        NOTE_TAG: note,
        "mlflow.source.name": "runner",
        "mlflow.source.git.commit": entry.commit,
        **tables_tag(table.name for table in entry.tables),
    }
    tags = {name: value for name, value in special.items() if value} | dict(entry.tags)
    return {name: _shorten(value, TAG_LIMIT) for name, value in tags.items()}


def _log_numbers(client: Any, run: Any, params: Mapping[str, str], entry: Entry) -> None:
    """Only what the run does not have yet: a metric logged twice would become a curve of two points. In one request,
    as a rule: a server takes longer to check a password than to keep numbers."""
    from mlflow.entities import Metric, Param

    metrics = {_name(name): value for name, value in entry.metrics.items()}
    new_params = [Param(name, value) for name, value in params.items() if name not in run.data.params]
    measured = {name: value for name, value in metrics.items() if run.data.metrics.get(name) != value}
    of_what = _model(client, run, entry) if measured or not _models(run) else {}
    new_metrics = [Metric(name, value, entry.updated_ms, entry.step, **of_what) for name, value in measured.items()]
    param_batches = [*_batches(new_params, PARAMS_A_BATCH)]
    metric_batches = [*_batches(new_metrics, METRICS_A_BATCH)]
    for some_params, some_metrics in zip_longest(param_batches, metric_batches, fillvalue=()):
        client.log_batch(run.info.run_id, params=some_params, metrics=some_metrics)


def _model(client: Any, run: Any, entry: Entry) -> dict[str, str]:
    """The model of the run and its data set, by which MLflow lists numbers beside models. Nothing is logged where the
    store has no models; the run itself is."""
    from mlflow.entities import LoggedModelOutput
    from mlflow.exceptions import MlflowException

    if entry.model is None:
        return {}
    model_ids, run_id = _models(run), run.info.run_id
    if not model_ids:
        name, params = re.sub(r"[/:.%\"']", "-", redact(entry.model.name))[:NAME_LIMIT], entry.model.params
        try:
            model_params = {_name(key): _shorten(value, PARAM_LIMIT) for key, value in params.items()}
            model = client.create_logged_model(
                run.info.experiment_id, name, run_id, params=model_params, model_type="rag"
            )
            client.finalize_logged_model(model.model_id, "READY")
            client.log_outputs(run_id, [LoggedModelOutput(model.model_id, 0)])
        except MlflowException:
            return {}
        model_ids = [model.model_id]
    dataset = entry.dataset
    known = {} if dataset is None else {"dataset_name": redact(dataset.name), "dataset_digest": dataset.digest}
    return {"model_id": model_ids[0], **known}


def _models(run: Any) -> list[str]:
    """The ids of the models of a run."""
    return [output.model_id for output in run.outputs.model_outputs] if run.outputs else []


def _log_files(client: Any, run_id: str, entry: Entry, figures_folder: Path | None) -> None:
    """The files of the folder, tables, and the charts of `figures_folder`; several at once."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        files = [*_folder_files(scratch, entry)]
        files += [(path, None) for path in _write_tables(scratch, entry)]
        files += [] if figures_folder is None else [(path, "figures") for path in draw(figures_folder, scratch)]
        first, place = files[0]
        client.log_artifact(run_id, str(first), place)  # which looks up where the files of the run are
        with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
            logged = [pool.submit(client.log_artifact, run_id, str(path), place) for path, place in files[1:]]
        for each in logged:
            each.result()


def _folder_files(scratch: Path, entry: Entry) -> Iterator[tuple[Path, str | None]]:
    """Each file and its folder in the run. What Hydra wrote is passed on without secrets, as our own files are
    written."""
    for path in entry.files:
        place = None if path.parent == entry.folder else path.parent.name
        if path.suffix == ".yaml":
            copy = scratch / (place or "") / path.name
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(redact(path.read_text(encoding="utf-8", errors="replace")), encoding="utf-8")
            path = copy
        yield path, place


def _write_tables(folder: Path, entry: Entry) -> Iterator[Path]:
    """Write tables in the form of mlflow.log_table, which would append to the rows of an earlier upload."""
    for table in entry.tables:
        path = folder / f"{table.name}.json"
        text = json.dumps({"columns": table.columns, "data": table.rows}, ensure_ascii=False)
        path.write_text(redact(text), encoding="utf-8", errors="replace")
        yield path


def _keep_view(client: Any, experiment: Any, entry: Entry) -> None:
    """The columns that the experiment opens with, and links to them in its description, unless it has one."""
    if not entry.headline:
        return
    metrics, params, axes = (map(_name, names) for names in (entry.headline, entry.swept, entry.axes))
    groups = {group_of(name) for name in map(_name, entry.metrics)} - {""}
    view = state(metrics, params, experiment.tags.get(STATE_TAG), axes, groups)
    if view is not None and view != experiment.tags.get(STATE_TAG):
        _retry_race(lambda: client.set_experiment_tag(experiment.experiment_id, STATE_TAG, view))
    if not experiment.tags.get(NOTE_TAG):
        note = links(experiment.experiment_id, entry.say)
        _retry_race(lambda: client.set_experiment_tag(experiment.experiment_id, NOTE_TAG, note))


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _log_dataset(client: Any, run_id: str, entry: DatasetEntry) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source, profile = redact(json.dumps(dict(entry.source))), json.dumps({"cases": entry.n_cases})
    dataset = Dataset(redact(entry.name), entry.digest, "local", source, profile=profile)
    inputs = [DatasetInput(dataset, [InputTag("mlflow.data.context", "eval")])]
    _retry_race(lambda: client.log_inputs(run_id, datasets=inputs))


def _retry_race(insert: Callable[[], None]) -> None:
    """Two runs that end together both find a data set or a tag of their experiment missing, and both insert it; the
    store refuses the later one, which finds it when it looks again."""
    from mlflow.exceptions import MlflowException

    for attempts_left in (2, 1, 0):
        try:
            return insert()
        except MlflowException as error:
            if not attempts_left or not any(words in str(error) for words in RACED):
                raise
    return None


# --- traces ---------------------------------------------------------------------------------------


def _log_traces(uri: str, experiment_id: str, run_id: str, traces: Sequence[CaseTrace]) -> None:
    """Log traces under fixed ids, so that an earlier upload is updated.

    MlflowClient.start_trace would draw ids, send each span by itself, and only log what the store refuses.
    """
    from mlflow.tracing.client import TracingClient

    client = TracingClient(uri)
    for spans in _span_batches(client, experiment_id, run_id, traces):
        client.log_spans(experiment_id, spans)


def _span_batches(client: Any, experiment_id: str, run_id: str, traces: Sequence[CaseTrace]) -> Iterator[list[Any]]:
    """Spans of whole traces, which are begun here."""
    from mlflow.entities import Span as MlflowSpan

    batch: list[Any] = []
    size = 0
    for trace in traces:
        id = _hex(32, experiment_id, trace.run, trace.case)
        client.start_trace(_trace_info(trace, id, experiment_id, run_id))
        for span in trace.spans:
            span_fields = _span(span, id)
            batch.append(MlflowSpan.from_dict(span_fields))
            size += sum(map(len, span_fields["attributes"].values()))
        if size > BYTES_A_BATCH or len(batch) > SPANS_A_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _trace_info(trace: CaseTrace, id: str, experiment_id: str, run_id: str) -> Any:
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    root = trace.spans[0]
    return TraceInfo(
        trace_id=f"tr-{id}",
        trace_location=TraceLocation.from_experiment_id(experiment_id),
        request_time=int(root.start_ms),
        execution_duration=int(root.end_ms - root.start_ms),
        state=TraceState.ERROR if root.error else TraceState.OK,
        request_preview=_excerpt(trace.question or trace.case),
        response_preview=_excerpt(trace.answer or root.error or ""),
        trace_metadata={"mlflow.sourceRun": run_id, "mlflow.trace_schema.version": "3"},
        tags={
            "mlflow.traceName": _excerpt(trace.case),
            **{name: _shorten(value, TRACE_TAG_LIMIT) for name, value in trace.tags.items()},
        },
        assessments=[_feedback(score, id, run_id, int(root.end_ms)) for score in trace.scores],
    )


def _feedback(score: CaseScore, id: str, run_id: str, at_ms: int) -> Any:
    """A score as MLflow shows it beside a trace, under a fixed id, so that an earlier upload is updated."""
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback

    error = None if score.error is None else AssessmentError("JUDGE_FAILED", _shorten(score.error, TRACE_TAG_LIMIT))
    feedback = Feedback(
        name=score.name,
        value=score.value,
        error=error,
        rationale=None if score.reason is None else _shorten(score.reason, TRACE_TAG_LIMIT),
        source=AssessmentSource("LLM_JUDGE" if score.by_model else "CODE", redact(score.judge)),
        trace_id=f"tr-{id}",
        span_id=_hex(16, ROOT),
        create_time_ms=at_ms,
        last_update_time_ms=at_ms,
    )
    feedback.run_id = run_id
    feedback.assessment_id = f"a-{_hex(32, id, score.name)}"
    return feedback


def _span(span: Span, id: str) -> dict[str, Any]:
    """A span in the form in which MLflow writes it to files: times in nanoseconds, ids in base64, attributes as
    JSON."""
    values: dict[str, Any] = {
        "mlflow.traceRequestId": f"tr-{id}",
        "mlflow.spanType": span.kind,
        "mlflow.spanInputs": span.inputs,
        "mlflow.spanOutputs": span.outputs,
    }
    if span.kind == "RETRIEVER":
        values["mlflow.spanOutputs"] = span.outputs["documents"]
    if span.call is not None:
        values |= _call_attributes(span)
    return {
        "trace_id": _base64(id),
        "span_id": _base64(_hex(16, span.key)),
        "parent_span_id": None if span.parent is None else _base64(_hex(16, span.parent)),
        "name": span.name,
        "start_time_unix_nano": round(span.start_ms * 1000) * 1000,
        "end_time_unix_nano": round(span.end_ms * 1000) * 1000,
        "events": [],
        "status": {"code": f"STATUS_CODE_{'ERROR' if span.error else 'OK'}", "message": span.error or ""},
        "attributes": {name: redact(orjson.dumps(value).decode()) for name, value in values.items()},
    }


def _call_attributes(span: Span) -> dict[str, Any]:
    """A reply as OpenAI's chat completions have it, which the MLflow UI shows as a chat. MLflow adds up tokens and
    cost: those of stored replies were not paid again, and are no part of it."""
    call = span.call or {}
    values: dict[str, Any] = {name: value for name, value in call.items() if value is not None}
    values["mlflow.llm.model"] = values.pop("model")
    if span.kind == "CHAT_MODEL" and span.outputs:
        values["mlflow.message.format"] = "openai"
        values["mlflow.spanOutputs"] = _completion(span.outputs)
    if call["input_tokens"] is not None and not call["cached"]:
        tokens = {name: call[name] or 0 for name in ("input_tokens", "output_tokens")}
        values["mlflow.chat.tokenUsage"] = {**tokens, "total_tokens": sum(tokens.values())}
        if call["cost_usd"] is not None:
            values["mlflow.llm.cost"] = {"total_cost": call["cost_usd"]}
    return values


def _completion(reply: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.get("text")}
    if reply.get("refusal"):
        message["refusal"] = reply["refusal"]
    if reply.get("calls"):
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in reply["calls"]
        ]
    return {"choices": [{"index": 0, "message": message, "finish_reason": reply.get("finish_reason")}]}


def _hex(length: int, *parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def _base64(digits: str) -> str:
    return base64.b64encode(bytes.fromhex(digits)).decode()


def _excerpt(text: str) -> str:
    text = redact(text)
    return text if len(text) <= NAME_LIMIT else f"{text[: NAME_LIMIT - 2]} …"


# --- names and places -----------------------------------------------------------------------------


def _name(name: str) -> str:
    """A name that MLflow accepts: 250 word characters (Hangul too), dots, dashes, blanks, and a slash between the parts
    of a path. Changed names are made unique by a hash."""
    allowed = re.sub(r"[^\w.\- /]|(?<![^/])/|/$", "_", name)
    if allowed == name and all(part.strip(".") for part in name.split("/")) and len(name) <= NAME_LIMIT:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{allowed[: NAME_LIMIT - 9]}-{digest}"


def _shorten(text: str, limit: int) -> str:
    text = redact(text)
    if len(text) <= limit:
        return text
    end = f" … ({len(text)} characters; the files of the run hold all of them)"
    return text[: limit - len(end)] + end


@contextmanager
def _alone(uri: str) -> Iterator[None]:
    """Let one process at a time create the tables of a new sqlite database; the others wait."""
    database = sqlite_file(uri)
    if database is None:
        yield
        return
    database.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(database.with_name(f"{database.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        lock(descriptor, "tracking.uri", database, waits=True)
        yield
    finally:
        os.close(descriptor)


def _experiment(client: Any, uri: str, name: str) -> Any:
    """The experiment of that name, made or brought back from the bin where needed."""
    from mlflow.exceptions import MlflowException

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            return client.get_experiment(client.create_experiment(name, _artifact_folder(uri, name), EXPERIMENT_TAGS))
        except MlflowException:  # another process was faster
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise
    if experiment.lifecycle_stage != "active":
        client.restore_experiment(experiment.experiment_id)
    return experiment


def _artifact_folder(uri: str, experiment: str) -> str | None:
    """Beside the database for sqlite, wherever the process was started, and ignored by git; a server decides for
    itself."""
    database = sqlite_file(uri)
    if database is None:
        return None
    copies = database.parent.resolve() / COPIES
    copies.mkdir(parents=True, exist_ok=True)
    ignore_in_git(copies)
    return str(copies / re.sub(r"[^\w.-]+", "-", experiment))


def _earlier(client: Any, folder: Path, uri: str, experiment_id: str) -> Any:
    """The run that this folder was uploaded as before, where it still is in the same store and experiment."""
    from mlflow.exceptions import MlflowException

    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        if marker["uri"] != redact_uri(uri) or marker["experiment_id"] != experiment_id:
            return None
        run = client.get_run(marker["run_id"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, MlflowException):
        return None
    return run if run.info.lifecycle_stage == "active" else None


def _mark(folder: Path, value: Mapping[str, str]) -> None:
    scratch = folder / f"{MARKER}.{os.getpid()}"
    scratch.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    scratch.replace(folder / MARKER)
