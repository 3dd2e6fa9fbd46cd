"""Three documents, a retriever that goes by words, and conversations of a few turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from plugins.evaluation.copilot import Copilot
from plugins.memory.full_history import FullHistoryMemory
from plugins.memory.none import NoMemory
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from runner.errors import DataError, EvaluationError
from runner.llm.projection import Projection
from runner.memory.context import ContextBuilder
from runner.memory.records import Conversation, Fact, Probe, Remembered, SessionKey
from runner.records import Answer, Chunk, Context, Corpus, DataSet, Document, Judgement, Query, Ranking, Scores
from runner.retrieval import Retrieval
from runner.store import Store
from runner.trajectory import Assessment, ToolCall, Trajectory
from tests.runner.memory.talks import talk

TEXTS = {"budget": "Budgets warn at 80 %.", "export": "Reports are exported as CSV.", "seats": "Seats cost $5."}
MENU = "Nothing was found. See the menu."


class Data:
    def load(self) -> DataSet:
        documents = [Document(id, text) for id, text in TEXTS.items()]
        chunks = [Chunk(f"{id}#0", id, text, 0, len(text)) for id, text in TEXTS.items()]
        return DataSet(Corpus(documents, chunks, "f"), ())


@dataclass
class ByName:
    """Finds the documents whose ids stand in the question; an agent says that there is none where it finds none."""

    is_agent: bool = False
    asked: list[str] = field(default_factory=list)

    def index(self, corpus: Corpus, workspace: Any) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        self.asked += [query.text for query in queries]
        return [self._ranking(query.text.casefold()) for query in queries]

    def _ranking(self, text: str) -> Ranking:
        ids = tuple(f"{id}#0" for id in TEXTS if id in text)
        scores = tuple(1.0 - place / 10 for place in range(len(ids)))
        call = ToolCall("search_all", {}, ids, Assessment(ids))
        told = Trajectory((call,), "sufficient") if ids else Trajectory((call,), "calls_spent", "not_found", MENU, 0.1)
        return Ranking(ids, scores, scores, trajectory=told if self.is_agent else None)


@dataclass
class Says:
    answers: Mapping[str, str] = field(default_factory=dict)
    given: dict[str, tuple[Query, Sequence[Context]]] = field(default_factory=dict)

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        self.given[query.id] = query, contexts
        text = self.answers.get(query.text)
        return Answer("I do not know.", refused=True) if text is None else Answer(text)


@dataclass
class Grades:
    on_failure: Literal["zero", "exclude"] = "zero"
    fails: bool = False
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        self.asked.append((rubric, fields))
        if self.fails:
            return Judgement(None, error="no reply")
        names = ("relevance", "completeness", "accuracy", "noise")
        return Judgement(0.75, details={"scores": {name: {"score": 7, "reason": ""} for name in names}})


@dataclass
class Given:
    conversations: Sequence[Conversation]

    def load(self) -> tuple[Sequence[Conversation], tuple[()]]:
        return self.conversations, ()


TALK = talk(
    "How do I export reports?",
    "And seats?",
    "Our budget is $900.",
    "What is our budget, and when do budgets warn?",
    "What is our budget?",
    "Who built the pyramids?",
    facts={"money": Fact("money", "$900", 3, "budget")},
    probes=(
        Probe("export", "How do I export reports?", 0, notes=("export",)),
        Probe("seats", "And seats?", 1, notes=("seats",), answers=("$5",)),
        Probe("both", "What is our budget, and when do budgets warn?", 3, expected=("money",), notes=("budget",)),
        Probe("money", "Which amount of money was told?", 4, expected=("money",), answers=("$900",), evidence=("t3",)),
        Probe("never", "Who built the pyramids?", 5, answerable=False),
    ),
)
ANSWERS = {
    "How do I export reports?": "As CSV [1].",
    "And seats?": "$5 [1]",
    "What is our budget, and when do budgets warn?": "At 80 % [1].",
    "Which amount of money was told?": "$900",
}


def copilot(retriever: Any = None, memory: Any = FullHistoryMemory, talk: Conversation = TALK, **parts: Any) -> Copilot:
    retrieval = Retrieval(
        dataset=Data(),
        retriever=retriever or ByName(),
        k=2,
        cutoffs=[1],
        min_score=0.3,
        timeout_ms=5000,
        warmup=0,
        seed=1,
    )
    unit: Any = {"model": "openai:x", "input_tokens": 1, "output_tokens": 1, "usd": 0.001}
    given: dict[str, Any] = {
        "scenario": Given([talk]),
        "context": ContextBuilder(encoding="estimate"),
        "generator": Says(ANSWERS),
        "judge": Grades(),
        "high": 0.6,
        "projection": Projection(providers={}, update=unit, rerank=unit, answer=unit),
        "memory": memory(store=LocalStore(), summariser=ExtractiveSummariser()) if isinstance(memory, type) else memory,
        **parts,
    }
    return Copilot(retrieval=retrieval, **given)


async def scored(tested: Copilot, folder: Path) -> dict[str, tuple[Scores, Any]]:
    cases = tested.load().cases
    found = {}
    async with tested.opened():
        await tested.prepare(cases, Store(folder, {id(tested.retrieval.retriever): "words"}))
        for case in cases:
            output = await tested.run(case)
            found[case.probe.id] = tested.score(case, output, await tested.judge(case, output)), output
    return found


# --- what is looked for, shown and answered -----------------------------------------------------------


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
    assert output.found.contexts == ()
    assert scores.values["documents_tokens"] == 0.0
    assert scores.labels["lost_at"] == "below_k"  # what counts is what the generator saw


# --- messages in place of answers ---------------------------------------------------------------------


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


# --- scores -------------------------------------------------------------------------------------------


async def test_scores_of_each_question(tmp_path: Path) -> None:
    found = {name: scores for name, (scores, _) in (await scored(copilot(), tmp_path)).items()}
    assert [found[name].values["recall_at_k"] for name in found] == [1.0, 1.0, 1.0, None, None]
    assert found["seats"].values["mrr"] == 0.5  # behind what the question before it asked for
    assert found["seats"].values["exact_match"] == 1.0
    assert (found["both"].values["facts_present"], found["both"].values["answer_facts"]) == (1.0, 0.0)
    assert found["both"].labels["lost_at"] == "unused"
    assert (found["money"].values["evidence_recall"], found["money"].values["answer_facts"]) == (1.0, 1.0)
    assert found["money"].labels["lost_at"] == "none"
    assert found["money"].values["memory_overall"] == 75.0 and "memory_overall" not in found["export"].values
    assert found["never"].values["unanswerable_f1"] == 1.0
    assert found["never"].labels == {"answerability": "true_positive", "lost_at": "none"}
    assert found["export"].labels["pattern"] == "ideal"


async def test_a_question_of_what_was_said_is_no_question_without_an_answer(tmp_path: Path) -> None:
    """Nothing was found for it, and the memory answers it."""
    scores, output = (await scored(copilot(), tmp_path))["money"]
    assert output.found.ranking.ids == ()
    assert scores.labels["answerability"] == "true_negative"


async def test_judges_read_the_turns_before_whatever_the_memory_kept(tmp_path: Path) -> None:
    judge = Grades()
    await scored(copilot(memory=NoMemory, judge=judge), tmp_path)
    asked = {(rubric, fields["question"]): fields for rubric, fields in judge.asked}
    history = asked["answer_relevancy", "And seats?"]["history"]
    assert [(turn.role, turn.text) for turn in history] == [
        ("user", "How do I export reports?"),
        ("assistant", "Noted."),
    ]
    assert [question for rubric, question in asked if rubric == "memory"] == [
        "What is our budget, and when do budgets warn?",
        "Which amount of money was told?",
    ]
    about_money = asked["memory", "Which amount of money was told?"]
    assert about_money["reference"] == ["budget: $900"]
    assert about_money["weights"] == {"relevance": 0.35, "completeness": 0.3, "accuracy": 0.25, "noise": 0.1}


@pytest.mark.parametrize(("on_failure", "value"), [("zero", 0.0), ("exclude", None)])
async def test_a_judge_that_fails_is_told(
    tmp_path: Path, on_failure: Literal["zero", "exclude"], value: float | None
) -> None:
    found = await scored(copilot(judge=Grades(on_failure, fails=True)), tmp_path)
    scores = found["money"][0]
    assert scores.values["faithfulness"] == scores.values["memory_overall"] == value
    assert {"faithfulness", "answer_relevancy", "memory_overall"} <= set(scores.unscored)
    assert "memory_overall" not in found["export"][0].unscored


async def test_an_empty_memory_has_no_accuracy(tmp_path: Path) -> None:
    scores, _ = (await scored(copilot(memory=NoMemory), tmp_path))["money"]
    assert scores.values["memory_accuracy"] is None and scores.values["facts_present"] == 0.0
    assert scores.unscored == () and scores.labels["memory"] == "empty"
    assert scores.labels["lost_at"] == "none"  # the generator knows it by heart


def test_metrics_of_a_question_that_failed() -> None:
    tested = copilot()
    cases = {case.probe.id: case for case in tested.load().cases}
    unscored = {name: set(tested.score(case, None, {}).unscored) for name, case in cases.items()}
    assert {"recall_at_k", "faithfulness", "context_tokens"} <= unscored["export"]
    assert not any(
        name.startswith(("recall", "memory_overall", "unans")) for name in unscored["money"] - {"memory_overall"}
    )
    assert {"facts_present", "answer_facts", "memory_overall", "exact_match"} <= unscored["money"]
    assert {"unanswerable_recall", "unanswerable_f1"} <= unscored["never"]


async def test_a_memory_that_fails_for_one_question_fails_that_question(tmp_path: Path) -> None:
    class Fails(FullHistoryMemory):
        async def read(self, key: SessionKey, question: str) -> Remembered:
            if question == "And seats?":
                raise EvaluationError("not this time")
            return await super().read(key, question)

    tested = copilot(memory=Fails)
    cases = tested.load().cases
    async with tested.opened():
        await tested.prepare(cases, Store(tmp_path, {id(tested.retrieval.retriever): "words"}))
        with pytest.raises(EvaluationError, match="not this time"):
            await tested.run(cases[1])
        assert (await tested.run(cases[0])).answer.text == "As CSV [1]."


# --- data ---------------------------------------------------------------------------------------------


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
