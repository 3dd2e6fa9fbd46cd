import asyncio
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from runner.errors import EvaluationError, InputError, StopRunError
from runner.records import Judgement, Judgements, RoleCost, Row, Scores, Timing
from runner.run import engine
from runner.run.engine import INTERRUPTED, Limits, Stop, run_case, run_cases
from runner.system.stopwatch import note


@dataclass(frozen=True)
class Case:
    id: str
    language: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Output:
    text: str
    timings: Mapping[str, Timing] = field(default_factory=dict)

    def record(self) -> Mapping[str, Any]:
        return {"text": self.text}


class Echo:
    """Cases named break, refuse, hang, cancel, text, nan and so on misbehave."""

    def __init__(self) -> None:
        self.in_flight = self.most = 0

    async def run(self, case: Case) -> Output:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(60 if case.id == "hang" else 0.001)
            if case.id == "cancel":
                raise asyncio.CancelledError
            if case.id == "break":
                raise ValueError("on purpose")
            if case.id == "refuse":
                raise EvaluationError("no such index")
            return Output(case.id, {"retrieval": Timing(2.0)})
        finally:
            self.in_flight -= 1

    async def judge(self, case: Case, output: Output) -> Judgements:
        if case.id == "break-judge":
            raise TimeoutError
        return {"quality": Judgement(1.0, "fine")}

    def score(self, case: Case, output: Output | None, judgements: Judgements) -> Scores:
        if case.id == "break-score":
            raise ValueError("no score")
        if case.id == "stop-score":
            raise StopRunError("no such label")
        if output is None:
            return Scores({}, unscored=("quality",))
        if not judgements:
            return Scores({"quality": None, "other": 2.0}, unscored=("quality",))
        if case.id == "text":
            return Scores({"quality": "good"})  # type: ignore[dict-item]
        return Scores({"quality": math.nan if case.id == "nan" else 1.0, "other": None}, labels={"kind": "x"})


def one(id: str, timeout_s: float = 5) -> Row:
    return asyncio.run(run_case(Echo(), Case(id, "ko", "easy", ("t",)), timeout_s))


def test_a_case_becomes_a_row() -> None:
    row = one("a")
    assert row.status == "ok" and row.error is None and row.stage is None
    assert row.metrics == {"quality": 1.0, "other": None} and row.unscored == ()
    assert row.output == {"text": "a"} and row.timings == {"retrieval": Timing(2.0)}
    assert (row.language, row.difficulty, row.tags, row.labels) == ("ko", "easy", ("t",), {"kind": "x"})
    assert row.judgements["quality"].reasoning == "fine"
    assert row.latency_ms == 2.0


def test_an_error_becomes_a_failed_row_that_says_what_would_have_been_scored() -> None:
    row = one("break")
    assert (row.status, row.stage) == ("failed", "run")
    assert row.error is not None and row.error.startswith(f"ValueError: on purpose ({__name__}, line ")
    assert row.metrics == {} and row.unscored == ("quality",)


def test_our_own_errors_are_shown_without_their_class() -> None:
    assert one("refuse").error == "no such index"


class Resuming(Echo):
    """It takes outputs from rows, and says which."""

    def __init__(self) -> None:
        super().__init__()
        self.restored_ids: list[str] = []

    async def restore(self, case: Case, row: Mapping[str, Any]) -> Output:
        self.restored_ids.append(case.id)
        return Output(row["output"]["text"])

    async def judge_missing(self, case: Case, output: Output, judgements: dict[str, Judgement]) -> None:
        judgements["quality"] = Judgement(1.0, "asked again")


@pytest.mark.parametrize(("output", "restored_ids", "text"), [({"text": "old"}, ["a"], "old"), (None, [], "a")])
def test_a_row_without_an_output_is_run_again(output: Any, restored_ids: list[str], text: str) -> None:
    evaluation, earlier = Resuming(), {"output": output, "judgements": {}, "latency_ms": 7.0}
    row = asyncio.run(run_case(evaluation, Case("a"), 5, earlier=earlier))
    assert (row.status, row.output, evaluation.restored_ids) == ("ok", {"text": text}, restored_ids)
    assert row.latency_ms == (7.0 if restored_ids else 2.0)


def test_what_an_earlier_command_paid_and_judged_stays() -> None:
    """A judgement that failed is none, even where it counts as 0."""
    said = {"reasoning": "so", "details": {}}
    judgements = {
        "tone": {"score": 0.25, "error": None, **said},
        "quality": {"score": None, "error": "no JSON", **said},
        "counted": {"score": 0.0, "error": "no JSON", **said},
    }
    paid = {"requests": 2, "input_tokens": 30, "output_tokens": 4, "usd": 0.5}
    earlier = {"output": {"text": "old"}, "judgements": judgements, "latency_ms": 7.0, "cost": {"judge": paid}}
    row = asyncio.run(run_case(Resuming(), Case("a"), 5, earlier=earlier))
    assert row.judgements == {"tone": Judgement(0.25, "so"), "quality": Judgement(1.0, "asked again")}
    assert row.cost == {"judge": RoleCost(2, 30, 4, 0.5)}


def test_a_case_past_its_deadline_is_a_timeout() -> None:
    row = one("hang", 0.02)
    assert (row.status, row.stage, row.error) == (
        "timeout",
        "run",
        "the case did not end within 0.02 s (case_timeout_ms)",
    )


def test_a_timeout_of_the_judge_keeps_the_output_and_its_other_scores() -> None:
    row = one("break-judge")
    assert (row.metrics, row.unscored) == ({"quality": None, "other": 2.0}, ("quality",))
    assert (row.status, row.stage, row.output) == ("timeout", "judge", {"text": "break-judge"})


@pytest.mark.parametrize(("id", "stage"), [("break-score", "score"), ("cancel", "run")])
def test_whatever_goes_wrong_becomes_a_row(id: str, stage: str) -> None:
    row = one(id)
    assert (row.status, row.stage) == ("failed", stage)


def test_a_metric_that_is_no_number_is_a_failure() -> None:
    row = one("text")
    assert (row.status, row.metrics, row.unscored) == ("ok", {"quality": None}, ("quality",))


def test_nan_is_a_failure_not_a_number() -> None:
    row = one("nan")
    assert row.metrics == {"quality": None, "other": None} and row.unscored == ("quality",)


def test_beside_what_is_no_number_the_others_stay() -> None:
    class Odd(Echo):
        def score(self, case: Case, output: Output | None, judgements: Judgements) -> Scores:
            return Scores({"text": "good", "huge": 1e101, "share": 0.5, "steps": 3, "none": None})  # type: ignore[dict-item]

    row = asyncio.run(run_case(Odd(), Case("a"), 5))
    assert row.metrics == {"text": None, "huge": None, "share": 0.5, "steps": 3, "none": None}
    assert row.unscored == ("text", "huge")


def test_a_row_for_which_there_is_no_room_ends_the_run() -> None:
    def full(row: Row) -> None:
        raise StopRunError("no space left")

    cases = [Case("a"), Case("b")]
    assert asyncio.run(run_cases(Echo(), cases, Limits(1, 5), full, print)) == Stop(3, "no space left")


def test_every_case_once_and_never_more_in_flight_than_allowed() -> None:
    evaluation, rows = Echo(), []
    cases = [Case(str(number)) for number in range(50)]
    assert asyncio.run(run_cases(evaluation, cases, Limits(7, 5), rows.append, print)) is None
    assert sorted(row.id for row in rows) == sorted(case.id for case in cases)
    assert evaluation.most == 7


def test_one_bad_case_costs_only_itself() -> None:
    rows: list[Row] = []
    asyncio.run(run_cases(Echo(), [Case("a"), Case("break"), Case("b")], Limits(2, 5), rows.append, print))
    assert {row.id: row.status for row in rows} == {"a": "ok", "break": "failed", "b": "ok"}


def test_what_a_score_raises_ends_no_run() -> None:
    """Scores are computed of one case alone: whatever they raise says nothing of the next."""
    rows: list[Row] = []
    cases = [Case("stop-score"), Case("a")]
    assert asyncio.run(run_cases(Echo(), cases, Limits(1, 5), rows.append, print)) is None
    assert [(row.id, row.status, row.stage, row.error) for row in rows] == [
        ("stop-score", "failed", "score", "no such label"),
        ("a", "ok", None, None),
    ]


def test_cancelling_ends_the_loop_and_lets_what_follows_run() -> None:
    rows: list[Row] = []

    async def main() -> Stop | None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_later(0.05, task.cancel)
        stop = await run_cases(Echo(), [Case("a"), Case("hang"), Case("b")], Limits(1, 60), rows.append, print)
        await asyncio.sleep(0.001)  # would raise if the cancellation were still pending
        return stop

    assert asyncio.run(main()) == INTERRUPTED
    assert [row.id for row in rows] == ["a"]


class Steps(Echo):
    """Slow cases wait until they are told to go on; stop and slow-stop end the run, model with an InputError."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.run_cases: list[str] = []

    async def run(self, case: Case) -> Output:
        self.run_cases.append(case.id)
        if case.id.startswith("slow"):
            await self.go_on.wait()
        if case.id in ("stop", "slow-stop"):
            raise StopRunError("the key is refused")
        if case.id == "model":
            raise InputError("no such model")
        return Output(case.id)

    async def judge(self, case: Case, output: Output) -> Judgements:
        if case.id == "stop-judge":
            raise StopRunError("the judge is gone")
        if case.id.startswith("judged"):
            await self.go_on.wait()
        return {"quality": Judgement(1.0)}


@pytest.mark.parametrize(
    ("id", "stop"),
    [
        ("stop", Stop(3, "the key is refused")),
        ("stop-judge", Stop(3, "the judge is gone")),
        ("model", Stop(1, "no such model")),
    ],
)
def test_what_is_wrong_for_every_case_ends_the_run(id: str, stop: Stop) -> None:
    rows: list[Row] = []
    evaluation = Steps()
    cases = [Case("a"), Case(id), Case("b"), Case("c")]
    assert asyncio.run(run_cases(evaluation, cases, Limits(1, 5), rows.append, print)) == stop
    assert [row.id for row in rows] == ["a"] and evaluation.run_cases == ["a", id]


def test_cases_in_flight_end_as_they_would_have_and_no_other_begins() -> None:
    rows: list[Row] = []
    evaluation = Steps()

    async def main() -> Stop | None:
        asyncio.get_running_loop().call_later(0.01, evaluation.go_on.set)
        cases = [Case("slow"), Case("a"), Case("stop"), Case("b"), Case("c")]
        return await run_cases(evaluation, cases, Limits(3, 5), rows.append, print)

    assert asyncio.run(main()) == Stop(3, "the key is refused")
    assert {row.id for row in rows} == {"slow", "a"}
    assert evaluation.run_cases == ["slow", "a", "stop"]


def test_the_first_of_several_reasons_is_told() -> None:
    evaluation = Steps()

    async def main() -> Stop | None:
        asyncio.get_running_loop().call_later(0.01, evaluation.go_on.set)
        return await run_cases(evaluation, [Case("slow-stop"), Case("model")], Limits(2, 5), print, print)

    assert asyncio.run(main()) == Stop(1, "no such model")
    assert evaluation.run_cases == ["slow-stop", "model"]


def test_ctrl_c_while_cases_in_flight_end_is_an_interrupt() -> None:
    async def main() -> Stop | None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_later(0.05, task.cancel)
        return await run_cases(Steps(), [Case("slow"), Case("stop")], Limits(2, 60), print, print)

    assert asyncio.run(main()) == INTERRUPTED


def test_the_latency_of_a_case_is_that_of_its_stages() -> None:
    class Staged(Echo):
        async def run(self, case: Case) -> Output:
            second = None if case.id == "untimed" else 3.5
            return Output("", {"retrieval": Timing(2.0), "generation": Timing(second, live=False)})

    assert asyncio.run(run_case(Staged(), Case("a"), 5)).latency_ms == 5.5
    assert asyncio.run(run_case(Staged(), Case("untimed"), 5)).latency_ms is None


def test_without_stages_the_run_is_timed_without_its_waiting() -> None:
    class Plain(Echo):
        async def run(self, case: Case) -> Output:
            await asyncio.sleep(0.02)
            note(waited_s=10.0 if case.id == "waits" else 0.0, live=case.id != "cached")
            return Output("")

    plain, waits, cached = (asyncio.run(run_case(Plain(), Case(id), 5)).latency_ms for id in ("a", "waits", "cached"))
    assert plain is not None and plain >= 20
    assert waits == 0.0  # it took less than ten seconds
    assert cached is None


def test_when_no_case_ends_the_slowest_in_flight_are_named() -> None:
    evaluation, told, rows = Steps(), [], []

    def tell(seconds: float, cases: str) -> None:
        told.append((seconds, cases))
        if len(told) == 2:
            evaluation.go_on.set()

    cases = [Case("slow-1"), Case("slow-2"), Case("judged-3"), Case("a"), Case("slow-4")]
    assert asyncio.run(run_cases(evaluation, cases, Limits(4, 60, patience_s=0.05), rows.append, tell)) is None
    for seconds, names in told[:2]:
        assert seconds >= 0.05
        assert re.sub(r"\d+ s", "0 s", names) == "slow-1 (run, 0 s), slow-2 (run, 0 s), judged-3 (judge, 0 s)"
    assert len(rows) == 5


def test_cases_that_wait_for_nothing_let_the_loop_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many workers there are: Ctrl-C and everything that waits get their turn."""
    clock = itertools.count()
    monkeypatch.setattr(engine, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))  # 1 s a look
    monkeypatch.setattr(engine, "BREATH_S", 50.0)
    n_ended, turns = 0, []

    class AtOnce(Echo):
        async def run(self, case: Case) -> Output:
            return Output(case.id)

    def record(row: Row) -> None:
        nonlocal n_ended
        n_ended += 1

    async def main() -> None:
        def turn() -> None:
            turns.append(n_ended)
            asyncio.get_running_loop().call_soon(turn)

        turn()
        cases = (Case(str(number)) for number in range(2000))
        await run_cases(AtOnce(), cases, Limits(16, 60), record, lambda quiet_s, cases: None)

    asyncio.run(main())
    assert n_ended == 2000
    between = [later - earlier for earlier, later in pairwise(turns)]
    assert 50 < max(between) <= 50 + 2 * 16
