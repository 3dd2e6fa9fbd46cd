"""No system elsewhere: the retriever and the generator of the configuration are evaluated."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext

from runner.records import Query, SystemReply


class NoSystem:
    """No running system: the runner's own retriever and generator answer."""

    is_within = True
    repeats = 1

    async def ask(self, query: Query, repeat: int = 0) -> SystemReply:
        raise RuntimeError("system=none is not asked")

    def open(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()
