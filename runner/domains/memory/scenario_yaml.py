"""YAML as it is written in scenario files: JSON's kinds of values, and the line that each object begins in."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.resolver import Resolver

from runner.data.fields import Fields
from runner.data.files import parsed_yaml, read_text
from runner.data.jsonl import describe_value
from runner.data.problems import ProblemLog
from runner.errors import DataError, did_you_mean

VERSION = 1
QUOTED = ("'", '"', "|", ">")  # styles of scalars that are always text
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_CONSTANTS = {"true": True, "false": False, "null": None, "": None, "~": None}


class LineDict(dict[str, Any]):
    """An object and the line that it begins in."""

    line: int


def read_yaml(path: str, key: str, log: ProblemLog) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, conversation) in file order. Raises DataError where the file is no scenario file at all."""
    document = parsed_yaml(read_text(path, key, DataError), path, key, DataError, _load)
    if not isinstance(document, LineDict):
        raise DataError(
            f"{key}: {path}: expected `version: 1` and `conversations: [...]`, found {describe_value(document)}"
        )
    fields = Fields(document, path, 1, log)
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        found = describe_value(version) if "version" in document else "nothing"
        raise DataError(f"{key}: {path}: version: expected {VERSION}, found {found}")
    if "conversations" not in document:
        near = did_you_mean("conversations", document)
        raise DataError(f"{key}: {path}: conversations: expected a list, found nothing{near}")
    for index, item in enumerate(fields.items("conversations") or ()):
        if isinstance(item, LineDict):
            yield item.line, item
        else:
            fields.wrong(f"conversations[{index}]", "an object", item)


def _load(text: str) -> Any:
    node = yaml.compose(text, Loader=_Loader)
    return None if node is None else _value(node, {})


def _fast_loader() -> Any:
    """Scans in C where it can, which is five times faster; nodes are composed in Python, as what is nested too deeply
    ends the process in C."""
    try:
        from yaml.cyaml import CParser  # type: ignore[attr-defined, unused-ignore]
    except ImportError:
        return yaml.SafeLoader

    class Loader(Composer, CParser, Resolver):  # type: ignore[misc, unused-ignore]
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            Resolver.__init__(self)

    return Loader


_Loader = _fast_loader()


def _value(node: yaml.Node, values: dict[int, Any]) -> Any:
    """`values`: of the nodes read so far. A node with many aliases is read once."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if id(node) not in values:
        if isinstance(node, yaml.MappingNode):
            values[id(node)] = _mapping(node, values)
        else:
            values[id(node)] = [_value(item, values) for item in node.value]
    return values[id(node)]


def _scalar(node: yaml.ScalarNode) -> Any:
    text = str(node.value)
    if node.style in QUOTED:
        return text
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if not _NUMBER.fullmatch(text):
        return text
    if math.isinf(float(text)):
        raise yaml.constructor.ConstructorError(None, None, "a number is too large", node.start_mark)
    return float(text) if set(text) & set(".eE") else int(text)


def _mapping(node: yaml.MappingNode, values: dict[int, Any]) -> LineDict:
    placed = LineDict()
    placed.line = node.start_mark.line + 1
    for name, value in node.value:
        word = str(name.value)
        if word in placed:
            raise yaml.constructor.ConstructorError(None, None, f"'{word}' is there twice", name.start_mark)
        placed[word] = _value(value, values)
    return placed
