"""The job of one run, its run.json, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner.config.frozen import source_of
from runner.config.options import evaluation_name, experiment_name, plain_config, run_fingerprint
from runner.metrics.judged import ANSWER_MEANS
from runner.run.engine import Stop
from runner.run.waves import WAVES, Wave
from runner.system.metadata import SCHEMA, git_state, now, read_json, versions, write_json
from runner.system.redaction import redacted_value
from runner.system.shared import make_once
from runner.words.wording import LANGUAGES, Wording

OUTCOME = ".outcome.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a pass over a run ended. Status `running`: the pass ended well, and a later pass resumes the run.
    `elapsed_s`: over all passes so far; `told`: whether the message was printed already; `unfinished`: number of cases
    whose row lacks a judgement; `cases`: number of cases of the whole run, where a later pass resumes it."""

    status: str  # running | completed | partial | failed
    exit_code: int
    error_message: str | None = None
    elapsed_s: float = 0.0
    wave: int = 0
    told: bool = False
    unfinished: int = 0
    cases: int = 0

    def write(self, folder: Path) -> None:
        """Write the outcome beside the rows."""
        write_json(folder / OUTCOME, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Outcome | None:
        """The outcome in a folder; None before the first pass of a command has ended."""
        found = read_json(folder / OUTCOME)
        return Outcome(**found) if found else None


@dataclass(frozen=True)
class Job:
    """The configuration of one run, its folder, and its place in a sweep. `before`: the outcome of an earlier pass of
    the same command over this run."""

    cfg: DictConfig
    folder: Path
    overrides: Sequence[str] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    sweep_id: str | None = None
    label: str = ""
    wave: Wave = field(default_factory=Wave)
    before: Outcome | None = None
    config_folders: Sequence[str] = ()

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        return experiment_name(self.choices, self.cfg)

    @property
    def cell(self) -> str:
        """The name of the run in its sweep."""
        return self.folder.name if self.sweep_id else "."

    @property
    def title(self) -> str:
        """The name of the run in its progress line."""
        title = f"{self.label}{self.experiment}"
        if self.wave.sums_up or not self.wave.number:
            return title
        return self.say("progress.wave", title=title, number=self.wave.number, waves=WAVES)

    @property
    def say(self) -> Wording:
        """The wording in the language of the report."""
        return LANGUAGES[self.cfg.report.language]

    @property
    def stop(self) -> Stop:
        """Why the run is closed early: for its own reason, or because the sweep ended."""
        if self.before is not None and self.before.status == "partial":
            return Stop(self.before.exit_code, str(self.before.error_message))
        return Stop(3, f"the sweep ended early: {self.wave.reason}")


def head_of(job: Job) -> dict[str, Any]:
    """run.json at the start; `started_at` of the first attempt in the folder is kept."""
    before = read_json(job.folder / "run.json") or {}
    return {
        "schema": SCHEMA,
        "id": f"{job.folder.parent.name}-{job.folder.name}" if job.sweep_id else job.folder.name,
        "sweep_id": job.sweep_id,
        "status": "running",
        "exit_code": None,
        "error_message": None,
        "experiment": job.experiment,
        "evaluation_type": evaluation_name(job.cfg, job.choices),
        "k": job.cfg.get("k"),
        "fingerprint": run_fingerprint(job.cfg),
        "frozen": source_of(job.folder.parent if job.sweep_id else job.folder),
        "overrides": redacted_value(list(job.overrides)),
        **({"config_folders": list(job.config_folders)} if job.config_folders else {}),
        "choices": dict(job.choices),
        "config": plain_config(job.cfg),
        "versions": versions(),
        "git": make_once("git", str(Path.cwd()), git_state),
        "identity": {},
        **dict.fromkeys(ANSWER_MEANS),
        "created_at": before.get("created_at") or now(),
        "updated_at": now(),
    }
