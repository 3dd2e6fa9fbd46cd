"""The same command after code has changed: what was made by it is made again, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.command_line.started import command, ended
from tests.small_data import small_data, write_texts

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = {
    "mine/__init__.py": "",
    "mine/parts/__init__.py": "",
    "mine/parts/order.py": "def ordered(ids):\n    return sorted(ids)\n",
    "mine/retriever.py": '''
from runner.records import Ranking

class Alphabetical:
    """Its index is a file that a helper has put in order; what it finds is in an order that another one tells."""

    def index(self, corpus, workspace):
        from .parts.order import ordered

        def build(folder):
            (folder / "ids").write_text("\\n".join(ordered([chunk.id for chunk in corpus.chunks])), encoding="utf-8")

        folder = workspace.folder("alphabetical", {"corpus": corpus.fingerprint}, build)
        self.ids = (folder / "ids").read_text(encoding="utf-8").split("\\n")
        return {"kind": "alphabetical"}

    def search(self, queries, depth):
        ids = tuple(self.ids[:depth])
        return [Ranking(ids, tuple(float(-place) for place in range(len(ids))), (1.0,) * len(ids)) for _ in queries]
''',
    "mine/grades.py": "GRADE = 1.0\n",
    "mine/prompts/words.txt": "short\n",
    "mine/judge.py": """
from importlib.resources import files
from runner.records import Judgement
from mine import grades

class FixedJudge:
    data_files = ("prompts",)

    def __init__(self, *, on_failure: str = "zero") -> None:
        self.on_failure = on_failure

    async def judge(self, rubric, fields):
        word = (files("mine") / "prompts" / "words.txt").read_text(encoding="utf-8").strip()
        return Judgement(grades.GRADE if word == "short" else grades.GRADE / 4)
""",
    "mine/unused.py": "NUMBER = 1\n",
    "my_conf/retriever/alphabetical.yaml": "# By name.\n_target_: mine.retriever.Alphabetical\n",
    "my_conf/judge/fixed.yaml": "# One grade.\n_target_: mine.judge.FixedJudge\non_failure: zero\n",
}


def run(*words: str) -> str:
    """What a command in a process of its own writes to stderr."""
    return successful(ended(*words))


def successful(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stderr


def value(folder: str, metric: str) -> Any:
    return json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))["metrics"][metric]["value"]


def stored(kind: str) -> dict[Path, int]:
    """When each folder of derived data was written."""
    return {path: path.stat().st_mtime_ns for path in Path(".runner_cache", kind).glob("*/manifest.json")}


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    write_texts(tmp_path, PACKAGE)
    return [*small_data(tmp_path), "--config-dir", "my_conf", "tracking=none", "format=json", "k=1"]


def test_a_helper_of_a_retriever_turns_its_index_its_rankings_and_its_rows(words: list[str], tmp_path: Path) -> None:
    asked = ["+experiment=retrieval_only", "retriever=alphabetical", *words]
    run(*asked, "out=x")
    first = value("x", "recall_at_k")
    rows = Path("x/per_item.jsonl").read_bytes()
    write_texts(tmp_path, {"mine/unused.py": "NUMBER = 2\n"})
    assert "starting over" not in run(*asked, "out=x").lower()
    assert Path("x/per_item.jsonl").read_bytes() == rows
    assert [len(stored(kind)) for kind in ("alphabetical", "rankings")] == [1, 1]
    write_texts(tmp_path, {"mine/parts/order.py": "def ordered(ids):\n    return sorted(ids, reverse=True)\n"})
    assert "the code" in run(*asked, "out=x")
    run(*asked, "out=fresh")
    assert value("x", "recall_at_k") == value("fresh", "recall_at_k")
    assert json.loads(Path("x/per_item.jsonl").read_bytes().splitlines()[0])["output"]["retrieved"][0]["id"] == "화성"
    assert first is not None
    assert [len(stored(kind)) for kind in ("alphabetical", "rankings")] == [2, 2]


@pytest.mark.parametrize(
    ("changed", "text", "grade"),
    [("mine/grades.py", "GRADE = 0.50\n", 0.5), ("mine/prompts/words.txt", "long\n", 0.25)],
)
def test_a_helper_or_a_prompt_of_a_judge_redoes_its_rows_and_makes_another_judge(
    words: list[str], tmp_path: Path, changed: str, text: str, grade: float
) -> None:
    asked = ["+experiment=full_rag", "retriever=keyword", "judge=fixed", *words]
    run(*asked, "out=x")
    assert value("x", "mean_faithfulness") == 1.0
    before, indexes = json.loads(Path("x/run.json").read_text(encoding="utf-8")), stored("keyword")
    write_texts(tmp_path, {changed: text})
    run(*asked, "out=x")
    after = json.loads(Path("x/run.json").read_text(encoding="utf-8"))
    assert value("x", "mean_faithfulness") == grade
    assert before["judged_by"]["judge"] != after["judged_by"]["judge"]
    assert before["components"]["retriever"] == after["components"]["retriever"]
    assert stored("keyword") == indexes


def test_a_file_of_data_that_is_not_there_is_told_before_the_run(words: list[str], tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "mine" / "prompts")
    done = ended("+experiment=full_rag", "judge=fixed", *words, "out=x")
    assert done.returncode == 1
    assert f"judge._target_: data_files of FixedJudge: no 'prompts' in {tmp_path / 'mine'}" in done.stderr


@pytest.mark.slow  # three processes; test_sources.py has what counts for what is built
def test_a_sentence_of_a_report_drops_nothing_and_code_that_builds_does(words: list[str], tmp_path: Path) -> None:
    """In a copy of this program, which `python -m` takes from the working folder."""
    for name in ("runner", "plugins", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name)  # what is compiled, too: Python looks whether it is as old
    asked = command("+experiment=retrieval_only", "retriever=keyword", *words, "out=x")

    def run_copy() -> str:
        return successful(subprocess.run(asked, capture_output=True, text=True, check=False))

    run_copy()
    before, rows = (stored("keyword"), stored("rankings")), Path("x/per_item.jsonl").stat().st_mtime_ns
    for name in ("words/wording.py", "report/markdown.py", "errors.py"):
        path = tmp_path / "runner" / name
        path.write_text(f"{path.read_text(encoding='utf-8')}\nSENTENCE = 'Another one.'\n", encoding="utf-8")
    assert "starting over" not in run_copy().lower()
    assert (stored("keyword"), stored("rankings")) == before
    assert Path("x/per_item.jsonl").stat().st_mtime_ns == rows
    path = tmp_path / "runner" / "text" / "ordering.py"
    path.write_text(f"{path.read_text(encoding='utf-8')}\nX = 1\n", encoding="utf-8")
    assert "the code" in run_copy()
    assert [len(stored(kind)) for kind in ("keyword", "rankings")] == [2, 2]
