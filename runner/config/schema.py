"""The settings of a component: a pydantic model of the signature of its class."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import get_protocol_members

from runner import protocols
from runner.config.result_checks import protocol_fault
from runner.errors import similar

if TYPE_CHECKING:
    from pydantic import BaseModel


LONGEST = 500  # most characters of a `_target_`
ALIKE = 0.85  # ratio of difflib: `provenence` and `provenance` have .9, `cached` and `caches` .83

# Names of moved classes in records of version 0.1.
MOVED = {
    "runner.retrieval.Retrieval": "runner.retrieval.stage.Retrieval",
    "runner.memory.context.ContextBuilder": "runner.domains.memory.context.ContextBuilder",
    "runner.memory.cleaning.Cleaning": "runner.commands.clean.Cleaning",
    "runner.domains.memory.cleaning.Cleaning": "runner.commands.clean.Cleaning",
    "runner.trace.profile.Profile": "runner.metrics.profile.Profile",
    "runner.trace.profile.AutoProfile": "runner.metrics.profile.AutoProfile",
    "runner.regression.Regression": "runner.compare.regression.Regression",
    "runner.testset.maker.QuestionMaker": "runner.commands.generate.maker.QuestionMaker",
    "runner.chat.talk.Talk": "runner.commands.chat.talk.Talk",
}


def current(target: str) -> str:
    """The current name of a `_target_`."""
    return MOVED.get(target, target)


def load(target: str) -> Any:
    """The class of a `_target_`. Raises ImportError or AttributeError, and TypeError for an object that is no class, or
    a class of Python itself."""
    module, _, name = current(target).rpartition(".")
    if len(target) > LONGEST:  # importing recurses once a dot
        raise ImportError(f"no class has a name of more than {LONGEST} characters")
    if not module:
        raise ImportError(f"'{target}' is not of the form package.module.Class")
    cls = getattr(importlib.import_module(module), name)
    if not inspect.isclass(cls):
        raise TypeError("it is no class")
    if cls.__module__.partition(".")[0] in sys.stdlib_module_names:
        raise TypeError("a class of Python itself is no component")
    return cls


@dataclass(frozen=True)
class Schema:
    """The settings of a component, from the signature of its class."""

    model: type[BaseModel]
    components: frozenset[str]
    groups: frozenset[str]  # arguments that take components by name
    optional: frozenset[str]  # arguments of both kinds that may be null or empty
    accepted: Mapping[str, tuple[type, ...]]  # argument -> accepted types of its components

    @property
    def roles(self) -> Mapping[str, type]:
        """The protocol of each argument that takes components."""
        protocols = {name: [each for each in kinds if _is_protocol(each)] for name, kinds in self.accepted.items()}
        return {name: kinds[0] for name, kinds in protocols.items() if kinds}

    def takes_components(self, name: str) -> bool:
        """Whether an argument may hold components; an untyped one may."""
        return name not in self.model.model_fields or self.model.model_fields[name].annotation is Any


def type_fault(cls: type, accepted: tuple[type, ...]) -> str | None:
    """Why a class has none of the accepted types; None where it is a subclass of one of them, or has the methods of a
    protocol."""
    faults = [fault for each in accepted if (fault := _type_fault(cls, each))]
    return faults[0] if accepted and len(faults) == len(accepted) else None


def _type_fault(cls: type, expected: type) -> str | None:
    name = f"{cls.__module__}.{cls.__qualname__}"
    if not getattr(expected, "_is_protocol", False):
        return None if issubclass(cls, expected) else f"expected {expected.__name__}; {name} is none"
    return protocol_fault(cls, expected, name)


@lru_cache(maxsize=1000)  # attributes of a class do not change; a class that was loaded again is another class
def similar_attributes(cls: type, settings: frozenset[str], roles: frozenset[type]) -> Mapping[str, str]:
    """Public attribute of a class -> similar optional attribute (runner.protocols) that the class lacks. Names of
    settings, and of attributes of protocols that the class fits, are left out."""
    fitting = {*roles, *(role for role in protocols.OPTIONAL if _type_fault(cls, role) is None)}
    role_names = {*settings, *(name for role in fitting for name in get_protocol_members(role))}
    optional = [*protocols.ANY, *(each for role in fitting for each in protocols.optional_of(role))]
    known_names = {name for each in (*optional, *fitting) for name in get_protocol_members(each)}
    names = _public_names(cls) | {*settings}
    similar_names: dict[str, str] = {}
    for name in sorted(names - role_names - known_names):
        if near := similar(name, sorted(known_names - names), cutoff=ALIKE):
            similar_names[name] = near
    return similar_names


def _public_names(cls: type) -> set[str]:
    """The public attributes of a class and its bases, without those of Python and of protocols."""
    bases = [
        base
        for base in inspect.getmro(cls)
        if base.__module__.partition(".")[0] not in sys.stdlib_module_names and not _is_protocol(base)
    ]
    names = {name for base in bases for name in (*vars(base), *inspect.get_annotations(base))}
    return {name for name in names if not name.startswith("_")}


@cache
def schema_of(target: str) -> Schema:
    """The schema of a class: a pydantic model of its keyword arguments, and which of them take components."""
    from pydantic import ConfigDict, create_model

    cls = load(target)
    hints = typing.get_type_hints(cls.__init__, include_extras=True)
    fields: dict[str, Any] = {}
    components, optional, groups = set(), set(), set()
    protocols: dict[str, tuple[type, ...]] = {}
    open_ended = False
    for name, parameter in inspect.signature(cls).parameters.items():
        hint = hints.get(name, Any)
        if typing.get_origin(hint) is typing.Unpack:
            fields.update(_unpack(*typing.get_args(hint)))
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
            continue
        if any(map(_is_component, (hint, *_alternatives(hint)))):
            components.add(name)
            if type(None) in _alternatives(hint):
                optional.add(name)
        elif named := [each for each in (hint, *_alternatives(hint)) if _holds_components(each)]:
            groups.add(name)
            if named[0] is not hint:
                optional.add(name)
        protocols[name] = tuple(filter(_is_component, _parts_of(hint)))
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (_plain_annotation(hint), default)
    extra: Literal["allow", "forbid"] = "allow" if open_ended else "forbid"
    config = ConfigDict(extra=extra, strict=True, arbitrary_types_allowed=True, allow_inf_nan=False)
    model = create_model("Settings", __config__=config, **fields)
    return Schema(model, frozenset(components), frozenset(groups), frozenset(optional), protocols)


def _unpack(settings: Any) -> dict[str, tuple[Any, Any]]:
    """The settings of an unpacked TypedDict (`**server: Unpack[RedisSettings]`)."""
    hints = typing.get_type_hints(settings, include_extras=True)
    return {name: (hint, ... if name in settings.__required_keys__ else None) for name, hint in hints.items()}


def _is_component(hint: Any) -> bool:
    """Whether a hint is a protocol or a class of the runner; a TypedDict is a mapping of settings."""
    if not isinstance(hint, type) or issubclass(hint, dict):
        return False
    return _is_protocol(hint) or hint.__module__.startswith("runner.")


def _is_protocol(hint: Any) -> bool:
    return isinstance(hint, type) and bool(getattr(hint, "_is_protocol", False))


def _parts_of(hint: Any) -> tuple[Any, ...]:
    """The annotation, its arguments, and its alternatives."""
    inner = (part for each in _alternatives(hint) for part in typing.get_args(each))
    return (hint, *typing.get_args(hint), *inner)


def _holds_components(hint: Any) -> bool:
    """Whether an annotation is like `dict[str, Judge]`."""
    return typing.get_origin(hint) is dict and _is_component(typing.get_args(hint)[1])


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The alternatives of `Judge | None`."""
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else ()


def _plain_annotation(hint: Any) -> Any:
    """The annotation, or Any where it holds a component."""
    return Any if any(map(_is_component, _parts_of(hint))) else hint
