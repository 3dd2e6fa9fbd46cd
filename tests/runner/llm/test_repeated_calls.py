"""Calls of stored replies that a further cell of a sweep notes again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from runner.llm.calls import FILE, CallLog, CallRequest, RepeatedCall, judging_by, read_calls
from runner.llm.ledger import Cost
from runner.llm.messages import ChatReply, Usage
from runner.llm.metering import asking_for
from runner.system.shared import sharing

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


def test_a_further_cell_writes_the_calls_of_a_case_as_an_earlier_one_did(tmp_path: Path) -> None:
    asked = CallRequest("judge", "local:small", {"messages": []}, b"all of it")
    call, other = RepeatedCall(asked.settle(), REPLY), RepeatedCall(asked.settle(), REPLY)
    with sharing():
        logs = [CallLog(tmp_path / str(number), "all", lambda _: False) for number in range(4)]
        for log, notes in zip(logs, [[call], [call], [other], [call, "live"]], strict=True):
            with asking_for("q1"), judging_by("faithfulness"):
                for note in notes:
                    if isinstance(note, RepeatedCall):
                        log.note_repeated(note, COST)
                        log.note_repeated(note, COST)  # of one case each request is noted once
                    else:
                        with log.chat(CallRequest("generator", "local:small", {"messages": []}, b"else")) as answered:
                            answered(REPLY, COST)
            log.end_case("q1", is_whole=True)
            log.close()
            time.sleep(0.002)
    first, again, else_where, mixed = [[*read_calls(log.path)] for log in logs]
    assert first == again and [line["rubric"] for line in first] == ["faithfulness"]
    assert else_where[0].pop("at") > first[0]["at"] and mixed[0]["at"] > first[0]["at"]
    assert [line["role"] for line in mixed] == ["judge", "generator"]
    assert else_where == [{name: value for name, value in first[0].items() if name != "at"}]


def test_another_rubric_is_another_call(tmp_path: Path) -> None:
    call = RepeatedCall(CallRequest("judge", "local:small", {"messages": []}, b"all of it").settle(), REPLY)
    rubrics = []
    with sharing():
        for rubric in ("faithfulness", "answer_relevancy"):
            log = CallLog(tmp_path / rubric, "all", lambda _: False)
            with asking_for("q1"), judging_by(rubric):
                log.note_repeated(call, COST)
            log.end_case("q1", is_whole=True)
            log.close()
            rubrics += [line["rubric"] for line in read_calls(log.path)]
    assert rubrics == ["faithfulness", "answer_relevancy"]


def noted(log: CallLog) -> list[dict[str, Any]]:
    log.close()
    calls = list(read_calls(log.path))
    assert [call.pop("ms") >= 0 and call.pop("at") > 0 for call in calls] == [True]
    return calls
