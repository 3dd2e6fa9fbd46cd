"""The language of messages for a command line, also where it cannot be composed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config import arguments
from runner.config.help import choice_file
from runner.errors import InputError
from runner.words.wording import SUPPORTED

NAMED = re.compile(r"(?:.*\.|--)?language=(\w+)")


def language_of(words: Sequence[str]) -> str:
    """The language that words name (`report.language=ko`, `--language ko`), else that of a run or record whose folder
    they name, else that of their experiment, else English. Unreadable files are ignored."""
    joined = " ".join(words).replace("--language ", "--language=").split(" ")
    named = [match[1] for word in joined if (match := NAMED.fullmatch(word)) and match[1] in SUPPORTED]
    if named:
        return named[-1]
    try:
        languages = [*map(_of_folder, words), _of_experiment(words)]
    except (OSError, ValueError, InputError):
        return "en"
    return next((language for language in languages if language in SUPPORTED), "en")


def _of_folder(word: str) -> Any:
    folder = Path(word.rpartition("=")[2])
    if not word or not folder.is_dir():
        return None
    for path in (folder / "run.json", folder / "0" / "run.json"):
        if path.is_file():
            from runner.system.metadata import read_json

            return _in_configuration((read_json(path) or {}).get("config"))
    frozen = folder / "frozen.yaml"
    return _in_configuration(_mapping(frozen)) if frozen.is_file() else None


def _of_experiment(words: Sequence[str]) -> Any:
    name = next((word.partition("=")[2] for word in words if re.match(r"\+?experiment=", word)), None)
    if name is None:
        return None
    path = choice_file("experiment", name, arguments.split_flags(words, arguments.CONFIG_FOLDER)[0])
    return None if path is None else _in_configuration(_mapping(path))


def _mapping(path: Path) -> Mapping[str, Any]:
    from runner.config.frozen import read_mapping

    return read_mapping(path)


def _in_configuration(values: Any) -> Any:
    report = values.get("report") if isinstance(values, Mapping) else None
    return report.get("language") if isinstance(report, Mapping) else None
