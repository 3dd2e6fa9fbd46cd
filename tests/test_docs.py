"""The README keeps its word: every command runs, every option, choice and command is named."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from runner.cli import COMMANDS, main
from runner.manual import manual
from tests.services.models_server import serving_models
from tests.small_data import QUERIES, small_data, write_jsonl

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_LINES = sorted(
    set(re.findall(r"(?:`|^)(?:\.venv/bin/)?python -m runner ([^`#\n]+?)\s*(?:`|#|$)", README, re.M))
)
TESTED_ELSEWHERE = ("generate ", "freeze ", "chat ", "clean ")
RUNS = [
    line
    for line in COMMAND_LINES
    if "=" in line and "mine" not in line and "NAME" not in line and not line.startswith(TESTED_ELSEWHERE)
]
ASKS_MODELS = re.compile(r"=openai\b")


def test_the_readme_holds_the_two_commands() -> None:
    setup = "python3 -m venv .venv && .venv/bin/pip install -e"
    assert f"{setup} . && .venv/bin/python -m runner +experiment=full_rag k=3,5,10\n" in README
    assert f"{setup} '.[test]' && .venv/bin/python -m pytest\n" in README


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the examples name."""
    monkeypatch.chdir(tmp_path)
    small_data(tmp_path)
    (tmp_path / "notes").mkdir()
    for name, text in {"moon": "The Moon needs 27 days.", "mars": "Mars is red.", "sun": "The Sun is a star."}.items():
        (tmp_path / "notes" / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    given = [
        {"answerable": True, "ranking": query["expected_notes"], "answer": "27 days", **query} for query in QUERIES
    ]
    write_jsonl(tmp_path / "answers.jsonl", given)
    labels = {"id": "a1", "question": "Why?", "answer": "27 days", "contexts": ["It needs 27 days."]}
    write_jsonl(tmp_path / "labels.jsonl", [{**labels, "ratings": {"faithfulness": 1, "answer_relevancy": 0.5}}])
    (tmp_path / "qrels.txt").write_text("q1 0 moon 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 moon 1 0.5 x\n", encoding="utf-8")


@pytest.mark.parametrize("line", RUNS)
@pytest.mark.usefixtures("files")
def test_every_run_of_the_readme_runs(line: str) -> None:
    quick = [] if "case=" in line or "sample=" in line else ["sample=4"]
    if "dataset=vault" in line:
        quick = []
    if line.split()[0] in COMMANDS:
        quick = []
    else:
        quick.append("tracking=none")
    if "compare=latest:" in line:
        assert main([*[word for word in shlex.split(line) if not word.startswith("compare=")], *quick]) == 0
    with serving_models() as server:
        where = {"base_url": server.url, "api_key_env": "null", "prices.base_url": "null"}
        here = [f"provider.openai.{name}={value}" for name, value in where.items()]
        assert main([*shlex.split(line), *quick, *(here if ASKS_MODELS.search(line) else [])]) == 0


@pytest.mark.usefixtures("files")
def test_the_score_command_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = [line for line in COMMAND_LINES if line.startswith("score ")]
    assert main(shlex.split(line)) == 0
    assert '"mrr@10"' in capsys.readouterr().out


def test_the_scenario_of_the_readme_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```yaml\n(version: 1\nconversations:.*?)```", README, re.S)
    Path("talks.yaml").write_text(example, encoding="utf-8")
    words = ["+experiment=memory", "scenario=file", "scenario.path=talks.yaml", "strict=true", "tracking=none", "out=o"]
    assert main(words) == 0
    found = json.loads(Path("o/summary.json").read_text(encoding="utf-8"))
    assert found["metrics"]["facts_present"]["value"] == found["metrics"]["stale_present"]["value"] == 1.0


def test_every_example_is_run_or_named_here() -> None:
    elsewhere = {
        "generate corpus=notes out=made.jsonl",
        "ui",
        "chat memory=recursive_summary",
        "clean memory/store=redis memory.store.url=…",
        "compare BASELINE CANDIDATE",
        "freeze outputs/FOLDER experiments/NAME --question 'What was asked?'",
        "reproduce experiments/NAME",
        "-cd experiments/NAME -cn frozen k=7 retriever=keyword",
        "results outputs/FOLDER",
        "--help",
        "retriever=mine,hybrid",
        "score qrels.txt run.txt",
    }
    assert set(COMMAND_LINES) - set(RUNS) == elsewhere


def test_every_command_is_named() -> None:
    for name in COMMANDS:
        assert re.search(rf"^\| `{name.replace('_', '-')}\b", README, re.M), name


def test_every_option_stands_with_its_default() -> None:
    conf = yaml.safe_load((ROOT / "conf/config.yaml").read_text(encoding="utf-8"))
    nested = {f"{name}.{inner}": value for name in ("report", "budget") for inner, value in conf.pop(name).items()}
    for name, default in {**conf, **nested}.items():
        if name in ("defaults", "hydra", "models"):
            continue
        shown = json.dumps(default) if default is None or isinstance(default, bool) else str(default)
        assert f"| `{name}` | {shown} |" in README, name


def test_every_choice_is_named_and_none_that_is_not_there() -> None:
    for folder in sorted(path for path in (ROOT / "conf").glob("*/**/") if list(path.glob("*.yaml"))):
        group = folder.relative_to(ROOT / "conf").as_posix()
        _, _, table = README.partition(f"| `{group}` | |\n")
        rows = "\n".join(
            line.split("|")[1] for line in table.partition("\n\n")[0].splitlines() if line.startswith("| ")
        )
        assert set(re.findall(r"`(\w+)`", rows)) == {path.stem for path in folder.glob("*.yaml")}, group


def test_the_default_choices_are_marked() -> None:
    defaults = yaml.safe_load((ROOT / "conf/evaluation/full_rag.yaml").read_text(encoding="utf-8"))["defaults"]
    for entry in defaults:
        if isinstance(entry, dict):
            ((group, choice),) = entry.items()
            name = group.partition("@")[0].lstrip("/")
            _, _, table = README.partition(f"| `{name}` | |\n")
            (row,) = [line for line in table.partition("\n\n")[0].splitlines() if line.startswith(f"| `{choice}`")]
            assert "default" in row


def test_help_names_every_command_group_and_option() -> None:
    text = manual()
    for name in (*(name.replace("_", "-") for name in COMMANDS), "retriever", "hybrid", "full_rag", "max_concurrency"):
        assert re.search(rf"\b{name}\b", text), name


def test_the_changelog_is_not_empty() -> None:
    assert re.search(r"^- \S", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
