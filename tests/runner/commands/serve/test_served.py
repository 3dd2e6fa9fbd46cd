"""A server as a user starts it: the requests of the specification by curl, and what is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.services.models_server import ModelsServer
from tests.services.ports import free_port
from tests.small_data import small_data

PATIENCE_S = 120
SPEC_HOST = "localhost:8000"
SPEC_POST = """curl -X POST http://localhost:8000/evaluation/datasets/{dataset_id}/runs \\
  -H "Content-Type: application/json" \\
  -d '{
    "k": 5,
    "evaluation_type": "full_rag"
  }'"""
SPEC_GET = "curl http://localhost:8000/evaluation/runs/{run_id}"
SPEC_ANSWER = """{
  "id": "run_001",
  "dataset_id": "a1b2c3d4e5f6789012345678abcdef01",
  "status": "completed",
  "k": 5,
  "evaluation_type": "full_rag",
  "metrics": {
    "precision_at_k": 0.2400,
    "recall_at_k": 0.8500,
    "hit_rate_at_k": 0.8500,
    "mrr": 0.7200,
    "k": 5
  },
  "mean_faithfulness": 0.8250,
  "mean_answer_relevancy": 0.7800,
  "error_message": null,
  "results": [
    {
      "id": "result_001",
      "test_case_id": "tc_001",
      "retrieved_chunk_ids": ["chunk_abc123", "chunk_def456", "chunk_ghi789", "chunk_jkl012", "chunk_mno345"],
      "precision": 0.2,
      "recall": 1.0,
      "hit": true,
      "reciprocal_rank": 1.0,
      "generated_answer": "머신러닝 모델의 과적합을 방지하기 위한 주요 기법으로는 드롭아웃, L1/L2 정규화, \
조기 종료 등이 있습니다.",
      "faithfulness": 0.9,
      "answer_relevancy": 0.85
    }
  ],
  "created_at": "2025-01-15T11:00:00Z",
  "updated_at": "2025-01-15T11:05:30Z"
}"""


@contextmanager
def served(folder: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    port = free_port()
    command = [sys.executable, "-m", "runner", "serve", "--port", str(port), "tracking=none", *words]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert f"http://127.0.0.1:{port} serves the runs of" in line, line + process.stderr.read()
            yield f"http://127.0.0.1:{port}/evaluation", process
        finally:
            process.kill()


def curl(*words: str) -> Any:
    done = subprocess.run(["curl", "-s", "--max-time", str(PATIENCE_S), *words], capture_output=True, check=True)
    status, _, body = done.stdout.decode().rpartition("\n")[2].partition(" ")
    text = done.stdout.decode().rpartition("\n")[0]
    return int(status or body), json.loads(text)


STATUS = ("-w", "\n%{http_code} ")


def typed(home: Path, command: str, address: str, **ids: str) -> Any:
    """Status and body of a command of the specification, as a shell takes it. `home`: of curl, whose settings there
    have it print the status, too."""
    (home / ".curlrc").write_text(r'write-out = "\n%{http_code}"')
    command = command.replace(SPEC_HOST, address.removeprefix("http://").removesuffix("/evaluation"))
    for name, id in ids.items():
        command = command.replace(f"{{{name}}}", id)
    environment = {**os.environ, "CURL_HOME": str(home)}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=True)
    body, _, status = done.stdout.decode().rpartition("\n")
    return int(status), json.loads(body)


def assert_as_specified(run: dict[str, Any], dataset_id: str) -> None:
    """Names in their order, types, and the form of times."""
    assert (run["dataset_id"], run["status"], run["error_message"]) == (dataset_id, "completed", None)
    assert len(run["results"]) == 8
    first = next(each for each in run["results"] if each["test_case_id"] == "q1")
    assert names({**run, "results": [first]}) == names(json.loads(SPEC_ANSWER))
    for time_of in ("created_at", "updated_at"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", run[time_of]), run[time_of]


def names(value: Any) -> Any:
    """Names in their order, at every level; of a list those of its first element."""
    if isinstance(value, dict):
        return [(name, names(each)) for name, each in value.items()]
    return (
        [names(value[0])] if isinstance(value, list) and value else type(value) in (int, float) or type(value).__name__
    )


def until(holds: Callable[[], Any], pause_s: float = 0.05) -> Any:
    end = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < end, "it never came"
        time.sleep(pause_s)
    return found


def test_the_requests_of_the_specification_by_curl(tmp_path: Path) -> None:
    small_data(tmp_path)
    corpus, queries = tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl"
    with served(tmp_path) as (address, _):
        files = ["-F", "name=v1-baseline", "-F", f"corpus=@{corpus}", "-F", f"queries=@{queries}"]
        status, dataset = curl(*STATUS, "-X", "POST", f"{address}/datasets", *files)
        assert (status, dataset["cases"], dataset["format"], dataset["problems"]) == (201, 8, "jsonl", [])
        status, begun = typed(tmp_path, SPEC_POST, address, dataset_id=dataset["id"])
        assert (status, list(begun)) == (202, list(json.loads(SPEC_ANSWER)))
        assert begun["status"] in ("pending", "running")  # by how soon the job has begun
        until(lambda: typed(tmp_path, SPEC_GET, address, run_id=begun["id"])[1]["status"] == "completed", 0.3)
        status, run = typed(tmp_path, SPEC_GET, address, run_id=begun["id"])
        assert_as_specified(run, dataset["id"])
        short = SPEC_POST.replace('"full_rag"', '"retrieval_only"').replace("/runs ", "/runs?wait=true ")
        status, searched = typed(tmp_path, short, address, dataset_id=dataset["id"])
        assert (status, searched["mean_faithfulness"], searched["mean_answer_relevancy"]) == (201, None, None)
        assert searched["metrics"] == run["metrics"]
        status, _ = curl(*STATUS, "-X", "DELETE", f"{address}/datasets/{dataset['id']}0")
        assert status == 404
        done = subprocess.run(["curl", "-s", "-X", "DELETE", f"{address}/runs/{run['id']}"], check=True)
        assert (done.returncode, (tmp_path / "outputs" / run["id"]).exists()) == (0, False)


@pytest.mark.slow
def test_a_killed_server_and_a_killed_job_go_on_and_pay_nothing_twice(tmp_path: Path, server: ModelsServer) -> None:
    """Five processes; test_api.py has what becomes of a job, and test_costs.py that nothing is paid twice."""
    server.latency_s = 0.2
    small_data(tmp_path)
    local = [
        "generator=openai",
        "generator.model=local:m",
        f"provider.local.base_url={server.url}",
        "max_concurrency=1",
    ]
    body = json.dumps({"k": 3, "evaluation_type": "full_rag", "overrides": ["sample=12"]})
    job_file = (tmp_path / "outputs" / ".serve" / "jobs").glob

    def job() -> Any:
        return json.loads(next(job_file("*.json")).read_text())

    with served(tmp_path, *local, "--jobs", "1") as (address, process):
        header = ["-H", "Content-Type: application/json", "-d", body]
        status, run = curl(*STATUS, "-X", "POST", f"{address}/datasets/demo_en/runs", *header)
        assert (status, list(run)) == (202, list(json.loads(SPEC_ANSWER)))
        assert run["status"] in ("pending", "running")  # by how soon the job has begun
        until(lambda: server.counts.answered >= 3)
        process.kill()
        process.wait()
    first = job()
    os.kill(first["pid"], 0)  # the job has outlived its server
    os.kill(first["pid"], signal.SIGKILL)
    with served(tmp_path, *local, "--jobs", "1") as (address, _):
        until(lambda: job()["starts"] == 2)
        _, progress = curl(*STATUS, f"{address}/runs/{run['id']}")
        assert progress["status"] in ("running", "pending")
        until(lambda: server.counts.answered >= 6)
        curl(*STATUS, "-X", "POST", f"{address}/runs/{run['id']}/cancel")
        until(lambda: job()["status"] == "cancelled")
        _, cancelled = curl(*STATUS, f"{address}/runs/{run['id']}")
        assert cancelled["status"] == "cancelled"
        assert cancelled["error_message"].startswith("interrupted after ")
        server.latency_s = 0.0
        curl(*STATUS, "-X", "POST", f"{address}/runs/{run['id']}/resume")
        until(lambda: job()["status"] == "ended")
        _, done = curl(*STATUS, f"{address}/runs/{run['id']}")
    assert (done["status"], len(done["results"])) == (
        "completed",
        len({row["test_case_id"] for row in done["results"]}),
    )
    assert sum(n - 1 for n in server.counts.answers.values()) <= 2, "only what was in flight when somebody was killed"
