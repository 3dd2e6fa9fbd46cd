"""Runs as jobs of submitit, which SLURM or processes of this machine execute: wait for all of them, end them on Ctrl-C,
and queue them again before their time limit.

submitit itself asks SLURM's accounting how its jobs are, which small clusters do not have, and only every ten minutes;
a job that was cancelled would be waited for without end. `Queue` asks the queue.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from runner.errors import InputError

if TYPE_CHECKING:
    from hydra.core.utils import JobReturn

SLURM = "slurm"
LOOK_S = 15.0  # between questions to SLURM
GRACE_S = 30.0  # for what a job has in flight when it is interrupted
# States of SLURM in which a job will not run again; PREEMPTED is none, since it may be queued again.
OVER = frozenset(
    ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "REVOKED")
)
GONE = "GONE"  # no more in the queue, which keeps ended jobs for some minutes
UNKNOWN = "UNKNOWN"


def wait_for_all_jobs() -> None:
    """The submitit launcher raises the first error while other jobs still run; let it wait for all jobs first."""
    from hydra_plugins.hydra_submitit_launcher import submitit_launcher
    from submitit.slurm.slurm import SlurmJob

    plugin: Any = submitit_launcher
    job_of_slurm: Any = SlurmJob
    plugin.BaseSubmititLauncher.launch = _launch
    if not isinstance(job_of_slurm.watcher, Queue):
        job_of_slurm.watcher = Queue()


class Queue:
    """The states of this user's jobs, as `squeue` tells them. Has the methods that submitit calls on a watcher."""

    def __init__(self) -> None:
        self._states: Mapping[str, str] | None = None  # None: not yet, or SLURM does not answer
        self._asked_s = float("-inf")

    def register_job(self, job_id: str) -> None:
        """A job is new: what was known is older than it."""
        self._asked_s, self._states = float("-inf"), None

    def get_state(self, job_id: str, mode: str = "standard") -> str:
        """`mode`: "force" asks in any case, "cache" never."""
        now_s = time.monotonic()
        if mode == "force" or (mode == "standard" and now_s - self._asked_s >= LOOK_S):
            self._asked_s, self._states = now_s, _states_in_queue()
        return UNKNOWN if self._states is None else self._states.get(job_id, GONE)

    def get_info(self, job_id: str, mode: str = "standard") -> dict[str, str]:
        """The state by the name that submitit expects."""
        return {"State": self.get_state(job_id, mode)}

    def is_done(self, job_id: str, mode: str = "standard") -> bool:
        """Whether the job has ended, with or without a result."""
        state = self.get_state(job_id, mode)
        return state in OVER or state == GONE


def _states_in_queue() -> dict[str, str] | None:
    words = f"squeue --user={os.getuid()} --array --states=all --noheader --format=%i|%T".split()
    answer = _run(words)
    if answer.returncode:  # a controller that restarts
        return None
    return dict(line.strip().split("|", 1) for line in answer.stdout.splitlines() if "|" in line)


@contextmanager
def ended_before_limit() -> Iterator[None]:
    """In a job: the signal that SLURM sends before the time limit stops the body as Ctrl-C does, and then submitit
    queues the job again. By itself it would do so at once, while the run works."""
    requeue = signal.getsignal(signal.SIGUSR2)
    if not callable(requeue):  # no job of submitit
        yield
        return
    signals: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        press_ctrl_c(frame)

    signal.signal(signal.SIGUSR2, stop)
    try:
        yield
    except KeyboardInterrupt:
        if signals:
            requeue(signals[0], None)
        raise
    finally:
        signal.signal(signal.SIGUSR2, requeue)


def press_ctrl_c(frame: FrameType | None) -> None:
    """In the handler of another signal: do what SIGINT does now."""
    handler = signal.getsignal(signal.SIGINT)  # that of asyncio, while its loop runs
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603, a program of SLURM


def _launch(self: Any, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
    """The method of the plugin's launcher."""
    import submitit
    from hydra.core.singleton import Singleton

    executor = submitit.AutoExecutor(cluster=self._EXECUTOR, **_executor_settings(self))
    executor.update_parameters(**_resources(self))
    numbers = [initial_job_idx + number for number in range(len(job_overrides))]
    try:
        jobs = executor.map_array(
            self,
            [list(overrides) for overrides in job_overrides],
            ["hydra.sweep.dir"] * len(numbers),
            numbers,
            [f"job_id_for_{number}" for number in numbers],
            [Singleton.get_state()] * len(numbers),
        )
    except submitit.core.utils.FailedJobError as refusal:
        raise InputError(f"hydra.launcher: SLURM refused the jobs: {'; '.join(str(refusal).splitlines())}") from refusal
    try:
        failed = [error for job in jobs if (error := job.exception()) is not None]
    except KeyboardInterrupt:
        _interrupt(jobs, is_slurm=self._EXECUTOR == SLURM)
        raise
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(jobs)} jobs: {failed[0]}; logs: {self.params['submitit_folder']}")
    return [job.results()[0] for job in jobs]


def _interrupt(jobs: Sequence[Any], *, is_slurm: bool) -> None:
    """End the jobs: those that wait at once, those that run as by Ctrl-C. They may finish what they have in flight."""
    ids = [str(job.job_id) for job in jobs]
    if is_slurm:
        _run(["scancel", "--quiet", "--state=PENDING", *ids])
        _run(["scancel", "--quiet", "--signal=INT", *ids])
    else:
        for job in jobs:
            job.cancel(check=False)
    until_s = time.monotonic() + GRACE_S
    while time.monotonic() < until_s and not all(job.done(force_check=True) for job in jobs):
        time.sleep(1)
    for job in jobs:
        if is_slurm and not job.done(force_check=True):
            job.cancel(check=False)


def _executor_settings(launcher: Any) -> dict[str, Any]:
    limit = {f"{launcher._EXECUTOR}_max_num_timeout": launcher.params.get("max_num_timeout")}
    return {"folder": launcher.params["submitit_folder"], **{name: n for name, n in limit.items() if n is not None}}


def _resources(launcher: Any) -> dict[str, Any]:
    """The submitit parameters: common ones keep their names, the others get the prefix of their executor."""
    from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf

    common_options = set(OmegaConf.structured(BaseQueueConf).keys())
    params = {
        name: value for name, value in launcher.params.items() if name not in ("submitit_folder", "max_num_timeout")
    }
    return {name if name in common_options else f"{launcher._EXECUTOR}_{name}": value for name, value in params.items()}
