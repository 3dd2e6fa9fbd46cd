"""What the scores of a run depend on beside its data: the judge and its prompts, and the code that scores.

A judge is identified by its settings, models, prompts and rules. runner.system.sources compares the rules by syntax, so
that the layout of their source does not matter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from runner.config.components import BuiltComponents
from runner.config.result_checks import unchecked
from runner.metrics.catalogue import built_in_catalogue, catalogue_of
from runner.metrics.metric import Metric
from runner.protocols import attribute_of
from runner.system.sources import OWN, data_digest, syntax_digest
from runner.system.store import fingerprint
from runner.text.cues import load_cues

MATCHER = tuple(
    f"runner.text.{name}"
    for name in ("matching", "normal_form", "markup", "citations", "stance", "amounts", "endings", "words", "units")
)

# Family of metrics -> modules that compute them.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "right": ("runner.metrics.right", "runner.metrics.reference_rule", "runner.text.yes_no", *MATCHER),
    "ranking": ("runner.metrics.ranking",),
    "further_ranking": ("runner.metrics.further_ranking",),
    "checks": ("runner.metrics.checks",),
    "answers": ("runner.metrics.answers", *MATCHER),
    "diagnosis": ("runner.metrics.diagnosis", "runner.text.refusals"),
    "memory": ("runner.metrics.memory", *MATCHER),
    "locomo": ("runner.metrics.locomo", "runner.text.porter"),
    "trace": ("runner.metrics.trace",),
    "links": ("runner.metrics.links",),
    "agent": ("runner.metrics.agent",),
}

CUES = ("runner.text/answer_cues.yaml", "runner.text/yes_no.yaml")  # that decide what is right

NOT_A_SCORE = ("models", "health", "rubrics")  # settings of a judge that do not affect its judgements


def score_identity(components: BuiltComponents, config: Mapping[str, Any]) -> dict[str, Any]:
    """`components`, `metric_code` and `judged_by` of run.json; `config` is the resolved configuration."""
    judges = {key: part for key, part in components.parts.items() if key.split(".")[0] == "judge"}
    own = {key: components.identities[id(part)] for key, part in components.parts.items() if "." not in key}
    added = added_metrics(components.parts)
    return {
        "components": own,
        "metric_code": {**metric_code(), **{name: class_digest(cls) for name, cls in added.items()}},
        "judged_by": _judging(judges, config) if "judge" in judges else {},
    }


def added_metrics(parts: Mapping[str, Any]) -> dict[str, type]:
    """The metrics that classes outside this program compute.

    Args:
        parts: the components of a run by their keys.

    Returns:
        Metric -> the class that declares it: a choice of `metric`, or else the evaluation, whose metrics of this
        program and of other choices do not count.
    """
    found: dict[str, type] = {}
    for key in sorted(parts, key=lambda key: key == "evaluation"):  # the evaluation repeats the metrics of its choices
        if key == "evaluation" or key.startswith("metric."):
            part = unchecked(parts[key])
            inherited = {each.name: each for each in (*built_in_catalogue().metrics, *_inherited_metrics(part))}
            for metric in catalogue_of(part).metrics:
                if inherited.get(metric.name) != metric:
                    found.setdefault(metric.name, type(part))
    return {name: cls for name, cls in found.items() if foreign_modules(cls)}


def _inherited_metrics(part: Any) -> Sequence[Metric]:
    """The metrics that a class outside this program has from one of this program."""
    for above, base in pairwise(type(part).__mro__):
        if base.__module__.partition(".")[0] in OWN:
            return catalogue_of(super(above, part)).metrics
    return ()


def class_digest(cls: type) -> str:
    """Hash of the code of a class outside this program: of its modules with all that they import from their own
    package, and of its files of data."""
    code: Any = syntax_digest(foreign_modules(cls))
    data = data_digest(cls)
    return fingerprint([code, data]) if data else str(code)


def foreign_modules(cls: type) -> list[str]:
    """The modules outside this program and Python in which a class and its bases are written."""
    modules = dict.fromkeys(each.__module__ for each in cls.__mro__)
    return [name for name in modules if name.partition(".")[0] not in (*OWN, *sys.stdlib_module_names)]


@cache
def metric_code() -> dict[str, str]:
    """Family -> hash of its code."""
    digests = {family: syntax_digest(modules) for family, modules in FAMILIES.items()}
    cues = [dict(load_cues(name)) for name in CUES]
    return {**digests, "right": fingerprint([digests["right"], cues])}


def _judging(judges: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    provenance = attribute_of(judges["judge"], "provenance")
    settings = _drop_keys(config["judge"], NOT_A_SCORE)
    classes = sorted(
        {judge.__class__ for judge in judges.values()}, key=lambda judge: (judge.__module__, judge.__name__)
    )
    code: Any = syntax_digest(judge.__module__ for judge in classes)
    if data := [data_digest(judge) for judge in classes if data_digest(judge)]:
        code = [code, data]
    prompts: dict[str, list[str]] = {}
    for rubric, digest in _prompts(provenance):
        prompts.setdefault(rubric, []).append(digest)
    return {
        "judge": fingerprint([settings, _drop_keys(provenance, NOT_A_SCORE), code]),
        "prompts": {rubric: fingerprint(digests) for rubric, digests in sorted(prompts.items())},
    }


def _prompts(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(rubric, digest) of the prompts of a judge, or of the members of a panel in their order."""
    for name, value in provenance.items():
        if name == "rubrics":
            yield from value.items()
        elif isinstance(value, Mapping):
            yield from _prompts(value)


def _drop_keys(value: Any, names: Sequence[str]) -> Any:
    """A JSON value without these keys, at any depth."""
    if isinstance(value, Mapping):
        return {key: _drop_keys(item, names) for key, item in value.items() if key not in names}
    if isinstance(value, list):
        return [_drop_keys(item, names) for item in value]
    return value
