from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from runner.config.options import RunOptions, problems_of, run_fingerprint, validate
from runner.errors import ConfigError
from runner.records import Query
from runner.run.selection import select_cases


class Nothing:
    """Evaluates and tracks nothing."""

    def __init__(self, *, k: int) -> None:
        self.k = k

    def load(self) -> None: ...
    def prepare(self) -> None: ...
    def run(self) -> None: ...
    def judge(self) -> None: ...
    def score(self) -> None: ...
    def upload(self) -> None: ...
    def upload_sweep(self) -> None: ...


CONF = yaml.safe_load((Path(__file__).parents[3] / "conf" / "config.yaml").read_text(encoding="utf-8"))
OPTIONS = {name: value for name, value in CONF.items() if name not in ("defaults", "hydra", "models")}


def config(**changes: Any) -> Any:
    base: dict[str, Any] = {
        **OPTIONS,
        "provider": {},
        "evaluation": {"_target_": f"{__name__}.Nothing", "k": "${k}"},
        "tracking": {"_target_": f"{__name__}.Nothing", "k": 1},
    }
    return OmegaConf.create({**base, **changes})


def messages(**changes: Any) -> list[str]:
    return [str(problem) for problem in problems_of(config(**changes))]


def test_the_defaults_are_sound() -> None:
    assert messages() == []
    assert validate(config()).depth == 100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k: expected 1 or more, got 0"),
        ({"k": 51}, "k: expected 50 or less, got 51"),
        ({"k": True}, "k: expected a whole number, got True"),
        ({"k": "five"}, "k: expected a whole number, got 'five'"),
        ({"cutoffs": [3, 1]}, "cutoffs: expected different numbers in ascending order, got [3, 1]"),
        ({"sample": 0}, "sample: expected null, a count (100) or a share (0.1), got 0"),
        ({"sample": 1.5}, "sample: expected null, a count (100) or a share (0.1), got 1.5"),
        ({"sample": True}, "sample: expected null, a count (100) or a share (0.1), got True"),
        ({"format": "jsn"}, "format: expected 'json', 'md' or 'both', got 'jsn'; did you mean 'json'?"),
        ({"report": {"language": "fr", "high": 0.6}}, "report.language: expected 'en' or 'ko', got 'fr'"),
        ({"min_score": 2}, "min_score: expected 1 or less, got 2"),
        ({"kk": 3}, "kk: unknown option; did you mean 'k'?"),
        ({"top_k": 3}, "top_k: unknown option; did you mean 'k'?"),
        ({"topk": 3}, "topk: unknown option; did you mean 'k'?"),
        ({"mode": "keyword"}, "mode: unknown option; did you mean 'retriever'?"),
        ({"judge": {"model": "x"}}, "judge: test_config has no judge; it uses "),
        (
            {"evaluation": {"_target_": f"{__name__}.Nothing", "k": 3, "j": 1}},
            "evaluation.j: unknown setting; did you mean 'k'?",
        ),
    ],
)
def test_one_problem(changes: dict[str, Any], message: str) -> None:
    found = messages(**changes)
    assert len(found) == 1
    assert found[0].split(";")[0] == message.split(";")[0]


def test_a_share_of_one_is_all_cases() -> None:
    assert messages(sample=1.0) == []
    options = RunOptions.model_validate({**OPTIONS, "provider": {}, "sample": 1.0})
    assert (options.sample, len(select_cases([Query(str(n), "?", True, {}) for n in range(7)], options))) == (1.0, 7)


def test_a_deterministic_run_takes_no_sample() -> None:
    expected = "sample: expected null, as deterministic=true takes all cases, got 3"
    assert messages(sample=3, deterministic=True) == [expected]
    assert messages(sample=1.0, deterministic=True) == []  # all of them
    assert messages(sample=1, deterministic=True) == [expected.replace("got 3", "got 1")]


ADDRESS = "expected an address such as http://127.0.0.1:8080/v1; this one "


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "ftp://x"}, f"base_url: {ADDRESS}does not start with http:// or https://"),
        ({"prices": {"base_url": "sk-secret"}}, f"prices.base_url: {ADDRESS}does not start with http:// or https://"),
        ({"base_url": ["sk-secret"]}, "base_url: expected text"),
        ({"tokens_per_minute": "sk-secret"}, "tokens_per_minute: expected a whole number"),
        ({"tokens_per_minute": 0}, "tokens_per_minute: expected 1 or more, got 0"),
        (
            {"prices": "sk-secret"},
            "prices: expected a mapping (provider.mine.prices.NAME=VALUE); known: base_url, date",
        ),
        ({"api_key": "sk-secret"}, "api_key: unknown setting; did you mean 'api_key_env'?"),
        ({"prices": {"url": "x"}}, "prices.url: unknown setting; known: base_url, date, usd_per_million"),
        (
            {"prices": {"usd_per_million": {"m": {"in": 1}}}},
            "prices.usd_per_million.m.in: unknown setting; known: cached_input, input, output",
        ),
    ],
)
def test_text_given_to_a_provider_is_not_repeated(settings: dict[str, Any], message: str) -> None:
    (found,) = messages(provider={"mine": settings})
    assert found.startswith(f"provider.mine.{message}")
    assert "secret" not in found


def test_a_provider_that_is_text() -> None:
    (found,) = messages(provider={"mine": "http://u:secret@x"})
    assert found.startswith("provider.mine: expected a mapping (provider.mine.NAME=VALUE); known: add, api_key_env, ")
    assert "secret" not in found


def test_a_key_for_the_name_of_its_variable() -> None:
    (found,) = messages(provider={"mine": {"api_key_env": "sk-secret"}})
    assert found.startswith("provider.mine.api_key_env: expected the NAME of the environment variable")
    assert "secret" not in found


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"timeout_ms": 10**400}, "timeout_ms"),
        ({"cutoffs": [1, 10**16]}, "cutoffs.1"),
        ({"retriever": {"_target_": "plugins.retriever.keyword.KeywordRetriever", "k1": 1e16}}, "retriever.k1"),
    ],
)
def test_numbers_that_arithmetic_does_not_bear(changes: dict[str, Any], key: str) -> None:
    assert f"{key}: expected a number from -1e15 to 1e15" in messages(**changes)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        validate(config(k=0, seed=-1, colour="red"))
    assert [problem.key for problem in caught.value.problems] == ["k", "seed", "colour"]


def test_depth_covers_k_and_every_cutoff() -> None:
    assert validate(config(cutoffs=[1, 500])).depth == 500


def test_case_timeout_defaults_to_eight_attempts() -> None:
    assert validate(config(timeout_ms=1000)).case_timeout_s == 8
    assert validate(config(case_timeout_ms=1500)).case_timeout_s == 1.5


@pytest.mark.parametrize("changes", [{"k": 3}, {"seed": 1}, {"sample": 10}, {"min_score": 0.1}, {"cutoffs": [1]}])
def test_fingerprint_changes_with_what_changes_results(changes: dict[str, Any]) -> None:
    assert run_fingerprint(config(**changes)) != run_fingerprint(config())


@pytest.mark.parametrize("changes", [{"out": "x"}, {"max_concurrency": 9}, {"timeout_ms": 1}, {"format": "json"}])
def test_fingerprint_does_not_change_with_the_rest(changes: dict[str, Any]) -> None:
    assert run_fingerprint(config(**changes)) == run_fingerprint(config())


def test_every_option_of_conf_is_known() -> None:
    conf = OmegaConf.load("conf/config.yaml")
    assert set(RunOptions.model_fields) == (set(conf) | {"provider"}) - {"defaults", "hydra", "models"}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"provider": "openai"}, "provider"),
        ({"provider": {"openai": 5}}, "provider.openai"),
        ({"evaluation": [1]}, "evaluation"),
    ],
)
def test_a_node_that_is_no_mapping(changes: dict[str, Any], key: str) -> None:
    assert key in [problem.key for problem in problems_of(config(**changes))]
