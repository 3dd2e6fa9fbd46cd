"""The garbage collector, which a command has little need of: what it makes for a case is let go by itself."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (20_000, 5, 5)  # instead of 700, 10, 10: a case makes some hundreds of objects that live as long as it does

_lock = threading.Lock()
_depth = 0
_usual = gc.get_threshold()
_is_frozen = False  # by this module; a program that does so itself is not interfered with


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """In the body, garbage in cycles is looked for seldom, and not among what was there before: modules and the
    configuration, hundreds of thousands of objects that stay. Within another such body this changes nothing."""
    global _depth, _usual, _is_frozen
    with _lock:
        _depth += 1
        if _depth == 1:
            _usual = gc.get_threshold()
            gc.set_threshold(*SELDOM)
            _is_frozen = gc.get_freeze_count() == 0
            if _is_frozen:
                gc.freeze()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                gc.set_threshold(*_usual)
                if _is_frozen:
                    gc.unfreeze()
