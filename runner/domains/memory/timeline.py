"""Checks that the facts that a scenario expects can be known when the question is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from runner.data.fields import Fields
from runner.domains.memory.records import ChatTurn, Fact, Probe
from runner.errors import did_you_mean
from runner.text.matching import mentions, shows_inside


def check_timeline(
    fields: Fields,
    turns: Sequence[ChatTurn],
    facts: Sequence[tuple[Fields, Fact]],
    probes: Sequence[tuple[Fields, Probe]],
) -> None:
    """Facts and probes with the objects that they were read from. What is wrong makes `fields` wrong."""
    _check_ids(fields, "turns", [turn.id for turn in turns if turn.id])
    _check_ids(fields, "facts", [fact.id for _, fact in facts])
    _check_ids(fields, "probes", [probe.id for _, probe in probes])
    for inner, fact in facts:
        _check_fact(inner, fact, turns)
        fields.failed |= inner.failed
    if not probes and not fields.failed:
        fields.warning("probes", "the conversation has none, so it has no cases")
    fact_by_id = {fact.id: fact for _, fact in facts}
    said_in = {turn.id or f"turn-{turn.number}": turn.number for turn in turns}
    for inner, probe in probes if not fields.failed else ():
        _check_probe(inner, probe, len(turns))
        _check_expected(inner, probe, fact_by_id)
        _check_forbidden(inner, probe, fact_by_id)
        _check_evidence(inner, probe, said_in)
        _check_canaries(inner, probe, turns)
        fields.failed |= inner.failed


def text_of_turn(turn: ChatTurn) -> str:
    """Both sides of a turn as one text."""
    return f"{turn.user}\n{turn.assistant}"


def current_facts(facts: Iterable[Fact], after_turn: int) -> dict[str, Fact]:
    """Key -> the fact that holds when so many turns have passed; of two in one turn, the later in the file."""
    said = sorted((fact for fact in facts if fact.key and fact.turn <= after_turn), key=lambda fact: fact.turn)
    return {fact.key: fact for fact in said}


def _check_ids(fields: Fields, name: str, ids: Sequence[str]) -> None:
    for id in dict.fromkeys(each for each in ids if ids.count(each) > 1):
        fields.error(name, f"the id '{id}' is there {ids.count(id)} times; expected each once")


def _check_fact(fields: Fields, fact: Fact, turns: Sequence[ChatTurn]) -> None:
    if fact.turn > len(turns):
        fields.error("turn", f"expected a turn from 1 to {len(turns)}, found {fact.turn}")
    elif not mentions(text_of_turn(turns[fact.turn - 1]), fact.forms):
        forms = " or ".join(f"'{form}'" for form in fact.forms)
        fields.warning("value", f"turn {fact.turn} does not say {forms}")


# --- probes -----------------------------------------------------------------------------------------


def _check_probe(fields: Fields, probe: Probe, turns: int) -> None:
    if probe.after_turn > turns:
        fields.error("after_turn", f"expected at most the number of turns ({turns}), found {probe.after_turn}")
    if not probe.answerable and probe.expected:
        fields.error("expected", "a probe with answerable=false expects no facts, found some")
    if not probe.answerable and probe.answers:
        fields.error("answers", "a probe with answerable=false has no answers, found some")


def _known_facts(
    fields: Fields, name: str, ids: Iterable[str], fact_by_id: dict[str, Fact]
) -> Iterator[tuple[str, str, Fact]]:
    """(place, id, fact) of the ids of facts in a field; an unknown id is an error there."""
    for index, id in enumerate(ids):
        field, fact = f"{name}[{index}]", fact_by_id.get(id)
        if fact is None:
            fields.error(field, f"no fact has the id '{id}'{did_you_mean(id, fact_by_id)}")
        else:
            yield field, id, fact


def _check_expected(fields: Fields, probe: Probe, fact_by_id: dict[str, Fact]) -> None:
    current = current_facts(fact_by_id.values(), probe.after_turn)
    for field, id, fact in _known_facts(fields, "expected", probe.expected, fact_by_id):
        if fact.turn > probe.after_turn:
            after = f"the probe comes after turn {probe.after_turn}"
            fields.error(field, f"'{id}' is said in turn {fact.turn}, but {after}")
        elif fact.key and current[fact.key] is not fact:
            newer = current[fact.key]
            fields.error(field, f"'{id}' was replaced by '{newer.id}' in turn {newer.turn}, before the probe")


def _check_forbidden(fields: Fields, probe: Probe, fact_by_id: dict[str, Fact]) -> None:
    current = current_facts(fact_by_id.values(), probe.after_turn)
    for field, id, fact in _known_facts(fields, "forbidden", probe.forbidden, fact_by_id):
        if id in probe.expected:
            fields.error(field, f"'{id}' is expected and forbidden")
        elif fact.key and current.get(fact.key) is fact:
            fields.error(field, f"'{id}' is still true after turn {probe.after_turn}")


def _check_evidence(fields: Fields, probe: Probe, said_in: dict[str, int]) -> None:
    for index, id in enumerate(probe.evidence):
        field = f"evidence[{index}]"
        if id not in said_in:
            fields.error(field, f"no turn has the id '{id}'{did_you_mean(id, said_in)}")
        elif said_in[id] > probe.after_turn:
            after = f"the probe comes after turn {probe.after_turn}"
            fields.error(field, f"'{id}' is turn {said_in[id]}, but {after}")


def _check_canaries(fields: Fields, probe: Probe, turns: Sequence[ChatTurn]) -> None:
    for index, canary in enumerate(probe.canaries):
        number = next((turn.number for turn in turns if shows_inside(text_of_turn(turn), [canary])), None)
        if number is not None:
            fields.error(f"canaries[{index}]", f"'{canary}' is said in turn {number} of this very conversation")
