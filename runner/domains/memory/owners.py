"""Of whom a text tells something: what is told of somebody else is no fact of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.domains.memory.recall import CUES, without_speaker
from runner.text.cues import cue_pattern, load_cues
from runner.text.language import detect_language
from runner.text.sentences import split_sentences
from runner.text.words import all_forms, content_words


def without_others(text: str, topic: str) -> str:
    """The text without the clauses about somebody else (my boss runs marathons).

    Args:
        text: a memory, or what was said.
        topic: what a fact is of; clauses about a person whom it names stay.

    Returns:
        The other sentences as they are, of these what remains of them.
    """
    if not any(cue_pattern("persons", *CUES).search(line) for line in re.split(r"[\n.,;!?]\s*| and | but ", text)):
        return text
    return "\n".join(
        " ".join(_own(sentence, topic)) for line in text.splitlines() for sentence in split_sentences(line)
    )


def _own(sentence: str, topic: str) -> Iterator[str]:
    """The clauses of a sentence about the user or about somebody named; one without a subject is about whom the one
    before it is about."""
    ends = cue_pattern("clause", _file(sentence))
    is_other, start = False, 0
    for match in [*ends.finditer(sentence), None]:
        end = match.end() if match else len(sentence)
        clause = without_speaker(sentence[start:end])
        person = cue_pattern("persons", _file(sentence)).search(clause)
        speaks = cue_pattern("self", _file(sentence)).search(clause[person.end() :] if person else clause)
        if person is not None and speaks is None:
            is_other = not _is_named(person[0], topic)
        elif speaks is not None:
            is_other = False
        if not is_other:
            yield sentence[start:end].strip()
        start = end


def _is_named(person: str, topic: str) -> bool:
    """Whether a topic names a person, or another of the kind (남친, 남자친구): one line of the cues is one kind."""
    if not all_forms(content_words(person)).isdisjoint(all_forms(content_words(topic))):
        return True
    kinds = (re.compile(cue, re.IGNORECASE) for cue in load_cues(_file(person))["persons"])
    return any(kind.search(f"{person} ") and kind.search(f"{topic} ") for kind in kinds)


def _file(sentence: str) -> str:
    return CUES[detect_language(sentence) == "ko"]
