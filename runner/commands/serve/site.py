"""The page: rendered on the server, with a little script that needs no building, in English and Korean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

import orjson
from fastapi import APIRouter, FastAPI, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from runner.commands.serve.api import Asking, Id, filter_runs
from runner.commands.serve.datasets import FORMS, Dataset
from runner.commands.serve.desk import LARGE, RETRIEVAL_ONLY, Desk, MissingError
from runner.commands.serve.guard import COOKIE, Guard
from runner.commands.serve.rendering import asset, display_names, environment, metric_columns, rubric_names, stages
from runner.commands.serve.runs import Run
from runner.commands.serve.sides import FILTERS, shown_case
from runner.errors import RunnerError
from runner.metrics.catalogue import merge_catalogues
from runner.system.folder import legible, open_run
from runner.words.wording import SUPPORTED, wording

if TYPE_CHECKING:
    from markupsafe import Markup

LISTED, CASES = 50, 20  # on a page
REPORT_STYLE = "report.css"
KINDS = {**dict.fromkeys(("serve.css", REPORT_STYLE), "text/css; charset=utf-8"), "serve.js": "text/javascript"}
REPORT_POLICY = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
router = APIRouter(include_in_schema=False)


def language_of(request: Request) -> str:
    """The chosen language, else the first supported one of the browser."""
    chosen = request.query_params.get("lang") or request.cookies.get("lang")
    if chosen in SUPPORTED:
        return str(chosen)
    accepted = request.headers.get("accept-language", "")
    return next((word[:2].lower() for word in accepted.split(",") if word.strip()[:2].lower() in SUPPORTED), "en")


def render_page(request: Request, name: str, http_status: int = 200, **values: Any) -> HTMLResponse:
    """A template in the language of the request."""
    language = language_of(request)
    desk: Desk = request.app.state.desk
    asked = [(key, value) for key, value in request.query_params.multi_items() if key != "lang"]
    say, links = wording(language, "serve"), [(each, f"?{urlencode([*asked, ('lang', each)])}") for each in SUPPORTED]
    shown = {"say": say, "languages": links, "read_only": desk.settings.read_only, "path": request.url.path}
    shown["dataset_name"] = partial(_dataset_name, desk)
    text = environment().get_template(name).render(**shown, **display_names(say), **values)
    response = HTMLResponse(text, http_status)
    if request.query_params.get("lang") in SUPPORTED:
        response.set_cookie("lang", language, samesite="strict", max_age=31_536_000)
    return response


def _dataset_name(desk: Desk, id: str | None) -> str:
    """The name that an uploaded data set was given; the id of any other."""
    dataset = desk.datasets.get(id) if id else None
    return id or "" if dataset is None or dataset.built_in else dataset.name


@router.get("/static/{name}")
def static(name: str) -> Response:
    """Style and script."""
    if name not in KINDS:
        raise MissingError(f"no file '{name[:80]}'")
    if name == REPORT_STYLE:
        text = files("runner.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
        return Response(text, media_type=KINDS[name], headers={"cache-control": "no-cache"})
    return Response(asset("static", name), media_type=KINDS[name], headers={"cache-control": "no-cache"})


# --- lists ------------------------------------------------------------------------------------------


@router.get("/")
def runs_page(
    request: Request, desk: Asking, q: str = "", status: str = "", tag: str = "", page: Annotated[int, Query(ge=1)] = 1
) -> Response:
    """All runs, newest first."""
    every = desk.runs.all()
    fitting = filter_runs(every, status, tag, q)
    runs_of_page = fitting[(page - 1) * LISTED : page * LISTED]
    return render_page(
        request,
        "runs.html.j2",
        runs=runs_of_page,
        n=len(fitting),
        metrics=_columns(request, desk, runs_of_page),
        page=page,
        pages=max(1, -(-len(fitting) // LISTED)),
        q=q,
        status=status,
        tag=tag,
        tags=sorted({each for run in every for each in run.tags}),
        link=lambda **new: "?" + urlencode({"q": q, "status": status, "tag": tag, **new}),
        is_live=any(run.status in ("pending", "running") for run in runs_of_page),
    )


def _columns(request: Request, desk: Desk, runs: Sequence[Run]) -> list[tuple[str, str]]:
    pairs = zip([run.metrics for run in runs], desk.runs.catalogues(runs), strict=True)
    return metric_columns(pairs, language_of(request))


def _rubric_names(request: Request, desk: Desk, ids: Sequence[str]) -> Callable[[str], str]:
    return rubric_names(merge_catalogues(desk.runs.catalogues([desk.run(id) for id in ids])), language_of(request))


# --- one run, one sweep -------------------------------------------------------------------------------


@router.get("/runs/{run_id}")
def run_page(request: Request, desk: Asking, run_id: Id) -> Response:
    """The page of a run: its progress, and the sections of its report."""
    run, place = desk.run(run_id), desk.runs.place(run_id)
    sections: Sequence[tuple[str, str, Markup]] = []
    problem = None
    is_large = place is not None and _size(place.path / "per_item.jsonl") > LARGE
    if place is not None and not is_large and (place.path / "summary.json").is_file():
        try:
            sections = _sections(place.path, _change_time(place.path / "summary.json"), run.status)
        except RunnerError as error:
            problem = str(error)
    has_report = place is not None and (place.path / "report.html").is_file()
    is_judged = False
    if place is not None and run.metrics:
        with suppress(RunnerError, OSError), legible(place.path):
            is_judged = bool(rubrics_of(place.path))
    log = "" if desk.jobs is None else desk.jobs.last_output(run_id)
    return render_page(
        request,
        "run.html.j2",
        run=run,
        is_judged=is_judged,
        progress=desk.runs.progress(run_id),
        sections=sections,
        problem=problem,
        is_large=is_large and bool(run.metrics),
        has_report=has_report,
        log=log if run.status in ("failed", "partial", "cancelled") else "",
        is_live=run.status in ("pending", "running"),
    )


def _change_time(path: Path) -> int:
    return path.stat().st_mtime_ns


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@router.get("/runs/{run_id}/sections")
def sections_page(request: Request, desk: Asking, run_id: Id) -> Response:
    """The sections of a run with many cases, which the page asks for when it is there."""
    place = desk.place(run_id)
    sections = _sections(place.path, _change_time(place.path / "summary.json"), desk.run(run_id).status)
    return render_page(request, "sections.html.j2", sections=sections)


@lru_cache(maxsize=16)
def _sections(folder: Path, _changed_ns: int, _status: str) -> Sequence[tuple[str, str, Markup]]:
    """The sections of report.html without the cases, which have a page of their own."""
    from markupsafe import Markup

    from runner.report.document import Document
    from runner.report.page import html
    from runner.report.summary import report_of

    with legible(folder):
        document = Document.of(open_run(folder))
        sections = report_of(document, frozenset({"terminal"}))
        return [(part.id, part.title, Markup(html(part.blocks, 3))) for part in sections]  # noqa: S704  escaped there


@router.get("/runs/{run_id}/report.html")
def report_page(desk: Asking, run_id: Id) -> Response:
    """report.html of a run or sweep. Its scripts run in no page of this server."""
    place = desk.runs.place(run_id)
    path = None if place is None else place.path / "report.html"
    if path is None or not path.is_file() or path.is_symlink():
        raise MissingError(f"run_id: no report of '{run_id[:200]}'")
    return Response(path.read_bytes(), media_type="text/html", headers={"content-security-policy": REPORT_POLICY})


@router.get("/sweeps/{sweep_id}")
def sweep_page(request: Request, desk: Asking, sweep_id: Id) -> Response:
    """The runs of a sweep."""
    sweep = desk.runs.sweep(sweep_id)
    if sweep is None:
        raise MissingError(f"sweep_id: no sweep '{sweep_id[:200]}'")
    runs = [run for id in sweep["runs"] if (run := desk.runs.get(id)) is not None]
    place = desk.runs.place(sweep_id)
    return render_page(
        request,
        "sweep.html.j2",
        sweep=sweep,
        runs=runs,
        metrics=_columns(request, desk, runs),
        has_report=place is not None and (place.path / "report.html").is_file(),
        log="" if desk.jobs is None or sweep["status"] in ("running", "completed") else desk.jobs.last_output(sweep_id),
        is_live=sweep["status"] in ("pending", "running"),
    )


# --- side by side -------------------------------------------------------------------------------------


@router.get("/side")
def side_page(
    request: Request,
    desk: Asking,
    runs: Annotated[list[str], Query()],
    show: str = "all",
    q: str = "",
    case: str | None = None,
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """Cases of several runs beside each other."""
    if unread := desk.read_missing(runs):
        return render_page(request, "reading.html.j2", unread=unread)
    show = show if show in FILTERS else "all"
    sides = desk.sides(runs)
    with legible(desk.root):
        numbers = sides.numbers_of(show, q, case)
        cases = [shown_case(sides, number) for number in numbers[(page - 1) * CASES : page * CASES].tolist()]
    names, ids = [run.path.parent.name for run in sides.runs], _run_ids(desk, runs)
    return render_page(
        request,
        "side.html.j2",
        ids=ids,
        labels=_labels(desk, ids, names),
        cases=cases,
        counts=sides.counts,
        n=len(numbers),
        show=show,
        q=q,
        case=case,
        page=page,
        pages=max(1, -(-len(numbers) // CASES)),
        run_links=[f"/runs/{quote(id)}" for id in ids],
        case_link=lambda each: "?" + urlencode({"runs": runs, "show": show, "q": q, "case": each}, doseq=True),
        link=lambda **new: "?" + urlencode({"runs": runs, "show": show, "q": q, **new}, doseq=True),
        stage=stages(language_of(request)),
        rubric_name=_rubric_names(request, desk, ids),
    )


def _run_ids(desk: Desk, ids: Sequence[str]) -> list[str]:
    parts = [(desk.runs.sweep(id) or {}).get("runs") or [id] for id in ids]
    return [each for part in parts for each in part]


def _labels(desk: Desk, ids: Sequence[str], names: Sequence[str]) -> list[str]:
    """The labels that distinguish the runs."""
    chosen = [desk.run(id) for id in ids]
    return [run.label or name for run, name in zip(chosen, names, strict=True)]


# --- labels, start, documents -------------------------------------------------------------------------


@router.get("/label/{run_id}")
def label_page(request: Request, desk: Asking, run_id: Id) -> Response:
    """The page for rating, one answer at a time."""
    place = desk.place(run_id)
    with legible(place.path):
        rubrics = rubrics_of(place.path)
    rubric_name = _rubric_names(request, desk, [run_id])
    return render_page(request, "label.html.j2", run=desk.run(run_id), rubrics=rubrics, rubric_name=rubric_name)


def rubrics_of(folder: Path) -> list[str]:
    """The rubrics by which answers of a run were judged, from its first rows."""
    rubrics: dict[str, None] = {}
    for number, row in enumerate(open_run(folder).rows()):
        rubrics |= dict.fromkeys(row.get("judgements") or ())
        if number > 100:
            break
    return list(rubrics)


@router.get("/calibrations/{calibration_id}")
def calibration_page(request: Request, desk: Asking, calibration_id: Id) -> Response:
    """The page with the files of `calibrate`."""
    from markupsafe import Markup

    job = None if desk.jobs is None else desk.jobs.get(calibration_id)
    if desk.jobs is None or job is None or job.kind != "calibration":
        raise MissingError(f"calibration_id: no calibration '{calibration_id[:200]}'")
    path = desk.jobs.place(job.id) / "calibration.md"
    text = Markup(_html_of_markdown(path.read_text(encoding="utf-8"))) if path.is_file() else None  # noqa: S704  no HTML in it
    return render_page(request, "calibration.html.j2", job=job, text=text, is_live=job.is_open)


def _html_of_markdown(text: str) -> str:
    from markdown_it import MarkdownIt

    page = str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
    return page.replace(' style="text-align:right"', ' class="number"')  # the policy of the pages allows no style there


@router.get("/start")
def start_page(request: Request, desk: Asking, dataset: str = "") -> Response:
    """A form of everything that a request may set, made from the configuration. `dataset`: that is chosen at first."""
    allowed, datasets = desk.allowed, desk.datasets.all()
    form = FORMS.get(next((dataset_choice.format for dataset_choice in datasets if dataset_choice.id == dataset), ""))
    open_groups = {*allowed.groups} - {*allowed.fixed_keys, "system"}
    settings = {
        choice: [setting for setting in choice_settings if setting.key not in allowed.fixed_keys]
        for choice, choice_settings in allowed.settings_of.items()
        if choice.partition("=")[0] not in allowed.fixed_keys
    }
    return render_page(
        request,
        "start.html.j2",
        form={"uses": allowed.uses, "brings": allowed.brings},
        datasets=[_data_choice(dataset_choice) for dataset_choice in datasets],
        dataset=dataset,
        evaluation="full_rag" if form is None or form.evaluation == RETRIEVAL_ONLY else form.evaluation,
        groups={
            group: allowed.groups[group] for group in sorted(open_groups, key=lambda name: (name == "metric", name))
        },
        settings={choice: choice_settings for choice, choice_settings in settings.items() if choice_settings},
        options=[option for option in allowed.options if option.key not in allowed.fixed_keys],
        formats=list(FORMS),
        closed=sorted(allowed.fixed_keys),
    )


def _data_choice(dataset: Dataset) -> dict[str, Any]:
    """The group and choice by which a run reads a data set."""
    word = next((word for word in dataset.words if word.startswith(("dataset=", "scenario="))), "")
    group, _, choice = word.partition("=")
    return {"id": dataset.id, "name": dataset.name, "cases": dataset.cases, "group": group, "choice": choice}


@router.get("/evaluation/openapi.json")
def openapi(request: Request) -> Response:
    """The OpenAPI file."""
    return Response(_openapi(request.app), media_type="application/json")


@cache
def _openapi(app: FastAPI) -> bytes:
    return orjson.dumps(app.openapi())


@router.get("/evaluation/docs")
def docs_page(request: Request) -> Response:
    """The OpenAPI file in a form to read."""
    return render_page(request, "docs.html.j2", api=request.app.openapi())


@router.get("/sign-in")
def sign_in_page(request: Request) -> Response:
    """Asks for the token."""
    return render_page(request, "sign_in.html.j2", is_wrong=False)


@router.post("/sign-in")
def sign_in(request: Request, token: Annotated[str, Form(max_length=1000)] = "") -> Response:
    """Sets the cookie of who knows the token."""
    guard: Guard = request.app.state.guard
    address = request.client.host if request.client else ""
    if not guard.is_token(token):
        wait_s = guard.failures.wait_s(address)
        guard.failures.add(address)
        return render_page(request, "sign_in.html.j2", 429 if wait_s else 401, is_wrong=True)
    response = RedirectResponse("/", 303)
    is_secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, guard.session, httponly=True, samesite="strict", secure=is_secure)
    return response


def error_page(request: Request, status: int, message: str) -> Response:
    """The page of an error."""
    return render_page(request, "error.html.j2", status, message=message)
