"""Rated answers as the cases of an evaluation that only judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.data.labels import Labels
from runner.data.ratings import FieldSpec, RatedAnswer
from runner.errors import EvaluationError, StopRunError
from runner.llm.criteria import LISTS, MAY_BE_MISSING, Criteria
from runner.llm.rubrics import rubric_fields
from runner.protocols import Judge, Workspace
from runner.records import CaseSet, Judgement, Judgements, Preparation, Row, Scores, Timing


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """The output of a case, which is a given answer."""

    @property
    def timings(self) -> Mapping[str, Timing]:
        return {}

    def record(self) -> Mapping[str, Any]:
        return {}


class RatedAnswers:
    """Judges every answer by the rubrics that people rated it by. A rubric of this program, or of a chosen metric
    (`criteria`), gets its fields; any other rubric gets all fields of the answer. A failed judgement does not affect
    the others."""

    def __init__(self, labels: Labels, judge: Judge, criteria: Mapping[str, Criteria] | None = None) -> None:
        self.labels, self.judge_, self.criteria = labels, judge, criteria or {}

    def load(self) -> CaseSet[RatedAnswer]:
        return CaseSet(self.labels.answers, self.labels.problems, {"labels": self.labels.fingerprint})

    async def prepare(self, cases: Sequence[RatedAnswer], workspace: Workspace) -> Preparation:
        return Preparation()

    async def run(self, case: RatedAnswer) -> GivenAnswer:
        return GivenAnswer()

    async def judge(self, case: RatedAnswer, output: GivenAnswer) -> Judgements:
        return {rubric: await self._judge(rubric, case) for rubric in case.ratings}

    async def _judge(self, rubric: str, case: RatedAnswer) -> Judgement:
        fields: dict[str, Any] = {"question": case.question, "answer": case.answer, "language": case.language}
        if case.history:
            fields["history"] = case.history
        fields |= {"contexts": case.contexts, **case.fields}
        if (criteria := self.criteria.get(rubric)) is not None:
            rubric_inputs = criteria.pick_fields(fields)
            if rubric_inputs is None:
                return criteria.missing_judgement(fields)
            fields = rubric_inputs
        elif seen := rubric_fields(rubric):
            fields = {name: value for name, value in fields.items() if name in (*seen, "language")}
        try:
            return await self.judge_.judge(rubric, fields)
        except StopRunError:
            raise
        except EvaluationError as error:
            return Judgement(None, error=str(error))

    def score(self, case: RatedAnswer, output: GivenAnswer | None, judgements: Judgements) -> Scores:
        values = {rubric: judgements[rubric].score if rubric in judgements else None for rubric in case.ratings}
        return Scores(values, unscored=tuple(rubric for rubric, value in values.items() if value is None))


def fields_by_rubric(rubrics: Iterable[str], criteria: Mapping[str, Criteria]) -> dict[str, list[FieldSpec]]:
    """The fields of a rated answer by rubric, for the rubrics of this program and of chosen metrics."""
    criteria_fields = {
        name: [
            FieldSpec(field, "list" if field in LISTS else "text", field in MAY_BE_MISSING) for field in rubric.fields
        ]
        for name, rubric in criteria.items()
    }
    return {**criteria_fields, **_program_fields(name for name in rubrics if name not in criteria_fields)}


def _program_fields(rubrics: Iterable[str]) -> dict[str, list[FieldSpec]]:
    return {
        rubric: [FieldSpec(field.name, field.kind, field.optional) for field in fields.values()]
        for rubric in rubrics
        if (fields := rubric_fields(rubric))
    }


def item_of(answer: RatedAnswer, row: Row) -> dict[str, Any]:
    """A line of items.jsonl: an answer, and for each rubric the ratings of people and the judge."""
    return {
        "id": answer.id,
        "system": answer.system,
        "group": answer.group,
        "language": answer.language,
        "question": answer.question,
        "answer": answer.answer,
        "status": row.status,
        "error": row.error,
        "rubrics": {rubric: _judgement_row(rubric, ratings, row) for rubric, ratings in answer.ratings.items()},
    }


def _judgement_row(rubric: str, ratings: Sequence[float], row: Row) -> dict[str, Any]:
    judgement = row.judgements.get(rubric, Judgement(None, error=row.error))
    score = row.metrics.get(rubric)
    error = judgement.error or (None if score is not None else f"the judge gave no number: {judgement.score}")
    human = {"human": sum(ratings) / len(ratings), "ratings": list(ratings)}
    return {
        "judge": score,
        **human,
        "reasoning": judgement.reasoning,
        "error": error,
        "details": dict(judgement.details),
    }


def as_rows(items: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """The judgements of items in the form of rows of a run."""
    return ({"judgements": item["rubrics"]} for item in items)
