"""The garbage collector of Python, of which a command has little need: most objects of a case are freed without it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (20_000, 5, 5)  # objects and generations between two collections; Python: 700, 10, 10

_lock = threading.Lock()
_depth = 0
_usual = gc.get_threshold()
_has_settled = False  # something was left out since
_is_frozen = False  # here, until the body ends, or by the program itself, which leaves it so


@contextmanager
def collecting_seldom(*, freezes: bool = True) -> Iterator[None]:
    """Collect cycles seldom while the body runs. `freezes`: leave out what exists at its start, which are modules and
    the configuration, hundreds of thousands of objects that stay. Bodies may be nested; the outermost decides."""
    global _depth, _usual, _is_frozen, _has_settled
    with _lock:
        _depth += 1
        if _depth == 1:
            _usual = gc.get_threshold()
            gc.set_threshold(*SELDOM)
        is_frozen_here = freezes and not _is_frozen and gc.get_freeze_count() == 0  # counts one by one
        if is_frozen_here:
            gc.freeze()
        _is_frozen = _is_frozen or freezes
    try:
        yield
    finally:
        with _lock:
            if is_frozen_here:
                gc.unfreeze()
                _is_frozen = _has_settled = False
            _depth -= 1
            if not _depth:
                gc.set_threshold(*_usual)


def collect(*, settles: bool = False) -> None:
    """Collect the cycles of what has ended, where the rest is left out and this takes some milliseconds. The first time
    in a body, and where `settles`, what exists then is left out from now on: data and rankings that the runs of a sweep
    share, hundreds of thousands of objects that stay until the body ends."""
    global _has_settled
    if not _is_frozen:
        return
    gc.collect()
    if _depth and (settles or not _has_settled):
        _has_settled = True
        gc.freeze()
