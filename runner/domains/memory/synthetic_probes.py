"""Questions about a generated conversation, evenly spread over the age of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from random import Random

from runner.domains.memory.phrases import Phrases, fill_phrase
from runner.domains.memory.records import Fact, Probe
from runner.domains.memory.synthesis import Script
from runner.domains.memory.timeline import current_facts

EVERY = 5  # turns from one checkpoint to the next
PROBES = (4, 12)  # of a conversation, at least and at most
TWO_FACTS = 0.15  # of the questions with an answer ask for two
AGES = (5, 10, 20, 50, 100)  # turns that have passed: edges of the classes that are asked for equally often

Question = tuple[int, Fact]  # after so many turns, for this


def probes(random: Random, phrases: Phrases, script: Script, unanswerable: float) -> tuple[Probe, ...]:
    """`unanswerable`: the share of questions about facts that were never stated."""
    checkpoints = sorted({*range(EVERY, len(script.turns) + 1, EVERY), len(script.turns)})
    n_probes = min(PROBES[1], max(PROBES[0], len(script.turns) // EVERY))
    n_without = sum(random.random() < unanswerable for _ in range(n_probes)) if script.untold else 0
    asked = _choose(random, script, checkpoints, n_probes - n_without)
    script_probes = [_answerable(random, phrases, script, after_turn, fact) for after_turn, fact in asked]
    script_probes += [_unanswerable(random, script, random.choice(checkpoints)) for _ in range(n_without)]
    script_probes.sort(key=lambda probe: probe.after_turn)
    return tuple(replace(probe, id=f"p{number}") for number, probe in enumerate(script_probes, 1))


def _choose(random: Random, script: Script, checkpoints: Sequence[int], n_probes: int) -> list[Question]:
    """Classes of age take turns, beginning with any."""
    pairs = [(turn, fact) for turn in checkpoints for fact in _true_facts(script, turn)]
    random.shuffle(pairs)
    pairs.sort(key=_age_class)
    classes = [list(group) for _, group in groupby(pairs, key=_age_class)]
    random.shuffle(classes)
    questions: list[Question] = []
    while len(questions) < n_probes and any(classes):
        questions += [group.pop() for group in classes if group]
    return questions[:n_probes]


def _true_facts(script: Script, after_turn: int) -> list[Fact]:
    """The user's own facts that were stated and are still true."""
    current = current_facts(script.facts, after_turn)
    return [fact for key, fact in current.items() if key in script.slots]


def _age_class(asked: Question) -> int:
    after_turn, fact = asked
    return sum(after_turn - fact.turn >= edge for edge in AGES)


def _answerable(random: Random, phrases: Phrases, script: Script, after_turn: int, fact: Fact) -> Probe:
    facts = [fact]
    others = [other for other in _true_facts(script, after_turn) if other.key != fact.key]
    if others and random.random() < TWO_FACTS:
        facts.append(random.choice(others))
        phrase = random.choice(phrases.data["both"])
        question = fill_phrase(phrase, first=facts[0].key, second=facts[1].key)
    else:
        question = fill_phrase(random.choice(script.slots[fact.key].kind["ask"]), key=fact.key)
    keys = {asked_fact.key for asked_fact in facts}
    stale = [old for old in script.facts if old.key in keys and old.turn <= after_turn and old not in facts]
    return Probe(
        id="",
        question=question,
        after_turn=after_turn,
        expected=tuple(asked_fact.id for asked_fact in facts),
        forbidden=tuple(old.id for old in stale),
        answers=(", ".join(asked_fact.value for asked_fact in facts),),
        evidence=tuple(f"turn-{asked_fact.turn}" for asked_fact in facts),
        category="multi_fact" if len(facts) > 1 else "update" if stale else "recall",
    )


def _unanswerable(random: Random, script: Script, after_turn: int) -> Probe:
    slot = random.choice(script.untold)
    question = fill_phrase(random.choice(slot.kind["ask"]), key=slot.key)
    return Probe("", question, after_turn, answerable=False, category="unanswerable")
