"""`.ci/matrix` finds the Pythons of pyenv, which are seldom on the PATH by their own names."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "python3.99"


def matrix(pyenv: Path) -> tuple[int, str]:
    environment = {**os.environ, "PYENV_ROOT": str(pyenv), "PYTHONS": NAME, "LOWEST": "no"}
    done = subprocess.run([ROOT / ".ci/matrix"], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_newest_python_that_runs_is_taken(tmp_path: Path) -> None:
    assert matrix(tmp_path) == (1, f"none of the Pythons is installed: {NAME}\n")
    for version, runs in (("3.99.2", "true"), ("3.99.10", "true"), ("3.99.11", "false")):
        interpreter = tmp_path / "versions" / version / "bin" / NAME
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text(f'#!/bin/sh\n[ "$1" != -c ] || exec {runs}\necho "$0 $*"\nexit 1\n', encoding="utf-8")
        interpreter.chmod(0o755)
    code, told = matrix(tmp_path)
    assert code == 1
    assert f"{tmp_path}/versions/3.99.10/bin/{NAME} -m venv" in told
    assert f"{NAME}: FAILED" in told
