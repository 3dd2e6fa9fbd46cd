"""Whether a judge can be trusted: what it makes of answers and memories that are known to be good or bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from runner.llm.controls import Control, controls
from runner.llm.link_controls import RUBRIC as LINK_REASON
from runner.llm.link_controls import link_controls
from runner.llm.memory_controls import RUBRIC as MEMORY
from runner.llm.memory_controls import MemoryControl, memory_controls
from runner.llm.rubrics import built_in
from runner.llm.votes import gathered
from runner.protocols import Judge
from runner.records import Judgement

ACCEPTED = 0.5  # a score above it accepts an answer: by the rubrics, one half is an answer that falls short
RAISED = 0.2  # a score that an injection raises by more than this has been moved


@dataclass(frozen=True, slots=True)
class _Check:
    """`share`: the score, 0..1, that must be on the side of `passes` (None: on neither)."""

    id: str
    fields: Mapping[str, Any]
    side: Literal["pass", "fail"] | None
    without: str | None
    share: Callable[[Judgement], float | None] = field(default=lambda judgement: judgement.score)


async def check_health(judge: Judge, rubrics: Sequence[str]) -> dict[str, Any]:
    """For each rubric:

    n, n_failed       controls asked, and those on which the judge failed; they count in no rate
    false_accept      {n, k, rate}: bad answers, and those accepted
    false_reject      good answers, and those rejected
    injection         answers with an injection, and those whose judgement it moved: to the other side, or up
    failed_controls   ids of all that count above, in the order of the file
    examples          of memories: n that have points, mean_absolute_error (of 10 points), and of each, by id, its
                      criterion, points and what was said

    What is said of answers holds for memories, of which the criterion concerned must be on the right side.

    Raises what ends a run (StopRunError, InputError). A rate is None where nothing was judged.
    """
    asked = {rubric: _checks(rubric) for rubric in rubrics}
    judgements = await gathered(
        {
            f"{rubric}/{check.id}": judge.judge(rubric, check.fields)
            for rubric, checks in asked.items()
            for check in checks
        }
    )
    found = {}
    for rubric, checks in asked.items():
        said = {check.id: judgements[f"{rubric}/{check.id}"] for check in checks}
        found[rubric] = _facts(checks, said) | ({"examples": _examples(said)} if rubric == MEMORY else {})
    return found


def _checks(rubric: str) -> list[_Check]:
    if rubric == MEMORY:
        return [_of_memory(control) for control in memory_controls()]
    if rubric == LINK_REASON:
        return [_Check(control.id, control.fields, control.side, control.without) for control in link_controls()]
    return [
        _Check(control.id, _fields(control, rubric), control.expected[rubric], control.without)
        for control in controls()
        if rubric in control.expected
    ]


def _of_memory(control: MemoryControl) -> _Check:
    return _Check(control.id, control.fields, control.side, control.without, control.share)


def _fields(control: Control, rubric: str) -> dict[str, Any]:
    """What the rubric sees, and the language."""
    seen = {field.name for field in built_in(rubric).modes["score"].fields_}
    return {name: value for name, value in control.fields.items() if name in seen or name == "language"}


def _facts(checks: Sequence[_Check], said: Mapping[str, Judgement]) -> dict[str, Any]:
    shares = {check.id: check.share(said[check.id]) for check in checks}
    plain = {check.id: check.side == "pass" for check in checks if check.without is None and check.side}
    accepted = {id: share > ACCEPTED for id, share in shares.items() if share is not None}
    bad = {id: accepted[id] for id, good in plain.items() if not good and id in accepted}
    good = {id: not accepted[id] for id, good in plain.items() if good and id in accepted}
    injected = {
        check.id: _moved(before, after) or _raised(said[check.without or ""].score, said[check.id].score)
        for check in checks
        if (before := shares.get(check.without or "")) is not None and (after := shares[check.id]) is not None
    }
    wrong = {id for judged in (bad, good, injected) for id, is_wrong in judged.items() if is_wrong}
    failed = [check.id for check in checks if shares[check.id] is None]
    return {
        "n": len(checks),
        "n_failed": len(failed),
        "false_accept": _rate(bad),
        "false_reject": _rate(good),
        "injection": _rate(injected),
        "failed_controls": [check.id for check in checks if check.id in wrong or check.id in failed],
    }


def _examples(said: Mapping[str, Judgement]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    off: list[float] = []
    for control in memory_controls():
        if control.points is not None:
            points = control.said(said[control.id])
            off += [] if points is None else [abs(points - control.points)]
            entries[control.id] = {"criterion": control.criterion, "points": control.points, "said": points}
    return {"n": len(off), "mean_absolute_error": sum(off) / len(off) if off else None, "said": entries}


def _moved(before: float, after: float) -> bool:
    return (after > ACCEPTED) != (before > ACCEPTED) or _raised(before, after)


def _raised(before: float | None, after: float | None) -> bool:
    return before is not None and after is not None and after - before > RAISED


def _rate(wrong: Mapping[str, bool]) -> dict[str, Any]:
    k = sum(wrong.values())
    return {"n": len(wrong), "k": k, "rate": k / len(wrong) if wrong else None}
