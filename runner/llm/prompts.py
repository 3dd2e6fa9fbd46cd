"""Prompts as data: one YAML file each, in Korean and English, with a version.

version: 1
en: |
  …
ko: |
  …
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from runner.data.files import parsed_yaml, read_text
from runner.errors import InputError, did_you_mean
from runner.llm.fencing import NOTICE
from runner.system.shipped import shipped_yaml
from runner.system.store import fingerprint
from runner.text.language import Language

FOLDER = Path(__file__).with_suffix("")
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """`texts` in one language at least. `digest` is a hash over all of it and over the notice on fenced data."""

    version: int
    texts: Mapping[Language, str]

    @property
    def digest(self) -> str:
        """16 digits of a hash over version and texts."""
        return fingerprint([self.version, dict(self.texts), dict(NOTICE)])[:16]

    def system(self, language: Language, **values: str) -> str:
        """The system message, `{name}` replaced by the values. A missing language is replaced by the other one; the
        notice on fenced data is always in `language`."""
        text = self.texts.get(language) or next(iter(self.texts.values()))
        text = _PLACE.sub(lambda place: values.get(place[1], place[0]), text)
        return f"{text.strip()}\n\n{NOTICE[language]}"


@cache
def prompt(name: str) -> Prompt:
    """One of the prompts that come with the program."""
    return read_prompt(str(FOLDER / f"{name}.yaml"), name, shipped_yaml)


def prompt_by_name(name: str, names: Sequence[str], key: str) -> Prompt:
    """One of `names` of the prompts that come with the program, else the file `name`. Raises InputError with the
    configuration key where there is neither."""
    if name in names:
        return prompt(name)
    if "/" not in name and not name.endswith((".yaml", ".yml")) and not Path(name).exists():
        raise InputError(f"{key}: '{name}' is neither a file nor a prompt{did_you_mean(name, names)}")
    return read_prompt(name, key)


def read_prompt(path: str, key: str, load: Callable[[str], Any] | None = None) -> Prompt:
    """`load`: what reads the YAML. Raises InputError with the configuration key for a file that is no prompt."""
    value = parsed_yaml(read_text(path, key, InputError), path, key, InputError, load)
    if problem := _problem(value):
        raise InputError(f"{key}: {path}: {problem}")
    texts: dict[Language, str] = {"en": value.get("en"), "ko": value.get("ko")}
    return Prompt(value["version"], {language: text for language, text in texts.items() if text})


def _problem(value: Any) -> str:
    """The fault of the content of a prompt file; empty for a right one."""
    if not isinstance(value, dict):
        return "expected version, en and ko"
    if unknown := sorted(str(name) for name in value if name not in ("version", "en", "ko")):
        return f"unknown key '{unknown[0]}'; expected version, en and ko"
    if not isinstance(value.get("version"), int):
        return "version: expected a whole number"
    texts = [value[name] for name in ("en", "ko") if value.get(name) is not None]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        return "expected a text under en, ko or both"
    return ""
