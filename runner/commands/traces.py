"""Turn what agents that call tools did into reasoning traces, to be scored."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from runner.commands import Command, Option, Place, share
from runner.data.problems import ProblemLog, why_empty
from runner.domains.traces.chat_logs import read_chat_logs
from runner.domains.traces.mlflow_traces import is_mlflow, read_mlflow
from runner.domains.traces.otel_files import is_otel
from runner.domains.traces.otel_spans import read_otel
from runner.domains.traces.records import Step, Trace
from runner.domains.traces.trajectories import is_run, read_trajectories
from runner.errors import DataError, InputError
from runner.system import terminal
from runner.system.writing import replacing

SHOWN = 5  # conversations that are left out and named

COMMAND = Command(
    "traces",
    (Place("logs"), Place("out", Path)),
    (Option("domain", "NAME", default="default"), Option("confidence", "0..1", share(), 0.5), Option("strict")),
)


def main(argv: Sequence[str]) -> int:
    """Raises InputError for wrong arguments and DataError where no conversation can be used."""
    options = COMMAND.read(argv)
    out: Path = options.out
    if out.exists():
        raise InputError(f"OUT: {out} exists; name another file, or remove it")
    if not os.access(out.parent, os.W_OK):
        raise InputError(f"OUT: {out.parent} is not a folder that can be written to")
    log = ProblemLog(strict=options.strict)
    assumed: dict[str, Any] = {"domain": options.domain, "confidence": options.confidence}
    of_run = is_run(Path(options.logs))
    if of_run:
        what, read = "question", read_trajectories(Path(options.logs), log, **assumed)
    elif is_mlflow(options.logs):
        what, read = "trace", read_mlflow(options.logs, log, **assumed)
    elif is_otel(options.logs):
        what, read = "trace", read_otel(options.logs, log, **assumed)
    else:
        what, read = "conversation", read_chat_logs(options.logs, log, **assumed)
    traces = list(read)
    log.stop_if_strict()
    if not traces:
        raise DataError(f"{options.logs}: no {what} can be used{_why_empty(log)}")
    write_traces(traces, out)
    _print_outcome(log, traces, f"{what}s", assumed)
    steps = sum(len(trace.steps) for trace in traces)
    terminal.write(f"{out}: {terminal.counted(len(traces), 'trace')}, {terminal.counted(steps, 'step')}\n")
    return 0


def _why_empty(log: ProblemLog) -> str:
    return why_empty(log, log.errors[0].path) if log.errors else ""


def _print_outcome(log: ProblemLog, traces: Sequence[Trace], what: str, told: Mapping[str, Any]) -> None:
    for problem in log.errors[:SHOWN]:
        terminal.note(f"skipped {problem}")
    if len(log.errors) > SHOWN:
        terminal.note(f"skipped {len(log.errors) - SHOWN} more")
    unread = [problem for problem in log.problems if problem.severity == "warning"]
    for problem in unread[:SHOWN]:
        terminal.note(str(problem))
    if len(unread) > SHOWN:
        terminal.note(f"and {len(unread) - SHOWN} more parts like these")
    assumed = Counter(name for trace in traces for name in trace.metadata.get("assumed") or ())
    for name, count in assumed.items():
        option = name.removeprefix("task_")
        terminal.note(
            f"{count} of {len(traces)} {what} do not state their {name}: {told[option]} is assumed (--{option})"
        )
    if unknown := sum(trace.success is None for trace in traces):
        terminal.note(f"{unknown} of {len(traces)} {what} do not state their success: they get no outcome and no score")


CONTEXT, TYPE = "https://knowledgepulse.dev/schema/v1", "ReasoningTrace"


def write_traces(traces: Iterable[Trace], path: Path) -> None:
    """The file appears whole or not at all."""
    with replacing(path) as scratch, scratch.open("wb") as file:
        for trace in traces:
            file.write(orjson.dumps(document(trace)) + b"\n")


def document(trace: Trace) -> dict[str, Any]:
    """Fields that nobody knows stand where they were read."""
    more = dict(trace.more)
    task, outcome = more.pop("task", {}), more.pop("outcome", {})
    metadata = {
        **trace.metadata,
        "task_domain": trace.domain,
        "success": trace.success,
        **({} if trace.language is None else {"language": trace.language}),
    }
    return {
        "@context": CONTEXT,
        "@type": TYPE,
        **more,
        "id": trace.id,
        "metadata": metadata,
        "task": {**task, "objective": trace.objective},
        "steps": [_step(step) for step in trace.steps],
        **_expected_tools(trace),
        "outcome": {**outcome, "result_summary": trace.summary, "confidence": trace.confidence},
    }


def _expected_tools(trace: Trace) -> dict[str, Any]:
    if trace.expected_tools is None:
        return {}
    uses = trace.expected_tools
    return {
        "expected_tools": [
            use.name if use.arguments is None else {"name": use.name, "arguments": use.arguments} for use in uses
        ]
    }


def _step(step: Step) -> dict[str, Any]:
    tool = {} if step.tool is None else {"tool": {**step.more.get("tool", {}), "name": step.tool}}
    content = {"content": step.content} if step.content else {}
    return {**step.more, "type": step.type, **content, **tool}
