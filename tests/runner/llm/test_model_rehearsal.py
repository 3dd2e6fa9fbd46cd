"""A rehearsal counts the requests of a model, and makes up its replies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ReplyError
from runner.llm.rehearsal import Rehearsal
from tests.services.doors import PRICED, models, question
from tests.services.models_server import ModelsServer


async def test_a_rehearsal_counts_what_a_run_then_asks(server: ModelsServer, tmp_path: Path) -> None:
    requests = [question("1"), question("2"), question("2"), question("3", schema=None)]
    before = models(server.url, tmp_path)
    async with before.open():
        await before.model("test:m", "judge").chat(question("1"))
    door, rehearsal = models(server.url, tmp_path, **PRICED), Rehearsal()
    model = door.model("test:m", "judge")
    with door.rehearsing(rehearsal, "0"):
        async with door.open():
            assert model.is_rehearsed
            for request in requests:
                assert (await model.chat(request)).text
    assert server.count == 1
    ((account, expected),) = rehearsal.expected.items()
    assert (account.cell, account.role, account.model) == ("0", "judge", "test:m")
    assert (expected.live, expected.stored, expected.shared) == (2, 1, 1)
    assert expected.output_tokens == 2 * 50
    assert expected.nano_usd == 1000 * (expected.input_tokens + 10 * expected.output_tokens)
    async with door.open("0"):
        for request in requests:
            await model.chat(request)
    assert server.count == 1 + expected.live
    cached = door.usage("0")["usage_total"]["cached"]
    assert cached["requests"] == expected.stored + expected.shared


async def test_a_made_up_reply_has_the_form_asked_for_and_is_not_asked_for_again(tmp_path: Path) -> None:
    door, rehearsal = models("http://127.0.0.1:9/v1", tmp_path), Rehearsal()
    model = door.model("test:m", "judge")
    with door.rehearsing(rehearsal, "0"):
        async with door.open():
            found, other = [await model.ask_for_json(question(text), dict) for text in "13"]
            with pytest.raises(ReplyError, match=r"^a rehearsal has no replies$"):
                await model.ask_for_json(question("2"), refuse)
    assert found["score"] == 0
    assert found["reasoning"].count("word") == 42
    assert found != other  # what follows from them must not be taken for the same
    (expected,) = rehearsal.expected.values()
    assert expected.live == 3


def refuse(reply: Mapping[str, Any]) -> None:
    raise ValueError("not that")
