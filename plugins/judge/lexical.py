"""Faithfulness and answer relevancy by words, numbers, names and negation: a baseline without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from runner.errors import EvaluationError, did_you_mean
from runner.records import Judgement
from runner.text.refusals import is_refusal
from runner.text.support import Sources, Support, claims
from runner.text.words import content_words


class LexicalJudge:
    """A baseline: it sees words, not meaning. Deterministic, a few milliseconds an answer.

    faithfulness: mean support of the answer's claims (see runner.text.support), 0..1. A refusal scores 1
    (it claims nothing), an empty answer 0, an answer that claims something without any context 0.
    answer_relevancy: see `_relevancy`; a refusal and an empty answer score 0.
    """

    baseline: ClassVar[bool] = True

    def __init__(
        self,
        *,
        on_failure: Literal["zero", "exclude"] = "zero",
        supported: Annotated[float, Field(ge=0, le=1)] = 0.7,
    ) -> None:
        self.on_failure = on_failure
        self.supported = supported

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        rubrics = {"faithfulness": self._faithfulness, "answer_relevancy": self._relevancy}
        if rubric not in rubrics:
            raise EvaluationError(f"judge lexical has no rubric '{rubric}'{did_you_mean(rubric, rubrics)}")
        return rubrics[rubric](fields)

    def _faithfulness(self, fields: Mapping[str, Any]) -> Judgement:
        answer = str(fields["answer"] or "")
        if not answer.strip():
            return Judgement(0.0, "The answer is empty.")
        stated = claims(answer)
        if is_refusal(answer) or not stated:
            return Judgement(1.0, "The answer claims nothing.", details={"claims": []})
        sources = Sources([context.text for context in fields["contexts"]])
        supports = [sources.support(claim) for claim in stated]
        score = sum(support.score for support in supports) / len(supports)
        return Judgement(score, self._reasoning(supports), details={"claims": [self._detail(s) for s in supports]})

    def _reasoning(self, supports: list[Support]) -> str:
        unsupported = [s for s in supports if s.score < self.supported]
        head = f"{len(supports) - len(unsupported)} of {len(supports)} claims supported."
        return " ".join([head, *(f"Unsupported: “{s.claim}” ({s.conflict or 'words missing'})." for s in unsupported)])

    def _detail(self, support: Support) -> dict[str, Any]:
        return {
            "claim": support.claim,
            "verdict": "supported" if support.score >= self.supported else "unsupported",
            "support": support.score,
            "evidence": support.evidence.source,
        }

    def _relevancy(self, fields: Mapping[str, Any]) -> Judgement:
        answer = str(fields["answer"] or "")
        if not answer.strip() or is_refusal(answer):
            return Judgement(0.0, "The answer is empty or a refusal.")
        words = content_words(str(fields["question"]))
        forms = frozenset().union(*(word.forms for word in content_words(answer)))
        share = sum(not word.forms.isdisjoint(forms) for word in words) / max(1, len(words))
        return Judgement(0.5 + 0.5 * share)
