"""The section of summary.md with the worst cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runner.report import metric
from runner.report.agent_section import way
from runner.report.document import Document, section
from runner.report.links_section import is_of_a_link, place, reason
from runner.report.markdown import bold, escape, shorten
from runner.report.metric import label
from runner.report.trace_section import result
from runner.report.worst import lost_at, scores, worst_cases
from runner.words.wording import Wording

COUNT = 10
QUESTION, ANSWER, REASON = 400, 600, 400  # characters shown
RANKS = 10


def worst(document: Document) -> str:
    say = document.say
    found = worst_cases(document.folder.rows(), COUNT, say.catalogue)
    if not found:
        done = any(True for _ in document.folder.rows())
        return section(say("head.worst", count=COUNT), escape(say("worst.none"))) if done else ""
    blocks = [_case(number, row, document) for number, row in enumerate(found, start=1)]
    return section(say("head.worst", count=len(found)), escape(_order(document, found)), *blocks)


def _order(document: Document, found: Iterable[Mapping[str, Any]]) -> str:
    """No trace is a failing question, not even that of an agent without success."""
    say = document.say
    if document.summary.get("trace"):
        return say("trace.order")
    return " ".join([say("worst.order"), *[say("worst.relevance")] * any(map(_tells_relevance, found))])


def _tells_relevance(row: Mapping[str, Any]) -> bool:
    output = row.get("output")
    hits = output.get("retrieved") or () if isinstance(output, Mapping) else ()
    return any(hit.get("relevance") is not None for hit in hits)


def _case(number: int, row: Mapping[str, Any], document: Document) -> str:
    say = document.say
    place = lost_at(row)
    reason = say.name("lost_at", place) if place else say.name("status", str(row.get("status")))
    title = str(row.get("id")) if not place and row.get("status") == "ok" else f"{row.get('id')}: {reason}"
    facts = [_fact(name, text) for name, text in facts_of(row, document.k, say)]
    return "\n\n".join([f"### {number}. {escape(shorten(title, 200))}", "\n".join(facts)])


def _fact(name: str, text: str) -> str:
    """An item of a list; one of several lines holds a list of them."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        return f"- {bold(name)}: {escape(text)}"
    return "\n".join([f"- {bold(name)}:", *(f"  - {escape(line)}" for line in lines)])


def facts_of(row: Mapping[str, Any], k: int | None, say: Wording) -> Iterable[tuple[str, str]]:
    """(name, text) of everything that explains how a case went."""
    output = row.get("output") or {}
    if not isinstance(output, Mapping):
        output = {}
    if output.get("query"):
        yield asked(output, say), shorten(str(output["query"]), QUESTION)
        for name, text in place(output, say):
            yield name, shorten(text, QUESTION)
        yield from expected(output, say)
        yield from outdated(output, say)
        if output.get("answers"):
            yield say("worst.known"), shorten(" / ".join(map(str, output["answers"])), ANSWER)
        if not (asks_a_memory(output) or is_of_a_trace(output)):
            yield say("links.suggested" if is_of_a_link(output) else "worst.retrieved"), _retrieved(output, k, say)
        yield from reason(output, say)
    if went := way(output, say):
        yield say("agent.trajectory"), _went(went)
    if output.get("answer") is not None:
        refused = f"{say('worst.refused')} " if output.get("refused") else ""
        yield say("worst.answer"), refused + shorten(str(output["answer"]), ANSWER)
    yield from result(row, output, say)
    yield from _why(row, k, say)


def _went(steps: Iterable[tuple[str, str]]) -> str:
    """A line for each call."""
    told = enumerate(steps, start=1)
    lines = (f"{number}. {call} → {outcome}." if call else outcome for number, (call, outcome) in told)
    return "\n".join(shorten(line, ANSWER) for line in lines)


def _why(row: Mapping[str, Any], k: int | None, say: Wording) -> Iterable[tuple[str, str]]:
    place = lost_at(row)
    if place:
        yield say("worst.why"), say.name("lost_at", place)
    found = scores(row, say.catalogue)
    if found:
        words = (f"{label(name, k, say)} {_score(value, say)}" for name, value in found.items())
        yield say("worst.scores"), ", ".join(words)
    for rubric, judgement in (row.get("judgements") or {}).items():
        text = judgement.get("error") or judgement.get("reasoning")
        if text:
            yield say("worst.judge", rubric=metric.rubric(rubric, say)), shorten(str(text), REASON)
    if row.get("error"):
        yield say("worst.error"), shorten(str(row["error"]), REASON)


def _score(value: float | None, say: Wording) -> str:
    return say("worst.not_scored") if value is None else f"{value:.2f}"


def asks_a_memory(output: Mapping[str, Any]) -> bool:
    return "after_turn" in output


def asked(output: Mapping[str, Any], say: Wording) -> str:
    """What the text of a case is called."""
    if is_of_a_link(output):
        return say("links.anchor")
    return say("trace.objective" if is_of_a_trace(output) else "worst.question")


def is_of_a_trace(output: Mapping[str, Any]) -> bool:
    return "before_rules" in output


def expected(output: Mapping[str, Any], say: Wording) -> Iterable[tuple[str, str]]:
    """Documents, or facts with a tick where the context shows them; nothing is known of what a trace should be."""
    if is_of_a_trace(output):
        return
    of_memory = asks_a_memory(output)
    title = say("worst.facts" if of_memory else "links.expected" if is_of_a_link(output) else "worst.expected")
    if not output.get("answerable", True):
        yield title, say("worst.facts_nothing" if of_memory else "worst.expected_nothing")
    elif output.get("facts"):
        yield title, _facts(output["facts"])
    else:
        yield title, ", ".join(map(str, output.get("expected") or ())) or say("none")


def outdated(output: Mapping[str, Any], say: Wording) -> Iterable[tuple[str, str]]:
    """Facts that hold no more, with a tick where the context shows them."""
    if output.get("stale"):
        yield say("worst.stale"), _facts(output["stale"])


def _facts(facts: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{fact['value']} ✓" if fact["shown"] else str(fact["value"]) for fact in facts)


def _retrieved(output: Mapping[str, Any], k: int | None, say: Wording) -> str:
    """The best documents to rank k with their relevance, the expected ones ticked."""
    expected = set(output.get("expected") or ())
    items = []
    for rank, hit in enumerate((output.get("retrieved") or ())[: min(k or RANKS, RANKS)], start=1):
        tick = " ✓" if hit.get("id") in expected else ""
        title = f" {shorten(str(hit['title']), 60)}" if hit.get("title") else ""
        relevance = "" if hit.get("relevance") is None else f" ({hit['relevance']:.2f})"
        items.append(f"{rank}. {hit.get('id')}{tick}{title}{relevance}")
    return "; ".join(items) or say("worst.retrieved_nothing")
