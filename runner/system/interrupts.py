"""What ends the program early: Ctrl-C, and SIGTERM as if it were one."""

from __future__ import annotations

import signal
import threading
from types import FrameType


def heed() -> None:
    """Who ends a job (a scheduler, a container) wants what Ctrl-C leaves behind, also where nobody can press it: a
    shell starts jobs in the background deaf to Ctrl-C. Such a job stays deaf (the signal is held back instead of
    ignored), but it has the handler by which asyncio cancels the main task and lets it clean up; a KeyboardInterrupt
    in the middle of another task would tear the loop down."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _as_ctrl_c)


def _as_ctrl_c(_: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)
