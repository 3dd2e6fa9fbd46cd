"""What is installed from a wheel is whole: configuration and demo data travel with the code."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def test_it_holds_every_module_choice_and_demo_file_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "runner", "plugins", "conf"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert names == set(filter(None, tracked.stdout.split("\0")))


def test_traces_and_their_profiles_come_with_it(wheel: Path, tmp_path: Path) -> None:
    """All of conf and the traces of the program, read from the wheel itself."""
    installed, work = tmp_path / "installed", tmp_path / "work"
    zipfile.ZipFile(wheel).extractall(installed)
    work.mkdir()
    code = (
        "import json, sys; from runner.cli import main; from runner.domains.traces import score_trace; "
        "code = main(sys.argv[1:]); "
        "trace = {'id': 't', 'metadata': {'success': True}, 'task': {'objective': 'o'}, "
        "'steps': [{'type': 'thought'}], 'outcome': {'confidence': 1}}; "
        "print(score_trace(trace, 'medical').score, sys.modules['plugins'].__path__); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "+experiment=trace_quality", "profile=medical", "tracking=none", "out=x"],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    score, *paths = done.stdout.splitlines()[-1].split()
    assert score == "0.1" and str(installed) in paths[0]
    rows = [json.loads(line) for line in (work / "x" / "per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) >= 60
    assert {row["output"]["profile"] for row in rows} == {"medical"}
    assert list(rows[0]["output"]["scores"]) == ["default", "finance", "code", "medical", "customer_service"]


def test_an_extra_is_installed_by_the_name_of_the_distribution(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import sys; from importlib.metadata import version; from runner import DISTRIBUTION; "
        "from runner.errors import installing; print(version(DISTRIBUTION), installing('kiwi'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0.2.0 pip install 'runner-rag-experiments[kiwi]'\n"


def test_it_is_used_from_python(wheel: Path, tmp_path: Path) -> None:
    installed, work = tmp_path / "installed", tmp_path / "work"
    zipfile.ZipFile(wheel).extractall(installed)
    work.mkdir()
    assert (installed / "runner" / "py.typed").is_file()
    code = (
        "import runner; "
        "report = runner.evaluate(lambda q: 'It takes 14 days.', [{'question': 'How long?', 'answers': ['14 days']}]); "
        "print(report['right'].value, runner.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    value, file = done.stdout.split()
    assert value == "1.0" and str(installed) in file


def test_a_project_is_made_of_it_and_runs_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    """The folder `conf` of the project hides nothing of the package of that name."""
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    runner = [sys.executable, "-m", "runner"]
    made = subprocess.run(
        [*runner, "init", "mine", "--for", "endpoint"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert made.returncode == 0, made.stderr
    words = ["--config-dir", "conf", "+experiment=mine", "tracking=none", "out=o"]
    done = subprocess.run(
        [*runner, *words], cwd=tmp_path / "mine", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "mine/o/summary.json").read_text(encoding="utf-8"))
    assert summary["metrics"]["right"]["value"] == 1.0
