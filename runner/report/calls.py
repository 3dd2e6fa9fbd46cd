"""The requests to models for one case, as facts of the case and for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from runner.errors import InputError
from runner.llm.calls import FILE, calls_of
from runner.report import metric, usage
from runner.report.blocks import PAGE, Fact, Item
from runner.system.folder import RunFolder
from runner.words.wording import Wording

Call = Mapping[str, Any]  # a line of calls.jsonl.zst
INDENT = "  "


def kept_calls(folder: RunFolder, cases: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The calls of these cases, in the order in which they began; empty where the file cannot be read."""
    calls_by_case: dict[str, list[dict[str, Any]]] = {}
    with suppress(InputError):
        calls_by_case = calls_of(folder.path / FILE, cases)
    return {case: in_order(calls) for case, calls in calls_by_case.items() if calls}


def in_order(calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls by the time at which they were made."""
    return sorted(calls, key=lambda call: call["at"])


def fact_of(calls: Sequence[Call], say: Wording) -> Fact:
    """The calls of a case as a fact: model, tokens, time, request and reply of each."""
    items = [
        Item(name_of(call, say), lead=f"{number}.", note=f"({measures(call, say)})", text=_texts(call, say))
        for number, call in enumerate(calls, start=1)
    ]
    return Fact(say("calls"), "", items, size="call", media=PAGE)


def name_of(call: Call, say: Wording) -> str:
    """`judge (faithfulness), openai:gpt-4.1-mini`"""
    about = f" ({metric.rubric(call['rubric'], say)})" if call.get("rubric") else ""
    return f"{say.name('role', call['role'])}{about}, {call['model']}"


def measures(call: Call, say: Wording) -> str:
    """Tokens, cost, time, attempts."""
    parts = []
    if call["input_tokens"] is not None:
        parts.append(say("calls.tokens", input=call["input_tokens"], output=call["output_tokens"]))
        usd = call["cost_usd"]
        parts.append(say("cost.unknown") if usd is None else usage.dollars(usd))
    parts.append(say("calls.cached") if call["cached"] else say("calls.ms", ms=f"{call['ms']:,.0f}"))
    if call["attempts"] not in (None, 0, 1):
        parts.append(say("calls.attempts", n=call["attempts"]))
    if call["again"]:
        parts.append(say("calls.again", n=call["again"] + 1))
    return ", ".join(parts)


def messages_of(call: Call, say: Wording) -> Iterator[tuple[str, str]]:
    """(role, text) of all messages sent and received, in order."""
    request, reply = call["request"], call["reply"] or {}
    for message in request.get("messages") or ():
        text = "\n".join([message.get("content") or "", *_functions(message.get("tool_calls"))]).strip()
        yield say.name("calls.who", str(message["role"])), text
    for text in request.get("input") or ():
        yield say("calls.text"), text
    if options := {name: value for name, value in request.items() if name not in ("model", "messages", "input")}:
        yield say("calls.options"), orjson.dumps(options).decode()
    if call["error"]:
        yield say("calls.error"), str(call["error"])
    if "vectors" in reply:
        yield say("calls.reply"), say("calls.vectors", n=reply["vectors"], of=reply["texts_of_the_request"])
    elif reply:
        refusal = [f"{say('calls.refusal')}: {reply['refusal']}"] if reply.get("refusal") else []
        text = "\n".join([reply["text"], *refusal, *_functions(reply.get("calls"))]).strip()
        reason = reply.get("finish_reason")
        yield say("calls.reply") + (f" ({reason})" if reason not in (None, "stop") else ""), text


def _functions(calls: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """The functions as they were sent (`function`), or as they are stored with a reply."""
    for call in calls or ():
        function = call.get("function") or call
        yield f"{function['name']}({function['arguments']})"


def _texts(call: Call, say: Wording) -> str:
    return "\n\n".join(f"{who}:\n{text}" for who, text in messages_of(call, say))


def shown_calls(calls: Sequence[Call], say: Wording) -> Iterator[RenderableType]:
    """The calls in full, whatever their length."""
    for number, call in enumerate(calls, start=1):
        title = Text(f"{number}/{len(calls)} {name_of(call, say)}", "bold")
        texts: list[RenderableType] = []
        for who, text in messages_of(call, say):
            body = "\n".join(INDENT + line for line in text.splitlines())
            texts += [Text(who, "bold cyan"), Text(body)]
        yield Group(Rule(title, align="left", style="dim"), Text(measures(call, say), "dim"), *texts)
