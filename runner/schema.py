"""What may be set of a component: a pydantic model of the signature of its class."""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import BaseModel


def load(target: str) -> Any:
    """The class behind a `_target_`. Raises ImportError or AttributeError."""
    module, _, name = target.rpartition(".")
    if not module:
        raise ImportError(f"'{target}' is not of the form package.module.Class")
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Schema:
    model: type[BaseModel]
    components: frozenset[str]
    optional: frozenset[str]  # those of them that may be null
    groups: frozenset[str]  # arguments that take components by name
    roles: Mapping[str, type]  # the protocol of each argument that takes one component, or several by name


@cache
def schema_of(target: str) -> Schema:
    """A pydantic model of the keyword arguments of a class; those typed with a component are noted."""
    from pydantic import ConfigDict, create_model

    cls = load(target)
    init = cls.__init__ if inspect.isclass(cls) else cls
    hints = typing.get_type_hints(init, include_extras=True)
    fields: dict[str, Any] = {}
    components, optional, groups = set(), set(), set()
    roles: dict[str, type] = {}
    open_ended = False
    for name, parameter in inspect.signature(cls).parameters.items():
        hint = hints.get(name, Any)
        if typing.get_origin(hint) is typing.Unpack:
            fields.update(_unpacked(*typing.get_args(hint)))
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
            continue
        if any(map(_is_component, (hint, *_alternatives(hint)))):
            components.add(name)
            if type(None) in _alternatives(hint):
                optional.add(name)
        elif typing.get_origin(hint) is dict and _is_component(typing.get_args(hint)[1]):
            groups.add(name)
        if protocols := [each for each in (hint, *typing.get_args(hint)) if _is_protocol(each)]:
            roles[name] = protocols[0]
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (_plain(hint), default)
    extra: Literal["allow", "forbid"] = "allow" if open_ended else "forbid"
    config = ConfigDict(extra=extra, strict=True, arbitrary_types_allowed=True, allow_inf_nan=False)
    model = create_model("Settings", __config__=config, **fields)
    return Schema(model, frozenset(components), frozenset(optional), frozenset(groups), roles)


def _unpacked(settings: Any) -> dict[str, tuple[Any, Any]]:
    """The settings of a TypedDict that several components take (`**server: Unpack[RedisSettings]`)."""
    hints = typing.get_type_hints(settings, include_extras=True)
    return {name: (hint, ... if name in settings.__required_keys__ else None) for name, hint in hints.items()}


def _is_component(hint: Any) -> bool:
    """A protocol, or a class of the runner itself; a TypedDict is a mapping of settings."""
    if not isinstance(hint, type) or issubclass(hint, dict):
        return False
    return _is_protocol(hint) or hint.__module__.startswith("runner.")


def _is_protocol(hint: Any) -> bool:
    return isinstance(hint, type) and bool(getattr(hint, "_is_protocol", False))


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Of `Judge | None`."""
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else ()


def _plain(hint: Any) -> Any:
    """The annotation, or Any where it holds a component."""
    return Any if _is_component(hint) or any(map(_is_component, typing.get_args(hint))) else hint
