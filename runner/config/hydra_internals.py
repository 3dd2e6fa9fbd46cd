"""Everything that this program uses of Hydra's and OmegaConf's private parts.

Tried with hydra-core 1.3.8 and omegaconf 2.3.1. tests/runner/config/test_hydra_internals.py fails where another version
differs. Documented functions (compose, initialize, OmegaConf.select …) are imported where they are used.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import cache, cached_property, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from omegaconf import MISSING, AnyNode, DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from runner.config import arguments
from runner.errors import Problem

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader
    from hydra.core.object_type import ObjectType
    from hydra.plugins.config_source import ConfigResult, ConfigSource
    from hydra.types import RunMode

    from runner.config.compose import Cell

T = TypeVar("T")

LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"  # `_target_` of the launcher without workers
SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"  # `_target_` of hydra/sweeper=basic
MOST_REFERRED = 1_000_000  # most characters of one value with its interpolations resolved
REFERENCE = re.compile(r"(?:\$\{|(?<=:))(\.*)(\w[\w.\[\]@/-]*)(?=[},])")  # `${k}`, or the name in `${oc.select:k}`
NAMED = "hydra.searchpath in command-line"  # provider of files in named folders
OPTION = re.compile(r"\$\{(\w[\w.]*)\}")  # a value that is one interpolation
RELATIVE = re.compile(r"\$\{\.+[A-Za-z_]\w*\}", re.ASCII)  # one of a name beside or above it
LONGEST = 10  # longest chain of interpolations; OmegaConf resolves longer ones
MOST_COMPOSED = 100  # most composed combinations of choices in memory
MOST_FILES = 2000  # most files that are checked for changes
OF_HEADER = 512  # characters of a file in which Hydra looks for its `# @package`
LATE = ("out", "hydra.mode", "hydra.sweep.subdir")  # known only when the runs start


# --- nodes of a configuration -----------------------------------------------------------------------


def key_of(node: DictConfig | ListConfig, name: Any = None) -> str:
    """`retriever.embedder`: the path of a node in its configuration, or of its setting `name`. OmegaConf writes paths
    through lists (`judges[0].model`)."""
    at: Any = node
    names = [] if name is None else [str(name)]
    while isinstance(at, DictConfig) and (above := at._get_parent()) is not None:
        names.append(str(at._key()))
        at = above
    return ".".join(reversed(names)) if isinstance(at, DictConfig) else str(node._get_full_key(name))


def node_of(parent: DictConfig | ListConfig, name: Any) -> Any:
    """The child node, interpolations unresolved; None where it is missing."""
    return parent._get_node(name)


def raw_value(parent: DictConfig | ListConfig, name: Any) -> Any:
    """The value of an existing setting as written: `${k}` for an interpolation."""
    return parent._value()[name]._value()


def names_in(node: DictConfig) -> list[Any]:
    """`list(node)`, several times faster."""
    values = node._value()
    return list(values) if isinstance(values, dict) else []


def as_written(node: Any) -> Any:
    """OmegaConf.to_container of a node, with its interpolations as they stand and enums by name, in a tenth of the
    time."""
    value = node._value()
    if isinstance(value, dict):
        return {name: as_written(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_written(inner) for inner in value]
    return value.name if isinstance(value, Enum) else value


def value_of(parent: DictConfig | ListConfig, name: Any) -> Any:
    """`parent[name]`, several times faster for plain values and `${a.b}`, which are nearly all values. OmegaConf
    handles the rest, and errors."""
    node = parent._value()[name]
    for _ in range(LONGEST):
        if not isinstance(node, AnyNode | DictConfig | ListConfig):
            break
        value: Any = node._value()
        if not isinstance(value, str):
            return node if isinstance(value, dict | list) else value
        if "${" not in value and value != MISSING:
            return value
        if (option := OPTION.fullmatch(value)) is None:
            break
        node = node_at(parent._get_root(), option.group(1))
    return parent[name]


def holds(node: DictConfig, name: str) -> bool:
    """`name in node`, several times faster for plain texts and missing names; OmegaConf handles the rest."""
    values = node._value()
    if isinstance(values, dict) and name not in values:
        return False
    inner = values.get(name) if isinstance(values, dict) else None
    value = inner._value() if isinstance(inner, AnyNode) else None
    return (isinstance(value, str) and "${" not in value and value != MISSING) or name in node


def node_at(node: Any, path: str) -> Any:
    """The node at `a.b`; None where it is missing, or where an interpolation is on the way to it."""
    for name in path.split("."):
        values = node._value() if isinstance(node, DictConfig) else None
        node = values.get(name) if isinstance(values, dict) else None
    return node


def plain(value: Any) -> Any:
    """OmegaConf.to_container of a value, with its interpolations resolved."""
    items = value._value() if isinstance(value, DictConfig | ListConfig) else None
    if isinstance(items, dict):
        return {name: _plain_item(value, name) for name in items}
    return [_plain_item(value, place) for place in range(len(items))] if isinstance(items, list) else value


def _plain_item(parent: DictConfig | ListConfig, name: Any) -> Any:
    return MISSING if parent._value()[name]._value() == MISSING else plain(value_of(parent, name))


def growth_problem(cfg: DictConfig) -> Problem | None:
    """The key of a value whose interpolations resolve to more than MOST_REFERRED characters, found without resolving
    any: a few lines of `a: ${b}${b}` may mean billions."""
    sizes: dict[int, int] = {}
    try:
        _size(cfg, sizes)
        if max(sizes.values()) <= MOST_REFERRED:
            return None
        largest = next((node for node in _leaves(cfg) if sizes.get(id(node), 0) > MOST_REFERRED), None)
    except RecursionError:
        return Problem("configuration", "interpolations (${…}) or mappings stand in one another too deep")
    if largest is None:
        return None
    return Problem(
        str(largest._get_full_key(None)),
        f"its interpolations (${{…}}) stand for more than {MOST_REFERRED:,} characters",
    )


def _size(node: Any, sizes: dict[int, int]) -> int:
    """An upper bound of the characters of a value as text; circular references show when they are resolved."""
    if id(node) in sizes:
        return sizes[id(node)]
    sizes[id(node)] = 1
    value = None if node is None else node._value()
    if isinstance(value, str):
        matches = REFERENCE.finditer(value) if "${" in value else ()
        size = len(value) + sum(_size(_follow(node, *match.groups()), sizes) for match in matches)
    elif OmegaConf.is_config(node):
        size = 1 + sum(_size(inner, sizes) for inner in _inner(node))
    else:
        size = 1
    sizes[id(node)] = min(size, MOST_REFERRED + 1)
    return sizes[id(node)]


def _follow(node: Any, dots: str, path: str) -> Any:
    """The node at a path; for a path into an interpolation, the interpolation."""
    at = node._get_root()
    if dots:
        at = node
        for _ in dots:
            at = at._get_parent() if at is not None else None
    for name in filter(None, re.split(r"[.\[\]]", path)):
        value: Any = at._value() if OmegaConf.is_config(at) else None
        if isinstance(value, dict):
            at = value.get(name)
        elif isinstance(value, list):
            at = value[int(name)] if name.isdecimal() and int(name) < len(value) else None
    return at


def _inner(node: DictConfig | ListConfig) -> list[Any]:
    value: Any = node._value()
    if not isinstance(value, dict | list):
        return []
    return list(value.values()) if isinstance(value, dict) else value


def _leaves(node: Any) -> Iterator[Any]:
    for inner in _inner(node) if OmegaConf.is_config(node) else ():
        yield from _leaves(inner)
    if not OmegaConf.is_config(node) or isinstance(node._value(), str):
        yield node


# --- files of a configuration -----------------------------------------------------------------------


DEEPEST = 50  # nested collections; libyaml recurses, and a deep recursion kills the process


def load(path: Path) -> Any:
    """The plain values of OmegaConf.load, in a tenth of the time where PyYAML has libyaml. OmegaConf reads what libyaml
    refuses or what may be invalid, since its messages name the place."""
    certain = _certain(path.read_text(encoding="utf-8"))
    return OmegaConf.to_container(OmegaConf.load(path)) if certain is None else certain


def _certain(text: str) -> Any:
    """The values of a file, if OmegaConf would surely read these; None otherwise."""
    import yaml

    if yaml.__with_libyaml__:
        with suppress(yaml.YAMLError, _DoubtfulError):
            values = _loader()(text).get_single_data() if _is_shallow(text) else None
            if isinstance(values, dict):
                return _certain_copy(values)
    return None


class _DoubtfulError(Exception):
    """A value that OmegaConf must check."""


def _certain_copy(value: Any) -> Any:
    """The value, if OmegaConf would surely accept it, without shared objects."""
    if type(value) is dict and all(type(name) is str for name in value):
        return {name: _certain_copy(inner) for name, inner in value.items()}
    if type(value) is list:
        return [_certain_copy(inner) for inner in value]
    if type(value) is str and ("${" not in value or OPTION.fullmatch(value) or RELATIVE.fullmatch(value)):
        return value
    if value is None or type(value) in (int, float, bool):
        return value
    raise _DoubtfulError


@cache
def _loader() -> Any:
    """OmegaConf's loader (its numbers, no repeated keys) with the parser of libyaml."""
    import yaml
    from omegaconf._utils import get_yaml_loader

    return type("Loader", (yaml.CSafeLoader, get_yaml_loader()), {})


def _is_shallow(text: str) -> bool:
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            return False
    return True


def yaml_of(values: Mapping[str, Any] | Sequence[Any]) -> str:
    """The text of OmegaConf.to_yaml, in a fifth of the time where PyYAML has libyaml."""
    import yaml

    text: str = yaml.dump(values, Dumper=_dumper(), default_flow_style=False, allow_unicode=True, sort_keys=False)
    return text


@cache
def _dumper() -> Any:
    """OmegaConf's dumper, which quotes texts that look like numbers."""
    import yaml
    from omegaconf._utils import get_omega_conf_dumper

    if not yaml.__with_libyaml__:
        return get_omega_conf_dumper()
    dumper: Any = type("Dumper", (yaml.CDumper,), {})
    dumper.add_representer(str, get_omega_conf_dumper().str_representer)
    return dumper


def remember_files() -> None:
    """Cache parsed files, listed folders and composed choices until a file changes; otherwise Hydra parses and merges
    some twenty files for every cell of a sweep. Only while Hydra is initialised."""
    from hydra.core.global_hydra import GlobalHydra

    _resolve_seldom()
    hydra: Any = GlobalHydra.instance().hydra
    files = hydra.config_loader.repository
    files.__class__ = _remembered_files()
    files.remember()
    hydra.config_loader = RememberingLoader(hydra.config_loader)


@cache
def _remembered_files() -> Any:
    from hydra._internal.config_repository import ConfigRepository
    from hydra.core.config_search_path import ConfigSearchPath

    class Files(ConfigRepository):
        def initialize_sources(self, config_search_path: ConfigSearchPath) -> None:
            """Like Hydra's own, which calls it once more for a hydra.searchpath."""
            super().initialize_sources(config_search_path)
            self.remember()

        def remember(self) -> None:
            """Put our sources in the place of Hydra's."""
            sources: list[Any] = [KINDS.get(source.scheme(), _itself)(source) for source in self.sources]
            self.sources = sources

    return Files


@cache
def _resolve_seldom() -> None:
    """Of each defaults list Hydra makes a configuration, in which it resolves interpolations (`- retriever: ${x}`). Let
    it do so for lists that hold any: making them is a fifth of composing."""
    from hydra._internal import defaults_list

    module: Any = defaults_list
    resolvable = module._create_interpolation_map

    def resolvable_where_needed(overrides: Any, defaults_list: Sequence[Any], self_added: bool) -> DictConfig:
        if any(default.is_interpolation() for default in defaults_list if not default.is_self()):
            made: DictConfig = resolvable(overrides, defaults_list, self_added)
            return made
        return OmegaConf.create()

    module._create_interpolation_map = resolvable_where_needed


def prefer_own(group: str) -> None:
    """Let the choices of a group in a named folder win over those of the program with the same name; of other files
    Hydra takes the first. Only while Hydra is initialised."""
    from hydra.core.global_hydra import GlobalHydra

    hydra: Any = GlobalHydra.instance().hydra
    hydra.config_loader.repository.__class__ = _own_first(group)


@cache
def _own_first(group: str) -> Any:
    from hydra.core.object_type import ObjectType

    class OwnFirst(_remembered_files()):  # type: ignore[misc]
        def _find_object_source(self, config_path: str, object_type: ObjectType | None) -> ConfigSource | None:
            named = [source for source in self.sources if source.provider == NAMED]
            is_choice = object_type == ObjectType.CONFIG and config_path.removeprefix("/").startswith(f"{group}/")
            own = [source for source in named if is_choice and source.is_config(config_path)]
            found: ConfigSource | None = super()._find_object_source(config_path, object_type)
            return own[0] if own else found

    return OwnFirst


class QuickFiles:
    """A config source of Hydra in a folder, which libyaml reads. Pickled to another process, it is Hydra's own again.

    Nothing is cached: the folder of a record is a new one for each command, and a composition is cached as a whole."""

    def __init__(self, source: ConfigSource) -> None:
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.source,)

    def __deepcopy__(self, memo: object) -> QuickFiles:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def load_config(self, config_path: str) -> ConfigResult:
        """Like Hydra's own."""
        file = self._path(self.source._normalize_file_name(config_path))
        result = self._read(file) if file is not None and file.is_file() else None
        return result or self.source.load_config(config_path)

    def _read(self, file: Path) -> ConfigResult | None:
        """The configuration that Hydra would read; None where the results might differ."""
        from hydra.plugins.config_source import ConfigResult, ConfigSource

        text = file.read_text(encoding="utf-8")
        if (values := _certain(text)) is None:
            return None
        header = ConfigSource._get_header_dict(text[:OF_HEADER])
        path = f"{self.source.scheme()}://{self.source.path}"
        return ConfigResult(self.source.provider, path, OmegaConf.create(values), header)

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Like Hydra's own."""
        folder = self._path(config_path)
        if folder is None:
            return list(self.source.list(config_path, results_filter))
        return sorted(_entries(folder, results_filter))

    def _path(self, name: str) -> Path | None:
        """A file or folder of the source; None for one in an archive, and for a missing package."""
        return Path(self.source.path, name)


class Remembering(QuickFiles):
    """A config source of Hydra in a package, that caches files and folders."""

    parsed: ClassVar[dict[tuple[str, int, int, int], bytes]] = {}  # pickled, which is the fastest way to copy
    listed: ClassVar[dict[tuple[str, int, int, ObjectType | None], list[str]]] = {}

    def load_config(self, config_path: str) -> ConfigResult:
        """Like Hydra's own, cached while the file is unchanged."""
        file = self._path(self.source._normalize_file_name(config_path))
        if file is None:
            return self.source.load_config(config_path)
        state = file.stat()
        key = (str(file), state.st_ino, state.st_mtime_ns, state.st_size)
        if key not in self.parsed:
            self.parsed[key] = pickle.dumps(super().load_config(config_path))
        result: ConfigResult = pickle.loads(self.parsed[key])  # noqa: S301 - made here
        return replace(result, provider=self.source.provider)

    def is_group(self, config_path: str) -> bool:
        """Like Hydra's own, without searching installed packages for a folder."""
        folder = self._path(config_path)
        return bool(self.source.is_group(config_path)) if folder is None else folder.is_dir()

    def is_config(self, config_path: str) -> bool:
        """Like Hydra's own, without searching installed packages for a file."""
        file = self._path(self.source._normalize_file_name(config_path))
        return bool(self.source.is_config(config_path)) if file is None else file.is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Like Hydra's own, cached while the folder is unchanged."""
        folder = self._path(config_path)
        if folder is None:
            return super().list(config_path, results_filter)
        state = folder.stat()
        key = (str(folder), state.st_ino, state.st_mtime_ns, results_filter)
        if key not in self.listed:
            self.listed[key] = super().list(config_path, results_filter)
        return self.listed[key]

    @cached_property
    def _package(self) -> Traversable:
        return resources.files(self.source.path)

    def _path(self, name: str) -> Path | None:
        with suppress(ValueError, ModuleNotFoundError, TypeError):
            path = self._package.joinpath(name)
            return path if isinstance(path, Path) else None
        return None


KINDS: dict[str, Any] = {"pkg": Remembering, "file": QuickFiles}  # by the scheme of a source


class RememberingLoader:
    """A config loader of Hydra that caches the composition of equal choices, and sets the plain values of a command
    line (`++k=3`) in a copy. Pickled to another process, it is Hydra's own again."""

    composed: ClassVar[dict[tuple[Any, ...], tuple[tuple[Any, ...], bytes]]] = {}  # (state of files, pickled)

    def __init__(self, loader: ConfigLoader) -> None:
        self.loader = loader

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.loader,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Like Hydra's own, cached while the files of the choices are unchanged."""
        from hydra.errors import ConfigCompositionException

        values = [override for override in overrides if self._is_value(override)]
        choices = [override for override in overrides if override not in values]
        how = (run_mode, from_shell, validate_sweep_overrides)
        if (state := self._state(choices)) is None:
            return self.loader.load_configuration(config_name, overrides, *how)
        key = (config_name, *choices, *how)
        cached = self.composed.pop(key, None)
        if cached is None or cached[0] != state:
            cached = state, pickle.dumps(self.loader.load_configuration(config_name, choices, *how))
        self.composed[key] = cached  # the latest is last
        while len(self.composed) > MOST_COMPOSED:
            del self.composed[next(iter(self.composed))]
        cfg: DictConfig = pickle.loads(cached[1])  # noqa: S301 - made here
        loader: Any = self.loader
        try:
            loader._apply_overrides_to_config([arguments.parse(value) for value in values], cfg)
            _set_task(cfg, overrides)
        except OmegaConfBaseException as error:
            raise ConfigCompositionException from error
        return cfg

    def _is_value(self, override: str) -> bool:
        """Whether Hydra applies an override after loading all files."""
        from hydra.errors import HydraException

        if not override.startswith("++") or override.startswith("++hydra"):
            return False
        try:
            parsed_override, files = arguments.parse(override), self.repository
        except HydraException:  # Hydra raises its own error
            return False
        is_plain = parsed_override.package is None and not parsed_override.is_sweep_override()
        return is_plain and not files.group_exists(str(parsed_override.key_or_group))

    def _state(self, choices: Sequence[str]) -> tuple[Any, ...] | None:
        """The state of all configuration files; None where some are in an archive, or where there are too many."""
        places = [(source.provider, source.scheme(), source.path) for source in self.loader.get_sources()]
        for choice in choices:
            if choice.startswith("hydra.searchpath"):
                named: Any = arguments.parse(choice).value()
                places += [(NAMED, *str(place).partition("://")[::2]) for place in named]
        state: list[Any] = []
        with suppress(ModuleNotFoundError, TypeError, OSError):
            for place in places:
                folder = resources.files(place[-1]) if place[1] == "pkg" else Path(place[-1])
                if place[1] in ("pkg", "file") and isinstance(folder, Path):
                    state += [place, *islice(_states(folder), MOST_FILES)]
                elif place[1] != "structured":
                    return None
            return tuple(state) if len(state) < MOST_FILES else None
        return None


def _entries(folder: Path, results_filter: ObjectType | None) -> set[str]:
    """The names of the groups and choices in a folder, or of one kind of them, as Hydra lists them."""
    from hydra.core.object_type import ObjectType

    names: set[str] = set()
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                is_group = results_filter in (None, ObjectType.GROUP) and entry.name != "__pycache__"
                names |= {entry.name} if is_group else set()
            elif results_filter in (None, ObjectType.CONFIG) and entry.name.endswith(".yaml") and entry.is_file():
                names.add(entry.name.removesuffix(".yaml"))
    return names


def _states(folder: Path | str) -> Iterator[tuple[str, int, int, int]]:
    """The state of the files in a folder, without reading them."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield entry.path, 0, 0, 0
                yield from _states(entry.path)
            elif entry.name.endswith(".yaml"):
                state = entry.stat()
                yield entry.path, state.st_ino, state.st_mtime_ns, state.st_size


def _set_task(cfg: DictConfig, overrides: Sequence[str]) -> None:
    """Set what Hydra records of a command line and its working folder."""
    from hydra._internal.config_loader_impl import get_overrides_dirname

    words = [parsed for override in overrides if not (parsed := arguments.parse(override)).is_hydra_override()]
    job, name_form = cfg.hydra.job, cfg.hydra.job.config.override_dirname
    cfg.hydra.overrides.task = [word.input_line for word in words]
    cfg.hydra.runtime.cwd = os.getcwd()  # noqa: PTH109 - as Hydra writes it
    job.override_dirname = get_overrides_dirname(words, name_form.exclude_keys, name_form.item_sep, name_form.kv_sep)
    with open_dict(cfg.hydra):
        for name in job.env_copy:
            job.env_set[name] = os.environ[name]


# --- choices of groups ------------------------------------------------------------------------------


def repository(loader: Any, search_path: Sequence[str]) -> Any:
    """The files of all groups: `get_group_options(group, ObjectType)` and `load_config(path)`, with an override of
    hydra.searchpath taken into account."""
    return _repository(loader, tuple(search_path))


@lru_cache(maxsize=1)
def _repository(loader: Any, search_path: tuple[str, ...]) -> Any:
    _, caching = loader._parse_overrides_and_create_caching_repo("config", list(search_path))
    return caching


def state_of_files(loader: Any, choices: Sequence[str]) -> tuple[Any, ...] | None:
    """The state of all configuration files, including those on a hydra.searchpath among the choices; it changes with
    any of them. None where it cannot be determined."""
    return loader._state(choices) if isinstance(loader, RememberingLoader) else None


# --- starting runs ----------------------------------------------------------------------------------


def start(
    task: Any,
    overrides: Sequence[str],
    *,
    is_sweep: bool,
    composed: Sequence[Cell] = (),
    jobs: Sequence[Sequence[str]] = (),
) -> None:
    """Pass the jobs to Hydra's launcher; the `composed` cells are not composed again. Without `jobs`: all combinations
    of the overrides. Only while Hydra is initialised. Hydra's main function would compose the configuration once more
    to find the mode."""
    from hydra.core.global_hydra import GlobalHydra

    hydra: Any = GlobalHydra.instance().hydra
    if composed:
        hydra.config_loader = ComposedLoader(hydra.config_loader, composed)
    mode = f"hydra.mode={'MULTIRUN' if is_sweep else 'RUN'}"
    if jobs:
        _launch(hydra, task, [*overrides, mode], jobs)
        return
    launch = hydra.multirun if is_sweep else hydra.run
    launch(config_name="config", task_function=task, overrides=[*overrides, mode])


class FastCopyConfig(DictConfig):
    """A node with a `deepcopy` in a fifth of OmegaConf's time, where its types can be pickled. In a worker of Ray they
    cannot: it has Hydra's plugins twice."""

    def __deepcopy__(self, memo: dict[int, Any]) -> DictConfig:
        above = self._get_parent()
        self._set_parent(None)
        try:
            copied: FastCopyConfig = pickle.loads(pickle.dumps(self))  # noqa: S301 - made here
        except (pickle.PicklingError, AttributeError, TypeError):
            self._set_parent(above)
            return super().__deepcopy__(memo)
        finally:
            self._set_parent(above)
        copied._set_parent(above)  # as DictConfig: kept without a copy
        return copied


def _launch(hydra: Any, task: Any, overrides: Sequence[str], jobs: Sequence[Sequence[str]]) -> None:
    """Launch jobs as Hydra's sweeper launches its own."""
    from hydra._internal.callbacks import Callbacks
    from hydra.core.plugins import Plugins
    from hydra.types import HydraContext, RunMode

    cfg = hydra.compose_config(
        config_name="config", overrides=list(overrides), with_log_configuration=False, run_mode=RunMode.MULTIRUN
    )
    context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(cfg))
    launcher = Plugins.instance().instantiate_launcher(hydra_context=context, task_function=task, config=cfg)
    for done in launcher.launch([list(job) for job in jobs], 0):
        _ = done.return_value  # raises the error of the job


class ComposedLoader:
    """A config loader of Hydra that returns composed `cells`. Pickled to another process, it is Hydra's own again."""

    def __init__(self, loader: ConfigLoader, cells: Sequence[Cell]) -> None:
        self.loader, self.cells = loader, {_key(cell.overrides): cell for cell in cells}
        self._pickled: dict[tuple[str, ...], bytes] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.loader,)

    def _copy(self, cell: Cell) -> DictConfig:
        """The configuration of a cell with its `hydra` node."""
        key = _key(cell.overrides)
        if key not in self._pickled:
            self._pickled[key] = cell.nodes.pickled
        copied: DictConfig
        copied, hydra = pickle.loads(self._pickled[key])  # noqa: S301 - made here
        hydra._set_parent(copied)
        copied._value()["hydra"] = hydra  # `copied["hydra"] = hydra` would copy it
        for node in (copied, hydra):  # Hydra copies each of them several times for one job
            object.__setattr__(node, "__class__", FastCopyConfig)  # `node.__class__ =` would add a setting
        return copied

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """The configuration of a cell. A sweep first loads one for launcher and folders: that of the first cell."""
        from hydra.types import RunMode

        cell = next(iter(self.cells.values())) if run_mode == RunMode.MULTIRUN else self.cells.get(_key(overrides))
        if cell is None:
            return self.loader.load_configuration(
                config_name, overrides, run_mode, from_shell, validate_sweep_overrides
            )
        cfg = self._copy(cell)
        parsed_overrides = [arguments.parse(override) for override in overrides]
        for override in parsed_overrides:
            if override.key_or_group in LATE:
                OmegaConf.update(cfg, str(override.key_or_group), override.value(), force_add=True)
        places = {source.provider: source.path for source in self.loader.get_sources()}
        for source in cfg.hydra.runtime.config_sources:  # files of a frozen configuration are in another folder by now
            source.path = places.get(source.provider, source.path)
        cfg.hydra.overrides.hydra = [each.input_line for each in parsed_overrides if each.is_hydra_override()]
        cfg.hydra.overrides.task = [each.input_line for each in parsed_overrides if not each.is_hydra_override()]
        with open_dict(cfg):
            cfg.hydra.job.config_name = config_name
        OmegaConf.set_struct(cfg, True)
        return cfg

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """Like Hydra's own, with the overrides processed as for the checked cells."""
        from hydra.types import RunMode

        words = [*master_config.hydra.overrides.hydra, *sweep_overrides]
        cfg = self.load_configuration(master_config.hydra.job.config_name, words, RunMode.RUN)
        OmegaConf.copy_cache(from_config=master_config, to_config=cfg)
        return cfg


def _itself(inner: T) -> T:
    return inner


def _key(overrides: Sequence[str]) -> tuple[str, ...]:
    """The overrides of a job without order and quoting: Hydra lists its own first, and formats all in its own way. Of a
    key that is given twice, the last counts, as in the job."""
    parsed = [arguments.parse(override) for override in overrides]
    deciding = [each for each in parsed if not each.is_hydra_override() and each.key_or_group != "out"]
    return tuple(
        {(key := each.get_key_element()): f"{key}={each.get_value_element_as_str()}" for each in deciding}.values()
    )
