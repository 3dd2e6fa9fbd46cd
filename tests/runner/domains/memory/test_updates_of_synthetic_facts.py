"""Facts that change, in summaries made without a model."""

from __future__ import annotations

import pytest

from plugins.memory.recursive_summary import RecursiveSummaryMemory
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from plugins.scenario.synthetic import SyntheticScenarios
from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.probing import ProbeCase, ProbedMemory
from runner.domains.memory.records import Conversation
from runner.domains.memory.replay import Replay


async def current(conversation: Conversation) -> list[float | None]:
    memory = RecursiveSummaryMemory(store=LocalStore(), summariser=ExtractiveSummariser())
    replay, context = Replay(memory, conversation, conversation.probes), ContextBuilder(encoding="estimate")
    found = []
    async with memory.open():
        for probe in conversation.probes:
            moment = await replay.at(probe)
            seen = ProbedMemory.of(
                ProbeCase(conversation, probe), moment, context.build(moment.remembered, probe.question)
            )
            found.append(seen.is_summary_current(moment))
    return found


@pytest.mark.parametrize("n", [10, pytest.param(30, marks=pytest.mark.slow)])
async def test_where_a_changed_fact_is_held_its_new_value_is_and_no_old_one(n: int) -> None:
    made, _ = SyntheticScenarios(conversations=n, turns_max=120, seed=7).load()
    for language in ("ko", "en"):
        found = [value for each in made if each.language == language for value in await current(each)]
        held = [value for value in found if value is not None]
        assert len(held) >= n // 8
        assert set(held) == {1.0}
