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


@contextmanager
def collecting_seldom(*, freezes: bool = True) -> Iterator[None]:
    """Collect cycles seldom while the body runs. `freezes`: leave out what exists at its start, which are modules and
    the configuration, hundreds of thousands of objects that stay. Bodies may be nested; the outermost decides."""
    global _depth, _usual
    with _lock:
        _depth += 1
        if _depth == 1:
            _usual = gc.get_threshold()
            gc.set_threshold(*SELDOM)
        is_frozen_here = freezes and gc.get_freeze_count() == 0
        if is_frozen_here:
            gc.freeze()
    try:
        yield
    finally:
        with _lock:
            if is_frozen_here:
                gc.unfreeze()
            _depth -= 1
            if not _depth:
                gc.set_threshold(*_usual)
