"""From configuration to objects: one memoised walk over everything that `evaluation` reaches.

A component is a mapping with `_target_`. The walk follows interpolations, so a part that two components share is
visited and built once. The same walk checks, fingerprints and builds.
"""

from __future__ import annotations

import typing
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from runner.config.frozen import CONF, read_mapping
from runner.config.hydra_internals import OPTION, holds, key_of, names_in, raw_value, value_of
from runner.config.result_checks import (
    BY_KEY,
    checked_component,
    make_component,
    missing_methods,
    returns_alike,
    unchecked,
)
from runner.config.schema import Schema, current, load, schema_of, similar_attributes, type_fault
from runner.errors import ConfigError, Problem, describe_unexpected, did_you_mean, expectation, text_of
from runner.llm.address import NOT_SHOWN
from runner.protocols import ABSENT, attribute_of
from runner.system import terminal
from runner.system.redaction import mark_secrets, marking, without_marks
from runner.system.shared import settle
from runner.system.sources import code_digest, data_digest, data_files, modules_of
from runner.system.store import fingerprint
from runner.words.wording import LANGUAGES, supported_language

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
Visit = Callable[[str, str, dict[str, Any]], T]

PROVIDERS = ("provider.", "models.providers.")
LISTS = ("list_type", "tuple_type", "set_type")  # error types of pydantic
NOT_A_MAPPING = ("dict_type", "model_type", "model_attributes_type", "dataclass_type")

UNLOADABLE = (ImportError, AttributeError, NameError, TypeError, ValueError)
# The components that no argument takes, by key.
ROOTS: Mapping[str, str] = {
    "evaluation": "runner.protocols.Evaluation",
    "tracking": "runner.protocols.Tracking",
    "regression": "runner.compare.regression.Regression",
    "profile": "runner.metrics.profile.ProfileChoice",
    "models": "runner.llm.models.Models",
    "testset": "runner.commands.generate.maker.QuestionMaker",
    "chat": "runner.commands.chat.talk.Talk",
    "clean": "runner.commands.clean.Cleaning",
}

# Run options on which no result depends: time limits, messages and folders.
IMPLIED = "\0implied"  # stands for the component that was fixed before the group existed
NOT_IN_IDENTITY = frozenset({"timeout_ms", "warmup", "strict", "cache_dir", "cold_start", "dry_run"})


@dataclass
class Walk(Generic[T]):
    """Visits components depth first; `visit(key, target, arguments)` gets visited arguments."""

    visit: Visit[T]
    problems: list[Problem] = field(default_factory=list)
    memo: dict[int, T] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)  # setting -> the option that it interpolates
    places: dict[int, str] = field(default_factory=dict)  # id of a node -> key

    def component(self, node: DictConfig) -> T:
        """The result of `visit` for a node; each node is visited once."""
        if id(node) not in self.memo:
            key = key_of(node)
            with without_marks():
                target = str(value_of(node, "_target_") if holds(node, "_target_") else None)
            arguments = {str(name): self._item(node, name) for name in names_in(node) if name != "_target_"}
            self.memo[id(node)] = self.visit(key, target, arguments)
            self.keys[key] = id(node)
        return self.memo[id(node)]

    def _item(self, parent: DictConfig | ListConfig, name: Any) -> Any:
        raw = raw_value(parent, name)
        if isinstance(raw, str) and (option := OPTION.fullmatch(raw)):
            self.aliases[self._place(parent, name)] = option.group(1)
        try:
            return self._value(value_of(parent, name))
        except MissingMandatoryValue:
            key = key_of(parent, name)
            self.problems.append(Problem(key, f"a value is required; give one with {key}=VALUE"))
        except OmegaConfBaseException as error:
            self.problems.append(Problem(key_of(parent, name), str(error).splitlines()[0]))
        return None

    def _place(self, parent: DictConfig | ListConfig, name: Any) -> str:
        """`key_of(parent, name)`, cached per node, since it walks up to the root."""
        if isinstance(parent, ListConfig):
            return key_of(parent, name)
        if id(parent) not in self.places:
            self.places[id(parent)] = key_of(parent)
        above = self.places[id(parent)]
        return f"{above}.{name}" if above else str(name)

    def _value(self, value: Any) -> Any:
        if isinstance(value, DictConfig):
            if holds(value, "_target_"):
                return self.component(value)
            return {str(name): self._item(value, name) for name in names_in(value)}
        if isinstance(value, ListConfig):
            return [self._item(value, index) for index in range(len(value))]
        return value


@dataclass(frozen=True)
class Component:
    """Represents a component during the check. `cls`: None where it cannot be loaded."""

    key: str
    cls: type | None

    def problem(self, types: tuple[type, ...]) -> Problem | None:
        """The problem of a component with the wrong type, with the choices that would fit."""
        fault = None if self.cls is None else type_fault(self.cls, types)
        if fault is None:
            return None
        choices = [f"{self.key}={name}" for name in _fitting_choices(self.key, types)]
        return Problem(f"{self.key}._target_", fault + (f"; expected {' or '.join(choices)}" if choices else ""))


def _fitting_choices(group: str, types: tuple[type, ...]) -> Iterator[str]:
    """The choices of the program that fit."""
    for path in sorted(CONF.joinpath(*group.split(".")).glob("*.yaml")):
        try:
            cls = load(str(read_mapping(path).get("_target_")))
        except UNLOADABLE:  # its packages are not installed
            continue
        if type_fault(cls, types) is None and any(returns_alike(cls, each) for each in types):
            yield path.stem


def check(*nodes: DictConfig) -> list[Problem]:
    """All problems in the settings of `nodes` and of the components that they reach."""
    problems: list[Problem] = []

    def visit(key: str, target: str, arguments: dict[str, Any]) -> Component:
        problems.extend(_check_one(key, target, arguments, {problem.key for problem in problems}))
        try:
            return Component(key, load(target))
        except UNLOADABLE:
            return Component(key, None)

    walk = Walk(visit, problems)
    for node in nodes:
        root = walk.component(node)
        wanted = (load(ROOTS[root.key]),) if root.key in ROOTS else ()
        problems += filter(None, [root.problem(wanted)])
    return [_rename_to_option(problem, walk.aliases) for problem in problems]


Misspelt = tuple[str, str, str]  # `_target_`, attribute, similar optional attribute


def note_misspelt(attributes: Iterable[Misspelt], language: object) -> None:
    """Print a note for each attribute of a component that looks like a misspelt optional one."""
    for target, name, near in dict.fromkeys(attributes):
        terminal.note(LANGUAGES[supported_language(language)]("progress.misspelt", target=target, name=name, near=near))


def misspelt_attributes(node: DictConfig) -> list[Misspelt]:
    """The misspelt attributes of the components that `node` reaches, which must have passed `check`."""
    targets: dict[str, str] = {}
    roles: dict[str, set[type]] = defaultdict(set)

    def visit(key: str, target: str, arguments: dict[str, Any]) -> Component:
        targets[key] = current(target)
        for name, role in schema_of(target).roles.items():
            for part in _components_in(arguments.get(name)):
                roles[part.key].add(role)
        return Component(key, load(target))

    Walk(visit).component(node)
    settings = {target: frozenset(schema_of(target).model.model_fields) for target in targets.values()}
    return [
        (target, name, near)
        for key, target in targets.items()
        for name, near in similar_attributes(load(target), settings[target], frozenset(roles[key])).items()
    ]


def keys(node: DictConfig) -> set[str]:
    """The keys of `node` and of the components that it reaches."""
    walk: Walk[None] = Walk(lambda key, target, arguments: None)
    walk.component(node)
    return set(walk.keys)


def _rename_to_option(problem: Problem, aliases: Mapping[str, str]) -> Problem:
    """The problem under the key of the option that the setting interpolates."""
    key = problem.key
    for setting, option in aliases.items():
        if key == setting or key.startswith(f"{setting}."):
            typed = option + key.removeprefix(setting)
            return Problem(typed, problem.message.replace(f"{key}=", f"{typed}="))
    return problem


def identity(node: DictConfig) -> str:
    """Hash over the classes and settings of `node` and of the components that it reaches."""
    return _identities(node, with_code=False)[id(node)]


@dataclass(frozen=True)
class BuiltComponents:
    """Built components. `root`: the object of the given node; `parts`: config key -> object; `tracebacks`: error line
    -> traceback of errors in components."""

    root: Any
    parts: Mapping[str, Any]
    tracebacks: Mapping[str, str]
    hashed: Callable[[], Mapping[int, str]]

    @cached_property
    def identities(self) -> Mapping[int, str]:
        """Maps `id(object)` to a hash of its settings and of the source of its class (runner.system.sources), computed
        on access."""
        return self.hashed()


def build(node: DictConfig) -> BuiltComponents:
    """Build the components; each gets the others as views that check their results (runner.config.result_checks).
    Raises ConfigError, and ComponentError for a component that cannot be built or lacks methods of its protocol."""
    views = _Views()

    def visit(key: str, target: str, arguments: dict[str, Any]) -> Any:
        schema = schema_of(target)
        for name, role in schema.roles.items():
            if arguments.get(name) is not None:
                arguments[name] = views.of_parts(arguments[name], role, key)
        component = make_component(
            key, target, lambda: load(target)(**without_unused(schema, arguments)), views.tracebacks
        )
        for name, role in schema.roles.items():
            for part in _parts(arguments.get(name)):
                missing_methods(part, role, views.key_of(part, key))
        return views.add(component, key)

    objects: Walk[Any] = Walk(visit)
    root = objects.component(node)
    if objects.problems:
        raise ConfigError(objects.problems)
    parts = {key: views.latest(objects.memo[node_id]) for key, node_id in objects.keys.items()}
    for key, part in parts.items():
        for view in views.all_of(part):
            settle(view, partial(_settings, node, key, type(part)))
    return BuiltComponents(views.latest(root), parts, views.tracebacks, partial(_identities_of, node, objects, views))


class _Views:
    """The views of the components of a build. A component has one for each protocol that it is used by; they share
    what the checks remember."""

    def __init__(self) -> None:
        self.tracebacks: dict[str, str] = {}
        self._keys: dict[int, str] = {}  # by the id of a component
        self._states: dict[int, dict[tuple[str, int], Any]] = {}
        self._views: dict[int, list[Any]] = {}  # of a component, which comes first
        self._by_role: dict[tuple[int, type], Any] = {}

    def add(self, component: Any, key: str) -> Any:
        """Remember a new component with its key. Returns a view of it that suits the key."""
        raw = unchecked(component)
        self._keys[id(raw)] = key
        self._views[id(raw)] = [raw] if component is raw else [raw, component]
        return self._of(component, BY_KEY[key]) if key in BY_KEY else component

    def of_parts(self, parts: Any, role: type, key: str) -> Any:
        """The components in an argument of a component with this key, each as a view of the role."""
        if isinstance(parts, dict):
            return {name: None if part is None else self._of(part, role, key) for name, part in parts.items()}
        return self._of(parts, role, key)

    def _of(self, component: Any, role: type, key: str = "") -> Any:
        raw = unchecked(component)
        if (id(raw), role) not in self._by_role:
            state = self._states.setdefault(id(raw), {})
            view = checked_component(raw, role, self.key_of(raw, key), self.tracebacks, state)
            self._views.setdefault(id(raw), [raw]).append(view)
            self._by_role[id(raw), role] = view
        return self._by_role[id(raw), role]

    def key_of(self, component: Any, default: str) -> str:
        """The key of a component."""
        return self._keys.get(id(unchecked(component)), default)

    def all_of(self, component: Any) -> Sequence[Any]:
        """The component and its views."""
        views: Sequence[Any] = self._views.get(id(unchecked(component)), [component])
        return views

    def latest(self, component: Any) -> Any:
        """The latest view of a component, which checks most."""
        return self.all_of(component)[-1]


def _identities_of(node: DictConfig, objects: Walk[Any], views: _Views) -> dict[int, str]:
    hashes = _identities(node, with_code=True)
    return {id(view): digest for node_id, digest in hashes.items() for view in views.all_of(objects.memo[node_id])}


def _settings(node: DictConfig, key: str, cls: type) -> Hashable:
    """The settings of a component, and the folder in which it looks for files where it reads any."""
    made_from = OmegaConf.to_container(OmegaConf.select(node._get_root(), key), resolve=True)
    return cls.__module__, cls.__qualname__, repr(made_from), str(Path.cwd())


def _parts(value: Any) -> list[Any]:
    """The components in an argument that takes one, several by name, or none."""
    parts = list(value.values()) if isinstance(value, dict) else [value]
    return [part for part in parts if part is not None]


def _identities(node: DictConfig, *, with_code: bool) -> dict[int, str]:
    """Node id -> hash, of everything that `node` reaches."""

    def visit(key: str, target: str, arguments: dict[str, Any]) -> str:
        cls = load(target)
        if attribute_of(cls, "not_in_identity"):
            return ""
        if attribute_of(cls, "is_implied"):
            return IMPLIED
        identifying = {
            name: value
            for name, value in arguments.items()
            if value != IMPLIED
            and walk.aliases.get(f"{key}.{name}") not in NOT_IN_IDENTITY
            and name not in attribute_of(cls, "incidental")
        }
        return fingerprint(
            [current(target), mark_secrets(identifying), _source_of(current(target)) if with_code else None]
        )

    walk: Walk[str] = Walk(visit)
    with marking():
        walk.component(node)
    return walk.memo


@cache
def _source_of(target: str) -> str:
    """Hash of the code of a class and of its data files."""
    component = load(target)
    return fingerprint([code_digest(*modules_of(component, target)), data_digest(component)])


def _check_one(key: str, target: str, arguments: dict[str, Any], known_bad: set[str]) -> list[Problem]:
    try:
        schema = schema_of(target)
    except UNLOADABLE as error:
        return [Problem(f"{key}._target_", f"cannot load '{target}': {text_of(error)}")]
    except (Exception, SystemExit) as error:  # importing its module may raise anything
        return [Problem(f"{key}._target_", f"cannot load '{target}': {describe_unexpected(error)}")]
    arguments = without_unused(schema, arguments)
    checked = {name: value for name, value in arguments.items() if f"{key}.{name}" not in known_bad}
    problems = _data_problems(key, target)
    problems += [
        Problem(f"{key}.{name}", "expected a component (a mapping with _target_)")
        for name in schema.components & checked.keys()
        if not (isinstance(checked[name], Component) or (checked[name] is None and name in schema.optional))
    ]
    problems += [
        Problem(f"{key}.{name}", "expected components by name (mappings with _target_), at least one")
        for name in schema.groups & checked.keys()
        if not _are_components(checked[name]) and (checked[name] or name not in schema.optional)
    ]
    return problems + _misplaced_components(key, schema, checked) + _violations(key, schema.model, checked, known_bad)


def without_unused(schema: Schema, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments without null settings such as `refuse_below: null` that a replacement class does not know."""
    known, takes_all = schema.model.model_fields, schema.model.model_config.get("extra") == "allow"
    spared = {name for name, absent in ABSENT.items() if absent is None and not takes_all and name not in known}
    return {name: value for name, value in arguments.items() if value is not None or name not in spared}


def _misplaced_components(key: str, schema: Schema, arguments: Mapping[str, Any]) -> list[Problem]:
    """Problems of components in arguments that do not take them."""
    problems: list[Problem | None] = []
    for name, value in arguments.items():
        components = list(_components_in(value))
        if components and not schema.takes_components(name):
            problems.append(Problem(f"{key}.{name}", f"no component belongs here ({components[0].key} is one)"))
        problems += [component.problem(schema.accepted.get(name, ())) for component in components]
    return [problem for problem in problems if problem is not None]


def _components_in(value: Any) -> Iterator[Component]:
    """The components in an argument."""
    if isinstance(value, Component):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _components_in(inner)


def _data_problems(key: str, target: str) -> list[Problem]:
    try:
        data_files(load(target))
    except FileNotFoundError as error:
        return [Problem(f"{key}._target_", str(error))]
    return []


def _violations(key: str, model: type[BaseModel], settings: dict[str, Any], known_bad: set[str]) -> list[Problem]:
    from pydantic import ValidationError

    try:
        model.model_validate(settings)
    except ValidationError as error:
        found = [violation(key, dict(item), _settings_at(model, item["loc"])) for item in error.errors()]
        return [problem for problem in found if problem.key not in known_bad]
    return []


def _settings_at(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """The known settings at `place`, which may lie in a mapping of settings (a TypedDict)."""
    if len(place) < 2:
        return list(model.model_fields)
    hint = model.model_fields[str(place[0])].annotation
    return [name for part in (hint, *typing.get_args(hint)) for name in getattr(part, "__annotations__", ())]


def violation(key: str, error: Mapping[str, Any], names: list[str]) -> Problem:
    """A pydantic error as a Problem; `names`: the known settings."""
    place = ".".join([key, *(str(part) for part in error["loc"])]).strip(".")
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return Problem(place, f"unknown setting{did_you_mean(str(error['loc'][-1]), names)}")
    if kind == "missing":
        return Problem(place, f"a value is required; give one with {place}=VALUE")
    if kind == "literal_error":
        choices = [choice.strip("'") for choice in str(context["expected"]).replace(" or ", ", ").split(", ")]
        near = did_you_mean(str(error["input"]), choices)
        hint = near if "did you mean" in near else ""
        return Problem(place, f"expected {context['expected']}, got {error['input']!r}{hint}")
    message = str(error["msg"])
    if kind == NOT_SHOWN:
        return Problem(place, message)
    if kind in LISTS:
        return as_list(place, error["input"])
    message = expectation(message)
    message = "a mapping" if kind in NOT_A_MAPPING else message
    return Problem(place, f"expected {message}{got_text(place, error['input'])}{_as_sweep(place, error['input'])}")


def _as_sweep(key: str, value: Any) -> str:
    """The way to give `k=[3,5]`, where one number is expected, to a run each."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(each, int | float | str) for each in value):
        return ""
    return f"; {key}={','.join(map(str, value))} is a sweep, a run for each" if got_text(key, value) else ""


def as_list(key: str, value: Any) -> Problem:
    """The problem of one value in place of a list."""
    shown = got_text(key, value)
    is_plain = shown and isinstance(value, int | float | str)
    return Problem(key, f"expected a list ({key}=[{value if is_plain else '…'}]){shown}")


def got_text(place: str, value: Any) -> str:
    """`, got …` of a message; empty for texts in settings of providers, which may be secrets."""
    may_be_secret = f"{place}.".startswith(PROVIDERS) and not isinstance(value, int | float | None)
    return "" if may_be_secret else f", got {value!r}"


def _are_components(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(each, Component) for each in value.values())
