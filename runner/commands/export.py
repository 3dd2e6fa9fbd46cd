"""Make a static site of all runs below a folder: a list, the report of each, and sweeps side by side."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.commands import LANGUAGE, Command, Place
from runner.commands.serve.rendering import asset, display_names, environment, metric_columns, rubric_names, stages
from runner.commands.serve.runs import Run, Runs
from runner.commands.serve.sides import FILTERS, Shelf, Sides, shown_case
from runner.errors import InputError, RunnerError
from runner.metrics.catalogue import merge_catalogues
from runner.report.document import Document
from runner.report.page import write_page
from runner.report.summary import report_of
from runner.system import terminal
from runner.system.folder import legible, open_run
from runner.system.writing import replacing
from runner.words.wording import Wording, wording

COMMAND = Command("export", (Place("root", Path), Place("site", Path)), (LANGUAGE,))
CASES, PAGES = 50, 200  # cases on a page, and most pages for a filter of a sweep
MARK = ".runner-site"  # marks a folder that this command made


def main(argv: Sequence[str]) -> int:
    """Raises InputError for a folder without runs, and for a target that holds something else."""
    options = COMMAND.read(argv)
    root, site = options.root, options.site
    say = wording(options.language or "en", "serve")
    if not root.is_dir():
        raise InputError(f"ROOT: {root} is no folder")
    if site.exists() and not (site / MARK).is_file() and (not site.is_dir() or any(site.iterdir())):
        raise InputError(f"SITE: {site} is there and was not made by export; choose another folder, or remove it")
    runs = Runs(root.resolve(), None)
    finished = runs.all()
    if not finished:
        raise InputError(f"ROOT: no run below {root}")
    _write(site / MARK, "")
    _write(site / "serve.css", asset("static", "serve.css"))
    reports = _reports(runs, finished, site, say)
    sides, n_pages = _sweeps(runs, reports, site, say)
    values = {
        "runs": finished,
        "metrics": metric_columns(
            zip([run.metrics for run in finished], runs.catalogues(finished), strict=True), say.language
        ),
        "reports": reports,
        "sides": sides,
    }
    _page(site / "index.html", say, title=say("export.title", root=root.resolve().name), up="", **values)
    terminal.lines(say("export.written", site=site, n=len(finished), pages=len(reports) + n_pages + 1))
    return 0


def _reports(runs: Runs, finished: Sequence[Run], site: Path, say: Wording) -> dict[str, str]:
    """The page of each run that has results, by run id. It is rendered from the run's files: a page found in the folder
    may be anybody's."""
    pages = {}
    for run in finished:
        place = runs.places()[run.id]
        try:
            with legible(place.path):
                document = Document.of(open_run(place.path))
                if not document.summary:
                    raise InputError(run.error_message or run.status)
                name = f"runs/{_name(run.id)}.html"
                (site / "runs").mkdir(parents=True, exist_ok=True)
                write_page(site / name, document.say, report_of(document))
                pages[run.id] = name
        except RunnerError as error:
            terminal.note(say("export.skipped", run=run.id, reason=error))
    return pages


def _sweeps(runs: Runs, reports: Mapping[str, str], site: Path, say: Wording) -> tuple[dict[str, str], int]:
    """Write the pages of each sweep, over its runs that have a page; returns the first page of each, and the number of
    pages."""
    shelf, first, n_pages = Shelf(writes=False), {}, 0
    for sweep in runs.sweeps():
        places = [runs.places()[id] for id in sweep["runs"] if id in reports][:12]
        if len(places) < 2:
            continue
        folder = f"side/{_name(sweep['id'])}"
        try:
            with legible(places[0].path.parent):
                finished = [runs.run(place) for place in places]
                rubric_name = rubric_names(merge_catalogues(runs.catalogues(finished)), say.language)
                n_pages += _side_pages(shelf.sides(places), finished, site / folder, say, rubric_name)
            first[sweep["id"]] = f"{folder}/changed-1.html"
        except RunnerError as error:
            terminal.note(say("export.skipped", run=sweep["id"], reason=error))
    return first, n_pages


def _side_pages(
    sides: Sides, runs: Sequence[Run], folder: Path, say: Wording, rubric_name: Callable[[str], str]
) -> int:
    counts, n_pages = sides.counts, 0
    labels = [run.label or run.id for run in runs]
    links = [f"../../runs/{_name(run.id)}.html" for run in runs]
    for show in FILTERS:
        numbers = sides.numbers_of(show)
        pages = min(PAGES, max(1, -(-len(numbers) // CASES)))
        for page in range(1, pages + 1):
            cases = [shown_case(sides, int(n)) for n in numbers[(page - 1) * CASES : page * CASES]]
            values = {
                "cases": cases,
                "labels": labels,
                "run_links": links,
                "counts": counts,
                "show": show,
                "page": page,
            }
            about = {
                "pages": pages,
                "link": _linking(show),
                "case_link": _anchors(cases),
                "stage": stages(say.language),
                "rubric_name": rubric_name,
            }
            title = f"{say('side')}: {runs[0].sweep_id}"
            _page(folder / f"{show}-{page}.html", say, title=title, up="../../", **values, **about)
            n_pages += 1
    return n_pages


def _linking(show: str) -> Any:
    return lambda page: f"{show}-{page}.html"


def _anchors(cases: Sequence[Mapping[str, Any]]) -> Any:
    numbers = {case["id"]: number for number, case in enumerate(cases, start=1)}
    return lambda case: f"#case-{numbers[case]}"


def _name(id: str) -> str:
    """A file name that is unique for an id."""
    plain = re.sub(r"[^0-9A-Za-z가-힣._-]+", "-", id)
    return plain if plain == id else f"{plain}-{hashlib.sha256(id.encode()).hexdigest()[:6]}"


def _page(path: Path, say: Wording, **values: Any) -> None:
    _write(path, environment().get_template("export.html.j2").render(say=say, **display_names(say), **values))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
