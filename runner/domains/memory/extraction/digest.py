"""M_i from M_(i-1) and the turns since, by rules: of what was said of the same thing, the newest holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from runner.domains.memory.bounds import is_within
from runner.domains.memory.entities import normalised
from runner.domains.memory.extraction.facts import Fact, identity, kind, same_thing, stem
from runner.domains.memory.extraction.said import facts_of, stated_by_assistant, stated_by_user
from runner.domains.memory.records import Bounds, ChatTurn, Entity, Summary
from runner.text.numbers import quantities
from runner.text.sentences import split_sentences
from runner.text.shown import shows
from runner.text.words import content_words

SIMILAR = 0.45  # words that two statements share, of all their words, from which the newer one takes the place
LEAST_WORDS = 5
ASSISTANTS = {"en": "Assistant", "ko": "어시스턴트"}
_SPEAKER = re.compile(r"^\[([^\[\]\n]{1,60})\] ")
# What comes with the value that no longer holds.
_OLD_VALUE = (
    r"\s*,?\s*\b(?:from|instead of|rather than|and not|not)\s+{0}(?:,?\s+but)?(?!\w)"
    r"|(?<!\w){0}(?:에서는?|부터|\s?대신에?|\s?말고|[이가은는]?\s?아니[라고]|[이가]\s아닌)\s"
)
_ENDED = re.compile(r"[.!?。…]['\"”’)]*$")


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence of the memory. `speaker`: empty for the user."""

    text: str
    speaker: str
    facts: tuple[Fact, ...]

    @property
    def is_assistant(self) -> bool:
        return self.speaker in ASSISTANTS.values()

    @property
    def rank(self) -> int:
        """What goes first where there is too much: what an assistant said, then what holds no fact."""
        return 0 if self.is_assistant else 1 + bool(self.facts)

    @property
    def shown(self) -> str:
        text = self.text if _ENDED.search(self.text) else f"{self.text}."
        return f"[{self.speaker}] {text}" if self.speaker else text


def digest(
    memory: str, entities: Sequence[Entity], turns: Sequence[ChatTurn], language: str | None, bounds: Bounds
) -> Summary:
    """A sentence a line, the newest first; what an assistant, or one of two people, said has the name in brackets
    before it. A value that has changed is neither in the memory nor in the entities any more."""
    digested = _Digest(memory, entities)
    for turn in turns:
        for line in _lines_of(turn, ASSISTANTS.get(language or "en", "Assistant")):
            digested.take(line)
    return Summary(_within(digested.lines, bounds), tuple(digested.changes.items()))


def _lines_of(turn: ChatTurn, assistant: str) -> Iterator[_Line]:
    speaker = " ".join(turn.speaker.replace("[", "").replace("]", "").split())[:60]
    for text, facts in stated_by_user(turn.user):
        yield _Line(text, speaker, _owned(facts, speaker))
    for text, facts in stated_by_assistant(turn.assistant):
        yield _Line(text, assistant, facts)


def _owned(facts: Sequence[Fact], speaker: str) -> tuple[Fact, ...]:
    """Of two people, each has a dog."""
    if not speaker:
        return tuple(facts)
    return tuple(replace(fact, key=f"{speaker} {fact.key}" if fact.key else "") for fact in facts)


class _Digest:
    """`lines`: oldest first. `changes`: entities to set, by their key."""

    def __init__(self, memory: str, entities: Sequence[Entity]) -> None:
        self.lines = [_read(line) for line in reversed(_sentences(memory))]
        self.changes: dict[str, str] = {}
        self._entities = {entity.key: entity.value for entity in entities}

    def take(self, line: _Line) -> None:
        facts = line.facts
        if line.is_assistant:
            facts = tuple(fact for fact in facts if fact.key and not self._is_known(fact))
            if not facts:
                return
        stale: list[tuple[Fact, str]] = []
        for fact in facts:
            stale += ((fact, value) for value in self._replaced(fact))
        kept = [line for old in self.lines for line in _still_true(old, facts, stale)]
        before = [old for old in kept if not _says_anew(line, old)]
        self.lines = [*before, *_without(replace(line, facts=facts), stale)]

    def _is_known(self, fact: Fact) -> bool:
        """Of an assistant counts what nobody has said: it repeats, and may be made to say anything."""
        said = [line for line in self.lines if not line.is_assistant]
        return (
            any(same_thing(fact, other) for line in said for other in line.facts)
            or all(any(shows(line.text, [part]) for line in said) for part in _parts(fact.value))
            or any(normalised(value) == normalised(fact.value) for value in self._entities.values())
        )

    def _replaced(self, fact: Fact) -> list[str]:
        """Takes in a fact; the values that it takes the place of."""
        known = [other for line in self.lines for other in line.facts if other.key]
        known += (Fact(key, value) for key, value in self._entities.items())
        same = [other for other in known if _is_replaced(fact, other)]
        keys = [key for key in self._entities if any(normalised(other.key) == key for other in same)]
        if fact.key or keys:
            for key in keys or [normalised(fact.key)]:
                self.changes.pop(key, None)
                self.changes[key] = self._entities[key] = fact.value
        values = [other.value for other in same] + ([fact.old] if fact.old else [])
        return [value for value in dict.fromkeys(values) if normalised(value) != normalised(fact.value)]


def _is_replaced(fact: Fact, other: Fact) -> bool:
    if fact.key and same_thing(fact, other):
        return True
    if not fact.old or normalised(fact.old) != normalised(other.value):
        return False
    return not fact.key or bool(identity(fact.key) & identity(other.key))


def _still_true(line: _Line, facts: Sequence[Fact], stale: Sequence[tuple[Fact, str]]) -> Iterator[_Line]:
    """The line, or what is left of it: the facts in it that nothing has taken the place of."""
    left = tuple(other for other in line.facts if not any(_is_replaced(fact, other) for fact in facts))
    is_stale = any(_mentions(line, fact, value) for fact, value in stale)
    if len(left) == len(line.facts) and not is_stale:
        yield line
        return
    for other in left:
        if other.key and not any(shows(other.value, [value]) for _, value in stale if is_stale):
            yield _told(other, line.speaker)


def _says_anew(line: _Line, old: _Line) -> bool:
    """Whether a statement takes the place of an older one although no fact tells: it says nearly the same, with
    something else in one place."""
    if line.speaker != old.speaker or (_keys(line) and _keys(old)):
        return False
    one, other = _stems(line.text), _stems(old.text)
    return len(one | other) >= LEAST_WORDS and len(one & other) >= SIMILAR * len(one | other)


def _keys(line: _Line) -> bool:
    return any(fact.key for fact in line.facts)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word.text) for word in content_words(text))


def _without(line: _Line, stale: Sequence[tuple[Fact, str]]) -> Iterator[_Line]:
    """A line that says what has changed, without what it was before."""
    text = line.text
    for _, value in stale:
        text = re.sub(_OLD_VALUE.format(re.escape(value)), " ", text, flags=re.IGNORECASE)
    plain = _Line(" ".join(text.split()), line.speaker, line.facts)
    if any(shows(plain.text, [value], besides=[fact.value]) for fact, value in stale):
        yield from (_told(fact, line.speaker) for fact in line.facts)
    else:
        yield plain


def _mentions(line: _Line, fact: Fact, value: str) -> bool:
    """Whether a line speaks of a value as that of the thing which has another one now."""
    if not shows(line.text, [value], besides=[fact.value]):
        return False
    if any(normalised(other.value) == normalised(value) and not same_thing(fact, other) for other in line.facts):
        return False  # another thing has that value, too
    return line.is_assistant or not line.facts or kind(value) != "text" or _speaks_of(line.text, fact.key)


def _speaks_of(text: str, key: str) -> bool:
    return bool(identity(text) & identity(key))


def _parts(value: str) -> list[str]:
    """The numbers of a value, or all of it."""
    return [quantity.text for quantity in quantities(value)] or [value]


def _told(fact: Fact, speaker: str) -> _Line:
    key = fact.key.removeprefix(f"{speaker} ") if speaker else fact.key
    key = key or ("현재" if re.search("[가-힣]", fact.value) else "now")
    return _Line(f"{key}: {fact.value}", speaker, (fact,))


# --- as text ----------------------------------------------------------------------------------------


def _sentences(memory: str) -> list[str]:
    return [sentence for line in memory.splitlines() for sentence in split_sentences(line)]


def _read(text: str) -> _Line:
    """A line as `shown` has written it, or a sentence that somebody else wrote."""
    match = _SPEAKER.match(text)
    speaker = match[1] if match else ""
    plain = text[match.end() :] if match else text
    is_assistant = speaker in ASSISTANTS.values()
    return _Line(plain, speaker, facts_of(plain) if is_assistant else _owned(facts_of(plain), speaker))


def _within(lines: Sequence[_Line], bounds: Bounds) -> str:
    """As many lines as fit, those that matter most, of these the newest; the newest first."""
    kept: set[int] = set()
    for place in sorted(range(len(lines)), key=lambda place: (-lines[place].rank, -place)):
        chosen = sorted({*kept, place}, reverse=True)
        if len(kept) < bounds.max_sentences and is_within("\n".join(lines[each].shown for each in chosen), bounds):
            kept.add(place)
    return "\n".join(lines[place].shown for place in sorted(kept, reverse=True))
