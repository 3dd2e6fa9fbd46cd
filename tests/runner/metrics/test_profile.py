from math import fsum
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.config.components import check
from runner.errors import ConfigError
from runner.metrics.profile import AutoProfile, Profile, profile_by_name, shipped_profiles
from runner.metrics.trace import DIMENSIONS

WEIGHTS: Any = {"complexity": 0.2, "novelty": 0.3, "diversity": 0.1, "outcome": 0.4}


def problems(**weights: Any) -> list[str]:
    """What is wrong with a YAML of these weights."""
    profile = {"_target_": "runner.metrics.profile.Profile", "name": "mine", "weights": weights}
    return [str(problem) for problem in check(OmegaConf.create({"profile": profile}).profile)]


def test_the_table_of_weights() -> None:
    table = {name: tuple(profile.weights.values()) for name, profile in shipped_profiles().items()}
    assert table == {
        "default": (0.25, 0.35, 0.15, 0.25),
        "finance": (0.20, 0.25, 0.10, 0.45),
        "code": (0.20, 0.30, 0.30, 0.20),
        "medical": (0.15, 0.20, 0.10, 0.55),
        "customer_service": (0.20, 0.30, 0.20, 0.30),
    }
    for name, profile in shipped_profiles().items():
        assert profile.name == name
        assert tuple(profile.weights) == DIMENSIONS
        assert abs(fsum(profile.weights.values()) - 1) < 1e-12


def test_weights_have_to_sum_to_one() -> None:
    assert problems(**WEIGHTS) == problems(**{**WEIGHTS, "outcome": 0.4 + 9e-10}) == []
    for outcome, total in ((0.4 + 2e-9, "1.000000002)"), (0.5, "1.1)"), (0, "0.6)")):
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
    assert negative == "profile.weights.novelty: expected 0 or more, got -0.3"


def test_weights_of_a_memory_sum_to_one_too() -> None:
    memory = {"relevance": 0.4, "completeness": 0.3, "accuracy": 0.2, "noise": 0.1}
    profile = Profile(name="mine", weights=WEIGHTS, memory=dict(reversed(memory.items())), margins={"score": 0.1})  # type: ignore[arg-type]
    assert list(profile.memory.items()) == list(memory.items())
    assert profile.margins == {"score": 0.1}
    with pytest.raises(ConfigError, match=r"profile mine: expected weights that sum to 1 \(these sum to 1.2\)"):
        Profile(name="mine", weights=WEIGHTS, memory={**memory, "noise": 0.3})  # type: ignore[arg-type]
    settings = {"_target_": "runner.metrics.profile.Profile", "name": "mine", "weights": WEIGHTS}
    for more, message in (
        ({"memory": {**memory, "noise": 0.2}}, "profile.memory: expected weights that sum to 1 (these sum to 1.1)"),
        ({"memory": {**memory, "nois": 0.2}}, "profile.memory.nois: unknown setting"),
        ({"margins": {"score": -1}}, "profile.margins.score: expected 0 or more, got -1"),
    ):
        found = check(OmegaConf.create({"profile": {**settings, **more}}).profile)
        assert str(found[0]).startswith(message)


def test_profiles_of_the_program_weigh_memories_as_is_usual_where_they_do_not_say_otherwise() -> None:
    usual = {"relevance": 0.35, "completeness": 0.30, "accuracy": 0.25, "noise": 0.10}
    found = {name: profile.memory for name, profile in shipped_profiles().items()}
    assert found["default"] == found["code"] == found["customer_service"] == profile_by_name("auto").memory == usual
    assert found["finance"] == {"relevance": 0.30, "completeness": 0.25, "accuracy": 0.35, "noise": 0.10}
    assert found["medical"] == {"relevance": 0.25, "completeness": 0.30, "accuracy": 0.40, "noise": 0.05}
    assert all(abs(fsum(weights.values()) - 1) < 1e-12 for weights in found.values())
    assert Profile(name="mine", weights=WEIGHTS).memory == usual


def test_auto_takes_the_domain_or_default() -> None:
    profiles = shipped_profiles()
    assert AutoProfile().profile_for(profiles, "medical") is profiles["medical"]
    assert AutoProfile().profile_for(profiles, "물류") is profiles["default"]
    assert profile_by_name("code").profile_for(profiles, "medical") is profiles["code"]
    assert isinstance(profile_by_name("auto"), AutoProfile)
