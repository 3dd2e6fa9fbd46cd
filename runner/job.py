"""What one run is told, what run.json says of it, and how it can end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from runner.config import evaluation_name, resolved, run_fingerprint
from runner.metadata import SCHEMA, git_state, now, read_json, versions, without_credentials

INTERRUPTED = 130  # what a shell reports for a process ended by Ctrl-C


@dataclass(frozen=True)
class Job:
    """What one run is told: its configuration, its folder, and its place in a sweep."""

    cfg: DictConfig
    folder: Path
    overrides: Sequence[str] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    sweep_id: str | None = None
    label: str = ""

    @property
    def experiment(self) -> str:
        return self.choices.get("experiment") or evaluation_name(self.cfg)


@dataclass(frozen=True, slots=True)
class Outcome:
    status: str  # completed | partial | failed
    exit_code: int
    error_message: str | None = None


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
        "overrides": list(job.overrides),
        "choices": dict(job.choices),
        "config": without_credentials(resolved(job.cfg)),
        "versions": versions(),
        "git": git_state(),
        "identity": {},
        "mean_faithfulness": None,
        "mean_answer_relevancy": None,
        "created_at": before.get("created_at") or now(),
        "updated_at": now(),
    }
