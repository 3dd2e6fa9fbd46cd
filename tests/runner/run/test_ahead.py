import asyncio
import sys
import threading
from pathlib import Path

import pytest

from runner.report.page import TEMPLATES, environment
from runner.run import ahead
from runner.run.score_identity import metric_code


def readied(is_waiting: bool, monkeypatch: pytest.MonkeyPatch, *, fails: bool = False) -> list[tuple[str, list[str]]]:
    """What was made ready, with the thread that did it."""
    found = []
    done = threading.Event()

    def ready(modules: list[str], *, reports: bool) -> None:
        found.append((threading.current_thread().name, modules))
        done.set()

    monkeypatch.setattr(ahead, "PAUSE_S", 0.0)
    monkeypatch.setattr(ahead, "ready_end", ready)

    async def run() -> None:
        async with ahead.prepare_ahead([found, done], reports=True, is_waiting=is_waiting):
            while is_waiting and not done.is_set():
                await asyncio.sleep(0.001)
            if fails:
                raise ValueError("of the body")

    asyncio.run(run())
    return found


def test_a_run_that_waits_has_a_thread_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ((thread, modules),) = readied(True, monkeypatch)
    assert thread != threading.current_thread().name
    assert modules == ["builtins", "threading"]


def test_a_run_that_computes_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert readied(False, monkeypatch) == []


def test_what_fails_in_the_run_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="of the body"):
        readied(True, monkeypatch, fails=True)


@pytest.mark.parametrize("reports", [True, False])
def test_templates_are_compiled_where_a_report_will_be_written(reports: bool) -> None:
    environment.cache_clear()
    metric_code.cache_clear()
    ahead.ready_end(["runner.llm.claims"], reports=reports)
    assert metric_code.cache_info().currsize == 1
    compiled = environment().cache
    assert compiled is not None
    assert {name for _, name in compiled} == (set(TEMPLATES) if reports else set())


def test_what_cannot_be_made_ready_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs it fails by itself."""
    monkeypatch.setattr("runner.run.score_identity.FAMILIES", {"right": None})
    metric_code.cache_clear()
    ahead.ready_end([], reports=False)
    monkeypatch.undo()
    assert metric_code()


@pytest.mark.parametrize("text", ["made = True\n", "raise ValueError('broken')\n"], ids=["fine", "broken"])
def test_the_client_is_imported_in_a_thread(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_up_client.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(ahead, "CLIENT", "made_up_client")
    before = {*threading.enumerate()}
    ahead.ready_requests()
    for thread in {*threading.enumerate()} - before:
        thread.join()
    assert (sys.modules.pop("made_up_client", None) is not None) == ("made" in text)


def test_a_client_that_is_there_is_not_imported_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "CLIENT", "sys")
    before = threading.active_count()
    ahead.ready_requests()
    assert threading.active_count() == before


def test_the_thread_gives_way_to_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, within = sys.getswitchinterval(), []
    monkeypatch.setattr(ahead, "PAUSE_S", 0.0)
    monkeypatch.setattr(ahead, "ready_end", lambda modules, *, reports: within.append(sys.getswitchinterval()))
    asyncio.run(ahead._after_a_pause([], reports=False))
    assert within == [pytest.approx(ahead.BRIEF_S)] and sys.getswitchinterval() == pytest.approx(usual)
