"""A summary within its bounds: asked of the summariser first, made sure of by code."""

from __future__ import annotations

from runner.domains.memory.protocols import Summariser
from runner.domains.memory.records import Bounds
from runner.errors import EvaluationError, StopRunError
from runner.llm.tokens import count_tokens
from runner.text.sentences import split_sentences


async def bounded(memory: str, bounds: Bounds, summariser: Summariser, language: str | None) -> tuple[str, bool]:
    """The memory, and whether it had to be cut by code: the summariser is asked once, where it is too long."""
    if is_within(memory, bounds):
        return memory, False
    try:
        shorter = (await summariser.shorten(memory, bounds, language)).strip()
    except StopRunError:
        raise
    except EvaluationError:
        return cut(memory, bounds), True
    if not shorter:
        return cut(memory, bounds), True
    return (shorter, False) if is_within(shorter, bounds) else (cut(shorter, bounds), True)


def is_within(memory: str, bounds: Bounds) -> bool:
    return len(split_sentences(memory)) <= bounds.max_sentences and count_tokens(memory) <= bounds.max_tokens


def cut(memory: str, bounds: Bounds) -> str:
    """Whole sentences from the beginning, where the newest stand, one a line, each that still fits; the first words
    of the first one where none does."""
    if is_within(memory, bounds):
        return memory
    sentences = split_sentences(memory)
    kept = fitting(sentences, bounds)
    if kept or not sentences:
        return "\n".join(kept)
    return " ".join(_longest(sentences[0].split(), bounds))


def fitting(sentences: list[str], bounds: Bounds) -> list[str]:
    """Those that fit, tried in order."""
    kept: list[str] = []
    for sentence in sentences:
        if len(kept) < bounds.max_sentences and is_within("\n".join([*kept, sentence]), bounds):
            kept.append(sentence)
    return kept


def _longest(words: list[str], bounds: Bounds) -> list[str]:
    """The most words from the beginning that fit."""
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_within(" ".join(words[:middle]), bounds) else (low, middle - 1)
    return words[:low]
