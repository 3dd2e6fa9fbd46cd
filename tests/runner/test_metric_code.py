"""A hash of code that changes with what it does, and with nothing else."""

import ast
import sys
from pathlib import Path

import pytest

from runner.metric_code import FAMILIES, _closure, _shape, code_of, metric_code

SOURCE = '''
"""A module."""
from runner.metrics.measure import Measure

NAMES = (
    "one",
    "two",
)


def double(x: int) -> int:
    """Twice."""
    return x * 2  # not three times
'''


def shape(source: str) -> str:
    return repr(_shape(ast.parse(source)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A module.", "Another docstring."),
        ('    """Twice."""\n', ""),
        ("  # not three times", ""),
        ('(\n    "one",\n    "two",\n)', '("one", "two")'),
        ("\n\n\ndef", "\n\ndef"),
    ],
)
def test_layout_comments_and_docstrings_do_not_count(old: str, new: str) -> None:
    assert old in SOURCE and shape(SOURCE.replace(old, new)) == shape(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"), [("x * 2", "x * 3"), ('"two"', '"three"'), ("x: int", "y: int"), ("-> int", "")]
)
def test_code_counts(old: str, new: str) -> None:
    assert old in SOURCE and shape(SOURCE.replace(old, new)) != shape(SOURCE)


def test_every_version_of_python_sees_the_same() -> None:
    """Fields that are empty are left out: newer versions know `type_params` and the like."""
    assert "type_params" not in shape(SOURCE)
    assert shape("f(1)") == (
        "['Module', ('body', [['Expr', ('value', ['Call', ('func', ['Name', ('id', 'f'), ('ctx', ['Load'])]), "
        "('args', [['Constant', ('value', 1)]])])]])]"
    )


def test_records_of_metrics_do_not_count() -> None:
    """They say what a value means, and make none."""
    record = """
from runner.metrics.metric import Grades, Metric

METRICS = (Metric(name="double", better="lower", label={"en": "Double"}),)
SIZE_METRICS = ()
"""
    assert shape(SOURCE + record) == shape(SOURCE)
    assert shape(SOURCE + "OTHER = ()") != shape(SOURCE)
    closure = _closure(["runner.metrics.ranking"])
    assert "runner.metrics.recall" in closure and "runner.metrics.metric" not in closure


def test_families() -> None:
    found = metric_code()
    assert found.keys() == FAMILIES.keys() == {"ranking", "answers", "diagnosis", "memory", "trace", "links", "agent"}
    assert len(set(found.values())) == 7


def test_what_a_module_imports_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge from elsewhere, with and without the text functions that it uses."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, line in (("judge_one", "from runner.text.claims import claims"), ("judge_two", "claims = list")):
        (tmp_path / f"{name}.py").write_text(f"{line}\n", encoding="utf-8")
    assert code_of(["judge_one"]) != code_of(["judge_two"])
    assert code_of(["judge_one"]) == code_of(["judge_one"])
    from runner import metric_code

    closure = metric_code._closure(["judge_one"])
    assert {"judge_one", "runner.text.claims", "runner.text.sentences"} <= closure
    assert not {"runner.text", "runner.text.claims.claims"} & closure
    assert "judge_one" not in sys.modules
