"""The pages of MLflow, opened at the runs: their own start is a welcome page, and their list of experiments leads to
pages of traces in a browser that was not told otherwise.

MLflow serves an application of another package under its name in the group `mlflow.app` of entry points.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

from runner.tracking.mlflow_client import sqlite_file
from runner.tracking.mlflow_views import WORKFLOW, link

APP = "runner"
STORE = "MLFLOW_BACKEND_STORE_URI"  # as an option, every user would see it in the process list
INDEX = ("server", "js", "build", "index.html")
NEWEST = """
SELECT experiments.name, experiments.experiment_id FROM experiments JOIN runs USING (experiment_id)
WHERE experiments.lifecycle_stage = 'active' AND runs.lifecycle_stage = 'active'
GROUP BY experiments.experiment_id ORDER BY max(runs.start_time) DESC LIMIT ?
"""
OPENING = """<head><script>
for (const [key, value] of Object.entries(%s)) try { localStorage[key] ??= JSON.stringify(value) } catch {}
if (!location.hash) location.replace(%s)
</script>"""
FIRST_CHOICES = {
    "mlflow.workflowType_v1": WORKFLOW,
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,  # or the assistant opens over the table
}  # until a user chooses otherwise


def is_installed() -> bool:
    """Whether this package was installed with the entry point, which an older editable installation lacks."""
    return any(entry.name == APP for entry in entry_points(group="mlflow.app"))


def newest_experiments(uri: str, n: int) -> list[tuple[str, str]]:
    """(name, id) of the `n` experiments with the newest runs, newest first; empty for a store that is no SQLite
    file."""
    database = sqlite_file(uri)
    if database is None:
        return []
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as store:
        rows = store.execute(NEWEST, (n,)).fetchall()
        return [(str(name), str(id)) for name, id in rows]
    return []


def index(uri: str) -> str:
    """The page of MLflow, which goes to the newest runs, or the list of experiments, where its address names no
    place."""
    page = files("mlflow").joinpath(*INDEX).read_text(encoding="utf-8")
    newest = [link(id) for _, id in newest_experiments(uri, 1)]
    place = newest[0] if newest else "#/experiments"
    return page.replace("<head>", OPENING % (json.dumps(FIRST_CHOICES), json.dumps(place)), 1)


def app() -> Any:
    """The application of MLflow with another start."""
    from mlflow.server.fastapi_app import app as pages
    from starlette.requests import Request
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    def start(request: Request) -> HTMLResponse:
        return HTMLResponse(index(os.environ.get(STORE, "")), headers={"Cache-Control": "no-cache"})

    pages.router.routes.insert(0, Route("/", start))
    return pages
