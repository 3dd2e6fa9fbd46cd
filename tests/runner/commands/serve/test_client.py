"""What others make of the OpenAPI file: a generated client, and requests of every kind against each operation."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from runner.commands.serve import app_of
from runner.commands.serve.desk import Desk, Settings
from runner.commands.serve.jobs import CommandResult
from tests.runner.commands.serve.conftest import listening

MISSING = "pip install -e '.[client]'"


@pytest.mark.slow
def test_a_generated_client_reads_runs_and_errors(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openapi_python_client", reason=MISSING)
    desk = Desk(Settings(root))
    with listening(desk) as port:
        _generated(app_of(desk).app.openapi(), tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        with importlib.import_module("made.client").Client(base_url=f"http://127.0.0.1:{port}") as client:
            _asked(client)


def _asked(client: Any) -> None:
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


@pytest.mark.slow
def test_no_request_that_the_openapi_file_allows_is_an_error_of_the_server(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every operation, events of finished and of waiting runs among them. Nothing is started: the queue stands still,
    and so do the commands that answer plans, comparisons and uploads."""
    schemathesis = pytest.importorskip("schemathesis", reason=MISSING)
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    ended = CommandResult(1, "", "error: not here")
    for module in ("desk", "datasets"):
        monkeypatch.setattr(f"runner.commands.serve.{module}.run_command", lambda *_: ended)
    desk = Desk(Settings(root))
    waiting = desk.start("demo_en", "retrieval_only", 3, []).id
    app = app_of(desk)
    schema = schemathesis.openapi.from_dict(app.app.openapi())
    known = {"run_id": ["run", "sweep~0", "sweep", waiting], "sweep_id": ["sweep", waiting], "dataset_id": ["demo_en"]}
    asked: dict[str, set[int]] = {}
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:

        def ask(case: Any, draw: Any) -> None:
            for name, ids in known.items():
                if name in (case.path_parameters or {}) and draw(st.booleans()):
                    case.path_parameters[name] = draw(st.sampled_from(ids))
            case.query = {**(case.query or {}), **({"seconds": 0} if case.path.endswith("/events") else {})}
            case.query.pop("wait", None)  # for what never ends here
            sent = case.as_transport_kwargs(base_url="http://127.0.0.1")
            sent = {name: value for name, value in sent.items() if name not in ("timeout", "verify", "cookies")}
            told = client.request(**sent)
            asked.setdefault(f"{case.method} {case.path}", set()).add(told.status_code)
            assert told.status_code < 500, (case.method, sent["url"], told.text[:500])
            documented = case.operation.definition.raw["responses"]
            assert str(told.status_code) in documented, (case.method, sent["url"], told.text[:500])

        operations = [result.ok() for result in schema.get_all_operations()]
        for operation in sorted(operations, key=lambda each: each.method.lower() == "delete"):

            @settings(
                max_examples=15, deadline=None, derandomize=True, database=None,
                phases=[Phase.generate], suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=operation.as_strategy(), data=st.data())
            def every(case: Any, data: Any) -> None:
                ask(case, data.draw)

            every()
    assert len(asked) == len(operations)
    assert 200 in asked["GET /evaluation/runs/{run_id}/events"], asked
