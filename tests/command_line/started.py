"""A command in a process of its own, perhaps with a generator of the test's own."""

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

EXTRACTIVE = Path(__file__).resolve().parents[2] / "conf/generator/extractive.yaml"


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "runner", *words]


# What each run imports, which takes a process a second and more.
IMPORTED = ["hydra.core.utils", "bm25s", "jinja2", "rich.table", "runner.config.compose", "runner.run.sweep"]


def ended(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run(command(*words))` ends as, sooner: its process is forked from one that has imported what
    every run does, and nothing else. For components of a test's own; how the program itself starts, and how it ends
    when it is interrupted, is tested with `command`."""
    with TemporaryDirectory() as folder:
        said = [Path(folder, name) for name in ("stdout", "stderr")]
        process = _forked(words, said, environment)
        process.join()
        code = process.exitcode or 0
        process.close()
        return subprocess.CompletedProcess(words, code, *(path.read_text(encoding="utf-8") for path in said))


def begun(*words: str) -> BaseProcess:
    """The same, for tests that kill it. What it says goes nowhere."""
    return _forked(words, [Path(os.devnull)] * 2, {})


def _forked(words: Sequence[str], said: Sequence[Path], environment: Mapping[str, str]) -> BaseProcess:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    arguments = (words, str(Path.cwd()), {**os.environ, **environment}, [str(path) for path in said])
    process = context.Process(target=_run, args=arguments)
    process.start()
    return process


def _run(words: Sequence[str], folder: str, environment: Mapping[str, str], said: Sequence[str]) -> None:
    for number, path in enumerate(said, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = ["runner", *words]
    try:
        runpy.run_module("runner", run_name="__main__")
    finally:
        atexit._run_exitfuncs()


def generated_by(name: str, lines: str) -> list[str]:
    """Words that let ./NAME.py answer: what `generate(self, query, contexts)` does, with Answer imported."""
    body = "".join(f"        {line}\n" for line in lines.splitlines())
    Path(f"{name}.py").write_text(
        "from runner.records import Answer\nclass Generator:\n"
        "    def __init__(self, *, refuse_below: float | None = None):\n        self.refuse_below = refuse_below\n"
        f"    async def generate(self, query, contexts):\n{body}",
        encoding="utf-8",
    )
    written = yaml.safe_load(EXTRACTIVE.read_text("utf-8"))
    settings = [key for key, value in written.items() if key != "_target_" and value is not None]  # Hydra keeps null
    return [f"generator._target_={name}.Generator", *(f"~generator.{key}" for key in settings)]
