"""What is installed from a wheel is whole: configuration and demo data travel with the code."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
# All that is asked of the installed package in one process: each import of the program costs a second.
USED = """
import json, sys
from importlib.metadata import version
import runner
from runner import DISTRIBUTION
from runner.cli import main
from runner.domains.traces import score_trace
from runner.errors import install_command

codes = [
    main(["+experiment=trace_quality", "profile=medical", "tracking=none", "out=x"]),
    main(["init", "mine", "--for", "endpoint"]),
]
trace = {
    "id": "t", "metadata": {"success": True}, "task": {"objective": "o"}, "steps": [{"type": "thought"}],
    "outcome": {"confidence": 1},
}
report = runner.evaluate(lambda q: "It takes 14 days.", [{"question": "How long?", "answers": ["14 days"]}])
json.dump({
    "codes": codes,
    "score": score_trace(trace, "medical").score,
    "version": version(DISTRIBUTION),
    "installing": install_command("kiwi"),
    "right": report["right"].value,
    "files": [runner.__file__, *sys.modules["plugins"].__path__],
}, open("used.json", "w"))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules of the wheel itself, and nothing else of this project."""
    folder = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def ran(words: list[str], folder: Path, installed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def work(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder in which the package was used as USED says."""
    folder = tmp_path_factory.mktemp("work")
    ran(["-c", USED], folder, installed)
    return folder


@pytest.fixture
def used(work: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((work / "used.json").read_text(encoding="utf-8"))
    return found


def test_it_holds_every_module_choice_and_demo_file_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "runner", "plugins", "conf"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert names == set(filter(None, tracked.stdout.split("\0")))


def test_the_code_that_ran_is_that_of_the_wheel(used: dict[str, Any], installed: Path) -> None:
    assert used["codes"] == [0, 0]
    assert [path for path in used["files"] if not path.startswith(str(installed))] == []
    assert (installed / "runner" / "py.typed").is_file()


def test_traces_and_their_profiles_come_with_it(used: dict[str, Any], work: Path) -> None:
    """All of conf and the traces of the program, read from the wheel itself."""
    assert used["score"] == 0.1
    rows = [json.loads(line) for line in (work / "x" / "per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) >= 60
    assert {row["output"]["profile"] for row in rows} == {"medical"}
    assert list(rows[0]["output"]["scores"]) == ["default", "finance", "code", "medical", "customer_service"]


def test_an_extra_is_installed_by_the_name_of_the_distribution(used: dict[str, Any]) -> None:
    assert (used["version"], used["installing"]) == ("0.2.0", "pip install 'runner-rag-experiments[kiwi]'")


def test_it_is_used_from_python(used: dict[str, Any]) -> None:
    assert used["right"] == 1.0


def test_a_project_is_made_of_it_and_runs_from_any_folder(work: Path, installed: Path) -> None:
    """The folder `conf` of the project hides nothing of the package of that name."""
    project = work / "mine"
    words = ["-m", "runner", "--config-dir", "conf", "+experiment=mine", "tracking=none", "out=o"]
    ran(words, project, installed)
    summary = json.loads((project / "o/summary.json").read_text(encoding="utf-8"))
    assert summary["metrics"]["right"]["value"] == 1.0
