import dataclasses
from typing import Any

import pytest

from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.probing import ProbeCase, ProbedMemory, guard, reference
from runner.domains.memory.records import ChatTurn, Conversation, Entity, Fact, MemoryContent, Probe
from runner.domains.memory.replay import Moment, UpkeepPart
from runner.errors import EvaluationError
from runner.records import Timing
from tests.runner.domains.memory.talks import budget_talk


def moment(
    conversation: Conversation, after: int, updates: list[int] | None = None, taken_in: int = 0, **remembered: Any
) -> Moment:
    turns = conversation.turns[:after]
    return Moment(MemoryContent(**remembered), turns, updates or [0] * (after + 1), taken_in, UpkeepPart(), Timing(1.0))


def seen(case: ProbeCase, at: Moment) -> ProbedMemory:
    return ProbedMemory.of(case, at, ContextBuilder(encoding="estimate").build(at.remembered, case.probe.question))


def case(name: str) -> ProbeCase:
    conversation = budget_talk()
    return ProbeCase(conversation, next(probe for probe in conversation.probes if probe.id == name))


def test_a_case_is_known_by_its_conversation_and_its_probe() -> None:
    late = case("late")
    assert (late.id, late.language, late.difficulty, late.tags) == ("talk/late", "en", None, ("update",))
    other = ProbeCase(dataclasses.replace(late.conversation, tags=("long", "update")), late.probe)
    assert other.tags == ("update", "long")
    assert late.record()["query"] == "What is the budget now?"
    assert late.record()["gold"] != case("early").record()["gold"]


def test_facts_are_seen_with_their_age_and_the_updates_since() -> None:
    late = case("late")
    found = seen(late, moment(late.conversation, 6, [0, 0, 0, 1, 1, 2, 2], memory="The budget is $15,000."))
    assert [dataclasses.astuple(fact) for fact in found.expected] == [
        ("new", "$15,000", 2, 1, True),  # said in turn 4 of 6; one update after it
        ("birthday", "3 May", 4, 2, False),
    ]
    assert [dataclasses.astuple(fact) for fact in found.stale] == [("old", "$10,000", 5, 2, False)]
    assert (found.share(found.expected), found.share(found.stale), found.share([])) == (0.5, 0.0, None)


@pytest.mark.parametrize(
    ("taken_in", "remembered", "current"),
    [
        (4, {"memory": "The budget is $15,000."}, 1.0),
        (4, {"entities": (Entity("budget", "$15,000", 4),)}, 1.0),  # the birthday took no other's place
        (4, {"memory": "The budget is $10,000."}, 0.0),
        (4, {"memory": "The budget is $15,000.", "entities": (Entity("budget", "$10,000", 1),)}, 0.0),
        (4, {"memory": "It rains.", "recent": (ChatTurn("The budget is $10,000.", number=1),)}, None),  # not held
        (4, {"memory": "The budget is $15,000 and the birthday is lost."}, 1.0),
        (3, {"memory": "The budget is $10,000."}, None),  # no summary has seen the change
    ],
)
def test_a_summary_is_held_to_the_changes_that_it_has_taken_in(
    taken_in: int, remembered: dict[str, Any], current: float | None
) -> None:
    late = case("late")
    at = moment(late.conversation, 6, taken_in=taken_in, **remembered)
    assert seen(late, at).is_summary_current(at) == current


@pytest.mark.parametrize(
    ("remembered", "present"),
    [
        ({"entities": (Entity("birthday", "3 May", 2),)}, [False, True]),
        ({"recent": (ChatTurn("It was May 3.", number=2),)}, [False, True]),
        ({"retrieved": (ChatTurn("$15,000 it is", number=4),)}, [True, False]),
        ({"memory": "The budget is $115,000."}, [False, False]),
        ({"recent": (ChatTurn("Hm.", said_at="3 May", number=2),)}, [False, False]),  # a date is not what was said
    ],
)
def test_a_fact_counts_wherever_it_is_shown(remembered: dict[str, Any], present: list[bool]) -> None:
    late = case("late")
    assert [fact.shown for fact in seen(late, moment(late.conversation, 6, **remembered)).expected] == present


@pytest.mark.parametrize(
    ("memory", "expected"),
    [("$15,000 and 3 May", 1.0), ("$15,000", 0.0), ("$15,000 and 3 May, before $10,000", 0.0)],
)
def test_facts_are_current_where_all_that_is_true_shows_and_nothing_else(memory: str, expected: float) -> None:
    late = case("late")
    assert seen(late, moment(late.conversation, 6, memory=memory)).is_current == expected
    assert seen(case("early"), moment(late.conversation, 3, memory=memory)).is_current is None


def test_facts_in_an_answer() -> None:
    late = case("late")
    found = seen(late, moment(late.conversation, 6))
    assert found.in_answer("It is $15,000, for May 3.", late.probe.expected) == [True, True]
    assert found.in_answer("$10,000", late.probe.forbidden, late.probe.expected) == [True]


def test_a_judge_reads_facts_with_their_keys() -> None:
    assert reference(case("late"), ("new", "birthday")) == ["budget: $15,000", "3 May"]


def test_a_memory_that_knows_the_future_is_refused() -> None:
    early = case("early")
    turn = ChatTurn("hello", number=4)
    for shown in ({"recent": (turn,)}, {"retrieved": (turn,)}):
        at = moment(early.conversation, 3, **shown)
        with pytest.raises(EvaluationError, match=r"^the memory shows turn 4 to a probe after turn 3$"):
            guard(early, at, seen(early, at))
    at = moment(early.conversation, 3, memory="They will raise the budget to $15,000.")
    with pytest.raises(EvaluationError, match=r"^the memory holds '\$15,000' of turn 4 after turn 3$"):
        guard(early, at, seen(early, at))


def test_what_was_said_before_is_no_future_although_it_is_said_again() -> None:
    conversation = budget_talk()
    turns = (ChatTurn("Last year it was $15,000."), *conversation.turns[1:])
    early = ProbeCase(dataclasses.replace(conversation, turns=turns), Probe("p", "?", 3))
    at = moment(early.conversation, 3, memory="Last year: $15,000.")
    guard(early, at, seen(early, at))


@pytest.mark.parametrize("turn", [1, 3])
def test_what_a_turn_says_in_other_words_is_no_future(turn: int) -> None:
    """A fact of the turn before the probe, and of one before that, whose words stand in no turn."""
    facts = {"late": Fact("late", "the 14:05", turn)}
    asked = ProbeCase(budget_talk(facts=facts), Probe("p", "Which train?", 3, expected=("late",)))
    at = moment(asked.conversation, 3, memory="They took the 14:05.")
    guard(asked, at, seen(asked, at))


def test_a_summary_that_holds_one_of_two_earlier_values_is_not_current() -> None:
    values = (("b1", "$10,000", 1), ("b2", "$12,000", 2), ("b3", "$15,000", 4))
    facts = {id: Fact(id, value, turn, "budget") for id, value, turn in values}
    probe = Probe("p", "What is the budget?", 6, expected=("b3",), forbidden=("b1", "b2"))
    asked = ProbeCase(budget_talk(facts=facts, probes=(probe,)), probe)
    at = moment(asked.conversation, 6, taken_in=4, memory="The budget is $12,000.")
    assert seen(asked, at).is_summary_current(at) == 0.0


def test_a_summary_counts_by_the_changed_keys_that_it_holds() -> None:
    """Of three changes it has the new budget, the old city beside the new one, and nothing of the colour."""
    facts = [
        *(Fact("b1", "$10,000", 1, "budget"), Fact("b2", "$15,000", 4, "budget")),
        *(Fact("c1", "Busan", 2, "city"), Fact("c2", "Seoul", 5, "city")),
        *(Fact("k1", "red", 3, "colour"), Fact("k2", "blue", 6, "colour")),
    ]
    probe = Probe("all", "What is what?", 6, expected=("b2", "c2", "k2"), forbidden=("b1", "c1", "k1"))
    asked = ProbeCase(budget_talk(facts={fact.id: fact for fact in facts}, probes=(probe,)), probe)
    at = moment(asked.conversation, 6, taken_in=6, memory="The budget is $15,000. From Busan to Seoul.")
    assert seen(asked, at).is_summary_current(at) == 0.5
