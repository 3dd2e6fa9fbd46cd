"""From arguments to validated configurations: every job is composed and checked before the first one starts."""

from __future__ import annotations

import functools
import gc
import pickle
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from runner.config import arguments
from runner.config.choices import (
    SEARCH,
    group_problem,
    known_groups,
    nested_problem,
    of_all_jobs,
    with_other_choices,
)
from runner.config.choices import SWEEPER as SWEEPER_GROUP
from runner.config.components import Misspelt, misspelt_attributes, note_misspelt
from runner.config.folders import composable, search_path, with_search_path
from runner.config.frozen import FrozenConfig, unfolded_folder
from runner.config.hydra_internals import (
    LAUNCHER,
    SWEEPER,
    as_written,
    growth_problem,
    node_of,
    prefer_own,
    remember_files,
)
from runner.config.options import RunOptions, evaluation_name, experiment_name, problems_of, run_fingerprint, used_keys
from runner.config.provider_files import place_problems
from runner.config.references import oracle_overrides, reference_overrides
from runner.config.refused_overrides import compose_config, refused_problems
from runner.config.space import QUESTIONS, Space, axes_of, default_words, is_search
from runner.errors import ConfigError, InputError, Problem
from runner.metrics.catalogue import built_in_catalogue
from runner.system.metadata import without_credentials
from runner.system.redaction import learn, watch
from runner.system.store import fingerprint

watch()

METRIC_NAME = re.compile(r"[\w@]+")
LISTED = "metric"  # groups with several choices at once
PARAMS, NO_PARAMS = "hydra.sweeper.params", "expected nothing: what to sweep over stands on the command line (k=3,5,10)"
GROUPS_BESIDE = ("tracking", "regression", "profile")  # which an evaluation need not use
OPENED = 16  # cells whose nodes are kept, a quarter of a MB each; those of further ones are packed
NOT_COMPONENTS = ("evaluation", "tracking", "regression", "profile", "models", "provider")


class Nodes:
    """The composed configuration of a job, and Hydra's own node of it. Packed they take a thirtieth of the memory, and
    are made again where they are read."""

    def __init__(self, cfg: DictConfig, hydra: DictConfig) -> None:
        self._nodes: tuple[DictConfig, DictConfig] | None = (cfg, hydra)
        self._packed = b""

    @property
    def opened(self) -> tuple[DictConfig, DictConfig]:
        """Both nodes, which nobody changes."""
        return _unpack(self._packed) if self._nodes is None else self._nodes

    def pack(self) -> Nodes:
        """Pack the nodes as they are now."""
        self._nodes, self._packed = None, zlib.compress(self.pickled, 1)
        return self

    def set(self, option: str, value: object) -> None:
        """Change an option of the configuration."""
        cfg, hydra = self.opened
        cfg[option] = value
        if self._nodes is None:
            self._nodes = cfg, hydra
            self.pack()

    @property
    def pickled(self) -> bytes:
        """Both nodes for `pickle.loads`."""
        return zlib.decompress(self._packed) if self._nodes is None else pickle.dumps(self._nodes)


@functools.lru_cache(maxsize=1)
def _unpack(packed: bytes) -> tuple[DictConfig, DictConfig]:
    if _unpack.cache_info().misses % OPENED == OPENED - 1:
        gc.collect(0)  # nodes are cycles, and a program that starts collects hardly any
    nodes: tuple[DictConfig, DictConfig] = pickle.loads(zlib.decompress(packed))  # noqa: S301 - made here
    return nodes


@dataclass(frozen=True)
class Cell:
    """One job: its composed configuration, and the overrides that distinguish it from the other jobs. `used`: top-level
    keys of the components that its evaluation uses."""

    nodes: Nodes
    overrides: Sequence[str]
    swept: Sequence[str]
    fingerprint: str
    experiment: str
    used: Set[str]
    misspelt: Sequence[Misspelt]

    @property
    def cfg(self) -> DictConfig:
        """The composed configuration."""
        return self.nodes.opened[0]

    @property
    def hydra(self) -> DictConfig:
        """Hydra's own node."""
        return self.nodes.opened[1]


@dataclass(frozen=True)
class Plan:
    """All cells of one command, validated. `frozen`: the frozen configuration that the overrides modify, if any.
    `references`: reference runs by name, which the cells are compared with. `space`: of a search, whose only cell at
    first is the default."""

    cells: Sequence[Cell]
    overrides: Sequence[str]
    is_sweep: bool
    frozen: FrozenConfig | None = None
    references: Mapping[str, Cell] = field(default_factory=dict)
    space: Space | None = None

    @property
    def runs(self) -> list[Cell]:
        """The cells, then the references."""
        return [*self.cells, *self.references.values()]

    @property
    def folders(self) -> list[str]:
        """The folders of `runs`, below the folder of the command."""
        return [*map(str, range(len(self.cells))), *self.references] if self.is_sweep else ["."]

    @property
    def experiment(self) -> str:
        """The name of the experiment, which all cells share."""
        return self.cells[0].experiment

    @property
    def language(self) -> str:
        return str(self.cells[0].cfg.report.language)

    @property
    def fingerprint(self) -> str:
        """Hash over the settings of the run, or of all runs of the sweep."""
        if self.space is not None:
            metric = as_written(self.cells[0].cfg.search)["metric"]
            return fingerprint([self.cells[0].fingerprint, [axis.text for axis in self.space.axes], metric])
        prints = [cell.fingerprint for cell in self.cells]
        return fingerprint(prints) if self.is_sweep else prints[0]


def plan_of(line: arguments.Line) -> Plan:
    """The plan of a command line. Raises ConfigError with the problems of all jobs, and InputError."""
    frozen, folders = frozen_of(line)
    overrides, vet = line.overrides, None
    if frozen is not None:
        from runner.config.vetting import Vetting

        vet = Vetting(frozen, line.overrides, folders, line.trusts).of
        keys = [str(arguments.parse(override).key_or_group) for override in overrides]
        overrides = arguments.check_overrides(frozen.overrides_with(overrides, keys))
    if is_search(overrides):
        return _search(with_search_path(overrides, folders, frozen), folders, frozen, vet)
    with composable(folders), unfolded_folder(frozen) as main:
        overrides, cells = compose_cells(with_search_path(overrides, folders, frozen), main, vet)
        references = {
            name: replace(compose_cells(changed, main, vet)[1][0], swept=oracle_overrides(name))
            for name, changed in reference_overrides(cells[0].cfg, cells[0].overrides).items()
        }
    if problems := list(_idle_axes(cells)):
        raise ConfigError(problems)
    _note_misspelt([*cells, *references.values()])
    is_sweep = line.multirun or any(map(arguments.is_sweep, overrides)) or bool(references)
    return Plan(cells, overrides, is_sweep, frozen, references)


def _search(
    overrides: Sequence[str],
    folders: Sequence[str],
    frozen: FrozenConfig | None,
    vet: Callable[[DictConfig], None] | None,
) -> Plan:
    """The plan of a search. Every value of the space is composed once with the defaults of the other axes, so that
    errors show before the first trial."""
    fixed, axes, problems = axes_of(overrides)

    def compose(words: Sequence[str]) -> tuple[list[str], list[Cell]]:
        with composable(list(folders)), unfolded_folder(frozen) as main:
            return compose_cells(words, main, vet)

    checked: list[Cell] = []
    for words in [fixed, *([*fixed, _join_values(axis.ends)] for axis in axes)]:
        try:
            checked += compose(words)[1]
        except ConfigError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise ConfigError(problems)
    hydra = checked[0].hydra
    choices = {str(name): str(choice) for name, choice in hydra.runtime.choices.items()}
    default = default_words(axes, checked[0].cfg, choices)

    def cell(words: Sequence[str], questions: str) -> Cell:
        return replace(compose([*fixed, *words, f"{QUESTIONS}={questions}"])[1][0], swept=list(words))

    if problems := list(_idle_axes(checked[1:])):
        raise ConfigError(problems)
    _note_misspelt(checked)
    space = Space(axes, default, checked, cell)
    return Plan([cell(default, "searched")], [*fixed, f"{QUESTIONS}=searched"], True, frozen, space=space)


def _note_misspelt(cells: Sequence[Cell]) -> None:
    note_misspelt((each for cell in cells for each in cell.misspelt), cells[0].cfg.report.language)


def _join_values(words: Sequence[str]) -> str:
    """`k=1,19` of `k=1` and `k=19`."""
    key, _, first = words[0].partition("=")
    return f"{key}={','.join([first, *(word.partition('=')[2] for word in words[1:])])}"


def frozen_of(line: arguments.Line) -> tuple[FrozenConfig | None, list[str]]:
    """The frozen configuration that --config-name names, and the other configuration folders. Raises InputError for an
    untrusted one with settings for Hydra."""
    if line.config_name is None:
        return None, line.config_folders
    from runner.config.vetting import Vetting

    name = f"{line.config_name.removesuffix('.yaml')}.yaml"
    holders = [folder for folder in line.config_folders if (Path(folder) / name).is_file()]
    if not holders:
        raise InputError(f"--config-name: no {name} in {', '.join(line.config_folders)}")
    frozen, folders = (
        FrozenConfig.read(Path(holders[0]) / name),
        [each for each in line.config_folders if each != holders[0]],
    )
    Vetting(frozen, line.overrides, folders, line.trusts).before_composing()
    return frozen, folders


def compose_cells(
    overrides: Sequence[str], folder: Path | None = None, vet: Callable[[DictConfig], None] | None = None
) -> tuple[list[str], list[Cell]]:
    """The override list for Hydra, and all its jobs, composed from the configuration of the program or of a folder.
    Raises ConfigError with the problems of all jobs, and what `vet` raises, which checks each job before its classes
    are loaded."""
    problems: list[tuple[Sequence[str], list[Problem]]] = []
    cells = []
    with initialise(folder):
        overrides = _added_or_overridden(overrides)
        overrides += _profiles_of_others(overrides)
        jobs = arguments.cells(overrides)
        swept = {override for job in jobs for override in job if any(override not in other for other in jobs)}
        for job in jobs:
            composed, job_problems = _compose(job, vet)
            problems.append((job, job_problems))
            if composed is not None and not job_problems:
                cfg, hydra = composed
                cells.append(_cell(cfg, hydra, job, [override for override in job if override in swept]))
                if len(cells) > OPENED and str(hydra.launcher.get("_target_")) == LAUNCHER:
                    cells[-1].nodes.pack()
    if told := of_all_jobs(problems):
        raise ConfigError(told)
    return list(overrides), cells


def _cell(cfg: DictConfig, hydra: DictConfig, overrides: Sequence[str], swept: Sequence[str]) -> Cell:
    name = str(experiment_name(_choices(hydra), cfg))
    misspelt = misspelt_attributes(cfg.evaluation)
    return Cell(Nodes(cfg, hydra), overrides, swept, run_fingerprint(cfg), name, used_keys(cfg), misspelt)


@contextmanager
def initialise(folder: Path | None) -> Iterator[None]:
    """Initialise Hydra with the configuration of the program or of a folder."""
    from hydra import initialize_config_dir, initialize_config_module

    if folder is None:
        hydra: AbstractContextManager[None] = initialize_config_module("conf", "runner", version_base="1.3")
    else:
        hydra = initialize_config_dir(str(folder.resolve()), "runner", version_base="1.3")
    with hydra:
        remember_files()
        if folder is None:  # a frozen configuration does not change
            prefer_own(LISTED)
        yield


def _added_or_overridden(overrides: Sequence[str]) -> list[str]:
    """`+key=value` as `++key=value`: adding a key that exists, and setting a new key in a free mapping, are both
    allowed."""
    group_choices = known_groups(search_path(overrides))

    def full_override(override: str) -> str:
        if _is_added(override) and str(arguments.parse(override).key_or_group) not in group_choices:
            return f"+{override}"
        if re.match(rf"\+{{,2}}{LISTED}=", override):
            return _metric_choices(override, group_choices.get(LISTED, ()))
        return f"++{override}" if arguments.FREE.match(override) else override

    return list(map(full_override, overrides))


def _metric_choices(override: str, choices: Collection[str]) -> str:
    """`metric=recall@5` as `metric=[recall]`: a metric is chosen by any of its names, at all of its cutoffs."""
    key, _, value = override.partition("=")
    value = METRIC_NAME.sub(lambda match: metric_choice(match[0], choices), value)
    return f"{key}=[{value}]" if re.fullmatch(r"\w+", value) else f"{key}={value}"


def metric_choice(name: str, choices: Collection[str]) -> str:
    """The choice of the group `metric` that a person means by a name; unchanged where there is none."""
    catalogue = built_in_catalogue()
    metric = None if name in choices else catalogue.variant(catalogue.normal_name(name)).metric
    return name if metric is None or metric.name not in choices else metric.name


def _profiles_of_others(overrides: Sequence[str]) -> list[str]:
    """The profiles of the user, for evaluations that hold all profiles by name."""
    group_choices = known_groups(search_path(overrides))
    shipped = {path.name for path in (resources.files("conf") / "profile").iterdir()}
    profiles = [name for name in group_choices.get("profile", ()) if f"{name}.yaml" not in shipped]
    place = "profile@evaluation.profiles"
    for job in arguments.cells(overrides) if profiles else ():
        cfg = _compose_bare(job, group_choices)
        if cfg is None or f"{place}.default" not in _choices(cfg.hydra):
            return []
    named = {override.lstrip("+").partition("=")[0] for override in overrides}
    return [f"+{place}.{name}={name}" for name in profiles if f"{place}.{name}" not in named]


def _is_added(override: str) -> bool:
    return override.startswith("+") and not override.startswith("++")


def unused_settings(cells: Sequence[Cell]) -> list[str]:
    """Problems of components that were chosen or set on the command line although no cell uses them."""
    named = {re.split(r"[=./]", override.lstrip("+"))[0] for cell in cells for override in cell.overrides}
    used_components = set().union(*(cell.used for cell in cells))
    nodes = {name: OmegaConf.select(cells[0].cfg, name) for name in named}
    components = {name for name, node in nodes.items() if isinstance(node, DictConfig) and "_target_" in node}
    return sorted(components - used_components - set(NOT_COMPONENTS))


def _idle_axes(cells: Sequence[Cell]) -> Iterator[Problem]:
    """Problems of swept components that no evaluation uses: their runs would be identical."""
    swept = (override.lstrip("+~").partition("=")[0] for cell in cells for override in cell.swept)
    for key in dict.fromkeys(swept):
        group = re.split(r"[./@]", key)[0]
        used_components = set().union(*(cell.used for cell in cells))
        if group in GROUPS_BESIDE and group not in used_components:
            name, uses = evaluation_name(cells[0].cfg), ", ".join(sorted(used_components - set(NOT_COMPONENTS)))
            yield Problem(
                key, f"{name} does not use it, so its values change nothing; sweep one of {uses}, or an option"
            )


def _compose(
    job: Sequence[str], vet: Callable[[DictConfig], None] | None
) -> tuple[tuple[DictConfig, DictConfig] | None, list[Problem]]:
    """The configuration of a job and Hydra's own node of it, None where they cannot be made; and the problems."""
    from hydra.errors import HydraException

    groups, values, problems = _sort_words(job)
    try:
        cfg = compose_config([*groups, *values])
        problems += _sweeper_problems(cfg.hydra)
        learn(as_written(cfg))
        if problem := growth_problem(cfg):
            return None, [problem]
        OmegaConf.set_struct(cfg, False)
        hydra = cfg.pop("hydra")
        if vet is not None:
            vet(cfg)
        problems += _new_problems(problems, _of_component(cfg, search_path(job)))
    except (HydraException, OmegaConfBaseException) as error:
        problems += _not_in_use(job, {problem.key for problem in problems})
        problems += [
            Problem("experiment", f"missing a plus; expected +{word}") for word in job if word.startswith("experiment=")
        ]
        problems += _new_problems(problems, refused_problems(groups, values))
        return None, problems or [Problem("configuration", without_credentials(" ".join(str(error).split())))]
    if any(_is_added(group) and not group.startswith("+experiment=") for group in groups):
        problems += _not_in_use(job, {problem.key for problem in problems})
    return (cfg, hydra), problems


def _of_component(cfg: DictConfig, path: Sequence[str]) -> list[Problem]:
    return [with_other_choices(problem, path) for problem in place_problems(problems_of(cfg), path)]


def _sweeper_problems(hydra: DictConfig) -> list[Problem]:
    """Raises ConfigError for another sweeper, which would run other jobs than those that were checked."""
    if str(OmegaConf.select(hydra, "sweeper._target_")) != SWEEPER:
        choice = hydra.runtime.choices.get("hydra/sweeper")
        name = choice if choice != "basic" else hydra.sweeper._target_
        instead = f"expected basic, with all values on the command line (k=3,5,10), or {SEARCH}, which searches them"
        return [Problem(SWEEPER_GROUP, f"'{name}' is not supported; {instead}")]
    return [Problem(PARAMS, NO_PARAMS)] if OmegaConf.select(hydra, PARAMS.removeprefix("hydra.")) else []


def _new_problems(problems: Sequence[Problem], more: Sequence[Problem]) -> list[Problem]:
    """The problems in `more` that are new. Without a valid evaluation, unknown keys cannot be determined."""
    keys = {problem.key for problem in problems}
    unsure = bool(keys & {"evaluation", "experiment"})
    return [problem for problem in more if problem.key not in keys and not (unsure and " has no " in problem.message)]


def _sort_words(job: Sequence[str]) -> tuple[list[str], list[str], list[Problem]]:
    """The known group choices, the values as `++key=value` (so that our own check gets unknown keys), and the
    problems."""
    path = search_path(job)
    choices_of = known_groups(path)
    groups, values, problems = [], [], []
    for override in job:
        parsed_override = arguments.parse(override)
        key, value = str(parsed_override.key_or_group), None if parsed_override.is_delete() else parsed_override.value()
        if parsed_override.is_delete() and key in RunOptions.model_fields:
            problems.append(Problem(key, f"~{key} takes out what has to have a value; expected {key}=VALUE"))
        elif key.startswith(PARAMS):
            problems.append(Problem(PARAMS, NO_PARAMS))
        elif problem := nested_problem(key, value, choices_of) or group_problem(parsed_override, path):
            problems.append(problem)
        elif key in choices_of and not parsed_override.is_delete():
            groups.append(override)
        elif key.startswith("hydra/"):
            values.append(override.lstrip("+"))
        else:
            keep = key.startswith("hydra") or parsed_override.is_delete()
            values.append(override if keep else f"++{override.lstrip('+')}")
    return groups, values, problems


def _not_in_use(job: Sequence[str], known_bad: Collection[str]) -> list[Problem]:
    """Problems of groups that were chosen although the evaluation does not have them."""
    choices_of = known_groups(search_path(job))
    groups = _groups_in_use(job, choices_of)
    if not groups:
        return []
    evaluation, *uses = groups
    others = (*NOT_COMPONENTS, LISTED, "experiment")
    components = ", ".join(name for name in uses if name not in others and "/" not in name)
    parsed = [arguments.parse(override) for override in job]
    keys = [str(one.key_or_group) for one in parsed if not one.is_delete() and one.package is None]
    return [
        Problem(key, f"{evaluation} has no {key}; it uses {components}")
        for key in keys
        if key in choices_of and key not in groups and key not in known_bad
    ]


def _groups_in_use(job: Sequence[str], known: dict[str, list[str]]) -> list[str]:
    """The evaluation's name and the groups in its defaults (empty when it does not compose)."""
    cfg = _compose_bare(job, known)
    if cfg is None:
        return []
    choices = _choices(cfg.hydra)
    used = [choice for key in cfg for choice in choices if choice.partition("/")[0] == key]
    taken = [LISTED] if f"${{{LISTED}}}" in str(as_written(node_of(cfg, "evaluation"))) else []
    return [choices["evaluation"], *used, *taken, "experiment"]


def _compose_bare(job: Sequence[str], choices_of: dict[str, list[str]]) -> DictConfig | None:
    """The configuration of the evaluation and the experiment alone; None where it does not compose."""
    from hydra import compose
    from hydra.errors import HydraException

    deciding = search_path(job)
    for override in job:
        parsed = arguments.parse(override)
        key, value = str(parsed.key_or_group), str(parsed.value())
        if key in ("evaluation", "experiment") and value in choices_of.get(key, []):
            deciding.append(override)
    try:
        return compose("config", deciding, return_hydra_config=True)
    except (HydraException, OmegaConfBaseException):
        return None


def _choices(hydra: DictConfig) -> dict[str, str]:
    chosen = hydra.runtime.choices
    return {str(key): str(value) for key, value in chosen.items() if not str(key).startswith("hydra")}
