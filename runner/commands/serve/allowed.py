"""What a request may set of a run: choices of the server's configuration, and plain settings of them.

A setting is plain where its class says that it is a number, a switch or one of a few words, or where it is the name of
a model, which the providers of the server resolve. Places (files, addresses, commands), credentials, classes and limits
of cost are for those who start the server."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from runner.config.compose import LISTED, metric_choice
from runner.config.help import CONF, groups
from runner.config.options import ReportOptions, RunOptions
from runner.config.schema import schema_of
from runner.errors import ConfigError, Problem, did_you_mean

CLOSED = ("provider", "tracking", "experiment", "evaluation", "hydra", "dataset", "scenario", "system")
DATA = ("dataset", "scenario")  # chosen by the data set of a run
PLACES = ("url", "host", "command", "target", "socket", "password_env")
OPTIONS = (
    "k", "cutoffs", "seed", "sample", "min_score", "warmup", "max_concurrency", "timeout_ms", "case_timeout_ms",
    "run_timeout_ms", "max_failure_rate", "strict", "deterministic", "baselines", "report.language", "report.high",
    "case", "comparability", "allow_incomparable",
)  # fmt: skip
TEXTS = ("query_prefix", "passage_prefix")
FORM = re.compile(r"\+?([A-Za-z_][\w./]*)=(.*)", re.S)
MODEL = re.compile(r"[\w.-]+:[\w.:/@-]+")
BARE = re.compile(r"[\w.:/@ ,\[\]'\"+-]*")  # of a value: no interpolation, no mapping, no function
RANGE = re.compile(r"range\([\d.,\s-]+\)")
RESERVED = re.compile(r"_\w*_")  # part of a key that Hydra reads: classes, arguments, packages
LONGEST = 2000
FIXED = "is set by the server"

Chosen = str | list[str] | None  # of a group


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that a request may set. `kind`: number, switch, words (one of `words`), list, model or text."""

    key: str
    kind: str
    default: Any = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Allowlist:
    """The settings and choices that requests may set: those of the program, of installed packages and of `folders`."""

    folders: tuple[str, ...] = ()
    fixed_keys: frozenset[str] = field(default_factory=frozenset)  # keys that the server's own words fix

    @cached_property
    def _choices(self) -> Mapping[str, Mapping[str, str]]:
        return {
            group: {choice: path.read_text(encoding="utf-8") for choice, path in choices.items()}
            for group, choices in groups(self.folders).items()
        }

    @cached_property
    def experiments(self) -> tuple[str, ...]:
        """Names of experiments, which are the `evaluation_type` of a request."""
        return tuple(sorted(self._choices["experiment"]))

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Choices that need no place, by group."""
        open_groups = [group for group in self._choices if _is_open(group) and not group.endswith("/store")]
        choices = {group: self._without_places(group) for group in open_groups}
        choices |= {"system": ("none",)} if "system" in self._choices else {}
        return {group: names for group, names in choices.items() if names}

    @cached_property
    def built_in(self) -> Mapping[str, tuple[str, str]]:
        """Data sets that come with the configuration: id -> (group, choice)."""
        return {
            (choice if group == "dataset" else f"{group}-{choice}"): (group, choice)
            for group in DATA
            if group in self._choices
            for choice in self._without_places(group)
            if choice != "none"
        }

    @cached_property
    def uses(self) -> Mapping[str, Mapping[str, Chosen]]:
        """The groups of each experiment, with what is chosen of each; a component `brings` further ones."""
        return {name: self._choices_of(name) for name in self.experiments}

    @cached_property
    def brings(self) -> Mapping[str, Mapping[str, Chosen]]:
        """The groups that a component needs besides those of its experiment, by GROUP=CHOICE."""
        offered = {**self.groups, **{group: tuple(self._choices.get(group, ())) for group in DATA}}
        needed = {f"{group}={name}": self._needs(group, name) for group, names in offered.items() for name in names}
        return {choice: groups for choice, groups in needed.items() if groups}

    def _choices_of(self, experiment: str) -> Mapping[str, Chosen]:
        choices = dict(_choices_by_name(self._choices["experiment"][experiment]))
        evaluation = str(choices.pop("evaluation", ""))
        text = self._choices["evaluation"].get(evaluation, "")
        shared = _choices_by_name((CONF / "config.yaml").read_text(encoding="utf-8"))
        of_all = {group: name for group, name in shared if f"${{{group}}}" in text or group == "regression"}
        chosen = {**of_all, **dict(_choices_by_name(text)), **choices}
        offered = {group: name for group, name in chosen.items() if group in self.groups or group in DATA}
        return {"evaluation": evaluation, **offered}

    def _needs(self, group: str, choice: str, depth: int = 3) -> dict[str, Chosen]:
        text = self._choices[group].get(choice, "") if depth else ""
        choices: dict[str, Chosen] = {}
        for part in _defaults(text):
            if not isinstance(part, dict):
                choices |= self._needs(group, str(part).partition("@")[0], depth - 1)
        choices |= dict(_choices_by_name(text, group))
        return {name: chosen for name, chosen in choices.items() if name in self.groups}

    def _without_places(self, group: str) -> tuple[str, ...]:
        def is_open(text: str) -> bool:
            values = _mapping(text)
            return not any(name in PLACES or value == "???" for name, value in values.items())

        return tuple(sorted(choice for choice, text in self._choices[group].items() if is_open(text)))

    # --- settings ---------------------------------------------------------------------------------

    @cached_property
    def options(self) -> Sequence[Setting]:
        """The options of a run, whatever it evaluates."""
        defaults = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))
        settings = []
        for key in OPTIONS:
            section, _, name = key.rpartition(".")
            fields = (ReportOptions if section else RunOptions).model_fields
            kind, words = _kind(fields[name].annotation) or ("text", ())
            settings.append(Setting(key, kind, (defaults[section] if section else defaults)[name], words))
        return settings

    @cached_property
    def settings_of(self) -> Mapping[str, Sequence[Setting]]:
        """The settings of each choice that may be chosen, by GROUP=CHOICE."""
        data = {group: tuple(c for g, c in self.built_in.values() if g == group) for group in DATA}
        offered = {**self.groups, **data, "evaluation": tuple(self._choices["evaluation"])}
        by_choice = {}
        for group, choices in offered.items():
            for choice in choices:
                place = f"metric.{choice}" if group == "metric" else group.replace("/", ".")
                by_choice[f"{group}={choice}"] = tuple(self._of_choice(group, choice, place, depth=3))
        return {choice: settings for choice, settings in by_choice.items() if settings}

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """The settings by key."""
        by_key: dict[str, Setting] = {}
        for settings in self.settings_of.values():
            for setting in settings:
                by_key.setdefault(setting.key, setting)
        return by_key

    def _of_choice(self, group: str, choice: str, place: str, depth: int) -> Iterator[Setting]:
        text = self._choices.get(group, {}).get(choice)
        if text is None or not depth:
            return
        yield from _of_node(_mapping(text), place)
        for entry in _defaults(text):
            named, inner = next(iter(entry.items())) if isinstance(entry, dict) else (str(entry), None)
            kind, _, where = str(named).removeprefix("override ").partition("@")
            if inner is None and where:
                yield from self._of_choice(group, kind, f"{place}.{where}", depth - 1)

    # --- words of a request -----------------------------------------------------------------------

    def vet(self, overrides: Sequence[str]) -> None:
        """Raises ConfigError with everything that a request must not set."""
        problems = [problem for override in overrides if (problem := self._problem(override)) is not None]
        if problems:
            raise ConfigError(problems)

    def is_fixed(self, key: str) -> bool:
        """Whether the words of the server set a key, in whichever spelling, what it is a part of, or a part of it."""
        asked = _spelling(key)
        for fixed in map(_spelling, self.fixed_keys):
            is_part = asked.startswith(f"{fixed}.") and fixed not in self._choices
            if asked == fixed or is_part or (fixed.startswith(f"{asked}.") and asked not in self._choices):
                return True
        return False

    def _problem(self, override: str) -> Problem | None:
        matched = FORM.fullmatch(override) if len(override) <= LONGEST else None
        if matched is None:
            return Problem(override[:80] or "''", "expected KEY=VALUE")
        key, value = matched.groups()
        if self.is_fixed(key) or key.split(".")[0] == "budget":
            return Problem(key, FIXED)
        if key in self.groups:
            return _unknown_choice(key, value, self.groups[key])
        if key not in OPTIONS and key not in self.settings and not key.startswith("threshold."):
            known = [*OPTIONS, *self.groups, *self.settings]
            return Problem(key, f"cannot be set by a request{did_you_mean(key, known)}")
        if any(map(RESERVED.fullmatch, key.split("."))):
            return Problem(key, "cannot be set by a request")
        if not (BARE.fullmatch(value) or RANGE.fullmatch(value)) or "_target_" in value:
            return Problem(key, "expected a plain value: numbers, words, true or false, or a list of them")
        setting = self.settings.get(key)
        if setting is not None and setting.kind == "model" and not all(map(MODEL.fullmatch, _words(value))):
            return Problem(key, "expected PROVIDER:MODEL")
        return None


def _spelling(key: str) -> str:
    """The one spelling of a key: a threshold of `recall@5`, `recall_at_5` or `mean_recall_at_5` is the same."""
    group, dot, metric = key.partition(".")
    if group != "threshold" or not dot:
        return key
    name = metric.lower().replace("@", "_at_").removeprefix("mean_")
    return f"threshold.{name.removesuffix('_at_k')}"


def _is_open(group: str) -> bool:
    first, _, inner = group.partition("/")
    return first not in CLOSED or (first in DATA and bool(inner))


def _choices_by_name(text: str, group: str = "") -> Iterator[tuple[str, Chosen]]:
    """Groups of a list of defaults that are chosen by their name alone, with their choices. `group`: whose choice has
    the list."""
    for entry in _defaults(text):
        for key, choice in entry.items() if isinstance(entry, dict) else ():
            name, _, package = str(key).removeprefix("override ").partition("@")
            if not package or package == f"_global_.{name.strip('/')}":
                yield (f"{group}/{name}" if group and not name.startswith("/") else name.strip("/")), choice


def key_of(override: str) -> str:
    """The key that an override sets."""
    return override.lstrip("+~").partition("=")[0]


def _unknown_choice(group: str, value: str, choices: Sequence[str]) -> Problem | None:
    names = [metric_choice(word, choices) if group == LISTED else word for word in _words(value)]
    wrong = next((name for name in names if name not in choices), None)
    if wrong is None:
        return None
    return Problem(group, f"'{wrong[:80]}' cannot be chosen by a request{did_you_mean(wrong[:80], choices)}")


def _words(value: str) -> list[str]:
    return [word for word in re.split(r"[\[\],\s'\"]+", value) if word] or [value]


def _of_node(node: Mapping[str, Any], place: str) -> Iterator[Setting]:
    """The settings of a mapping with a class, and of those in it."""
    target = node.get("_target_")
    if not isinstance(target, str):
        return
    try:
        fields = schema_of(target).model.model_fields
    except (ImportError, AttributeError, TypeError):  # of an extra that is not installed
        return
    for name, value in node.items():
        key = f"{place}.{name}"
        if isinstance(value, Mapping):
            yield from _of_node(value, key)
        elif isinstance(value, str) and value.startswith("${"):
            continue
        elif name == "model" and "models" in node:
            yield Setting(key, "model", value)
        elif name in TEXTS:
            yield Setting(key, "text", value)
        elif name in fields and (kind := _kind(fields[name].annotation)) is not None:
            yield Setting(key, kind[0], value, kind[1])


def _kind(hint: Any) -> tuple[str, tuple[str, ...]] | None:
    """The kind and the words of a plain type; None for any other type."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _kind(parts[0])
    if origin is typing.Literal:
        return "words", tuple(map(str, parts))
    if origin in (types.UnionType, typing.Union):
        kinds = [_kind(part) for part in parts if part is not type(None)]
        return kinds[0] if kinds and None not in kinds else None
    if origin in (list, tuple) and parts:
        inner = _kind(parts[0])
        return None if inner is None else ("list", inner[1])
    if hint is bool:
        return "switch", ()
    return ("number", ()) if hint in (int, float) else None


def _mapping(text: str) -> Mapping[str, Any]:
    values = yaml.safe_load(text)
    return {k: v for k, v in values.items() if k != "defaults"} if isinstance(values, dict) else {}


def _defaults(text: str) -> Sequence[Any]:
    values = yaml.safe_load(text)
    defaults = values.get("defaults") if isinstance(values, dict) else None
    return defaults if isinstance(defaults, list) else []
