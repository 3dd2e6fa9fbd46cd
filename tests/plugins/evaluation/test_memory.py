import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from plugins.evaluation.memory import MemoryEvaluation
from plugins.generator.extractive import ExtractiveGenerator
from plugins.generator.given import GivenGenerator
from plugins.judge.lexical import LexicalJudge
from plugins.memory.full_history import FullHistoryMemory
from plugins.memory.none import NoMemory
from plugins.memory.store.local import LocalStore
from plugins.memory.summariser.extractive import ExtractiveSummariser
from plugins.memory.window import WindowMemory
from plugins.scenario.file import FileScenarios
from runner.domains.memory.context import ContextBuilder
from runner.domains.memory.probing import ProbeCase, references
from runner.domains.memory.records import ChatTurn, Conversation, Fact, Probe
from runner.errors import EvaluationError
from runner.metrics.profile import profile_by_name
from runner.protocols import Workspace
from runner.records import Answer, Context, DataProblem, Judgement, Query, Scores
from runner.records import GivenResults as GivenBySystem
from runner.system.store import Store
from tests.runner.domains.memory.talks import budget_talk, talk


@dataclass
class Given:
    """Scenarios that are there already."""

    conversations: Sequence[Conversation]
    problems: Sequence[DataProblem] = ()

    def load(self) -> tuple[Sequence[Conversation], Sequence[DataProblem]]:
        return self.conversations, self.problems


@dataclass
class Says:
    """A generator that knows its answers by heart and notes what it was given."""

    answers: Mapping[str, str]
    given: list[Sequence[Context]] = field(default_factory=list)

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        self.given.append(contexts)
        text = self.answers.get(query.text)
        return Answer("I do not know.", refused=True) if text is None else Answer(text)


@dataclass
class Grades:
    """A judge that gives everything the same four grades."""

    grades: tuple[float, float, float, float] | None = (8, 6, 10, 1)
    on_failure: Literal["zero", "exclude"] = "zero"
    correctness: float | None = 1.0
    baseline: bool = False  # without a model
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        self.asked.append({"rubric": rubric, **fields})
        if self.grades is None:
            return Judgement(None, error="no reply")
        if rubric == "answer_correctness":
            return Judgement(self.correctness, error=None if self.correctness is not None else "no reply")
        names = ("relevance", "completeness", "accuracy", "noise")
        scores = {name: {"score": grade, "reason": ""} for name, grade in zip(names, self.grades, strict=True)}
        return Judgement(0.8, details={"scores": scores})


def memory_of(kind: Any, **settings: Any) -> Any:
    return kind(store=LocalStore(), summariser=ExtractiveSummariser(), **settings)


def evaluation(*conversations: Conversation, memory: Any = None, **parts: Any) -> MemoryEvaluation:
    given = {
        "context": ContextBuilder(encoding="estimate"),
        "generator": Says({}),
        "judge": Grades(),
        **parts,
    }
    return MemoryEvaluation(scenario=Given(conversations), memory=memory or memory_of(FullHistoryMemory), **given)


async def scored(tested: MemoryEvaluation, folder: Path, workers: int = 1) -> dict[str, tuple[Scores, Any]]:
    """By id of the case, in the order in which they were run."""
    cases = tested.load().cases
    found: dict[str, tuple[Scores, Any]] = {}
    pending = iter(cases)

    async def work() -> None:
        for case in pending:
            output = await tested.run(case)
            found[case.id] = tested.score(case, output, await tested.judge(case, output)), output

    async with tested.open():
        await tested.prepare(cases, Store(folder))
        await asyncio.gather(*(work() for _ in range(workers)))
    return found


async def test_scores_of_each_probe(tmp_path: Path) -> None:
    says = Says({"What is the budget?": "$10,000", "What is the budget now?": "$10,000 and $15,000."})
    found = await scored(evaluation(budget_talk(), generator=says, judge=Grades(baseline=True)), tmp_path)
    early, late, never = (found[f"talk/{name}"][0] for name in ("early", "late", "never"))
    assert {name: early.values[name] for name in ("facts_present", "evidence_recall", "exact_match")} == {
        "facts_present": 1.0,
        "evidence_recall": 1.0,
        "exact_match": 1.0,
    }
    assert (early.values["stale_present"], early.values["leakage"]) == (None, None)
    assert late.values["facts_present"] == late.values["stale_present"] == 1.0
    assert (early.values["facts_current"], late.values["facts_current"]) == (None, 0.0)
    assert late.values["evidence_recall"] == 1.0  # `nowhere` is no turn and does not count
    assert (late.values["answer_facts"], late.values["answer_stale"]) == (0.5, 1.0)
    assert (late.values["memory_overall"], late.values["memory_noise"]) == (80.0, 1.0)
    assert late.labels == {
        "answerability": "true_negative", "memory": "held", "right_by": "facts", "lost_at": "stale_answer"
    }  # fmt: skip
    assert (early.labels["lost_at"], never.labels["lost_at"]) == ("none", "none")
    assert never.labels["answerability"] == "true_positive"
    assert never.values["unanswerable_recall"] == never.values["unanswerable_precision"] == 1.0
    assert [never.values[name] for name in ("facts_present", "answer_facts", "exact_match", "token_f1")] == [None] * 4
    assert [len(contexts) for contexts in says.given] == [3, 6, 6]


async def test_one_answer_is_scored_by_two_sets_of_labels(tmp_path: Path) -> None:
    published = Probe("p", "Who?", 2, answers=("Lena",), evidence=("t1", "turn-2"))
    corrected = replace(published, answers=("Paul",), evidence=("t2",))
    talked = talk("Lena came.", "No, Paul did.", probes=(replace(published, patched=corrected),))
    tested = evaluation(talked, generator=Says({"Who?": "Paul"}), memory=memory_of(WindowMemory, window=1))
    values = (await scored(tested, tmp_path))["talk/p"][0].values
    assert (values["exact_match"], values["exact_match_patched"]) == (0.0, 1.0)
    assert (values["token_f1"], values["token_f1_patched"]) == (0.0, 1.0)
    assert (values["evidence_recall"], values["evidence_recall_patched"]) == (0.0, 1.0)  # turn-2 goes by its id, t2
    plain = evaluation(replace(talked, probes=(published,)))
    assert plain.load().identity["gold"] != tested.load().identity["gold"]


async def test_turns_without_an_id_go_by_their_number(tmp_path: Path) -> None:
    turns = (ChatTurn("Lena came."), ChatTurn("Paul left."))
    talked = Conversation("talk", turns, (Probe("p", "Who?", 2, evidence=("turn-1", "turn-2", "turn-3")),))
    tested = evaluation(talked, memory=memory_of(WindowMemory, window=1))
    assert (await scored(tested, tmp_path))["talk/p"][0].values["evidence_recall"] == 0.5


async def test_what_has_left_the_window_is_missed(tmp_path: Path) -> None:
    found = await scored(evaluation(budget_talk(), memory=memory_of(WindowMemory, window=3)), tmp_path)
    late, output = found["talk/late"]
    assert (late.values["facts_present"], late.values["stale_present"]) == (0.5, 0.0)  # turns 4 to 6
    assert late.values["evidence_recall"] == 0.5
    assert late.labels["lost_at"] == "forgotten"
    facts = output.record()["facts"]
    assert [(fact["id"], fact["age"], fact["shown"]) for fact in facts] == [("new", 2, True), ("birthday", 4, False)]


async def test_an_empty_memory_is_told_and_has_no_accuracy(tmp_path: Path) -> None:
    for judge in (Grades((0, 0, 0, 0)), Grades(None)):
        found = await scored(evaluation(budget_talk(), memory=memory_of(NoMemory), judge=judge), tmp_path)
        scores = found["talk/late"][0]
        assert scores.labels["memory"] == "empty"
        assert scores.values["memory_accuracy"] is None
        assert "memory_accuracy" not in scores.unscored
        assert scores.values["facts_present"] == 0.0
        assert (scores.values["memory_tokens"], scores.values["context_tokens"]) == (0.0, 0.0)


@pytest.mark.parametrize(("on_failure", "instead"), [("zero", 0.0), ("exclude", None)])
async def test_a_judge_that_fails(
    on_failure: Literal["zero", "exclude"], instead: float | None, tmp_path: Path
) -> None:
    found = await scored(evaluation(budget_talk(), judge=Grades(None, on_failure)), tmp_path)
    scores = found["talk/early"][0]
    assert scores.values["memory_overall"] == scores.values["memory_accuracy"] == instead
    assert scores.values["memory_noise"] is None  # less is better, so nothing is the worst that could be said
    assert set(scores.unscored) == {
        *("memory_overall", "memory_relevance", "memory_completeness", "memory_accuracy", "memory_noise")
    }


async def test_what_the_judge_sees(tmp_path: Path) -> None:
    judge = Grades()
    await scored(evaluation(budget_talk(), judge=judge), tmp_path)
    late = [asked for asked in judge.asked if asked["rubric"] == "memory"][1]
    assert (late["rubric"], late["question"], late["language"]) == ("memory", "What is the budget now?", "en")
    assert late["weights"] == {"relevance": 0.35, "completeness": 0.3, "accuracy": 0.25, "noise": 0.1}
    assert late["memory"].startswith("User: The budget is $10,000.\nAssistant: Noted.")
    assert (late["entities"], late["reference"], late["stale"]) == (
        "",
        ["budget: $15,000", "3 May"],
        ["budget: $10,000"],
    )
    known = budget_talk(probes=(Probe("p", "Who?", 1, answers=("Lena",)),))
    judge = Grades()
    await scored(evaluation(known, judge=judge), tmp_path)
    assert judge.asked[0]["reference"] == ["Lena"]


@pytest.mark.parametrize(
    ("correctness", "on_failure", "expected"),
    [
        (0.7, "zero", (1.0, "correctness", 0.7)),  # a model knows better than the matcher
        (0.6, "zero", (0.0, "correctness", 0.6)),  # not above `high`
        (None, "zero", (None, "not_judged", 0.0)),
        (None, "exclude", (None, "not_judged", None)),
    ],
)
async def test_an_answer_that_a_model_held_against_the_right_one_is_decided_by_it(
    correctness: float | None,
    on_failure: Literal["zero", "exclude"],
    expected: tuple[float | None, str, float | None],
    tmp_path: Path,
) -> None:
    judge = Grades(correctness=correctness, on_failure=on_failure)
    says = Says({"What is the budget now?": "Fifteen thousand, and the third of May."})
    found = await scored(evaluation(budget_talk(), judge=judge, generator=says), tmp_path)
    (asked,) = [asked for asked in judge.asked if asked["rubric"] == "answer_correctness"]  # two declined
    assert (asked["references"], asked["answer"]) == (
        ["$15,000; 3 May"],
        "Fifteen thousand, and the third of May.",
    )
    late, early, never = (found[f"talk/{name}"][0] for name in ("late", "early", "never"))
    assert (late.values["right"], late.labels["right_by"], late.values["answer_correctness"]) == expected
    assert ("answer_correctness" in late.unscored) is (correctness is None)
    assert (early.values["right"], early.values["answer_correctness"]) == (0.0, 0.0)  # it declined
    assert never.values["right"] == 1.0 and "answer_correctness" not in never.values


async def test_a_judge_without_a_model_is_not_asked_of_answers(tmp_path: Path) -> None:
    judge = Grades(baseline=True)
    found = await scored(evaluation(budget_talk(), judge=judge), tmp_path)
    assert {asked["rubric"] for asked in judge.asked} == {"memory"}
    assert "answer_correctness" not in found["talk/early"][0].values


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        (Probe("p", "?", 2, answers=("Lena", "She")), ["Lena", "She"]),
        (Probe("p", "?", 2, expected=("budget",)), ["budget: $900"]),
        (Probe("p", "?", 2, expected=("budget",), answers=("It is $900.",)), ["It is $900."]),
        (Probe("p", "?", 2, expected=("budget",), answers=("In May",)), ["In May; budget: $900"]),
        (Probe("p", "?", 2, expected=("budget",), notes=("guide",)), []),  # what the guide says nobody wrote down
        (Probe("p", "?", 2, answerable=False, answers=("Lena",)), []),
        (Probe("p", "?", 2), []),
    ],
)  # fmt: skip
def test_references_hold_all_that_is_expected(probe: Probe, expected: list[str]) -> None:
    facts = {"budget": Fact("budget", "$900", 1, "budget")}
    talked = talk("The budget is $900.", "Well.", facts=facts, probes=(probe,))
    assert references(ProbeCase(talked, probe)) == expected


async def test_the_judge_is_told_the_weights_of_the_profile(tmp_path: Path) -> None:
    identities = {}
    for profile in (None, profile_by_name("auto"), profile_by_name("default"), profile_by_name("finance")):
        judge = Grades()
        tested = evaluation(budget_talk(), judge=judge, profile=profile)
        await scored(tested, tmp_path)
        identities[profile and getattr(profile, "name", "auto")] = tested.load().identity["memory_weights"]
    assert judge.asked[0]["weights"] == {"relevance": 0.3, "completeness": 0.25, "accuracy": 0.35, "noise": 0.1}
    assert identities[None] == identities["auto"] == identities["default"] != identities["finance"]


async def test_what_another_tenant_said_counts_as_a_leak(tmp_path: Path) -> None:
    probes = tuple(Probe(id, "?", 2, canaries=(code,)) for id, code in (("leaks", "KX-31"), ("keeps", "ZZ-77")))
    found = await scored(evaluation(talk("Our code is KX-31.", "Well.", probes=probes)), tmp_path)
    assert [found[f"talk/{id}"][0].values["leakage"] for id in ("leaks", "keeps")] == [1.0, 0.0]
    answers = evaluation(talk("a", "b", probes=probes), generator=Says({"?": "I heard of ZZ-77."}))
    found = await scored(answers, tmp_path)
    assert [found[f"talk/{id}"][0].values["leakage"] for id in ("leaks", "keeps")] == [0.0, 1.0]


async def test_many_workers_see_what_one_sees(tmp_path: Path) -> None:
    talks = [replace(budget_talk(), id=f"talk-{number}") for number in range(20)]
    alone = await scored(evaluation(*talks, memory=memory_of(WindowMemory, window=2)), tmp_path, workers=1)
    crowd = await scored(evaluation(*talks, memory=memory_of(WindowMemory, window=2)), tmp_path, workers=7)
    assert {id: scores for id, (scores, _) in alone.items()} == {id: scores for id, (scores, _) in crowd.items()}
    assert list(alone)[:3] == ["talk-0/early", "talk-1/early", "talk-2/early"]  # conversations take turns
    assert list(alone)[48:50] == ["talk-16/early", "talk-17/early"]  # sixteen at a time


async def test_sessions_are_gone_when_the_run_is_over_or_stopped(tmp_path: Path) -> None:
    memory = memory_of(WindowMemory)
    tested = evaluation(budget_talk(), memory=memory)
    cases = tested.load().cases
    async with memory.open():
        async with tested.open():
            await tested.prepare(cases, Store(tmp_path))
            await tested.run(cases[0])
            assert [key async for key in memory.sessions.store.sessions()]
        assert not [key async for key in memory.sessions.store.sessions()]


def test_identities_tell_what_was_said_asked_and_known() -> None:
    plain = evaluation(budget_talk()).load().identity
    other = budget_talk()
    said = replace(other, turns=(ChatTurn("Hi."), *other.turns[1:]))
    asked = replace(other, probes=(replace(other.probes[0], question="?"), *other.probes[1:]))
    known = replace(other, probes=(replace(other.probes[0], answers=("1",)), *other.probes[1:]))
    for changed, expected in ((said, {"conversations"}), (asked, {"queries"}), (known, {"gold"})):
        identity = evaluation(changed).load().identity
        assert {name for name in identity if identity[name] != plain[name]} == expected


def test_names_of_a_case_that_failed() -> None:
    tested = evaluation(budget_talk())
    (early, late, never) = tested.load().cases
    assert tested.score(late, None, {}).values == {}
    names = set(tested.score(late, None, {}).unscored)
    assert {"facts_present", "stale_present", "exact_match", "memory_overall", "context_tokens"} <= names
    assert "stale_present" not in tested.score(early, None, {}).unscored
    assert {"unanswerable_recall", "unanswerable_f1"} <= set(tested.score(never, None, {}).unscored)


async def test_with_the_parts_that_need_no_model(tmp_path: Path) -> None:
    tested = evaluation(budget_talk(), generator=ExtractiveGenerator())
    found = await scored(tested, tmp_path)
    assert found["talk/early"][1].answer.text
    assert isinstance(tested.load().cases[0], ProbeCase)


@pytest.mark.parametrize(("text", "declined"), [("It is 1987.", False), ("I could not find that.", True)])
async def test_the_answer_that_was_delivered_declines_or_does_not(tmp_path: Path, text: str, declined: bool) -> None:
    talk = budget_talk()
    question = next(probe.question for probe in talk.probes if probe.id == "never")
    scores, output = (await scored(evaluation(talk, generator=Says({question: text})), tmp_path))["talk/never"]
    assert output.recorded["declined"] is declined
    assert (scores.values["unanswerable_recall"], scores.labels["lost_at"]) == (
        float(declined),
        "none" if declined else "made_up",
    )


async def test_a_memory_that_keeps_something_is_prepared_before_the_first_turn(tmp_path: Path) -> None:
    class Keeping(FullHistoryMemory):
        root: Path | None = None

        async def prepare(self, workspace: Workspace) -> None:
            self.root = workspace.root

        async def append(self, *turn: Any) -> None:
            assert self.root == tmp_path
            await super().append(*turn)

    assert len(await scored(evaluation(budget_talk(), memory=memory_of(Keeping)), tmp_path)) == 3


LINE = {
    "id": "c",
    "language": "en",
    "turns": [{"id": "t1", "user": "The budget is $10,000."}, {"id": "t2", "user": "The budget is $15,000 now."}],
    "facts": [
        {"id": "old", "key": "budget", "value": "$10,000", "turn": 1},
        {"id": "new", "key": "budget", "value": "$15,000", "turn": 2},
    ],
}
ASKED = {"id": "p", "question": "Budget?", "expected": ["new"], "forbidden": ["old"], "answers": ["$15,000"]}


@pytest.mark.parametrize(
    ("contexts", "answer", "values", "lost_at"),
    [
        (["The budget is $15,000."], "$15,000", {"facts_present": 1, "stale_present": 0, "evidence_held": 1}, "none"),
        (["The budget is $10,000."], "$10,000", {"facts_present": 0, "stale_present": 1, "answer_stale": 1}, None),
        ([{"id": "t2", "text": "It is $15,000 now."}], "", {"evidence_recall": 1, "turn_recall_at_1": 1}, None),
        ([{"id": i, "text": i} for i in ("t1", "t2")], "", {"turn_recall_at_1": 0, "turn_recall_at_5": 1}, None),
        ([], "I do not know.", {"facts_present": 0, "evidence_recall": 0, "context_tokens": 0}, None),
    ],
)  # fmt: skip
async def test_the_memory_of_another_system(
    tmp_path: Path, contexts: list[Any], answer: str, values: Mapping[str, float], lost_at: str | None
) -> None:
    """What it gave and what it answered came with the probe; the memory here would have shown both values."""
    probe = {**ASKED, "evidence": ["t2"], "contexts": contexts, "answer": answer}
    path = tmp_path / "talks.jsonl"
    path.write_text(json.dumps({**LINE, "probes": [probe]}), encoding="utf-8")
    conversations, problems = FileScenarios(path=str(path)).load()
    assert problems == ()
    tested = evaluation(*conversations, generator=GivenGenerator(), judge=LexicalJudge())
    scores, output = (await scored(tested, tmp_path))["c/p"]
    assert {name: scores.values[name] for name in values} == values
    assert lost_at is None or scores.labels["lost_at"] == lost_at
    assert output.record()["answer"] == answer
    assert len(output.record()["contexts"]) == (1 if contexts and isinstance(contexts[0], str) else len(contexts))


async def test_no_answer_where_one_is_needed_and_no_turn_from_after_the_probe(tmp_path: Path) -> None:
    missing = talk("a", probes=(Probe("p", "?", 1, given=GivenBySystem(contexts=())),))
    with pytest.raises(
        EvaluationError, match="talk/p: answer: missing, and generator=given needs in it what the other system said"
    ):
        await scored(evaluation(missing, generator=GivenGenerator()), tmp_path)
    late = talk("a", "b", probes=(Probe("p", "?", 1, given=GivenBySystem(contexts=(Context("t2", "b"),), answer="b")),))
    with pytest.raises(EvaluationError, match="the memory shows turn 2 to a probe after turn 1"):
        await scored(evaluation(late, generator=GivenGenerator()), tmp_path)


def test_what_was_given_is_part_of_the_identity() -> None:
    def identity(given: GivenBySystem) -> Mapping[str, str]:
        return evaluation(talk("a", probes=(Probe("p", "?", 1, given=given),))).load().identity

    plain, shown = identity(GivenBySystem()), identity(GivenBySystem(contexts=(Context("x", "y"),)))
    assert "given" not in plain and "given" in shown
