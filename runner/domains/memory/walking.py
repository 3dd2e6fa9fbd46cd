"""All moments at which a set of probes asks, before any of them is answered."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from runner.domains.memory.probing import ProbeCase
from runner.domains.memory.protocols import Memory
from runner.domains.memory.replay import Moment, Replay
from runner.errors import ComponentError, EvaluationError, RunnerError, StopRunError
from runner.system.threads import together

TOGETHER = 16  # conversations that are said side by side

Moments = Mapping[str, Moment | RunnerError | TimeoutError]


async def moments(memory: Memory, cases: Sequence[ProbeCase]) -> Moments:
    """By id of the case; an error where the memory could not be asked. Each conversation is said once, in a session
    that is deleted at the end. Raises StopRunError."""
    by_conversation: defaultdict[str, list[ProbeCase]] = defaultdict(list)
    for case in cases:
        by_conversation[case.conversation.id].append(case)
    found: dict[str, Moment | RunnerError | TimeoutError] = {}
    room = asyncio.Semaphore(TOGETHER)
    await together(_walk(memory, asked, found, room) for asked in by_conversation.values())
    return found


async def _walk(
    memory: Memory,
    cases: Sequence[ProbeCase],
    found: dict[str, Moment | RunnerError | TimeoutError],
    room: asyncio.Semaphore,
) -> None:
    async with room, _replay(memory, cases) as replay:
        for case in sorted(cases, key=lambda case: case.probe.after_turn):
            try:
                found[case.id] = await replay.at(case.probe)
            except StopRunError:
                raise
            except (EvaluationError, ComponentError, TimeoutError) as error:
                found[case.id] = error


@asynccontextmanager
async def _replay(memory: Memory, cases: Sequence[ProbeCase]) -> AsyncIterator[Replay]:
    replay = Replay(memory, cases[0].conversation, [case.probe for case in cases])
    try:
        yield replay
    finally:
        with suppress(EvaluationError):  # a store that is gone has told so before, and keeps nothing
            await replay.forget()
