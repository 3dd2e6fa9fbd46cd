from math import fsum
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.components import check
from runner.errors import ConfigError
from runner.metrics.trace import DIMENSIONS
from runner.trace.profile import AutoProfile, Profile, named, shipped

WEIGHTS: Any = {"complexity": 0.2, "novelty": 0.3, "diversity": 0.1, "outcome": 0.4}


def problems(**weights: Any) -> list[str]:
    """What is wrong with a YAML of these weights."""
    profile = {"_target_": "runner.trace.profile.Profile", "name": "mine", "weights": weights}
    return [str(problem) for problem in check(OmegaConf.create({"profile": profile}).profile)[0]]


def test_the_table_of_weights() -> None:
    table = {name: tuple(profile.weights.values()) for name, profile in shipped().items()}
    assert table == {
        "default": (0.25, 0.35, 0.15, 0.25),
        "finance": (0.20, 0.25, 0.10, 0.45),
        "code": (0.20, 0.30, 0.30, 0.20),
        "medical": (0.15, 0.20, 0.10, 0.55),
        "customer_service": (0.20, 0.30, 0.20, 0.30),
    }
    for name, profile in shipped().items():
        assert profile.name == name
        assert tuple(profile.weights) == DIMENSIONS
        assert abs(fsum(profile.weights.values()) - 1) < 1e-12


def test_weights_have_to_sum_to_one() -> None:
    assert problems(**WEIGHTS) == problems(**{**WEIGHTS, "outcome": 0.4 + 9e-10}) == []
    for outcome, total in ((0.4 + 2e-9, "1"), (0.5, "1.1"), (0, "0.6")):
        (problem,) = problems(**{**WEIGHTS, "outcome": outcome})
        assert problem.startswith(f"profile.weights: expected weights that sum to 1 (these sum to {total}")
    with pytest.raises(ConfigError, match=r"profile mine: expected weights that sum to 1 \(these sum to 1.1\)"):
        Profile(name="mine", weights={**WEIGHTS, "outcome": 0.5})


def test_weights_have_names_and_limits() -> None:
    missing = {name: weight for name, weight in WEIGHTS.items() if name != "outcome"}
    assert problems(**missing) == [
        "profile.weights.outcome: a value is required; give one with profile.weights.outcome=VALUE"
    ]
    assert problems(**WEIGHTS, outcom=0.1) == ["profile.weights.outcom: unknown setting; did you mean 'outcome'?"]
    (negative,) = problems(**{**WEIGHTS, "novelty": -0.3})
    assert negative == "profile.weights.novelty: expected greater than or equal to 0, got -0.3"


def test_auto_takes_the_domain_or_default() -> None:
    profiles = shipped()
    assert AutoProfile().among(profiles, "medical") is profiles["medical"]
    assert AutoProfile().among(profiles, "물류") is profiles["default"]
    assert named("code").among(profiles, "medical") is profiles["code"]
    assert isinstance(named("auto"), AutoProfile)
