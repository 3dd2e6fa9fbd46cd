"""Domain profiles: how much each dimension of a trace, and each criterion of a memory, counts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from math import fsum
from typing import Annotated, Protocol

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from runner.errors import ConfigError, InputError, Problem, did_you_mean
from runner.metrics.trace import DIMENSIONS

DEFAULT = "default"
AUTO = "auto"
ROUNDING = 1e-9  # by which weights may miss 1

Weight = Annotated[float, Field(ge=0, le=1)]


class TraceWeights(TypedDict):
    complexity: Weight
    novelty: Weight
    diversity: Weight
    outcome: Weight


TraceWeights.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]


def summing_to_one(weights: TraceWeights) -> TraceWeights:
    """Raises ValueError for weights that do not."""
    total = fsum(weights[name] for name in DIMENSIONS)  # type: ignore[literal-required]
    if abs(total - 1) > ROUNDING:
        raise ValueError(f"weights that sum to 1 (these sum to {total:g})")
    return weights


class ProfileChoice(Protocol):
    """What `profile` chooses."""

    def among(self, profiles: Mapping[str, Profile], domain: str) -> Profile:
        """The profile for a trace of a domain; `profiles` are all by name, `default` among them."""


class Profile:
    """The same weights whatever the domain."""

    def __init__(self, *, name: str, weights: Annotated[TraceWeights, AfterValidator(summing_to_one)]) -> None:
        self.name = name
        try:
            checked = summing_to_one(weights)
        except ValueError as problem:
            raise ConfigError([Problem(f"profile {name}", f"expected {problem}")]) from None
        self.weights: Mapping[str, float] = {dimension: float(checked[dimension]) for dimension in DIMENSIONS}  # type: ignore[literal-required]

    def among(self, profiles: Mapping[str, Profile], domain: str) -> Profile:
        return self


class AutoProfile:
    """The profile named as the domain of the trace; for a domain without one the default, without a word."""

    def among(self, profiles: Mapping[str, Profile], domain: str) -> Profile:
        return profiles.get(domain) or profiles[DEFAULT]


@cache
def shipped() -> Mapping[str, Profile]:
    """The profiles that come with the program, by name."""
    import yaml

    folder = resources.files("conf") / "profile"
    names = sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml"))
    read = {name: yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in names}
    return {
        name: Profile(**{key: value for key, value in settings.items() if key != "_target_"})
        for name, settings in read.items()
        if name != AUTO
    }


def named(name: str) -> ProfileChoice:
    """Of those that come with the program, or `auto`. Raises InputError for another name."""
    if name == AUTO:
        return AutoProfile()
    if name not in shipped():
        raise InputError(f"no profile '{name}'{did_you_mean(name, [AUTO, *shipped()])}")
    return shipped()[name]
