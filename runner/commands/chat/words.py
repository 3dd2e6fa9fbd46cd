"""The texts of a chat, in Korean and English."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.commands.chat.talk import ChatAnswer, GeneratorInput
from runner.domains.agent.report import case_facts
from runner.domains.memory.context import render_turn
from runner.domains.memory.records import SessionState
from runner.records import Context, Judgement, trajectory_record
from runner.text.language import Language
from runner.words.wording import wording

WIDTH = 100  # columns of a source

COMMANDS = ("eval", "memory", "entities", "context", "forget", "help", "quit")
TAKES_TEXT = {"eval": " QUESTION", "context": " [QUESTION]"}
SCORES = ("relevance", "completeness", "accuracy", "noise")


def say(phrase: str, language: Language, **values: object) -> str:
    """A phrase of the chat room in a language, with its placeholders filled."""
    return wording(language, "chat")(phrase, **values)


def help_text(language: Language) -> str:
    """The lines that /help shows: every command of the chat with one sentence."""
    names = {name: f"/{name}{TAKES_TEXT.get(name, '')}" for name in COMMANDS}
    lines = [f"{typed:<20} {say(f'command.{name}', language)}" for name, typed in names.items()]
    return "\n".join([*lines, say("slash", language)])


def memory_text(state: SessionState, language: Language) -> str:
    """The lines that /memory shows: the summary, and the turns that it does not hold yet."""
    if not state.memory and not state.turns:
        return say("nothing_kept", language)
    unsummarized = [turn for turn in state.turns if turn.number > state.last_turn]
    lines = [say("no_summary", language)]
    if state.memory:
        lines = [say("summary_to", language, turn=state.last_turn), *_indent(state.memory)]
    lines.append(say("turns", language, n=len(unsummarized)))
    for turn in unsummarized:
        lines += [f"  {say('turn', language, turn=turn.number)}", *_indent(render_turn(turn, language), 4)]
    return "\n".join(lines)


def entities_text(state: SessionState, language: Language) -> str:
    """The lines that /entities shows: key, value and turn of each entity."""
    lines = [f"{entity.key}: {entity.value} ({say('turn', language, turn=entity.turn)})" for entity in state.entities]
    return "\n".join(lines) or say("no_entities", language)


def context_text(prompt: GeneratorInput | None, language: Language) -> str:
    """The lines that /context shows: the system prompt, the sections with their budgets, the search for documents, and
    the tokens of all messages to the model."""
    if prompt is None:
        return say("nothing_asked", language)
    context = prompt.context
    lines = []
    for section in context.sections:
        budget = say("no_budget", language) if section.budget is None else f"{section.budget:,}"
        cut = f"; {say('cut', language, cut=section.cut)}" if section.cut else ""
        if section.name in context.over:
            cut += f"; {say('over', language, n=f'{context.over[section.name]:,}')}"
        lines.append(f"[{section.name}] {section.tokens:,} / {budget} {say('tokens', language)}{cut}")
        lines += _chunks(context.documents) if section.name == "documents" else _indent(section.text)
    key = "total" if context.sent_tokens is None else "sent"
    fences = f"{context.tokens - sum(section.tokens for section in context.sections):,}"
    total = say(key, language, tokens=f"{context.tokens:,}", n=len(prompt.messages), fences=fences)
    return "\n".join([*lines, total, *_search(prompt, language)])


def _chunks(documents: Sequence[Context]) -> Iterator[str]:
    """The chunks with the numbers that answers cite."""
    for number, chunk in enumerate(documents, 1):
        yield f"  [{number}] {f'{chunk.id}, {chunk.title}' if chunk.title else chunk.id}"
        yield from _indent(chunk.text, 6)


def _search(prompt: GeneratorInput, language: Language) -> Iterator[str]:
    """The query of the search, and each call of an agent with its result."""
    if prompt.retrieved is None:
        return
    yield say("searched", language, query=prompt.searched)
    if (trajectory := prompt.retrieved.ranking.trajectory) is None:
        return
    row = {"output": {"trajectory": trajectory_record(trajectory)}}
    for fact in case_facts(row, wording(language, "agent")):
        yield from (" ".join(filter(None, ("  " + item.lead, item.name, item.text))) for item in fact.items)


def judgement_text(judgement: Judgement, language: Language) -> str:
    """The lines of a judgement by the rubric `memory`."""
    details = judgement.details
    empty = f" {say('empty', language)}" if details.get("empty") else ""
    lines = [f"{say('overall', language)}: {float(details['overall']):.1f} / 100{empty}"]
    lines += [_score(name, details["scores"][name], language) for name in SCORES]
    for name in ("helpful_info", "missing_info"):
        ids = [str(each) for each in details.get(name) or ()]
        lines += [f"{say(name, language)}:{'' if ids else ' -'}", *(f"  - {each}" for each in ids)]
    return "\n".join([*lines, f"{say('summary', language)}: {details.get('summary') or '-'}"])


def _score(name: str, judgement: Mapping[str, Any], language: Language) -> str:
    types = f" ({', '.join(map(str, judgement['types']))})" if judgement.get("types") else ""
    reason = f"  {judgement['reason']}" if judgement.get("reason") else ""
    return f"{say(name, language)}: {float(judgement['score']):.3g} / 10{types}{reason}"


def sources(reply: ChatAnswer) -> list[str]:
    """A line for each chunk that the answer cites."""
    contexts = reply.prompt.contexts
    cited = [number for number in reply.answer.citations if 0 < number <= len(contexts)]
    return [f"  [{number}] {_short_line(contexts[number - 1])}" for number in cited]


def _short_line(context: Context) -> str:
    name = f"{context.id}, {context.title}" if context.title else context.id
    text, width = " ".join(f"{name}: {context.text}".split()), 0
    for place, character in enumerate(text):
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width > WIDTH:
            return f"{text[:place]}…"
    return text


def usage_lines(usage: Mapping[str, Any], language: Language) -> Iterator[str]:
    """A line for each model that was called, from `Models.usage`."""
    say = wording(language, "outcomes")
    for role, models in (usage.get("usage") or {}).items():
        for model, use in models.items():
            live, n_stored = use["live"], use["cached"]["requests"]
            cost = say("unknown_cost") if live["usd"] is None else f"${live['usd']:.4f}"
            tokens = f"{live['input_tokens'] + live['output_tokens']:,}"
            requests = say.count("request", live["requests"])
            line = say("used", role=role, model=model, requests=requests, tokens=tokens, cost=cost)
            yield say("used.stored", line=line, stored=n_stored) if n_stored else line


def _indent(text: str, by: int = 2) -> list[str]:
    return [" " * by + line for line in text.splitlines()]
