"""Conversations made from a seed: keyed facts of several topics that change, with small talk between.

Everything that a turn says is decided in the order of the turns. The same seed makes the same conversations on every
machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

from runner.domains.memory.phrases import Domain, Phrases, Slot, after, fill_phrase
from runner.domains.memory.records import ChatTurn, Fact
from runner.text.matching import mentions

FACTS = 0.3  # of the turns tell something
OTHERS = 0.08  # tell the same of somebody else
MENTIONS = 0.08  # speak of something without telling it
TOLD = 0.75  # share of the facts of a topic that are stated; questions may ask for the others, too
CHANGES = (1, 1, 1, 2, 2, 3)  # how often a fact that changes does
ECHO = 0.2  # of answers repeat the value
SESSION = (8, 20)  # turns on one day
FIRST_DAY = date(2026, 1, 5)


@dataclass(frozen=True, slots=True)
class Event:
    """The purpose of a turn. `owner`: whose fact it is, if not the user's."""

    kind: str  # fact | other | mention | topic
    domain: Domain
    slot: Slot | None = None
    owner: str = ""


@dataclass(slots=True)
class Script:
    """A conversation while it is written. `untold`: slots whose facts are never stated."""

    turns: list[ChatTurn] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    slots: dict[str, Slot] = field(default_factory=dict)
    untold: list[Slot] = field(default_factory=list)


def write_script(random: Random, phrases: Phrases, n_turns: int, updates: float, code: str) -> Script:
    """`updates`: the share of facts that change. `code`: a fact of this tenant alone, stated once."""
    plan, untold = _plan_turns(random, phrases, n_turns, updates, code)
    writer = _Writer(random, phrases)
    writer.script.untold = untold
    days = _days(random)
    for number in range(1, n_turns + 1):
        user, assistant = writer.texts_for(plan.get(number), number)
        writer.script.turns.append(ChatTurn(user, assistant, said_at=next(days), number=number))
    return writer.script


def _days(random: Random) -> Iterator[str]:
    day = FIRST_DAY
    while True:
        yield from [day.isoformat()] * random.randint(*SESSION)
        day += timedelta(days=random.randint(1, 9))


# --- what is said when ------------------------------------------------------------------------------


def _plan_turns(
    random: Random, phrases: Phrases, n_turns: int, updates: float, code: str
) -> tuple[dict[int, Event], list[Slot]]:
    """The purpose of each turn, by its number; turns without an entry are small talk. And the slots whose facts are
    never stated."""
    domains = random.sample(phrases.domains, 2 + (n_turns >= 40) + (n_turns >= 100))
    plan: dict[int, Event] = {}
    slots_of_topic: dict[str, list[Slot]] = {}
    untold: list[Slot] = []
    for index, domain in enumerate(domains):
        start, end = (1 + n_turns * edge // len(domains) for edge in (index, index + 1))
        plan[start] = Event("topic", domain)
        slots = random.sample(domain.slots, len(domain.slots))
        n_told = min(round(len(slots) * TOLD), max(1, round((end - start) * FACTS)))
        slots_of_topic[domain.topic] = slots[:n_told]
        untold += slots[n_told:]
        for slot in slots_of_topic[domain.topic]:
            _place(random, plan, Event("fact", domain, slot), start, end)
    _place(random, plan, Event("fact", domains[0], phrases.code(code)), 1, n_turns // 2 + 1)
    for number, event in list(plan.items()):
        if event.slot is not None and len(event.slot.values) > 1 and random.random() < updates:
            for _ in range(random.choice(CHANGES)):
                _place(random, plan, event, number + 1, n_turns + 1)
    for kind, share in (("other", OTHERS), ("mention", MENTIONS)):
        for _ in range(round(n_turns * share)):
            domain = random.choice(domains)
            owner = random.choice(domain.owners) if domain.owners and kind == "other" else ""
            slot = random.choice(domain.slots)
            if owner or kind == "mention":
                _place(random, plan, Event(kind, domain, slot, owner), 1, n_turns + 1)
    return plan, untold


def _place(random: Random, plan: dict[int, Event], event: Event, start: int, end: int) -> None:
    """Put an event into a free turn from `start` on and before `end`; it is dropped where no turn is free."""
    free = [number for number in range(start, end) if number not in plan]
    if free:
        plan[random.choice(free)] = event


# --- how it is said ---------------------------------------------------------------------------------


class _Writer:
    """Writes a conversation. Each value is used once, and none is part of another one."""

    def __init__(self, random: Random, phrases: Phrases) -> None:
        self.random = random
        self.phrases = phrases
        self.data = phrases.data
        self.script = Script()
        self._used_values: list[str] = []
        self._current: dict[str, str] = {}
        self._deck: list[list[str]] = []

    def texts_for(self, event: Event | None, number: int) -> tuple[str, str]:
        """The message of the user, and the reply."""
        if event is None:
            return self._small_talk()
        if event.kind == "topic":
            return self._pair("topics" if number > 1 else "first_topics", topic=event.domain.topic)
        assert event.slot is not None  # noqa: S101 - all other events have one
        if event.kind == "mention":
            return self._pair("mentions", key=event.slot.key)
        value = self._new_value(event.slot)
        if value is None:
            return self._small_talk()
        if event.kind == "other":
            return self._foreign_statement(event.slot, event.owner, value, number)
        return self._fact(event.slot, value, number)

    def _pair(self, name: str, **words: str) -> tuple[str, str]:
        user, assistant = self.random.choice(self.data[name])
        return fill_phrase(user, **words), fill_phrase(assistant, **words)

    def _small_talk(self) -> tuple[str, str]:
        """All of it before any of it again."""
        if not self._deck:
            self._deck = self.random.sample(self.data["small_talk"], len(self.data["small_talk"]))
        user, assistant = self._deck.pop()
        return user, assistant

    def _fact(self, slot: Slot, value: str, number: int) -> tuple[str, str]:
        choice = self.random.choice
        old = self._current.get(slot.key)
        told = choice(slot.kind["say"] if old is None else self._changes(slot, old, value))
        opening = choice(self.data["openings" if old is None else "changes"])
        user = fill_phrase(after(opening, told) + choice(self.data["closings"]), key=slot.key, value=value)
        answers = self.data["noted" if old is None else "changed"]
        answer = choice(self.data["echoes"] if self.random.random() < ECHO else answers)
        self._remember(slot.key, value, number)
        self._current[slot.key] = value
        self.script.slots[slot.key] = slot
        return user, fill_phrase(answer, key=slot.key, value=value)

    def _foreign_statement(self, slot: Slot, owner: str, value: str, number: int) -> tuple[str, str]:
        phrase, answer = self.random.choice(self.data["others"]), self.random.choice(self.data["heard"])
        self._remember(f"{owner} {slot.key}", value, number)
        return fill_phrase(phrase, owner=owner, key=slot.key, value=value), answer

    def _changes(self, slot: Slot, old: str, new: str) -> list[str]:
        phrases = list(slot.kind["change"])
        if slot.is_ordered:
            grows = slot.values.index(new) > slot.values.index(old)
            phrases += slot.kind.get("up" if grows else "down", ())
        return phrases

    def _new_value(self, slot: Slot) -> str | None:
        """A value that was not used yet; None when all are used."""
        said = " | ".join(self._used_values)
        for value in self.random.sample(slot.values, len(slot.values)):
            if not mentions(said, [value]) and not mentions(value, self._used_values):
                self._used_values.append(value)
                return value
        return None

    def _remember(self, key: str, value: str, number: int) -> None:
        self.script.facts.append(Fact(f"f{len(self.script.facts) + 1}", value, number, key))


def length(random: Random, least: int, most: int) -> int:
    """Spread evenly over orders of magnitude, so that short and long ones are both common."""
    return min(most, round(math.exp(random.uniform(math.log(least), math.log(most + 1)))))
