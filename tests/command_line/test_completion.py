"""Shells complete what may stand in a command line: asked as they ask, and in the shells themselves."""

import importlib
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.cli import COMMANDS, main
from runner.commands import Command
from runner.config import completion
from runner.config.options import RunOptions
from tests.small_data import write_texts

RUNNER = str(Path(sys.executable).parent / "python")
PATIENCE_S = 30


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    runs = {"outputs/20260101-sweep/sweep.json": "{}", "outputs/20260101-sweep/0/run.json": "{}"}
    write_texts(tmp_path, {**runs, "outputs/other/x.txt": "", "own/retriever/mine.yaml": "_target_: x\ndepth: 3\n"})
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["resu"], ["results"]),
        (["+exp"], ["+experiment="]),
        (["+experiment=full_r"], ["+experiment=full_rag"]),
        (["retriever=keyword,hy"], ["retriever=keyword,hybrid"]),
        (["metric=[right,ton"], ["metric=[right,tone"]),
        (["-cd", "own", "retriever=m"], ["retriever=mine"]),
        (["retriever=keyword", "retriever.b"], ["retriever.b="]),
        (["k=3", "--config-dir=own", "retriever=mine", "retriever."], ["retriever.depth="]),
        (["memory/store=r"], ["memory/store=redis"]),
        (["strict=t"], ["strict=true"]),
        (["report.language="], ["report.language=en", "report.language=ko"]),
        (["budget.u"], ["budget.usd="]),
        (["results", ""], ["outputs/20260101-sweep", "outputs/20260101-sweep/0"]),
        (["compare", "outputs/2", "outputs/20260101-sweep/"], ["outputs/20260101-sweep/0"]),
        (["compare=o"], ["compare=outputs/20260101-sweep", "compare=outputs/20260101-sweep/0"]),
        (["compare", "--allow"], ["--allow-incomparable"]),
        (["plan", "retriev"], ["retriever.", "retriever="]),
        (["calibrate", "min"], ["min_score", "min_score="]),
        (["no-command", "--"], ["--help"]),
        (["clean", "outputs", "--o"], ["--older-than"]),
        (["calibrate", "min_score", "retriever=k"], ["retriever=keyword"]),
        (["chat", "follow"], ["follow_ups="]),
        (["chat", "memory/su"], ["memory/summariser="]),
        (["clean", "k"], []),
        (["clean", "memory/s"], ["memory/store="]),
        (["dataset.corpus=a"], []),
    ],
)
def test_what_is_offered(here: Path, words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*completion.ASKS, "--", *words]) == 0
    shown = capsys.readouterr()
    assert (shown.out.split(), shown.err) == (expected, "")


def test_commands_are_read_from_their_source_as_they_are() -> None:
    columns = set(importlib.import_module("runner.commands.import").FIELDS) - {"language"}
    for name in COMMANDS:
        command: Command = importlib.import_module(f"runner.commands.{name}").COMMAND
        places, options, takes_words = completion._declaration(name)
        expected = [each.name for each in command.options if each.name not in (columns if name == "import" else ())]
        assert (places, options) == ([place.name for place in command.places], expected)
        assert (takes_words, list(completion._parts(name))) == (bool(command.words), list(command.parts))
        for part, declared in command.parts.items():
            of_part = completion._declaration(f"{name} {part}")
            assert {option.name for option in declared.options} <= set(of_part[1]), part
            assert of_part[2] == bool(declared.words), part


def test_options_and_their_values_are_those_that_a_run_takes() -> None:
    options = completion._options(completion.CONF / "config.yaml")
    assert {name for name in options if "." not in name} <= set(RunOptions.model_fields)
    for name, field in RunOptions.model_fields.items():
        if set(literal := getattr(field.annotation, "__args__", ())) and all(isinstance(each, str) for each in literal):
            assert set(options[name]) == set(literal), name


def test_an_answer_costs_little() -> None:
    """Nothing heavy is imported; the time itself depends on the machine."""
    code = "import sys; from runner.cli import main; main(['completion', 'words', '--', 're']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "results" in modules and not modules & {"hydra", "omegaconf", "yaml", "pydantic", "numpy", "rich", "mlflow"}


def test_fish_offers_the_same(here: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = f"{RUNNER} -m runner completion fish | source; complete -C '{{}}'"
    for line, expected in (("retriever=key", "retriever=keyword"), ("results outputs/2", "outputs/20260101-sweep")):
        command = script.format(f"python -m runner {line}")
        path = f"{Path(RUNNER).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "HOME": str(here)}
        done = subprocess.run(
            ["fish", "--no-config", "-c", command], capture_output=True, text=True, check=False, env=environment
        )
        assert expected in done.stdout.split(), done.stderr


@pytest.mark.parametrize(
    ("shell", "start"),
    [
        (["bash", "--norc", "-i"], "{} -m runner completion bash > done; source done"),
        (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source <({} -m runner completion zsh)"),
    ],
)
def test_shells_complete_at_the_tab_key(shell: list[str], start: str, here: Path) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    with Terminal(shell, here) as terminal:
        terminal.typed(start.format(RUNNER) + "; echo rea''dy\n", until="ready")
        terminal.typed(f"{RUNNER} -m runner +experiment=full_r\t", until="full_rag")
        terminal.typed(" retriever=keyword,sem\t", until="semantic")
        terminal.typed(" compare=outputs/2\t", until="20260101-sweep")


class Terminal:
    """A shell in a terminal of its own."""

    def __init__(self, shell: list[str], home: Path) -> None:
        self.child, self.descriptor = pty.fork()
        if self.child == 0:
            environment = {**os.environ, "HOME": str(home), "TERM": "dumb", "COLUMNS": "200"}
            os.execvpe(shell[0], shell, environment)

    def __enter__(self) -> "Terminal":
        return self

    def typed(self, text: str, *, until: str) -> None:
        os.write(self.descriptor, text.encode())
        shown, end = "", time.monotonic() + PATIENCE_S
        while until not in shown and time.monotonic() < end:
            if select.select([self.descriptor], [], [], 0.2)[0]:
                shown += os.read(self.descriptor, 4096).decode("utf-8", "replace").replace("\x07", "")
        assert until in shown, shown

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)
        os.waitpid(self.child, 0)
