"""A copilot: it remembers the conversation, looks for documents, and answers from both or says that it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from runner.data.gold import check_gold
from runner.data.identity import gold_fingerprint, queries_fingerprint, slices_fingerprint
from runner.data.problems import ProblemLog
from runner.domains.agent import report as agent_report
from runner.domains.memory import report as memory_report
from runner.domains.memory.context import BuiltContext, ContextBuilder
from runner.domains.memory.controls import RUBRIC as MEMORY
from runner.domains.memory.controls import graded_controls
from runner.domains.memory.copilot import (
    Moments,
    Stands,
    answer_query,
    answer_record,
    is_about_memory,
    moment_record,
    moments,
    query_of,
    recent_turns,
    search_text,
    words_of,
)
from runner.domains.memory.probing import ProbeCase, ProbedMemory, guard, reference, references
from runner.domains.memory.protocols import Memory, Scenarios, prepare
from runner.domains.memory.replay import Moment
from runner.domains.memory.scoring import count_values, facts_lost_at, names
from runner.domains.memory.sums import sums
from runner.errors import DataError, Problem
from runner.llm.chosen import HEALTH, ChosenMetrics
from runner.llm.controls import answer_controls
from runner.llm.health import check_health
from runner.llm.metering import charge
from runner.llm.projection import Projection
from runner.llm.votes import judge_missing
from runner.metrics import agent, answers, diagnosis, judged, memory, ranking, right
from runner.metrics.agent import AgentSums
from runner.metrics.judged import CORRECTNESS
from runner.metrics.metric import Metric
from runner.metrics.profile import AutoProfile, ProfileChoice
from runner.metrics.reference_rule import decide_by_reference
from runner.metrics.right import Decision, decide
from runner.protocols import Generator, Judge, Prompting, Scorer, Workspace, attribute_of
from runner.records import (
    Answer,
    CaseSet,
    Corpus,
    Judgement,
    Judgements,
    Preparation,
    Query,
    Scores,
    Timing,
    answer_of,
    timings_of,
)
from runner.report.blocks import Fact, Section
from runner.report.document import Document
from runner.retrieval.stage import Retrieval, RetrievalResult, record_of
from runner.system.store import fingerprint
from runner.text.matching import Distinctions, find_distinctions
from runner.words.wording import Wording

ANSWERED = ("faithfulness", "answer_relevancy")
SHOWN = ("question", "answer", "contexts", "references", "history", "memory", "entities")  # to rubrics of one's own
_Shown = tuple[Moment, RetrievalResult, BuiltContext, ProbedMemory]

NOT_ASKED = "not_asked"  # where a question was lost: what is remembered would have answered it


@dataclass(frozen=True, slots=True)
class CopilotOutput:
    """`generation`: None where no generator was called."""

    moment: Moment
    retrieved: RetrievalResult
    context: BuiltContext
    probed: ProbedMemory
    answer: Answer
    generation: Timing | None
    recorded: Mapping[str, Any]

    @property
    def timings(self) -> Mapping[str, Timing]:
        generation = {} if self.generation is None else {"generation": self.generation}
        return {"read": self.moment.read, **self.retrieved.timings, **generation}

    def record(self) -> Mapping[str, Any]:
        return self.recorded


class Copilot:
    """One case is one question of a conversation. The memory first gets every turn before it, with the replies of the
    file, so that all systems answer the same questions after the same turns; then the retriever searches for the
    question, preceded by the one that it follows up (`follow_ups`), and a generator answers from memory and documents.
    A message of the retriever in place of an answer, or a refusal without a good hit (`refuse_below` of the generator),
    is the answer: always (`fallback: confidence`), or where the generator finds no answer in the memory either
    (`unanswered`)."""

    pipeline = memory_report.PIPELINE
    run_facts = staticmethod(memory_report.run_facts)
    sweep_sections = staticmethod(memory_report.sweep_sections)

    @staticmethod
    def sections(document: Document) -> Iterator[Section | None]:
        yield from memory_report.sections(document)
        yield from agent_report.sections(document)

    @staticmethod
    def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
        yield from memory_report.case_facts(row, say)
        yield from agent_report.case_facts(row, say)

    def __init__(
        self,
        *,
        scenario: Scenarios,
        retrieval: Retrieval,
        memory: Memory,
        context: ContextBuilder,
        generator: Generator,
        judge: Judge,
        projection: Projection,
        high: Annotated[float, Field(ge=0, le=1)],
        follow_ups: bool = True,
        fallback: Stands = "confidence",
        profile: ProfileChoice | None = None,
        metrics: dict[str, Scorer] | None = None,
    ) -> None:
        self.scenario, self.retrieval, self.memory, self.context = scenario, retrieval, memory, context
        self.generator, self.judge_, self.projection, self.high = generator, judge, projection, high
        self.follow_ups, self.fallback = follow_ups, fallback
        self.weights = (profile or AutoProfile()).memory
        self.chosen_metrics = ChosenMetrics(metrics, (), judge=judge, fields=SHOWN)
        self._moments: Moments = {}
        self._has_references = False
        self._distinctions: Distinctions | None = None

    # --- data -------------------------------------------------------------------------------------

    def load(self) -> CaseSet[ProbeCase]:
        """Load the questions of the conversations; those of the data set are not used. Raises DataError where these are
        about other documents."""
        case_set = self.retrieval.load()
        conversations, problems = self.scenario.load()
        cases = tuple(ProbeCase(talk, probe) for talk in conversations for probe in talk.probes)
        self._distinctions = find_distinctions(answer for case in cases for answer in case.probe.answers)
        queries = [query_of(case, case.probe.question) for case in cases]
        log = ProblemLog(strict=False)
        _check_notes(queries, self.retrieval.corpus)
        check_gold(((None, query) for query in queries), self.retrieval.corpus, "scenario", log, field="notes")
        parts = {"judge": self.judge_, "generator": self.generator}
        provenances = {name: fingerprint(attribute_of(part, "provenance")) for name, part in parts.items()}
        models = [attribute_of(part, "provenance") for part in (self.retrieval.retriever, self.memory)]
        identity = {
            **{name: case_set.identity[name] for name in ("documents", "corpus")},
            "conversations": fingerprint([words_of(conversation) for conversation in conversations]),
            "queries": queries_fingerprint(queries),
            "gold": fingerprint([gold_fingerprint(queries), [case.gold for case in cases]]),
            "slices": slices_fingerprint(queries),
            "models": fingerprint(models),
            "memory_weights": fingerprint(self.weights),
            right.IDENTITY: fingerprint(self.high),
            **self.chosen_metrics.identity,
        }
        problems = (*case_set.problems, *problems, *log.problems)
        return CaseSet(cases, problems, {**identity, **provenances}, case_set.documents)

    @property
    def metrics(self) -> Sequence[Metric]:
        return (
            *right.METRICS,
            *ranking.METRICS,
            *memory.METRICS,
            *judged.MEMORY_METRICS,
            *memory.SIZE_METRICS,
            *agent.METRICS,
            *diagnosis.METRICS,
            *diagnosis.GATE_METRICS,
            *judged.ANSWER_METRICS,
            judged.CORRECTNESS_METRIC,
            *answers.METRICS,
            *self.chosen_metrics.metrics,
        )

    def preflight(self) -> Sequence[Problem]:
        return list(self.chosen_metrics.problems())

    def open(self) -> AbstractAsyncContextManager[None]:
        return self.memory.open()

    async def prepare(self, cases: Sequence[ProbeCase], workspace: Workspace) -> Preparation:
        """Replay the conversations, and search the documents, before the first question is answered: neither depends on
        an answer."""
        self._has_references = any(map(self._by_reference, cases))
        await prepare(self.memory, workspace)
        self._moments = await moments(self.memory, cases)
        preparation = await self.retrieval.prepare([self._search_query(case) for case in cases], workspace)
        await self.chosen_metrics.prepare(cases, workspace)
        talks = {case.conversation.id: len(case.conversation.turns) for case in cases}
        counts = {"n": len(talks), "turns": sum(talks.values()), "probes": len(cases)}
        return replace(preparation, facts={**preparation.facts, "conversations": counts})

    async def check_judge(self) -> Mapping[str, Any]:
        if not attribute_of(self.judge_, "health"):
            return {}
        rubrics = (*ANSWERED, CORRECTNESS) if self._has_references else ANSWERED
        controls = [*answer_controls(rubrics), graded_controls(), *self.chosen_metrics.controls]
        return {HEALTH: await check_health(self.judge_, controls), **self.chosen_metrics.unchecked_facts}

    def _by_reference(self, case: ProbeCase) -> bool:
        """Whether a model holds the answer against the right one; one without a model is no better than the matcher."""
        return not attribute_of(self.judge_, "baseline") and bool(references(case))

    def _search_query(self, case: ProbeCase) -> Query:
        """The query for the retriever."""
        moment, question = self._moments[case.id], case.probe.question
        if self.follow_ups and isinstance(moment, Moment):
            question = search_text(question, moment.remembered)
        return query_of(case, question)

    # --- one question -----------------------------------------------------------------------------

    async def run(self, case: ProbeCase) -> CopilotOutput:
        moment, retrieved, context, view = self._view(case)
        answer, generation = await self._answer(case, retrieved, context)
        return self._output(case, (moment, retrieved, context, view), answer, generation)

    async def restore(self, case: ProbeCase, row: Mapping[str, Any]) -> CopilotOutput:
        """Memory and documents are prepared before the first question; the answer comes from the row."""
        timings = timings_of(row)
        moment, retrieved, context, view = self._view(case)
        moment, generation = replace(moment, read=timings.pop("read")), timings.pop("generation", None)
        shown = moment, replace(retrieved, timings=timings), context, view
        return self._output(case, shown, answer_of(row), generation)

    def _view(self, case: ProbeCase) -> _Shown:
        """The memory, the documents, and the contexts of both for a generator."""
        moment, query = self._moments[case.id], self._search_query(case)
        if not isinstance(moment, Moment):
            raise moment
        charge(moment.cost)
        retrieved = self.retrieval.charged_result(query)
        context = self.context.build(
            moment.remembered, case.probe.question, case.language, documents=retrieved.contexts
        )
        if isinstance(self.generator, Prompting):
            asked = replace(query_of(case, case.probe.question), remembered=context.contexts)
            context = self.context.add_prompt(context, self.generator.messages(asked, context.documents))
        retrieved = replace(retrieved, contexts=context.documents)
        view = ProbedMemory.of(case, moment, context)
        guard(case, moment, view)
        return moment, retrieved, context, view

    def _output(self, case: ProbeCase, shown: _Shown, answer: Answer, generation: Timing | None) -> CopilotOutput:
        moment, retrieved, context, view = shown
        asked = self._record(case, self._search_query(case), retrieved)
        kept = {**asked, **view.record(), **moment_record(moment, context), **answer_record(answer)}
        return CopilotOutput(moment, retrieved, context, view, answer, generation, kept)

    async def _answer(
        self, case: ProbeCase, retrieved: RetrievalResult, context: BuiltContext
    ) -> tuple[Answer, Timing | None]:
        query = query_of(case, case.probe.question)
        return await answer_query(query, retrieved, context, self.retrieval, self.generator, self.fallback)

    def _record(self, case: ProbeCase, query: Query, retrieved: RetrievalResult) -> dict[str, Any]:
        searched = {} if query.text == case.probe.question else {"searched": query.text}
        kept = record_of(query, retrieved, self.retrieval.corpus, self.retrieval.k)
        gold = fingerprint([kept["gold"], case.gold])[:16]
        return {**kept, **searched, "query": case.probe.question, "gold": gold, "answers": list(case.probe.answers)}

    async def judge(self, case: ProbeCase, output: CopilotOutput) -> Judgements:
        judgements: dict[str, Judgement] = {}
        await self.judge_missing(case, output, judgements)
        return judgements

    async def judge_missing(
        self, case: ProbeCase, output: CopilotOutput, judgements: MutableMapping[str, Judgement]
    ) -> None:
        """The memory is judged where something is known of what it should hold."""
        question = {"question": case.probe.question, "language": case.language}
        shown_to = {**question, "answer": output.answer.text, "history": recent_turns(output.moment)}
        contexts = (*output.context.contexts, *output.context.documents)
        fields_of: dict[str, Mapping[str, Any]] = {}
        if output.answer.has_claims:
            fields_of = {"faithfulness": {**shown_to, "contexts": contexts}, "answer_relevancy": shown_to}
            if self._by_reference(case):
                fields_of[CORRECTNESS] = {**shown_to, "references": references(case)}
        if is_about_memory(case):
            memory_texts = {"memory": output.context.memory_text, "entities": output.context.entities_text}
            facts = {"reference": reference(case, case.probe.expected), "stale": reference(case, case.probe.forbidden)}
            fields_of[MEMORY] = {**question, **memory_texts, **facts, "weights": self.weights}
        await self.chosen_metrics.add_own(case, self._rubric_fields(case, output), judgements)
        await judge_missing(
            self.judge_,
            {**fields_of, **self.chosen_metrics.judge_fields(self._rubric_fields(case, output))},
            judgements,
        )

    def _rubric_fields(self, case: ProbeCase, output: CopilotOutput) -> dict[str, Any]:
        """The fields of a question for rubrics of users."""
        known_answers = {"references": references(case)} if references(case) else {}
        memory_texts = {"memory": output.context.memory_text, "entities": output.context.entities_text}
        return {
            "question": case.probe.question,
            "language": case.language,
            "answer": output.answer.text,
            "history": recent_turns(output.moment),
            "contexts": (*output.context.contexts, *output.context.documents),
            **memory_texts,
            **known_answers,
        }

    # --- scores -----------------------------------------------------------------------------------

    def score(self, case: ProbeCase, output: CopilotOutput | None, judgements: Judgements) -> Scores:
        if output is None:
            query = query_of(case, case.probe.question)
            values = self.retrieval.ranking_values(query) if query.relevance else {}
            nothing = Scores(values, unscored=tuple(name for name in self._names(case) if name not in values))
            return self.chosen_metrics.merge_scores(nothing, case, None, judgements)
        grades, failed = self._judged_scores(case, judgements, output.answer)
        query = query_of(case, case.probe.question)
        ranking_scores = self.retrieval.scores(query, output.retrieved, declined=output.answer.refused)
        values = {
            **ranking_scores.values,
            **grades,
            **count_values(output.probed, output.moment, output.context, output.answer),
            "documents_tokens": float(output.context.section("documents").tokens),
        }
        scored = {name: None if name in failed else value for name, value in values.items()}
        decision = self._decision(case, output, scored)
        values[right.NAME] = decision.value
        failed = (*failed, right.NAME) if decision.by == "not_judged" else failed
        labels = {**ranking_scores.labels, **self._labels(case, output, scored, decision)}
        if is_about_memory(case):
            shown = output.context.memory_text + output.context.entities_text
            labels["memory"] = "held" if shown.strip() else "empty"
        if labels.get("memory") == "empty":  # there is nothing that could be accurate
            values["memory_accuracy"] = None
            failed = tuple(name for name in failed if name != "memory_accuracy")
        own = Scores(values, unscored=failed, weights=ranking_scores.weights, labels=labels)
        return self.chosen_metrics.merge_scores(
            own, case, output, judgements, self.chosen_metrics.judge_fields(self._rubric_fields(case, output))
        )

    def _judged_scores(self, case: ProbeCase, judgements: Judgements, answer: Answer) -> judged.Judged:
        on_failure = self.judge_.on_failure
        results = [judged.score_judgements(judgements, ANSWERED if answer.has_claims else (), on_failure)]
        if self._by_reference(case):
            declined = not answer.has_claims
            results.append(judged.judged_correctness(judgements, declined=declined, on_failure=on_failure))
        if is_about_memory(case):
            results.append(judged.judged_memory(judgements.get(MEMORY), on_failure))
        values = {name: value for judged_values, _ in results for name, value in judged_values.items()}
        return values, tuple(name for _, failed in results for name in failed)

    def _decision(self, case: ProbeCase, output: CopilotOutput, values: Mapping[str, float | None]) -> Decision:
        """The decision of a model that compared the answer with the right one. Without it, by the facts of the
        conversation where `_is_of_memory` says so, else by the known answers."""
        by_reference = self._by_reference(case)
        if _is_of_memory(case, values):
            decision: Decision | None = Decision(values["answer_facts"] == 1, "facts")
        else:
            decision = decide_by_reference(
                case.probe.question, case.probe.answers, output.answer.text, self._distinctions
            )
        return decide(
            answerable=case.probe.answerable,
            declined=output.answer.refused,
            silent=output.answer.is_silent,
            by_reference=decision,
            correctness=values[CORRECTNESS] if by_reference else None,
            not_judged=self._is_unjudged(case, output, values, decision),
            faithfulness=values.get("faithfulness"),
            answer_relevancy=values.get("answer_relevancy"),
            high=self.high,
        )

    def _is_unjudged(
        self,
        case: ProbeCase,
        output: CopilotOutput,
        values: Mapping[str, float | None],
        by_reference: Decision | None,
    ) -> bool:
        """Whether the judge gave no score that decides: of the comparison, or where nothing is known, of the answer."""
        if not output.answer.has_claims:
            return False
        deciding = (CORRECTNESS,) if self._by_reference(case) else ANSWERED if by_reference is None else ()
        return any(values[name] is None for name in deciding)

    def _labels(
        self, case: ProbeCase, output: CopilotOutput, values: Mapping[str, float | None], decision: Decision
    ) -> dict[str, str]:
        faithfulness, relevancy = values.get("faithfulness"), values.get("answer_relevancy")
        labels = {
            right.LABEL: decision.by,
            "lost_at": None if decision.right is None else self._lost_at(case, output, values, decision.right),
            "reply": output.answer.lost_at or None,
            "pattern": diagnosis.pattern(faithfulness, relevancy, self.high),
            "cross": diagnosis.cross(values.get("recall_at_k"), faithfulness, relevancy, self.high),
            "answer": "refused" if output.answer.refused else None,
        }
        return {name: label for name, label in labels.items() if label is not None}

    def _lost_at(
        self, case: ProbeCase, output: CopilotOutput, values: Mapping[str, float | None], decided: bool
    ) -> str:
        """The stage in the memory, where that decides; else the stage of retrieval."""
        refused = output.answer.refused
        if not decided and output.answer.lost_at:
            return output.answer.lost_at
        if _is_of_memory(case, values):
            place = facts_lost_at(case.probe, values, refused=refused, right=decided)
            return NOT_ASKED if place == "refused_known" and output.generation is None else place
        query = query_of(case, case.probe.question)
        return self.retrieval.lost_at(query, output.retrieved, declined=refused, right=decided)

    def _names(self, case: ProbeCase) -> Iterable[str]:
        """Metrics that apply to a question, scored or not."""
        probe, query = case.probe, query_of(case, case.probe.question)
        yield from (right.NAME, *ANSWERED)
        yield from (*names(probe), "documents_tokens")
        if query.relevance or not probe.answerable:
            yield from self.retrieval.names(query)
        if self._by_reference(case):
            yield CORRECTNESS
        if is_about_memory(case):
            yield from judged.MEMORY

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        agents = AgentSums(self.retrieval.k)
        return {**sums(agents.pass_through(rows)), **agents.as_block()}


def _is_of_memory(case: ProbeCase, values: Mapping[str, float | None]) -> bool:
    """Whether facts of the conversation are expected, and one is missing in the answer or no document has it."""
    given = values["answer_facts"]
    return given is not None and (given < 1 or not case.probe.notes)


def _check_notes(queries: Sequence[Query], corpus: Corpus) -> None:
    note_ids = {note for query in queries for note in query.relevance}
    if note_ids and corpus.documents and not any(map(corpus.document_by_id.__contains__, note_ids)):
        example = next(note for query in queries for note in query.relevance)
        raise DataError(
            f"scenario: none of the {len(note_ids)} documents that its questions name, such as '{example}', is in the "
            "corpus: choose a dataset and a scenario that belong together"
        )
