"""Cues of language as data: YAML files of named groups, in each group `pattern: example`, one cue a line.

A pattern is a short regular expression; its example is a sentence in which it is found, and so its test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

import yaml

from runner.text.patterns import compile_late

NEVER = r"(?!)"

Groups = Mapping[str, Mapping[str, str]]


@cache
def load_cues(file: str) -> Groups:
    """Reads a file of cues (`package/name.en.yaml`): group -> pattern -> example, all of them texts."""
    package, _, name = file.rpartition("/")
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    loaded: Groups = yaml.load(text, loader)  # noqa: S506 - makes nothing but text
    return loaded


@cache
def cue_pattern(group: str, *files: str) -> re.Pattern[str]:
    """The cues of a group in one or several files as one expression, without regard to case; nothing where the files
    have no such group."""
    cues = [pattern for file in files for pattern in load_cues(file).get(group, {})]
    return compile_late("|".join(f"(?:{cue})" for cue in cues) or NEVER, re.IGNORECASE)
