"""Calls of stored replies that a further cell of a sweep notes again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.llm.calls import FILE, CallLog, CallRequest, RepeatedCall, read_calls
from runner.llm.ledger import Cost
from runner.llm.messages import ChatReply, Usage
from runner.llm.metering import asking_for

REPLY, COST = ChatReply("so", "stop", None, Usage(7, 3), attempts=0), Cost(Usage(7, 3), 1_000)


@pytest.mark.parametrize("text", ["plain", "see https://me:word@host/?token=abcdefghij&n=1"])
@pytest.mark.parametrize("case", ["q1", "https://me:word@host/q1"])
def test_a_settled_request_is_noted_as_it_was_at_first(tmp_path: Path, text: str, case: str) -> None:
    asked = CallRequest("judge", "local:small", {"messages": [{"role": "user", "content": text}]}, b"all of it", 1, 2)
    first, again = CallLog(tmp_path / FILE, "all", lambda _: False), CallLog(tmp_path / "2", "all", lambda _: False)
    with asking_for(case):
        with first.chat(asked) as answered:
            answered(REPLY, COST)
        again.note_repeated(RepeatedCall(asked.settle(), REPLY), COST)
    (one,), (other,) = noted(first), noted(again)
    assert list(one.items()) == list(other.items())
    assert "word@" not in str(one)


def noted(log: CallLog) -> list[dict[str, Any]]:
    log.close()
    calls = list(read_calls(log.path))
    assert [call.pop("ms") >= 0 and call.pop("at") > 0 for call in calls] == [True]
    return calls
