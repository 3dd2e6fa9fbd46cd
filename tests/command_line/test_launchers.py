"""Sweeps whose runs are made by workers: the same results, and a worker that is lost takes no other run along."""

import json
from pathlib import Path

import pytest

from runner.cli import main
from runner.run import launchers
from tests.command_line.killed_workers import KILLER, killed_at
from tests.command_line.result_files import read
from tests.small_data import small_data


@pytest.mark.parametrize("launcher", ["joblib", pytest.param("submitit", marks=pytest.mark.slow)])
def test_a_run_that_lost_its_worker_is_resumed(
    monkeypatch: pytest.MonkeyPatch, launcher: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    Path("killer.py").write_text(KILLER, encoding="utf-8")
    words = [*killed_at(1, 2), *small_data(Path("data")), "tracking=none"]
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))  # of the workers
    assert main([*words, "format=json", f"hydra/launcher={launcher}", "out=there"]) == 0
    said = capsys.readouterr().err
    assert "workers (1): 8/8 cases, 0 failed, " in said  # one progress for all runs of a launch
    assert "[1/2]" not in said
    assert "the launcher failed: " in said and "run 1 was lost with its worker; it is resumed" in said
    assert [cell["status"] for cell in read("there/sweep.json")["cells"]] == ["completed", "completed"]
    assert main([*words, "format=json", "out=here"]) == 0
    for name in ("0", "1"):
        there, here = (read(f"{folder}/{name}/summary.json") for folder in ("there", "here"))
        assert json.dumps({**there, "timing": {}}) == json.dumps({**here, "timing": {}})
        there, here = (read(f"{folder}/{name}/run.json")["config"] for folder in ("there", "here"))
        assert {**there, "out": ""} == {**here, "out": ""} | {"models": {**here["models"], "out": "there"}}


def test_a_worker_goes_to_where_the_command_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    monkeypatch.setattr("sys.path", ["/nothing"])
    launchers.go_to(None)
    here = Path.cwd()
    launchers.go_to({"path": str(elsewhere)})
    assert (Path.cwd(), launchers.sys.path) == (elsewhere, [str(elsewhere), "/nothing"])
    launchers.go_to({"path": str(elsewhere)})
    assert launchers.sys.path == [str(elsewhere), "/nothing"]
    monkeypatch.chdir(here)


def test_without_any_launcher_of_an_extra_its_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after `pip install -e .`, which installs no plugin of Hydra."""
    monkeypatch.setattr("runner.config.choices.find_spec", lambda name: None if name == "hydra_plugins" else 1 / 0)
    assert main(["+experiment=retrieval_only", "k=1,2", "hydra/launcher=joblib"]) == 1
    assert "hydra/launcher: joblib needs the extra `joblib`: pip install " in capsys.readouterr().err


def test_a_launcher_whose_extra_is_missing_is_told_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.util import find_spec

    if find_spec("hydra_plugins.hydra_ray_launcher") is not None:
        pytest.skip("Ray is installed here")
    assert main(["+experiment=retrieval_only", "k=1,2", "hydra/launcher=ray"]) == 1
    assert "hydra/launcher: ray needs the extra `ray`: pip install " in capsys.readouterr().err
