import sys
from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader, Environment

from runner.report import compiled
from runner.report.compiled import compiled_templates


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def rendered(source: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[str, bool]:
    """The text of a template with x=1, and whether it was compiled for that."""
    jinja = Environment(
        autoescape=True, loader=DictLoader({"page": source}), bytecode_cache=compiled_templates(), **options
    )
    calls = []
    compiling = jinja.compile
    monkeypatch.setattr(jinja, "compile", lambda *given, **named: calls.append(given) or compiling(*given, **named))
    return jinja.get_template("page").render(x=1), bool(calls)


def test_a_template_is_compiled_once_until_it_or_its_options_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rendered("{{ x }}!", monkeypatch) == ("1!", True)
    assert rendered("{{ x }}!", monkeypatch) == ("1!", False)
    assert rendered("{{ x }}?", monkeypatch) == ("1?", True)
    assert rendered("{% if x %}\n1{% endif %}", monkeypatch) == ("\n1", True)
    assert rendered("{% if x %}\n1{% endif %}", monkeypatch, trim_blocks=True) == ("1", True)
    monkeypatch.setattr(compiled, "version_of", lambda _: "99")
    assert rendered("{{ x }}?", monkeypatch) == ("1?", True)


def test_what_is_damaged_is_compiled_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered("{{ x }}!", monkeypatch)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    for damaged in (b"", whole[:-20], whole[: -len(whole) // 2], whole[:20], b"j2 something else"):
        kept.write_bytes(damaged)
        assert rendered("{{ x }}!", monkeypatch) == ("1!", True)


def test_nothing_is_kept_where_python_keeps_no_modules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered("{{ x }}!", monkeypatch) == ("1!", True)
    assert list(folder.iterdir()) == []
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(compiled, "FOLDER", folder / "file" / "below")
    (folder / "file").write_text("")
    assert rendered("{{ x }}!", monkeypatch) == ("1!", True)
