"""Show the results of a finished run or sweep: its folder, or its MLflow run id."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from runner import report
from runner.commands import URI, Command, Place
from runner.errors import InputError
from runner.report.panels import panels
from runner.system import terminal
from runner.system.folder import CONTENTS, is_sweep, legible, near_runs, open_run

COMMAND = Command("results", (Place("run"),), (URI,))
ROWS = "per_item.jsonl"  # the diagnosis names failing questions from it
RUN_ID = re.compile(r"[0-9a-f]{32}")


def main(argv: Sequence[str]) -> int:
    """Raises InputError for a folder that holds no results and TrackingError for an unknown run id."""
    options = COMMAND.read(argv)
    folder = Path(options.run)
    if folder.is_dir():
        with legible(folder):
            show(folder)
    elif RUN_ID.fullmatch(options.run):
        _show_tracked(options.run, options.uri)
    else:
        if near := near_runs(folder):
            raise InputError(f"{folder}: no such folder{near}")
        what = "no such folder, and no MLflow run id, which has 32 characters 0-9a-f"
        raise InputError(f"{folder}: {what} ({CONTENTS})")
    return 0


def show(folder: Path) -> None:
    """Show a finished run or sweep in the terminal. Raises InputError for a run without results."""
    if is_sweep(folder):
        terminal.show(*report.sweep_panels(folder))
        return
    run = open_run(folder)
    if not run.summary:
        reason = run.run.get("error_message") or "it did not finish"
        raise InputError(f"{folder}: the run has no results ({run.run.get('status')}: {reason})")
    terminal.show(*panels(run), *report.comparison_view(folder, run.run))


def _show_tracked(run_id: str, uri: str | None) -> None:
    from runner.tracking.mlflow_client import RESULTS, configured_uri, download

    with tempfile.TemporaryDirectory() as scratch:
        download(uri or configured_uri(), run_id, Path(scratch), (*RESULTS, ROWS))
        with legible(Path(f"MLflow run {run_id}")):
            show(Path(scratch))
