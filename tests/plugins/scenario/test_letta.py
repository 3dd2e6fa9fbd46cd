import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from plugins.memory.recursive_summary import RecursiveSummaryMemory
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.openai import OpenaiSummariser
from plugins.scenario.letta import LettaScenarios
from runner.domains.memory.records import ChatTurn, Conversation, Fact, Probe
from runner.domains.memory.timeline import current_facts
from runner.errors import DataError
from runner.text.matching import mentions, shows
from tests.plugins.evaluation.test_memory import Says, evaluation, scored
from tests.services.doors import models as models_at
from tests.services.models_replies import completion
from tests.services.models_server import ModelsServer

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
            "fact-2": Fact("fact-2", "dog", 2, "fact-2", about=(("Bob",),)),
            "update": Fact("update", "a cat", 3, "fact-2", about=(("Bob",),)),
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
    assert found.facts["update"].forms == ("a cat", "D")  # without the quotes around it
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
    shown = Counter[str]()
    for each in conversations:
        for fact in each.facts.values():
            assert mentions(each.turns[fact.turn - 1].user, fact.forms)
        filler = "\n".join(f"{turn.user}\n{turn.assistant}" for turn in each.turns[11:])
        shown.update(fact.value for fact in each.facts.values() if shows(filler, fact.forms))
    assert shown == {"enjoys": 2, "enjoy": 1, "best": 1}  # small talk says "Enjoy it." and "good"


async def values_with(
    conversation: Conversation, folder: Path, server: ModelsServer, memory: str, answer: str
) -> dict[str, Any]:
    """Of the probe, where a model on loopback keeps a memory and answers."""
    server.respond = lambda body: completion(
        body, json.dumps({"memory": memory, "entities": []}) if "response_format" in body else answer
    )
    models = models_at(server.url, folder, cache="none")
    keeps = RecursiveSummaryMemory(
        store=LocalStore(), summariser=OpenaiSummariser(models=models, model="test:small"), window=2, update_every=2
    )
    tested = evaluation(conversation, memory=keeps, generator=Says({conversation.probes[0].question: answer}))
    async with models.open():
        ((scores, _),) = (await scored(tested, folder)).values()
    return dict(scores.values)


@pytest.mark.parametrize(
    ("memory", "present", "current"),
    [
        ("Ann cooks for a living. These days Bob keeps a cat, not the dog.", 1.0, 1.0),
        ("Bob used to keep a dog. Now he has two cats; he gave up the dog.", 1.0, 1.0),
        ("Ann is a cook. Bob owns a dog.", 0.0, 0.0),
        ("Bob has a cat. Bob has a dog.", 1.0, 0.0),
        ("Ann has a cat.", 0.0, 0.0),  # somebody else
        ("Ann is a cook.", 0.0, 0.0),
    ],
)
async def test_a_memory_in_other_words(
    tmp_path: Path, server: ModelsServer, memory: str, present: float, current: float
) -> None:
    (conversation,), _ = load(tmp_path, case())
    values = await values_with(conversation, tmp_path, server, memory, "a cat")
    assert (values["facts_present"], values["facts_current"]) == (present, current)
    assert (values["answer_facts"], values["answer_stale"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("answer", "facts", "stale"), [("He has cats.", 1, 0), ("A dog.", 0, 1), ("A cat, not a dog", 1, 0)]
)
async def test_an_answer_in_other_words(
    tmp_path: Path, server: ModelsServer, answer: str, facts: float, stale: float
) -> None:
    (conversation,), _ = load(tmp_path, case())
    values = await values_with(conversation, tmp_path, server, "Bob has a cat.", answer)
    assert (values["answer_facts"], values["answer_stale"]) == (facts, stale)


@pytest.mark.skipif(not SHARED.exists(), reason="the memory updates of letta-evals are not there")
def test_every_gold_answer_gives_its_facts() -> None:
    conversations, _ = LettaScenarios(path=str(SHARED)).load()
    for each in conversations:
        assert shows(each.probes[0].answers[0], each.facts["update"].forms), each.id
        assert shows(each.turns[each.facts["update"].turn - 1].user, each.facts["update"].forms), each.id
