"""What an agent did for its questions: how it ended, what each call was worth, and the way of one question, as rows
and lines for every report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from runner.report import metric
from runner.report.document import Document, section
from runner.report.markdown import escape, shorten, table
from runner.report.usage import dollars
from runner.words.wording import Wording

FALLBACKS = ("none", "best_effort", "not_found", "not_ready")
SHOWN = 5  # ids of what was ranked
SPENT = ("tokens_in", "tokens_out", "usd")
ARGUMENT = 120  # characters of an argument of a call

Rows = tuple[list[str], list[list[str]]]  # headers, rows


def agent(document: Document) -> str:
    """The section of summary.md."""
    say, found = document.say, document.summary.get("agent")
    if not found:
        return ""
    blocks = [
        section(title, table(headers, rows, right=range(1, len(headers))), *(escape(note) for note in notes), level=3)
        for title, (headers, rows), notes in parts(found, document.k, say)
    ]
    return section(say("agent.title"), *blocks)


def parts(found: Mapping[str, Any], k: int | None, say: Wording) -> Iterator[tuple[str, Rows, list[str]]]:
    """(title, table, notes)"""
    said = (found.get("fallbacks") or {}).keys()
    yield say("agent.fallbacks"), fallbacks(found, say), [_stops(found, say), *([_explained(say)] if said else [])]
    yield say("agent.steps"), steps(found, k, say), [say("agent.steps_explain", k=k), _tools(found, say)]


def panel(summary: Mapping[str, Any], say: Wording) -> RenderableType | None:
    """How it ended, and what each call was worth, for the terminal."""
    found = summary.get("agent")
    if not found:
        return None
    lines = [f"{say('agent.panel')}: {say('agent.fallbacks')}"]
    lines += [f"  {name}: {n} ({share})" for name, n, share, *_ in fallbacks(found, say)[1]]
    lines.append(f"{say('agent.panel_calls')}:")
    lines += [f"  {_brief(step, number, summary.get('k'), say)}" for number, step in enumerate(found["steps"], start=1)]
    return Group(*map(Text, lines))


def _brief(step: Mapping[str, Any], number: int, k: int | None, say: Wording) -> str:
    recall = f"{metric.label('recall_at_k', k, say)} {metric.four(step['recall'], say)}"
    gain = "" if number == 1 or step["gain"] is None else f" ({step['gain']:+.4f})"
    spent = "" if not step["input_tokens"] else f", {say('agent.spent', tokens=_tokens(step))}"
    return f"{number}. n={step['n']}, {recall}{gain}{spent}"


def _tokens(step: Mapping[str, Any]) -> str:
    return f"{step['input_tokens'] + step['output_tokens']:,.0f}"


# --- rows -----------------------------------------------------------------------------------------


def fallbacks(found: Mapping[str, Any], say: Wording) -> Rows:
    headers = [say(f"agent.{name}") for name in ("fallback", "questions", "share", "answerable", "unanswerable")]
    known = found.get("fallbacks") or {}
    rows = [
        [
            say.name("fallback", name),
            f"{known[name]['n']:,}",
            f"{known[name]['n'] / found['n']:.1%}",
            f"{known[name]['answerable']:,}",
            f"{known[name]['unanswerable']:,}",
        ]
        for name in FALLBACKS
        if name in known
    ]
    return headers, rows


def steps(found: Mapping[str, Any], k: int | None, say: Wording) -> Rows:
    """Tokens and USD only where models were asked."""
    entries = found["steps"]
    spent = SPENT if any(step["input_tokens"] for step in entries) else ()
    headers = [say("agent.step"), say("agent.questions"), say("agent.recall", k=k), say("agent.gain")]
    headers += [say(f"agent.{name}") for name in (*spent, "errors")]
    rows = []
    for number, step in enumerate(entries, start=1):
        gain = say("none") if number == 1 or step["gain"] is None else f"{step['gain']:+.4f}"
        usd = say("none") if step["usd"] is None else dollars(step["usd"])
        cost = [f"{step['input_tokens']:,.0f}", f"{step['output_tokens']:,.0f}", usd] if spent else []
        recall = metric.four(step["recall"], say)
        rows.append([str(number), f"{step['n']:,}", recall, gain, *cost, f"{step['errors']:,}"])
    return headers, rows


def _stops(found: Mapping[str, Any], say: Wording) -> str:
    reasons = ", ".join(f"{say.name('stopped', name)} {n:,}" for name, n in found["stopped"].items())
    return say("agent.stops", reasons=reasons)


def _tools(found: Mapping[str, Any], say: Wording) -> str:
    return say("agent.tools", tools=", ".join(f"{name} {n:,}" for name, n in found["tools"].items()))


def _explained(say: Wording) -> str:
    return say("agent.sufficiency_explain")


# --- one question ---------------------------------------------------------------------------------


def way(output: Mapping[str, Any], say: Wording) -> list[tuple[str, str]]:
    """(call, what came of it) of each call, and why it ended; nothing where there was no agent."""
    trajectory = output.get("trajectory")
    if not trajectory:
        return []
    gold = set(output.get("expected") or ())
    lines = [(_call(call), _outcome(call, gold, say)) for call in trajectory["calls"]]
    reason = say.name("stopped", trajectory["stopped"])
    fallback = say.name("fallback", trajectory.get("fallback") or "none")
    facts = trajectory.get("facts") or {}
    error = f" {say('agent.error', error=facts['error'])}" if facts.get("error") else ""
    return [*lines, ("", say("agent.end", reason=reason, fallback=fallback) + error)]


def _call(call: Mapping[str, Any]) -> str:
    arguments = ", ".join(f"{name}={shorten(_shown(value), ARGUMENT)}" for name, value in call["arguments"].items())
    return f"{call['tool']}({arguments})"


def _shown(value: Any) -> str:
    return f"“{value}”" if isinstance(value, str) else str(value).lower()


def _outcome(call: Mapping[str, Any], gold: set[str], say: Wording) -> str:
    """In one line, gold documents ticked."""
    n = len(call["found"])
    said = [say("agent.result", n=n) if n else say("agent.nothing")]
    if call.get("error"):
        said.append(say("agent.error", error=call["error"]))
    if call["ranked"]:
        ids = [f"{id} ✓" if (id.rpartition("#")[0] or id) in gold else id for id in call["ranked"][:SHOWN]]
        said.append(say("agent.ranked", ids=", ".join(ids)))
    if call.get("sufficient") is not None:
        said.append(say(f"agent.sufficient.{call['sufficient']}"))
    if call.get("confidence") is not None:
        said.append(say("agent.confidence", confidence=f"{call['confidence']:.2f}"))
    if call.get("missing"):
        said.append(say("agent.missing", missing=", ".join(call["missing"])))
    if call.get("next_action"):
        said.append(say(f"agent.advice.{call['next_action']}", query=call.get("refined_query") or "–"))
    if tokens := call.get("input_tokens", 0) + call.get("output_tokens", 0):
        usd = call.get("cost_usd", 0.0)
        cost = "" if not usd else f", {dollars(usd)}"
        said.append(say("agent.spent", tokens=f"{tokens:,}") + cost)
    return "; ".join(said)
