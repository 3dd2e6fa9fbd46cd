import gc
import weakref

import pytest

from runner.system import collector
from runner.system.collector import SELDOM, collect, collecting_seldom


class Node:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("is_frozen", [False, True])
def test_what_was_there_is_left_alone_until_the_end_and_what_comes_is_not(
    is_frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a program that leaves it alone itself, the same stays so."""
    monkeypatch.setattr(collector, "_is_frozen", False)  # what an earlier command saw of this process
    gc.unfreeze()
    if is_frozen:
        gc.freeze()
    usual = gc.get_threshold()
    try:
        with collecting_seldom(freezes=False):
            assert (gc.get_freeze_count() > 0, gc.get_threshold()) == (is_frozen, SELDOM)
            with collecting_seldom(), collecting_seldom():
                assert gc.get_freeze_count() > 10_000
                node = weakref.ref(Node())
                collect()
                assert node() is None
            assert (gc.get_freeze_count() > 0, gc.get_threshold()) == (is_frozen, SELDOM)
        assert gc.get_threshold() == usual
    finally:
        gc.freeze()  # as the suite has it
