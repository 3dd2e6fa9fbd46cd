"""Ranking measures that an evaluation with a ranking does not have by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from runner.metrics import further_ranking as measures
from runner.metrics.metric import Grades, Metric
from runner.protocols import Workspace
from runner.records import Judgements, Scores

Measure = Literal["rbp", "err", "r_precision", "bpref", "judged", "success"]
DEPENDS = ("queries", "gold", "documents", "metric_code.further_ranking")
AT_CUTOFFS = ("err", "judged", "success")
LABELS = {
    "rbp": {"en": "RBP", "ko": "RBP"},
    "err": {"en": "ERR", "ko": "ERR"},
    "r_precision": {"en": "R-Precision", "ko": "R-Precision"},
    "bpref": {"en": "bpref", "ko": "bpref"},
    "judged": {"en": "Judged", "ko": "판정 비율 (Judged)"},
    "success": {"en": "Success", "ko": "Success"},
}
MEANINGS = {
    "rbp": {
        "en": "What a reader gains who reads on to the next document with probability p.",
        "ko": "다음 문서로 넘어갈 확률이 p인 독자가 얻는 이득",
    },
    "err": {
        "en": "Expected 1 / rank at which a reader has read enough, by grades.",
        "ko": "등급에 따라 독자가 충분히 읽고 멈추는 순위의 역수 기댓값",
    },
    "r_precision": {
        "en": "Share of relevant documents among as many as there are relevant ones.",
        "ko": "관련 문서 수(R)만큼의 상위 문서 가운데 관련 문서의 비율",
    },
    "bpref": {
        "en": "How seldom documents judged not relevant stand before relevant ones.",
        "ko": "관련 없다고 판정된 문서가 관련 문서보다 앞에 오지 않는 정도",
    },
    "judged": {
        "en": "Share of the first k documents that somebody judged; neither way is better.",
        "ko": "상위 k개 문서 가운데 관련성이 판정된 문서의 비율(높고 낮음에 좋고 나쁨이 없음)",
    },
    "success": {
        "en": "Whether a relevant document stands in the first k places.",
        "ko": "상위 k개 안에 관련 문서가 있는지",
    },
}


class RankingMeasure:
    """A ranking measure, for evaluations whose output has the results of retrieval (`retrieved.documents`). `err`,
    `judged` and `success` are measured at k and at the cutoffs, the others over the whole ranking. `p`: of rbp.
    `max_grade`: of err, None the highest grade in the data."""

    def __init__(
        self,
        *,
        measure: Measure,
        k: Annotated[int, Field(ge=1)] = 5,
        cutoffs: Sequence[Annotated[int, Field(ge=1)]] = (),
        p: Annotated[float, Field(gt=0, lt=1)] = 0.8,
        max_grade: Annotated[int, Field(ge=1, le=50)] | None = None,
    ) -> None:
        self.measure, self.k, self.cutoffs = measure, k, tuple(cutoffs)
        self.p, self.max_grade = p, max_grade
        self._highest = max_grade or 1

    @property
    def metrics(self) -> Sequence[Metric]:
        has_cutoffs = self.measure in AT_CUTOFFS
        return (
            Metric(
                name=self.measure,
                better="neither" if self.measure == "judged" else "higher",
                label=LABELS[self.measure],
                meaning=MEANINGS[self.measure],
                grades=Grades() if self.measure in ("r_precision", "success") else None,
                depends=(*(["k"] if has_cutoffs else []), *DEPENDS, f"metric.{self.measure}"),
                group="retrieval",
                shown=frozenset({"sweeps"}),
            ),
        )

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The settings that comparable values share."""
        if self.measure == "rbp":
            return {"p": self.p}
        return {"max_grade": self.max_grade} if self.measure == "err" else {}

    def prepare(self, cases: Sequence[Any], workspace: Workspace) -> None:
        if self.max_grade is None and self.measure == "err":
            self._highest = max((grade for case in cases for grade in case.relevance.values()), default=1)
            self._highest = max(1, self._highest)

    def score(self, case: Any, output: Any, judgements: Judgements) -> Scores:
        ranked, relevance = output.retrieved.documents.ids, case.relevance
        if self.measure not in AT_CUTOFFS:
            return Scores({self.measure: self._of_whole_ranking(ranked, relevance)})
        values = {f"{self.measure}_at_k": self._at_cutoff(ranked, relevance, self.k)}
        return Scores(values | {f"{self.measure}_at_{k}": self._at_cutoff(ranked, relevance, k) for k in self.cutoffs})

    def _of_whole_ranking(self, ranked: Sequence[str], relevance: Mapping[str, int]) -> float | None:
        if self.measure == "rbp":
            return measures.rank_biased_precision(ranked, relevance, self.p)
        if self.measure == "bpref":
            return measures.binary_preference(ranked, relevance)
        return measures.r_precision(ranked, relevance)

    def _at_cutoff(self, ranked: Sequence[str], relevance: Mapping[str, int], k: int) -> float | None:
        if self.measure == "err":
            return measures.expected_reciprocal_rank(ranked, relevance, k, self._highest)
        if self.measure == "judged":
            return measures.judged_share(ranked, relevance, k)
        return measures.success(ranked, relevance, k)
