"""The choices of `metric=`: which metrics of an evaluation are reported, and what else is measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from typing import Any

from runner.errors import Problem, did_you_mean
from runner.llm.criteria import Criteria
from runner.llm.health import Controls
from runner.metrics.metric import Catalogue, Metric
from runner.protocols import (
    Asking,
    Judge,
    Learning,
    Measuring,
    Named,
    Offering,
    Preparing,
    Scorer,
    SelfJudging,
    Workspace,
    attribute_of,
    can_judge,
)
from runner.records import Judgement, Judgements, Scores
from runner.system.store import fingerprint
from runner.system.threads import in_thread

HEALTH = "judge_health"  # key among the facts of a run
UNCHECKED = "judge_unchecked"  # rubrics without control items


class ChosenMetrics:
    """`choices` by name; None (a record older than `metric`) means all that the evaluation offers. `offered`: the
    metrics of the evaluation that can be chosen; `fields`: the fields of a case that it can show to a judge. The judge
    learns the rubrics of the choices."""

    def __init__(
        self,
        choices: Mapping[str, Scorer] | None,
        metrics: Iterable[Metric],
        *,
        judge: Judge | None = None,
        fields: Collection[str] = (),
    ) -> None:
        self.choices, self.judge, self.fields = dict(choices or {}), judge, frozenset(fields)
        self._catalogue = Catalogue(metrics)
        for name, choice in self.choices.items():
            if isinstance(choice, Named):
                choice.set_name(name)
        offering = [choice.offered_metrics for choice in self.choices.values() if isinstance(choice, Offering)]
        self.names = frozenset(name for names in offering for name in names)
        if choices is None:
            self.names = frozenset(metric.name for metric in self._catalogue.metrics)
        self._scoring = [  # a choice that only names metrics of the evaluation scores nothing itself
            choice
            for choice in self.choices.values()
            if isinstance(choice, Measuring) or not isinstance(choice, Offering)
        ]
        self._is_wanted: dict[str, bool] = {}  # by their names in rows
        self._asking = {name: choice for name, choice in self.choices.items() if isinstance(choice, Asking)}
        self._self_judging = [choice for choice in self.choices.values() if isinstance(choice, SelfJudging)]
        if self._asking and isinstance(judge, Learning):
            judge.learn(self.rubrics)

    @cached_property
    def _names_of(self) -> dict[int, list[str]]:
        """The names of the metrics of each choice, by its id; cached, since every case needs them."""
        return {id(choice): names(choice) for choice in self.choices.values()}

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of the choices."""
        return [metric for part in self.choices.values() if isinstance(part, Measuring) for metric in part.metrics]

    @property
    def rubrics(self) -> dict[str, Criteria]:
        return {name: rubric for choice in self._asking.values() for name, rubric in choice.rubrics.items()}

    @property
    def controls(self) -> list[Controls]:
        return [controls for choice in self._asking.values() for controls in choice.controls]

    @property
    def unchecked(self) -> list[str]:
        """Rubrics without control items."""
        checked = {controls.rubric for controls in self.controls}
        return [name for name in self.rubrics if name not in checked]

    @property
    def unchecked_facts(self) -> dict[str, list[str]]:
        """Facts for the report; empty where every rubric has control items."""
        return {UNCHECKED: self.unchecked} if self.unchecked else {}

    def problems(self) -> Iterator[Problem]:
        """Why what was chosen cannot be measured."""
        names = [metric.name for metric in self._catalogue.metrics]
        for name, choice in self.choices.items():
            for wish in choice.offered_metrics if isinstance(choice, Offering) else ():
                if not names:
                    yield Problem(
                        f"metric.{name}", "the evaluation reports all of its own metrics; others can be added"
                    )
                elif wish not in names:
                    yield Problem(f"metric.{name}", f"the evaluation measures no '{wish}'{did_you_mean('', names)}")
        for name, choice in self._asking.items():
            yield from self._problems_of(f"metric.{name}", choice)

    def _problems_of(self, key: str, choice: Asking) -> Iterator[Problem]:
        if self.judge is None:
            yield Problem(key, "the evaluation has no judge to ask; evaluation=full_rag has one")
        elif not isinstance(self.judge, Learning) and not all(can_judge(self.judge, name) for name in choice.rubrics):
            judge = type(self.judge).__name__
            yield Problem(
                key, f"{judge} judges by rules of its own and takes no criteria; expected judge=openai or judge=panel"
            )
        for rubric in choice.rubrics.values():
            for field in rubric.fields:
                if self.judge is not None and field not in self.fields:
                    known = ", ".join(sorted(self.fields))
                    yield Problem(f"{key}.fields", f"the evaluation shows no '{field}' to a judge; known: {known}")

    def judge_fields(self, shown: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Rubric -> the fields that the judge sees, for the rubrics of the choices."""
        return {name: fields for choice in self._asking.values() for name, fields in choice.judge_fields(shown).items()}

    async def prepare(self, cases: Sequence[Any], workspace: Workspace) -> None:
        for choice in self.choices.values():
            if isinstance(choice, Preparing):
                await in_thread(choice.prepare, cases, workspace)

    async def add_own(self, case: Any, fields: Mapping[str, Any], judgements: MutableMapping[str, Judgement]) -> None:
        """Add the judgements that choices make without a judge, unless an earlier command left them."""
        for choice in self._self_judging:
            if judgements.keys().isdisjoint(self._names_of[id(choice)]):
                judgements.update(await choice.judge_case(case, fields))

    @property
    def identity(self) -> dict[str, str]:
        """`metric.NAME` -> hash, for choices whose values depend on more than a judge."""
        told = {name: attribute_of(choice, "provenance") for name, choice in self.choices.items()}
        return {f"metric.{name}": fingerprint(provenance) for name, provenance in told.items() if provenance}

    def merge_scores(
        self,
        own_scores: Scores,
        case: Any,
        output: Any,
        judgements: Judgements,
        rubrics: Collection[str] = (),
    ) -> Scores:
        """The chosen metrics of `own_scores`, and the scores of the choices. `rubrics`: those of the choices that apply
        to the case; `output` None: it failed."""
        scores = [self._choose(own_scores)]
        if output is None:
            scores.append(Scores({}, unscored=tuple(metric.name for metric in self.metrics)))
        else:
            scores += [choice.score(case, output, judgements) for choice in self._scoring]
            scores += [self._failed_scores(judgements, rubrics)] if rubrics else []
        if len(scores) == 1:
            return scores[0]
        return Scores(
            values={name: value for each in scores for name, value in each.values.items()},
            unscored=tuple(dict.fromkeys(name for each in scores for name in each.unscored)),
            weights={name: weight for each in scores for name, weight in each.weights.items()},
            labels={name: label for each in scores for name, label in each.labels.items()},
        )

    def _choose(self, own_scores: Scores) -> Scores:
        is_wanted = self._is_wanted
        if not (own_scores.values.keys() <= is_wanted.keys() and is_wanted.keys() >= {*own_scores.unscored}):
            for name in {*own_scores.values, *own_scores.unscored} - is_wanted.keys():
                metric = self._catalogue.variant(name).metric
                is_wanted[name] = metric is None or metric.name in self.names
        if False not in is_wanted.values():
            return own_scores
        values = {name: value for name, value in own_scores.values.items() if is_wanted[name]}
        return Scores(
            values,
            tuple(name for name in own_scores.unscored if is_wanted[name]),
            own_scores.weights,
            own_scores.labels,
        )

    def _failed_scores(self, judgements: Judgements, asked: Collection[str]) -> Scores:
        """Scores of rubrics without a judgement: the worst one, or none at all."""
        failed = [name for name in asked if name not in judgements or judgements[name].score is None]
        counts = self.judge is not None and self.judge.on_failure == "zero"
        return Scores({name: self._worst_value(name) if counts else None for name in failed}, unscored=tuple(failed))

    def _worst_value(self, name: str) -> float | None:
        metric = next((metric for metric in self.metrics if metric.name == name), None)
        if metric is None or metric.better == "neither":
            return None
        return metric.range[0] if metric.better == "higher" else metric.range[1]


def names(choice: Scorer) -> list[str]:
    """The names of the metrics of a choice."""
    return [metric.name for metric in choice.metrics] if isinstance(choice, Measuring) else []
