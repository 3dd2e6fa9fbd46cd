"""Checks of answers by code: those of the whole set, and those that a case brings in its field `checks`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runner.errors import Problem
from runner.llm.answer_checks import judge_checks
from runner.metrics.checks import read_check
from runner.metrics.metric import Grades, Metric
from runner.protocols import Embedder, Workspace, attribute_of
from runner.records import Check, Judgement, Judgements, Scores
from runner.system.patterns import PatternSearch

CHECKED = "checks"
LABEL = {"en": "Checks Passed", "ko": "검사 통과율"}
MEANING = {
    "en": "Share of the checks of a case that its answer passes, by their weights.",
    "ko": "사례의 검사 가운데 답변이 통과한 비율(가중치 반영)",
}


class Checks:
    """The share of checks that an answer passes, by their weights; a case without a check is not judged. `checks` are
    asked of every case, beside those of the case itself where `of_cases` is true. `similar` needs an `embedder`."""

    def __init__(
        self,
        *,
        checks: Sequence[dict[str, Any]] = (),
        of_cases: bool = True,
        embedder: Embedder | None = None,
        label: dict[str, str] | None = None,
        main: bool = False,
    ) -> None:
        self.name = CHECKED
        self.entries, self.of_cases, self.embedder = tuple(checks), of_cases, embedder
        self.label, self.main = label, main
        self._search = PatternSearch()
        self._ready = False

    def set_name(self, name: str) -> None:
        self.name = name

    @property
    def metrics(self) -> Sequence[Metric]:
        return (
            Metric(
                name=self.name,
                better="higher",
                label=self.label or (LABEL if self.name == CHECKED else {"en": self.name}),
                meaning=MEANING,
                grades=Grades(),
                main=self.main,
                depends=("queries", "checks", f"metric.{self.name}", "metric_code.checks"),
                group="answers",
                shown=frozenset({"sweeps", "slices", "cases"}),
            ),
        )

    @property
    def provenance(self) -> Mapping[str, Any]:
        if not self.entries:
            return {}
        embedder = {} if self.embedder is None else {"embedder": attribute_of(self.embedder, "provenance")}
        return {"checks": [dict(entry) for entry in self.entries], "of_cases": self.of_cases, **embedder}

    def preflight(self) -> Sequence[Problem]:
        problems = []
        for number, entry in enumerate(self.entries):
            try:
                check = read_check(entry)
            except ValueError as error:
                where, _, what = str(error).partition(": ")
                problems.append(Problem(f"metric.{self.name}.checks.{number}.{where}", what))
            else:
                problems += self._without_vectors(check, f"metric.{self.name}.checks.{number}")
        return problems

    def _without_vectors(self, check: Check, key: str) -> list[Problem]:
        if check.type != "similar":
            return []
        if self.embedder is None:
            return [Problem(key, f"similar needs an embedder; expected +embedder@metric.{self.name}.embedder=e5")]
        if attribute_of(self.embedder, "is_fitted"):
            name = type(self.embedder).__name__
            return [Problem(f"metric.{self.name}.embedder", f"{name} is fitted to a corpus; expected one that is not")]
        return []

    def prepare(self, cases: Sequence[Any], workspace: Workspace) -> None:
        """Vectors, where some check needs them."""
        values = [str(check.value) for case in cases for check in self._of(case) if check.type == "similar"]
        if values and self.embedder is not None:
            self.embedder.prepare(values, workspace)
            self._ready = True

    def _of(self, case: Any) -> list[Check]:
        return [*map(read_check, self.entries), *(case.checks if self.of_cases else ())]

    @property
    def is_of_cases(self) -> bool:
        return self.of_cases and not self.entries

    async def judge_case(self, case: Any, fields: Mapping[str, Any]) -> Mapping[str, Judgement]:
        cosine = self._cosine if self._ready else None
        judgement = await judge_checks(self._of(case), fields, self._search, cosine)
        return {} if judgement is None else {self.name: judgement}

    def _cosine(self, first: str, second: str) -> float:
        if self.embedder is None:
            raise RuntimeError("similar is checked with an embedder")
        vectors = self.embedder.embed([first, second], "passage")
        return float(np.clip(vectors[0] @ vectors[1], -1.0, 1.0))

    def score(self, case: Any, output: Any, judgements: Judgements) -> Scores:
        judgement = judgements.get(self.name)
        return Scores({} if judgement is None or judgement.score is None else {self.name: judgement.score})
