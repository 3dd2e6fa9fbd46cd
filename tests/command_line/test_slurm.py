"""`hydra/launcher=slurm` on a real SLURM; only where one answers from this machine (`sinfo`)."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.killed_workers import KILLER, killed_at
from tests.command_line.result_files import read
from tests.small_data import small_data

pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="needs the extra `slurm`")
ASKED = ["timeout", "5", "sinfo"]  # it waits for a controller that is down
if shutil.which("sinfo") is None or subprocess.run(ASKED, capture_output=True, check=False).returncode:
    pytest.skip("no SLURM answers", allow_module_level=True)

SLURM = ["hydra/launcher=slurm", "hydra.launcher.mem_gb=1", "hydra.launcher.cpus_per_task=1"]


def results(folder: str) -> str:
    return json.dumps({**read(f"{folder}/summary.json"), "timing": {}})


def test_a_job_that_was_lost_is_resumed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("killer.py").write_text(KILLER, encoding="utf-8")
    monkeypatch.syspath_prepend(Path.cwd())
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))  # of the jobs
    words = [*killed_at(1, 2), *small_data(Path("data")), "tracking=none", "format=json"]
    assert main([*words, *SLURM, "out=there"]) == 0
    said = capsys.readouterr().err
    assert "1 of 2 jobs: " in said and "run 1 was lost with its worker; it is resumed" in said
    assert main([*words, "out=here"]) == 0
    assert [results(f"there/{number}") for number in (0, 1)] == [results(f"here/{number}") for number in (0, 1)]


def test_shards_of_a_run_are_jobs() -> None:
    words = ["+experiment=retrieval_only", "retriever=keyword", *small_data(Path("data")), "tracking=none"]
    assert main([*words, "format=json", "shards=2", *SLURM, "out=there"]) == 0
    assert main([*words, "format=json", "out=here"]) == 0
    assert results("there") == results("here")


def test_what_slurm_refuses_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["+experiment=retrieval_only", "k=1,2", *small_data(Path("data")), "tracking=none"]
    assert main([*words, *SLURM, "hydra.launcher.partition=no_such_partition"]) == 1
    assert "error: hydra.launcher: SLURM refused the jobs: " in capsys.readouterr().err
