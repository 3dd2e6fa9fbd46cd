"""`hydra/launcher=ray` on a real Ray: a cluster that runs on this machine, and addresses at which there is none.

Only where Ray is installed (the extra `ray`); `make services` gives it an environment of its own.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.killed_workers import KILLER, killed_at
from tests.command_line.result_files import read
from tests.small_data import small_data

pytest.importorskip("hydra_plugins.hydra_ray_launcher", reason="needs the extra `ray`")

SWEEP = ["+experiment=retrieval_only", "k=1,2", "tracking=none", "format=json"]
STARTS = 3  # Ray gives one up after 30 s, which a busy machine takes
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
    for _ in range(STARTS):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 240
        while not noted.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        if noted.exists():
            break
        process.kill()
        process.wait()
    try:
        assert noted.exists()
        yield
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.usefixtures("cluster")
def test_a_sweep_joins_the_cluster_that_runs_on_this_machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word of where it is, as Ray itself does; in a process of its own, which Ray leaves as it is. Every path
    is relative, and one worker is killed."""
    Path("killer.py").write_text(KILLER, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    monkeypatch.syspath_prepend(Path.cwd())
    words = [*killed_at(1, 2), *small_data(Path("data")), "cache_dir=cache", "format=json"]
    done = subprocess.run(
        [sys.executable, "-m", "runner", *words, "tracking.uri=sqlite:///runs.db", "hydra/launcher=ray", "out=there"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Path("killed").exists()
    assert len(list((home / "ray").glob("session_2*"))) == 1  # a Ray of its own would have another
    assert [cell["status"] for cell in read("there/sweep.json")["cells"]] == ["completed", "completed"]
    assert runs_in("runs.db") == ["1", "2", "summary"]
    assert Path("cache").is_dir()
    assert main([*words, "tracking=none", "out=here"]) == 0
    for name in ("0", "1"):
        there, here = (read(f"{folder}/{name}/summary.json") for folder in ("there", "here"))
        assert json.dumps({**there, "timing": {}}) == json.dumps({**here, "timing": {}})


@pytest.mark.usefixtures("home")
def test_shards_are_made_by_workers_of_ray() -> None:
    """On a Ray that the command starts."""
    words = ["+experiment=full_rag", *small_data(Path("data")), "tracking=none", "format=json"]
    shards = ["shards=2", "hydra/launcher=ray", "hydra.launcher.ray.init.address=local"]
    done = subprocess.run(
        [sys.executable, "-m", "runner", *words, *shards, "out=many"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert main([*words, "out=one"]) == 0
    many, one = (read(f"{folder}/summary.json") for folder in ("many", "one"))
    assert json.dumps({**many, "timing": {}}) == json.dumps({**one, "timing": {}})
    assert not Path("many/.shards").exists()


def runs_in(database: str) -> list[str]:
    """What each run of an MLflow store was swept over, and `summary` for that of the sweep."""
    with closing(sqlite3.connect(database)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM runs")]
    return sorted("summary" if name.startswith("summary of ") else name.rpartition("=")[2] for name in names)


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
