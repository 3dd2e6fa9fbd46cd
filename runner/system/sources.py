"""The source that a thing is made of: its module, what this imports, and the files of data that it declares.

A module counts with all that it imports, also within functions, by relative names, or as `import_module("a.b")` with
the name written out; not what it imports for types only. Of what is imported counts

- this program, `runner` and `plugins`, but for what only says, shows or types something (NOT_BUILDING),
- the top-level package of the module itself, installed or not,
- whatever else is not installed, such as a module that lies beside it.

Other installed packages do not: they have versions, which belong into the `provenance` of a component. Names that are
put together when the program runs are not seen; `data_files` can name such modules.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

OWN = ("runner", "plugins")
NOT_BUILDING = (
    *("runner.cli", "runner.commands", "runner.compare", "runner.errors", "runner.metrics.metric", "runner.protocols"),
    *("runner.report", "runner.system.terminal", "runner.tracking", "runner.words"),
)
TELLING = re.compile(r"runner\.domains\.\w+\.report")  # what a report says of one kind of evaluation
RECORDS = "runner.metrics.metric"  # what metrics are: names, ranges and words, which make no value
SCORING = (
    "runner.domains",
    "runner.metrics",
    "runner.text",
)  # of this program; settings and prompts say the rest of a judge

IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*"
    r"(?:from[ \t]*(?P<start>\.*[ \t]*[\w.]*)[ \t]*import\b[ \t]*(?P<names>\((?:[^)#]|#[^\n]*)*\)|[^\n;#]+)"
    r"|import[ \t]+(?P<modules>\w[^\n;#]*))",
    re.MULTILINE,
)
STATEMENT = re.compile(  # how a match of IMPORT begins, all of it in one line
    r"(?:^|[;:])[ \t]*(?:from[ \t]*\.*[ \t]*[\w.]*[ \t]*import\b|import[ \t]+\w)", re.MULTILINE
)
BY_CALL = re.compile(r"""\b(?:import_module|__import__)\(\s*["'](?P<name>[.\w]+)["']""")
FOR_TYPES = re.compile(r"^if (?:typing\.)?TYPE_CHECKING:.*\n(?:(?:[ \t].*)?\n)*", re.MULTILINE)
COMMENT = re.compile(r"#[^\n]*")
NAME = re.compile(r"[^\W\d][\w.]*|\*")
EMPTY = ("['Module']", "['Module', ('body', [])]")  # of a module that holds nothing but a docstring


@cache
def code_digest(*modules: str) -> str:
    """SHA-256 over the files of the closure of modules, to the byte, as they were when they were first looked at."""
    names = sorted(_closure(modules, builds))
    return _digest([[name, _file_digest(path)] for name in names if (path := _file(name)) is not None])


def syntax_digest(modules: Iterable[str]) -> str:
    """SHA-256 over the syntax of the closure of modules, for what must stay comparable: comments, docstrings and layout
    do not count, nor do the records of metrics (assigned to a name that ends in METRICS) and the version of Python.
    Of this program only what scores does (SCORING)."""
    shapes = ((name, _syntax(name)) for name in sorted(_closure(modules, scores)))
    return _digest([[name, shape] for name, shape in shapes if shape is not None])


def data_files(component: Any) -> list[Path]:
    """The files that `data_files` of a class, and of its bases, names; all files of a folder. Raises FileNotFoundError
    for a missing one."""
    files = []
    for cls in inspect.getmro(component) if inspect.isclass(component) else (component,):
        names = getattr(cls, "__dict__", {}).get("data_files", ())
        for name in [names] if isinstance(names, str) else names:
            path = Path(inspect.getfile(cls)).parent / name
            if not path.exists():
                raise FileNotFoundError(f"data_files of {cls.__qualname__}: no {name!r} in {path.parent}")
            files += sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]
    return files


def data_digest(component: Any) -> list[list[str]]:
    """[name, digest] of each of its files of data."""
    return [[path.name, _file_digest(path)] for path in data_files(component)]


def modules_of(component: Any, target: str) -> tuple[str, ...]:
    """The modules in which a class is found by the name `target`, and in which it is written."""
    names = (target.rpartition(".")[0], getattr(component, "__module__", None))
    return tuple(dict.fromkeys(name for name in names if name))


# --- what counts ------------------------------------------------------------------------------------


@cache
def builds(name: str) -> bool:
    """Whether a module of the program decides what an index or embedding is like."""
    return _is_within(name, OWN) and not _is_within(name, NOT_BUILDING) and not TELLING.fullmatch(name)


@cache
def scores(name: str) -> bool:
    """Whether a module of the program decides what a score is like."""
    return _is_within(name, SCORING) and name != RECORDS and not TELLING.fullmatch(name)


def _closure(modules: Iterable[str], counts: Callable[[str], bool]) -> set[str]:
    """`counts` decides which modules of this program belong to the closure."""
    pending = list(modules)
    own_tops = {_top(name) for name in pending} - {*OWN}
    closure: set[str] = set()
    while pending:
        name = pending.pop()
        if name in closure:
            continue
        closure.add(name)
        pending += (
            module
            for module in _imports(name)
            if (counts(module) if _top(module) in OWN else _top(module) in own_tops or not _is_installed(_top(module)))
        )
    return closure


def _is_within(name: str, packages: Sequence[str]) -> bool:
    return name in packages or name.startswith(tuple([f"{package}." for package in packages]))


def _top(name: str) -> str:
    return name.partition(".")[0]


@cache
def _is_installed(top: str) -> bool:
    """Whether a top-level name belongs to Python or to an installed package; true also for an unknown name."""
    spec = None if top in sys.stdlib_module_names else _spec(top)
    if spec is None:
        return True
    places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.has_location and spec.origin else [])]
    return all(_is_of_installer(Path(place).parent) for place in places)


@cache
def _is_of_installer(folder: Path) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(folder.parts) or any(folder.glob("*.dist-info"))


# --- modules ----------------------------------------------------------------------------------------


@cache
def _spec(name: str) -> ModuleSpec | None:
    """Found without importing anything."""
    parent, _, _ = name.rpartition(".")
    try:
        if not parent:
            return importlib.util.find_spec(name)
        return PathFinder.find_spec(name, _folders(parent))
    except (ImportError, ValueError, AttributeError):
        return None


@cache
def _folders(package: str) -> list[str]:
    """The folders of a package; empty for any other module."""
    places = getattr(sys.modules.get(package), "__path__", None)  # which some packages add to
    if places is None:
        spec = _spec(package)
        places = (spec.submodule_search_locations if spec is not None else None) or ()
    return list(places)


@cache
def _file(name: str) -> Path | None:
    spec = _spec(name)
    path = Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None
    return path if path is not None and path.is_file() else None


def _source(name: str) -> bytes:
    path = _file(name)
    return path.read_bytes() if path is not None and path.suffix == ".py" else b""


@cache
def _imports(name: str) -> frozenset[str]:
    """Modules that are imported for it: the packages that it lies in, and what its source names."""
    text = _source(name).decode("utf-8", "replace").replace("\r\n", "\n").replace("\\\n", " ")
    package = name if _folders(name) else name.rpartition(".")[0]
    found = {name, *_imported_names(FOR_TYPES.sub("", text) if "TYPE_CHECKING" in text else text, package)}
    return frozenset(part for each in found if _exists(each) for part in _with_parents(each)) - {name}


def _imported_names(text: str, package: str) -> Iterator[str]:
    if "import_module" in text or "__import__" in text:
        for match in BY_CALL.finditer(text):
            yield _absolute(match["name"], package)
    for match in _import_statements(text):
        if match["modules"] is not None:
            yield from _names(match["modules"])
            continue
        start = _absolute(match["start"].replace(" ", ""), package)
        yield start
        for name in _names(match["names"]) if _folders(start) else ():
            yield from (f"{start}.{each}" for each in (_beneath(start) if name == "*" else [name]))


def _import_statements(text: str) -> Iterator[re.Match[str]]:
    """`IMPORT.finditer(text)` in a tenth of the time: only lines with the word are looked at."""
    start = 0
    while (place := text.find("import", start)) >= 0:
        end = text.find("\n", place)
        end = end if end >= 0 else len(text)
        begun = STATEMENT.search(text, max(start, text.rfind("\n", 0, place) + 1), end)
        match = None if begun is None else IMPORT.match(text, begun.start())
        if match is not None:
            yield match
            start = match.end()
        else:
            start = end if begun is None else begun.start() + 1


def _names(text: str) -> list[str]:
    """The names in `(a, b as c)`, without their aliases."""
    parts = COMMENT.sub("", text).strip("() \t\n").split(",")
    return [match.group() for part in parts if (match := NAME.match(part.strip(" \t\n()")))]


def _beneath(package: str) -> list[str]:
    """The modules of a package, any of which its `__all__` may name."""
    files = (path for folder in _folders(package) for path in Path(folder).glob("*.py"))
    return [path.stem for path in files if path.stem != "__init__"]


def _absolute(name: str, package: str) -> str:
    """`.b` in the package `a` is `a.b`, `..b` in `a.c` too."""
    bare = name.lstrip(".")
    level = len(name) - len(bare)
    if not level:
        return bare
    start = package.split(".")[: max(0, package.count(".") + 2 - level)]
    return ".".join(filter(None, [*start, bare]))


def _exists(name: str) -> bool:
    """Whether a module exists. Packages that do not count are not searched."""
    top = _top(name)
    if top in sys.stdlib_module_names or not top:
        return False
    return _spec(top) is not None if name == top else _spec(name) is not None


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


# --- digests ----------------------------------------------------------------------------------------


def _digest(value: list[list[str]]) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


@cache
def _file_digest(path: Path) -> str:
    """The digest of a file as it was first read, as Python loads a module once."""
    return hashlib.blake2b(path.read_bytes()).hexdigest()


@cache
def _syntax(name: str) -> str | None:
    """The digest of the syntax of a module; None for a module that holds nothing but a docstring."""
    path = _file(name)
    if path is None:
        return None
    try:
        shape = _shape(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError):  # compiled, or of another Python
        return _file_digest(path)
    return None if shape in EMPTY else hashlib.sha256(shape.encode()).hexdigest()


def _shape(node: Any) -> str:
    """A text of the names of nodes with what they hold, empty fields left out: newer versions of Python know more of
    them."""
    if isinstance(node, list):
        kept = [_shape(item) for item in node if not _is_docstring(item) and not _is_record(item)]
        return f"[{', '.join(kept)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    kind: Any = type(node)
    shape, fields = _beginnings(kind)
    held = node.__dict__
    for name, beginning in fields:  # a module has tens of thousands of nodes
        value = held.get(name)
        if value is not None and value != []:
            shape += f"{beginning}{_shape(value)})"
    return f"{shape}]"


@cache
def _beginnings(kind: type[ast.AST]) -> tuple[str, list[tuple[str, str]]]:
    """How the text of such a node begins, and that of each of its fields."""
    return f"['{kind.__name__}'", [(name, f", ('{name}', ") for name in kind._fields]


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
