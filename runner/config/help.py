"""The text of --help and of `--help GROUP=CHOICE`, from the conf folder and the commands, without importing them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from runner.config.choices import conf_folders
from runner.errors import InputError, did_you_mean
from runner.words.wording import wording

CONF = Path(__file__).resolve().parent.parent.parent / "conf"
WORDS = Path(__file__).resolve().parent.parent / "words"
COMMANDS = Path(__file__).resolve().parent.parent / "commands"

HEAD = """\
Declarative experiments for RAG and conversational memory.

  python -m runner +experiment=NAME [OPTION=VALUE ...]   run; a comma (k=3,5,10) makes a sweep
  python -m runner COMMAND [ARGUMENTS]                   see below
  python -m runner --help GROUP=CHOICE                   the settings of a choice, such as retriever=hybrid
  python -m runner --version                             which version this is
"""


def manual(folders: Sequence[str] = ()) -> str:
    """The text of --help. `folders`: configuration folders of the user."""
    parts = [HEAD, "Commands", *_commands(), "", "Groups and choices (GROUP=CHOICE)", *_group_lines(folders), ""]
    return "\n".join([*parts, *_option_lines()])


def _commands() -> list[str]:
    names = sorted(path.stem.replace("_", "-") for path in COMMANDS.iterdir() if path.stem[0] != "_")
    sentences = _one_line(names) or wording("en", "commands").texts
    return [f"  {name:<14} {sentences[name]}" for name in names]


def _one_line(keys: Sequence[str]) -> dict[str, str]:
    """The sentences of commands.en.yaml with these keys, read without a YAML parser; empty where a sentence has several
    lines, quotes or escapes."""
    text = (WORDS / "commands.en.yaml").read_text(encoding="utf-8")
    found = dict(re.findall(r'^([a-z-]+): "?([A-Z][^"\\#]*)"?$', text, re.MULTILINE))
    return found if all(key in found for key in keys) else {}


def _group_lines(folders: Sequence[str]) -> list[str]:
    return [
        f"  {'+experiment' if name == 'experiment' else name:<17} {' | '.join(sorted(choices))}"
        for name, choices in sorted(groups(folders).items())
    ]


def _option_lines() -> list[str]:
    """The option lines of conf/config.yaml: those between the defaults list and `models`."""
    text = (CONF / "config.yaml").read_text(encoding="utf-8")
    body = text.partition("\n\n")[2].partition("\nmodels:")[0]
    return ["Options (OPTION=VALUE, with their defaults)", *(f"  {line}" for line in body.strip().splitlines()), ""]


# --- of one choice ----------------------------------------------------------------------------------


def choice_manual(word: str, folders: Sequence[str] = ()) -> str:
    """The help of `retriever=hybrid`, or of `retriever` with one line a choice. `folders`: configuration folders of the
    user. Raises InputError for an unknown group or choice."""
    group, equals, choice = word.lstrip("+").partition("=")
    choices_by_group = groups(folders)
    if group not in choices_by_group and group in _options():
        raise InputError(f"--help: {group} is an option, not a group; --help alone lists all options")
    if group not in choices_by_group:
        raise InputError(f"--help: no group '{group}'{did_you_mean(group, choices_by_group)}")
    choices = choices_by_group[group]
    if not equals:
        width = max(map(len, choices))
        return "\n".join(
            [f"Choices of {group}", *(f"  {n:<{width}}  {_first_sentence(p)}" for n, p in choices.items()), ""]
        )
    if choice not in choices:
        raise InputError(f"--help: {group} has no choice '{choice}'{did_you_mean(choice, choices)}")
    return "\n".join(_describe(group, choice, choices[choice].read_text(encoding="utf-8")))


def _options() -> Collection[str]:
    from runner.config.options import RunOptions

    return RunOptions.model_fields


def groups(folders: Sequence[str] = ()) -> dict[str, dict[str, Path]]:
    """Group -> choice -> YAML file, of the program, of installed packages, and of `folders`."""
    choices_by_group: dict[str, dict[str, Path]] = {}
    for folder in _conf_folders(folders):
        for path in sorted(folder.glob("*/**/*.yaml")):
            choices_by_group.setdefault(path.parent.relative_to(folder).as_posix(), {})[path.stem] = path
    return choices_by_group


def choice_file(group: str, choice: str, folders: Sequence[str] = ()) -> Path | None:
    """`groups(folders)[group][choice]`, without reading the others; None where it is missing."""
    if Path(choice).name != choice:
        return None
    paths = [folder / group / f"{choice}.yaml" for folder in _conf_folders(folders)]
    return next((path for path in reversed(paths) if path.is_file()), None)


def _conf_folders(folders: Sequence[str]) -> list[Path]:
    return [CONF, *_installed_folders(), *map(Path, folders)]


def as_run(word: str) -> str | None:
    """`+experiment=full_rag` for `full_rag` and similar spellings; None for other words."""
    known = groups().get("experiment", {})
    folded = {name.replace("_", ""): name for name in known}
    name = word if word in known else folded.get(re.sub(r"[\W_]", "", word).lower())
    return f"+experiment={name}" if name else None


def _installed_folders() -> Iterator[Path]:
    """The configuration folders of installed packages."""
    for _, package in conf_folders():
        spec = find_spec(package)
        yield from map(Path, spec.submodule_search_locations or () if spec else ())


def _describe(group: str, choice: str, text: str) -> Iterator[str]:
    head, body = _parts(text)
    plus = "+" if group == "experiment" else ""
    yield f"{plus}{group}={choice}"
    yield from (f"  {line}".rstrip() for line in head)
    yield ""
    settings = [line for line in _without_defaults(body) if not line.startswith("_target_:")]
    package = re.search(r"^# @package (\S+)", text, re.M)
    place = package[1] if package else group.replace("/", ".")
    where = "NAME=VALUE" if place == "_global_" else f"{place}.NAME=VALUE"
    if settings:
        yield f"Settings, with their defaults ({where})"
        yield from (f"  {line}".rstrip() for line in settings)
    else:
        yield "It has no settings of its own."
    yield ""
    if parts := list(_inner(group, text)):
        yield "Parts, each with settings of its own"
        yield from (f"  {place}: python -m runner --help {part}" for place, part in parts)
        yield ""


def _parts(text: str) -> tuple[list[str], list[str]]:
    """The comment at the top, and the lines below it."""
    lines = [line for line in text.splitlines() if not line.startswith("# @package")]
    n = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return [line.removeprefix("#").removeprefix(" ") for line in lines[:n]], lines[n:]


def _without_defaults(lines: Sequence[str]) -> Iterator[str]:
    """The lines without the defaults list."""
    inside = False
    for line in lines:
        inside = line.startswith("defaults:") or (inside and line.startswith((" ", "-")))
        if not inside:
            yield line


def _inner(group: str, text: str) -> Iterator[tuple[str, str]]:
    """(place in the configuration, GROUP=CHOICE) of the entries of the defaults list."""
    import yaml

    body: Mapping[str, Any] = yaml.safe_load(text) or {}
    for entry in body.get("defaults") or ():
        named, choice = next(iter(entry.items())) if isinstance(entry, dict) else (str(entry), None)
        inner, _, place = str(named).removeprefix("override ").partition("@")
        if choice is None and place:
            yield f"{group}.{place}", f"{group}={inner}"
        elif isinstance(choice, list):
            yield from ((f"{inner.removeprefix('/')}.{name}", f"{inner.removeprefix('/')}={name}") for name in choice)
        elif choice is not None:
            kind = inner.removeprefix("/") if inner.startswith("/") else f"{group}/{inner}"
            own = place if place.startswith("_global_.") else f"{group}.{place}"
            yield own.removeprefix("_global_.") if place else kind.replace("/", "."), f"{kind}={choice}"


def _first_sentence(path: Path) -> str:
    """The first sentence of the comment at the top."""
    head, _ = _parts(path.read_text(encoding="utf-8"))
    return re.split(r"(?<=[.?])\s|:$", " ".join(head), maxsplit=1)[0]
