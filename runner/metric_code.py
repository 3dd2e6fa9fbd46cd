"""Hashes of the code that scores: two values of a metric are alike only where the same rule made them."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from runner.store import fingerprint

# Family of metrics -> modules that make them, with what these import from PACKAGES.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "ranking": ("runner.metrics.ranking",),
    "answers": ("runner.metrics.answers",),
    "diagnosis": ("runner.metrics.diagnosis", "runner.text.refusals"),
    "memory": ("runner.metrics.memory",),
    "trace": ("runner.metrics.trace",),
    "links": ("runner.metrics.links",),
    "agent": ("runner.metrics.agent",),
}
PACKAGES = ("runner.metrics.", "runner.text.")
RECORDS = "runner.metrics.metric"  # what metrics are: names, ranges and words, which make no value
ROOT = Path(__file__).resolve().parent.parent


@cache
def metric_code() -> dict[str, str]:
    """Family -> hash of its code."""
    return {family: code_of(modules) for family, modules in FAMILIES.items()}


def code_of(modules: Iterable[str]) -> str:
    """SHA-256 over the syntax of modules and of what they import from PACKAGES. Comments, docstrings and layout
    do not count, nor do the records of metrics (assigned to a name that ends in METRICS) and the version of Python."""
    return fingerprint([[name, _module(name)[1]] for name in sorted(_closure(modules))])


def _closure(modules: Iterable[str]) -> set[str]:
    found: set[str] = set()
    pending = list(modules)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += _module(name)[0]
    return found


@cache
def _module(name: str) -> tuple[Sequence[str], str]:
    """What it imports from PACKAGES, and the hash of its syntax."""
    tree = ast.parse(_path(name).read_text(encoding="utf-8"))
    return tuple(_imports(tree)), hashlib.sha256(repr(_shape(tree)).encode()).hexdigest()


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
            yield from (name for name in names if name.startswith(PACKAGES) and _is_code(name))


def _is_code(name: str) -> bool:
    return name != RECORDS and _source(name).is_file()


def _source(name: str) -> Path:
    return ROOT.joinpath(*name.split(".")).with_suffix(".py")


def _path(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"no source of {name}")
    return Path(spec.origin)


def _shape(node: Any) -> Any:
    """Names of nodes with what they hold, empty fields left out: newer versions of Python know more of them."""
    if isinstance(node, list):
        return [_shape(item) for item in node if not _is_docstring(item) and not _is_record(item)]
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, _shape(value)) for name, value in ast.iter_fields(node) if value is not None and value != []]
    return [type(node).__name__, *fields]


def _is_docstring(node: Any) -> bool:
    """A text that is a statement by itself."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_record(node: Any) -> bool:
    """The records of metrics, and the import of what they are made of."""
    if isinstance(node, ast.ImportFrom):
        return node.module == RECORDS
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id.endswith("METRICS") for target in node.targets
    )
