"""Cues of language, each with the sentence that is its test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import runner
from runner.text.cues import NEVER, cue_pattern, load_cues

ROOT = Path(runner.__file__).parents[1]
PATHS = sorted(path.relative_to(ROOT) for path in ROOT.glob("runner/**/cues.*.yaml"))
FILES = [f"{'.'.join(path.parent.parts)}/{path.name}" for path in PATHS]
WORDS = {"overrun", "person", "raise"}  # groups of words, whose examples hold one of their forms


@pytest.mark.parametrize("file", FILES)
def test_every_cue_is_found_in_its_example(file: str) -> None:
    assert [
        (group, cue, example)
        for group, cues in load_cues(file).items()
        if group not in WORDS
        for cue, example in cues.items()
        if not re.search(cue, example, re.IGNORECASE)
    ] == []


def test_a_group_that_no_file_has_matches_nothing() -> None:
    assert FILES and cue_pattern("no such group", *FILES).search("anything") is None
    assert cue_pattern("no such group").pattern == f"{NEVER}"
