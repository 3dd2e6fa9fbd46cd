import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from plugins.scenario.letta import LettaScenarios
from runner.domains.memory.records import ChatTurn, Conversation, Fact, Probe
from runner.domains.memory.timeline import current_facts
from runner.errors import DataError
from runner.text.shown import shows

SHARED = Path(__file__).parents[3].parent / "shared" / "data" / "memory_update" / "updates.jsonl"


def case(
    facts: Any = ("Ann is a cook.", "Bob has a dog."), update: Any = "Bob has a cat.", old: Any = (1,)
) -> dict[str, Any]:
    extra = {"facts": facts, "contradicting_fact": update, "supporting_fact_indices": old}
    return {"input": "What does Bob have?", "ground_truth": "a cat", "agent_args": {"extra": extra}}


def load(folder: Path, *cases: Any, **settings: Any) -> tuple[list[Conversation], list[str]]:
    path = folder / "u.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in cases), encoding="utf-8")
    conversations, problems = LettaScenarios(path=str(path), **settings).load()
    return list(conversations), [str(each).replace(f"{folder}/", "") for each in problems]


def test_the_new_fact_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    (found,), problems = load(tmp_path, case(), turns_after=0)
    assert found == Conversation(
        id="update-1",
        turns=(
            ChatTurn("Ann is a cook.", "Noted.", id="fact-1", number=1),
            ChatTurn("Bob has a dog.", "Noted.", id="fact-2", number=2),
            ChatTurn("Bob has a cat.", "Noted.", id="update", number=3),
        ),
        probes=(
            Probe(
                "changed",
                "What does Bob have?",
                3,
                expected=("update",),
                forbidden=("fact-2",),
                answers=("a cat",),
                evidence=("update",),
                category="update",
            ),
        ),
        facts={
            "fact-1": Fact("fact-1", "Ann is a cook", 1, "fact-1"),
            "fact-2": Fact("fact-2", "Bob has a dog", 2, "fact-2"),
            "update": Fact("update", "Bob has a cat", 3, "fact-2"),
        },
        language="en",
    )
    assert problems == []


def test_several_facts_may_have_been_wrong(tmp_path: Path) -> None:
    (found,), _ = load(tmp_path, case(["A.", "B.", "C."], '"D."', [2, 0]))
    assert found.probes[0].forbidden == ("fact-3", "fact-1")
    assert {id: fact.key for id, fact in found.facts.items()} == {
        "fact-1": "fact-1",
        "fact-2": "fact-2",
        "fact-3": "fact-1",
        "update": "fact-1",
    }
    assert found.facts["update"].value == "D"  # without the quotes around it
    assert current_facts(found.facts.values(), 4)["fact-1"].id == "update"


def test_talk_about_nothing_follows(tmp_path: Path) -> None:
    (found,), _ = load(tmp_path, case())
    assert len(found.turns) == 12
    assert found.probes[0].after_turn == 12
    assert [turn.number for turn in found.turns] == list(range(1, 13))
    assert all(turn.id == "" for turn in found.turns[3:])
    (longer,), _ = load(tmp_path, case(), turns_after=20)
    assert longer.turns[12].user == found.turns[3].user  # it begins again


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (case() | {"input": None}, "input: expected text, found null"),
        (case() | {"ground_truth": " "}, 'ground_truth: expected text that is not blank, found text " "'),
        (case() | {"agent_args": {"extra": 1}}, "agent_args.extra: expected an object, found number 1"),
        (
            case(old=[]),
            "agent_args.extra.supporting_fact_indices: expected a list of numbers from 0 to 1, found an empty list",
        ),
        (
            case(old=[2]),
            "agent_args.extra.supporting_fact_indices: expected a list of numbers from 0 to 1, found a list of 1",
        ),
        (case(facts=["a", 1]), "agent_args.extra.facts[1]: expected text, found number 1"),
        (case(update=None), "agent_args.extra.contradicting_fact: expected text, found null"),
    ],
)
def test_a_line_with_an_error_is_left_out(tmp_path: Path, wrong: Any, problem: str) -> None:
    found, problems = load(tmp_path, wrong, case())
    assert [each.id for each in found] == ["update-2"]
    assert problems[0] == f"u.jsonl:1: {problem}"


def test_nothing_usable(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, case() | {"input": 5})
    assert str(caught.value) == (
        f"scenario.path: no conversations in {tmp_path}/u.jsonl; its lines have errors:\n"
        f"  {tmp_path}/u.jsonl:1: input: expected text that is not blank, found number 5"
    )
    with pytest.raises(DataError, match="strict=true"):
        load(tmp_path, case(), case() | {"input": 5}, strict=True)
    missing = LettaScenarios(path=str(tmp_path / "no")).preflight()
    assert [str(each) for each in missing] == [f"scenario.path: file not found: {tmp_path}/no"]


@pytest.mark.skipif(not SHARED.exists(), reason="the memory updates of letta-evals are not there")
def test_the_whole_file_loads() -> None:
    conversations, problems = LettaScenarios(path=str(SHARED)).load()
    assert (len(conversations), problems) == (550, ())
    assert Counter(len(each.turns) for each in conversations) == {20: 550}
    assert Counter(len(each.probes[0].forbidden) for each in conversations) == {1: 525, 2: 19, 3: 4, 4: 1, 5: 1}
    for each in conversations:
        for fact in each.facts.values():
            assert shows(each.turns[fact.turn - 1].user, fact.forms)
        filler = "\n".join(f"{turn.user}\n{turn.assistant}" for turn in each.turns[11:])
        assert not any(shows(filler, fact.forms) for fact in each.facts.values())
