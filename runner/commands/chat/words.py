"""What a chat shows, in Korean and English."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from runner.commands.chat.talk import Said
from runner.domains.memory.context import BuiltContext, rendered
from runner.domains.memory.records import SessionState
from runner.records import Context, Judgement
from runner.text.language import Language
from runner.words.wording import wording

WIDTH = 100  # columns of a source

COMMANDS = ("eval", "memory", "entities", "context", "forget", "help", "quit")
TAKES_TEXT = {"eval": " QUESTION", "context": " [QUESTION]"}
SCORES = ("relevance", "completeness", "accuracy", "noise")


def say(phrase: str, language: Language, **values: object) -> str:
    return wording(language, "chat")(phrase, **values)


def help_text(language: Language) -> str:
    names = {name: f"/{name}{TAKES_TEXT.get(name, '')}" for name in COMMANDS}
    lines = [f"{typed:<20} {say(f'command.{name}', language)}" for name, typed in names.items()]
    return "\n".join([*lines, say("slash", language)])


def memory_text(state: SessionState, language: Language) -> str:
    if not state.memory and not state.turns:
        return say("nothing_kept", language)
    left = [turn for turn in state.turns if turn.number > state.last_turn]
    lines = [say("no_summary", language)]
    if state.memory:
        lines = [say("summary_to", language, turn=state.last_turn), *_indented(state.memory)]
    lines.append(say("turns", language, n=len(left)))
    for turn in left:
        lines += [f"  {say('turn', language, turn=turn.number)}", *_indented(rendered(turn, language), 4)]
    return "\n".join(lines)


def entities_text(state: SessionState, language: Language) -> str:
    told = [f"{entity.key}: {entity.value} ({say('turn', language, turn=entity.turn)})" for entity in state.entities]
    return "\n".join(told) or say("no_entities", language)


def context_text(built: BuiltContext | None, language: Language) -> str:
    if built is None:
        return say("nothing_asked", language)
    lines = []
    for section in built.sections:
        budget = say("no_budget", language) if section.budget is None else f"{section.budget:,}"
        cut = f"; {say('cut', language, cut=section.cut)}" if section.cut else ""
        lines.append(f"[{section.name}] {section.tokens:,} / {budget} {say('tokens', language)}{cut}")
        lines += _indented(section.text)
    return "\n".join([*lines, f"{say('total', language)}: {built.tokens:,} {say('tokens', language)}"])


def judgement_text(judgement: Judgement, language: Language) -> str:
    """Of the rubric `memory`; one that failed has no text."""
    details = judgement.details
    empty = f" {say('empty', language)}" if details.get("empty") else ""
    lines = [f"{say('overall', language)}: {float(details['overall']):.1f} / 100{empty}"]
    lines += [_score(name, details["scores"][name], language) for name in SCORES]
    for name in ("helpful_info", "missing_info"):
        found = [str(each) for each in details.get(name) or ()]
        lines += [f"{say(name, language)}:{'' if found else ' -'}", *(f"  - {each}" for each in found)]
    return "\n".join([*lines, f"{say('summary', language)}: {details.get('summary') or '-'}"])


def _score(name: str, told: Mapping[str, Any], language: Language) -> str:
    types = f" ({', '.join(map(str, told['types']))})" if told.get("types") else ""
    reason = f"  {told['reason']}" if told.get("reason") else ""
    return f"{say(name, language)}: {float(told['score']):.3g} / 10{types}{reason}"


def sources(said: Said) -> list[str]:
    """A line for each piece that the answer cites."""
    contexts = said.context.contexts
    cited = [number for number in said.answer.citations if 0 < number <= len(contexts)]
    return [f"  [{number}] {_short(contexts[number - 1])}" for number in cited]


def _short(context: Context) -> str:
    name = f"{context.id}, {context.title}" if context.title else context.id
    text, width = " ".join(f"{name}: {context.text}".split()), 0
    for place, character in enumerate(text):
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width > WIDTH:
            return f"{text[:place]}…"
    return text


def used(usage: Mapping[str, Any]) -> Iterator[str]:
    """A line for each model that was asked, from `Models.usage`."""
    for role, models in (usage.get("usage") or {}).items():
        for model, found in models.items():
            live, stored = found["live"], found["cached"]["requests"]
            usd = "cost unknown" if live["usd"] is None else f"${live['usd']:.4f}"
            tokens = live["input_tokens"] + live["output_tokens"]
            cached = f"; {stored} answered from the cache" if stored else ""
            requests = "1 request" if live["requests"] == 1 else f"{live['requests']} requests"
            yield f"{role} {model}: {requests}, {tokens:,} tokens, {usd}{cached}"


def _indented(text: str, by: int = 2) -> list[str]:
    return [" " * by + line for line in text.splitlines()]
