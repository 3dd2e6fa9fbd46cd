"""Which file is read as a frozen configuration, and that it is read as it was written."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.config import arguments
from runner.config.compose import plan_of
from runner.config.frozen import FrozenConfig
from runner.errors import InputError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-cn", "frozen"], "--config-name: expected one name, of a frozen file in a folder given with --config-dir"),
        (["-cd", ".", "-cn"], "--config-name: expected one name, of a frozen file in a folder given with --config-dir"),
        (["-cd", ".", "-cn", "a", "-cn=b"], "--config-name: expected one name"),
        (["-cd", ".", "-cn", "frozen"], "--config-name: no frozen.yaml in ."),
        (["-cd", "experiments/nope", "-cn", "frozen"], "--config-dir: expected a folder, got 'experiments/nope'"),
        (["--config-nam=x"], "unknown option --config-nam; did you mean '--config-name'?"),
    ],
)
def test_wrong_flags(words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=rf"^{re.escape(message)}"):
        plan_of(arguments.read(words))


def test_a_yaml_that_is_not_frozen_is_none(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("k: 3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.yaml: no frozen configuration"):
        plan_of(arguments.read(["--config-dir", str(tmp_path), "--config-name=mine"]))


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="$", exclude_categories=["Cc", "Cs"]), max_size=12)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


@given(st.dictionaries(st.from_regex(r"[a-z]{1,9}", fullmatch=True), VALUES, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_frozen_is_read_back(tmp_path: Path, found: dict[str, Any]) -> None:
    found.pop("frozen", None)
    frozen = FrozenConfig(
        str(tmp_path / "frozen.yaml"), {"evaluation": "x"}, found, {"k": "3,5"}, {"judge/가": {"a": "1e3"}}
    )
    (tmp_path / "frozen.yaml").write_text(frozen.yaml(), encoding="utf-8")
    assert FrozenConfig.read(tmp_path / "frozen.yaml") == frozen
