"""The report of agents: why they stopped, what each call achieved, and the trajectory of a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.report.blocks import EVERYWHERE, TERMINAL, Fact, Item, Note, Section, Table, section
from runner.report.document import Document
from runner.report.markdown import shorten
from runner.report.metric import four, label
from runner.report.usage import dollars
from runner.words.wording import Wording

FALLBACKS = ("none", "best_effort", "not_found", "not_ready")
SHOWN = 5  # ids of what was ranked
SPENT = ("tokens_in", "tokens_out", "usd")
ARGUMENT = 120  # characters of an argument of a call

Agent = Mapping[str, Any]  # `agent` of summary.json


def sections(document: Document) -> Iterator[Section | None]:
    """The section of an agent: why it stopped, which tools it used, and how it assessed the results."""
    say, k, agent = document.say, document.k, document.summary.get("agent")
    if not agent:
        return
    reasons = ", ".join(f"{say.name('stopped', name)} {n:,}" for name, n in agent["stopped"].items())
    tools = ", ".join(f"{name} {n:,}" for name, n in agent["tools"].items())
    explained = [Note(say("agent.sufficiency_explain"), "quiet")] if agent.get("fallbacks") else []
    yield section(
        "agent",
        say("agent.title"),
        section(
            "", say("agent.fallbacks"), _fallbacks(agent, say), Note(say("agent.stops", reasons=reasons)), *explained
        ),
        section(
            "",
            say("agent.steps"),
            _steps(agent, k, say),
            _brief_steps(agent, k, say),
            Note(say("agent.steps_explain", k=k), "quiet"),
            Note(say("agent.tools", tools=tools)),
        ),
    )


def _fallbacks(agent: Agent, say: Wording) -> Table:
    headers = [say(f"agent.{name}") for name in ("fallback", "questions", "share", "answerable", "unanswerable")]
    fallbacks = agent.get("fallbacks") or {}
    rows = [
        [
            say.name("fallback", name),
            f"{fallbacks[name]['n']:,}",
            f"{fallbacks[name]['n'] / agent['n']:.1%}",
            f"{fallbacks[name]['answerable']:,}",
            f"{fallbacks[name]['unanswerable']:,}",
        ]
        for name in FALLBACKS
        if name in fallbacks
    ]
    return Table(headers, rows, media=EVERYWHERE, narrow=True)


def _steps(agent: Agent, k: int | None, say: Wording) -> Table:
    """The table of steps; with tokens and USD only where models were called."""
    cost_columns = SPENT if any(step["input_tokens"] for step in agent["steps"]) else ()
    headers = [say("agent.step"), say("agent.questions"), say("agent.recall", k=k), say("agent.gain")]
    headers += [say(f"agent.{name}") for name in (*cost_columns, "errors")]
    rows = []
    for number, step in enumerate(agent["steps"], start=1):
        gain = say("none") if number == 1 or step["gain"] is None else f"{step['gain']:+.4f}"
        usd = say("none") if step["usd"] is None else dollars(step["usd"])
        cost = [f"{step['input_tokens']:,.0f}", f"{step['output_tokens']:,.0f}", usd] if cost_columns else []
        rows.append([str(number), f"{step['n']:,}", four(step["recall"], say), gain, *cost, f"{step['errors']:,}"])
    return Table(headers, rows, narrow=True)


def _brief_steps(agent: Agent, k: int | None, say: Wording) -> Table:
    """The table of steps for a terminal."""
    headers = [say("agent.step"), say("agent.questions"), label("recall_at_k", k, say), say("agent.gain"), ""]
    rows = []
    for number, step in enumerate(agent["steps"], start=1):
        gain = "" if number == 1 or step["gain"] is None else f"{step['gain']:+.4f}"
        tokens = f"{step['input_tokens'] + step['output_tokens']:,.0f}"
        spent = say("agent.spent", tokens=tokens) if step["input_tokens"] else ""
        rows.append([str(number), f"{step['n']:,}", four(step["recall"], say), gain, spent])
    return Table(headers, rows, media=TERMINAL)


# --- one question ---------------------------------------------------------------------------------


def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
    """The result of each call, and why the agent stopped; empty without an agent."""
    output = row.get("output")
    trajectory = output.get("trajectory") if isinstance(output, Mapping) else None
    if not isinstance(output, Mapping) or not trajectory:
        return
    gold = set(output.get("expected") or ())
    calls = [
        Item(_call(call), lead=f"{number}.", text=_outcome(call, gold, say))
        for number, call in enumerate(trajectory["calls"], start=1)
    ]
    reason = say.name("stopped", trajectory["stopped"])
    fallback = say.name("fallback", trajectory.get("fallback") or "none")
    facts = trajectory.get("facts") or {}
    error = f" {say('agent.error', error=facts['error'])}" if facts.get("error") else ""
    end = Item(say("agent.end", reason=reason, fallback=fallback) + error, lead="–")
    yield Fact(say("agent.trajectory"), items=[*calls, end], after="retrieved", size="reason")


def _call(call: Mapping[str, Any]) -> str:
    arguments = ", ".join(f"{name}={shorten(_quote(value), ARGUMENT)}" for name, value in call["arguments"].items())
    return f"{call['tool']}({arguments})"


def _quote(value: Any) -> str:
    return f"“{value}”" if isinstance(value, str) else str(value).lower()


def _outcome(call: Mapping[str, Any], gold: set[Any], say: Wording) -> str:
    """The outcome of a call in one line, with gold documents ticked."""
    n = len(call["found"])
    sentences = [say("agent.result", n=n) if n else say("agent.nothing")]
    if call.get("error"):
        sentences.append(say("agent.error", error=call["error"]))
    if call["ranked"]:
        ids = [f"{id} ✓" if (id.rpartition("#")[0] or id) in gold else id for id in call["ranked"][:SHOWN]]
        sentences.append(say("agent.ranked", ids=", ".join(ids)))
    if call.get("sufficient") is not None:
        sentences.append(say(f"agent.sufficient.{call['sufficient']}"))
    if call.get("confidence") is not None:
        sentences.append(say("agent.confidence", confidence=f"{call['confidence']:.2f}"))
    if call.get("missing"):
        sentences.append(say("agent.missing", missing=", ".join(call["missing"])))
    if call.get("next_action"):
        sentences.append(say(f"agent.advice.{call['next_action']}", query=call.get("refined_query") or "–"))
    if tokens := call.get("input_tokens", 0) + call.get("output_tokens", 0):
        usd = call.get("cost_usd", 0.0)
        cost = "" if not usd else f", {dollars(usd)}"
        sentences.append(say("agent.spent", tokens=f"{tokens:,}") + cost)
    return "; ".join(sentences)
