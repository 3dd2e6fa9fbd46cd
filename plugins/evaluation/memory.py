"""Conversations are said to a memory; at every probe, what it still knows is counted, answered from and judged."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Annotated, Any, Literal

from pydantic import Field

from runner.domains.memory import report
from runner.domains.memory.context import BuiltContext, ContextBuilder
from runner.domains.memory.controls import RUBRIC, graded_controls
from runner.domains.memory.copilot import answer_record, sent_record
from runner.domains.memory.probing import ProbeCase, ProbedMemory, guard, moment_of, reference, references
from runner.domains.memory.protocols import Memory, Scenarios, prepare
from runner.domains.memory.records import Conversation, Probe
from runner.domains.memory.replay import Moment, Replay
from runner.domains.memory.scoring import count_values, evidence_values, facts_lost_at, names
from runner.domains.memory.sums import sums
from runner.errors import EvaluationError, Problem
from runner.llm.chosen import HEALTH, ChosenMetrics
from runner.llm.controls import answer_controls
from runner.llm.health import check_health
from runner.llm.metering import charge
from runner.llm.votes import judge_missing
from runner.metrics import answers, diagnosis, judged, locomo, memory, right
from runner.metrics.judged import CORRECTNESS
from runner.metrics.memory import LostAt, lost_at
from runner.metrics.metric import Metric
from runner.metrics.profile import AutoProfile, ProfileChoice
from runner.metrics.reference_rule import decide_by_reference
from runner.metrics.right import Decision, decide
from runner.protocols import Generator, Judge, Prompting, Scorer, Workspace, attribute_of
from runner.records import (
    Answer,
    CaseSet,
    Context,
    DataProblem,
    GivenResults,
    Judgement,
    Judgements,
    Preparation,
    Query,
    Scores,
    Timing,
    answer_of,
    timings_of,
)
from runner.system.shared import make_once, settings_of
from runner.system.stopwatch import in_line, stopwatch
from runner.system.store import fingerprint
from runner.text.matching import Distinctions, find_distinctions
from runner.text.refusals import mark_refusal

_Unjudged = tuple[Mapping[str, float | None], Mapping[str, str], Mapping[str, float]]

_Shown = tuple[Moment, BuiltContext, ProbedMemory]

TOGETHER = 16  # conversations whose probes take turns, so that they are replayed side by side

SHOWN = ("question", "answer", "references", "memory", "entities")  # to rubrics of one's own


@dataclass(frozen=True, slots=True)
class MemoryOutput:
    """The result of one probe: the memory it saw, the context built from it, and the answer."""

    probed: ProbedMemory
    moment: Moment
    context: BuiltContext
    answer: Answer
    generation: Timing
    recorded: Mapping[str, Any]

    @property
    def timings(self) -> Mapping[str, Timing]:
        return {"read": self.moment.read, "generation": self.generation}

    @property
    def memory_text(self) -> str:
        """The summary that the generator was shown."""
        return self.context.memory_text

    @property
    def entities_text(self) -> str:
        """The entities that the generator was shown."""
        return self.context.entities_text

    def record(self) -> Mapping[str, Any]:
        return self.recorded


@dataclass(frozen=True, slots=True)
class RestoredProbe:
    """The output of a probe as its row stores it: the texts that a judge sees, and the values that depend on no
    judgement."""

    row: Mapping[str, Any]
    memory_text: str
    entities_text: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> RestoredProbe | None:
        """The output; None for a row without the contexts: a whole history is not stored with every probe."""
        output = row["output"]
        built_context = BuiltContext((), tuple(Context(**context) for context in output["contexts"]))
        if row["stage"] == "score" or (
            not built_context.contexts and any(section["tokens"] for section in output["sections"])
        ):
            return None
        return cls(row, built_context.memory_text, built_context.text_of("entities"))

    @property
    def answer(self) -> Answer:
        """The answer as its row has it."""
        return answer_of(self.row)

    @property
    def timings(self) -> Mapping[str, Timing]:
        return timings_of(self.row)

    def record(self) -> Mapping[str, Any]:
        kept: Mapping[str, Any] = self.row["output"]
        return kept


class MemoryEvaluation:
    """One case is one probe. A model judges what is remembered and, where a right answer is known, the answer: above
    `high` it is right. Strategies share the generator, its prompt and the budgets of the context."""

    pipeline = report.PIPELINE
    run_facts = staticmethod(report.run_facts)
    sections = staticmethod(report.sections)
    sweep_sections = staticmethod(report.sweep_sections)
    case_facts = staticmethod(report.case_facts)

    def __init__(
        self,
        *,
        scenario: Scenarios,
        memory: Memory,
        context: ContextBuilder,
        generator: Generator,
        judge: Judge,
        high: Annotated[float, Field(ge=0, le=1)] = 0.6,
        profile: ProfileChoice | None = None,
        metrics: dict[str, Scorer] | None = None,
    ) -> None:
        self.scenario, self.memory, self.context = scenario, memory, context
        self.generator, self.judge_, self.high = generator, judge, high
        self.weights = (profile or AutoProfile()).memory
        self.chosen_metrics = ChosenMetrics(metrics, (), judge=judge, fields=SHOWN)
        self._conversations: Mapping[str, Conversation] = {}
        self._replays: Mapping[str, Replay] = {}
        self._has_references = False
        self._distinctions: Distinctions | None = None

    def preflight(self) -> list[Problem]:
        least = attribute_of(self.generator, "refuse_below")
        needed = f"expected null, got {least}: evaluation=memory looks for no documents, so no hit can be too weak"
        return [
            *([] if least is None else [Problem("generator.refuse_below", needed)]),
            *self.chosen_metrics.problems(),
        ]

    def load(self) -> CaseSet[ProbeCase]:
        data = _load_once(self.scenario)
        self._distinctions = find_distinctions(answer for case in data.cases for answer in case.probe.answers)
        conversations, problems = data.conversations, data.problems
        self._conversations = {conversation.id: conversation for conversation in conversations}
        parts = {"judge": self.judge_, "generator": self.generator, "models": self.memory}
        provenance = {name: fingerprint(attribute_of(part, "provenance")) for name, part in parts.items()}
        weights = {"memory_weights": fingerprint(self.weights), **data.given_identity}
        if any(map(self._by_reference, data.cases)):
            weights[right.IDENTITY] = fingerprint(self.high)
        weights |= self.chosen_metrics.identity
        return CaseSet(data.cases, problems, {**data.identity, **provenance, **weights})

    @property
    def metrics(self) -> Sequence[Metric]:
        return (
            *right.METRICS,
            *memory.METRICS,
            judged.CORRECTNESS_METRIC,
            *judged.MEMORY_METRICS,
            *memory.SIZE_METRICS,
            *diagnosis.METRICS,
            *answers.METRICS,
            *locomo.METRICS,
            *self.chosen_metrics.metrics,
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with self.memory.open():
            try:
                yield
            finally:
                with suppress(EvaluationError):  # a lost store has been reported before, and holds nothing
                    for replay in self._replays.values():
                        await replay.forget()

    async def prepare(self, cases: Sequence[ProbeCase], workspace: Workspace) -> Preparation:
        await prepare(self.memory, workspace)
        await self.chosen_metrics.prepare(cases, workspace)
        self._has_references = any(map(self._by_reference, cases))
        probes_by_conversation: defaultdict[str, list[Probe]] = defaultdict(list)
        for case in cases:
            probes_by_conversation[case.conversation.id].append(case.probe)
        self._replays = {
            id: Replay(self.memory, self._conversations[id], probes) for id, probes in probes_by_conversation.items()
        }
        turns = [len(self._conversations[id].turns) for id in probes_by_conversation]
        return Preparation({"conversations": {"n": len(turns), "turns": sum(turns), "probes": len(cases)}})

    async def check_judge(self) -> Mapping[str, Any]:
        if not attribute_of(self.judge_, "health"):
            return {}
        answered = answer_controls([CORRECTNESS] if self._has_references else [])
        controls = [graded_controls(), *answered, *self.chosen_metrics.controls]
        return {HEALTH: await check_health(self.judge_, controls), **self.chosen_metrics.unchecked_facts}

    def _by_reference(self, case: ProbeCase) -> bool:
        """Whether a model holds the answer against the right one; one without a model is no better than the matcher."""
        return not attribute_of(self.judge_, "baseline") and bool(references(case))

    async def restore(self, case: ProbeCase, row: Mapping[str, Any]) -> MemoryOutput | RestoredProbe:
        """Replays nothing to the memory, unless the row lacks its texts."""
        if (restored := RestoredProbe.of(row)) is not None:
            return restored
        moment, context, view = await self._view(case)
        return self._output(case, (moment, context, view), answer_of(row), timings_of(row)["generation"])

    async def run(self, case: ProbeCase) -> MemoryOutput:
        moment, context, view = await self._view(case)
        query = _query_of(case)
        with stopwatch() as watch:
            answer = mark_refusal(await self.generator.generate(query, context.contexts), query.text)
        return self._output(case, (moment, context, view), answer, watch.timing)

    async def _view(self, case: ProbeCase) -> _Shown:
        """The memory, and the contexts of it for a generator."""
        probe = case.probe
        with in_line():  # the turns before a probe are no part of its case
            moment = await self._replays[case.conversation.id].at(probe)
        charge(moment.cost)
        moment = moment_of(case, moment)
        context = self.context.build(moment.remembered, probe.question, case.language)
        if isinstance(self.generator, Prompting):
            context = self.context.add_prompt(context, self.generator.messages(_query_of(case), context.contexts))
        view = ProbedMemory.of(case, moment, context)
        guard(case, moment, view)
        return moment, context, view

    def _output(self, case: ProbeCase, shown: _Shown, answer: Answer, generation: Timing) -> MemoryOutput:
        moment, context, view = shown
        kept = {**case.record(), **view.record(), **_memory_record(case, moment, context), **_answer_record(answer)}
        return MemoryOutput(view, moment, context, answer, generation, kept)

    async def judge(self, case: ProbeCase, output: MemoryOutput) -> Judgements:
        judgements: dict[str, Judgement] = {}
        await self.judge_missing(case, output, judgements)
        return judgements

    async def judge_missing(
        self, case: ProbeCase, output: MemoryOutput | RestoredProbe, judgements: MutableMapping[str, Judgement]
    ) -> None:
        memory_fields = {"memory": output.memory_text, "entities": output.entities_text}
        facts = {"reference": reference(case, case.probe.expected), "stale": reference(case, case.probe.forbidden)}
        if not facts["reference"] and case.probe.answerable:
            facts["reference"] = list(case.probe.answers)
        question = {"question": case.probe.question, "language": case.language}
        judge_fields = {RUBRIC: {**question, **memory_fields, **facts, "weights": self.weights}}
        if self._by_reference(case) and output.answer.has_claims:
            judge_fields[CORRECTNESS] = {**question, "references": references(case), "answer": output.answer.text}
        await self.chosen_metrics.add_own(case, self._rubric_fields(case, output), judgements)
        await judge_missing(
            self.judge_,
            {**judge_fields, **self.chosen_metrics.judge_fields(self._rubric_fields(case, output))},
            judgements,
        )

    def _rubric_fields(self, case: ProbeCase, output: MemoryOutput | RestoredProbe) -> dict[str, Any]:
        """The fields of a probe for rubrics of users."""
        gold = {"references": references(case)} if references(case) else {}
        answer_fields = {"memory": output.memory_text, "entities": output.entities_text, "answer": output.answer.text}
        return {"question": case.probe.question, "language": case.language, **answer_fields, **gold}

    def score(self, case: ProbeCase, output: MemoryOutput | RestoredProbe | None, judgements: Judgements) -> Scores:
        if output is None:
            nothing = Scores({}, unscored=tuple(self._names(case)))
            return self.chosen_metrics.merge_scores(nothing, case, None, judgements)
        grades, failed = judged.judged_memory(judgements.get(RUBRIC), self.judge_.on_failure)
        if self._by_reference(case):
            declined, on_failure = not output.answer.has_claims, self.judge_.on_failure
            correct, unjudged = judged.judged_correctness(judgements, declined=declined, on_failure=on_failure)
            grades, failed = {**grades, **correct}, (*failed, *unjudged)
        scored = {name: None if name in failed else value for name, value in grades.items()}
        values, labels, weights = self._values_before_judging(case, output, scored.get(CORRECTNESS))
        if labels["memory"] == "empty":  # there is nothing that could be accurate
            grades["memory_accuracy"] = None
            failed = tuple(name for name in failed if name != "memory_accuracy")
        failed = (*failed, right.NAME) if labels[right.LABEL] == "not_judged" else failed
        own = Scores({**values, **grades}, failed, weights, labels)
        return self.chosen_metrics.merge_scores(
            own, case, output, judgements, self.chosen_metrics.judge_fields(self._rubric_fields(case, output))
        )

    def _values_before_judging(
        self, case: ProbeCase, output: MemoryOutput | RestoredProbe, correctness: float | None
    ) -> _Unjudged:
        """Values, labels and weights, the grades of the judge aside."""
        label = diagnosis.answerability(output.answer.refused, case.probe.answerable)
        counts = output.row["metrics"] if isinstance(output, RestoredProbe) else self._counts(case, output)
        decision = self._decision(case, output, counts, correctness)
        unjudged = dict.fromkeys(judged.MEMORY)
        values = {right.NAME: None, **counts, **unjudged, **diagnosis.unanswerable_values(label)}
        values[right.NAME] = decision.value
        is_empty = not output.memory_text.strip() and not output.entities_text.strip()
        told = {"answerability": label, "memory": "empty" if is_empty else "held"}
        labels = {right.LABEL: decision.by, **told}
        if output.answer.lost_at:
            labels["reply"] = output.answer.lost_at
        if decision.right is not None:
            labels["lost_at"] = _lost_at(case, output, values, decision.right)
        return values, labels, diagnosis.unanswerable_weights(label)

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        return sums(rows)

    # --- scores -----------------------------------------------------------------------------------

    def _counts(self, case: ProbeCase, output: MemoryOutput) -> dict[str, float | None]:
        patched = case.probe.patched
        again = {} if patched is None else evidence_values(case, patched, output.context, output.answer)
        values = count_values(output.probed, output.moment, output.context, output.answer)
        return {**values, **{f"{name}_patched": value for name, value in again.items()}}

    def _decision(
        self,
        case: ProbeCase,
        output: MemoryOutput | RestoredProbe,
        values: Mapping[str, float | None],
        correctness: float | None,
    ) -> Decision:
        """The decision of a model that compared the answer with the right one. Without it, by the expected facts if
        any, else by the known answers."""
        probe, facts_given, by_reference = case.probe, values["answer_facts"], self._by_reference(case)
        if facts_given is None:
            decision = decide_by_reference(probe.question, probe.answers, output.answer.text, self._distinctions)
        else:
            decision = Decision(facts_given == 1, "facts")
        return decide(
            answerable=probe.answerable,
            declined=output.answer.refused,
            silent=output.answer.is_silent,
            by_reference=decision,
            high=self.high,
            correctness=correctness if by_reference else None,
            not_judged=by_reference and correctness is None,
        )

    def _names(self, case: ProbeCase) -> Iterator[str]:
        """Metrics that apply to a probe, scored or not."""
        yield from (right.NAME, *judged.MEMORY, *([CORRECTNESS] if self._by_reference(case) else []))
        yield from names(case.probe)
        if not case.probe.answerable:
            yield from ("unanswerable_recall", "unanswerable_f1")


@dataclass(frozen=True, slots=True)
class _MemoryData:
    """Conversations with their probes as cases, and hashes of them."""

    conversations: Sequence[Conversation]
    problems: tuple[DataProblem, ...]
    cases: tuple[ProbeCase, ...]
    identity: Mapping[str, str]
    given_identity: Mapping[str, str]


def _load_once(scenario: Scenarios) -> _MemoryData:
    """Read once for all cells of a sweep."""

    def load() -> _MemoryData:
        conversations, problems = scenario.load()
        cases = tuple(_cases(conversations))
        return _MemoryData(
            conversations, tuple(problems), cases, _identity(conversations), _given_identity(conversations)
        )

    settings = settings_of(scenario)
    return load() if settings is None else make_once("scenarios", settings, load, portable=True)


def _lost_at(
    case: ProbeCase, output: MemoryOutput | RestoredProbe, values: Mapping[str, float | None], decided: bool
) -> LostAt | Literal["cut_off", "no_answer"]:
    """The failure stage by the expected facts if any, else by evidence and known answers; an answer that did not arrive
    in full was lost on its way."""
    probe, refused = case.probe, output.answer.refused
    if not decided and output.answer.lost_at:
        return output.answer.lost_at
    if probe.expected:
        return facts_lost_at(probe, values, refused=refused, right=decided)
    share = values["evidence_held"]
    return lost_at(
        answerable=probe.answerable,
        refused=refused,
        readable=None if share is None else share == 1,
        right=decided,
        stale=bool(values["answer_stale"]),
    )


def _cases(conversations: Sequence[Conversation]) -> Iterator[ProbeCase]:
    """The probes of conversations in turn, each in the order of its turns."""
    for start in range(0, len(conversations), TOGETHER):
        columns = [
            [ProbeCase(conversation, probe) for probe in conversation.probes]
            for conversation in conversations[start : start + TOGETHER]
        ]
        for row in zip_longest(*columns):
            yield from (case for case in row if case is not None)


def _identity(conversations: Sequence[Conversation]) -> dict[str, str]:
    """Hashes of the conversations, of the questions, and of the labels."""
    conversations_digest, queries_digest, gold_digest = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    for conversation in conversations:
        turns = [asdict(turn) for turn in conversation.turns]
        conversations_digest.update(
            fingerprint([conversation.id, conversation.tenant, conversation.language, turns]).encode()
        )
        for probe in conversation.probes:
            case = ProbeCase(conversation, probe)
            queries_digest.update(fingerprint([case.id, probe.question, probe.after_turn]).encode())
            gold_digest.update(fingerprint([case.id, case.gold]).encode())
    return {
        "conversations": conversations_digest.hexdigest(),
        "queries": queries_digest.hexdigest(),
        "gold": gold_digest.hexdigest(),
    }


def _given_identity(conversations: Sequence[Conversation]) -> dict[str, str]:
    """A hash of what another system returned, where any of it came with the probes."""
    given = {case.id: asdict(case.probe.given) for case in _cases(conversations) if case.probe.given != GivenResults()}
    return {"given": fingerprint(given)} if given else {}


def _query_of(case: ProbeCase) -> Query:
    probe = case.probe
    return Query(
        case.id, case.dated_question, probe.answerable, {}, language=case.language, given=probe.given, from_memory=True
    )


def _memory_record(case: ProbeCase, moment: Moment, context: BuiltContext) -> dict[str, Any]:
    """The content of the memory, and the cost of keeping it since the probe before."""
    sections = [
        {name: value for name, value in asdict(section).items() if name != "text"} for section in context.sections
    ]
    is_shown = moment.remembered.is_budgeted or case.probe.given.contexts is not None
    return {
        "sections": [section for section in sections if section["name"] != "question"],
        **sent_record(context),
        "memory": moment.remembered.memory,
        "entities": [asdict(entity) for entity in moment.remembered.entities],
        "contexts": context.contexts if is_shown else [],  # a whole history would be written again with every probe
        "upkeep": asdict(moment.since),
    }


def _answer_record(answer: Answer) -> dict[str, Any]:
    return {name: value for name, value in answer_record(answer).items() if name != "citations"}
