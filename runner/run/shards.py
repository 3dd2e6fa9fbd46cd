"""`shards=8`: the cases of one run, dealt to processes, each with a journal of its own.

A pass over a run with shards has three parts. The run prepares as it does without them (index, rankings, check of the
judge), serves no case, and leaves what it has read and hashed in RUN/.shards (runner.system.handover), so that a shard
costs what its own cases do. On this machine the processes of the shards start meanwhile. Then its shards are served
side by side, each in RUN/.shards/NUMBER. Last the run takes their rows and calls into its own files, and sums up. What
a shard had in flight when it was lost is served by the process that takes its place; a shard that was interrupted
leaves its rows to the next command.

The budget is one, because the ledger lies in the folder of the command, and so are requests and tokens per minute,
which the shards count in RUN/.shards. Requests at once are those of a run, cut into as many parts. Two shards that ask
the same are answered by one request, which the cache sees to.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf, open_dict

from runner.config.components import build
from runner.config.hydra_internals import as_written
from runner.config.options import options_of, used_keys
from runner.config.schema import load
from runner.errors import ConfigError, InputError, Problem, RunnerError, describe_unexpected
from runner.llm.calls import FILE as CALLS
from runner.llm.calls import append_calls
from runner.llm.limiter import sharing_rates
from runner.run.ahead import ready_end
from runner.run.cluster_jobs import press_ctrl_c
from runner.run.engine import INTERRUPTED
from runner.run.folders import lock_folder
from runner.run.job import OUTCOME, Job, Outcome
from runner.run.progress import progress
from runner.run.run import ROWS, execute
from runner.run.selection import selected_cases
from runner.run.serving import PROGRESS, Service, kept_preparation, serve_pending
from runner.system import redaction, terminal
from runner.system.collector import collect_seldom, end_quickly
from runner.system.handover import clear, leave, share_folder
from runner.system.journal import Journal, ids_in
from runner.system.metadata import write_json
from runner.system.shared import case_ids, sharing
from runner.system.writing import make_folder, write_text

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

SHARDS = ".shards"
LOG = "log.txt"
BLOCK = 64  # most neighbouring cases that are dealt together
BLOCKS = 8  # of each shard at least, where there are as many cases
ATTEMPTS = 3  # at one shard whose process ends without a word
LOOK_S = 0.3  # between looks at how far the shards are
GRACE_S = 20.0  # for what is in flight, after which a process is killed


def count_of(cfg: DictConfig) -> int:
    """Into how many parts the cases of a run are cut."""
    return int(cfg.get("shards") or 1)


def share_of(places: Sequence[int], number: int, count: int) -> Sequence[int]:
    """The part of one shard: neighbours stay together, since they are often about the same documents, which each
    process analyses again. Blocks are dealt in turn, every other round from the last shard to the first."""
    n = len(places)
    blocks = min(n, count * max(BLOCKS, -(-n // (count * BLOCK))))
    turns = number, 2 * count - 1 - number
    return [place for at, place in enumerate(places) if at * blocks // n % (2 * count) in turns]


def place_in(run: Path, number: int) -> Path:
    """The folder of a shard."""
    return run / SHARDS / str(number)


def problems(cfg: DictConfig, *, is_one: bool, is_here: bool) -> list[Problem]:
    """Why a run cannot be cut. `is_here`: no launcher makes the runs elsewhere."""
    count = count_of(cfg)
    if count == 1:
        return []
    if not is_one and not is_here:
        needs = "the launcher makes whole runs of a sweep side by side; expected shards=1, or no launcher"
        return [Problem("shards", needs)]
    if "models" in used_keys(cfg) and count > cfg.max_concurrency:
        needs = f"the shards share max_concurrency={cfg.max_concurrency} requests; expected max_concurrency={count}"
        return [Problem("shards", f"{needs} or more, or shards={cfg.max_concurrency}")]
    return []


def check(cfg: DictConfig, *, is_one: bool, is_here: bool) -> None:
    """Raises ConfigError."""
    if found := problems(cfg, is_one=is_one, is_here=is_here):
        raise ConfigError(found)


# --- in the process of a shard --------------------------------------------------------------------


def serve_shard(job: Job, number: int) -> Outcome:
    """Serve the cases of one shard that have no row yet. The outcome is written to its folder, also after an error."""
    folder, started = place_in(job.folder, number), time.perf_counter()
    with lock_folder(folder), sharing_rates(folder.parent), share_folder(folder.parent):
        outcome = Outcome("partial", INTERRUPTED.exit_code, INTERRUPTED.message)
        try:
            outcome = _serve_shard(_part(job, number), folder, number, started)
        except RunnerError as error:
            outcome = Outcome("partial", error.exit_code, str(error))
        except Exception as error:  # a bug; the run reports it
            outcome = Outcome("partial", 3, f"unexpected {describe_unexpected(error)} in shard {number}")
        finally:
            elapsed_s = time.perf_counter() - started
            replace(outcome, elapsed_s=elapsed_s, wave=job.wave.number).write(folder)
    return outcome


def _serve_shard(job: Job, folder: Path, number: int, started: float) -> Outcome:
    options, components = options_of(job.cfg), build(job.cfg.evaluation)
    cases = selected_cases(components.root.load(), options)
    share = partial(share_of, number=number, count=count_of(job.cfg))
    with Journal(folder / ROWS, again=False) as journal:
        service = Service(job, options, components, cases, journal, started, ids_in(job.folder / ROWS), share, folder)
        preparation = kept_preparation(job.folder)
        progress_record = {"total": len(cases), "done": 0, "pending": len(service.pending)}
        write_json(folder / PROGRESS, progress_record)
        if not service.pending:
            return Outcome("completed", 0)
        with collect_seldom():
            _, stop = asyncio.run(serve_pending(service, preparation))
    return Outcome("completed", 0) if stop is None else Outcome("partial", stop.exit_code, stop.message)


def _part(job: Job, number: int) -> Job:
    """The job with its share of requests at once."""
    count, cfg = count_of(job.cfg), job.cfg.copy()
    with open_dict(cfg):
        cfg.max_concurrency = max(1, _share(cfg.max_concurrency, number, count))
        for settings in cfg.provider.values():
            if OmegaConf.select(settings, "max_concurrency") is not None:
                settings.max_concurrency = max(1, _share(settings.max_concurrency, number, count))
    return replace(job, cfg=cfg, label=f"{job.label}[{number + 1}/{count}] ")


def _share(whole: int, number: int, count: int) -> int:
    """Parts of a whole number that add up to it."""
    return whole // count + (number < whole % count)


def prepare(job: Job) -> Outcome:
    """Make the pass before that of the shards, in a worker of a launcher, which leaves them what it has read."""
    with sharing(several=False):
        outcome = execute(job)
        if outcome.status == "running":
            make_folder(job.folder / SHARDS)
            leave(job.folder / SHARDS)
    return outcome


# --- in the process of the run --------------------------------------------------------------------


def join(run: Path) -> float:
    """Take the rows and calls of shards into the files of their run. Only where no shard is served. Returns the seconds
    that the longest of them took."""
    clear(run / SHARDS)
    folders = [folder for folder in (run / SHARDS).glob("[0-9]*") if (folder / ROWS).exists()]
    longest = 0.0
    if not folders:
        return longest
    with Journal(run / ROWS, again=False) as journal:
        for folder in sorted(folders, key=lambda folder: int(folder.name)):
            with lock_folder(folder):
                append_calls(folder / CALLS, run / CALLS)
                journal.adopt(folder / ROWS)
                outcome = Outcome.read(folder)
                longest = max(longest, 0.0 if outcome is None else outcome.elapsed_s)
                for name in (ROWS, CALLS):  # what they held is on the disk by now
                    (folder / name).unlink(missing_ok=True)
    return longest


def settle(job: Job) -> str | None:
    """Merge the results of the shards into the run, and write their outcome to where the last part of the pass looks
    for it. Returns why the run cannot complete, None where it can."""
    found = [Outcome.read(place_in(job.folder, number)) for number in range(count_of(job.cfg))]
    lost = Outcome("partial", INTERRUPTED.exit_code, INTERRUPTED.message)
    bad = next((outcome or lost for outcome in found if outcome is None or outcome.status != "completed"), None)
    longest, before = join(job.folder), job.before or Outcome("running", 0)
    after = replace(before, elapsed_s=before.elapsed_s + longest)
    if bad is None:
        after.write(job.folder)
        shutil.rmtree(job.folder / SHARDS, ignore_errors=True)
        return None
    replace(after, status="partial", exit_code=bad.exit_code, error_message=bad.error_message).write(job.folder)
    return str(bad.error_message)


@dataclass(frozen=True, slots=True)
class Spare:
    """A process that has imported what a shard needs, and waits for one."""

    process: BaseProcess
    jobs: Connection[tuple[Job, int], Any]

    @classmethod
    def start(cls, targets: Sequence[str] = ()) -> Spare:
        """`targets`: classes of components."""
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        jobs, ours = context.Pipe(duplex=False)
        process = context.Process(target=_begin, args=(jobs, targets, os.getpid()), daemon=True)
        process.start()
        jobs.close()
        return cls(process, ours)

    def take(self, job: Job, number: int) -> None:
        """Give the process its shard."""
        with self.jobs:
            self.jobs.send((job, number))


@contextmanager
def spare_processes(cfg: DictConfig) -> Iterator[list[Spare]]:
    """Start the processes of the shards while the run prepares, which takes one processor. Those that nobody took end
    with the body."""
    targets = sorted(set(_targets(as_written(cfg.evaluation))))
    spare = [Spare.start(targets) for _ in range(count_of(cfg))]
    try:
        yield spare
    finally:
        for process in spare:
            process.jobs.close()
            process.process.terminate()
            process.process.join()


def _targets(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(target := node.get("_target_"), str):
            yield target
        yield from (target for value in node.values() for target in _targets(value))


@dataclass
class _Worker:
    """One process at a time for a shard. `read`: bytes of its rows that were looked at."""

    job: Job
    number: int
    process: BaseProcess | None = None
    attempts: int = 0
    read: int = 0

    @property
    def folder(self) -> Path:
        return place_in(self.job.folder, self.number)

    def start(self, spare: list[Spare] | None = None) -> None:
        """Let a process serve the shard, one of the spare ones or a new one. Its output goes to a file."""
        self.attempts += 1
        process = spare.pop() if spare else Spare.start()
        self.process = process.process
        with suppress(OSError):  # it was killed, which is seen by its end
            process.take(self.job, self.number)

    def is_over(self) -> bool:
        """Whether the shard is complete. A process that ended without a result is started again."""
        if self.process is None or self.process.is_alive():
            return False
        self.process.join()
        if Outcome.read(self.folder) is not None:
            return True
        if self.attempts < ATTEMPTS:
            terminal.note(self.job.say("progress.lost_shard", number=self.number + 1, run=self.job.folder))
            self.start()
            return False
        reason = f"shard {self.number} lost its process {ATTEMPTS} times ({self.folder / LOG})"
        Outcome("partial", 3, reason).write(self.folder)
        return True

    def advance(self, tell: Callable[[bytes], None]) -> None:
        """Report each row that was added since."""
        with suppress(FileNotFoundError), (self.folder / ROWS).open("rb") as file:
            file.seek(self.read)
            for line in file:
                if line.endswith(b"\n"):
                    tell(line)
                    self.read += len(line)


def make_here(jobs: Sequence[Job], spare: list[Spare]) -> None:
    """Serve the shards of these runs, a process each, those of one run side by side. `spare`: processes to be used
    first."""
    from multiprocessing.connection import wait

    for job in jobs:
        workers = [_Worker(job, number) for number in range(count_of(job.cfg))]
        for worker in workers:
            drop_outcome(worker.folder)
        if not (pending := _n_pending(job)):
            for worker in workers:
                Outcome("completed", 0).write(worker.folder)
            continue
        leave(job.folder / SHARDS)
        with progress(pending, job.title, lambda: "", job.say) as bar, _end_workers(workers):
            for worker in workers:
                worker.start(spare)
            ready_end((), reports=job.cfg.format != "json")

            def tell(line: bytes) -> None:
                failed = b'"status":"ok"' not in line
                bar.advance(failed=failed, unscored=not failed and b'"unscored":[]' not in line)

            running = list(workers)
            while running:
                wait([worker.process.sentinel for worker in running if worker.process is not None], LOOK_S)
                over = [worker for worker in running if worker.is_over()]
                for worker in running:
                    worker.advance(tell)
                running = [worker for worker in running if worker not in over]


def drop_outcome(folder: Path) -> None:
    """Before a shard is served: a stale outcome must not pass for a new one."""
    make_folder(folder)
    (folder / OUTCOME).unlink(missing_ok=True)


def _n_pending(job: Job) -> int:
    """Cases of this pass without a row."""
    cases = selected_cases(build(job.cfg.evaluation).root.load(), options_of(job.cfg))
    done = ids_in(job.folder / ROWS)
    return sum(id not in done for id in case_ids(job.wave.of(cases, job.cfg.seed)))


@contextmanager
def _end_workers(workers: Sequence[_Worker]) -> Iterator[None]:
    """End all worker processes on exit. Interrupted workers get a signal, and may finish the cases in flight."""
    try:
        yield
    finally:
        alive = [worker.process for worker in workers if worker.process is not None and worker.process.is_alive()]
        for process in alive:
            process.terminate()
        until = time.monotonic() + GRACE_S
        for process in alive:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


def _begin(jobs: Connection[Any, tuple[Job, int]], targets: Sequence[str], parent: int) -> None:
    """Run a shard in its process."""
    from multiprocessing import current_process

    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # until it has a shard; the run ends it
    for target in targets:
        with suppress(Exception):  # it is raised again where the component is built
            load(target)
    try:
        job, number = jobs.recv()
    except EOFError:
        return
    current_process().name = f"shard {number}"
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _as_ctrl_c)
    log = place_in(job.folder, number) / LOG
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    redaction.learn_environment()
    redaction.learn(as_written(job.cfg))
    end_quickly()
    with redaction.guarded_streams():
        try:
            serve_shard(job, number)
        except KeyboardInterrupt:
            return
        except InputError as error:
            terminal.fail(str(error))
            write_text(log.with_name("error.log"), str(error))


def _as_ctrl_c(_: int, frame: FrameType | None) -> None:
    press_ctrl_c(frame)


def _die_with(parent: int) -> None:
    """On Linux, make this process end together with the one that started it."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
