import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.system.metadata import indented

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=9
)


@given(VALUES)
def test_json_is_indented_to_the_letter_as_python_does_it(value: Any) -> None:
    assert indented(value) == json.dumps(value, ensure_ascii=False, indent=2)


@pytest.mark.parametrize("value", [1e-5, 1e16, 2**70, float("nan"), "\ud800", {1: [], "a": {}}, [(), [{}]]])
def test_what_orjson_writes_in_another_way_or_not_at_all(value: Any) -> None:
    assert indented([value]) == json.dumps([value], ensure_ascii=False, indent=2)
