"""Traces in their JSON-LD form, one a line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from runner.domains.traces.records import Step, Trace
from runner.system.writing import replacing

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
        "outcome": {**outcome, "result_summary": trace.summary, "confidence": trace.confidence},
    }


def _step(step: Step) -> dict[str, Any]:
    tool = {} if step.tool is None else {"tool": {**step.more.get("tool", {}), "name": step.tool}}
    content = {"content": step.content} if step.content else {}
    return {**step.more, "type": step.type, **content, **tool}
