"""Jobs of submitit on SLURM, of which only its commands are replaced by programs of the same names."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.run import cluster_jobs
from runner.run.cluster_jobs import Queue, ended_before_limit
from tests.small_data import small_data


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with SLURM's commands, which write down how they were called; `squeue` prints the file `queue`."""
    place = tmp_path / "slurm"
    place.mkdir()
    for name in ("sbatch", "srun", "squeue", "scancel"):
        program = place / name
        program.write_text(f'#!/bin/sh\necho {name} "$@" >> {place}/calls\n[ {name} = squeue ] && cat {place}/queue\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return place


def calls_of(slurm: Path) -> list[str]:
    return (slurm / "calls").read_text(encoding="utf-8").splitlines()


def test_states_are_those_of_the_queue(slurm: Path) -> None:
    (slurm / "queue").write_text("7_0|RUNNING\n7_1|CANCELLED\n7_2|CONFIGURING\n7_3|PREEMPTED\n8|TIMEOUT\n")
    queue = Queue()
    queue.register_job("7_0")
    assert [queue.get_state(id) for id in ("7_0", "7_1", "8", "9")] == ["RUNNING", "CANCELLED", "TIMEOUT", "GONE"]
    assert queue.get_info("7_1") == {"State": "CANCELLED"}
    done = [queue.is_done(id) for id in ("7_0", "7_1", "7_2", "7_3", "8", "9")]
    assert done == [False, True, False, False, True, True]
    asked = f"squeue --user={os.getuid()} --array --states=all --noheader --format=%i|%T"
    assert calls_of(slurm) == [asked]  # once for all
    (slurm / "queue").write_text("7_0|COMPLETED\n")
    assert not queue.is_done("7_0")
    assert queue.is_done("7_0", "force")


def test_a_queue_that_does_not_answer_says_nothing_of_a_job(slurm: Path) -> None:
    queue = Queue()  # there is no file `queue`: the program fails
    queue.register_job("7")
    assert (queue.get_state("7", "cache"), queue.get_state("7"), queue.is_done("7")) == ("UNKNOWN", "UNKNOWN", False)
    (slurm / "queue").write_text("")
    assert queue.is_done("7", "force")


class Job:
    def __init__(self, id: str, ends: bool) -> None:
        self.job_id, self.ends, self.is_cancelled = id, ends, False

    def done(self, force_check: bool = False) -> bool:
        return self.ends

    def cancel(self, check: bool = True) -> None:
        self.is_cancelled = True


def test_ctrl_c_ends_the_jobs(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_jobs, "GRACE_S", 0.0)
    jobs = [Job("7_0", ends=True), Job("7_1", ends=False)]
    cluster_jobs._interrupt(jobs, is_slurm=True)
    ids = "7_0 7_1"
    assert calls_of(slurm) == [f"scancel --quiet --state=PENDING {ids}", f"scancel --quiet --signal=INT {ids}"]
    assert [job.is_cancelled for job in jobs] == [False, True]


def test_the_signal_before_the_limit_stops_the_run_before_the_job_is_queued_again() -> None:
    happened: list[Any] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: happened.append(signal.Signals(number).name))
    try:
        with pytest.raises(KeyboardInterrupt), ended_before_limit():
            try:
                signal.raise_signal(signal.SIGUSR2)
            finally:
                happened.append("the run has ended")
        assert happened == ["the run has ended", "SIGUSR2"]
        with pytest.raises(KeyboardInterrupt), ended_before_limit():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGUSR2)
        assert happened == ["the run has ended", "SIGUSR2", "SIGUSR2"]  # by its own handler again
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_a_machine_without_slurm_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    monkeypatch.setattr("runner.run.launchers.which", lambda name: None if name.startswith("s") else name)
    words = ["+experiment=retrieval_only", *small_data(tmp_path / "data"), "tracking=none", "k=1,2"]
    assert main([*words, "hydra/launcher=slurm"]) == 1
    expected = "hydra/launcher: slurm needs the commands sbatch, srun, squeue, scancel, which are not on PATH; "
    assert expected in capsys.readouterr().err
