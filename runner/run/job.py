"""What one run is told, what run.json says of it, and how it can end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner.config.frozen import source_of
from runner.config.options import evaluation_name, experiment_name, resolved, run_fingerprint
from runner.metrics.judged import ANSWER_MEANS
from runner.run.engine import Stop
from runner.run.waves import WAVES, Wave
from runner.system.metadata import SCHEMA, git_state, now, read_json, versions, write_json
from runner.system.redaction import redacted_value
from runner.system.shared import shared
from runner.words.wording import LANGUAGES, Wording

OUTCOME = ".outcome.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a pass over a run ended; `running`: well, and a later pass resumes it. `elapsed_s`: of all passes so far;
    `told`: the terminal has its message; `unfinished`: cases with a row that lacks something that was asked for;
    `cases`: of the whole run, where a later pass resumes it."""

    status: str  # running | completed | partial | failed
    exit_code: int
    error_message: str | None = None
    elapsed_s: float = 0.0
    wave: int = 0
    told: bool = False
    unfinished: int = 0
    cases: int = 0

    def write(self, folder: Path) -> None:
        """Write it beside the rows."""
        write_json(folder / OUTCOME, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Outcome | None:
        """None before the first pass of a command has ended."""
        found = read_json(folder / OUTCOME)
        return Outcome(**found) if found else None


@dataclass(frozen=True)
class Job:
    """What one run is told: its configuration, its folder, and its place in a sweep. `before`: what an earlier
    pass of the same command over the same run came to."""

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
        """What the progress line calls the run."""
        title = f"{self.label}{self.experiment}"
        if self.wave.sums_up or not self.wave.number:
            return title
        return self.say("progress.wave", title=title, number=self.wave.number, waves=WAVES)

    @property
    def say(self) -> Wording:
        """In the language of its report."""
        return LANGUAGES[self.cfg.report.language]

    @property
    def stop(self) -> Stop:
        """Why the run is closed before its end: for a reason of its own, or because the sweep ended."""
        if self.before is not None and self.before.status == "partial":
            return Stop(self.before.exit_code, str(self.before.error_message))
        return Stop(3, f"the sweep ended early: {self.wave.reason}")


def head_of(job: Job) -> dict[str, Any]:
    """run.json at the start. When the first attempt in the folder began is kept."""
    before = read_json(job.folder / "run.json") or {}
    return {
        "schema": SCHEMA,
        "id": f"{job.folder.parent.name}-{job.folder.name}" if job.sweep_id else job.folder.name,
        "sweep_id": job.sweep_id,
        "status": "running",
        "exit_code": None,
        "error_message": None,
        "experiment": job.experiment,
        "evaluation_type": evaluation_name(job.cfg),
        "k": job.cfg.get("k"),
        "fingerprint": run_fingerprint(job.cfg),
        "frozen": source_of(job.folder.parent if job.sweep_id else job.folder),
        "overrides": redacted_value(list(job.overrides)),
        **({"config_folders": list(job.config_folders)} if job.config_folders else {}),
        "choices": dict(job.choices),
        "config": resolved(job.cfg),
        "versions": versions(),
        "git": shared("git", str(Path.cwd()), git_state),
        "identity": {},
        **dict.fromkeys(ANSWER_MEANS),
        "created_at": before.get("created_at") or now(),
        "updated_at": now(),
    }
