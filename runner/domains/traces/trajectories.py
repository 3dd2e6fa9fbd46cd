"""What the agents of a run did (`retriever=agentic`), as reasoning traces: rows of per_item.jsonl with a trajectory.

    the question                       the objective
    a call of a tool                   a tool call
    the same after a call that failed  a recovery from an error, unless it only calls the same again
    what came back, or its error       an observation: ids of chunks, best first
    what the reranker made of it       a thought: whether it is enough, what is missing, what to do next
    the answer, or the message instead the result

Success is that the question was not lost on its way (`lost_at` of its row is `none`): held against its gold documents
where nothing was generated, its known answers and judgements otherwise; a question without an answer is won by not
answering it; where a row has no such label, it is unknown. Confidence is that with which the agent ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.data.jsonl import describe_value, read_jsonl
from runner.data.problems import ProblemLog
from runner.domains.traces.records import Step, StepType, Trace
from runner.errors import DataError
from runner.records import Assessment, ToolCall, Trajectory, trajectory_of
from runner.text.language import detect_language

ROWS = "per_item.jsonl"
NOT_LOST = "none"


def is_run(path: Path) -> bool:
    """Whether this is a run folder, or the rows of one."""
    return path.is_dir() or path.name == ROWS


def read_trajectories(path: Path, log: ProblemLog, *, domain: str, confidence: float) -> Iterator[Trace]:
    """In the order of the rows; rows without a trajectory (of failed cases) are errors in `log`. `domain` is that of
    all traces, `confidence` is for those whose agent gave none. Raises DataError for a file that cannot be read."""
    rows = str(path / ROWS if path.is_dir() else path)
    for number, row in read_jsonl(rows, "LOGS", log, DataError):
        output = row.get("output")
        record = output.get("trajectory") if isinstance(output, Mapping) else None
        if not isinstance(record, Mapping) or not isinstance(output, Mapping):
            log.error(rows, "no agent looked for an answer here", number, "output.trajectory")
            continue
        if not isinstance(row.get("id"), str):
            log.error(rows, f"expected the id of a case, found {describe_value(row.get('id'))}", number, "id")
            continue
        try:
            trace = _trace(row, output, trajectory_of(record), domain, confidence)
        except (AttributeError, KeyError, TypeError, ValueError):
            log.error(rows, f"expected a trajectory, found {describe_value(record)}", number, "output.trajectory")
            continue
        yield trace


def steps_of(calls: Sequence[ToolCall]) -> Iterator[Step]:
    """A call of a tool and what came back as steps; a call after an error, with other arguments, recovers from it."""
    before: ToolCall | None = None
    for call in calls:
        recovers = before is not None and before.error is not None and _request_of(before) != _request_of(call)
        kind: StepType = "error_recovery" if recovers else "tool_call"
        yield Step(kind, "", call.tool, {"input": dict(call.arguments)})
        yield Step("observation", call.error or f"found: {', '.join(call.found) or '-'}")
        if call.assessment.sufficient is not None:
            yield Step("thought", _thought_text(call.assessment))
        before = call


def _request_of(call: ToolCall) -> tuple[Any, ...]:
    return call.tool, dict(call.arguments)


def _thought_text(assessment: Assessment) -> str:
    """The reranker's assessment in its own terms."""
    parts = {
        "sufficient": "yes" if assessment.sufficient else "no",
        "missing": ", ".join(assessment.missing),
        "next": assessment.next_action,
        "query": assessment.refined_query,
    }
    return "; ".join(f"{name}: {value}" for name, value in parts.items() if value)


def _trace(
    row: Mapping[str, Any], output: Mapping[str, Any], trajectory: Trajectory, domain: str, confidence: float
) -> Trace:
    lost_at = (row.get("labels") or {}).get("lost_at")
    assumed = ["task_domain", *(["confidence"] if trajectory.confidence is None else [])]
    question = str(output.get("query") or row["id"])
    # An agent that ended without a call has taken one step: that of seeing no use in one.
    steps = tuple(steps_of(trajectory.calls)) or (Step("thought", f"stopped: {trajectory.stopped}"),)
    return Trace(
        str(row["id"]),
        question,
        domain,
        steps,
        None if lost_at is None else lost_at == NOT_LOST,
        confidence if trajectory.confidence is None else trajectory.confidence,
        language=row.get("language") or detect_language(question),
        summary=str(output.get("answer") or trajectory.message or ""),
        metadata={
            "stopped": trajectory.stopped,
            **({} if trajectory.fallback is None else {"fallback": trajectory.fallback}),
            **({} if lost_at is None else {"lost_at": lost_at}),
            "assumed": assumed,
        },
    )
