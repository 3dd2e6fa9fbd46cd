"""The HTTP API under /evaluation: requests as validated records, answers in JSON."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, File, Form, Query, Request, Response, UploadFile
from fastapi import Path as InPath
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from runner.commands.serve.allowed import Setting
from runner.commands.serve.datasets import FORMS, PARTS, Dataset, Part
from runner.commands.serve.desk import MOST_SIDES, RETRIEVAL_ONLY, Desk, MissingError
from runner.commands.serve.rating import MOST as MOST_RATED
from runner.commands.serve.rating import Sheet, record
from runner.commands.serve.runs import ROWS, TAG, Run, metrics_of, result_of
from runner.commands.serve.sides import shown_case
from runner.errors import InputError
from runner.system.folder import legible
from runner.system.metadata import read_json

MOST_RESULTS = 10_000
WAIT_S = 3600.0
EVENT_S, EVENTS_S = 1.0, 3600.0  # between two events, of a stream of them


class Strict(BaseModel):
    """A request with no further fields."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """A wrong setting, and what would work."""

    key: str = Field(description="the setting, as it is typed at the command line")
    message: str


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(
        description="configuration, input, validation, not_found, conflict, not_comparable, too_large, token, origin, "
        "host, read_only, too_many_failures, busy or http"
    )
    message: str = Field(description="what the command line says")
    problems: list[Problem] = []
    exit_code: int | None = Field(None, description="of the command line")


class ErrorReply(BaseModel):
    """Every error of the API."""

    error: ErrorBody


class DatasetDetail(BaseModel):
    """Questions, and what is searched for their answers."""

    id: str
    name: str
    format: str = Field(description="the data group; of a built-in one, the group that it is a choice of")
    cases: int | None = Field(description="that a run has; null for built-in ones")
    files: dict[str, int] = Field(description="bytes of each file")
    problems: list[str] = Field(description="lines that a run leaves out, and why")
    built_in: bool
    created_at: str | None


Override = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class RunEvaluation(Strict):
    """A run over a data set."""

    k: Annotated[int, Field(strict=True, ge=1, le=50, description="how many of the best results are evaluated")] = 5
    evaluation_type: str = Field(RETRIEVAL_ONLY, description="retrieval_only, full_rag, or another experiment")
    overrides: list[Override] = Field([], max_length=200, description="GROUP=CHOICE and KEY=VALUE, as GET /schema")


class SweepEvaluation(Strict):
    """Several runs over a data set."""

    evaluation_type: str = RETRIEVAL_ONLY
    overrides: list[Override] = Field(max_length=200, description="at least one with several values, such as k=3,5")


class PlanEvaluation(Strict):
    """A run or a sweep that is not started yet."""

    dataset_id: str
    k: Annotated[int, Field(strict=True, ge=1, le=50)] | None = None
    evaluation_type: str = RETRIEVAL_ONLY
    overrides: list[Override] = Field([], max_length=200)


class Tags(Strict):
    """The new tags of a run; they replace the old ones."""

    tags: list[Annotated[str, StringConstraints(pattern=f"^{TAG.pattern}$")]] = Field(max_length=20)


class RetrievalMetrics(BaseModel):
    """Means over all cases."""

    precision_at_k: float | None
    recall_at_k: float | None
    hit_rate_at_k: float | None
    mrr: float | None
    k: int | None


class CaseResult(BaseModel):
    """The result of one case."""

    id: str
    test_case_id: str
    retrieved_chunk_ids: list[str]
    precision: float | None
    recall: float | None
    hit: bool | None
    reciprocal_rank: float | None
    generated_answer: str | None
    faithfulness: float | None
    answer_relevancy: float | None


Status = Literal["pending", "running", "completed", "partial", "failed", "cancelled"]


class RunDetail(BaseModel):
    """A run with its results per case."""

    id: str
    dataset_id: str | None
    status: Status
    k: int | None
    evaluation_type: str | None
    metrics: RetrievalMetrics | None
    mean_faithfulness: float | None
    mean_answer_relevancy: float | None
    error_message: str | None
    results: list[CaseResult]
    created_at: str | None
    updated_at: str | None


class RunSummary(BaseModel):
    """A run in a list."""

    id: str
    dataset_id: str | None
    status: Status
    k: int | None
    evaluation_type: str | None
    metrics: dict[str, float | None] = Field(description="every metric of the run")
    exit_code: int | None = Field(description="4: a limit was missed; 5: it cannot be compared with its baseline")
    error_message: str | None
    created_at: str | None
    updated_at: str | None
    experiment: str | None
    sweep_id: str | None
    label: str = Field(description="what makes a run of a sweep differ from its sisters")
    tags: list[str]
    done: int
    failed: int
    total: int | None
    is_served: bool = Field(description="started here, so that it can be cancelled and resumed here")


class SweepDetail(BaseModel):
    """Several runs of one command."""

    id: str
    dataset_id: str | None
    status: Status
    evaluation_type: str | None
    runs: list[str] = Field(description="ids")
    exit_code: int | None = Field(description="4: a run missed a limit; 5: one cannot be compared with its baseline")
    error_message: str | None
    created_at: str | None
    updated_at: str | None


class RequestTotals(BaseModel):
    """Requests to models, and what they cost."""

    requests: int
    stored: int
    input_tokens: int
    output_tokens: int
    usd: float | None = Field(description="null where a price is not known")


class RoleRequests(RequestTotals):
    """The requests of one role and model."""

    role: str
    model: str


class PlannedRun(BaseModel):
    """The requests that one run would send."""

    overrides: list[str]
    cases: int
    stopped: str | None = Field(description="why it will end before it asks a model")
    asked: list[RoleRequests]


class PlanReply(BaseModel):
    """The requests and cost of a run or a sweep."""

    runs: list[PlannedRun]
    total: RequestTotals
    seconds: float
    receivers: list[str] = Field(description="hosts that get data of the run")
    line: str


class JudgementShown(BaseModel):
    """One judgement of an answer."""

    rubric: str
    score: float | None
    reasoning: str
    votes: dict[str, float | None]


class ContextShown(BaseModel):
    """A text from which it was answered."""

    id: str
    title: str
    text: str
    change: Literal["", "came", "went"] = Field(description="against the first run")


class CaseCell(BaseModel):
    """The result of one run on a case."""

    status: str | None = Field(description="null where the run does not have the case")
    right: bool | None
    error: str | None
    stage: str | None = Field(description="at which a wrong answer was lost")
    judges: list[JudgementShown]
    answer: list[tuple[Literal["", "new"], str]] | None = Field(description="in parts: words only this run has are new")
    contexts: list[ContextShown]


class CaseShown(BaseModel):
    """A case, and what each run made of it."""

    id: str
    question: str
    references: list[str]
    answerable: bool | None
    language: str | None
    cells: list[CaseCell] = Field(description="one a run, in the order that was asked for")


class SidesReply(BaseModel):
    """Cases of several runs beside each other."""

    runs: list[str]
    total: int
    counts: dict[str, int]
    cases: list[CaseShown]


class SheetReply(BaseModel):
    """The answers that a rater is shown."""

    rubric: str
    rater: str
    rated: int
    answers: list[dict[str, Any]] = Field(description="what a person reads, with rating and comment")


class SheetRequest(Strict):
    """Whose sheet, and which answers it has when it is made."""

    rater: str = Field(max_length=40)
    rubric: str | None = Field(None, max_length=200, description="null: the first by which answers were judged")
    pick: Literal["random", "disagreement", "uncertain", "failing"] = "random"
    n: Annotated[int, Field(ge=1, le=MOST_RATED, description="answers")] = 50


class Rating(Strict):
    """The rating of an answer by a person."""

    rubric: str = Field(max_length=200)
    rater: str = Field(max_length=40)
    case_id: str = Field(max_length=1000)
    rating: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(description="null takes it back")
    comment: str = Field("", max_length=2000)


class Calibrating(Strict):
    """The rubric by which the judge is compared with people."""

    rubric: str = Field(max_length=200)


class CalibrationDetail(BaseModel):
    """The judge compared with people."""

    id: str
    status: str
    run: str
    rubric: str
    error_message: str | None
    result: dict[str, Any] | None = Field(description="calibration.json")


class SettingDetail(BaseModel):
    """A setting that a request may set."""

    key: str
    kind: Literal["number", "switch", "words", "list", "model", "text"]
    default: Any
    words: list[str]


class Schema(BaseModel):
    """What a request may set."""

    experiments: list[str]
    options: list[SettingDetail] = Field(description="of every run")
    groups: dict[str, list[str]] = Field(description="choices")
    uses: dict[str, dict[str, str | list[str] | None]] = Field(
        description="by experiment: its groups, and what is chosen of each where a request chooses nothing"
    )
    brings: dict[str, dict[str, str | list[str] | None]] = Field(
        description="by GROUP=CHOICE: groups that come with it, and what is chosen of each"
    )
    settings: dict[str, list[SettingDetail]] = Field(description="by GROUP=CHOICE")


def desk_of(request: Request) -> Desk:
    """The desk of the server."""
    desk: Desk = request.app.state.desk
    return desk


Asking = Annotated[Desk, Depends(desk_of)]
Id = Annotated[str, InPath(min_length=1, max_length=1000)]
WRONG: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply, "description": text}
    for status, text in {
        400: "the body is no text, or no form",
        401: "a token is needed",
        403: "read only, or a request of another page",
        404: "there is nothing of that id",
        408: "the body comes too slowly",
        409: "it does not go with the state of the run",
        413: "too large",
        421: "Host is no name of this server",
        422: "what the command line would refuse, too",
        429: "too much at once, or too many wrong tokens",
    }.items()
}
router = APIRouter(prefix="/evaluation", responses=WRONG)


# --- data sets --------------------------------------------------------------------------------------


def dataset_detail(dataset: Dataset) -> DatasetDetail:
    """A data set in the form of the API."""
    return DatasetDetail(**{name: getattr(dataset, name) for name in DatasetDetail.model_fields})


class DatasetForm(BaseModel):
    """The form of an upload: a name, the files of each part, and how to read them."""

    name: Annotated[str, Form(min_length=1, max_length=200)]
    queries: Annotated[list[UploadFile] | None, File(description="questions, topics, links or traces")] = None
    corpus: Annotated[list[UploadFile] | None, File(description="documents")] = None
    qrels: Annotated[list[UploadFile] | None, File(description="relevance judgements (trec, beir)")] = None
    notes: Annotated[list[UploadFile] | None, File(description="Markdown notes, or a zip of them")] = None
    events: Annotated[list[UploadFile] | None, File(description="of links")] = None
    guide: Annotated[list[UploadFile] | None, File(description="of faq_guide, whose corpus is the FAQ")] = None
    format: Annotated[str | None, Form(description=f"{', '.join(FORMS)}; default: by the files")] = None
    columns: Annotated[str, Form(description='of a table, as JSON: {"question": "질문"}')] = "{}"

    @property
    def parts(self) -> dict[str, list[Part]]:
        """The files of each part."""
        uploads: dict[str, list[UploadFile] | None] = {part: getattr(self, part) for part in PARTS}
        return {
            part: [Part(upload.filename or part, upload.file) for upload in files or ()]
            for part, files in uploads.items()
        }


@router.post("/datasets", status_code=201, tags=["datasets"])
def upload_dataset(desk: Asking, form: Annotated[DatasetForm, File()]) -> DatasetDetail:
    """Files become a data set, after the command line has read them."""
    return dataset_detail(desk.upload(form.name, form.format or None, form.parts, _columns(form.columns)))


def _columns(text: str) -> Mapping[str, str]:
    try:
        columns = json.loads(text or "{}")
    except (ValueError, RecursionError):
        columns = None
    if not isinstance(columns, dict) or not all(isinstance(value, str) and value for value in columns.values()):
        raise InputError('columns: expected a JSON object of field and column, such as {"question": "질문"}')
    if wrong := next((value for value in columns.values() if "${" in value), None):
        raise InputError(f"columns: '{wrong[:80]}': the name of a column has no ${{")  # configuration would resolve it
    return columns


@router.get("/datasets", tags=["datasets"])
def list_datasets(desk: Asking) -> list[DatasetDetail]:
    """List the data sets: those of the configuration, then uploaded ones."""
    return [dataset_detail(dataset) for dataset in desk.datasets.all()]


@router.get("/datasets/{dataset_id}", tags=["datasets"])
def get_dataset(desk: Asking, dataset_id: Id) -> DatasetDetail:
    """Get a data set."""
    return dataset_detail(desk.dataset(dataset_id))


@router.delete("/datasets/{dataset_id}", status_code=204, response_model=None, tags=["datasets"])
def delete_dataset(desk: Asking, dataset_id: Id) -> None:
    """Delete an uploaded data set that no job reads, with its files."""
    desk.remove_dataset(dataset_id)


# --- runs -------------------------------------------------------------------------------------------


def detail(desk: Desk, id: str, offset: int = 0, limit: int = MOST_RESULTS) -> RunDetail:
    """A run in the form of the API."""
    run, place = desk.run(id), desk.runs.place(id)
    rows = [] if place is None or place.is_sweep else desk.rows(place, offset, limit)
    metrics = metrics_of(run)
    return RunDetail(
        id=run.id,
        dataset_id=run.dataset_id,
        status=cast("Status", run.status),
        k=run.k,
        evaluation_type=run.evaluation_type,
        metrics=None if metrics is None else RetrievalMetrics(**metrics),
        mean_faithfulness=run.metrics.get("mean_faithfulness"),
        mean_answer_relevancy=run.metrics.get("mean_answer_relevancy"),
        error_message=run.error_message,
        results=_results(rows, offset, run.k),
        created_at=run.created_at,
        updated_at=run.updated_at,
    )


def _results(rows: Sequence[Mapping[str, Any]], offset: int, k: int | None) -> list[CaseResult]:
    with legible(Path(ROWS)):
        return [CaseResult(**result_of(number, row, k)) for number, row in enumerate(rows, start=offset + 1)]


@router.post(
    "/datasets/{dataset_id}/runs",
    status_code=202,
    tags=["runs"],
    response_model=RunDetail,
    responses={201: {"model": RunDetail, "description": "it was waited for, and has ended"}},
)
async def start_run(
    desk: Asking,
    dataset_id: Id,
    response: Response,
    body: RunEvaluation,
    wait: Annotated[bool, Query(description="true: answer when the run has ended")] = False,
) -> RunDetail:
    """202 with a run that is pending; with `?wait=true` 201 with the finished one."""
    job = await run_in_threadpool(desk.start, dataset_id, body.evaluation_type, body.k, body.overrides)
    if wait:
        await _stream_end(desk, job.id)
    run = await run_in_threadpool(detail, desk, job.id)
    response.status_code = 201 if wait and run.status not in ("pending", "running") else 202
    return run


async def _stream_end(desk: Desk, id: str) -> None:
    assert desk.jobs is not None  # noqa: S101  it has just taken the job
    loop = asyncio.get_running_loop()
    began = loop.time()
    while (job := desk.jobs.get(id)) is not None and job.is_open and loop.time() - began < WAIT_S:
        await asyncio.sleep(0.1)
    desk.runs.look_again()


@router.get("/runs", tags=["runs"])
def list_runs(
    desk: Asking,
    response: Response,
    status: Status | None = None,
    tag: str | None = None,
    q: Annotated[str | None, Query(description="in the id, the experiment, the data set or the label")] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> list[RunSummary]:
    """Newest first; X-Total-Count has the number of all."""
    runs = filter_runs(desk.runs.all(), status, tag, q)
    response.headers["X-Total-Count"] = str(len(runs))
    return [RunSummary(**asdict(run)) for run in runs[offset : offset + limit]]


def filter_runs(runs: Sequence[Run], status: str | None, tag: str | None, text: str | None) -> list[Run]:
    """Runs of a status and a tag whose id, experiment, data set, label or tags have all the words."""
    words = (text or "").casefold().split()

    def fits(run: Run) -> bool:
        about = " ".join(map(str, (run.id, run.experiment, run.dataset_id, run.label, *run.tags))).casefold()
        return (
            (not status or run.status == status)
            and (not tag or tag in run.tags)
            and all(word in about for word in words)
        )

    return [run for run in runs if fits(run)]


@router.get("/runs/{run_id}", tags=["runs"])
def get_run(
    desk: Asking,
    run_id: Id,
    response: Response,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=0, le=MOST_RESULTS)] = MOST_RESULTS,
) -> RunDetail:
    """A run with its results per case, at most `limit` from `offset` on; X-Total-Count has their number."""
    run = detail(desk, run_id, offset, limit)
    response.headers["X-Total-Count"] = str(desk.run(run_id).done)
    return run


@router.get("/runs/{run_id}/summary", tags=["runs"])
def get_summary(desk: Asking, run_id: Id) -> dict[str, Any]:
    """summary.json: every metric with n and interval, slices, counts."""
    return dict(desk.runs.files(desk.place(run_id))[1])


@router.get("/runs/{run_id}/cases/{case_id:path}", tags=["runs"])
def get_case(desk: Asking, run_id: Id, case_id: Id) -> dict[str, Any]:
    """The row of a case, with everything that was written of it."""
    row = desk.rows_by_id(desk.place(run_id), {case_id}).get(case_id)
    if row is None:
        raise MissingError(f"case_id: the run has no case '{case_id[:200]}'")
    return dict(row)


@router.get(
    "/runs/{run_id}/events",
    tags=["runs"],
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "server-sent events `progress`, then `end`"}},
)
async def run_events(
    desk: Asking,
    run_id: Id,
    seconds: Annotated[
        float, Query(ge=0, le=EVENTS_S, description="how long they come; a browser then asks again by itself")
    ] = EVENTS_S,
) -> StreamingResponse:
    """Events of a run or sweep, once a second: status, done, failed, total, tokens, usd, eta_s."""
    if await run_in_threadpool(desk.runs.progress, run_id) is None:
        raise MissingError(f"run_id: no run '{run_id[:200]}'")
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_events(desk, run_id, seconds), media_type="text/event-stream", headers=headers)


async def _events(desk: Desk, id: str, seconds: float) -> AsyncIterator[str]:
    end = time.monotonic() + seconds
    while (progress := await run_in_threadpool(desk.runs.progress, id)) is not None:
        has_ended = progress.status not in ("pending", "running")
        yield f"event: {'end' if has_ended else 'progress'}\ndata: {json.dumps(asdict(progress))}\n\n"
        if has_ended or time.monotonic() >= end:
            return
        await asyncio.sleep(min(EVENT_S, max(0.0, end - time.monotonic())))


@router.post("/runs/{run_id}/cancel", status_code=202, tags=["runs"])
def cancel_run(desk: Asking, run_id: Id) -> RunDetail:
    """Cancel a run; the id of a sweep works at /sweeps. Finished cases stay, and the run can be resumed."""
    _demand_run(desk, run_id)
    desk.cancel(run_id)
    return detail(desk, run_id, limit=0)


@router.post("/runs/{run_id}/resume", status_code=202, tags=["runs"])
def resume_run(desk: Asking, run_id: Id) -> RunDetail:
    """Resume a run: only missing cases and judgements are computed."""
    _demand_run(desk, run_id)
    desk.resume(run_id)
    return detail(desk, run_id, limit=0)


@router.delete("/runs/{run_id}", status_code=204, response_model=None, tags=["runs"])
def delete_run(desk: Asking, run_id: Id) -> None:
    """Delete a run with all its files."""
    _demand_run(desk, run_id)
    desk.delete(run_id)


@router.put("/runs/{run_id}/tags", tags=["runs"])
def tag_run(desk: Asking, run_id: Id, body: Tags) -> RunSummary:
    """Sets the tags of a run."""
    desk.run(run_id)
    desk.runs.tag(run_id, body.tags)
    return RunSummary(**asdict(desk.run(run_id)))


def _demand_run(desk: Desk, id: str) -> None:
    desk.run(id)


# --- sweeps -----------------------------------------------------------------------------------------


@router.post("/datasets/{dataset_id}/sweeps", status_code=202, tags=["sweeps"])
def start_sweep(desk: Asking, dataset_id: Id, body: SweepEvaluation) -> SweepDetail:
    """Start one run for each combination of values, without waiting for them."""
    job = desk.start(dataset_id, body.evaluation_type, None, body.overrides, sweep=True)
    return _sweep(desk, job.id)


@router.get("/sweeps", tags=["sweeps"])
def list_sweeps(desk: Asking) -> list[SweepDetail]:
    """Newest first."""
    return [SweepDetail(**each) for each in desk.runs.sweeps()]


@router.get("/sweeps/{sweep_id}", tags=["sweeps"])
def get_sweep(desk: Asking, sweep_id: Id) -> SweepDetail:
    """A sweep, and the ids of its runs."""
    return _sweep(desk, sweep_id)


@router.post("/sweeps/{sweep_id}/cancel", status_code=202, tags=["sweeps"])
def cancel_sweep(desk: Asking, sweep_id: Id) -> SweepDetail:
    """Cancel a sweep. Finished cases stay, and the sweep can be resumed."""
    _sweep(desk, sweep_id)
    desk.cancel(sweep_id)
    return _sweep(desk, sweep_id)


@router.post("/sweeps/{sweep_id}/resume", status_code=202, tags=["sweeps"])
def resume_sweep(desk: Asking, sweep_id: Id) -> SweepDetail:
    """Only what is missing is run."""
    _sweep(desk, sweep_id)
    desk.resume(sweep_id)
    return _sweep(desk, sweep_id)


@router.delete("/sweeps/{sweep_id}", status_code=204, response_model=None, tags=["sweeps"])
def delete_sweep(desk: Asking, sweep_id: Id) -> None:
    """Delete a sweep with all its runs."""
    _sweep(desk, sweep_id)
    desk.delete(sweep_id)


def _sweep(desk: Desk, id: str) -> SweepDetail:
    sweep = desk.runs.sweep(id)
    if sweep is None:
        raise MissingError(f"sweep_id: no sweep '{id[:200]}'")
    return SweepDetail(**sweep)


# --- before and after -------------------------------------------------------------------------------


@router.post("/plan", tags=["plan"])
def plan(desk: Asking, body: PlanEvaluation) -> PlanReply:
    """The requests to models and the cost of a run or a sweep, without running it."""
    return PlanReply(**desk.plan(body.dataset_id, body.evaluation_type, body.k, body.overrides))


@router.get("/compare", tags=["compare"])
def compare(
    desk: Asking,
    baseline: Annotated[str, Query(max_length=1000)],
    candidate: Annotated[str, Query(max_length=1000)],
) -> dict[str, Any]:
    """compare.json: the verdict on the candidate, metrics with interval and p, questions that were won and lost."""
    return dict(desk.compare(baseline, candidate))


@router.get("/cases", tags=["compare"])
def side_by_side(
    desk: Asking,
    runs: Annotated[list[str], Query(max_length=MOST_SIDES, description="ids of runs, or of a sweep")],
    show: Literal["all", "failing", "changed", "disagreeing"] = "all",
    q: Annotated[str, Query(max_length=200, description="words of the question, or of the id")] = "",
    case: Annotated[str | None, Query(max_length=1000, description="this one alone")] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 25,
) -> SidesReply:
    """Cases of several runs beside each other, with the words and contexts that differ from the first."""
    sides = desk.sides(runs)
    with legible(desk.root):
        chosen = sides.numbers_of(show, q, case)
        cases = [CaseShown(**shown_case(sides, number)) for number in chosen[offset : offset + limit].tolist()]
    return SidesReply(runs=runs, total=len(chosen), counts=sides.counts, cases=cases)


# --- labels -----------------------------------------------------------------------------------------


@router.post("/runs/{run_id}/labels", tags=["labels"])
def open_labels(desk: Asking, run_id: Id, body: SheetRequest) -> SheetReply:
    """The sheet of a rater, which is made where it is missing: the answers that `labels` picks, the same for every
    rater."""
    return _sheet(desk, run_id, desk.open_sheet(run_id, body.rater, body.rubric, body.pick, body.n))


@router.get("/runs/{run_id}/labels", tags=["labels"])
def get_labels(
    desk: Asking,
    run_id: Id,
    rater: Annotated[str, Query(max_length=40)],
    rubric: Annotated[str, Query(max_length=200)],
) -> SheetReply:
    """The sheet that a rater has, as far as it is filled."""
    return _sheet(desk, run_id, desk.sheet(run_id, rater, rubric))


def _sheet(desk: Desk, run_id: str, sheet: Sheet) -> SheetReply:
    rows = desk.rows_by_id(desk.place(run_id), sheet.cells.keys())
    answers = [
        {**record(rows[id]), "rating": cells["rating"], "comment": cells["comment"]}
        for id, cells in sheet.cells.items()
        if id in rows
    ]
    return SheetReply(rubric=sheet.rubric, rater=sheet.rater, rated=sheet.n_rated, answers=answers)


@router.put("/runs/{run_id}/labels", tags=["labels"])
def rate(desk: Asking, run_id: Id, body: Rating) -> dict[str, int]:
    """Saved when this answers."""
    place = desk.place(run_id)
    sheet = desk.sheets.rate(place, body.rubric, body.rater, body.case_id, body.rating, body.comment)
    return {"rated": sheet.n_rated, "answers": len(sheet.cells)}


@router.post("/runs/{run_id}/calibrations", status_code=202, tags=["labels"])
def start_calibration(desk: Asking, run_id: Id, body: Calibrating) -> CalibrationDetail:
    """`calibrate` over what all raters have said."""
    return _calibration(desk, desk.calibrate(run_id, body.rubric).id)


@router.get("/calibrations/{calibration_id}", tags=["labels"])
def get_calibration(desk: Asking, calibration_id: Id) -> CalibrationDetail:
    """The result of a calibration, once it has ended."""
    return _calibration(desk, calibration_id)


def _calibration(desk: Desk, id: str) -> CalibrationDetail:
    job = None if desk.jobs is None else desk.jobs.get(id)
    if desk.jobs is None or job is None or job.kind != "calibration":
        raise MissingError(f"calibration_id: no calibration '{id[:200]}'")
    result = read_json(desk.jobs.place(id) / "calibration.json")
    status = {"queued": "pending", "ended": "failed" if job.error_message else "completed"}.get(job.status, job.status)
    return CalibrationDetail(id=id, status=status, result=result, error_message=job.error_message, **job.about)


@router.get("/schema", tags=["plan"])
def schema(desk: Asking) -> Schema:
    """The settings that a request may use: options, choices of groups, and their settings."""
    allowed = desk.allowed
    return Schema(
        experiments=list(allowed.experiments),
        options=[_setting(each) for each in allowed.options],
        groups={group: list(choices) for group, choices in allowed.groups.items()},
        uses={name: dict(groups) for name, groups in allowed.uses.items()},
        brings={choice: dict(groups) for choice, groups in allowed.brings.items()},
        settings={choice: [_setting(each) for each in listed] for choice, listed in allowed.settings_of.items()},
    )


def _setting(setting: Setting) -> SettingDetail:
    return SettingDetail(**asdict(setting) | {"words": list(setting.words)})
