"""The entities of a session: a list in the order in which they were last said, one for each key."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from runner.domains.memory.records import ChatTurn, Entity
from runner.text.matching import mentions


def normalise_key(key: str) -> str:
    """Keys that differ in case, in composed letters or in white space are the same."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", key).casefold())
    return " ".join(folded.split())


def with_changes(
    entities: Sequence[Entity], changes: Iterable[tuple[str, str]], turns: Sequence[ChatTurn], max_entities: int
) -> tuple[Entity, ...]:
    """Each change removes its key and adds it at the end; what is not named stays. Over `max_entities` the front goes.

    The turn of an entity is the last of `turns` that says its value, or the last of all. A change without a key or
    without a value changes nothing.
    """
    by_key = {entity.key: entity for entity in entities}
    for name, text in changes:
        key, value = normalise_key(name), " ".join(text.split())
        if key and value:
            by_key.pop(key, None)
            by_key[key] = Entity(key, value, _turn_of(value, turns))
    return tuple(by_key.values())[max(0, len(by_key) - max_entities) :]


def _turn_of(value: str, turns: Sequence[ChatTurn]) -> int:
    saying = (turn.number for turn in reversed(turns) if mentions(f"{turn.user}\n{turn.assistant}", [value]))
    return next(saying, turns[-1].number)
