"""What is installed from a wheel is whole: configuration and demo data travel with the code."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.small_data import small_data

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
        ["git", "ls-files", "runner", "plugins", "conf"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert names == set(tracked.stdout.splitlines())


def test_it_runs_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    (tmp_path / "work").mkdir()
    words = [*small_data(tmp_path), "retriever=keyword", "tracking=none", "out=x"]
    done = subprocess.run(
        [sys.executable, "-m", "runner", *words],
        cwd=tmp_path / "work",
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    code = "import runner; print(runner.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "work",
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(installed))
