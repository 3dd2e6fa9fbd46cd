"""Small conversations for tests."""

from __future__ import annotations

from typing import Any

from runner.domains.memory.records import ChatTurn, Conversation, Fact, Probe


def talk(*said: str, id: str = "talk", **settings: Any) -> Conversation:
    """A turn for each text; the turns have ids t1, t2 …"""
    turns = tuple(ChatTurn(text, "Noted.", id=f"t{number}") for number, text in enumerate(said, start=1))
    return Conversation(id, turns, **{"probes": (), "language": "en", **settings})


def budget_talk(**settings: Any) -> Conversation:
    """The budget is said in turn 1 and changes in turn 4; Lena's birthday in turn 2 stays."""
    facts = [
        Fact("old", "$10,000", 1, "budget"),
        Fact("new", "$15,000", 4, "budget"),
        Fact("birthday", "3 May", 2, aliases=("May 3",)),
    ]
    probes = (
        Probe("early", "What is the budget?", 3, expected=("old",), answers=("$10,000",), evidence=("t1",)),
        Probe(
            "late",
            "What is the budget now?",
            6,
            expected=("new", "birthday"),
            forbidden=("old",),
            answers=("$15,000",),
            evidence=("t4", "t2", "nowhere"),
            category="update",
        ),
        Probe("never", "What is Lena's shoe size?", 6, answerable=False),
    )
    said = (
        "The budget is $10,000.",
        "Lena's birthday is 3 May.",
        "It rains again.",
        "The budget was raised to $15,000.",
        "I had soup for lunch.",
        "The train was late.",
    )
    return talk(*said, **{"facts": {fact.id: fact for fact in facts}, "probes": probes, **settings})
