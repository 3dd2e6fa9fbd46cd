"""Commands: `python -m runner NAME …` calls `main` of the module NAME here, whose COMMAND declares its arguments."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from runner.config.arguments import CONFIG_FOLDER, CONFIG_NAME, FLAGS
from runner.errors import InputError, did_you_mean
from runner.words.wording import LANGUAGES, Wording, wording

HELP = ("-h", "--help")
SPOKEN = "report.language"
REQUIRED = object()
WITH_VALUE = (*CONFIG_FOLDER, *CONFIG_NAME)  # flags of a run whose value may be the next word
SWITCH = {"true": True, "false": False}
WIDTH, LINE = 24, 118  # columns: of the names, and of a line


@dataclass(frozen=True, slots=True)
class Place:
    """A positional argument, such as RUN, which may also be given by its name: `out=x`, `--out x`. `read` raises
    ValueError with what it expects."""

    name: str
    read: Callable[[str], Any] = str
    default: Any = REQUIRED
    several: bool = False  # the last argument: one or more where it is required, else any number

    @property
    def flag(self) -> str:
        """The flag that stands for the position: --out."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def shown(self) -> str:
        """The form in a usage line: NAME, or [NAME] for an optional one."""
        name = self.name.upper()
        least = f"{name} [{name} …]" if self.several else name
        return least if self.default is REQUIRED else f"[{least}]"


@dataclass(frozen=True, slots=True)
class Option:
    """`--name VALUE`, `--name=VALUE` or `name=VALUE`. An option without `value` is a switch: `--name` or
    `name=true`."""

    name: str
    value: str = ""  # the placeholder of the value in the help
    read: Callable[[str], Any] = str
    default: Any = None

    @property
    def flag(self) -> str:
        """The flag as it is typed: --dry-run."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def shown(self) -> str:
        """The flag with its value: --out FOLDER."""
        return f"{self.flag} {self.value}".rstrip()


@dataclass(frozen=True, slots=True)
class Command:
    """The arguments of a command; their help texts are NAME.ARGUMENT in runner/words/commands.LANGUAGE.yaml.

        COMMAND = Command("score", (Place("qrels", Path), Place("run", Path)), (Option("per_query"),))
        options = COMMAND.read(["a.qrels", "b.run", "--per-query"])
        options.qrels, options.run, options.per_query, options.words  # Path, Path, True, []

    `words`: the name of further words, such as OPTION=VALUE, which are passed on as typed. `settings`: the file of
    conf/ whose settings the help lists. `parts`: subcommands, chosen by the first word.
    """

    name: str
    places: tuple[Place, ...] = ()
    options: tuple[Option, ...] = ()
    words: str = ""
    settings: str = ""
    parts: Mapping[str, Command] = field(default_factory=dict)

    def read(self, argv: Sequence[str]) -> Any:
        """Parse arguments into values by name, and `words`. Raises InputError with the error and the usage line."""
        placed, given, words = self._split(argv)
        values = {option.name: option.default if option.value else False for option in self.options}
        return SimpleNamespace(**(values | self._place_values(placed, given) | given), words=words)

    def _split(self, argv: Sequence[str]) -> tuple[list[str], dict[str, Any], list[str]]:
        placed: list[str] = []
        words: list[str] = []
        values: dict[str, Any] = {}
        remaining = iter(argv)
        for word in remaining:
            key, equals, value = word.partition("=")
            if key == SPOKEN and not self.words:
                key = self._language_option(value)
            option = next((each for each in self._named if key in (each.flag, each.name)), None)
            if word == "--" and not self.words:
                placed += remaining
            elif option is not None and (equals or key == option.flag):
                following = value if equals or not option.value else next(remaining, "")
                values[option.name] = self._value(option, key, following, bool(equals))
            elif self.words and (key in FLAGS or (word[:1] != "-" and (equals or word[:1] in ("+", "~")))):
                words += [word, *([next(remaining, "")] if word in WITH_VALUE else [])]
            elif key == SPOKEN and not self.words:
                continue  # the language of errors, which is read elsewhere
            elif word.startswith("-") and word != "-":
                known = [option.flag for option in self._named] + [*CONFIG_FOLDER] * bool(self.words)
                self._refuse(f"unknown option {key}{did_you_mean(key, known)}")
            elif self.parts and not self.places:
                self._refuse(f"no command '{self.name} {word}'{did_you_mean(word, self.parts)}")
            else:  # a surplus word is reported as the words of a run are
                (words if self.words and len(placed) == self._most_places() else placed).append(word)
        return placed, values, words

    @property
    def _named(self) -> list[Option]:
        """The options, and the positional arguments as options."""
        named = {option.name for option in self.options}
        places = [place for place in self.places if not place.several and place.name not in named]
        return [*self.options, *(Option(place.name, place.name.upper(), place.read) for place in places)]

    def _language_option(self, value: str) -> str:
        """`report.language=ko`, as a run takes it, as the `language` option of a command that has one."""
        self._value(LANGUAGE, SPOKEN, value, equals=True)
        return LANGUAGE.name if LANGUAGE in self.options else SPOKEN

    def _most_places(self) -> float:
        return math.inf if any(place.several for place in self.places) else len(self.places)

    def _value(self, option: Option, key: str, text: str, equals: bool) -> Any:
        if not option.value:
            if equals and (key == option.flag or text not in SWITCH):
                takes = "takes no value" if key == option.flag else f"expected true or false, found '{text[:80]}'"
                self._refuse(f"{key}{' ' if key == option.flag else ': '}{takes}")
            return SWITCH[text] if equals else True
        if not text or (not equals and text in HELP + tuple(each.flag for each in self.options)):
            self._refuse(f"{key}: expected a value")
        return self._read(option, key, text)

    def _read(self, argument: Place | Option, label: str, text: str) -> Any:
        try:
            return argument.read(text)
        except ValueError as error:
            self._refuse(f"{label}: {error}, found '{text[:80]}'")

    def _place_values(self, words: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the positional arguments that were not given by name."""
        places = [place for place in self.places if place.name not in given]
        required = [place.name.upper() for place in places if place.default is REQUIRED]
        if len(words) < len(required):
            self._refuse(f"missing: {', '.join(required[len(words) :])}")
        if not any(place.several for place in places) and len(words) > len(places):
            self._refuse(f"one argument too many: '{words[len(places)]}'")
        values: dict[str, Any] = {}
        for number, place in enumerate(places):
            mine = words[number:] if place.several else words[number : number + 1]
            read = [self._read(place, place.name.upper(), word) for word in mine]
            values[place.name] = read if place.several else read[0] if read else place.default
        return values

    def _refuse(self, message: str) -> NoReturn:
        raise InputError(f"{message}\n{self.usage}")

    @property
    def usage(self) -> str:
        """The usage line of the command."""
        parts = [f"[{option.shown}]" for option in self.options] + [place.shown for place in self.places]
        words = [f"[{self.words} …]"] if self.words else []
        return " ".join(["usage: python -m runner", self.name, *parts, *words])

    def help(self, argv: Sequence[str] = ()) -> str:
        """The help text, in the language that the words name (`--language ko`, `report.language=ko`), else in
        English."""
        if argv and argv[0] in self.parts:
            return self.parts[argv[0]].help(argv[1:])
        from runner.config.language import language_of

        return "\n".join(self._help_lines(wording(language_of(argv), "commands")))

    def _help_lines(self, say: Wording) -> list[str]:
        lines = [self.usage, "", say(self.name, name=self.name)]
        if (more := f"{self.name}.more") in say.texts:
            lines += ["", say(more, name=self.name).rstrip()]
        for title, arguments in (("arguments", self.places), ("options", self.options)):
            described = [(each, f"{self.name}.{each.name}") for each in arguments]
            if described:
                lines += ["", say(title), *(_line(each, say(key, name=self.name), say) for each, key in described)]
        if self.settings:
            from runner.config.settings import list_settings

            lines += ["", say("settings"), "", list_settings(self.settings)]
        return [*lines, ""]


def _line(argument: Place | Option, meaning: str, say: Wording) -> str:
    """`  --seed N   of intervals and tests (default: 42)`."""
    label = argument.name.upper() if isinstance(argument, Place) else argument.shown
    has_default = argument.default not in (None, REQUIRED, ()) and argument.default != []
    default = f" ({say('default', value=_value_text(argument.default))})" if has_default else ""
    column = " " * (WIDTH + 4)
    text = textwrap.fill(meaning + default, LINE, initial_indent=column, subsequent_indent=column)
    return f"  {label}\n{text}" if len(label) > WIDTH else f"  {label:<{WIDTH}}  {text.lstrip()}"


def _value_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def whole_number_reader(least: int, most: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers within these bounds."""
    expected = f"from {least} to {most}" if most is not None else f"of at least {least}"

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else least - 1
        if number < least or (most is not None and number > most):
            raise ValueError(f"expected a whole number {expected}")
        return number

    return read


def share(*, above_zero: bool = False) -> Callable[[str], float]:
    """A reader of numbers from 0 to 1, both included, or above 0."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1 or (above_zero and not number):
            raise ValueError("expected a number above 0, at most 1" if above_zero else "expected a number from 0 to 1")
        return number

    return read


def one_of(*names: str) -> Callable[[str], str]:
    """A reader of one of these words; it raises ValueError for any other."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"expected {', '.join(names[:-1])} or {names[-1]}")
        return text

    return read


SEED = Option("seed", "N", whole_number_reader(0, 2**32 - 1), 42)
LANGUAGE = Option("language", "|".join(sorted(LANGUAGES)), one_of(*sorted(LANGUAGES)))
TRUST = Option("trust")
URI = Option("uri", "URI")


def demand_new_file(path: Path, argument: str) -> None:
    """Raises InputError, with the name of the argument, for a file that exists or whose folder cannot be written to."""
    if path.exists():
        raise InputError(f"{argument}: {path} exists; name another file, or remove it")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{argument}: {path.parent} is not a folder that can be written to")
