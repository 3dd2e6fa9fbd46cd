from __future__ import annotations

import threading

import pytest

from runner.system.threads import Worker


def test_results_and_errors_come_back() -> None:
    worker = Worker()
    assert worker.call(lambda: 1 + 1, 10) == 2
    with pytest.raises(ZeroDivisionError):
        worker.call(lambda: 1 / 0, 10)
    assert worker.call(lambda: "still there", 10) == "still there"
    worker.close()


def test_calls_share_a_daemonic_thread() -> None:
    worker = Worker()
    first, second = worker.call(threading.current_thread, 10), worker.call(threading.current_thread, 10)
    assert first is second
    assert first.daemon
    worker.close()
    first.join(10)
    assert not first.is_alive()


def test_a_late_thread_is_left_behind_and_ends_with_its_call() -> None:
    worker, release, seen = Worker(), threading.Event(), []

    def hang() -> None:
        seen.append(threading.current_thread())
        release.wait(60)

    with pytest.raises(TimeoutError):
        worker.call(hang, 0.05)
    assert worker.call(threading.current_thread, 10) is not seen[0]
    assert seen[0].is_alive()
    release.set()
    seen[0].join(10)
    assert not seen[0].is_alive()
    worker.close()
