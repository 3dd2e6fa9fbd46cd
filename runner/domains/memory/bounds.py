"""A summary within its bounds: asked of the summariser first, made sure of by code."""

from __future__ import annotations

import re

from runner.domains.memory.protocols import Summariser
from runner.domains.memory.records import Bounds
from runner.domains.memory.shortening import largest_fitting, starts_a_letter
from runner.errors import EvaluationError, StopRunError
from runner.llm.tokens import count_tokens
from runner.text.sentences import split_sentences

_IN_A_NUMBER = re.compile(r"\d[.,:]?$")


async def bound_memory(memory: str, bounds: Bounds, summariser: Summariser, language: str | None) -> tuple[str, bool]:
    """The memory, and whether code had to cut it. The summariser is asked once to shorten a memory that is too long."""
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
    """Whether a summary keeps both bounds, of sentences and of tokens."""
    return len(split_sentences(memory)) <= bounds.max_sentences and count_tokens(memory) <= bounds.max_tokens


def cut(memory: str, bounds: Bounds) -> str:
    """Whole sentences from the beginning, where the newest stand, one a line, each that still fits; the beginning of
    the first one where none does. Empty only where nothing was said, or not one letter fits."""
    if is_within(memory, bounds):
        return memory
    sentences = split_sentences(memory)
    kept = keep_fitting(sentences, bounds)
    if kept or not sentences:
        return "\n".join(kept)
    first = sentences[0]
    letter = next(place for place, character in enumerate(first) if character.isalnum())
    return next((text for start in (0, letter) if split_sentences(text := _cut_sentence(first[start:], bounds))), "")


def keep_fitting(sentences: list[str], bounds: Bounds) -> list[str]:
    """The sentences that fit, tried in order."""
    fitting_sentences: list[str] = []
    for sentence in sentences:
        if len(fitting_sentences) < bounds.max_sentences and is_within(
            "\n".join([*fitting_sentences, sentence]), bounds
        ):
            fitting_sentences.append(sentence)
    return fitting_sentences


def _cut_sentence(sentence: str, bounds: Bounds) -> str:
    """As many words as fit, if they are more than half of the letters that fit. Otherwise (Japanese, Chinese, a long
    address) as many letters as fit, without splitting a number."""
    words = sentence.split(" ")
    text = " ".join(words[: largest_fitting(len(words), lambda n: is_within(" ".join(words[:n]), bounds))])
    end = largest_fitting(len(sentence), lambda n: is_within(sentence[:n], bounds))
    if end == len(sentence) or len(text) > end / 2:
        return text
    letters = (place for place in range(end, 0, -1) if starts_a_letter(sentence[place]))
    whole = (place for place in letters if not (sentence[place].isdigit() and _IN_A_NUMBER.search(sentence[:place])))
    return sentence[: next(whole, end)].rstrip()
