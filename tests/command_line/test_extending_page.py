"""The page on extending, followed word for word, and what its reader does next."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.report.document import Document
from runner.report.summary import render
from runner.system.folder import open_run

ROOT = Path(__file__).resolve().parents[2]


def sh(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    python = f'python() {{ "{sys.executable}" "$@"; }}\n'
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    return subprocess.run(
        ["bash", "-e", "-c", python + text], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str], str]:
    page = (ROOT / "docs/en/project/extending.md").read_text(encoding="utf-8")
    found = re.search(r"```sh\n(?P<commands>.*?)```\n\n```text\n(?P<shown>.*?)```", page, re.S)
    assert found is not None
    folder = tmp_path_factory.mktemp("extending")
    return folder, sh(folder, found["commands"]), found["shown"]


def newest(folder: Path) -> Path:
    return max((folder / "outputs").iterdir(), key=lambda path: path.stat().st_mtime)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_page_shows_what_its_commands_print(
    followed: tuple[Path, subprocess.CompletedProcess[str], str],
) -> None:
    folder, done, shown = followed
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert all(line.rstrip() in printed for line in shown.splitlines())
    head = read(newest(folder) / "0" / "run.json")
    assert head["evaluation_type"] == "length_rag"  # its choice, not its module
    assert "answer_words" in head["metric_code"] and "recall" not in head["metric_code"]


def test_a_mended_metric_is_not_comparable_and_sections_stay_with_the_run(
    followed: tuple[Path, subprocess.CompletedProcess[str], str],
) -> None:
    folder, _, _ = followed
    code = (folder / "mine.py").read_text(encoding="utf-8")
    mended = code.replace("len(output.answer.text.split())", "len(output.answer.text.split()) + 1")
    with_section = mended + (
        "\n    @staticmethod\n    def sections(document):\n"
        "        from runner.report.blocks import Note, section\n"
        '        yield section("mine", "Mine", Note("Two words."))\n'
    )
    words = "python -m runner --config-dir my_conf evaluation=length_rag dataset=tiny tracking=none out="
    assert sh(folder, f"{words}before").returncode == 0
    (folder / "mine.py").write_text(with_section, encoding="utf-8")
    done = sh(folder, f"{words}after compare=before regression=none")
    assert done.returncode == 5, done.stderr
    record = read(folder / "after" / "compare.json")
    (refused,) = record["not_comparable"]
    assert (refused["metric"], refused["reasons"][0]["names"]) == ("answer_words", ["metric_code.answer_words"])
    assert "mine" not in sys.modules
    assert "## Mine\n\nTwo words.\n" in render(Document.of(open_run(folder / "after")))
    assert "mine" not in sys.modules
