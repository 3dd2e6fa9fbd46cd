"""Turns overrides as people type them into Hydra's grammar, and distinguishes sweeps from lists."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.errors import ConfigError, InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

# Text options: `case=1_000` is a name, `out=2024` a folder. Options that name folders or runs cannot be swept.
TEXT_KEYS = frozenset({"case", "out", "cache_dir", "compare", "save_snapshot", "junit", "baseline"})
THRESHOLD = "threshold."
NOT_SWEPT = TEXT_KEYS - {"case"}
LONGEST = 200  # characters of a name; a file name has at most 255 with .yaml
SET_BY_RUNNER = frozenset(
    {"hydra.run.dir", "hydra.sweep.dir", "hydra.sweep.subdir", "hydra.output_subdir", "hydra.mode"}
)
WHERE = ("out=", "cache_dir=", "hydra.")
ADDED = re.compile(r"\+profile@evaluation\.profiles\.([^=]+)=\1")  # set by compose: a profile of the user
FREE = re.compile(r"provider\.|judge\.(?:[\w.]+\.)?rubrics\.")  # free names: compose sets `++` before them
NUMBER_WITH_UNDERSCORE = re.compile(r"[+-]?[\d.]*\d_[\d_.]*")
PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.A)  # Hydra reads such words as they stand
SIMPLE = re.compile(  # an override whose value is a name of Hydra's, a whole number, or a text without escapes
    r"(?P<plus>\+{0,2})(?P<key>[A-Za-z_]\w*(?:(?:\.[A-Za-z_]\w*)*|(?:/[A-Za-z_]\w*)*))="
    r"(?:(?P<name>(?i:true|false|null))|(?P<number>0|[1-9]\d{0,15})|'(?P<quoted>[^'\\$\n]*)'"
    r"|(?!(?i:inf|nan)$)(?P<text>[A-Za-z_/][\w./:-]*))",
    re.A,
)
FUNCTION = re.compile(
    r"(choice|range|glob|interval|sort|shuffle|tag|int|float|str|bool|json_str|extend_list)\(.*\)", re.S
)
MOST_RUNS = 10_000  # runs of one command
OPEN, CLOSE = "([{", ")]}"
UNREAD = (ValueError, RecursionError)  # raised by Hydra's parser for thousands of digits or hundreds of brackets
ASKS_HYDRA = ("--cfg", "-c", "--info", "-i", "--hydra-help", "--resolve", "--package", "-p")
MULTIRUN = ("--multirun", "-m")
CONFIG_FOLDER = ("--config-dir", "-cd")
CONFIG_NAME = ("--config-name", "-cn")
TRUST = "--trust"  # load the classes that someone else's record names
FLAGS = (*MULTIRUN, *CONFIG_FOLDER, *CONFIG_NAME, *ASKS_HYDRA, TRUST, "--help", "-h")


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed command line: overrides that Hydra accepts, configuration folders, the name of a frozen configuration,
    and flags. `words`: the overrides as they were typed; `trusts`: run the frozen configuration whatever it names."""

    overrides: list[str]
    config_folders: list[str]
    config_name: str | None
    multirun: bool
    asks_hydra: bool
    words: list[str]
    trusts: bool = False


def read(words: Sequence[str]) -> Line:
    """Parse a command line. Raises ConfigError with every word that is no override, and InputError for an unknown
    flag."""
    folders, rest = split_flags(words, CONFIG_FOLDER)
    names, remaining = split_flags(rest, CONFIG_NAME)
    trusts, remaining = TRUST in remaining, [word for word in remaining if word != TRUST]
    flags = [word.partition("=")[0] for word in remaining if word.startswith("-")]
    check_folders(folders)
    _check(folders, names, flags)
    if trusts and not names:
        raise InputError(f"{TRUST}: expected a record (-cd FOLDER -cn frozen)")
    asks_hydra, multirun = (any(flag in kind for flag in flags) for kind in (ASKS_HYDRA, MULTIRUN))
    overrides = [] if asks_hydra else check_overrides([word for word in remaining if not word.startswith("-")])
    return Line(overrides, folders, names[0] if names else None, multirun, asks_hydra, remaining, trusts)


def split_flags(words: Sequence[str], flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """The values of the flags, and the other words."""
    values, remaining, upcoming = [], [], iter(words)
    for word in upcoming:
        name, equals, value = word.partition("=")
        if name in flags:
            values.append(value if equals else next(upcoming, ""))
        else:
            remaining.append(word)
    return values, remaining


def check_folders(folders: Sequence[str]) -> None:
    """Raises InputError for a `--config-dir` that is no folder."""
    for folder in folders:
        if not os.path.isdir(folder or "no folder"):  # noqa: PTH112 - Path raises for a name that is too long
            raise InputError(f"--config-dir: expected a folder, got '{folder}'")


def _check(folders: Sequence[str], names: Sequence[str], flags: Sequence[str]) -> None:
    if names and (len(names) > 1 or not names[0] or not folders):
        raise InputError("--config-name: expected one name, of a frozen file in a folder given with --config-dir")
    if TRUST in flags:
        raise InputError(f"{TRUST} takes no value")
    if unknown := [flag for flag in flags if flag not in FLAGS]:
        known = [*MULTIRUN, *CONFIG_FOLDER, *CONFIG_NAME, "--cfg", TRUST, "--help", "--version"]
        raise InputError(f"unknown option {unknown[0]}{did_you_mean(unknown[0], known)}")


@cache
def parse(argument: str) -> Override:
    """Parse an override with Hydra's grammar. Raises Hydra's error for an invalid word."""
    if (match := SIMPLE.fullmatch(argument)) is not None:
        return _parse_simple(argument, match)
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create().parse_override(argument)


def _parse_simple(argument: str, match: re.Match[str]) -> Override:
    """Parse the common forms of overrides as Hydra's grammar does, in a hundredth of the time."""
    from hydra.core.override_parser.types import Override, OverrideType, Quote, QuotedString, ValueType

    kind = (OverrideType.CHANGE, OverrideType.ADD, OverrideType.FORCE_ADD)[len(match["plus"])]
    value: Any = match["text"]
    if match["name"] is not None:
        value = {"true": True, "false": False, "null": None}[match["name"].lower()]
    elif match["number"] is not None:
        value = int(match["number"])
    elif match["quoted"] is not None:
        value = QuotedString(match["quoted"], Quote.single)
    return Override(kind, match["key"], ValueType.ELEMENT, value, input_line=argument)


def is_sweep(argument: str) -> bool:
    """Whether an override names several values, as `k=3,5,10` does."""
    return bool(parse(argument).is_sweep_override())


def quote_argument(argument: str) -> str:
    """The argument, quoted where Hydra would refuse or misread it."""
    key, equals, value = argument.partition("=")
    if not equals or not value:
        return argument
    if _names_a_file(value):
        return f"{key}={single_quote(value)}"
    name = key.lstrip("+~")
    if name.startswith(THRESHOLD):
        from runner.metrics.thresholds import escape_key

        is_list = "," in value  # a threshold is one number and cannot be swept
        return f"{key.removesuffix(name)}{escape_key(name)}={_piece(value, text=is_list)}"
    if name in NOT_SWEPT:
        return f"{key}={_piece(value, text=True)}"
    text = name in TEXT_KEYS
    return f"{key}=" + ",".join(_piece(piece, text) for piece in _split(value))


def check_overrides(overrides: Sequence[str]) -> list[str]:
    """The quoted overrides. Raises ConfigError with every word that is no override, or must not be overridden."""
    result, problems = [], []
    for override in map(quote_argument, overrides):
        key = _key(override)
        if key is None:
            problems.append(_no_override(override))
        elif any(len(name) > LONGEST for name in re.split(r"[./@]", key)):
            problems.append(Problem(key, f"unknown: no name is longer than {LONGEST} characters"))
        elif key in SET_BY_RUNNER:
            problems.append(Problem(key, "set by the runner: out=FOLDER chooses the folder, a comma makes a sweep"))
        else:
            result.append(override)
    if problems:
        raise ConfigError(problems)
    return result


def _no_override(override: str) -> Problem:
    """The problem of a word that is no override, without its value, which may be a secret."""
    from runner.config.help import as_run

    key, equals, _ = override.partition("=")
    if equals and re.fullmatch(r"[+~]*\w+(/\w+)+\.[\w.]+", key):
        return Problem(key, f"a setting goes by dots: {key.replace('/', '.')}=VALUE")
    if equals and (override.endswith(",") or ",," in override):
        return Problem(key, "a value is missing beside a comma")
    if not equals and (meant := as_run(override)) is not None:
        return Problem(override, f"an experiment; expected {meant}")
    shown = key if key.lstrip("+~").startswith("provider") else override
    return Problem(shown or "''", "expected KEY=VALUE, +KEY=VALUE or ~KEY")


def _key(override: str) -> str | None:
    from hydra.errors import HydraException

    try:
        return str(parse(override).key_or_group) or None
    except (HydraException, *UNREAD):
        return None


def cells(overrides: Sequence[str]) -> list[list[str]]:
    """The override lists of all jobs of a sweep, in Hydra's order. Raises ConfigError for a sweep without values, or
    with too many."""
    values = {override.get_key_element(): _values(override) for override in map(parse, overrides)}
    if math.prod(map(len, values.values())) > MOST_RUNS:
        longest = max(values, key=lambda key: len(values[key]))
        raise ConfigError([Problem(longest, f"more than {MOST_RUNS:,} runs in one command; expected fewer values")])
    for key, found in values.items():
        values[key] = [as_typed(f"{key}={value}") for value in found]
        if any(_key(text) is None for text in values[key]):
            raise ConfigError(
                [Problem(key.lstrip("+~"), "no value that Hydra reads; in quotes ('…') all of it is a text")]
            )
    return [list(cell) for cell in product(*values.values())]


def _values(override: Override) -> list[str]:
    """The values of an override as they are typed."""
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException

    if not override.is_sweep_override():
        return [override.get_value_element_as_str()]
    if GlobalHydra.instance().is_initialized():
        override.config_loader = GlobalHydra.instance().config_loader()  # resolves `glob`
    try:
        values = list(islice(override.sweep_string_iterator(), MOST_RUNS + 1))
    except (HydraException, ValueError):  # an interval, or a range with step 0
        values = []
    if not values:
        key = str(override.get_key_element()).lstrip("+~")
        raise ConfigError([Problem(key, f"has no value; expected some, such as {key}=1,2 or {key}=range(1,4)")])
    return values


def as_typed(override: str) -> str:
    r"""The override as a person types it; Hydra escapes colons needlessly (`model=openai\:a`) and says True."""
    key, _, value = override.partition("=")
    if value in ("True", "False"):
        return f"{key}={value.lower()}"
    plain = override.replace("\\:", ":")
    return plain if plain != override and _reads_alike(plain, override) else override


def _reads_alike(plain: str, typed: str) -> bool:
    from hydra.errors import HydraException

    try:
        return bool(parse(plain).value() == parse(typed).value())
    except (HydraException, *UNREAD):
        return False


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
        return piece if "${" in piece else single_quote(stripped)
    if NUMBER_WITH_UNDERSCORE.fullmatch(stripped):
        return single_quote(stripped)
    if _is_accepted(piece):
        return piece
    if stripped[0] in "[{" or FUNCTION.fullmatch(stripped):
        return _quote_inside(piece)
    return single_quote(stripped)


def _is_accepted(piece: str) -> bool:
    if PLAIN.fullmatch(piece):
        return True
    from hydra.errors import HydraException

    try:
        parse(f"k={piece}")
    except (HydraException, *UNREAD):
        return False
    return True


def _quote_inside(piece: str) -> str:
    """`[가, b]` -> `['가', b]`: quote only the words that the grammar refuses."""

    def word(match: re.Match[str]) -> str:
        text = match.group()
        bare = text.strip()
        if not bare or bare[0] in "'\"" or _is_accepted(bare) or bare in ("choice", "sort", "shuffle"):
            return text
        return text.replace(bare, single_quote(bare))

    return re.sub(r"'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"|[^\[\](){},:]+", word, piece)


def single_quote(text: str) -> str:
    """The text in quotes, so that Hydra reads the same text."""
    # Hydra reads backslashes in a quoted value literally unless they stand before a quote.
    escaped = re.sub(r"(\\*)'", lambda match: match.group(1) * 2 + r"\'", text)
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    return "'" + escaped + "\\" * trailing + "'"


def unquote(override: str) -> str:
    """The override without the quotes that `quote_argument` added."""
    key, _, value = override.partition("=")
    name = key
    if key.lstrip("+~").startswith(THRESHOLD):
        from runner.metrics.thresholds import unescape_key

        name = unescape_key(key)
    if value[:1] not in ("'", '"'):
        return f"{name}={value}"
    plain = f"{name}={parse(override).value()}"
    return plain if quote_argument(plain) == override else f"{name}={value}"


def without_additions(override: str) -> str:
    """The override without the quotes and the `++` that the program added."""
    plain = unquote(override)
    return plain[2:] if plain.startswith("++") and FREE.match(plain, 2) else plain


def command_of(overrides: Sequence[str], frozen: str | None, config_folders: Sequence[str] = ()) -> str:
    """The command that repeats a run, without folders of results and caches, and without the overrides that the program
    added. `frozen`: the file that the overrides modify."""
    theirs = (word for word in overrides if not word.lstrip("+").startswith(WHERE) and not ADDED.fullmatch(word))
    overrides_left = [without_additions(word) for word in theirs]
    base = ["-cd", str(Path(frozen).parent), "-cn", Path(frozen).stem] if frozen else []
    folders = [word for folder in config_folders for word in ("--config-dir", folder)]
    return " ".join(map(shell, ["python", "-m", "runner", *base, *folders, *overrides_left]))


def to_type(*arguments: str) -> str:
    """A command with these arguments, to be typed in this shell."""
    return " ".join(map(shell, [python_here(), "-m", "runner", *arguments]))


def python_here() -> str:
    """The word that starts this Python in a shell: its path, where `python` is another one, or none."""
    here, first = Path(sys.executable), shutil.which("python")
    if first is not None and Path(first).parent == here.parent:
        return "python"
    return os.path.relpath(here) if here.is_relative_to(Path.cwd()) else str(here)


def shell(word: str) -> str:
    """Quote a word for a shell; letters of any script need no quotes."""
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else shlex.quote(word)


def _split(value: str) -> Iterator[str]:
    """Split at top-level commas; unbalanced brackets are ignored."""
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
