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
_is_frozen = False  # here, until the body ends, or by the program itself, which leaves it so


@contextmanager
def collecting_seldom(*, freezes: bool = True) -> Iterator[None]:
    """Collect cycles seldom while the body runs. `freezes`: leave out what exists at its start, which are modules and
    the configuration, hundreds of thousands of objects that stay. Bodies may be nested; the outermost decides."""
    global _depth, _usual, _is_frozen
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
                _is_frozen = False
            _depth -= 1
            if not _depth:
                gc.set_threshold(*_usual)


def collect() -> None:
    """Collect the cycles of what has ended, where the rest is left out and this takes some milliseconds."""
    if _is_frozen:
        gc.collect()
