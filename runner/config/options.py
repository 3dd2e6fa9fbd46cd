"""The schema of a composed configuration. All problems of a run are found before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from runner import __version__
from runner.config.components import NOT_A_MAPPING, check, got_text, identity, keys, violation
from runner.config.frozen import CONF
from runner.config.hydra_internals import as_written, holds, names_in, node_at, node_of, plain, value_of
from runner.errors import ConfigError, Problem, did_you_mean, not_a_mapping
from runner.llm.names import name_problem
from runner.llm.settings import Price, Prices, ProviderSettings
from runner.metrics import thresholds
from runner.metrics.thresholds import KEY, Threshold
from runner.system.redaction import mark_secrets, marking, resolve_for_files
from runner.system.store import fingerprint

Share = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[int, Field(ge=1)]

LARGEST = 10**15  # largest number in a configuration, so that sums and products stay finite
NOT_PARTS = ("evaluation", "tracking", "regression", "profile", "models")
# Components that only some evaluations have.
PARTS = ("dataset", "tokenizer", "embedder", "retriever", "generator", "system", "judge", "memory", "novelty")

# Names of other tools, without underscores, and ours.
OTHER_NAMES = {
    "topk": "k", "numresults": "k", "mode": "retriever", "searchmode": "retriever", "limit": "sample", "n": "sample",
    "concurrency": "max_concurrency", "workers": "max_concurrency", "output": "out", "outputdir": "out",
    "model": "generator.model", "lang": "report.language", "language": "report.language",
}  # fmt: skip

# Options on which no result depends.
NOT_IN_FINGERPRINT = {
    "warmup", "timeout_ms", "case_timeout_ms", "max_concurrency", "strict", "dry_run", "cold_start",
    "max_failure_rate", "format", "out", "cache_dir", "report", "cache", "calls", "budget", "provider",
    "run_timeout_ms",
    "metric", "compare", "cluster", "allow_incomparable", "fail_on_regression", "threshold", "junit", "comparability",
    "save_snapshot", "baseline", "baselines", "verbose", "search",
    "shards",
}  # fmt: skip


class Strict(BaseModel):
    """A model that takes no unknown key, no value of another type and no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ReportOptions(Strict):
    """`report`: language of the reports, and the thresholds from which retrieval and generation count as high."""

    language: Literal["en", "ko"]
    high: Annotated[float, Field(ge=0, le=1)]


class BudgetOptions(Strict):
    """`budget`: limits of one run or sweep, null for none, and the cost above which a command asks for consent."""

    usd: Annotated[float, Field(gt=0)] | None
    tokens: Positive | None
    requests: Positive | None
    minutes: Annotated[float, Field(gt=0)] | None
    confirm_over: Annotated[float, Field(ge=0)] | None


class SearchOptions(Strict):
    """`search`: the metric that hydra/sweeper=optuna optimises, the number of trials, and the share of held-out
    questions."""

    metric: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)] | None = None
    trials: Positive = 20
    batch: Positive = 1
    holdout: Annotated[float, Field(gt=0, lt=1)] = 0.3
    questions: Literal["all", "searched", "held_out"] = "all"


NESTED: Mapping[str, type[Strict]] = {"report": ReportOptions, "budget": BudgetOptions, "search": SearchOptions}


class RunOptions(Strict):
    """The run options; conf/config.yaml explains them."""

    k: Annotated[int, Field(ge=1, le=50)]
    cutoffs: Annotated[list[Positive], Field(min_length=1)]
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    sample: Positive | Share | None
    warmup: Annotated[int, Field(ge=0)]
    timeout_ms: Positive
    case_timeout_ms: Positive | None
    run_timeout_ms: Positive | None
    max_concurrency: Annotated[int, Field(ge=1, le=4096)]
    shards: Annotated[int, Field(ge=1, le=256)] = 1
    strict: bool
    dry_run: bool
    cold_start: bool
    min_score: Annotated[float, Field(ge=0, le=1)]
    max_failure_rate: Annotated[float, Field(ge=0, le=1)]
    deterministic: bool
    case: str | None
    format: Literal["json", "md", "both"]
    verbose: bool
    compare: Annotated[str, Field(min_length=1)] | None
    allow_incomparable: bool
    comparability: Literal["lenient", "strict"] = "lenient"
    fail_on_regression: bool
    cluster: Annotated[str, Field(min_length=1)] = "auto"  # records may be older than it
    threshold: dict[Any, Any] = Field(default_factory=dict)  # records may be older than it
    junit: Annotated[str, Field(min_length=1)] | None
    baseline: Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=0)] | None
    baselines: Literal["none", "auto"]
    save_snapshot: Annotated[str, Field(min_length=1)] | None
    out: Annotated[str, Field(min_length=1)] | None
    cache_dir: Annotated[str, Field(min_length=1)]
    cache: Literal["use", "none", "read", "refresh", "replay"]
    calls: Literal["all", "failed", "none"] = "all"
    budget: BudgetOptions
    provider: dict[str, ProviderSettings]
    metric: dict[str, Any] = Field(default_factory=dict)  # the evaluation takes what it can use
    search: SearchOptions = Field(default_factory=SearchOptions)  # records may be older than it
    report: ReportOptions

    @field_validator("cutoffs")
    @classmethod
    def _ascending(cls, cutoffs: list[int]) -> list[int]:
        if cutoffs != sorted(set(cutoffs)):
            raise ValueError("different numbers in ascending order")
        return cutoffs

    @model_validator(mode="after")
    def _deterministic_takes_all(self) -> RunOptions:
        if self.deterministic and not self.takes_all:
            raise ValueError("expected null, as deterministic=true takes all cases")
        return self

    @property
    def takes_all(self) -> bool:
        """Whether all cases are taken: a `sample` of 1 is one case, 1.0 is all."""
        return self.sample is None or (isinstance(self.sample, float) and self.sample == 1.0)

    @property
    def depth(self) -> int:
        """The depth of rankings in documents: enough for k, every cutoff, and the diagnosis of failures."""
        return max(self.k, *self.cutoffs, 100)

    @property
    def case_timeout_s(self) -> float:
        """Seconds that a case may take; 8 times those of a request where the key is null."""
        return (self.case_timeout_ms or 8 * self.timeout_ms) / 1000


def problems_of(cfg: DictConfig) -> list[Problem]:
    """All problems of one composed configuration (without its `hydra` node), one a key."""
    problems = _option_problems(cfg)
    if not _is_component(cfg, "evaluation"):
        return [*problems, Problem("evaluation", "expected a component (a mapping with _target_)")]
    problems += check(*(node_of(cfg, name) for name in _names(cfg) if _is_component(cfg, name)))
    problems += _metric_problems(cfg)
    problems += _model_problems(cfg)
    problems += thresholds_of(cfg)[1]
    problems += _too_large_numbers(as_written(cfg))
    return list({problem.key: problem for problem in reversed(problems)}.values())[::-1]


def thresholds_of(cfg: DictConfig) -> tuple[list[Threshold], list[Problem]]:
    """The thresholds of a run, and the problems in their notation."""
    given = plain_value(cfg, KEY) if KEY in cfg else {}
    return thresholds.read(given) if isinstance(given, Mapping) else ([], [])  # which is a problem of its own


def _too_large_numbers(value: Any, key: str = "") -> Iterator[Problem]:
    """Problems of numbers that are too large."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            yield from _too_large_numbers(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, int | float) and abs(value) > LARGEST:
        yield Problem(key, "expected a number from -1e15 to 1e15")


def _metric_problems(cfg: DictConfig) -> Iterator[Problem]:
    """Problems of chosen metrics where the evaluation takes none."""
    metrics = plain_value(cfg, "metric") if "metric" in cfg else {}
    if not isinstance(metrics, Mapping):
        yield not_a_mapping("metric", f", got {'nothing' if metrics is None else metrics!r}", ())
    elif "_target_" in metrics:
        yield Problem("metric._target_", "expected metrics by name")
    elif metrics and not any(key.startswith("metric.") for key in keys(cfg.evaluation)):
        yield Problem("metric", f"{evaluation_name(cfg)} takes no further metrics")


def _model_problems(cfg: DictConfig) -> list[Problem]:
    """Problems of the model names that `evaluation` reaches: unknown providers, and undated names with
    `deterministic`."""
    problems = []
    providers = node_of(cfg, "provider")
    if not isinstance(providers, DictConfig):  # which is a problem of its own
        return []
    for key in sorted(keys(cfg.evaluation)):
        node = node_at(cfg, key)
        is_asking = isinstance(node, DictConfig) and holds(node, "models")
        name = node.get("model") if is_asking else None  # a name may look like a number
        if not isinstance(name, str):
            continue
        settings = providers.get(name.partition(":")[0])
        pinned = isinstance(settings, DictConfig) and settings.get("pinned", False)
        problem = name_problem(name, list(providers), must_be_dated=bool(cfg.deterministic) and not pinned)
        if problem:
            problems.append(Problem(f"{key}.model", problem))
    return problems


def validate(cfg: DictConfig) -> RunOptions:
    """The run options of a configuration. Raises ConfigError with every problem."""
    problems = problems_of(cfg)
    if problems:
        raise ConfigError(problems)
    return options_of(cfg)


def options_of(cfg: DictConfig) -> RunOptions:
    """The run options of a configuration without problems."""
    return RunOptions.model_validate(_options(cfg))


def run_fingerprint(cfg: DictConfig) -> str:
    """Hash over everything that results depend on: the components that `evaluation` reaches, and some options."""
    with marking():
        options = {name: value for name, value in _options(cfg).items() if name not in NOT_IN_FINGERPRINT}
    return fingerprint([__version__, identity(cfg.evaluation), mark_secrets(options), *_questions(cfg)])


def _questions(cfg: DictConfig) -> list[Any]:
    """The options that select questions; empty for a run that takes all."""
    search = SearchOptions.model_validate(plain_value(cfg, "search")) if "search" in cfg else SearchOptions()
    return [] if search.questions == "all" else [search.questions, search.holdout]


def used_keys(cfg: DictConfig) -> set[str]:
    """Top-level keys of the components that `evaluation` uses."""
    return {key.split(".")[0] for key in keys(cfg.evaluation)}


def plain_config(cfg: DictConfig) -> dict[str, Any]:
    """The configuration as plain values for files: values from the environment as the names of their variables, without
    passwords."""
    values: dict[str, Any] = resolve_for_files(lambda: {name: plain_value(cfg, name) for name in _names(cfg)})
    return values


def config_for_hash(cfg: DictConfig) -> dict[str, Any]:
    """The configuration as plain values for hashes."""
    with marking():
        values = {name: plain_value(cfg, name) for name in _names(cfg)}
    found: dict[str, Any] = mark_secrets(values)
    return found


def plain_value(cfg: DictConfig, name: str) -> Any:
    """A value of a configuration as plain Python: interpolations resolved, lists and dicts."""
    return plain(value_of(cfg, name))


def _names(cfg: DictConfig) -> list[str]:
    return [str(name) for name in names_in(cfg) if name != "hydra"]


def _is_component(cfg: DictConfig, name: str) -> bool:
    node = node_of(cfg, name)
    return isinstance(node, DictConfig) and not node._is_none() and holds(node, "_target_")


def _options(cfg: DictConfig) -> dict[str, Any]:
    return {name: plain_value(cfg, name) for name in _names(cfg) if not _is_component(cfg, name)}


def _option_problems(cfg: DictConfig) -> list[Problem]:
    try:
        RunOptions.model_validate(_options(cfg))
    except ValidationError as error:
        return [_option_problem(cfg, dict(item)) for item in error.errors()]
    except OmegaConfBaseException as error:
        return [Problem(str(error.full_key or ""), str(error).splitlines()[0])]
    return []


def _option_problem(cfg: DictConfig, error: Mapping[str, Any]) -> Problem:
    if not error["loc"]:
        return Problem("sample", f"{str(error['msg']).removeprefix('Value error, ')}, got {cfg.sample!r}")
    name = str(error["loc"][0])
    if error["type"] in NOT_A_MAPPING:
        place = ".".join(map(str, error["loc"]))
        return not_a_mapping(place, got_text(place, error["input"]), _settings(error["loc"]))
    if name == "sample" and error["type"] != "missing":
        return Problem(name, f"expected null, a count (100) or a share (0.1), got {error['input']!r}")
    if name == "provider":
        kind = {3: ProviderSettings, 4: Prices}.get(len(error["loc"]), Price)
        return violation("", error, list(kind.__annotations__))
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        return _unknown(cfg, name)
    inner = NESTED.get(name)
    return violation("", {**error, "loc": error["loc"][: 2 if inner else 1]}, list((inner or RunOptions).model_fields))


def _settings(loc: Sequence[str | int]) -> list[str]:
    """The known settings of a mapping of options; empty for free names."""
    if loc[0] == "provider":
        of_provider = {2: ProviderSettings, 3: Prices if loc[-1] == "prices" else None, 5: Price}
        return list(getattr(of_provider.get(len(loc)), "__annotations__", ()))
    return list(NESTED[str(loc[0])].model_fields) if loc[0] in NESTED else []


def _unknown(cfg: DictConfig, name: str) -> Problem:
    groups = [key for key in _names(cfg) if _is_component(cfg, key) and key not in NOT_PARTS]
    if not OmegaConf.is_config(node_of(cfg, name)):
        if name in NOT_PARTS:
            return Problem(name, "expected a component (a mapping with _target_)")
        names = [
            *RunOptions.model_fields,
            *groups,
            "evaluation",
            "tracking",
            "regression",
            "profile",
            "experiment",
        ]
        if other := OTHER_NAMES.get(name.casefold().replace("_", "")):
            return Problem(name, f"unknown option; did you mean '{other}'?")
        last = name.rpartition("_")[2]  # n_seed
        return Problem(name, f"unknown option{did_you_mean(last if last in names else name, names)}")
    if _is_component(cfg, "evaluation") and f"${{{name}}}" in str(as_written(node_of(cfg, "evaluation"))):
        return Problem(name, "expected a component (a mapping with _target_)")
    near = did_you_mean(name, [*groups, *NESTED, "provider"]) if name not in PARTS else ""
    if "did you mean" in near:
        return Problem(name, f"unknown option{near}")
    return Problem(name, f"{evaluation_name(cfg)} has no {name}; it uses {', '.join(groups)}")


def experiment_name(choices: Mapping[str, str], cfg: DictConfig) -> str:
    """The experiment name in folders and reports: the choice of experiment, else that of evaluation."""
    return choices.get("experiment") or choices.get("evaluation") or evaluation_name(cfg)


def evaluation_name(cfg: DictConfig, choices: Mapping[str, str] | None = None) -> str:
    """What an evaluation is called: for those of the program the module, which is also the choice in conf/evaluation;
    for others the choice, or module and class where the choice is one of the program's."""
    parts = str(node_of(cfg, "evaluation")._target_).split(".") if _is_component(cfg, "evaluation") else []
    if parts[0:1] == ["plugins"] or choices is None:
        return parts[-2] if len(parts) > 1 else "the evaluation"
    choice = choices.get("evaluation", "")
    is_own = (CONF / "evaluation" / f"{choice}.yaml").is_file()
    return choice if choice and not is_own else ".".join(parts[-2:]) or "the evaluation"
