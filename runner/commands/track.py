"""Upload a finished run or sweep folder to its tracking store, or update an earlier upload."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runner import report
from runner.commands import TRUST, URI, Command, Option, Place, whole_number_reader
from runner.errors import ConfigError, InputError
from runner.protocols import Tracking, attribute_of
from runner.system import terminal
from runner.system.folder import is_sweep, legible, open_run, open_sweep
from runner.tracking.mlflow_client import default_settings

COMMAND = Command("track", (Place("run_dir", Path),), (Option("traces", "N", whole_number_reader(0)), URI, TRUST))


def main(argv: Sequence[str]) -> int:
    """Raises InputError for a folder without results and TrackingError where the store refuses them."""
    options = COMMAND.read(argv)
    folder: Path = options.run_dir
    with legible(folder):
        runs = _runs(folder) if is_sweep(folder) else [folder]
        tracking = _tracking(runs[0], options.uri, options.traces, trusts=options.trust)
    tracking.prepare()
    for run, id in zip(runs, _upload(tracking, runs), strict=True):
        terminal.write(f"{run}: {id}\n")
    if is_sweep(folder):
        with legible(folder):
            report.write_sweep(folder)
            terminal.write(f"{folder}: {tracking.upload_sweep(folder)}\n")
    return 0


def _upload(tracking: Tracking, runs: Sequence[Path]) -> Iterator[str | None]:
    """The ids of the runs at the store, in the same order; as many uploads at once as the store takes. After the first
    that fails, no other begins."""

    failed = threading.Event()

    def upload(run: Path) -> str | None:
        if failed.is_set():
            return None
        try:
            with legible(run):
                return tracking.upload(run)
        except BaseException:
            failed.set()
            raise

    pool = ThreadPoolExecutor(int(attribute_of(tracking, "concurrency")), "upload")
    try:
        yield from pool.map(upload, runs)
    finally:
        pool.shutdown(cancel_futures=True)


def _runs(sweep: Path) -> list[Path]:
    """The folders of started runs of a sweep."""
    head = open_sweep(sweep)
    folders = [sweep / str(run["folder"]) for kind in ("cells", "references") for run in head.get(kind) or ()]
    started = [folder for folder in folders if (folder / "run.json").is_file()]
    if not started:
        raise InputError(f"{sweep}: none of its {len(folders)} runs has started, so there is nothing to upload")
    return started


def _tracking(folder: Path, uri: str | None, traces: int | None, *, trusts: bool) -> Tracking:
    """The tracking component of the run in `folder` with the given store and number of traces; the default one where
    the run had none. Raises InputError for a component of another package unless it is trusted."""
    from omegaconf import OmegaConf

    from runner.config.components import build, check
    from runner.config.vetting import strange_component

    settings = dict((open_run(folder).run.get("config") or {}).get("tracking") or {})
    if "uri" not in settings:  # tracking=none
        settings = default_settings()
    uri_setting = {} if uri is None else {"uri": uri}
    traces_setting = {} if traces is None else {"traces": traces}
    node = OmegaConf.create({"tracking": settings | uri_setting | traces_setting}).tracking
    if not trusts and (strange := strange_component(node, uri_setting)):
        raise InputError(
            f"{folder / 'run.json'} names things that neither this program nor its configuration names; nothing "
            f"was uploaded:{''.join(f'{chr(10)}  {part}' for part in strange)}\n--trust uploads them anyway; "
            "--uri names another store"
        )
    problems = check(node)
    if problems:
        raise ConfigError(problems)
    tracking: Tracking = build(node).root
    return tracking
