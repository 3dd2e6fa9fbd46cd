"""Domain profiles: how much each dimension of a trace, and each criterion of a memory, counts, and which losses are
accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from math import fsum
from typing import Annotated, Any, Protocol, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from runner.errors import ConfigError, InputError, Problem, did_you_mean
from runner.metrics.memory import WEIGHTS as MEMORY_WEIGHTS
from runner.metrics.trace import DIMENSIONS

DEFAULT = "default"
AUTO = "auto"
ROUNDING = 1e-9  # by which weights may miss 1

Weight = Annotated[float, Field(ge=0, le=1)]


class TraceWeights(TypedDict):
    """Weights of the four dimensions of a trace."""

    complexity: Weight
    novelty: Weight
    diversity: Weight
    outcome: Weight


class MemoryWeights(TypedDict):
    """Weights of the four scores of a memory."""

    relevance: Weight
    completeness: Weight
    accuracy: Weight
    noise: Weight


TraceWeights.__pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)  # type: ignore[attr-defined]
MemoryWeights.__pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)  # type: ignore[attr-defined]
Weights = TypeVar("Weights", TraceWeights, MemoryWeights)


def summing_to_one(weights: Weights) -> Weights:
    """Raises ValueError for weights that do not."""
    total = fsum(cast(Mapping[str, float], weights).values())
    if abs(total - 1) > ROUNDING:
        raise ValueError(f"weights that sum to 1 (these sum to {total:.12g})")
    return weights


class ProfileChoice(Protocol):
    """The choice of `profile`. `memory`: the weight of each criterion in the overall score of a memory."""

    memory: Mapping[str, float]

    def profile_for(self, profiles: Mapping[str, Profile], domain: str) -> Profile:
        """Args:
            profiles: all profiles by name, `default` among them.
            domain: of a trace.

        Returns:
            The profile by which the trace is scored.
        """


class Profile:
    """The same weights for every domain. `margins`: by metric, the loss that a regression gate accepts."""

    def __init__(
        self,
        *,
        name: str,
        weights: Annotated[TraceWeights, AfterValidator(summing_to_one)],
        memory: Annotated[MemoryWeights, AfterValidator(summing_to_one)] | None = None,
        margins: dict[str, Annotated[float, Field(ge=0)]] | None = None,
    ) -> None:
        self.name = name
        self.weights = _in_order(name, weights, DIMENSIONS)
        self.memory = MEMORY_WEIGHTS if memory is None else _in_order(name, memory, MEMORY_WEIGHTS)
        self.margins: Mapping[str, float] = margins or {}

    def profile_for(self, profiles: Mapping[str, Profile], domain: str) -> Profile:
        return self


class AutoProfile:
    """The profile named as the domain of the trace; for a domain without one the default, without a word. A memory is
    of no domain."""

    memory: Mapping[str, float] = MEMORY_WEIGHTS

    def profile_for(self, profiles: Mapping[str, Profile], domain: str) -> Profile:
        return profiles.get(domain) or profiles[DEFAULT]


def _in_order(name: str, weights: Any, names: Iterable[str]) -> Mapping[str, float]:
    try:
        checked = summing_to_one(weights)
    except ValueError as problem:
        raise ConfigError([Problem(f"profile {name}", f"expected {problem}")]) from None
    return {each: float(checked[each]) for each in names}


@cache
def shipped_profiles() -> Mapping[str, Profile]:
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


def profile_by_name(name: str) -> ProfileChoice:
    """Args:
        name: of a profile that comes with the program, or `auto`.

    Returns:
        The choice of profiles.

    Raises:
        InputError: there is no profile of this name.
    """
    if name == AUTO:
        return AutoProfile()
    if name not in shipped_profiles():
        raise InputError(f"no profile '{name}'{did_you_mean(name, [AUTO, *shipped_profiles()])}")
    return shipped_profiles()[name]
