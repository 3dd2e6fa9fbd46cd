"""A client that is generated from the OpenAPI file, against a server."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from runner.commands.serve import app_of
from runner.commands.serve.desk import Desk, Settings
from tests.services.ports import free_port

MISSING = "pip install openapi-python-client"


@pytest.mark.slow
def test_a_generated_client_reads_runs_and_errors(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openapi_python_client", reason=MISSING)
    import uvicorn

    app, port = app_of(Desk(Settings(root))), free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        _generated(app.app.openapi(), tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        client = importlib.import_module("made.client").Client(base_url=f"http://127.0.0.1:{port}")
        api = {name: importlib.import_module(f"made.api.{name}") for name in ("runs.list_runs", "runs.get_run")}
        assert {run.id for run in api["runs.list_runs"].sync(client=client)} == {"run", "sweep~0", "sweep~1"}
        run = api["runs.get_run"].sync("run", client=client)
        assert (run.status.value, run.k, run.metrics.k, run.results[0].id) == ("completed", 2, 2, "result_001")
        missing = api["runs.get_run"].sync("rum", client=client)
        assert missing.error.message == "run_id: no run 'rum'; did you mean 'run'?"
        start = importlib.import_module("made.api.runs.start_run")
        models = importlib.import_module("made.models")
        wrong = start.sync("demo", client=client, body=models.RunEvaluation(overrides=["retriever=keywrd"]))
        assert [problem.key for problem in wrong.error.problems] == ["retriever"]
        plan = importlib.import_module("made.api.plan.plan")
        body = models.PlanEvaluation("demo_en", k=3, overrides=["sample=5"])
        assert plan.sync(client=client, body=body).runs[0].cases == 5
    finally:
        server.should_exit = True
        thread.join()


def _generated(openapi: dict[str, object], folder: Path) -> None:
    (folder / "openapi.json").write_text(json.dumps(openapi))
    words = [
        "generate",
        "--path",
        str(folder / "openapi.json"),
        "--meta",
        "none",
        "--output-path",
        str(folder / "made"),
    ]
    done = subprocess.run([sys.executable, "-m", "openapi_python_client", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr, done.stdout
