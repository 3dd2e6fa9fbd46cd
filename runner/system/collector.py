"""The garbage collector of Python, which a command hardly needs: most objects of a case are freed without it."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import compress
from pathlib import Path
from typing import Any

SELDOM = (50_000, 5, 5)  # objects and generations between two collections; Python: 700, 10, 10
STARTING = (250_000, 5, 5)  # more than a run makes before its first request, nearly all of which stays
FEW = 30_000  # objects since the last collection, with which the next run can still begin
BUFFERED = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)

_lock = threading.Lock()
_depth = 0
_usual = gc.get_threshold()
_is_ours = False  # frozen by a body, which ends that
_has_settled = False  # what came since was left out as well
_ends_quickly = False  # this process does
_is_last = False  # this module's exit handler is the last that is called
_exit_code: int | None = None  # with which the process ends for certain
_is_frozen = False  # here, until the body ends, or by the program itself, which leaves it so


@contextmanager
def collect_seldom(*, freezes: bool = True) -> Iterator[None]:
    """Collect cycles seldom while the body runs. `freezes`: leave out what exists at its start, which are modules and
    the configuration, hundreds of thousands of objects that stay. Bodies may be nested; the outermost decides."""
    global _depth, _usual, _is_frozen, _is_ours, _has_settled
    with _lock:
        _depth += 1
        if _depth == 1:
            _usual = gc.get_threshold()
            gc.set_threshold(*SELDOM)
        is_frozen_here = freezes and not _is_frozen and gc.get_freeze_count() == 0  # counts one by one
        if is_frozen_here:
            gc.set_threshold(*SELDOM)
            gc.freeze()
            _is_ours, _has_settled = True, False
        _is_frozen = _is_frozen or freezes
    try:
        yield
    finally:
        with _lock:
            if is_frozen_here:
                gc.unfreeze()
                _is_frozen = _is_ours = False
            _depth -= 1
            if not _depth and not _ends_quickly:  # otherwise all that came since would be collected now
                gc.set_threshold(*_usual)


def put_off() -> None:
    """Collect hardly at all while a program starts, until a body within it freezes the objects so far."""
    if _depth and not _is_frozen:
        gc.set_threshold(*STARTING)


def end_quickly() -> None:
    """At the end of this process, do not collect cycles before its memory is freed: that would take a fifth of a second
    of a run. Open files are flushed, as they would be if they were collected."""
    global _is_last, _ends_quickly
    _ends_quickly = True
    _is_last = getattr(atexit, "_ncallbacks", lambda: None)() == 0  # private, and missing elsewhere
    atexit.register(_leave_all)


def end_with(exit_code: int) -> None:
    """Called by a program of `end_quickly` that does nothing more: with this exit code the process then ends without
    taking modules and configurations apart, another twentieth of a second. Not where something else is left to do: an
    exit handler that was there before (a measurement of coverage), an open database, or a warning to show."""
    global _exit_code
    _exit_code = exit_code


def _leave_all() -> None:
    """Called last, as it was registered first."""
    sqlite = sys.modules.get("sqlite3")
    databases = (sqlite.Connection,) if sqlite is not None else ()
    found = _objects_of((*BUFFERED, *databases)) if _may_write() else []
    for stream in found:
        if isinstance(stream, BUFFERED):
            with suppress(Exception):  # it is closed, or whoever read it is gone
                stream.flush()
    is_watched = sys.flags.dev_mode or sys.flags.inspect or any(isinstance(each, databases) for each in found)
    if _exit_code is not None and _is_last and not is_watched and _are_flushed():
        os._exit(_exit_code)
    gc.disable()
    gc.freeze()


def _may_write() -> bool:
    """Whether a file beside the standard streams is open for writing; true where that cannot be seen. Usually none is,
    and nobody has to look at all objects."""
    try:
        import fcntl

        descriptors = [int(path.name) for path in Path("/dev/fd").iterdir()]
    except (ImportError, OSError, ValueError):
        return True
    for descriptor in descriptors:
        with suppress(OSError):  # that of the listing is closed
            if descriptor > 2 and fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                return True
    return False


def _objects_of(kinds: Iterable[type[Any]]) -> list[Any]:
    """The objects of classes and of classes derived from them. No loop goes over all objects, hundreds of thousands."""
    gc.unfreeze()  # what is left out is not among the objects
    wanted = {each for kind in kinds for each in _with_derived(kind)}
    objects = gc.get_objects()
    return list(compress(objects, map(wanted.__contains__, map(type, objects))))


def _with_derived(kind: type[Any]) -> Iterator[type[Any]]:
    yield kind
    for derived in kind.__subclasses__():
        yield from _with_derived(derived)


def _are_flushed() -> bool:
    """Whether all streams are flushed. Python itself reports a stream that cannot be written any more, at its end."""
    try:
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            if stream is not None:
                stream.flush()
    except Exception:
        return False
    return True


def collect(*, settles: bool = False) -> None:
    """Collect the cycles of what has ended, where the rest is left out and this takes some milliseconds. The first time
    in a body, and where `settles`, what exists then is left out from now on: data and rankings that the runs of a sweep
    share, hundreds of thousands of objects that stay until the body ends. Later, a run whose cycles are few leaves them
    to one of the next."""
    global _has_settled
    if not _is_frozen:
        return
    if _is_ours and _has_settled and not settles and gc.get_count()[0] < FEW:
        return
    gc.collect()
    if _is_ours and (settles or not _has_settled):
        _has_settled = True
        gc.freeze()
