"""Several judges as one."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from runner.errors import Problem
from runner.llm import graded
from runner.llm.votes import Combine, ask_judge, combine_judgements, gather_judgements, kept_votes
from runner.protocols import Judge, Learning, attribute_of, can_judge
from runner.records import Judgement


class PanelJudge:
    """All judges are asked at once. `combine`: the mean or median of their scores, or `majority`: 1 where more of them
    score at least `threshold` than do not, 0 where fewer do, 0.5 on a tie. Judges that fail are left out and named;
    when all fail, so does the panel. The `on_failure` and `health` of its members are ignored: those of the panel
    count. A judgement with several grades (of a memory) gets the mean of each grade, whatever `combine` is. A member
    that does not know a rubric is not asked by it, if another member does."""

    def __init__(
        self,
        *,
        judges: dict[str, Judge],
        combine: Literal["mean", "median", "majority"] = "mean",
        threshold: Annotated[float, Field(ge=0, le=1)] = 0.5,
        on_failure: Literal["zero", "exclude"] = "zero",
        health: bool = True,
    ) -> None:
        self.judges = judges
        self._learned: dict[str, None] = {}
        self.threshold = threshold
        self.on_failure, self.health = on_failure, health
        ways: dict[str, Combine] = {"mean": statistics.fmean, "median": statistics.median, "majority": self._majority}
        self._combine = ways[combine]

    def learn(self, rubrics: Mapping[str, Any]) -> None:
        self._learned |= dict.fromkeys(rubrics)
        for judge in self.judges.values():
            if isinstance(judge, Learning):
                judge.learn(rubrics)

    def preflight(self) -> list[Problem]:
        """A problem for chosen criteria that no member accepts."""
        members = self.judges.values()
        unknown = [name for name in self._learned if not any(can_judge(judge, name) for judge in members)]
        message = f"no member takes criteria, as those of {', '.join(unknown)}; expected one like openai"
        return [Problem("judge.judges", message)] if unknown else []

    @property
    def provenance(self) -> Mapping[str, Any]:
        return {name: attribute_of(judge, "provenance") for name, judge in self.judges.items()}

    @property
    def rubrics(self) -> Collection[str] | None:
        """The rubrics that a member knows; None where a member does not list its rubrics."""
        known = [attribute_of(judge, "rubrics") for judge in self.judges.values()]
        return None if None in known else sorted({name for names in known for name in names})

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        return await self._judge(rubric, fields, {})

    async def complete(self, rubric: str, fields: Mapping[str, Any], earlier: Judgement) -> Judgement:
        return await self._judge(rubric, fields, kept_votes(earlier))

    async def _judge(self, rubric: str, fields: Mapping[str, Any], earlier: Mapping[str, Judgement]) -> Judgement:
        whole = {name for name, vote in earlier.items() if vote.is_whole}
        able = {name: judge for name, judge in self.judges.items() if can_judge(judge, rubric)} or self.judges
        missing = {name: judge for name, judge in able.items() if name not in whole}
        votes = await gather_judgements(
            {name: ask_judge(judge, rubric, fields, earlier.get(name)) for name, judge in missing.items()}
        )
        judgements = {name: votes[name] if name in votes else earlier[name] for name in able}
        claims = {
            f"{name}/claims": judgement.details["claims"]
            for name, judgement in judgements.items()
            if "claims" in judgement.details
        }
        grades = graded.merge_details(judgements.values(), graded.weights_of(fields))
        if not grades:
            return combine_judgements(judgements, self._combine, claims)
        return combine_judgements(judgements, statistics.fmean, {**grades, **claims})

    def _majority(self, scores: Sequence[float]) -> float:
        share = sum(score >= self.threshold for score in scores) / len(scores)
        return 0.5 if share == 0.5 else float(share > 0.5)
