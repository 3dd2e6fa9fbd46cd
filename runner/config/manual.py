"""The text of --help, read off the conf folder and the commands without importing either."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from runner.config.choice_manual import groups

ROOT = Path(__file__).resolve().parent.parent

HEAD = """\
Declarative experiments for RAG and conversational memory.

  python -m runner +experiment=NAME [OPTION=VALUE ...]   run; a comma (k=3,5,10) makes a sweep
  python -m runner COMMAND [ARGUMENTS]                   see below
  python -m runner --help GROUP=CHOICE                   the settings of a choice, such as retriever=hybrid
"""


def manual(folders: Sequence[str] = ()) -> str:
    """`folders`: YAML of one's own."""
    return "\n".join(
        [HEAD, "Commands", *_commands(), "", "Groups and choices (GROUP=CHOICE)", *_groups(folders), "", *_options()]
    )


def _commands() -> list[str]:
    lines = []
    for path in sorted((ROOT / "commands").iterdir()):
        if path.stem[0] == "_":
            continue
        source = path / "__init__.py" if path.is_dir() else path
        doc = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
        if doc:
            lines.append(f"  {path.stem.replace('_', '-'):<14} {doc.splitlines()[0]}")
    return lines


def _groups(folders: Sequence[str]) -> list[str]:
    return [
        f"  {'+experiment' if name == 'experiment' else name:<17} {' | '.join(sorted(choices))}"
        for name, choices in sorted(groups(folders).items())
    ]


def _options() -> list[str]:
    """The lines of conf/config.yaml between its defaults list and what wires them up: `models`, then Hydra."""
    text = (ROOT.parent / "conf" / "config.yaml").read_text(encoding="utf-8")
    body = text.partition("\n\n")[2].partition("\nmodels:")[0]
    return ["Options (OPTION=VALUE, with their defaults)", *(f"  {line}" for line in body.strip().splitlines()), ""]
