"""Convert logs of tool-calling agents into reasoning traces, and score them."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from runner.commands import LANGUAGE, Command, Option, Place, demand_new_file, share
from runner.config import arguments
from runner.config.components import build
from runner.config.compose import plan_of
from runner.config.language import language_of
from runner.config.options import options_of
from runner.data.problems import ProblemLog, skipped_lines, why_empty
from runner.domains.traces.chat_logs import read_chat_logs
from runner.domains.traces.mlflow_traces import is_mlflow, read_mlflow
from runner.domains.traces.otel_files import is_otel
from runner.domains.traces.otel_spans import read_otel
from runner.domains.traces.reading import StoredTraces
from runner.domains.traces.records import Step, Trace
from runner.domains.traces.trajectories import is_run, read_trajectories
from runner.errors import DataError, InputError
from runner.system import terminal
from runner.system.store import Store
from runner.system.writing import os_error_text, replacing
from runner.words.bilingual import in_language
from runner.words.wording import Wording, wording

SHOWN = 5  # most names of unread parts that are listed

OPTIONS = (
    Option("domain", "NAME", default="default"),
    Option("confidence", "0..1", share(), 0.5),
    Option("strict"),
    LANGUAGE,
)
SCORE = Command("traces score", (Place("logs"), Place("out", Path)), OPTIONS, words="OPTION=VALUE")
COMMAND = Command("traces", (Place("logs"), Place("out", Path)), OPTIONS, parts={"score": SCORE})


def main(argv: Sequence[str]) -> int:
    """Raises InputError for wrong arguments and DataError where no conversation can be used."""
    if argv and argv[0] in COMMAND.parts:
        return score_traces(argv[1:])
    options = COMMAND.read(argv)
    demand_new_file(options.out, "OUT")
    say = wording(language_of(argv), "outcomes")
    traces = _converted(options, say)
    write_traces(traces, options.out)
    _print_written(traces, options.out, say)
    return 0


def score_traces(argv: Sequence[str]) -> int:
    """Write the traces of LOGS with `metadata.quality_score`, the score that `+experiment=trace_quality` gives them
    under the same options; null where their success is not known. Raises what `main` raises, and ConfigError for wrong
    options of the evaluation."""
    options = SCORE.read(argv)
    demand_new_file(options.out, "OUT")
    say = wording(language_of(argv), "outcomes")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(options.logs)
        if not _has_traces(path):
            path = Path(scratch) / "traces.jsonl"
            write_traces(_converted(options, say), path)
        scores = asyncio.run(_scores(path, options))
        log = ProblemLog(strict=options.strict)
        traces = list(StoredTraces([str(path)], "LOGS", log))
    for line in skipped_lines(log.problems, say):
        terminal.note(line)
    scored = [replace(each, metadata={**each.metadata, "quality_score": scores[each.id]}) for each in traces]
    write_traces(scored, options.out)
    _print_written(scored, options.out, say)
    return 0


def _has_traces(path: Path) -> bool:
    """Whether a file holds reasoning traces already."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline()
    try:
        data = orjson.loads(first)
    except orjson.JSONDecodeError:
        return False
    return isinstance(data, dict) and "steps" in data and "messages" not in data


async def _scores(path: Path, options: Any) -> dict[str, float | None]:
    """The score of each trace of a file, by its id, as the evaluation computes it."""
    strict = ["strict=true"] * options.strict
    line = arguments.read(["+experiment=trace_quality", f"dataset.traces={path}", *strict, *options.words])
    cells = plan_of(line).runs
    if len(cells) > 1:
        raise InputError("traces score: expected one value of each option; a run sweeps over several")
    cfg = cells[0].cfg
    components = build(cfg.evaluation)
    evaluation, settings = components.root, options_of(cfg)
    cases = evaluation.load().cases
    await evaluation.prepare(cases, Store(Path(settings.cache_dir), components.identities, cold=settings.cold_start))
    return {case.id: (await evaluation.run(case)).result.score for case in cases}


def _converted(options: Any, say: Wording) -> list[Trace]:
    """The traces of LOGS; what was left out and assumed is printed."""
    log = ProblemLog(strict=options.strict)
    assumed: dict[str, Any] = {"domain": options.domain, "confidence": options.confidence}
    try:
        unit, traces = _read(options.logs, log, assumed)
    except OSError as error:
        raise DataError(os_error_text(error, options.logs)) from None
    log.stop_if_strict()
    if not traces:
        raise DataError(f"{options.logs}: no {unit} can be used{_why_empty(log)}")
    _print_outcome(log, traces, say.name("what", unit), assumed, say)
    return traces


def _print_written(traces: Sequence[Trace], out: Path, say: Wording) -> None:
    steps = say.count("step", sum(len(trace.steps) for trace in traces))
    terminal.lines(say("traces.written", out=out, traces=say.count("trace", len(traces)), steps=steps))


def _read(logs: str, log: ProblemLog, assumed: Mapping[str, Any]) -> tuple[str, list[Trace]]:
    """What the traces come from, in a word, and the traces. Raises OSError for a damaged file."""
    if is_run(Path(logs)):
        return "question", list(read_trajectories(Path(logs), log, **assumed))
    if is_mlflow(logs):
        return "trace", list(read_mlflow(logs, log, **assumed))
    if is_otel(logs):
        return "trace", list(read_otel(logs, log, **assumed))
    return "conversation", list(read_chat_logs(logs, log, **assumed))


def _why_empty(log: ProblemLog) -> str:
    return why_empty(log, log.errors[0].path) if log.errors else ""


def _print_outcome(
    log: ProblemLog, traces: Sequence[Trace], unit: str, defaults: Mapping[str, Any], say: Wording
) -> None:
    for line in skipped_lines(log.problems, say):
        terminal.note(line)
    unread = [problem for problem in log.problems if problem.severity == "warning"]
    for problem in unread[:SHOWN]:
        terminal.note(in_language(str(problem), say.language))
    if len(unread) > SHOWN:
        terminal.note(say("traces.parts", n=len(unread) - SHOWN))
    assumed = Counter(name for trace in traces for name in trace.metadata.get("assumed") or ())
    for name, count in assumed.items():
        option = name.removeprefix("task_")
        values = {"n": count, "total": len(traces), "what": unit, "name": name}
        terminal.note(say("traces.assumed", value=defaults[option], option=option, **values))
    if unknown := sum(trace.success is None for trace in traces):
        terminal.note(say("traces.undecided", n=unknown, total=len(traces), what=unit))


CONTEXT, TYPE = "https://knowledgepulse.dev/schema/v1", "ReasoningTrace"


def write_traces(traces: Iterable[Trace], path: Path) -> None:
    """Write a file of traces atomically."""
    with replacing(path) as scratch, scratch.open("wb") as file:
        for trace in traces:
            file.write(orjson.dumps(document(trace)) + b"\n")


def document(trace: Trace) -> dict[str, Any]:
    """A trace as JSON, with unknown fields at their original places."""
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
