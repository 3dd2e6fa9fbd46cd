"""A first version: sentences of users that hold numbers or names, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from runner.memory.bounds import fitting
from runner.memory.records import Bounds, ChatTurn, Entity, Summary
from runner.text.names import names
from runner.text.numbers import quantities
from runner.text.sentences import split_sentences


def summarised(
    memory: str, entities: Sequence[Entity], turns: Sequence[ChatTurn], language: str | None, bounds: Bounds
) -> Summary:
    new = [sentence for turn in turns for sentence in split_sentences(turn.user)]
    stated = [sentence for sentence in new if "?" not in sentence and (quantities(sentence) or names(sentence))]
    return Summary("\n".join(fitting([*stated[::-1], *memory.splitlines()], bounds)))
