"""`hydra/launcher=ray` on a real Ray: a cluster that runs on this machine, and addresses at which there is none.

Only where Ray is installed (the extra `ray`); `make services` gives it an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.result_files import read
from tests.small_data import small_data

pytest.importorskip("hydra_plugins.hydra_ray_launcher", reason="needs the extra `ray`")

SWEEP = ["+experiment=retrieval_only", "k=1,2", "tracking=none", "format=json"]
ELSE = "expected one that runs, or hydra.launcher.ray.init.address=local, by which the command starts its own"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where Ray looks for clusters of this machine; its sockets need a short path."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as name:
        monkeypatch.setenv("RAY_TMPDIR", name)
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        yield Path(name)


@pytest.fixture
def cluster(home: Path) -> Iterator[None]:
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--port=0", "--num-cpus=2"]
    command += ["--include-dashboard=false", "--object-store-memory=80000000"]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    noted = home / "ray" / "ray_current_cluster"
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while not noted.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        assert noted.exists()
        yield
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.usefixtures("cluster")
def test_a_sweep_joins_the_cluster_that_runs_on_this_machine(home: Path, tmp_path: Path) -> None:
    """Without a word of where it is, as Ray itself does; in a process of its own, which Ray leaves as it is."""
    words = [*SWEEP, *small_data(tmp_path / "data"), f"cache_dir={tmp_path / 'cache'}"]
    command = [sys.executable, "-m", "runner", *words, "hydra/launcher=ray", f"out={tmp_path / 'there'}"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert len(list((home / "ray").glob("session_2*"))) == 1  # a Ray of its own would have another
    assert main([*words, f"out={tmp_path / 'here'}"]) == 0
    for name in ("0", "1"):
        there, here = (read(f"{tmp_path / folder / name}/summary.json") for folder in ("there", "here"))
        assert json.dumps({**there, "timing": {}}) == json.dumps({**here, "timing": {}})


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("given", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_an_address_without_a_cluster_ends_the_command_at_once(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    assert main([*SWEEP, "hydra/launcher=ray", f"hydra.launcher.ray.init.address={given}", "out=o"]) == 1
    assert time.monotonic() - began < 60  # Ray waits for two and a half minutes
    said = capsys.readouterr().err
    assert said.startswith("error: hydra.launcher.ray.init.address: no Ray cluster answers at ")
    assert said.rstrip().endswith(f":9; {ELSE}")
    assert not Path("o").exists()


def test_what_ray_finds_by_itself_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """RAY_ADDRESS, and the note of a cluster that was killed."""
    words = [*SWEEP, "hydra/launcher=ray", "out=o"]
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    capsys.readouterr()
    assert main([*words, "report.language=ko"]) == 1
    english, korean = capsys.readouterr().err.splitlines()
    assert english.startswith("error: RAY_ADDRESS: no Ray cluster answers at ") and english.endswith(ELSE)
    assert korean.startswith("오류: RAY_ADDRESS: ") and korean.endswith(
        "직접 띄우게 하세요(hydra.launcher.ray.init.address=local)"
    )
    monkeypatch.delenv("RAY_ADDRESS")
    (home / "ray").mkdir()
    (home / "ray" / "ray_current_cluster").write_text("127.0.0.1:9", encoding="utf-8")
    assert main(words) == 1
    assert "error: hydra.launcher.ray.init.address: no Ray cluster answers at " in capsys.readouterr().err


@pytest.mark.usefixtures("home")
def test_a_cluster_that_is_asked_for_and_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SWEEP, "hydra/launcher=ray", "out=o"]
    assert main([*words, "hydra.launcher.ray.init.address=auto"]) == 1
    assert f"init.address: no Ray cluster runs on this machine; {ELSE}" in capsys.readouterr().err
    assert main([*words, "hydra.launcher.ray.init.address=nonsense"]) == 1
    assert "init.address: expected HOST:PORT, auto or local, got 'nonsense'" in capsys.readouterr().err
