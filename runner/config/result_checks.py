"""Checks of what components return: between the core and a component stands a CheckedComponent.

A component that is built from a configuration is handed on as a view that checks what its methods return. It checks
against the annotations of the protocol and the promises of its docstrings (lengths, order, ranges, known ids), and
turns unexpected exceptions into ComponentError. Both errors name the component: a wrong component causes an error and
never a wrong number. Our own components are checked in the same way.

    retriever (mine.Wrong): search: query q7: scores are not in descending order: 0.2 stands before 0.9
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import itertools
import json
import sys
import traceback
import types
import typing
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import pairwise
from math import isfinite
from operator import gt
from typing import Any, NoReturn

import numpy as np
import orjson

from runner import protocols
from runner.errors import ComponentError, InputError, RunnerError, StopRunError, describe_unexpected, text_of
from runner.records import (
    Answer,
    Assessment,
    CaseSet,
    Corpus,
    DataProblem,
    DataSet,
    GivenResults,
    Judgement,
    Preparation,
    Query,
    Ranking,
    Scores,
    Timing,
    Trajectory,
)
from runner.system.shared_record import SharedRecord
from runner.system.writing import FULL
from runner.text.chunking import Passage
from runner.text.citations import citations

LISTS: tuple[type, ...] = (list, tuple)
ROUNDING = 1e-6  # tolerance of numbers in 0..1: float32 cosines reach 1.0000001
NOT_UNIT = 2e-3  # tolerance of the squared norm of a vector
LARGEST = sys.float_info.max
LOGGED = 20  # most tracebacks of different errors that a run keeps
# Methods that Python looks up on the type of an object, so that a view needs them on its own type.
SPECIAL = ("__len__", "__iter__", "__contains__", "__getitem__", "__call__", "__aenter__", "__aexit__")
LARGEST_SHOWN = 60  # characters of a value in a message

# Protocols by config key, for components at the root of a configuration or in untyped arguments.
BY_KEY: Mapping[str, type] = {
    "evaluation": protocols.Evaluation,
    "retriever": protocols.Retriever,
    "embedder": protocols.Embedder,
    "tokenizer": protocols.Tokenizer,
    "generator": protocols.Generator,
    "judge": protocols.Judge,
    "system": protocols.System,
    "tracking": protocols.Tracking,
}
EXIT_CODES = {"__init__": 1, "preflight": 1, "provenance": 1, "load": 1, "index": 2}
# Methods whose TimeoutError means that a case, a conversation or a call ran out of time.
MAY_TIME_OUT = frozenset(
    {"run", "judge", "generate", "ask", "search", "search_async", "embed", "rerank", "suggest", "summarise", "shorten"}
    | {"append", "read", "update", "delete", "inspect", "commit"}
)


@dataclass
class ResultChecker:
    """Checks one method of one component. `log`: error line -> traceback, shared by all components of a build;
    `state`: facts about a component (by id) and its copies."""

    key: str
    name: str
    method: str
    log: dict[str, str] = field(default_factory=dict, repr=False)
    state: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False)
    is_async: bool = False

    def wrong(self, message: str) -> ComponentError:
        """The error for an output that breaks the protocol."""
        return ComponentError(f"{self.key} ({self.name}): {self.method}: {message}", EXIT_CODES.get(self.method, 3))

    def crash_error(self, error: BaseException) -> ComponentError:
        """The error for an exception that the component should not have raised; its traceback goes into the log."""
        error_found = self.wrong(describe_unexpected(error))
        if len(self.log) < LOGGED:
            self.log.setdefault(str(error_found), "".join(traceback.format_exception(error)))
        return error_found

    def ours(self) -> bool:
        """Whether the class is part of this program."""
        return self.name.partition(".")[0] in ("runner", "plugins")

    def error_to_raise(self, error: BaseException) -> BaseException:
        """The error to raise: errors that the core knows are unchanged, others name the component."""
        if isinstance(error, BaseExceptionGroup):
            return self._of_group(error)
        if isinstance(error, ComponentError):
            error.exit_code = min(error.exit_code, EXIT_CODES.get(self.method, 3))
            return error
        if isinstance(error, KeyboardInterrupt) or _is_cancelled(error, is_async=self.is_async):
            return error
        if isinstance(error, RunnerError):
            return error if _can_be_shown(error) else self.crash_error(error)
        if isinstance(error, TimeoutError) and self.method in MAY_TIME_OUT:
            return error if _can_be_shown(error) else self.crash_error(error)
        if isinstance(error, OSError) and error.errno is not None and (self.ours() or error.errno in FULL):
            return error
        return self.crash_error(error)

    def _of_group(self, group: BaseExceptionGroup[BaseException]) -> BaseException:
        """The error to raise for an exception group of a TaskGroup; errors that end the run come first."""
        leaves = list(_leaves(group))
        for leaf in leaves:
            leaf.__traceback__ = leaf.__traceback__ or group.__traceback__
        grave: list[type[BaseException]] = [KeyboardInterrupt, StopRunError, InputError]
        ends = (leaf for kind in grave for leaf in leaves if isinstance(leaf, kind))
        return self.error_to_raise(next(ends, leaves[0]))


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _can_be_shown(error: BaseException) -> bool:
    try:
        str(error)
    except Exception:
        return False
    return True


def _is_cancelled(error: BaseException, *, is_async: bool) -> bool:
    """Whether the caller cancelled the task; a component may also raise CancelledError itself."""
    if isinstance(error, GeneratorExit):
        return is_async  # its coroutine is closed
    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


@contextmanager
def guard(checker: ResultChecker) -> Iterator[None]:
    """Convert the errors that leave the body into those that name the component."""
    try:
        yield
    except BaseException as error:
        raise_checked(checker, error)


def raise_checked(checker: ResultChecker, error: BaseException) -> NoReturn:
    """Raise an error in the form that names the component."""
    leaving = checker.error_to_raise(error)
    if leaving is error:
        raise error
    raise leaving from error


# --- a checked component --------------------------------------------------------------------------


class CheckedComponent:
    """A component as others see it: its methods return checked results, and all else is the component's own.

    The component itself is unchanged, so that any class can be checked, whatever it says about subclasses, attributes
    or slots. `isinstance`, the name of the type, attributes and copies are those of the component.
    """

    __slots__ = ("__dict__", "__weakref__", "_checked", "_component")

    _checked: ComponentChecks
    _component: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self._component, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._component, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._component, name)

    def __dir__(self) -> Iterable[str]:
        return dir(self._component)

    def __repr__(self) -> str:
        return repr(self._component)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._component)

    def __copy__(self) -> Any:
        return _view(replace(self._checked, component=copy.copy(self._component)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _view(replace(self._checked, component=copy.deepcopy(self._component, memo)))


@dataclass(frozen=True, slots=True)
class ComponentChecks:
    """What a CheckedComponent is made of. `methods`: name -> declaration in the protocol, or in one of its optional
    ones; `state`: what the checks remember of a component (by id), shared with its copies."""

    component: Any
    key: str
    protocol: type | None
    methods: Mapping[str, Callable[..., Any]]
    log: dict[str, str]
    state: dict[tuple[str, int], Any]

    def checker(self, method: str) -> ResultChecker:
        """The checker of one method."""
        cls = type(self.component)
        is_async = method in self.methods and inspect.iscoroutinefunction(self.methods[method])
        name = f"{cls.__module__}.{cls.__qualname__}"
        return ResultChecker(self.key, name, method, self.log, self.state, is_async)


def unchecked(component: Any) -> Any:
    """The component behind a CheckedComponent; any other object is returned as it is."""
    return component._component if isinstance(component, CheckedComponent) else component


def make_component(key: str, target: str, make: Callable[[], Any], log: dict[str, str]) -> Any:
    """Make the component of a `_target_`, with a check of what any component may offer; errors of `__init__` name the
    component."""
    checker = ResultChecker(key, target, "__init__", log)
    with guard(checker):
        component = make()
        if component is None:
            raise checker.wrong("expected an object, got None")
        return checked_component(component, None, key, log)


def checked_component(
    component: Any,
    protocol: type | None,
    key: str,
    log: dict[str, str],
    state: dict[tuple[str, int], Any] | None = None,
) -> Any:
    """A view of a component that checks results.

    Args:
        component: any object, or a view of one.
        protocol: its methods are checked, with its optional ones; None: only what any component may have.
        key: its key in the configuration, for errors.
        log: error line -> traceback, shared by all components of a build.
        state: what the checks remember, shared by all views of a component.

    Returns:
        The view; the component itself where it has nothing to check.
    """
    component = unchecked(component)
    declared = {"preflight": protocols.Preflight.preflight, **(_methods(protocol) if protocol is not None else {})}
    methods = {name: method for name, method in declared.items() if callable(getattr(component, name, None))}
    checked = ComponentChecks(component, key, protocol, methods, log, {} if state is None else state)
    if inspect.getattr_static(component, "provenance", None) is not None and not _has_property(component, "provenance"):
        _check_provenance(checked.checker("provenance"), component.provenance)
    return _view(checked) if methods or _has_property(component, "provenance") else component


def _has_property(component: Any, name: str) -> bool:
    """Whether an attribute is computed when it is read."""
    return hasattr(type(inspect.getattr_static(type(component), name, None)), "__get__")


def _view(checked: ComponentChecks) -> Any:
    """The view of a component. It shares the dictionary of the component, so that attributes that `__init__` set are
    found as fast, and also by those who look for them without calling anything."""
    component, cls = checked.component, typing.cast(Hashable, type(checked.component))
    view: Any = object.__new__(_view_type(cls, tuple(checked.methods), _has_property(component, "provenance")))
    object.__setattr__(view, "_checked", checked)
    object.__setattr__(view, "_component", component)
    if type(attributes := getattr(component, "__dict__", None)) is dict:
        object.__setattr__(view, "__dict__", attributes)
    for method, declared in checked.methods.items():
        check = CHECKS.get((checked.protocol.__name__ if checked.protocol is not None else "", method))
        object.__setattr__(view, method, _checked_method(checked.checker(method), component, declared, check))
    return view


@functools.lru_cache(maxsize=1000)
def _view_type(cls: type, methods: tuple[str, ...], has_provenance: bool) -> type:
    """The type of views of a class, with a slot for each checked method, which stands before any attribute."""
    body: dict[str, Any] = {"__slots__": methods, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    body |= {"__doc__": cls.__doc__} | {name: _forwarding(name) for name in SPECIAL if hasattr(cls, name)}
    body |= {"provenance": property(_checked_provenance)} if has_provenance else {}
    return type(cls.__name__, (CheckedComponent,), body)


def _forwarding(name: str) -> Callable[..., Any]:
    """A method that Python looks up on the type, such as `__len__`."""

    def forward(self: CheckedComponent, *arguments: Any) -> Any:
        return getattr(self._component, name)(*arguments)

    return forward


def _checked_provenance(self: CheckedComponent) -> Any:
    """The core reads provenance with `getattr(…, {})`, which would hide an AttributeError in the property."""
    checker = self._checked.checker("provenance")
    with guard(checker):
        return _check_provenance(checker, self._component.provenance)


def missing_methods(component: Any, protocol: type, key: str) -> None:
    """Raises ComponentError where a component lacks methods of its protocol, although its class may have them."""
    cls = type(component)
    name = f"{cls.__module__}.{cls.__qualname__}"
    problem = protocol_fault(component, protocol, name)
    if problem is None and protocol is protocols.Judge:
        on_failure = getattr(component, "on_failure", None)
        if on_failure not in ("zero", "exclude"):
            problem = f"on_failure: expected 'zero' or 'exclude', got {_short_repr(on_failure)}"
    if problem is not None:
        raise ComponentError(f"{key} ({name}): {problem}", 1)


def protocol_fault(component: Any, protocol: type, name: str) -> str | None:
    """The methods of a protocol that a component or a class lacks."""
    demanded = _own_methods(protocol)
    missing = [method for method in demanded if not callable(getattr(component, method, None))]
    if not missing:
        return None
    methods = ", ".join(demanded)
    return f"expected {protocol.__name__}, with the methods {methods}; {name} has no {', '.join(missing)}"


def returns_alike(cls: type, protocol: type) -> bool:
    """Whether the methods of a class have the return annotations of the protocol; two protocols may share method
    names."""
    return all(
        _return_type(getattr(cls, name)) == _return_type(declared) for name, declared in _own_methods(protocol).items()
    )


@functools.cache
def _own_methods(protocol: type) -> Mapping[str, Callable[..., Any]]:
    """The methods of a protocol and of its base protocols."""
    return {
        name: method
        for base in reversed(protocol.__mro__)
        if getattr(base, "_is_protocol", False)
        for name, method in vars(base).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }


@functools.cache
def _methods(protocol: type) -> Mapping[str, Callable[..., Any]]:
    """The methods of a protocol with its optional ones."""
    offered = [_own_methods(each) for each in protocols.optional_of(protocol)]
    return {name: method for each in (*offered, _own_methods(protocol)) for name, method in each.items()}


Check = Callable[..., Any]


def _checked_method(
    checker: ResultChecker, component: Any, declared: Callable[..., Any], check: Check | None
) -> Callable[..., Any]:
    """A call of a method of a component with a check of its result."""
    method, checked = checker.method, _checking(checker, component, _return_type(declared), check)

    async def call_async(*arguments: Any, **keywords: Any) -> Any:
        try:
            pending = getattr(component, method)(*arguments, **keywords)
            if not _is_awaitable(pending):
                raise checker.wrong(f"is not async: expected `async def {method}`")
            return checked(await pending, arguments, keywords)
        except BaseException as error:
            raise_checked(checker, error)

    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            result = getattr(component, method)(*arguments, **keywords)
            if _is_awaitable(result):
                getattr(result, "close", lambda: None)()
                raise checker.wrong(f"is async: expected `def {method}`, whose result is there when it returns")
            return checked(result, arguments, keywords)
        except BaseException as error:
            raise_checked(checker, error)

    return call_async if inspect.iscoroutinefunction(declared) else call


def _is_awaitable(value: Any) -> bool:
    """As `inspect.isawaitable`, which asks each value anew; only generators of one type may differ."""
    kind = typing.cast(type, type(value))
    return inspect.isawaitable(value) if kind is types.GeneratorType else _has_awaitables(kind)


@functools.lru_cache(maxsize=1000)
def _has_awaitables(kind: type) -> bool:
    return issubclass(kind, Awaitable)


def _checking(checker: ResultChecker, component: Any, hint: Any, check: Check | None) -> Callable[..., Any]:
    """A function that returns a valid result and raises for an invalid one."""
    wrong = None if check is not None and check in WHOLE else _checker(hint, True)

    def check_result(result: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        if wrong is not None and (problem := wrong(result)) is not None:
            raise checker.wrong(problem)
        return result if check is None else check(checker, component, result, *arguments, **keywords)

    return check_result


@functools.lru_cache(maxsize=1000)
def _return_type(declared: Callable[..., Any]) -> Any:
    try:
        return typing.get_type_hints(declared).get("return", Any)
    except NameError:  # a type for the type checker only
        return Any


def _check_provenance(checker: ResultChecker, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise checker.wrong(f"expected a mapping of JSON values, got {_short_repr(value)}")
    _json(checker, value)
    return value


# --- types, by the annotations of the protocol ----------------------------------------------------


def wrong_type(value: Any, hint: Any) -> str | None:
    """The problem of a value or a part of it (`field: expected …`); None where it fits the annotation. Elements of
    lazy sequences, and fields of records in sequences, are not checked."""
    return _checker(hint, True)(value)


Problem = Callable[[Any], str | None]  # returns what is wrong with a value


@functools.cache
def _checker(hint: Any, deep: bool) -> Problem:
    """The checker of an annotation, cached, since it runs for every case. `deep`: check also the fields of records."""
    if hint is Any:
        return lambda value: None
    if hint is None or hint is types.NoneType:
        return lambda value: None if value is None else f"expected nothing, got {_short_repr(value)}"
    return _quick(hint, _thorough(hint, deep))


def _quick(hint: Any, thorough: Problem) -> Problem:
    """The checker with a shortcut for values of built-in types, which nearly all are."""
    exact, kind = _exact(hint), typing.get_origin(hint)
    hints = [each for each in typing.get_args(hint) if each is not Ellipsis]
    arguments = list(map(_exact, hints))
    if exact:
        return lambda value: None if type(value) in exact else thorough(value)
    is_mapping = (kind is Mapping or kind is dict) and len(arguments) == 2
    if is_mapping and arguments[0] and (arguments[1] or hints[1] is Any):
        names, parts = arguments

        def check_mapping(value: Any) -> str | None:
            is_right = type(value) is dict and names.issuperset(map(type, value))
            return None if is_right and (not parts or parts.issuperset(map(type, value.values()))) else thorough(value)

        return check_mapping
    if not arguments or not all(arguments):
        if kind is Mapping or kind is dict:
            return lambda value: None if type(value) is dict and not value else thorough(value)
        return thorough
    if kind in (Sequence, list) or (kind is tuple and typing.get_args(hint)[1:] == (Ellipsis,)):
        (elements,) = arguments

        def check_sequence(value: Any) -> str | None:
            is_right = type(value) in (list, tuple) and elements.issuperset(map(type, value))
            return None if is_right else thorough(value)

        return check_sequence
    return thorough


def _thorough(hint: Any, deep: bool) -> Problem:
    """The checker of an annotation of any kind."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union_checker(hint, arguments)
    if origin is typing.Literal:
        return lambda value: None if value in arguments else f"expected {_words(hint)}, got {_short_repr(value)}"
    kind = origin or hint
    if not isinstance(kind, type):
        return lambda value: _wrong_part(value, kind, arguments, deep=deep)
    accepts = _acceptor(kind)
    if kind in (str, bool, int, float):  # an annotation without arguments
        return lambda value: None if accepts(value) else f"expected {_words(hint)}, got {_short_repr(value)}"

    def check(value: Any) -> str | None:
        if accepts(value):
            return _wrong_part(value, kind, arguments, deep=deep)
        return f"expected {_words(hint)}, got {_short_repr(value)}"

    return check


def _union_checker(hint: Any, arguments: tuple[Any, ...]) -> Problem:
    checkers = [_checker(each, True) for each in arguments]
    optional = types.NoneType in arguments

    def check(value: Any) -> str | None:
        if (value is None and optional) or any(check(value) is None for check in checkers):
            return None
        return f"expected {_words(hint)}, got {_short_repr(value)}"

    return check


def _acceptor(kind: type) -> Callable[[Any], bool]:
    if kind is float:
        return _is_number
    if kind is int:
        return lambda value: isinstance(value, int | np.integer) and not isinstance(value, bool)
    if kind in (list, tuple):
        return lambda value: isinstance(value, LISTS)
    if kind is Sequence:
        return lambda value: isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False):
        return lambda value: value is not None
    return lambda value: isinstance(value, kind)


@functools.cache
def _exact(hint: Any) -> frozenset[type]:
    """Types whose values need no check of their content, so that sequences and mappings of them are checked quickly."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return frozenset().union(*map(_exact, typing.get_args(hint)))
    if hint in (None, types.NoneType):
        return frozenset({types.NoneType})
    return frozenset({float: (float, int), int: (int,), str: (str,), bool: (bool,)}.get(hint, ()))


def _is_number(value: Any) -> bool:
    return isinstance(value, (float, int, np.integer, np.floating)) and not isinstance(value, bool)


def _wrong_part(value: Any, kind: Any, arguments: tuple[Any, ...], *, deep: bool) -> str | None:
    if isinstance(value, LISTS):
        return _wrong_element(typing.cast(Sequence[Any], value), kind, arguments) if arguments else None
    if len(arguments) == 2 and isinstance(value, Mapping):
        if _exact(arguments[0]).issuperset(map(type, value)) and _exact(arguments[1]).issuperset(
            map(type, value.values())
        ):
            return None
        check_name, check_part = _checker(arguments[0], True), _checker(arguments[1], deep)
        for name, part in value.items():
            if (problem := check_name(name)) is not None:
                return f"key {_short_repr(name)}: {problem}"
            if (problem := check_part(part)) is not None:
                return _place(str(name), problem)
    elif deep:
        for name, exact, check in _field_checkers(typing.cast(type, type(value))):
            part = getattr(value, name)
            if type(part) not in exact and (problem := check(part)) is not None:
                return _place(name, problem)
    return None


def _wrong_element(value: Sequence[Any], kind: Any, arguments: tuple[Any, ...]) -> str | None:
    if kind is not tuple or arguments[-1] is Ellipsis:
        if _exact(arguments[0]).issuperset(map(type, value)):
            return None
        checkers: Iterable[Problem] = itertools.repeat(_checker(arguments[0], False), len(value))
    elif len(arguments) == len(value):
        checkers = [_checker(each, False) for each in arguments]
    else:
        return f"expected {len(arguments)} values, got {len(value)}"
    for place, (element, check) in enumerate(zip(value, checkers, strict=True)):
        if (problem := check(element)) is not None:
            return _place(f"[{place}]", problem)
    return None


def _place(place: str, problem: str) -> str:
    if problem.startswith(("expected", "key")):
        return f"{place}: {problem}"
    return f"{place}{'' if problem[0] == '[' else '.'}{problem}"


@functools.cache
def _field_checkers(record: type) -> Sequence[tuple[str, frozenset[type], Problem]]:
    """The fields of a record of runner, with the types that need no checker, and the checker."""
    if not is_dataclass(record) or not record.__module__.startswith("runner."):
        return ()
    hints = _hints(record)
    annotated = [(each.name, hints.get(each.name, Any)) for each in fields(record)]
    return [(name, _exact(hint), _checker(hint, True)) for name, hint in annotated if hint is not Any]


@functools.cache
def _hints(record: type) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(record)
    except NameError:
        return {}


def _words(hint: Any) -> str:
    """An annotation as in source code: `list[Ranking]`."""
    if isinstance(hint, type) and not typing.get_args(hint):
        return "None" if hint is types.NoneType else hint.__name__
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(_words, arguments))
    if origin is typing.Literal:
        return " | ".join(map(repr, arguments))
    if origin is None:
        return "..." if hint is Ellipsis else str(hint).rpartition(".")[2]
    return f"{getattr(origin, '__name__', origin)}[{', '.join(map(_words, arguments))}]"


def _short_repr(value: Any) -> str:
    """A small value as text, or the type of a large one."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return text if len(text) <= LARGEST_SHOWN else f"{text[:LARGEST_SHOWN]}…"
    return type(value).__name__


def _json(checker: ResultChecker, value: Any, of: str = "") -> None:
    """Check that a value can be written as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise checker.wrong(f"{of}expected JSON values: {text_of(error)}") from None


def _storable(checker: ResultChecker, value: Any, of: str = "") -> None:
    """Check a value of a row: JSON values, records and numpy numbers."""
    if type(value) is SharedRecord or (type(value) is dict and not value):
        return
    try:
        orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # it may be a lone surrogate, which is written as a question mark
        try:
            json.dumps(value, default=_as_json)
        except (TypeError, ValueError, RecursionError) as error:
            raise checker.wrong(f"{of}expected JSON values: {text_of(error)}") from None


def _as_json(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _share(checker: ResultChecker, value: Any, of: str) -> float:
    """The number if it is in 0..1, clipped within the tolerance."""
    if not _is_number(value) or not -ROUNDING <= value <= 1 + ROUNDING:
        raise checker.wrong(f"{of} is {_short_repr(value)}; expected a number in 0..1")
    if type(value) in (int, float) and 0 <= value <= 1:
        return typing.cast(float, value)
    return min(1.0, max(0.0, float(value)))


# --- retrieval ------------------------------------------------------------------------------------


def _index(checker: ResultChecker, retriever: Any, facts: Mapping[str, Any], corpus: Any, *_: Any, **__: Any) -> Any:
    if isinstance(corpus, Corpus):
        checker.state["corpus", id(retriever)] = corpus
    _json(checker, facts)
    return facts


def _rankings(
    checker: ResultChecker, retriever: Any, rankings: Any, queries: Sequence[Query], *_: Any, **__: Any
) -> Any:
    if not isinstance(rankings, list | tuple):
        raise checker.wrong(f"expected list[Ranking], got {_short_repr(rankings)}")
    if len(rankings) != len(queries):
        raise checker.wrong(f"returned {len(rankings)} rankings for {len(queries)} queries")
    corpus = checker.state.get(("corpus", id(retriever)))
    if corpus is not None and (not corpus.documents or protocols.attribute_of(retriever, "foreign_ids")):
        corpus = None
    of = [f"query {query.id}: " for query in queries] if len(queries) > 1 else [""]
    checked = [_ranking(checker, *each, corpus) for each in zip(rankings, of, strict=False)]
    return rankings if all(map(_is_same, checked, rankings)) else checked


def _is_same(one: object, other: object) -> bool:
    return one is other


def _ranking(checker: ResultChecker, ranking: Any, of: str, corpus: Corpus | None) -> Ranking:
    """The ranking, or a copy in plain tuples with ties sorted by id."""
    if not isinstance(ranking, Ranking):
        raise checker.wrong(f"{of}expected a Ranking, got {_short_repr(ranking)}")
    if not isinstance(ranking.trajectory, Trajectory | None):
        raise checker.wrong(f"{of}trajectory: expected a Trajectory or None, got {_short_repr(ranking.trajectory)}")
    legs = ranking.legs if ranking.legs == {} else _legs(checker, ranking.legs, of, corpus)
    if legs is ranking.legs and _is_in_order(ranking, corpus):
        return ranking
    columns = {"ids": ranking.ids, "scores": ranking.scores, "relevance": ranking.relevance}
    ids, scores, relevance = (_plain_column(checker, column, f"{of}{name}") for name, column in columns.items())
    if not len(ids) == len(scores) == len(relevance):
        raise checker.wrong(
            f"{of}expected as many ids as scores and relevance, got {len(ids)}, {len(scores)} and {len(relevance)}"
        )
    _check_ids(checker, ids, of, corpus)
    pairs = list(zip(ids, relevance, strict=True))
    scores = _finite(checker, scores, ids, f"{of}score")
    relevance = tuple([_share(checker, number, f"{of}relevance of {id!r}") for id, number in pairs])
    for before, after in pairwise(scores):
        if after > before:
            raise checker.wrong(f"{of}scores are not in descending order: {before!r} stands before {after!r}")
    order = sorted(range(len(ids)), key=lambda place: (scores[place], ids[place]), reverse=True)
    ids, scores, relevance = (tuple([column[place] for place in order]) for column in (ids, scores, relevance))
    return Ranking(ids, scores, relevance, legs, ranking.trajectory)


def _is_in_order(ranking: Ranking, corpus: Corpus | None) -> bool:
    """Whether a ranking is valid, by a few fast passes. False also for a valid ranking in another form, which the full
    check accepts."""
    ids, scores, relevance = ranking.ids, ranking.scores, ranking.relevance
    if any(type(column) is not tuple for column in (ids, scores, relevance)) or not len(ids) == len(scores) == len(
        relevance
    ):
        return False
    if not ids:
        return True
    if type(relevance[0]) is not float or type(scores[0]) is not float:
        return False
    unique = set(ids)
    if corpus is None:
        is_known = set(map(type, ids)) <= {str} and "" not in unique
    else:
        is_known = all(map(corpus.chunk_by_id.__contains__, unique))
    if not is_known or len(unique) < len(ids):
        return False
    try:  # sorting and summing floats takes a tenth of the time of min and max
        shares = sorted(relevance)
        if not (isfinite(sum(relevance)) and shares[0] >= 0 and shares[-1] <= 1):
            return False
        if not (isfinite(scores[0]) and isfinite(scores[-1])):
            return False
        if all(map(gt, scores, scores[1:])):
            return True
    except (TypeError, ValueError, OverflowError):  # values that are no numbers
        return False
    pairs = zip(pairwise(scores), pairwise(ids), strict=True)
    return all(before > after or (before == after and one > other) for (before, after), (one, other) in pairs)


def _plain_column(checker: ResultChecker, column: Any, of: str) -> tuple[Any, ...]:
    if isinstance(column, list | tuple):
        return tuple(column)
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return tuple(column.tolist())
    raise checker.wrong(f"{of}: expected a tuple, got {_short_repr(column)}")


def _check_ids(checker: ResultChecker, ids: tuple[Any, ...], of: str, corpus: Corpus | None) -> None:
    for place, id in enumerate(ids, start=1):
        if not isinstance(id, str) or not id:
            raise checker.wrong(f"{of}ids: expected the id of a chunk, got {_short_repr(id)} at rank {place}")
    if len(set(ids)) < len(ids):
        twice = next(id for place, id in enumerate(ids) if id in ids[:place])
        raise checker.wrong(f"{of}ids: {twice!r} stands there twice")
    if corpus is None:
        return
    unknown = [id for id in ids if id not in corpus.chunk_by_id and id not in corpus.document_by_id]
    if unknown:
        example = f", such as {corpus.chunks[0].id!r}" if corpus.chunks else ""
        raise checker.wrong(
            f"{of}ids: the corpus has no chunk {unknown[0]!r}; expected ids of its chunks{example} "
            "(an attribute foreign_ids = True lets any id pass)"
        )


def _finite(checker: ResultChecker, numbers: tuple[Any, ...], ids: tuple[str, ...], of: str) -> tuple[float, ...]:
    for id, number in zip(ids, numbers, strict=True):
        if not _is_number(number) or not -LARGEST <= number <= LARGEST:
            raise checker.wrong(f"{of} of {id!r} is {_short_repr(number)}; expected a finite number")
    return tuple([float(number) for number in numbers])


def _legs(checker: ResultChecker, legs: Any, of: str, corpus: Corpus | None) -> Any:
    if not isinstance(legs, Mapping):
        raise checker.wrong(f"{of}legs: expected rankings by name, got {_short_repr(legs)}")
    checked = {name: _ranking(checker, leg, f"{of}leg {name}: ", corpus) for name, leg in legs.items()}
    return legs if all(checked[name] is leg for name, leg in legs.items()) else checked


def _one_answer_each(
    checker: ResultChecker, component: Any, result: Any, inputs: Sequence[Any], *_: Any, **__: Any
) -> Any:
    """Check that there is one result for each argument."""
    if len(result) != len(inputs):
        raise checker.wrong(f"returned {len(result)} values for {len(inputs)}")
    return result


def _check_preparation(checker: ResultChecker, embedder: Any, result: Any, *_: Any, **__: Any) -> Any:
    checker.state.pop(("dim", id(embedder)), None)
    return result


def _vectors(checker: ResultChecker, embedder: Any, vectors: Any, texts: Sequence[str], *_: Any, **__: Any) -> Any:
    expected = f"expected float32 [{len(texts)}, dim]"
    if not isinstance(vectors, np.ndarray):
        raise checker.wrong(f"{expected}, got {_short_repr(vectors)}")
    if vectors.ndim != 2 or len(vectors) != len(texts) or (len(texts) and not vectors.shape[1]):
        raise checker.wrong(f"{expected}, got an array of shape {list(vectors.shape)}")
    if vectors.dtype.kind != "f":
        raise checker.wrong(f"{expected}, got an array of {vectors.dtype}")
    if protocols.attribute_of(embedder, "is_rehearsed") or not len(vectors):
        return vectors
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    _check_lengths(checker, vectors)
    dim = checker.state.setdefault(("dim", id(embedder)), vectors.shape[1])
    if vectors.shape[1] != dim:
        raise checker.wrong(f"returned vectors of {vectors.shape[1]} numbers, after some of {dim}")
    return vectors


def _check_lengths(checker: ResultChecker, vectors: Any) -> None:
    squares = np.einsum("ij,ij->i", vectors, vectors)
    off = np.flatnonzero(~((np.abs(squares - 1) <= NOT_UNIT) | (squares == 0)))
    if len(off):
        row = int(off[0])
        if not np.isfinite(vectors[row]).all():
            raise checker.wrong(f"the vector of text {row + 1} holds numbers that are not finite")
        length = float(np.linalg.norm(vectors[row].astype(np.float64)))
        raise checker.wrong(
            f"the vector of text {row + 1} has length {length:.6g}; expected 1, or a row of zeros for a text "
            "without features"
        )


def _tokens(checker: ResultChecker, tokenizer: Any, tokens: Any, texts: Sequence[str], *_: Any, **__: Any) -> Any:
    if not isinstance(tokens, list | tuple):
        raise checker.wrong(f"expected list[list[str]], got {_short_repr(tokens)}")
    if len(tokens) != len(texts):
        raise checker.wrong(f"returned tokens of {len(tokens)} texts for {len(texts)}")
    for place, terms in enumerate(tokens, start=1):
        if not isinstance(terms, list | tuple):
            raise checker.wrong(f"text {place}: expected list[str], got {_short_repr(terms)}")
        if not set(map(type, terms)) <= {str}:
            odd = next(term for term in terms if type(term) is not str)
            if not isinstance(odd, str):
                raise checker.wrong(f"text {place}: expected list[str], got {_short_repr(odd)} in it")
    return tokens


def _passages(checker: ResultChecker, chunker: Any, passages: Any, text: str, *_: Any, **__: Any) -> Any:
    if not isinstance(passages, Sequence) or isinstance(passages, str):
        raise checker.wrong(f"expected Sequence[Passage], got {_short_repr(passages)}")
    for passage in passages:
        if not isinstance(passage, Passage):
            raise checker.wrong(f"returned {_short_repr(passage)} among passages, expected Passage")
        if not 0 <= passage.start < passage.end <= len(text):
            stretch = f"{passage.start}..{passage.end}"
            raise checker.wrong(f"a passage is {stretch}; expected a stretch of the text, 0..{len(text)}")
    return passages


def _data(checker: ResultChecker, dataset: Any, data: Any, *_: Any, **__: Any) -> Any:
    if not isinstance(data, DataSet):
        raise checker.wrong(f"expected DataSet, got {_short_repr(data)}")
    corpus = data.corpus
    if not isinstance(corpus, Corpus):
        raise checker.wrong(f"corpus: expected a Corpus, got {_short_repr(corpus)}")
    if not isinstance(corpus.fingerprint, str):
        raise checker.wrong(f"corpus.fingerprint: expected text, got {_short_repr(corpus.fingerprint)}")
    for name, listed, by_id in (
        ("documents", corpus.documents, corpus.document_by_id),
        ("chunks", corpus.chunks, corpus.chunk_by_id),
    ):
        if len(by_id) < len(listed):
            raise checker.wrong(f"corpus.{name}: {len(listed) - len(by_id)} of {len(listed)} have an id of another one")
    _check_problems(checker, data.problems)
    for chunk in corpus.chunks if corpus.shelf is None else ():  # one on disk was made by this program
        if not isinstance(chunk.text, str):
            raise checker.wrong(f"chunk {chunk.id!r}: text: expected str, got {_short_repr(chunk.text)}")
        if chunk.document_id not in corpus.document_by_id:
            document = _short_repr(chunk.document_id)
            raise checker.wrong(f"chunk {chunk.id!r} is of {document}, which is no document of the corpus")
    _check_cases(checker, data.queries, Query)
    return data


def _check_problems(checker: ResultChecker, problems: Any) -> None:
    if (problem := wrong_type(problems, tuple[DataProblem, ...])) is not None:
        raise checker.wrong(f"problems: {problem}")


def _check_cases(checker: ResultChecker, cases: Any, kind: type | None) -> None:
    if not isinstance(cases, Sequence) or isinstance(cases, str | bytes):
        raise checker.wrong(f"expected a sequence of cases, got {_short_repr(cases)}")
    known_ids: set[str] = set()
    for place, case in enumerate(cases, start=1):
        if kind is not None and not _is_plain(case) and (problem := wrong_type(case, kind)) is not None:
            raise checker.wrong(f"case {place}: {problem}")
        id = getattr(case, "id", None)
        if not isinstance(id, str) or not id:
            raise checker.wrong(f"case {place}: id: expected text, got {_short_repr(id)}")
        if id in known_ids:
            raise checker.wrong(f"case {place}: id: {id!r} is that of an earlier case")
        known_ids.add(id)
        for name, hint in CASE.items():
            if kind is None and (problem := wrong_type(getattr(case, name, ()), hint)) is not None:
                raise checker.wrong(f"case {id}: {name}: {problem}")


def _is_plain(query: Any) -> bool:
    """Whether a query has the form that our readers make; a hundred times faster than checking all annotations."""
    return (
        type(query) is Query
        and type(query.text) is str
        and type(query.answerable) is bool
        and type(query.relevance) is dict
        and {*map(type, query.relevance)} <= {str}
        and {*map(type, query.relevance.values())} <= {int}
        and {*map(type, query.answers)} | {*map(type, query.expected_chunks)} | {*map(type, query.tags)} <= {str}
        and type(query.given) is GivenResults
    )


CASE: Mapping[str, Any] = {"language": str | None, "difficulty": str | None, "tags": tuple[str, ...]}


# --- answers, judgements, and what else is said -----------------------------------------------------


def _answer(
    checker: ResultChecker,
    generator: Any,
    answer: Answer,
    query: Any = None,
    contexts: Sequence[Any] = (),
    *_: Any,
    **__: Any,
) -> Answer:
    """Check an answer. Citations beyond the contexts are mistakes of a model: they are counted, not refused."""
    for number in answer.citations:
        if number < 1:
            raise checker.wrong(f"citations: expected numbers of contexts, from 1, got {number}")
        if number > len(contexts) and number not in citations(answer.text):
            raise checker.wrong(
                f"citations: expected numbers of the {len(contexts)} contexts, or of sources that the text cites, "
                f"got {number}"
            )
    return answer


def _judgement(
    checker: ResultChecker, judge: Any, judgement: Judgement, rubric: Any = "", *_: Any, **__: Any
) -> Judgement:
    of = f"{rubric}: " if isinstance(rubric, str) else ""
    _storable(checker, judgement.details, f"{of}details: ")
    votes = judgement.details.get("votes")
    if votes and (problem := wrong_type(votes, Mapping[str, float | None])) is not None:
        raise checker.wrong(f"{of}details: votes: {problem}")
    if judgement.score is None:
        if not judgement.error:
            raise checker.wrong(f"{of}gave neither a score nor an error")
        return judgement
    score = _share(checker, judgement.score, f"{of}score")
    return judgement if score is judgement.score else replace(judgement, score=score)


def _assessment(
    checker: ResultChecker,
    reranker: Any,
    assessment: Assessment,
    question: Any,
    candidates: Sequence[Any],
    *_: Any,
    **__: Any,
) -> Assessment:
    """Check the assessment of a reranker: it may leave out candidates, but not name others or repeat one."""
    unknown = [id for id in assessment.ranked if id not in {each.id for each in candidates}]
    if unknown:
        raise checker.wrong(f"ranked: {unknown[0]!r} is none of the {len(candidates)} candidates")
    if len(set(assessment.ranked)) < len(assessment.ranked):
        twice = next(id for place, id in enumerate(assessment.ranked) if id in assessment.ranked[:place])
        raise checker.wrong(f"ranked: {twice!r} stands there twice")
    if assessment.confidence is not None:
        _share(checker, assessment.confidence, "confidence")
    return assessment


def _suggestions(
    checker: ResultChecker, suggester: Any, suggestions_of: Any, places: Sequence[Any], *_: Any, **__: Any
) -> Any:
    _one_answer_each(checker, suggester, suggestions_of, places)
    for suggestions, place in zip(suggestions_of, places, strict=True):
        for name, listed in (("best", suggestions.best), *suggestions.legs.items()):
            _check_suggestions(checker, listed, place, f"{place.note}: {name}: ")
    return suggestions_of


def _check_suggestions(checker: ResultChecker, suggestions: Sequence[Any], place: Any, of: str) -> None:
    notes = [suggestion.note for suggestion in suggestions]
    if len(set(notes)) < len(notes):
        raise checker.wrong(f"{of}a note is suggested twice")
    if place.note in notes or not place.skip.isdisjoint(notes):
        raise checker.wrong(f"{of}a note is suggested that is the note itself, or one to skip")
    for suggestion in suggestions:
        if _share(checker, suggestion.confidence, f"{of}confidence of {suggestion.note!r}") <= 0:
            raise checker.wrong(f"{of}confidence of {suggestion.note!r} is 0; expected more")
    confidences = [suggestion.confidence for suggestion in suggestions]
    if confidences != sorted(confidences, reverse=True):
        raise checker.wrong(f"{of}confidences are not in descending order")


def _novelty(checker: ResultChecker, novelty: Any, scores: Any, traces: Any, wanted: Any, *_: Any, **__: Any) -> Any:
    for id in wanted:
        if id not in scores:
            raise checker.wrong(f"says nothing of trace {id!r}")
        if not -ROUNDING <= scores[id] <= 2 + ROUNDING:  # 1 - cosine
            raise checker.wrong(f"novelty of {id!r} is {_short_repr(scores[id])}; expected a number in 0..2")
    return scores


# --- evaluations ------------------------------------------------------------------------------------


def _case_set(checker: ResultChecker, evaluation: Any, cases: Any, *_: Any, **__: Any) -> Any:
    if not isinstance(cases, CaseSet):
        raise checker.wrong(f"expected CaseSet, got {_short_repr(cases)}")
    if (problem := wrong_type(cases.identity, Mapping[str, str])) is not None:
        raise checker.wrong(f"identity: {problem}")
    _check_problems(checker, cases.problems)
    if not (isinstance(cases.cases, Sequence) and len(cases.cases) and isinstance(cases.cases[0], Query)):
        _check_cases(checker, cases.cases, None)  # the queries were checked when the dataset returned them
    return cases


def _preparation(checker: ResultChecker, evaluation: Any, prepared: Preparation, *_: Any, **__: Any) -> Preparation:
    _json(checker, {"facts": prepared.facts, "timing": prepared.timing})
    return prepared


def _output(checker: ResultChecker, evaluation: Any, output: Any, *_: Any, **__: Any) -> Any:
    if not callable(getattr(type(output), "record", None)):
        raise checker.wrong(f"expected an output with `timings` and `record()`, got {_short_repr(output)}")
    return output


def _judgements(
    checker: ResultChecker, evaluation: Any, judgements: Mapping[str, Judgement], *_: Any, **__: Any
) -> Any:
    """Check the judgements of an evaluation that judges by itself; those of a judge are checked already."""
    checked = {rubric: _judgement(checker, evaluation, each, rubric) for rubric, each in judgements.items()}
    return judgements if all(checked[rubric] is each for rubric, each in judgements.items()) else checked


def _scores(checker: ResultChecker, evaluation: Any, scores: Scores, *_: Any, **__: Any) -> Scores:
    for name, weight in scores.weights.items():
        if not 0 <= weight <= LARGEST:
            raise checker.wrong(f"weights: {name}: expected a number of 0 or more, got {_short_repr(weight)}")
    return scores


def _facts(checker: ResultChecker, component: Any, facts: Any, *_: Any, **__: Any) -> Any:
    _json(checker, facts)
    return facts


def _sums(checker: ResultChecker, evaluation: Any, sums: Any, *_: Any, **__: Any) -> Any:
    _json(checker, sums)
    timing = sums.get("timing", {})
    if not isinstance(timing, Mapping) or not isinstance(timing.get("latency", {}), Mapping):
        raise checker.wrong(f"timing: expected {{'latency': stages}}, got {_short_repr(timing)}")
    return sums


def _open(checker: ResultChecker, component: Any, manager: Any, *_: Any, **__: Any) -> Any:
    @asynccontextmanager
    async def through() -> Any:
        inside: list[BaseException] = []
        try:
            async with typing.cast("AbstractAsyncContextManager[None]", manager):
                try:
                    yield None
                except BaseException as error:  # an error in the body, not in the component
                    inside.append(error)
                    raise
        except BaseException as error:
            leaving = error if error in inside else checker.error_to_raise(error)
            if leaving is error:
                raise
            raise leaving from error

    return through()


def record_and_timings(evaluation: Any, output: Any) -> tuple[Mapping[str, Any], Mapping[str, Timing]]:
    """The results of `record()` and `timings` of an output. Raises ComponentError for their errors and for invalid
    results."""
    cls: type = type(evaluation)
    checker, record_checker = _output_checkers(cls.__module__, cls.__qualname__)
    try:
        timings = output.timings
        if type(timings) is not dict or timings:
            _check_timings(checker, timings)
    except BaseException as error:
        raise_checked(checker, error)
    try:
        record = output.record()
        if not isinstance(record, dict):
            _check_mapping(record_checker, record)
        _storable(record_checker, record)
    except BaseException as error:
        raise_checked(record_checker, error)
    return record, timings


def _check_timings(checker: ResultChecker, timings: Any) -> None:
    if type(timings) is dict and all(map(_is_timing, timings, timings.values())):
        return
    if (problem := wrong_type(timings, Mapping[str, Timing])) is not None:
        raise checker.wrong(problem)
    for stage, timing in timings.items():
        if timing.ms is not None and not 0 <= timing.ms <= LARGEST:
            raise checker.wrong(f"{stage}: expected a number of ms, 0 or more, got {_short_repr(timing.ms)}")


def _is_timing(stage: Any, timing: Any) -> bool:
    """Whether a timing has the form that nearly all have, at a tenth of the cost of the annotations."""
    return (
        type(stage) is str
        and type(timing) is Timing
        and type(timing.live) is bool
        and (timing.ms is None or (type(timing.ms) is float and 0 <= timing.ms <= LARGEST))
    )


def _check_mapping(checker: ResultChecker, record: Any) -> None:
    if inspect.isawaitable(record):
        getattr(record, "close", lambda: None)()
    if not isinstance(record, Mapping):
        raise checker.wrong(f"expected a mapping of JSON values, got {_short_repr(record)}")


@functools.lru_cache(maxsize=100)
def _output_checkers(module: str, name: str) -> tuple[ResultChecker, ResultChecker]:
    """The checkers of `timings` and `record()` of the outputs of an evaluation."""
    checker = ResultChecker("evaluation", f"{module}.{name}", "timings of its output")
    return checker, replace(checker, method="record() of its output")


CHECKS: Mapping[tuple[str, str], Check] = {
    ("Dataset", "load"): _data,
    ("Chunker", "passages"): _passages,
    ("Tokenizer", "tokenize"): _tokens,
    ("Embedder", "prepare"): _check_preparation,
    ("Embedder", "embed"): _vectors,
    ("Embedder", "is_cached"): _one_answer_each,
    ("Retriever", "index"): _index,
    ("Retriever", "search"): _rankings,
    ("Retriever", "search_async"): _rankings,
    ("Retriever", "is_cached"): _one_answer_each,
    ("Generator", "generate"): _answer,
    ("System", "open"): _open,
    ("Judge", "judge"): _judgement,
    ("Judge", "complete"): _judgement,
    ("Reranker", "rerank"): _assessment,
    ("Suggester", "index"): _facts,
    ("Suggester", "suggest"): _suggestions,
    ("Novelty", "of"): _novelty,
    ("Memory", "open"): _open,
    ("MemoryStore", "open"): _open,
    ("Evaluation", "load"): _case_set,
    ("Evaluation", "prepare"): _preparation,
    ("Evaluation", "run"): _output,
    ("Evaluation", "judge"): _judgements,
    ("Evaluation", "score"): _scores,
    ("Scorer", "score"): _scores,
    ("Evaluation", "check_judge"): _facts,
    ("Evaluation", "sums"): _sums,
    ("Evaluation", "open"): _open,
}
WHOLE = frozenset({_data, _passages, _tokens, _vectors, _rankings, _case_set, _output})  # they check types themselves
