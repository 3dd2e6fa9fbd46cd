"""A package of somebody else, installed: its retriever is a choice like any other."""

import contextlib
import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.command_line.started import ended
from tests.shared_folders import shared
from tests.small_data import small_data, write_texts

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages that holds the example."""

    def install(folder: Path) -> None:
        words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target"]
        subprocess.run([*words, str(folder / "site-packages"), str(ROOT / "tests/extension")], check=True)

    return shared(tmp_path_factory, "extension", install) / "site-packages"


def run(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """In a process to which the packages of `site` are installed."""
    with contextlib.chdir(folder):
        return ended(*words, PYTHONPATH=str(site))


def test_its_retriever_is_a_choice(site: Path, tmp_path: Path) -> None:
    data = [*small_data(tmp_path), "tracking=none", "format=json"]
    done = run(site, tmp_path, *data, "retriever=reverse,keyword", "k=1", "out=x")
    assert done.returncode == 0, done.stderr
    reverse, keyword = (json.loads((tmp_path / "x" / cell / "summary.json").read_text("utf-8")) for cell in "01")
    assert reverse["facts"]["index"]["kind"] == "reverse"
    assert reverse["metrics"]["recall_at_k"]["value"] == pytest.approx(1 / 6)
    assert keyword["metrics"]["recall_at_k"]["value"] == 1.0


def test_its_retriever_is_in_the_help_of_an_environment_in_which_it_is_installed(site: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "judge" / "length.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("# Short answers.\n_target_: mine.LengthJudge\n", encoding="utf-8")
    venv.create(tmp_path / "venv", with_pip=False, system_site_packages=False)
    (inner,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    outer = [path for path in sys.path if path.endswith("site-packages")]
    (inner / "outer.pth").write_text("\n".join([*outer, str(site), str(ROOT)]) + "\n", encoding="utf-8")
    command = [str(tmp_path / "venv" / "bin" / "python"), "-m", "runner", "--config-dir", "mine", "--help"]
    whole, one = (
        subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for words in (command, [*command, "retriever=reverse"])
    )
    retrievers = "  retriever         agentic | given | hybrid | keyword | oracle | reverse | semantic | "
    assert any(line.startswith(retrievers) for line in whole.splitlines())
    assert "  judge             length | lexical | openai | panel" in whole.splitlines()
    assert "retriever=reverse" in one


def test_its_settings_are_checked_like_any_other(site: Path, tmp_path: Path) -> None:
    data = [*small_data(tmp_path), "tracking=none"]
    done = run(site, tmp_path, *data, "retriever=reverse", "retriever.limt=3", "retriever.limit=0")
    assert done.returncode == 1
    assert "retriever.limt: unknown setting; did you mean 'limit'?" in done.stderr
    assert "retriever.limit: expected 1 or more, got 0" in done.stderr


def test_a_module_of_an_installed_package_counts(site: Path, tmp_path: Path) -> None:
    site = shutil.copytree(site, tmp_path / "own" / "site-packages")
    package = {
        "runner_graded/__init__.py": "",
        "runner_graded/retriever.py": "import runner_reverse.retriever\n"
        "from runner_graded._sign import SIGN\n"
        "class Graded(runner_reverse.retriever.ReverseRetriever):\n"
        "    def index(self, corpus, workspace):\n"
        "        found = super().index(corpus, workspace)\n"
        "        self.chunk_ids = self.chunk_ids[::SIGN]\n"
        "        return found\n",
    }
    write_texts(site, package)
    words = [*small_data(tmp_path), "tracking=none", "format=json", "k=1", "out=x", "retriever=reverse"]
    words.append("retriever._target_=runner_graded.retriever.Graded")
    found = []
    for sign in (1, 1, -1):
        write_texts(site, {"runner_graded/_sign.py": f"SIGN = {sign}\n"})
        done = run(site, tmp_path, *words)
        assert done.returncode == 0, done.stderr
        row = json.loads((tmp_path / "x" / "per_item.jsonl").read_text("utf-8").splitlines()[0])
        found.append((row["output"]["retrieved"][0]["id"], "the code changed" in done.stderr))
    assert found == [("해", False), ("해", False), ("moon", True)]


# --- wrong components of somebody else ------------------------------------------------------------------

JUDGE = (
    "class C:\n    on_failure, health = 'zero', {health}\n    async def judge(self, rubric, fields):\n        {body}\n"
)
RETRIEVER = (
    "class C:\n    def index(self, corpus, workspace):\n        {index}\n"
    "    def search(self, queries, depth):\n        {search}\n"
)


def wrong(folder: Path, group: str, code: str) -> list[str]:
    """Words that choose the class C of this code."""
    head = "import sys\nfrom runner.records import Answer, Judgement, Ranking\n"
    (folder / "mine.py").write_text(head + code, encoding="utf-8")
    choice = folder / "choices" / group / "wrong.yaml"
    choice.parent.mkdir(parents=True)
    choice.write_text("# A wrong one.\n_target_: mine.C\n", encoding="utf-8")
    data = [*small_data(folder / "data"), "tracking=none", "retriever=keyword"]
    kept = [word for word in data if not word.startswith(f"{group}=")]
    return ["--config-dir", "choices", *kept, f"{group}=wrong"]


@pytest.mark.parametrize(
    ("group", "code", "exit_code", "message"),
    [
        (
            "retriever",
            RETRIEVER.format(
                index="return {}", search="return [Ranking(('moon#0',), (1.0,), (7.0,)) for _ in queries]"
            ),
            3,
            "8 of them: retriever (mine.C): search: relevance of 'moon#0' is 7.0; expected a number in 0..1",
        ),
        (
            "retriever",
            RETRIEVER.format(index="sys.exit(0)", search="return []"),
            2,
            "error: retriever (mine.C): index: SystemExit: 0 (mine, line 5); x/error.log has the details",
        ),
        (
            "retriever",
            RETRIEVER.format(index="return {}", search="return 1 / 0"),
            3,
            "8 of them: retriever (mine.C): search: ZeroDivisionError: division by zero (mine, line 7)",
        ),
        (
            "judge",
            JUDGE.format(health=False, body="return 1 / 0"),
            3,
            "6 of them: judge (mine.C): judge: ZeroDivisionError: division by zero (mine, line 6)",
        ),
        (
            "generator",
            "class C:\n    def __init__(self):\n        raise KeyError('x')\n"
            "    async def generate(self, query, contexts):\n        return Answer('x')\n",
            1,
            "error: generator (mine.C): __init__: KeyError: 'x' (mine, line 5); x/error.log has the details",
        ),
    ],
)
def test_a_wrong_component_is_an_error_that_names_it(
    group: str, code: str, exit_code: int, message: str, tmp_path: Path
) -> None:
    words = [*wrong(tmp_path, group, code), *([] if group == "retriever" else ["+experiment=full_rag"])]
    done = ended(*words, "out=x")
    assert (done.returncode, "Traceback" in done.stderr) == (exit_code, False)
    assert message in done.stderr
    raised = "is 7.0" not in message
    assert (tmp_path / "x" / "error.log").exists() == raised


def test_a_plan_counts_a_case_whose_judge_breaks_and_goes_on(tmp_path: Path) -> None:
    words = wrong(tmp_path, "judge", JUDGE.format(health=True, body="return 1 / 0"))
    done = ended("plan", *words, "+experiment=full_rag", "generator=openai", "cache=use")
    assert (done.returncode, done.stderr) == (0, "")
    assert "8" in done.stdout


def test_a_component_that_breaks_in_a_dry_run_is_one_line_with_a_log(tmp_path: Path) -> None:
    code = "class C:\n    def load(self):\n        raise BaseExceptionGroup('g', [SystemExit(0)])\n"
    words = wrong(tmp_path, "dataset", code)
    words = [word for word in words if not word.startswith("dataset.")]
    for command in (["plan", *words], [*words, "dry_run=true"]):
        done = ended(*command)
        assert done.returncode == 1
        (line,) = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
        named, _, log = line.removesuffix(" has the details").rpartition("; ")
        assert named == "error: dataset (mine.C): load: SystemExit: 0 (mine, line 5)"
        assert "BaseExceptionGroup" in Path(log).read_text(encoding="utf-8")
