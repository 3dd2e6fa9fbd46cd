"""The garbage collector of Python, which a command hardly needs: most objects of a case are freed without it."""

from __future__ import annotations

import atexit
import gc
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SELDOM = (20_000, 5, 5)  # objects and generations between two collections; Python: 700, 10, 10
BUFFERED = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)

_lock = threading.Lock()
_depth = 0
_usual = gc.get_threshold()
_is_ours = False  # frozen by a body, which ends that
_has_settled = False  # what came since was left out as well
_is_frozen = False  # here, until the body ends, or by the program itself, which leaves it so


@contextmanager
def collecting_seldom(*, freezes: bool = True) -> Iterator[None]:
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
            if not _depth:
                gc.set_threshold(*_usual)


def end_quickly() -> None:
    """At the end of this process, do not collect cycles before its memory is freed: that would take a fifth of a second
    of a run. Open files are flushed, as they would be if they were collected."""
    atexit.register(_leave_all)


def _leave_all() -> None:
    """Called last, as it was registered first."""
    gc.unfreeze()  # what is left out is not among the objects
    for each in gc.get_objects():
        if issubclass(type(each), BUFFERED):
            with suppress(Exception):  # it is closed, or whoever read it is gone
                each.flush()
    gc.disable()
    gc.freeze()


def collect(*, settles: bool = False) -> None:
    """Collect the cycles of what has ended, where the rest is left out and this takes some milliseconds. The first time
    in a body, and where `settles`, what exists then is left out from now on: data and rankings that the runs of a sweep
    share, hundreds of thousands of objects that stay until the body ends."""
    global _has_settled
    if not _is_frozen:
        return
    gc.collect()
    if _is_ours and (settles or not _has_settled):
        _has_settled = True
        gc.freeze()
