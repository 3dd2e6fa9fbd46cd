"""Prepares in threads what a run needs later: the client of servers while the cost is estimated, and, while the run
waits for models, the hashes and modules for its end, which take a third of a second."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress

from runner.llm.tokens import is_exact

CLIENT = "aiohttp"
PAUSE_S = 0.05  # in which the first requests are sent
BRIEF_S = 0.0005  # for which the thread may keep the loop waiting


def ready_requests() -> None:
    """Read the encoding by which tokens are counted, and import the client of servers, in a thread. Most of that, the
    encoding and the certificates of the system, which the client reads for all servers, keeps no other thread
    waiting."""
    if CLIENT not in sys.modules:
        threading.Thread(target=_ready_requests, name="requests").start()


def _ready_requests() -> None:
    """An error here is raised again, and reported, where the client is used."""
    with suppress(Exception):
        is_exact()
        importlib.import_module(CLIENT)


@asynccontextmanager
async def prepare_ahead(judges: Iterable[object], *, reports: bool, is_waiting: bool) -> AsyncIterator[None]:
    """Prepare the end of a run in a thread, if the body `is_waiting` for servers. `judges`: their code is hashed;
    `reports`: whether a report will be written."""
    if not is_waiting:
        yield
        return
    modules = sorted({judge.__class__.__module__ for judge in judges})
    task = asyncio.create_task(_after_a_pause(modules, reports=reports))
    try:
        yield
    finally:
        task.cancel()  # the call in the thread runs to its end
        with suppress(asyncio.CancelledError):
            await task


async def _after_a_pause(modules: Sequence[str], *, reports: bool) -> None:
    """The loop gives way at each byte that it sends, and would wait for the thread each time: as long as Python lets a
    thread go on."""
    await asyncio.sleep(PAUSE_S)
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(min(BRIEF_S, usual_s))
    try:
        await asyncio.to_thread(ready_end, modules, reports=reports)
    finally:
        sys.setswitchinterval(usual_s)


def ready_end(modules: Sequence[str], *, reports: bool) -> None:
    """Make ready what the end of a run needs. `modules`: those of its judges, whose code is hashed; `reports`: whether
    a report will be written. An error here is raised again, and reported, where the result is used."""
    with suppress(Exception):
        from runner.run.score_identity import metric_code
        from runner.system.sources import syntax_digest

        metric_code()
        syntax_digest(modules)
    with suppress(Exception):
        from runner.compare import snapshot  # noqa: F401
        from runner.metrics import aggregate, judging  # noqa: F401
        from runner.report import brief, outputs, panels  # noqa: F401

        if reports:
            _ready_report()


def _ready_report() -> None:
    from runner.report import summary  # noqa: F401
    from runner.report.page import TEMPLATES, environment

    for name in TEMPLATES:
        environment().get_template(name)
