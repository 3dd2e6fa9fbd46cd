"""Cues of language as data: YAML files in this folder that name groups of regular expressions, each with a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from runner.system.shipped import shipped_yaml


@cache
def load_cues(name: str) -> Mapping[str, Mapping[str, str]]:
    """Returns the groups of `name`.yaml: group -> regular expression -> a sentence that it is found in."""
    text = (files("runner") / "text" / f"{name}.yaml").read_text(encoding="utf-8")
    groups: Mapping[str, Mapping[str, str]] = shipped_yaml(text)
    return groups


@cache
def cue_pattern(name: str, group: str) -> re.Pattern[str]:
    """Returns one pattern for all cues of a group; it ignores letter case."""
    return re.compile("|".join(f"(?:{cue})" for cue in load_cues(name)[group]), re.IGNORECASE)
