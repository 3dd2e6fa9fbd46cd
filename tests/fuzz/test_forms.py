"""Every kind of file that is handed to the program: what may stand in its place, and what may stand in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.damage import PLACES, altered, damaged, encoded, files_of
from tests.fuzz.forms import FORMS, Form
from tests.fuzz.inputs import inputs, refused, seen

CODES = (1, 2)  # input, corpus
FUZZED_ELSEWHERE = ("snapshot.json", "run.json", "sweep.json")  # with everything that is made of them


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_places(tmp_path: Path, form: Form) -> None:
    for place, put in PLACES.items():
        seen("test_places")
        folder = tmp_path / place
        path = form.make(folder)
        put(path)
        refused(lambda folder=folder: form.load(folder), names=[str(folder), *form.says], codes=CODES)  # type: ignore[misc]


@inputs(150)
@given(form=st.sampled_from([form for form in FORMS if form.name not in FUZZED_ELSEWHERE]), data=st.data())
def test_contents(tmp_path: Path, form: Form, data: st.DataObject) -> None:
    path = form.make(tmp_path)
    if form.records is None or data.draw(st.integers(0, 2)) == 0:
        content = data.draw(damaged(form.content))
    elif isinstance(form.records, list) and form.name.endswith("l"):
        content = data.draw(files_of(form.records))
    else:
        content = encoded(data.draw(altered(form.records)))
    path.write_bytes(content)
    refused(lambda: form.load(tmp_path), names=[str(path), str(tmp_path), *form.says], codes=CODES)
