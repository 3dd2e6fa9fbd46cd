"""The files that a command line runs: what its words name, and the Python modules beside a script.

Of Python the imports count that are found from the folder of a script (or, with `-m`, from the working directory), also
those within functions. What a program reads or starts itself is not seen: a file counts where a word names it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path


def program_files(words: Sequence[str]) -> dict[str, str]:
    """The files of a command as they are now.

    Args:
        words: of the command; `--config=FILE` names a file as well.

    Returns:
        By name (as the word has it, or relative to the folder of the script), the digest of the content: blake2b, 32
        hexadecimal digits.
    """
    files: dict[str, Path] = {}
    for place, word in enumerate(words):
        for name in dict.fromkeys((word, word.partition("=")[2])):
            if name and _is_file(Path(name)):
                files[name] = Path(name)
                files |= _modules_beside(Path(name)) if name.endswith((".py", ".pyw")) else {}
        if word == "-m" and place + 1 < len(words):
            files |= _module_files(words[place + 1], Path())
    return {name: _digest(path) for name, path in sorted(files.items())}


def _modules_beside(script: Path) -> dict[str, Path]:
    return _closure(script.parent, [("", script)])


def _module_files(name: str, folder: Path) -> dict[str, Path]:
    """A module that is run by its name; that of a package is its `__main__`."""
    return _closure(folder, [*_find(name, folder), *_find(f"{name}.__main__", folder)])


def _closure(folder: Path, begun: Sequence[tuple[str, Path]]) -> dict[str, Path]:
    """The modules of a folder that these import, directly or not."""
    files: dict[str, Path] = {}
    pending = list(begun)
    while pending:
        package, path = pending.pop()
        name = path.relative_to(folder).as_posix()
        if name not in files:
            files[name] = path
            pending += [each for imported in _imports(path, package) for each in _find(imported, folder)]
    return files


def _find(name: str, folder: Path) -> list[tuple[str, Path]]:
    """The file of a module and those of the packages that it lies in, each with the package that it belongs to."""
    parts, found = name.split("."), []
    for length in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:length])
        package = ".".join(parts[:length])
        if _is_file(place / "__init__.py"):
            found.append((package, place / "__init__.py"))
        elif _is_file(place.with_suffix(".py")):
            found.append((package.rpartition(".")[0], place.with_suffix(".py")))
    return found


def _imports(path: Path, package: str) -> Iterator[str]:
    """The names that a source imports, each of a `from` import as a possible module; none of what is not Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level and package else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield from (".".join(filter(None, [start, alias.name])) for alias in node.names)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # of a word that is no name of a file
        return False


def _digest(path: Path) -> str:
    """Of an empty file, where it cannot be read."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    except OSError:
        pass
    return digest.hexdigest()
