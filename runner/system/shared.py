"""Objects that the cells of a sweep share in one process: made on first use, released when the command ends.

    with sharing():
        make_once("data", key, read)      # reads
        make_once("data", key, read)      # returns the same object

Outside of `sharing` each call makes a new object. Of each kind the latest few are kept, so that a sweep over data sets
does not hold all of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol, TypeVar, cast

import orjson

S = TypeVar("S")
T = TypeVar("T")

KEPT = 2  # of each kind

_depth = 0  # of commands, one within the other
_are_several = False  # cells of the command
_command = ""  # whose cells a worker process runs
_objects: dict[str, dict[Hashable, Any]] = {}
_portable: set[str] = set()  # kinds that other processes may take over
_derived: set[str] = set()  # kinds that are made from an object
_settings: dict[int, tuple[weakref.ref[Any], Callable[[], Hashable]]] = {}


@contextmanager
def sharing(*, several: bool = True) -> Iterator[None]:
    """Shares objects in one command, of one or `several` cells; no effect within another one."""
    global _depth, _are_several
    _are_several = _are_several if _depth else several
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _objects.clear()


def are_several() -> bool:
    """Whether a further cell may ask for what one keeps."""
    return _are_several if _depth else bool(_command)


def is_sharing() -> bool:
    """Whether a command runs, which asks for the same again and again."""
    return bool(_depth or _command)


def share_in_worker(command: str) -> None:
    """A worker process does not learn when a command ends: its objects are released when the next command begins."""
    global _command
    if not _depth and _command != command:
        _objects.clear()
        _command = command


def make_once(kind: str, key: Hashable, make: Callable[[], T], *, portable: bool = False) -> T:
    """The object made for this key before, else the result of `make`. `portable`: processes that do a part of the same
    work may take it over (runner.system.handover)."""
    if portable:
        _portable.add(kind)
    if not (_depth or _command):
        return make()
    objects = _objects.setdefault(kind, {})
    value: T = objects.pop(key) if key in objects else make()
    objects[key] = value  # the latest stands last
    while len(objects) > KEPT:
        del objects[next(iter(objects))]
    return value


def shared_of(kind: str, source: S, key: Hashable, make: Callable[[], T]) -> T:
    """The object made from this very `source` before, kept as long as the source, else the result of `make`."""
    _derived.add(kind)
    entry: tuple[S, T] = make_once(kind, (id(source), key), lambda: (source, make()))
    return entry[1]


class _WithId(Protocol):
    @property
    def id(self) -> str: ...


def case_ids(cases: Sequence[_WithId]) -> Sequence[str]:
    """The ids of all cases, for which a large data set reads all of them, once."""
    return shared_of("ids", cases, None, lambda: [case.id for case in cases])


@dataclass(frozen=True, slots=True)
class PortableObject:
    """An object for another process. `key`: of `make_once`, or the `rest` of `shared_of`, which made it from
    `source`."""

    kind: str
    key: Hashable
    value: Any
    source: Any = None
    is_derived: bool = False


def portable_objects() -> list[PortableObject]:
    """The latest object of each kind that other processes may take over, and the objects derived from these."""
    latest = {kind: next(reversed(_objects[kind].items())) for kind in (*_portable, *_derived) if _objects.get(kind)}
    objects = [PortableObject(kind, *latest[kind]) for kind in _portable if kind in latest]
    for kind in _derived & set(latest):
        key, (source, value) = latest[kind]
        objects.append(PortableObject(kind, cast("tuple[int, Hashable]", key)[1], value, source, is_derived=True))
    return objects


def take_over(objects: Sequence[PortableObject]) -> None:
    """Count objects as made here; within `sharing`."""
    for shared_object in objects:
        if shared_object.is_derived:
            _objects.setdefault(shared_object.kind, {})[id(shared_object.source), shared_object.key] = (
                shared_object.source,
                shared_object.value,
            )
        else:
            _objects.setdefault(shared_object.kind, {})[shared_object.key] = shared_object.value


def digest_of(value: object) -> bytes | None:
    """The digest of a JSON value or record; None for another value."""
    try:
        return blake2b(orjson.dumps(value), digest_size=16).digest()
    except TypeError:
        return None


def settle(component: Any, settings: Callable[[], Hashable]) -> None:
    """Remember the settings of a component, by which `settings_of` recognises an equal one."""
    place = id(component)

    def forget(_: Any) -> None:
        _settings.pop(place, None)

    with suppress(TypeError):  # of a class whose objects cannot be followed
        _settings[place] = weakref.ref(component, forget), settings


def settings_of(component: Any) -> Hashable:
    """None where it is not known."""
    reference, settings = _settings.get(id(component), (None, lambda: None))
    return settings() if reference is not None and reference() is component else None
