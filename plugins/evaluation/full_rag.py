"""Retrieve, answer from the k best chunks, judge the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from runner.metrics import diagnosis
from runner.metrics.answers import answer_matches, exact_match, token_f1
from runner.protocols import Generator, Judge, Workspace
from runner.records import Answer, CaseSet, Judgement, Judgements, Preparation, Query, Scores, Timing
from runner.retrieval import Retrieval, Retrieved, record_of

RUBRICS = ("faithfulness", "answer_relevancy")


@dataclass(frozen=True, slots=True)
class RagOutput:
    found: Retrieved
    answer: Answer
    kept: Mapping[str, Any]

    @property
    def timings(self) -> Mapping[str, Timing]:
        return self.found.timings

    def record(self) -> Mapping[str, Any]:
        return {
            **self.kept,
            "answer": self.answer.text,
            "refused": self.answer.refused,
            "citations": list(self.answer.citations),
            "contexts": self.found.contexts,
        }


class FullRag:
    """Metrics of retrieval as in `retrieval_only`, and of the answer: faithfulness, answer relevancy and,
    where answers are known, exact match and token F1."""

    def __init__(
        self, *, retrieval: Retrieval, generator: Generator, judge: Judge, high: Annotated[float, Field(ge=0, le=1)]
    ) -> None:
        self.retrieval, self.generator, self.judge_, self.high = retrieval, generator, judge, high

    def load(self) -> CaseSet[Query]:
        return self.retrieval.load()

    async def prepare(self, cases: Sequence[Query], workspace: Workspace) -> Preparation:
        return await self.retrieval.prepare(cases, workspace)

    async def run(self, case: Query) -> RagOutput:
        found = self.retrieval.retrieved(case)
        answer = await self.generator.generate(case, found.contexts)
        kept = record_of(case, found, self.retrieval.corpus, self.retrieval.k)
        return RagOutput(found, answer, {**kept, "answers": list(case.answers)})

    async def judge(self, case: Query, output: RagOutput) -> Judgements:
        fields = {"question": case.text, "answer": output.answer.text, "language": case.language}
        return {
            "faithfulness": await self.judge_.judge("faithfulness", {**fields, "contexts": output.found.contexts}),
            "answer_relevancy": await self.judge_.judge("answer_relevancy", fields),
        }

    def score(self, case: Query, output: RagOutput | None, judgements: Judgements) -> Scores:
        if output is None:
            known_answers = ("exact_match", "token_f1") if case.answers else ()
            return Scores({}, unscored=(*self.retrieval.names(case), *RUBRICS, *known_answers))
        retrieval = self.retrieval.scores(case, output.found, refused=output.answer.refused)
        judged, failed = self._judged(judgements)
        known = {
            "exact_match": exact_match(output.answer.text, case.answers),
            "token_f1": token_f1(output.answer.text, case.answers),
        }
        values = {**retrieval.values, **judged, **known}
        scored = {name: None if name in failed else value for name, value in values.items()}
        labels = {**retrieval.labels, **self._labels(case, output, scored)}
        if output.answer.refused and not case.answerable:  # a right refusal is no failure of generation
            labels = {name: label for name, label in labels.items() if name not in ("pattern", "cross")}
        return Scores(values, unscored=failed, weights=retrieval.weights, labels=labels)

    def _judged(self, judgements: Judgements) -> tuple[dict[str, float | None], tuple[str, ...]]:
        """A failed judgement counts as 0 or not at all, and is reported as failed either way."""
        failed = tuple(rubric for rubric in RUBRICS if _score(judgements.get(rubric)) is None)
        instead = 0.0 if self.judge_.on_failure == "zero" else None
        values = {rubric: instead if rubric in failed else _score(judgements[rubric]) for rubric in RUBRICS}
        return values, failed

    def _labels(self, case: Query, output: RagOutput, values: Mapping[str, float | None]) -> dict[str, str]:
        faithfulness, relevancy = values["faithfulness"], values["answer_relevancy"]
        matches = answer_matches(output.answer.text, case.answers)
        right = diagnosis.answered_rightly(matches, faithfulness, relevancy, self.high)
        labels = {
            "lost_at": self.retrieval.lost_at(
                case, output.found, refused=output.answer.refused, right=right, certain=matches is not None
            ),
            "pattern": diagnosis.pattern(faithfulness, relevancy, self.high),
            "cross": diagnosis.cross(values["recall_at_k"], faithfulness, relevancy, self.high),
        }
        return {name: label for name, label in labels.items() if label is not None}


def _score(judgement: Judgement | None) -> float | None:
    return None if judgement is None or judgement.error is not None else judgement.score
