"""Compare a judge with people: judge answers that people have rated, and report how far they agree."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner.commands import Command, Option, Place
from runner.commands.calibrate import min_score, report
from runner.commands.calibrate.agreement import Settings, agreement_first
from runner.commands.calibrate.calibrate import Calibration, calibrate
from runner.commands.calibrate.correction import demand_same_judge
from runner.commands.calibrate.judging import fields_by_rubric
from runner.commands.calibrate.numbers import wording_in
from runner.config import arguments
from runner.config.components import build, identity
from runner.config.compose import plan_of
from runner.config.options import RunOptions, plain_config, validate
from runner.data.label_sheets import picks_in
from runner.data.labels import Labels, read_labels
from runner.data.problems import ProblemLog, list_problems
from runner.data.ratings import RatingSpec, Scale
from runner.errors import ConfigError, InputError, Problem
from runner.llm.chosen import ChosenMetrics
from runner.llm.criteria import FIELDS, Criteria
from runner.llm.rubrics import suggestion_for
from runner.metrics.catalogue import catalogue_in
from runner.metrics.judged import ANSWER_METRICS, CORRECTNESS
from runner.protocols import Asking, Scorer
from runner.run.folders import is_locked
from runner.run.preflight import announce
from runner.run.selection import select_cases
from runner.system import terminal
from runner.system.folder import RunFolder, is_sweep, legible, open_run
from runner.system.metadata import read_json
from runner.system.store import fingerprint
from runner.system.writing import relative_path
from runner.words.wording import LANGUAGES

RUBRICS = (*(metric.name for metric in ANSWER_METRICS), CORRECTNESS)
OWN = ("scale", "threshold", "ratings", "run")
COMMAND = Command(
    "calibrate",
    (Place("labels"),),
    (
        Option("scale", "LOW,HIGH"),
        Option("threshold", "T|T,U"),
        Option("ratings", "NAME,…"),
        Option("run", "RUN_FOLDER"),
    ),
    words="OPTION=VALUE",
    parts={"min_score": min_score.COMMAND},
)


def main(argv: Sequence[str]) -> int:
    """Raises ConfigError for wrong options, DataError for unusable labels, InputError and NotComparableError for a run
    that another judge judged or none."""
    if argv and argv[0] in COMMAND.parts:
        return min_score.main(argv[1:])
    arguments = COMMAND.read(argv)
    words = [word for word in argv if word != arguments.labels]
    values = {key: value for key in OWN if (value := getattr(arguments, key)) is not None}
    of_run = _judge_of(Path(values["run"]), arguments.words) if "run" in values else []
    cfg = _compose([*of_run, *arguments.words])
    options = validate(cfg)
    choices = _choices(cfg)
    rubrics = ChosenMetrics(choices, ()).rubrics
    own_options = OwnOptions.read(values, rubrics)
    run = None if own_options.run is None else _run(own_options.run, cfg)
    log = ProblemLog(strict=options.strict)
    labels = read_labels(arguments.labels, own_options.ratings, log, None if run is None else _answered_rows(run))
    say = wording_in(cfg.report.language)
    if log.errors:
        terminal.note(say("calibration.left_out", labels=arguments.labels) + f"\n{list_problems(log.errors)}")
    labels = _select(labels, options)
    if run is not None and (picks := [pick for pick in picks_in(arguments.labels) if pick != "random"]):
        terminal.note(say("calibration.picked", picks=", ".join(picks)))
        run = None
    for line in agreement_first(labels, say):
        terminal.note(line)
    cfg.out = str(_folder(cfg, labels, [*words, *(rubric.digest for rubric in rubrics.values())]))
    components = build(cfg.judge)
    chosen_metrics = ChosenMetrics(choices, (), judge=components.root, fields=FIELDS)
    announce(cfg, components, cfg.report.language)
    settings = Settings(labels.scale, *own_options.thresholds, options.seed)
    command, names = (arguments.labels, *words), own_options.ratings.names
    calibration = Calibration(cfg, options, components, labels, settings, command, names, run, chosen_metrics)
    return _show(calibrate(calibration), cfg)


def _choices(cfg: DictConfig) -> dict[str, Scorer]:
    """The chosen metrics that call a judge."""
    choices: dict[str, Scorer] = {str(name): build(cfg.metric[name]).root for name in cfg.get("metric") or ()}
    return {name: choice for name, choice in choices.items() if isinstance(choice, Asking)}


def _show(result: Mapping[str, object], cfg: DictConfig) -> int:
    folder = Path(cfg.out)
    report.write(folder)
    terminal.show(*report.panels(result))
    say = LANGUAGES[cfg.report.language]
    terminal.note(say("progress.results", label="", folder=relative_path(folder)))
    if result["error_message"]:
        terminal.fail(str(result["error_message"]))
    return int(str(result["exit_code"]))


@dataclass(frozen=True, slots=True)
class OwnOptions:
    """The options that only this command has."""

    ratings: RatingSpec
    thresholds: tuple[float, float]
    run: Path | None

    @classmethod
    def read(cls, values: Mapping[str, str], criteria: Mapping[str, Criteria]) -> OwnOptions:
        """`criteria`: rubrics that were chosen as metrics. Raises ConfigError with everything that is wrong."""
        problems: list[Problem] = []
        scale = _numbers("scale", values.get("scale"), problems)
        if scale is not None and (len(scale) != 2 or not -math.inf < scale[0] < scale[1] < math.inf):
            problems.append(Problem("scale", f"expected LOW,HIGH such as 1,5, got '{values['scale']}'"))
        thresholds = _numbers("threshold", values.get("threshold", "0.5"), problems) or []
        if thresholds and (len(thresholds) > 2 or not all(0 <= each <= 1 for each in thresholds)):
            problems.append(Problem("threshold", f"expected one or two numbers 0..1, got '{values['threshold']}'"))
        names = _names(values.get("ratings", ",".join([*RUBRICS, *criteria])), criteria, problems)
        if problems:
            raise ConfigError(problems)
        run = values.get("run")
        ratings = RatingSpec(
            names, None if scale is None else Scale(scale[0], scale[1]), fields_by_rubric(names, criteria)
        )
        return cls(ratings, (thresholds[0], thresholds[-1]), None if run is None else Path(run))


def _numbers(key: str, text: str | None, problems: list[Problem]) -> list[float] | None:
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        problems.append(Problem(key, f"expected numbers separated by commas, got '{text}'"))
        return None


def _names(text: str, rubrics: Collection[str], problems: list[Problem]) -> dict[str, str]:
    """Rubric -> name of its ratings, from `faithfulness,answer_relevancy:usefulness`."""
    names = {}
    for part in text.split(","):
        rubric, _, name = part.strip().partition(":")
        if not rubric or (near := "" if rubric in rubrics else suggestion_for(rubric)):
            problems.append(Problem("ratings", f"no rubric '{rubric}'{near if rubric else ''}"))
        names[rubric] = name or rubric
    return names


def _compose(words: Sequence[str]) -> DictConfig:
    """Compose the configuration of full_rag with these overrides. Only its judge is used."""
    line = arguments.read(words)
    if line.asks_hydra:
        raise InputError("calibrate composes no run; use python -m runner --cfg job to print a configuration")
    plan = plan_of(replace(line, overrides=["evaluation=full_rag", *line.overrides]))
    cells = plan.cells
    if plan.is_sweep:
        raise InputError("calibrate takes one judge; for several, use it several times")
    if "judge" not in cells[0].cfg:
        raise InputError("calibrate needs an evaluation with a judge, such as evaluation=full_rag (the default)")
    return cells[0].cfg


def _run(folder: Path, cfg: DictConfig) -> RunFolder:
    """Raises InputError for a folder without results, NotComparableError for a run of another judge."""
    run = open_run(folder)
    if not run.summary:
        raise InputError(f"run: {folder} has no results ({run.run.get('status')})")
    with legible(folder):
        demand_same_judge(run, plain_config(cfg)["judge"])
        catalogue_in(run.run)  # before any request
    return run


def _judge_of(folder: Path, words: Sequence[str]) -> list[str]:
    """The overrides of a run that chose its judge, unless this command chooses one."""
    if any(word.lstrip("+").startswith("judge") for word in words) or is_sweep(folder):
        return []
    found = [str(word) for word in open_run(folder).run.get("overrides") or ()]
    return [word for word in found if word.lstrip("+").startswith(("judge=", "judge.", "provider.", "cache_dir="))]


def _answered_rows(run: RunFolder) -> dict[str, Mapping[str, Any]]:
    """The rows of a run with an answer, by id."""
    with legible(run.path):
        return {str(row["id"]): row for row in run.rows() if (row.get("output") or {}).get("answer") is not None}


def _select(labels: Labels, options: RunOptions) -> Labels:
    """The labels that `sample` and `case` select, with the rubrics that they are rated for."""
    ids = {answer.id for answer in select_cases(labels.answers, options)}
    answers = tuple(answer for answer in labels.answers if answer.id in ids)
    rated = {rubric for answer in answers for rubric in answer.ratings}
    return replace(labels, answers=answers, rubrics=tuple(name for name in labels.rubrics if name in rated))


def _folder(cfg: DictConfig, labels: Labels, words: Sequence[str]) -> Path:
    """The newest default folder of the same command; a new one where that is complete or in use. Raises InputError for
    a folder that holds a run."""
    same = sorted(word for word in words if not word.startswith("budget."))
    key = fingerprint([identity(cfg.judge), labels.fingerprint, same])[:8]
    newest = sorted(Path("outputs").glob(f"*-calibrate-{key}"), reverse=True)[:1]
    if cfg.out is None and newest and not _is_whole(newest[0]) and not is_locked(newest[0]):
        return newest[0]
    start = time.strftime("%Y%m%d-%H%M%S")
    default = (Path("outputs") / f"{start}{'' if n == 1 else f'.{n}'}-calibrate-{key}" for n in count(1))
    folder = next(each for each in default if not each.exists()) if cfg.out is None else Path(cfg.out)
    if any((folder / name).exists() for name in ("run.json", "sweep.json")):
        raise InputError(f"out: {folder} holds a run; choose another folder")
    return folder


def _is_whole(folder: Path) -> bool:
    """Whether every answer was judged."""
    result = read_json(folder / "calibration.json") or {}
    cases = result.get("cases") or {}
    missing = sum(cases.get(name, 0) for name in ("failed", "timeout", "unscored", "pending"))
    return result.get("status") == "completed" and not missing
