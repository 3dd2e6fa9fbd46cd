"""Override arguments as people type them, made into what Hydra's grammar accepts; sweeps told from lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ConfigError, Problem

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

# Options that are text: `case=1_000` is a name, `out=2024` a folder.
TEXT_KEYS = frozenset({"case", "out", "cache_dir"})
NUMBER_WITH_UNDERSCORE = re.compile(r"[+-]?[\d.]*\d_[\d_.]*")
FUNCTION = re.compile(
    r"(choice|range|glob|interval|sort|shuffle|tag|int|float|str|bool|json_str|extend_list)\(.*\)", re.S
)
OPEN, CLOSE = "([{", ")]}"
NOT_A_RUN = ("--cfg", "-c", "--info", "-i", "--help", "-h", "--hydra-help", "--version", "--run", "-r", "--resolve")
FLAGS = (
    *NOT_A_RUN,
    "--multirun",
    "-m",
    "--config-path",
    "-cp",
    "--config-name",
    "-cn",
    "--config-dir",
    "-cd",
    "--package",
    "-p",
)


@cache
def parse(argument: str) -> Override:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create().parse_override(argument)


def is_sweep(argument: str) -> bool:
    return not argument.startswith("-") and bool(parse(argument).is_sweep_override())


def quoted(argument: str) -> str:
    """The argument with quotes where Hydra would refuse the text or read another value from it."""
    key, equals, value = argument.partition("=")
    if not equals or not value or argument.startswith("-"):
        return argument
    if _names_a_file(value):
        return f"{key}={_quote(value)}"
    text = key.lstrip("+~") in TEXT_KEYS
    return f"{key}=" + ",".join(_piece(piece, text) for piece in _split(value))


def checked(arguments: Sequence[str]) -> list[str]:
    """Quoted arguments; raises ConfigError naming every argument that is no override at all."""
    from hydra.errors import HydraException

    result, problems = [], []
    for argument in map(quoted, arguments):
        try:
            if argument.startswith("-") or parse(argument).key_or_group:
                result.append(argument)
                continue
        except HydraException:
            pass
        problems.append(Problem(argument, "expected KEY=VALUE, +KEY=VALUE or ~KEY"))
    if problems:
        raise ConfigError(problems)
    return result


def cells(overrides: Sequence[str]) -> list[list[str]]:
    """The override lists of all jobs of a sweep, in Hydra's order."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    batches = BasicSweeper.split_arguments([parse(override) for override in overrides], None)
    return [list(cell) for batch in batches for cell in batch]


def _names_a_file(value: str) -> bool:
    try:
        return not re.fullmatch(r"[\w./-]+", value, re.A) and Path(value).exists()
    except (OSError, ValueError):
        return False


def _piece(piece: str, text: bool) -> str:
    stripped = piece.strip()
    if not stripped or stripped[0] in "'\"":
        return piece
    if text and stripped != "null":
        return piece if "${" in piece else _quote(stripped)
    if NUMBER_WITH_UNDERSCORE.fullmatch(stripped):
        return _quote(stripped)
    if _accepted(piece):
        return piece
    if stripped[0] in "[{" or FUNCTION.fullmatch(stripped):
        return _quote_inside(piece)
    return _quote(stripped)


def _accepted(piece: str) -> bool:
    from hydra.errors import HydraException

    try:
        parse(f"k={piece}")
    except HydraException:
        return False
    return True


def _quote_inside(piece: str) -> str:
    """`[가, b]` -> `['가', b]`: only the words that the grammar refuses."""

    def word(match: re.Match[str]) -> str:
        text = match.group()
        bare = text.strip()
        if not bare or bare[0] in "'\"" or _accepted(bare) or bare in ("choice", "sort", "shuffle"):
            return text
        return text.replace(bare, _quote(bare))

    return re.sub(r"'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"|[^\[\](){},:]+", word, piece)


def _quote(text: str) -> str:
    # Hydra reads backslashes in a quoted value literally unless they stand before a quote.
    escaped = re.sub(r"(\\*)'", lambda match: match.group(1) * 2 + r"\'", text)
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    return "'" + escaped + "\\" * trailing + "'"


def _split(value: str) -> Iterator[str]:
    """Pieces between top-level commas; brackets count only where they balance."""
    if any(value.count(a) != value.count(b) for a, b in zip(OPEN, CLOSE, strict=True)):
        yield from value.split(",")
        return
    depth, quote, start = 0, "", 0
    for position, character in enumerate(value):
        if quote:
            quote = "" if character == quote and value[position - 1] != "\\" else quote
        elif character in "'\"" and not value[start:position].strip():
            quote = character
        elif character in OPEN + CLOSE:
            depth += 1 if character in OPEN else -1
        elif character == "," and depth == 0:
            yield value[start:position]
            start = position + 1
    yield value[start:]
