"""One calibration: from rated answers and a judge to the files of its folder."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
from omegaconf import DictConfig

from runner.commands.calibrate.agreement import Pairs, Settings, agreement_of
from runner.commands.calibrate.correction import correction_of, without_models
from runner.commands.calibrate.judging import RatedAnswers, as_rows, item_of
from runner.config.components import BuiltComponents
from runner.config.options import RunOptions, plain_config
from runner.data.labels import Labels
from runner.errors import ConfigError
from runner.llm import ledger
from runner.llm.chosen import ChosenMetrics
from runner.llm.models import Models, models_among
from runner.llm.rehearsal import Rehearsal
from runner.metrics.catalogue import DECLARED, built_in_catalogue, catalogue_in
from runner.metrics.judging import judging_of
from runner.metrics.metric import Catalogue
from runner.protocols import Preflight, attribute_of
from runner.records import Row
from runner.run.cost import agree
from runner.run.engine import INTERRUPTED, Limits, Stop, run_cases
from runner.run.folders import lock_folder
from runner.run.planning import CellPlan, CommandPlan, rehearse
from runner.run.progress import progress
from runner.run.rehearsal_workspace import scratch_for
from runner.system.folder import RunFolder
from runner.system.metadata import SCHEMA, git_state, now, versions, write_json
from runner.system.store import Store
from runner.system.writing import replacing
from runner.words.wording import LANGUAGES

CELL = "calibrate"
SHOWN = ("judge", "provider", "report", "seed", "cache", "budget", "max_concurrency", "timeout_ms", "deterministic")


@dataclass(frozen=True)
class Calibration:
    """The input of one calibration: `cfg` with the folder in `out`, the `components` of the judge, the words of the
    command (its file of labels first), the names of rubrics in that file, a run whose means are corrected, and the
    chosen metrics, whose rubrics the judge has learned."""

    cfg: DictConfig
    options: RunOptions
    components: BuiltComponents
    labels: Labels
    settings: Settings
    words: Sequence[str]
    names: Mapping[str, str]
    run: RunFolder | None = None
    chosen_metrics: ChosenMetrics | None = None

    @property
    def folder(self) -> Path:
        return Path(self.cfg.out)

    @cached_property
    def evaluation(self) -> RatedAnswers:
        """The rated answers as an evaluation that the engine can run."""
        return RatedAnswers(
            self.labels, self.components.root, {} if self.chosen_metrics is None else self.chosen_metrics.rubrics
        )

    @cached_property
    def models(self) -> Models | None:
        """The models of the judge; None where it calls none."""
        return models_among(self.components.parts.values())


def calibrate(calibration: Calibration) -> dict[str, Any]:
    """Judge the answers, write items.jsonl and calibration.json, and return the latter. When it ends early (its
    `exit_code` is not 0), the judgements so far are kept. Raises ConfigError or StopRunError before the first request
    where all requests would fail."""
    _check_before_start(calibration)
    with lock_folder(calibration.folder):
        return _record(calibration, time.perf_counter())


def _record(calibration: Calibration, started: float) -> dict[str, Any]:
    if calibration.models is not None:
        ledger.begin_again(calibration.folder, calibration.cfg.budget)
    rows: dict[str, Row] = {}
    stop = asyncio.run(_judge(calibration, rows))
    items = [item_of(answer, rows[answer.id]) for answer in calibration.labels.answers if answer.id in rows]
    with replacing(calibration.folder / "items.jsonl") as scratch, scratch.open("wb") as file:
        file.writelines(orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE) for item in items)
    result = {
        "schema": SCHEMA,
        **_outcome(calibration, items, stop),
        **_head(calibration),
        "cases": _cases(calibration, items),
        **_numbers(calibration, items),
        "versions": versions(),
        "git": git_state(),
        "timing": {
            "created_at": now(),
            "elapsed_s": round(time.perf_counter() - started, 3),
            **({} if calibration.models is None else calibration.models.usage(CELL)),
        },
    }
    write_json(calibration.folder / "calibration.json", result)
    return result


def _check_before_start(calibration: Calibration) -> None:
    """Check keys and cost before the first request."""
    components, options, answers = calibration.components, calibration.options, calibration.labels.answers
    parts = [
        *components.parts.values(),
        *(calibration.chosen_metrics.choices.values() if calibration.chosen_metrics is not None else ()),
    ]
    problems = [problem for part in parts if isinstance(part, Preflight) for problem in part.preflight()]
    problems += calibration.chosen_metrics.problems() if calibration.chosen_metrics is not None else []
    if problems:
        raise ConfigError(problems)
    if calibration.models is None:
        return
    rehearsal, store = Rehearsal(), Store(Path(options.cache_dir), components.identities)
    with scratch_for(store.root, rehearsal) as scratch, calibration.models.rehearsing(rehearsal, CELL):
        asyncio.run(rehearse(calibration.evaluation, calibration.models, answers, scratch.workspace(store), rehearsal))
    planned = CommandPlan([CellPlan((), len(answers), rehearsal.expected)], options.max_concurrency)
    agree(planned, calibration.models, calibration.cfg)


async def _judge(calibration: Calibration, rows: dict[str, Row]) -> Stop | None:
    """Put a row for each answer into `rows`. Returns why it stopped early, or None."""
    options, models, answers = calibration.options, calibration.models, calibration.labels.answers
    limits = Limits(options.max_concurrency, options.case_timeout_s)
    limit_ms = options.run_timeout_ms
    say = LANGUAGES[calibration.cfg.report.language]

    def describe_spending() -> str:
        return "" if models is None else models.describe_spending(say("progress.tokens"))

    try:
        async with asyncio.timeout(None if limit_ms is None else limit_ms / 1000), AsyncExitStack() as opened:
            if models is not None:
                await opened.enter_async_context(models.open(CELL))
            with progress(len(answers), CELL, describe_spending, say) as bar:

                def record(row: Row) -> None:
                    rows[row.id] = row
                    bar.advance(failed=bool(row.unscored))

                def tell(seconds: float, cases: str) -> None:
                    bar.note(say("progress.quiet", seconds=seconds, cases=cases))

                stop = await run_cases(calibration.evaluation, answers, limits, record, tell)
    except asyncio.CancelledError:
        return INTERRUPTED
    except TimeoutError:
        return Stop(3, f"run_timeout_ms={limit_ms} is over")
    return stop


# --- what calibration.json says ---------------------------------------------------------------------


def _outcome(calibration: Calibration, items: Sequence[Mapping[str, Any]], stop: Stop | None) -> dict[str, Any]:
    if stop is not None:
        return {"status": "partial", "exit_code": stop.exit_code, "error_message": stop.message}
    errors = [_error(item) for item in items]
    failed = Counter(error for error in errors if error is not None)
    limit = calibration.options.max_failure_rate
    if failed.total() > limit * len(items):
        error, count = failed.most_common(1)[0]
        share = f"{failed.total()} of {len(items)} answers were not judged (max_failure_rate is {limit:.1%})"
        message = f"{share}; items.jsonl lists them; {count} of them: {error}"
        return {"status": "failed", "exit_code": 3, "error_message": message}
    return {"status": "completed", "exit_code": 0, "error_message": None}


def _error(item: Mapping[str, Any]) -> str | None:
    return next((said["error"] for said in item["rubrics"].values() if said["judge"] is None), None)


def _head(calibration: Calibration) -> dict[str, Any]:
    labels, settings, root = calibration.labels, calibration.settings, calibration.components.root
    config = plain_config(calibration.cfg)
    config["judge"] = without_models(config["judge"])
    errors = sum(problem.severity == "error" for problem in labels.problems)
    return {
        "judge": str(calibration.cfg.judge._target_).split(".")[-2],
        "baseline": bool(attribute_of(root, "baseline")),
        "provenance": dict(attribute_of(root, "provenance")),
        "config": {name: config[name] for name in SHOWN},
        "words": list(calibration.words),
        "labels": {
            "path": calibration.words[0],
            "fingerprint": labels.fingerprint,
            "n": len(labels.answers),
            "scale": [labels.scale.low, labels.scale.high],
            "names": {rubric: calibration.names[rubric] for rubric in labels.rubrics},
            "problems": {"errors": errors, "warnings": len(labels.problems) - errors},
        },
        "threshold": {"judge": settings.judge_from, "human": settings.human_from},
        DECLARED: _catalogue(calibration).record(labels.rubrics),
    }


def _catalogue(calibration: Calibration) -> Catalogue:
    """The metrics that the corrected run declares, and the built-in ones."""
    run = calibration.run
    declared = [] if run is None else catalogue_in(run.run).metrics
    chosen = [] if calibration.chosen_metrics is None else calibration.chosen_metrics.metrics
    return Catalogue([*declared, *chosen, *built_in_catalogue().metrics])


def _cases(calibration: Calibration, items: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    total, statuses = len(calibration.labels.answers), Counter(item["status"] for item in items)
    by_status = {status: statuses[status] for status in ("ok", "failed", "timeout")}
    unscored = sum(item["status"] == "ok" and _error(item) is not None for item in items)
    return {"total": total, **by_status, "pending": total - len(items), "unscored": unscored}


def _numbers(calibration: Calibration, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    answers, rubrics, run = calibration.labels.answers, calibration.labels.rubrics, calibration.run
    scores = {
        rubric: {item["id"]: item["rubrics"][rubric]["judge"] for item in items if rubric in item["rubrics"]}
        for rubric in rubrics
    }
    judging = judging_of(as_rows(items), seed=calibration.settings.seed)
    numbers: dict[str, Any] = {
        "rubrics": {rubric: agreement_of(rubric, answers, scores[rubric], calibration.settings) for rubric in rubrics},
        **({"judging": judging} if judging else {}),
    }
    if run is None:
        return numbers
    corrected = {rubric: correction_of(rubric, Pairs.of(rubric, answers, scores[rubric]), run) for rubric in rubrics}
    head = {"folder": str(run.path), "id": run.run.get("id"), "status": run.run.get("status")}
    return {**numbers, "run": head, "corrected": corrected}
