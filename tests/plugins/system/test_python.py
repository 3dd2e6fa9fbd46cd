"""A function that is called, and what is said of one that does not do what it should."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugins.system.python import PythonSystem
from runner.errors import EvaluationError
from runner.records import NamedContext, SystemReply
from tests.plugins.system.asking import QUERY, door, opened, settings

FUNCTIONS = """
import asyncio, time

async def answers(question, *, k, language=None):
    await asyncio.sleep(0)
    return {"answer": f"{question} {k}", "contexts": [{"id": "moon", "text": "The Moon."}]}

def says(text): return "27 days."

def breaks(question): raise LookupError("no index")

def sleeps(question): time.sleep(5)

def gives_up(question): raise TimeoutError("the index is slow")

def returns_a_number(question): return 7

def returns_an_object(question): return {"answer": "So.", "model": object()}

def needs_more(question, session, k): return ""

number = 7
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "rag_of_tests.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("rag_of_tests", None)


def system(folder: Path, target: str, **changed: Any) -> tuple[PythonSystem, Any]:
    models = door(folder / "cache")
    return PythonSystem(models=models, **settings("python", target=target, **changed)), models


async def reply_of(folder: Path, name: str, **changed: Any) -> SystemReply:
    asked, models = system(folder, f"rag_of_tests:{name}", **changed)
    assert asked.preflight() == []
    async with opened(asked, models):
        return await asked.ask(QUERY)


async def test_a_function_is_given_what_it_takes(tmp_path: Path) -> None:
    found = await reply_of(tmp_path, "answers")
    assert (found.answer, found.contexts) == (f"{QUERY.text} 5", (NamedContext("moon", "The Moon."),))
    assert await reply_of(tmp_path, "says") == SystemReply("27 days.", None, ("answer",))


@pytest.mark.parametrize(
    ("name", "english", "korean"),
    [
        ("breaks", "rag_of_tests:breaks raised LookupError: no index (rag_of_tests, line 10)", "예외가 났습니다"),
        ("gives_up", "rag_of_tests:gives_up raised TimeoutError: the index is slow", "예외가 났습니다"),
        ("returns_a_number", "returned a number, expected the text of the answer or a mapping", "반환값은 숫자입니다"),
        (
            "returns_an_object",
            "returned a value that JSON cannot hold: Type is not JSON serializable: object",
            "JSON으로",
        ),
    ],
)
async def test_a_function_that_fails(tmp_path: Path, name: str, english: str, korean: str) -> None:
    for language, text in (("en", english), ("ko", korean)):
        with pytest.raises(EvaluationError) as error:
            await reply_of(tmp_path, name, language=language)
        assert str(error.value).startswith(f"system.target: rag_of_tests:{name}")
        assert text in str(error.value)


async def test_a_function_that_does_not_return(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(EvaluationError) as error:
        await reply_of(tmp_path, "sleeps", timeout_ms=100)
    assert time.monotonic() - began < 4
    assert "rag_of_tests:sleeps did not return within system.timeout_ms (100 ms)" in str(error.value)


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("rag_of_tests", "expected package.module:function, such as my_service.rag:answer, found 'rag_of_tests'"),
        ("not_there_at_all:f", "cannot import not_there_at_all: ModuleNotFoundError: No module named"),
        ("rag_of_tests:say", "rag_of_tests has no say; did you mean 'says'?"),
        ("rag_of_tests:number", "rag_of_tests:number is a number, expected a function"),
        (
            "rag_of_tests:needs_more",
            "rag_of_tests:needs_more needs session; the question is passed first, and those of ",
        ),
    ],
)
def test_a_target_that_is_none(tmp_path: Path, target: str, problem: str) -> None:
    (found,) = system(tmp_path, target)[0].preflight()
    assert str(found).startswith(f"system.target: {problem}")
    assert [each.key for each in system(tmp_path, target, language="ko")[0].preflight()] == ["system.target"]


def test_its_code_is_part_of_what_was_asked(tmp_path: Path) -> None:
    before = system(tmp_path, "rag_of_tests:says")[0].provenance
    assert before["code"] and before == system(tmp_path, "rag_of_tests:says")[0].provenance
