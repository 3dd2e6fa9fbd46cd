"""Retrieve, answer from the k best chunks, judge the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from runner.domains.agent import report as agent_report
from runner.errors import EvaluationError, FallsShortError
from runner.llm.health import check_health
from runner.llm.votes import judge_missing
from runner.metrics import answers, diagnosis
from runner.metrics.answers import answer_matches, exact_match, token_f1
from runner.metrics.judged import ANSWER_METRICS, judged
from runner.metrics.metric import Metric
from runner.metrics.required import shortfall
from runner.protocols import Generator, Judge, Workspace, offered
from runner.records import (
    Answer,
    CaseSet,
    Judgement,
    Judgements,
    Preparation,
    Query,
    Scores,
    Timing,
    answer_of,
    timings_of,
)
from runner.retrieval.stage import Retrieval, Retrieved, record_of
from runner.system.stopwatch import stopwatch
from runner.system.store import fingerprint
from runner.text.refusals import delivered

RUBRICS = ("faithfulness", "answer_relevancy")

Least = Annotated[float, Field(ge=0, le=1)] | None


@with_config(ConfigDict(extra="forbid", allow_inf_nan=False))
class RequireSettings(TypedDict, total=False):
    """The means of retrieval below which no model is asked; null: none."""

    recall_at_k: Least
    precision_at_k: Least
    hit_rate_at_k: Least
    mrr: Least
    ndcg_at_k: Least


@dataclass(frozen=True, slots=True)
class RagOutput:
    found: Retrieved
    answer: Answer
    generation: Timing | None  # None: nothing was generated
    kept: Mapping[str, Any]

    @property
    def timings(self) -> Mapping[str, Timing]:
        generation = {} if self.generation is None else {"generation": self.generation}
        return {**self.found.timings, **generation}

    @property
    def out_of_range(self) -> list[int]:
        """Cited numbers that no context has."""
        return [number for number in self.answer.citations if number > len(self.found.contexts)]

    def record(self) -> Mapping[str, Any]:
        seldom = {"citations_out_of_range": self.out_of_range, "cut_off": self.answer.cut_off}
        return {
            **self.kept,
            "answer": self.answer.text,
            "declined": self.answer.refused,
            "citations": list(self.answer.citations),
            **{name: value for name, value in seldom.items() if value},
            "contexts": self.found.contexts,
        }


class FullRag:
    """Metrics of retrieval as in `retrieval_only`, and of the answer: faithfulness, answer relevancy and,
    where answers are known, exact match and token F1. `require` ends the run before any answer is generated."""

    sections = staticmethod(agent_report.sections)
    case_facts = staticmethod(agent_report.case_facts)

    def __init__(
        self,
        *,
        retrieval: Retrieval,
        generator: Generator,
        judge: Judge,
        high: Annotated[float, Field(ge=0, le=1)],
        require: RequireSettings | None = None,
    ) -> None:
        self.retrieval, self.generator, self.judge_, self.high = retrieval, generator, judge, high
        self.require = cast(Mapping[str, float | None], require or {})

    def load(self) -> CaseSet[Query]:
        """Rows of another model, server or prompt are told apart by `judge` and `generator` of the identity."""
        found = self.retrieval.load()
        parts = {"judge": self.judge_, "generator": self.generator}
        asked = {name: fingerprint(offered(part, "provenance")) for name, part in parts.items()}
        return replace(found, identity={**found.identity, **asked})

    @property
    def metrics(self) -> Sequence[Metric]:
        return (*self.retrieval.metrics, *ANSWER_METRICS, *answers.METRICS)

    async def prepare(self, cases: Sequence[Query], workspace: Workspace) -> Preparation:
        preparation = await self.retrieval.prepare(cases, workspace)
        self._demand(cases)
        return preparation

    async def check_judge(self) -> Mapping[str, Any]:
        if not offered(self.judge_, "health"):
            return {}
        return {"judge_health": await check_health(self.judge_, RUBRICS)}

    def _demand(self, cases: Sequence[Query]) -> None:
        """Raises FallsShortError when retrieval is below `require`."""
        if all(least is None for least in self.require.values()):
            return
        measured = {case.id: self._retrieval_values(case) for case in cases}
        if short := shortfall(self.require, measured.values()):
            raise FallsShortError(f"evaluation.require: {short}; no model was asked to answer or to judge", measured)

    def _retrieval_values(self, case: Query) -> Mapping[str, float | None]:
        try:
            values = self.retrieval.scores(case, self.retrieval.retrieved(case)).values
            return {name: value for name, value in values.items() if not name.startswith("unanswerable_")}
        except (TimeoutError, EvaluationError):  # its row will say so
            return {}

    async def run(self, case: Query) -> RagOutput:
        """A message of an agent is the answer, and so is a refusal for want of a hit: then no generator is asked."""
        found = self.retrieval.retrieved(case)
        if (refusal := self.retrieval.refusal(case, found, self.generator)) is not None:
            return RagOutput(found, refusal, None, self._kept(case, found))
        with stopwatch() as watch:
            answer = delivered(await self.generator.generate(case, found.contexts), case.text)
        return RagOutput(found, answer, watch.timing, self._kept(case, found))

    def _kept(self, case: Query, found: Retrieved) -> Mapping[str, Any]:
        kept = record_of(case, found, self.retrieval.corpus, self.retrieval.k)
        return {**kept, "answers": list(case.answers)}

    async def restored(self, case: Query, row: Mapping[str, Any]) -> RagOutput:
        timings = timings_of(row)
        generation = timings.pop("generation", None)
        found = replace(self.retrieval.retrieved(case), timings=timings)
        return RagOutput(found, answer_of(row), generation, self._kept(case, found))

    async def judge(self, case: Query, output: RagOutput) -> Judgements:
        judgements: dict[str, Judgement] = {}
        await self.judge_missing(case, output, judgements)
        return judgements

    async def judge_missing(self, case: Query, output: RagOutput, judgements: MutableMapping[str, Judgement]) -> None:
        history = {"history": case.history} if case.history else {}
        fields = {**history, "question": case.text, "answer": output.answer.text, "language": case.language}
        asked: dict[str, Mapping[str, Any]] = {
            "faithfulness": {**fields, "contexts": output.found.contexts},
            "answer_relevancy": fields,
        }
        await judge_missing(self.judge_, asked, judgements)

    def score(self, case: Query, output: RagOutput | None, judgements: Judgements) -> Scores:
        if output is None:
            known_answers = ("exact_match", "token_f1") if case.answers else ()
            return Scores({}, unscored=(*self.retrieval.names(case), *RUBRICS, *known_answers))
        retrieval = self.retrieval.scores(case, output.found, declined=output.answer.refused)
        rated, failed = judged(judgements, RUBRICS, self.judge_.on_failure)
        known = {
            "exact_match": exact_match(output.answer.text, case.answers),
            "token_f1": token_f1(output.answer.text, case.answers),
        }
        values = {**retrieval.values, **rated, **known}
        scored = {name: None if name in failed else value for name, value in values.items()}
        labels = {**retrieval.labels, **self._labels(case, output, scored)}
        if output.answer.refused and not case.answerable:  # a right refusal is no failure of generation
            labels = {name: label for name, label in labels.items() if name not in ("pattern", "cross")}
        return Scores(values, unscored=failed, weights=retrieval.weights, labels=labels)

    def sums(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        return self.retrieval.sums(rows)

    def _labels(self, case: Query, output: RagOutput, values: Mapping[str, float | None]) -> dict[str, str]:
        faithfulness, relevancy = values["faithfulness"], values["answer_relevancy"]
        matches = answer_matches(output.answer.text, case.answers)
        right = diagnosis.answered_rightly(matches, faithfulness, relevancy, self.high)
        labels = {
            "lost_at": self.retrieval.lost_at(
                case, output.found, declined=output.answer.refused, right=right, certain=matches is not None
            ),
            "pattern": diagnosis.pattern(faithfulness, relevancy, self.high),
            "cross": diagnosis.cross(values["recall_at_k"], faithfulness, relevancy, self.high),
            "citations": _citations(output),
        }
        return {name: label for name, label in labels.items() if label is not None}


def _citations(output: RagOutput) -> str | None:
    """Whether the numbers that an answer cites are those of contexts; a refusal has nothing to cite."""
    if output.answer.refused:
        return None
    if not output.answer.citations:
        return "none"
    return "out_of_range" if output.out_of_range else "valid"
