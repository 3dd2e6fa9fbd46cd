"""The queue: each job is one command line that runs as a child process, with one file that holds its state.

A job has a folder of its own below the root for its results; its file holds its words and how often it was started.
Whichever process is killed (the server, a job, both), files and folders say how to continue: a child outlives its
server; a restarted server finds it by its process id; a job that ended early is started again in its folder, where it
resumes. Replies of models are stored, so nothing is paid twice.
"""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from runner.run.folders import is_locked
from runner.system.metadata import now, read_json, write_json
from runner.system.writing import relative_path

STARTS = 3  # of a job that a signal from outside ends
GRACE_S = 20.0  # from the request to end to the end by force
INSIDE = "~"  # between the names of folders in an id
ENDED = ("ended", "cancelled")
TAIL = 4000  # characters of what a child has said last


@dataclass(frozen=True)
class Job:
    """`status`: queued, running, cancelled or ended; the outcome of a run is in its folder. `born`: when its process
    started, in the units of the system, so that another process with the same id is not mistaken for it. `due`: when it
    was asked to end."""

    id: str
    kind: str  # run, sweep or calibration
    words: list[str]
    status: str = "queued"
    dataset_id: str | None = None
    evaluation_type: str | None = None
    k: int | None = None
    about: dict[str, Any] = field(default_factory=dict)
    created_at: str = ""
    updated_at: str = ""
    pid: int | None = None
    born: str | None = None
    starts: int = 0
    exit_code: int | None = None
    error_message: str | None = None
    is_cancelled: bool = False
    due: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.status not in ENDED


class Jobs:
    """The jobs of one root. `tick` is called periodically by one thread; everything else by any thread."""

    def __init__(self, root: Path, limit: int) -> None:
        self.root, self.limit = root, limit
        self.folder = root / ".serve" / "jobs"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._jobs = {job.id: job for path in sorted(self.folder.glob("*.json")) if (job := _read(path))}

    def all(self) -> list[Job]:
        """All jobs in the order of their arrival."""
        with self._lock:
            return list(self._jobs.values())

    def open(self) -> list[Job]:
        """The jobs that wait or run."""
        return [job for job in self.all() if job.is_open]

    def get(self, id: str) -> Job | None:
        """The job of an id; None for an unknown id."""
        with self._lock:
            return self._jobs.get(id)

    def add(self, kind: str, name: str, words: Sequence[str], **facts: Any) -> Job:
        """Append a job to the queue. `words` of a command line without `out=`, which is its own folder."""
        id = f"{time.strftime('%Y%m%d-%H%M%S')}-{name}-{secrets.token_hex(3)}"
        job = Job(id, kind, [*words, f"out={self.place(id)}"], created_at=now(), **facts)
        return self._keep(job)

    def adopt(self, id: str, words: Sequence[str], **facts: Any) -> Job:
        """A run that was started elsewhere, at the end of the queue, in the folder that it has."""
        return self._keep(Job(id, "run", [*words, f"out={self.place(id)}"], created_at=now(), **facts))

    def place(self, id: str) -> Path:
        """The folder of a job."""
        return self.root.joinpath(*id.split(INSIDE))

    def log(self, id: str) -> Path:
        """The file with the output of its command."""
        return self.folder / f"{id}.log"

    def last_output(self, id: str) -> str:
        """The last output of the command of a job."""
        return tail(self.log(id)).strip()

    def requeue(self, job: Job) -> Job:
        """Queued once more, in the folder that it has."""
        return self._keep(replace(job, status="queued", starts=0, is_cancelled=False, due=None, error_message=None))

    def cancel(self, job: Job) -> Job:
        """Cancel a job: a queued job never starts; a running one gets SIGINT, as by Ctrl-C, and writes its results."""
        with self._lock:
            if job.status == "queued":
                return self._keep(replace(job, status="cancelled", is_cancelled=True))
            if job.status == "running":
                _signal(job, signal.SIGTERM)
                return self._keep(replace(job, is_cancelled=True, due=time.time() + GRACE_S))
        return job

    def forget(self, job: Job) -> None:
        """Delete the file and the log of a job; its results stay."""
        with self._lock:
            self._jobs.pop(job.id, None)
            for path in (self.folder / f"{job.id}.json", self.log(job.id)):
                path.unlink(missing_ok=True)

    # --- the queue --------------------------------------------------------------------------------

    def tick(self) -> None:
        """Notes which jobs have ended, and starts those for which there is room, first come, first served."""
        with self._lock:
            for job in self.all():
                if job.status == "running":
                    self._look_after(job)
            waiting = [job for job in self.all() if job.status == "queued"]
            n_running = sum(job.status == "running" for job in self.all())
            for job in waiting[: max(0, self.limit - n_running)]:
                self._start(job)

    def _start(self, job: Job) -> None:
        if is_locked(self.place(job.id)):  # started by a server that was killed before it could note that
            return
        command = [sys.executable, "-m", "runner", *job.words]
        log = os.open(self.log(job.id), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            child = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=_environment()
            )
        finally:
            os.close(log)
        self._children[job.id] = child
        self._keep(replace(job, status="running", pid=child.pid, born=_start_of(child.pid), starts=job.starts + 1))

    def _look_after(self, job: Job) -> None:
        child = self._children.get(job.id)
        code = child.poll() if child is not None else None
        is_alive = code is None if child is not None else _is_alive(job)
        if is_alive:
            if job.due is not None and time.time() > job.due:
                _signal(job, signal.SIGKILL)
            return
        self._children.pop(job.id, None)
        state = read_json(self.place(job.id) / ("sweep.json" if job.kind == "sweep" else "run.json")) or {}
        was_killed = (code is not None and code < 0) or (code is None and not _has_ended(job, state))
        if job.is_cancelled:
            self._keep(replace(job, status="cancelled", pid=None, exit_code=code))
        elif was_killed and job.starts < STARTS:
            self._keep(replace(job, status="queued", pid=None))
        else:
            is_well = code == 0 or (code is None and state.get("status") == "completed")
            error = None if is_well else error_in(tail(self.log(job.id)))
            message = f"the process was killed {job.starts} times" if was_killed else error
            self._keep(replace(job, status="ended", pid=None, exit_code=code, error_message=message))

    def _keep(self, job: Job) -> Job:
        job = replace(job, updated_at=now())
        with self._lock:
            self._jobs[job.id] = job
            write_json(self.folder / f"{job.id}.json", asdict(job))
        return job


def _read(path: Path) -> Job | None:
    value = read_json(path)
    names = {each.name for each in fields(Job)}
    with suppress(TypeError):
        return Job(**{name: each for name, each in (value or {}).items() if name in names})
    return None


def _has_ended(job: Job, state: dict[str, Any]) -> bool:
    """Whether a process whose exit code is unknown had completed its work."""
    return state.get("status") not in (None, "running") if job.kind != "calibration" else True


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}


def _start_of(pid: int) -> str | None:
    """When a process began, where the system says it (Linux)."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return None


def _is_alive(job: Job) -> bool:
    if job.pid is None or (job.born is not None and _start_of(job.pid) != job.born):
        return False
    with suppress(OSError):
        if Path(f"/proc/{job.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return False
    try:
        os.kill(job.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _signal(job: Job, number: signal.Signals) -> None:
    if job.pid is not None and _is_alive(job):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(job.pid, number) if number == signal.SIGKILL else os.kill(job.pid, number)


def tail(path: Path, most: int = TAIL) -> str:
    """The last bytes of a file as text; empty where it is missing."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def error_in(text: str) -> str:
    """The last error that a command printed, with all of its lines; the last line where it printed none."""
    start = text.rfind("\nerror: ")
    if text.startswith("error: ") and start < 0:
        start = 0
    if start >= 0:
        return text[start:].strip().removeprefix("error: ")
    lines = text.strip().splitlines()
    return lines[-1] if lines else "the command ended without a word"


@dataclass(frozen=True)
class CommandResult:
    """The result of a command that was waited for."""

    code: int
    out: str
    error: str


def run_command(words: Sequence[str], seconds: float, most_bytes: int | None = None) -> CommandResult:
    """A command of the same command line, waited for at most so long, with at most so many bytes of memory."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "runner", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
    )
    if most_bytes is not None and hasattr(resource, "prlimit"):  # Linux
        with suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_AS, (most_bytes, most_bytes))
    try:
        out, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return CommandResult(124, "", f"error: it took more than {seconds:g} s, and was ended")
    if process.returncode and not error.strip() and most_bytes is not None:
        return CommandResult(
            process.returncode, "", f"error: it was ended, as it needs more than {most_bytes >> 30} GB of memory"
        )
    return CommandResult(process.returncode, out.decode("utf-8", "replace"), error.decode("utf-8", "replace"))


def remove_folder(folder: Path, root: Path) -> None:
    """A folder of the root with all that is in it. Raises OSError where it cannot be."""
    if folder.is_symlink() or not folder.resolve().is_relative_to(root.resolve()) or folder.resolve() == root.resolve():
        raise OSError(0, "outside of the root", str(relative_path(folder)))
    if folder.exists():
        shutil.rmtree(folder)
