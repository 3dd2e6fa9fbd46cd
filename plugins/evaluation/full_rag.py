"""Retrieve, answer from the k best chunks, judge the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.errors import FallsShortError, Problem
from runner.llm.answer_checks import CASE_CHECKS, CaseChecks
from runner.llm.chosen import HEALTH, ChosenMetrics
from runner.llm.controls import answer_controls
from runner.llm.health import check_health, language_warnings
from runner.llm.metering import so_far
from runner.llm.votes import judge_missing
from runner.metrics import answers, diagnosis, ranking, right
from runner.metrics.answers import contains_answer, exact_match, token_f1
from runner.metrics.judged import ANSWER_METRICS, CORRECTNESS, REFERENCE_METRICS, score_judgements
from runner.metrics.metric import Metric
from runner.metrics.reference_rule import decide_by_reference
from runner.metrics.repeats import average_scores, spreads
from runner.metrics.right import Decision, decide, with_checks
from runner.protocols import Generator, Judge, Scorer, System, Workspace, attribute_of
from runner.records import (
    Answer,
    CaseSet,
    Judgement,
    Judgements,
    Preparation,
    Query,
    Scores,
    SystemReply,
    Timing,
    answer_of,
    system_reply_of,
    timings_of,
)
from runner.report.reporting import Pipeline
from runner.retrieval.stage import Retrieval, RetrievalResult, record_of
from runner.system.shared_record import SharedRecord
from runner.system.stopwatch import stopwatch
from runner.system.store import fingerprint
from runner.text.citations import citations
from runner.text.language import differ_in_language
from runner.text.matching import Distinctions, find_distinctions
from runner.text.refusals import is_refusal, mark_refusal
from runner.words.wording import Wording

if TYPE_CHECKING:
    from runner.report.blocks import Fact, Section
    from runner.report.document import Document

Rubric = Literal["faithfulness", "answer_relevancy", "answer_correctness", "context_precision", "context_recall"]
ALL: tuple[Rubric, ...] = get_args(Rubric)
RUBRICS: tuple[Rubric, ...] = ("faithfulness", "answer_relevancy", "answer_correctness")  # of an answer; no refusal
STAND_IN: tuple[Rubric, ...] = ("faithfulness", "answer_relevancy")  # decide where nobody wrote a reference
BY_REFERENCE = tuple(metric.name for metric in REFERENCE_METRICS)  # asked where a question has reference answers
BY_CONTEXTS = ("faithfulness", "context_precision", "context_recall")  # asked where the texts that were found are known
SHOWN = ("question", "answer", "contexts", "references", "history")  # to rubrics of one's own, where a case has them
LOOKED_AT = 1000  # questions, for the languages that they are in

PIPELINE = Pipeline(
    ("dataset", "retriever", "agent", "reranker", "tokenizer", "embedder", "generator", "system", "judge"),
    replaced=("retriever", "agent", "reranker", "tokenizer", "embedder", "generator"),
)
SPREAD = (*right.METRICS, *ANSWER_METRICS, *REFERENCE_METRICS)  # metrics whose spread over several answers is reported

Least = Annotated[float, Field(ge=0, le=1)] | None


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class RequireSettings(TypedDict, total=False):
    """The means of retrieval below which no model is called; null: no limit."""

    recall_at_k: Least
    precision_at_k: Least
    hit_rate_at_k: Least
    mrr: Least
    ndcg_at_k: Least


@dataclass(frozen=True, slots=True)
class RagOutput:
    """The result of one case: hits, answer, and what its row keeps of both; with the further answers of `repeats`."""

    retrieved: RetrievalResult
    answer: Answer
    generation: Timing | None  # None: nothing was generated
    recorded: Mapping[str, Any]
    reply: SystemReply | None = None  # of a running system
    again: tuple[RagOutput, ...] = ()  # its further answers to the question

    @property
    def each(self) -> tuple[RagOutput, ...]:
        """All answers to the question, this one first."""
        return (self, *self.again)

    @property
    def timings(self) -> Mapping[str, Timing]:
        if self.reply is not None:
            return dict(self.retrieved.timings)
        generation = {} if self.generation is None else {"generation": self.generation}
        return {**self.retrieved.timings, **generation}

    @property
    def out_of_range(self) -> list[int]:
        """Cited numbers that no context has."""
        return [number for number in self.answer.citations if number > len(self.retrieved.contexts)]

    def record(self) -> Mapping[str, Any]:
        if isinstance(self.recorded, SharedRecord) and self.reply is None:
            return self.recorded.with_rest((self.answer, self.retrieved.contexts), self._rest)
        return {**self.recorded, **self._rest()}

    def _rest(self) -> Mapping[str, Any]:
        """The part of the record that comes from the answer."""
        seldom = {
            "citations_out_of_range": self.out_of_range,
            "cut_off": self.answer.cut_off,
            "thought": self.answer.thought,
        }
        return {
            "answer": self.answer.text,
            "declined": self.answer.refused,
            "citations": list(self.answer.citations),
            **{name: value for name, value in seldom.items() if value},
            "contexts": self.retrieved.contexts,
            **self._system_record(),
        }

    def _system_record(self) -> Mapping[str, Any]:
        """The reply of a running system, and how it was read."""
        replies = [each.reply.record() for each in self.each if each.reply is not None]
        contexts = [each.retrieved.named for each in self.each if each.retrieved.named is not None]
        if not replies:
            return {}
        understood = [{"by": each.by, "texts": each.has_texts, "strange": list(each.strange)} for each in contexts]
        return {"replies": replies, "named": understood}


class FullRag:
    """Metrics of retrieval as in `retrieval_only`, and of the answer: faithfulness, answer relevancy and, where
    reference answers are known, answer correctness, exact match, whether one occurs in the answer, and token F1.
    `metrics`: those that are reported, and what is measured beside them. `rubrics`: what the judge is asked, None: what
    these need. What `right` needs is asked for in any case where it is reported, so that it means the same whatever
    else is: the comparison with the references by a model; the checks of the case; without both, faithfulness and
    relevancy. Rubrics by a reference are asked for answerable questions with `answers`: of several references any one
    is enough. A refusal is not judged: it has no claims, and its correctness is 0. `require` ends the run before any
    answer is generated. With a `system` that runs elsewhere nothing is retrieved or generated here: what it says is
    judged, and what it does not say is not."""

    pipeline = PIPELINE
    is_separable = True
    calls_per_case = 3  # an answer, faithfulness, answer relevancy

    @staticmethod
    def sections(document: Document) -> Iterator[Section | None]:
        from runner.domains.agent import report as agent_report
        from runner.domains.service import report as service_report

        yield from agent_report.sections(document)
        yield from service_report.sections(document)

    @staticmethod
    def case_facts(row: Mapping[str, Any], say: Wording) -> Iterator[Fact]:
        from runner.domains.agent import report as agent_report
        from runner.domains.service import report as service_report

        yield from agent_report.case_facts(row, say)
        yield from service_report.case_facts(row, say)

    def __init__(
        self,
        *,
        retrieval: Retrieval,
        generator: Generator,
        judge: Judge,
        high: Annotated[float, Field(ge=0, le=1)],
        require: RequireSettings | None = None,
        rubrics: Sequence[Rubric] | None = None,
        metrics: dict[str, Scorer] | None = None,
        system: System | None = None,
    ) -> None:
        self.system = None if system is None or attribute_of(system, "is_within") else system
        self.retrieval, self.generator, self.judge_, self.high = retrieval, generator, judge, high
        own = (*right.METRICS, *ranking.METRICS, *ANSWER_METRICS, *REFERENCE_METRICS, *answers.METRICS)
        self.chosen_metrics = ChosenMetrics(metrics, own, judge=judge, fields=SHOWN)
        self._needs = rubrics is None and right.NAME in self.chosen_metrics.names
        if rubrics is None:
            rubrics = RUBRICS if metrics is None else [name for name in ALL if name in self.chosen_metrics.names]
        self.rubrics = tuple(dict.fromkeys(rubrics))
        self.chosen_metrics.names |= {*self.rubrics}
        reported = (name for name, choice in (metrics or {}).items() if attribute_of(choice, "is_of_cases"))
        self._case_checks, self._checks_name = CaseChecks(), next(reported, CASE_CHECKS)
        self._rubrics_of_cases: frozenset[str] = frozenset(self.rubrics) - {CORRECTNESS}  # before there are cases
        self._distinctions: Distinctions | None = None
        self.require = cast(Mapping[str, float | None], require or {})

    def load(self) -> CaseSet[Query]:
        """Rows of another model, server or prompt are recognised by `judge` and `generator` of the identity."""
        case_set = self.retrieval.load()
        self._distinctions = find_distinctions(answer for case in case_set.cases for answer in case.answers)
        parts: dict[str, object] = {"judge": self.judge_, "generator": self.generator}
        if self.system is not None:
            parts = {"judge": self.judge_, "system": self.system}
        provenance = {name: fingerprint(attribute_of(part, "provenance")) for name, part in parts.items()}
        problems = (
            *case_set.problems,
            *language_warnings(self.judge_, [case.text for case in islice(case_set.cases, LOOKED_AT)]),
        )
        identity = {
            **case_set.identity,
            **provenance,
            **self.chosen_metrics.identity,
            right.IDENTITY: fingerprint(self.high),
        }
        return replace(case_set, problems=problems, identity=identity)

    @property
    def metrics(self) -> Sequence[Metric]:
        own = (*right.METRICS, *self.retrieval.metrics, *ANSWER_METRICS, *REFERENCE_METRICS, *answers.METRICS)
        spread = () if self.system is None or self.system.repeats == 1 else tuple(spreads(SPREAD))
        return (*own, *spread, *self.chosen_metrics.metrics)

    @property
    def idle(self) -> Sequence[str]:
        return () if self.system is None else ("retriever", "tokenizer", "embedder", "generator")

    def preflight(self) -> list[Problem]:
        problems = list(self.chosen_metrics.problems())
        required = [name for name, least in self.require.items() if least is not None]
        if self.system is not None and required:
            message = "expected null, as a system is asked for all of it at once"
            problems.append(Problem(f"evaluation.require.{required[0]}", message))
        return problems

    def open(self) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self.system is None else self.system.open()

    async def prepare(self, cases: Sequence[Query], workspace: Workspace) -> Preparation:
        self._rubrics_of_cases = frozenset(name for case in cases for name in self._applicable_rubrics(case))
        if self.system is not None:
            await self.chosen_metrics.prepare(cases, workspace)
            return self.retrieval.describe()
        preparation = await self.retrieval.prepare(cases, workspace)
        await self.chosen_metrics.prepare(cases, workspace)
        self._demand(cases)
        return preparation

    async def check_judge(self) -> Mapping[str, Any]:
        """Check the judge by the rubrics that have control items and apply to any case."""
        if not attribute_of(self.judge_, "health"):
            return {}
        controls = [*answer_controls(self._judged_rubrics()), *self.chosen_metrics.controls]
        return {HEALTH: await check_health(self.judge_, controls), **self.chosen_metrics.unchecked_facts}

    def _judged_rubrics(self) -> list[str]:
        return [name for name in RUBRICS if name in self._rubrics_of_cases]

    def _demand(self, cases: Sequence[Query]) -> None:
        """Raises FallsShortError when retrieval is below `require`."""
        if all(least is None for least in self.require.values()):
            return
        measured = {case.id: self.retrieval.ranking_values(case) for case in cases}
        if short := shortfall(self.require, measured.values()):
            raise FallsShortError(f"evaluation.require: {short}; no model was asked to answer or to judge", measured)

    async def run(self, case: Query) -> RagOutput:
        """A message of an agent is the answer, and so is a refusal without a good hit: then no generator is called."""
        if self.system is not None:
            return await self._ask_system(case, self.system)
        retrieved = self.retrieval.charged_result(case)
        if (refusal := self.retrieval.refusal(case, retrieved, self.generator)) is not None:
            return RagOutput(retrieved, refusal, None, self._record(case, retrieved))
        with stopwatch() as watch:
            answer = mark_refusal(await self.generator.generate(case, retrieved.contexts), case.text)
        return RagOutput(
            retrieved, _delivered(case, answer, self._distinctions), watch.timing, self._record(case, retrieved)
        )

    async def _ask_system(self, case: Query, system: System) -> RagOutput:
        outputs = []
        for repeat in range(system.repeats):
            with stopwatch() as watch:
                reply = await system.ask(case, repeat)
            outputs.append(self._system_record(case, reply, watch.timing))
        return replace(outputs[0], again=tuple(outputs[1:]))

    def _system_record(self, case: Query, reply: SystemReply, timing: Timing) -> RagOutput:
        retrieved = replace(self.retrieval.of_reply(case, reply), timings={"system": timing})
        text = reply.answer
        answer = Answer(text, is_refusal(text, case.text), citations(text), reply.cut_off, reply.thought)
        answer = _delivered(case, answer, self._distinctions)
        return RagOutput(retrieved, answer, None, self._record(case, retrieved), reply)

    def _record(self, case: Query, retrieved: RetrievalResult) -> Mapping[str, Any]:
        return record_of(case, retrieved, self.retrieval.corpus, self.retrieval.k, {"answers": list(case.answers)})

    async def restore(self, case: Query, row: Mapping[str, Any]) -> RagOutput:
        timings = timings_of(row)
        if self.system is not None:
            replies = map(system_reply_of, row["output"]["replies"])
            first, *again = [self._system_record(case, reply, timings["system"]) for reply in replies]
            return replace(first, again=tuple(again))
        generation = timings.pop("generation", None)
        found = replace(self.retrieval.charged_result(case), timings=timings)
        return RagOutput(found, answer_of(row), generation, self._record(case, found))

    async def judge(self, case: Query, output: RagOutput) -> Judgements:
        judgements: dict[str, Judgement] = {}
        await self.judge_missing(case, output, judgements)
        return judgements

    async def judge_missing(self, case: Query, output: RagOutput, judgements: MutableMapping[str, Judgement]) -> None:
        """Judge the further answers of a system, too; the name of each rubric then has the number of the answer."""
        if not output.again:
            await self._judge_answer(case, output, judgements)
            return
        for number, answer_output in enumerate(output.each, start=1):
            own_judgements = _of_answer(judgements, number)
            try:
                await self._judge_answer(case, answer_output, own_judgements)
            finally:
                judgements.update(
                    {_rubric_of(rubric, number): judgement for rubric, judgement in own_judgements.items()}
                )

    async def _judge_answer(self, case: Query, output: RagOutput, judgements: MutableMapping[str, Judgement]) -> None:
        shown = self._rubric_fields(case, output)
        checked = {**shown, **self._fields_of_checks(case, output)}
        await self.chosen_metrics.add_own(case, checked, judgements)
        if self._checks_name == CASE_CHECKS and CASE_CHECKS not in judgements:
            judgements.update(await self._case_checks.judge_case(case, checked))
        asked = {**self._judge_fields(case, output), **self.chosen_metrics.judge_fields(shown)}
        await judge_missing(self.judge_, asked, judgements)

    def _fields_of_checks(self, case: Query, output: RagOutput) -> dict[str, Any]:
        """The fields for checks besides those of rubrics."""
        documents = [
            (context.id, self.retrieval.corpus.document_of(context.id)) for context in output.retrieved.contexts
        ]
        return {
            "citations": output.answer.citations,
            "documents": documents,
            **self._spent(case, output),
        }

    def _spent(self, case: Query, output: RagOutput) -> dict[str, float | None]:
        """What the answer took and cost: as logged where it was given. A stage that was not timed, or whose reply came
        from a cache, has no latency."""
        if self.system is None and attribute_of(self.generator, "is_logged"):
            return {"latency_ms": case.given.latency_ms, "cost_usd": case.given.cost_usd}
        times = [timing.ms if timing.live else None for timing in output.timings.values()]
        costs = [cost.usd for role, cost in so_far().items() if role != "judge"]
        return {
            "latency_ms": None if None in times else sum(time or 0.0 for time in times),
            "cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
        }

    def _rubric_fields(self, case: Query, output: RagOutput) -> dict[str, Any]:
        """The fields of a case for rubrics of the user."""
        fields: dict[str, Any] = {"question": case.text, "answer": output.answer.text, "language": case.language}
        if case.history:
            fields["history"] = case.history
        if case.answers:
            fields["references"] = list(case.answers)
        if output.retrieved.has_texts:
            fields["contexts"] = output.retrieved.contexts
        return fields

    def _applicable_rubrics(self, case: Query) -> list[str]:
        """The rubrics that apply to a question that was answered, whether or not the judge uses them."""
        reported = [name for name in self.rubrics if name not in BY_REFERENCE or _has_reference(case)]
        return list(dict.fromkeys([*reported, *(self._decisive(case) if self._needs else ())]))

    def _decisive(self, case: Query) -> Sequence[str]:
        """The rubrics by which `right` is decided. A judge without a model is held to be no better at comparing than
        the words of the answer."""
        if not case.answerable:
            return ()
        if case.answers:
            return () if attribute_of(self.judge_, "baseline") else (CORRECTNESS,)
        return () if case.checks else STAND_IN

    def _judge_fields(self, case: Query, output: RagOutput) -> dict[str, Mapping[str, Any]]:
        """Rubric -> what the judge sees."""
        history = {"history": case.history} if case.history else {}
        question = {**history, "question": case.text, "language": case.language}
        answer, contexts = {"answer": output.answer.text}, {"contexts": output.retrieved.contexts}
        references = {"references": list(case.answers)}
        fields_of: dict[str, Mapping[str, Any]] = {
            "faithfulness": {**question, **answer, **contexts},
            "answer_relevancy": {**question, **answer},
            CORRECTNESS: {**question, **references, **answer},
            "context_precision": {**question, **references, **contexts},
            "context_recall": {**question, **references, **contexts},
        }
        if output.answer.is_silent:
            return {}
        declined = RUBRICS if output.answer.refused else ()
        blind = () if output.retrieved.has_texts else BY_CONTEXTS
        names = [name for name in self._applicable_rubrics(case) if name not in (*declined, *blind)]
        return {name: fields_of[name] for name in names if not self._is_foreign(fields_of[name])}

    def _is_foreign(self, fields: Mapping[str, Any]) -> bool:
        """Whether a judge by words would compare an answer with texts in another language: it cannot decide then."""
        texts = [*(context.text for context in fields.get("contexts", ())), *fields.get("references", ())]
        is_compared = "answer" in fields and attribute_of(self.judge_, "baseline")
        return bool(is_compared) and differ_in_language(fields["answer"], texts or [fields["question"]])

    def score(self, case: Query, output: RagOutput | None, judgements: Judgements) -> Scores:
        if output is None:
            known_answers = ("exact_match", "contains_answer", "token_f1") if case.answers else ()
            values = self.retrieval.ranking_values(case)
            ranked = () if self.system is not None else self.retrieval.names(case)
            missing = (name for name in ranked if name not in values)
            nothing = Scores(values, unscored=(right.NAME, *missing, *self._applicable_rubrics(case), *known_answers))
            return self.chosen_metrics.merge_scores(nothing, case, None, judgements)
        if not output.again:
            return self._score(case, output, judgements)
        parts = [self._score(case, each, _of_answer(judgements, n)) for n, each in enumerate(output.each, start=1)]
        return average_scores(parts, [metric.name for metric in SPREAD], right.NAME)

    def _score(self, case: Query, output: RagOutput, judgements: Judgements) -> Scores:
        """The scores of one answer."""
        retrieval = self.retrieval.scores(case, output.retrieved, declined=output.answer.refused)
        rated, failed = score_judgements(judgements, tuple(self._judge_fields(case, output)), self.judge_.on_failure)
        if not output.answer.has_claims and CORRECTNESS in self._applicable_rubrics(case):
            rated = {**rated, CORRECTNESS: 0.0}
        values = {**retrieval.values, **rated, **_against_references(case, output.answer, self._distinctions)}
        scored = {name: None if name in failed else value for name, value in values.items()}
        decision = self._decision(case, output, scored, judgements)
        values = {right.NAME: decision.value, **values}
        failed = (*failed, right.NAME) if decision.by == "not_judged" else failed
        labels = {**retrieval.labels, **self._labels(case, output, scored, decision)}
        own = Scores(values, unscored=failed, weights=retrieval.weights, labels=labels)
        return self.chosen_metrics.merge_scores(
            own, case, output, judgements, self.chosen_metrics.judge_fields(self._rubric_fields(case, output))
        )

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        if self.system is None:
            return self.retrieval.sums(rows)
        from runner.domains.service import report as service_report

        return service_report.sums(rows)

    def _decision(
        self, case: Query, output: RagOutput, values: Mapping[str, float | None], judgements: Judgements
    ) -> Decision:
        passes, has_label = self._passes(case, judgements), bool(case.answers) or not case.answerable
        if output.answer.refused and not case.is_answerability_known:
            return with_checks(Decision(None, "unknown"), passes, has_label=has_label)
        asked = {
            name: values[name] for name in self._judge_fields(case, output) if name in self._decisive(case)
        }  # and no other score, so that it does not matter what else is reported
        decision = decide(
            answerable=case.answerable,
            declined=output.answer.refused,
            silent=output.answer.is_silent,
            by_reference=decide_by_reference(case.text, case.answers, output.answer.text, self._distinctions),
            correctness=asked.get(CORRECTNESS),
            not_judged=None in asked.values(),
            faithfulness=asked.get("faithfulness"),
            answer_relevancy=asked.get("answer_relevancy"),
            high=self.high,
        )
        return with_checks(decision, passes, has_label=has_label)

    def _passes(self, case: Query, judgements: Judgements) -> bool | None:
        """Whether the answer passes the checks of its case; None without any that could be evaluated."""
        judgement = judgements.get(self._checks_name)
        return None if not case.checks or judgement is None else judgement.score == 1

    def _labels(
        self, case: Query, output: RagOutput, values: Mapping[str, float | None], decision: Decision
    ) -> dict[str, str]:
        faithfulness, relevancy = values.get("faithfulness"), values.get("answer_relevancy")
        decided, is_reported = decision.right, right.NAME in self.chosen_metrics.names
        labels = {
            right.LABEL: decision.by if is_reported else None,
            "lost_at": self._lost_at(case, output, decided) if is_reported and decided is not None else None,
            "pattern": diagnosis.pattern(faithfulness, relevancy, self.high),
            "cross": diagnosis.cross(values.get("recall_at_k"), faithfulness, relevancy, self.high),
            "citations": _citations(output),
            "answer": "refused" if output.answer.refused else None,
            "reply": output.answer.lost_at or None,
            "contexts": None if output.retrieved.has_texts or output.reply is not None else "without_texts",
        }
        return {name: label for name, label in labels.items() if label is not None}

    def _lost_at(self, case: Query, output: RagOutput, decided: bool) -> str:
        if not decided and output.answer.lost_at:
            return output.answer.lost_at
        return self.retrieval.lost_at(case, output.retrieved, declined=output.answer.refused, right=decided)


def _rubric_of(rubric: str, number: int) -> str:
    """`faithfulness`, and `faithfulness#2` of the second answer to a question."""
    return rubric if number == 1 else f"{rubric}#{number}"


def _of_answer(judgements: Mapping[str, Judgement], number: int) -> dict[str, Judgement]:
    """The judgements of one answer, by rubric."""
    parts = ((name.partition("#"), judgement) for name, judgement in judgements.items())
    return {rubric: judgement for (rubric, _, of), judgement in parts if (of or "1") == str(number)}


def _delivered(case: Query, answer: Answer, distinctions: Distinctions | None) -> Answer:
    """The answer; one that gives a reference is no refusal, however it sounds."""
    if not answer.refused or not answer.text.strip():
        return answer
    decision = decide_by_reference(case.text, case.answers, answer.text, distinctions) if case.answerable else None
    is_given = decision is not None and decision.by == "reference"
    return replace(answer, refused=False) if is_given else answer


def _has_reference(case: Query) -> bool:
    return case.answerable and bool(case.answers)


def _against_references(case: Query, answer: Answer, distinctions: Distinctions | None) -> dict[str, float | None]:
    """Metrics of the answer against the known ones, without a judge. An answer that declined matches none."""
    text = "" if answer.refused else answer.text
    return {
        "exact_match": exact_match(answer.text, case.answers, distinctions),
        "contains_answer": contains_answer(text, case.answers, distinctions),
        "token_f1": token_f1(answer.text, case.answers),
    }


def _citations(output: RagOutput) -> str | None:
    """Whether the numbers that an answer cites are those of contexts; a refusal has nothing to cite."""
    if not output.answer.has_claims:
        return None
    if not output.answer.citations:
        return "none"
    return "out_of_range" if output.out_of_range else "valid"


def shortfall(required: Mapping[str, float | None], cases: Iterable[Mapping[str, float | None]]) -> str:
    """`recall_at_k is 0.4200, required: 0.5`, joined by `; `: every mean that is below what is demanded.

    Empty when none is. A mean is over the cases to which the metric applies; without any it is below all.
    """
    limits = {name: least for name, least in required.items() if least is not None}
    values: dict[str, list[float]] = {name: [] for name in limits}
    for case in cases if limits else ():
        for name in limits:
            value = case.get(name)
            if value is not None:
                values[name].append(value)
    short = []
    for name, least in limits.items():
        mean = math.fsum(values[name]) / len(values[name]) if values[name] else None
        if mean is None:
            short.append(f"{name} applies to no case, required: {least}")
        elif mean < least:
            short.append(f"{name} is {mean:.4f}, required: {least}")
    return "; ".join(short)
