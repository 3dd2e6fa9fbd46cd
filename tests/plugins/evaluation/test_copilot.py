"""What a copilot looks for, shows and answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plugins.memory.none import NoMemory
from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.records import Fact
from runner.errors import DataError
from runner.records import Answer
from tests.plugins.evaluation.small_copilot import ANSWERS, MENU, TALK, ByName, Says, copilot, scored

# --- what is looked for, shown and answered -------------------------------------------------------


async def test_a_question_is_searched_behind_the_one_that_it_goes_on_with(tmp_path: Path) -> None:
    retriever = ByName()
    found = await scored(copilot(retriever), tmp_path)
    assert set(retriever.asked) >= {"How do I export reports?", "How do I export reports? And seats?"}
    output = found["seats"][1]
    assert output.record()["searched"] == "How do I export reports? And seats?"
    assert output.record()["query"] == "And seats?"
    assert "searched" not in found["export"][1].record()


async def test_a_memory_that_keeps_nothing_cannot_be_gone_on_with_and_it_can_be_turned_off(tmp_path: Path) -> None:
    for number, settings in enumerate(({"memory": NoMemory}, {"follow_ups": False})):
        retriever = ByName()
        await scored(copilot(retriever, **settings), tmp_path / str(number))
        assert "And seats?" in retriever.asked


async def test_the_generator_gets_the_question_with_memory_and_documents(tmp_path: Path) -> None:
    says = Says(ANSWERS)
    await scored(copilot(generator=says), tmp_path)
    query, contexts = says.given["talk/both"]
    assert query.text == "What is our budget, and when do budgets warn?"
    assert [context.id for context in contexts] == ["budget#0"]
    assert [context.id for context in query.remembered or ()] == ["t1", "t2", "t3"]
    first, _ = says.given["talk/export"]
    assert first.remembered == ()


async def test_documents_are_cut_to_their_budget(tmp_path: Path) -> None:
    tested = copilot(context=ContextBuilder(documents_tokens=0, encoding="estimate"))
    scores, output = (await scored(tested, tmp_path))["export"]
    assert output.retrieved.contexts == ()
    assert scores.values["documents_tokens"] == 0.0
    assert scores.labels["right_by"] == "stand_in"  # whatever the generator saw


# --- messages in place of answers -----------------------------------------------------------------


async def test_a_message_of_the_retriever_is_the_answer_and_no_generator_is_asked(tmp_path: Path) -> None:
    says = Says(ANSWERS)
    found = await scored(copilot(ByName(is_agent=True), generator=says), tmp_path)
    scores, output = found["money"]
    assert (output.answer, output.generation) == (Answer(MENU, refused=True), None)
    assert set(output.timings) == {"read", "retrieval"}
    assert "talk/money" not in says.given
    assert (scores.labels["lost_at"], scores.values["answer_facts"]) == ("not_asked", 0.0)
    assert output.record()["trajectory"]["fallback"] == "not_found"
    assert found["never"][0].labels["answerability"] == "true_positive"


async def test_what_is_remembered_may_answer_before_the_message_does(tmp_path: Path) -> None:
    says = Says(ANSWERS)
    tested = copilot(ByName(is_agent=True), generator=says, fallback="unanswered")
    found = await scored(tested, tmp_path)
    assert found["money"][1].answer == Answer("$900")
    assert says.given["talk/money"][1] == ()  # documents that are not trusted are not shown
    assert found["never"][1].answer == Answer(MENU, refused=True)
    assert found["never"][1].generation is not None


async def test_what_agents_did_is_summed_beside_what_memories_held(tmp_path: Path) -> None:
    found = await scored(copilot(ByName(is_agent=True)), tmp_path)
    rows = [{"output": output.record()} for _, output in found.values()]
    summed = copilot().sums(iter(rows))
    assert summed["agent"]["n"] == 5
    assert {kind: counts["n"] for kind, counts in summed["agent"]["fallbacks"].items()} == {"none": 3, "not_found": 2}
    assert summed["memory"]["upkeep"]["appends"] == 5
    plain = await scored(copilot(), tmp_path / "plain")
    assert "agent" not in copilot().sums({"output": output.record()} for _, output in plain.values())


# --- data -----------------------------------------------------------------------------------------


def test_notes_that_are_no_documents_are_told() -> None:
    unknown = replace(TALK, probes=(replace(TALK.probes[0], notes=("exports", "seats")),))
    (problem,) = copilot(talk=unknown).load().problems
    assert str(problem) == (
        "scenario: notes: no document 'exports' in the corpus; did you mean 'export'? (query 'talk/export')"
    )


def test_questions_about_other_documents_are_an_error() -> None:
    unknown = replace(TALK, probes=(replace(TALK.probes[0], notes=("exports",)), TALK.probes[-1]))
    with pytest.raises(DataError) as raised:
        copilot(talk=unknown).load()
    assert str(raised.value) == (
        "scenario: none of the 1 documents that its questions name, such as 'exports', is in the corpus: choose a "
        "dataset and a scenario that belong together"
    )


def test_what_is_known_of_answers_is_part_of_the_gold_and_what_was_said_is_not() -> None:
    usual = copilot().load().identity
    other_note = replace(TALK, probes=(replace(TALK.probes[0], notes=("seats",)), *TALK.probes[1:]))
    other_fact = replace(TALK, facts={"money": Fact("money", "$901", 3, "budget")})
    other_talk = replace(TALK, turns=(replace(TALK.turns[0], assistant="As CSV."), *TALK.turns[1:]))
    changed = {
        name: {part for part, digest in copilot(talk=each).load().identity.items() if digest != usual[part]}
        for name, each in (("note", other_note), ("fact", other_fact), ("talk", other_talk))
    }
    assert changed == {"note": {"gold"}, "fact": {"gold"}, "talk": {"conversations"}}
