"""Checks what another person's record names: a record is data, never code.

Without --trust a record may only build components of this program and of packages installed as part of it. It may only
name addresses, keys, commands, files and settings of Hydra that the program, the user's own configuration folders or
the command line name as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from importlib.metadata import EntryPoint
from importlib.resources import files
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from runner.config import arguments
from runner.config.choices import conf_folders
from runner.config.frozen import CONF, FrozenConfig, files_of, read_mapping
from runner.config.hydra_internals import key_of, node_of, raw_value
from runner.config.schema import load
from runner.errors import InputError
from runner.llm.address import ADDRESS_KEY
from runner.system import terminal
from runner.system.redaction import by_form
from runner.words.wording import LANGUAGES, supported_language

OWN_PACKAGES = ("runner", "plugins")
SHOWN = 400  # most characters of the arguments of a component
REFERENCE = re.compile(r"\$\{\.*(?!hydra\b)\w[\w.]*\}")  # a setting; any other ${…} computes or looks up
GROUP = re.compile(r"\w+(\.\w+)*")
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+\S*")
DATABASE = re.compile(r"sqlite:///(?!/)[^?:%]+")
ELSEWHERE = re.compile(r"[/\\~]|file:|[A-Za-z]:\\|(.*[/\\])?\.\.([/\\]|$)", re.S)  # outside the working directory
FILE_KEYS = ("out", "cache_dir", "junit", "save_snapshot", "compare")
SYSTEMS = "plugins.system."
CODE_KEYS = ("command", "target")  # settings of a running system
SERVER_KEYS = ("base_url", "api_key_env")
IN_SWEEP = ("_target_", "${")

FOREIGN = "of no package that is installed as part of runner"
COMPUTES = "asks Hydra for more than another setting"
OF_HYDRA = "settings of Hydra are no part of a record"
NO_PROVIDER = "your configuration names no provider like this"
NO_ADDRESS = "your configuration does not name this address"
NO_VARIABLE = "your configuration does not name this environment variable"
NO_CODE = "your configuration does not name this program or function"
NO_FILE = "a file or folder that is not below the working directory, or that a record does not choose"


@dataclass(frozen=True, slots=True)
class Strange:
    """Something that a record must not name: its key, its value, and why."""

    key: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"{printable(self.key)}: {self.what}: {self.why}"


@dataclass
class Vetting:
    """The check of one record with the `overrides` and configuration `folders` of the command line."""

    frozen: FrozenConfig
    overrides: Sequence[str]
    folders: Sequence[str]
    is_trusted: bool
    refused: set[Strange] = field(default_factory=set)

    def before_composing(self) -> None:
        """Check settings for Hydra. Raises InputError unless trusted."""
        self._demand(_hydras(self.frozen), "en")

    def of(self, cfg: DictConfig) -> None:
        """Check a composed configuration before its classes are loaded. Raises InputError unless trusted."""
        language = cfg.report.get("language") if isinstance(cfg.get("report"), DictConfig) else None
        self._demand(strange_values(cfg, self._allowed_values), supported_language(language))

    def of_classes(self, cfg: DictConfig) -> None:
        """Check classes only, for commands that import them but run and send nothing."""
        self._demand((part for part in strange_values(cfg, self._allowed_values) if part.why == FOREIGN), "en")

    @cached_property
    def _allowed_values(self) -> Allowed:
        return own_values(self.overrides, self.folders)

    def _demand(self, parts: Iterator[Strange], language: str) -> None:
        strange = [part for part in dict.fromkeys(parts) if part not in self.refused]
        if not strange:
            return
        lines = "".join(f"\n  {part}" for part in strange)
        if not self.is_trusted:
            raise InputError(
                f"{self.frozen.name} names things that neither this program nor your own configuration names; "
                f"nothing was run:{lines}\n--trust runs a record of someone you trust as it is; options that you type "
                "yourself need no --trust"
            )
        self.refused.update(strange)
        terminal.note(LANGUAGES[language]("progress.trusted", record=self.frozen.name) + lines)


# --- what the user's own configuration names ------------------------------------------------------


@dataclass(frozen=True)
class Allowed:
    """The values that the user's own files name. `texts`: values of any setting; `variables`: (name of a setting,
    value); `servers`: (base_url, api_key_env)."""

    texts: frozenset[str]
    variables: frozenset[tuple[str, str]]
    servers: frozenset[tuple[str | None, str | None]]

    def knows_server(self, url: str | None, variable: str | None) -> bool:
        """Whether the user's own files name an address, together with the variable of its key where it has one."""
        if variable is None:
            return url is None or self.knows_address(url)
        return (_normalise(url), variable) in self.servers

    def knows_address(self, address: str) -> bool:
        """Whether the user's own files name an address."""
        return _normalise(address) in self.texts


def own_values(overrides: Sequence[str], folders: Sequence[str]) -> Allowed:
    """The values that the program, installed packages, `folders` and the command line name. Only while Hydra is
    initialised."""
    typed = [_nest(override) for job in arguments.cells(overrides) for override in job]
    trees = [*map(_tree, _files(folders)), *typed]
    leaves = [(name, text) for tree in trees for _, name, text in _texts(tree)]
    texts = {text for _, text in leaves} | {_normalise(text) for _, text in leaves}
    servers = {pair for tree in trees for pair in _servers(tree)}
    for provider in {str(name) for tree in typed for name in tree.get("provider") or ()}:
        servers |= _addresses_of(provider, trees)
    return Allowed(frozenset(texts), frozenset(leaves), frozenset(servers))


def _files(folders: Sequence[str]) -> Iterator[Path]:
    places = [CONF, *map(Path, folders), *(Path(str(files(package))) for _, package in conf_folders())]
    for place in places:
        yield from files_of(place)


def _tree(path: Path) -> Mapping[str, Any]:
    try:
        state = path.stat()
    except OSError:
        return {}
    return _tree_as_of(path, state.st_ino, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1024)
def _tree_as_of(path: Path, *_: int) -> Mapping[str, Any]:
    try:
        values = read_mapping(path)
    except InputError:  # composing reports it where it is used
        return {}
    package = re.match(r"# @package provider\.(\w+)\s*$", path.read_text("utf-8").partition("\n")[0])
    return {"provider": {package[1]: values}} if package else values


def _nest(override: str) -> dict[str, Any]:
    """`a.b=c` as {a: {b: c}}."""
    parsed = arguments.parse(override)
    value: Any = None if parsed.is_delete() else _plain_values(parsed.value())
    for name in reversed(str(parsed.key_or_group).split(".")):
        value = {name: value}
    return dict(value)


def _plain_values(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain_values(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return list(map(_plain_values, value))
    return getattr(value, "text", value)  # a QuotedString


def _texts(value: Any, key: str = "", name: str = "") -> Iterator[tuple[str, str, str]]:
    """(key, name, text) of all texts."""
    if isinstance(value, Mapping):
        for inner_name, inner in value.items():
            yield from _texts(inner, f"{key}.{inner_name}".lstrip("."), str(inner_name))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, key, name)
    elif isinstance(value, str):
        yield key, name, value


def _servers(value: Any) -> Iterator[tuple[str | None, str | None]]:
    if isinstance(value, Mapping):
        if value.get("api_key_env"):
            yield _normalise(value.get("base_url")), str(value["api_key_env"])
        for inner in value.values():
            yield from _servers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _servers(inner)


def _addresses_of(provider: str, trees: Sequence[Mapping[str, Any]]) -> set[tuple[str | None, str | None]]:
    """The settings of one provider after files and the command line; a sweep may have several values of a setting."""
    urls, variables = [], []
    for tree in trees:
        providers = tree.get("provider")
        settings = providers.get(provider) if isinstance(providers, Mapping) else None
        if isinstance(settings, Mapping):
            urls += [settings["base_url"]] if "base_url" in settings else []
            variables += [settings["api_key_env"]] if "api_key_env" in settings else []
    return {(_normalise(url), str(name)) for url in urls or [None] for name in variables if name}


def _normalise(address: Any) -> Any:
    """An address with scheme and host in lower case, without a trailing slash."""
    if not isinstance(address, str):
        return address
    scheme, mark, rest = address.strip().partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}{mark}{host.lower()}{slash}{path}".rstrip("/") if mark else address


# --- what a configuration names -------------------------------------------------------------------


def _hydras(frozen: FrozenConfig) -> Iterator[Strange]:
    """The settings for Hydra in a frozen file."""
    for name in [*frozen.values, *frozen.choices, *frozen.others]:
        if re.search(r"(^|@)hydra\b", str(name)):
            yield Strange(str(name), _short_repr(frozen.values.get(name, "…")), OF_HYDRA)
    for key, value in frozen.sweep.items():
        text = f"{key}={value}"
        if re.match(r"[+~]*hydra\b", str(key)) or any(part in text for part in IN_SWEEP):
            yield Strange(
                f"frozen.sweep.{key}", _short_repr(value), "a sweep of a record varies settings and choices alone"
            )
    yield from _strange_compositions({**frozen.values, **frozen.others})


def _strange_compositions(value: Any, key: str = "") -> Iterator[Strange]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            place = f"{key}.{name}".lstrip(".")
            if name == "defaults":
                yield Strange(place, _short_repr(inner), "a record has its choices written out")
            yield from _strange_compositions(inner, place)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _strange_compositions(inner, f"{key}.{number}")
    elif isinstance(value, str) and "${" in REFERENCE.sub("", value) and not _is_of_program(key, value):
        yield Strange(key, _short_repr(value), COMPUTES)


def _is_of_program(key: str, value: str) -> bool:
    """Whether a choice of this program has the setting, to the letter."""
    group, _, name = key.rpartition(".")
    if not GROUP.fullmatch(group):
        return False
    return any(read_mapping(path).get(name) == value for path in (CONF / group.replace(".", "/")).glob("*.yaml"))


def strange_values(cfg: DictConfig, own: Allowed) -> Iterator[Strange]:
    """Everything in a composed configuration that neither the program nor `allowed` names."""
    yield from _in_mapping(cfg, "", own)


def _in_mapping(node: DictConfig, key: str, allowed: Allowed) -> Iterator[Strange]:
    skipped: tuple[str, ...] = ()
    if key.endswith(".prices") and {"usd_per_million"} <= {*node} <= {"date", "base_url", "usd_per_million"}:
        skipped = ("base_url",)  # of the prices; nothing is sent there
    elif any(node.get(name) is not None for name in SERVER_KEYS if name in node):
        skipped = SERVER_KEYS
        url, variable = (_value(node, name) if name in node else None for name in SERVER_KEYS)
        if not allowed.knows_server(url, variable):
            with_key = "" if variable is None else f" with the key in {_short_repr(variable)}"
            yield Strange(f"{key}.base_url", ("null" if url is None else _short_repr(url)) + with_key, NO_PROVIDER)
    target = str(_value(node, "_target_")) if "_target_" in node else ""
    if "_target_" in node and (why := _why_misplaced(target, allowed)):
        settings = (f"{name!s}={_short_repr(_raw_value(node, name))}" for name in node if name != "_target_")
        yield Strange(key, printable(f"{target}({', '.join(settings)})")[:SHOWN], why)
    if target.startswith(SYSTEMS):
        yield from _code(node, key, allowed)
        skipped = (*skipped, *CODE_KEYS)
    for name in node:
        if name not in ("_target_", *skipped):
            yield from _inside(node, name, f"{key}.{name!s}".lstrip("."), str(name), allowed)


def _code(node: DictConfig, key: str, allowed: Allowed) -> Iterator[Strange]:
    """Programs and functions of a system; the words of a command count as one."""
    for name in CODE_KEYS:
        value = _value(node, name) if name in node else None
        words = list(value) if isinstance(value, ListConfig) else [] if value is None else [value]
        if any((name, str(word)) not in allowed.variables for word in words):
            yield Strange(f"{key}.{name}".lstrip("."), _short_repr(words[0] if len(words) == 1 else words), NO_CODE)


def _inside(parent: DictConfig | ListConfig, place: Any, key: str, name: str, allowed: Allowed) -> Iterator[Strange]:
    """Check values inside a setting called `name`, which may be a list or a mapping."""
    value = _value(parent, place)
    if OmegaConf.is_interpolation(parent, place) and OmegaConf.is_config(value):
        return  # it is checked at its own place
    if isinstance(value, DictConfig):
        yield from _in_mapping(value, key, allowed)
    elif isinstance(value, ListConfig):
        for number in range(len(value)):
            yield from _inside(value, number, f"{key}.{number}", name, allowed)
    elif isinstance(value, str) and (why := _why_not(name, value, allowed)):
        yield Strange(key, repr(value)[:SHOWN], why)


def _why_not(name: str, text: str, allowed: Allowed) -> str | None:
    """Why a setting must not have this text; empty where it may."""
    if name.endswith("_env"):
        return None if (name, text) in allowed.variables else NO_VARIABLE
    if ADDRESS_KEY.fullmatch(name) or ADDRESS.fullmatch(text.strip()):
        is_own = allowed.knows_address(text) or (DATABASE.fullmatch(text) and ".." not in Path(text).parts)
        return None if is_own else NO_ADDRESS
    if ELSEWHERE.match(text.strip()) or name in FILE_KEYS or _leads_out(text):
        return None if text in allowed.texts else NO_FILE
    return None


def _leads_out(text: str) -> bool:
    """Whether a path leaves the working directory through a link."""
    try:
        return not Path(text).resolve().is_relative_to(Path.cwd().resolve())
    except (OSError, RuntimeError, ValueError):  # no valid path, or a circular link
        return False


def _why_misplaced(target: str, allowed: Allowed) -> str | None:
    """Why a class must not be built; empty where it may. A class of an allowed package is loaded, since the name may
    stand for a class of another one."""
    if target in allowed.texts:
        return None
    if not is_installed(target):
        return FOREIGN
    try:
        cls = load(target)
    except (ImportError, AttributeError, TypeError):  # the check reports it
        return None
    return None if is_installed(f"{cls.__module__}.{cls.__name__}") else FOREIGN


def is_installed(target: str) -> bool:
    """Whether a class belongs to this program, or to a package that adds configuration folders to it."""
    parts = target.split(".")
    if "__main__" in parts or not all(part.isidentifier() for part in parts):
        return False
    return any(target.startswith(f"{package}.") for package in _installed_packages())


def installed_class(target: str) -> type | None:
    """The class of a `_target_` in an untrusted file. None where it belongs to another package, which is then not
    imported, and where it does not exist."""
    if not is_installed(target):
        return None
    try:
        cls: type = load(target)
    except (ImportError, AttributeError, TypeError):
        return None
    return cls if is_installed(f"{cls.__module__}.{cls.__name__}") else None


@cache
def _installed_packages() -> frozenset[str]:
    return frozenset(
        [*OWN_PACKAGES, *(name for point, package in conf_folders() for name in _packages(point, package))]
    )


def _packages(point: EntryPoint, package: str) -> Iterator[str]:
    """The package of the configuration folder, and the other packages of its distribution."""
    yield package.rpartition(".")[0] or package
    for path in (point.dist.files if point.dist is not None else None) or ():
        if len(path.parts) == 2 and path.parts[1] == "__init__.py" and path.parts[0].isidentifier():
            yield path.parts[0]


def strange_component(node: DictConfig, typed: Mapping[str, str]) -> list[Strange]:
    """The components in an untrusted file, such as that of a run, that must not be built."""
    allowed = own_values((), ())
    typed = {**typed, "environment": by_form(os.environ.get("MLFLOW_TRACKING_URI", ""))}
    texts = allowed.texts | set(typed.values()) | {_normalise(text) for text in typed.values()}
    found = _in_mapping(node, key_of(node), replace(allowed, texts=texts))
    return [part for part in found if not part.what.startswith("'sqlite:")]  # nothing is sent


def _value(parent: DictConfig | ListConfig, place: Any) -> Any:
    """The value, resolved where possible."""
    try:
        return parent[place]
    except (OmegaConfBaseException, RecursionError):
        return _raw_value(parent, place)


def _raw_value(parent: DictConfig | ListConfig, place: Any) -> Any:
    node: Any = node_of(parent, place)
    return OmegaConf.to_container(node) if OmegaConf.is_config(node) else raw_value(parent, place)


def _short_repr(value: Any) -> str:
    return printable(repr(value))[:SHOWN]


def printable(text: str) -> str:
    """The text without control characters of terminals."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
