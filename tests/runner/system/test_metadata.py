import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.system.metadata import git_state, indent_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=9
)


@given(VALUES)
def test_json_is_indented_to_the_letter_as_python_does_it(value: Any) -> None:
    assert indent_json(value) == json.dumps(value, ensure_ascii=False, indent=2)


@pytest.mark.parametrize("value", [1e-5, 1e16, 2**70, float("nan"), "\ud800", {1: [], "a": {}}, [(), [{}]]])
def test_what_orjson_writes_in_another_way_or_not_at_all(value: Any) -> None:
    assert indent_json([value]) == json.dumps([value], ensure_ascii=False, indent=2)


def test_the_state_of_a_repository_is_its_commit_and_whether_files_of_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=n", "-c", "user.email=n@n.n", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *who, *words], check=True, capture_output=True, text=True).stdout.strip()

    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    monkeypatch.delenv("GIT_DIR", raising=False)
    assert git_state() is None
    git("init", "-q", str(tmp_path))
    assert git_state() is None, "nothing was committed"
    (tmp_path / "a").write_text("1")
    git("add", "../a")
    git("commit", "-qm", "first")
    (inner / "untracked").write_text("")
    assert git_state() == {"commit": git("rev-parse", "HEAD"), "dirty": False}
    (tmp_path / "a").write_text("2")
    assert git_state() == {"commit": git("rev-parse", "HEAD"), "dirty": True}
    git("checkout", "-q", "--detach")
    git("add", "../a")
    assert git_state() == {"commit": git("rev-parse", "HEAD"), "dirty": True}
