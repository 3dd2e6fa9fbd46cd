"""A program that is asked line by line, and what is said of one that dies, is silent or prints something else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from plugins.system.command import CommandSystem
from runner.errors import EvaluationError, InputError, StopRunError
from runner.records import NamedContext
from tests.plugins.system.asking import QUERY, door, opened, settings

ECHO = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    print("asked", file=sys.stderr)
    reply = {"answer": asked["question"], "contexts": [{"id": str(os.getpid()), "text": str(sorted(asked))}]}
    print(json.dumps(reply), flush=True)
"""


def system(folder: Path, code: str, **changed: Any) -> tuple[CommandSystem, Any]:
    program = folder / "program.py"
    program.write_text(code, encoding="utf-8")
    models = door(folder / "cache")
    command = [sys.executable, str(program)]
    return CommandSystem(models=models, **settings("command", **{"command": command, **changed})), models


async def error_of(folder: Path, code: str, **changed: Any) -> str:
    asked, models = system(folder, code, **changed)
    async with opened(asked, models):
        with pytest.raises((EvaluationError, InputError)) as error:
            await asked.ask(QUERY)
    return str(error.value)


async def test_one_process_answers_all_questions(tmp_path: Path) -> None:
    asked, models = system(tmp_path, ECHO)
    assert asked.preflight() == []
    async with opened(asked, models):
        found = [await asked.ask(QUERY, repeat) for repeat in range(3)]
        process = asked._process
    assert {each.answer for each in found} == {QUERY.text}
    assert {each.contexts for each in found} == {
        (NamedContext(str(process.pid if process else 0), "['id', 'k', 'question']"),)
    }
    assert process is not None and process.returncode == 0  # it ended by itself when its input did


async def test_a_process_that_dies_is_started_again(tmp_path: Path) -> None:
    once = "import os, sys\nif not os.path.exists('x'):\n    open('x', 'w'); sys.exit('no model')\n" + ECHO
    once = once.replace("'x'", repr(str(tmp_path / "x")))
    asked, models = system(tmp_path, once)
    async with opened(asked, models):
        with pytest.raises(EvaluationError) as error:
            await asked.ask(QUERY)
        assert (await asked.ask(QUERY)).answer == QUERY.text
    assert str(error.value) == (
        "system.command: the process ended with exit code 1 before it answered; its last output on stderr: no model"
    )


async def test_a_process_that_prints_something_else(tmp_path: Path) -> None:
    code = "import sys\nprint('Loading the model...', flush=True)\nsys.stdin.read()"
    told = await error_of(tmp_path, code)
    assert told.startswith('system.command: expected one line of JSON for each question, such as {"answer": "…", ')
    assert told.endswith("got 'Loading the model...'; logs belong on stderr")
    assert "로그는 stderr로 내보내세요" in await error_of(tmp_path, code, language="ko")


async def test_a_process_that_is_silent(tmp_path: Path) -> None:
    code = "import sys\nprint('still loading', file=sys.stderr, flush=True)\nsys.stdin.read()"
    told = await error_of(tmp_path, code, timeout_ms=2000)
    assert told == (
        "system.command: no line came within system.timeout_ms (2,000 ms); it was ended; its last output on stderr: "
        "still loading"
    )


async def test_a_process_that_answers_without_an_answer(tmp_path: Path) -> None:
    code = ECHO.replace('"answer"', '"text"')
    assert "system.answer: answer finds nothing: the reply has the keys text, contexts" in await error_of(
        tmp_path, code
    )


async def test_a_program_that_is_changed_under_way_ends_the_run(tmp_path: Path) -> None:
    asked, models = system(tmp_path, ECHO)
    async with opened(asked, models):
        await asked.ask(QUERY)
        (tmp_path / "program.py").write_text(ECHO + "# edited", encoding="utf-8")
        await asked.ask(QUERY, 1)  # of the process that has the old one
        await asked._end(2.0)
        with pytest.raises(StopRunError, match="was changed while the run was asking it"):
            await asked.ask(QUERY, 2)


def test_a_key_that_is_too_short_to_be_hidden_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "x.py", "--token", "h7nt2r", "-k", "5", "--max-token", "512", "--auth", "none"]
    (problem,) = system(tmp_path, ECHO, command=command)[0].preflight()
    assert str(problem).startswith("system.command: --token holds a key that is too short to be hidden in files")


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("", 'system.command: expected a command, such as "python my_service.py", found nothing'),
        ("no-such-program-at-all --x", "system.command: no program no-such-program-at-all; expected one that can be"),
    ],
)
def test_a_command_that_is_none(tmp_path: Path, command: str, problem: str) -> None:
    (found,) = system(tmp_path, ECHO, command=command)[0].preflight()
    assert str(found).startswith(problem)
