"""Sections of an evaluation of somebody else, kept in the folder of its run as finished blocks.

Only the process of a run may load the class: whoever reads the folder later, here or elsewhere, shows what it said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.report import blocks
from runner.report.blocks import Section
from runner.report.metric import Value
from runner.system.metadata import read_json, write_json

if TYPE_CHECKING:
    from runner.report.document import Document

FILE = "sections.json"
BLOCK, MAP, SET = "block", "map", "set"  # keys that tell what an object of the file stands for
OWN_PLACES = ("#", "./")  # links that lead out of the folder are left out
KINDS: Mapping[str, Any] = {
    kind.__name__: kind
    for kind in (Value, *(each for each in vars(blocks).values() if isinstance(each, type)))
    if is_dataclass(kind) or hasattr(kind, "_fields")
}


def write_sections(document: Document, evaluation: type) -> None:
    """Keep the sections of the class of an evaluation in the folder of a run, in the words of its language.

    Args:
        document: the run.
        evaluation: the class, which may offer `sections` and `words`.
    """
    made = [section for section in getattr(evaluation, "sections", lambda _: ())(document) if section is not None]
    path = document.folder.path / FILE
    if made:
        write_json(path, {"schema": 1, "sections": [_encode(section) for section in made]})
    else:
        path.unlink(missing_ok=True)


def stored_sections(document: Document) -> Iterator[Section]:
    """The sections that the folder of a run keeps; none where the file is missing or damaged."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        record = read_json(document.folder.path / FILE) or {}
        decoded = [_decode(entry) for entry in record.get("sections") or ()]
        yield from (section for section in decoded if isinstance(section, Section))


def has_sections(folder: Path) -> bool:
    """Whether the folder of a run keeps sections."""
    return (folder / FILE).is_file()


def _encode(value: Any) -> Any:
    if hasattr(value, "_fields"):
        return {BLOCK: type(value).__name__, **{name: _encode(getattr(value, name)) for name in value._fields}}
    if is_dataclass(value):
        names = [each.name for each in fields(value)]
        return {BLOCK: type(value).__name__, **{name: _encode(getattr(value, name)) for name in names}}
    if isinstance(value, frozenset | set):
        return {SET: sorted(value)}
    if isinstance(value, Mapping):
        return {MAP: [[_encode(key), _encode(inner)] for key, inner in value.items()]}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_encode(inner) for inner in value]
    return str(value) if isinstance(value, str) else value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(inner) for inner in value)
    if not isinstance(value, dict):
        return value
    if SET in value:
        return frozenset(value[SET])
    if MAP in value:
        return {_decode(key): _decode(inner) for key, inner in value[MAP]}
    given = {name: _decode(inner) for name, inner in value.items() if name != BLOCK}
    if not str(given.get("href") or "#").startswith(OWN_PLACES):
        given["href"] = ""
    return KINDS[value[BLOCK]](**given)
