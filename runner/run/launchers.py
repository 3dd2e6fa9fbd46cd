"""What Hydra's launchers need besides their settings to run the cells of a sweep in other processes or on other
machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf, flag_override

from runner.config.hydra_internals import LAUNCHER

if TYPE_CHECKING:
    from hydra.core.utils import JobReturn

RAY = "hydra_plugins.hydra_ray_launcher.ray_launcher.RayLauncher"
SUBMITIT = "hydra_plugins.hydra_submitit_launcher.submitit_launcher"


def is_here(hydra: DictConfig | None) -> bool:
    """Whether the launcher runs the cells in this process, one after the other."""
    return hydra is None or str(hydra.launcher.get("_target_")) == LAUNCHER


def go_to(place: Mapping[str, Any] | None) -> None:
    """In a worker: change to the folder in which the command was given, from which paths and modules are resolved."""
    if place is not None and os.path.realpath(place["path"]) != os.path.realpath(Path.cwd()):
        os.chdir(place["path"])
    if place is not None and place["path"] not in sys.path:
        sys.path.insert(0, place["path"])


def prepare(nodes: Iterable[DictConfig | None]) -> None:
    """Prepare the launcher before it gets its jobs; `nodes`: the `hydra` nodes of the cells."""
    for hydra in nodes:
        target = "" if hydra is None else str(hydra.launcher.get("_target_"))
        if hydra is not None and target == RAY:
            _fit_cluster(hydra)
        if target.startswith(SUBMITIT):
            _wait_for_all_jobs()
            return


def _fit_cluster(hydra: DictConfig) -> None:
    """Drop the memory size that the Ray launcher sets, which a running cluster refuses."""
    init = OmegaConf.select(hydra, "launcher.ray.init")
    if init is not None and (init.get("address") or os.environ.get("RAY_ADDRESS")):
        with flag_override(init, ["struct", "readonly"], [False, False]):
            init.setdefault("object_store_memory", None)


def _wait_for_all_jobs() -> None:
    """The submitit launcher raises the first error while other jobs still run; this one waits for all jobs first."""
    from hydra_plugins.hydra_submitit_launcher import submitit_launcher

    plugin: Any = submitit_launcher
    plugin.BaseSubmititLauncher.launch = _launch


def _launch(self: Any, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
    """The method of the plugin's launcher."""
    import submitit
    from hydra.core.singleton import Singleton

    executor = submitit.AutoExecutor(cluster=self._EXECUTOR, **_executor_settings(self))
    executor.update_parameters(**_resources(self))
    numbers = [initial_job_idx + number for number in range(len(job_overrides))]
    jobs = executor.map_array(
        self,
        [list(overrides) for overrides in job_overrides],
        ["hydra.sweep.dir"] * len(numbers),
        numbers,
        [f"job_id_for_{number}" for number in numbers],
        [Singleton.get_state()] * len(numbers),
    )
    failed = [error for job in jobs if (error := job.exception()) is not None]
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(jobs)} jobs: {failed[0]}; logs: {self.params['submitit_folder']}")
    return [job.results()[0] for job in jobs]


def _executor_settings(launcher: Any) -> dict[str, Any]:
    limit = {f"{launcher._EXECUTOR}_max_num_timeout": launcher.params.get("max_num_timeout")}
    return {"folder": launcher.params["submitit_folder"], **{name: n for name, n in limit.items() if n is not None}}


def _resources(launcher: Any) -> dict[str, Any]:
    """The submitit parameters: common ones keep their names, the others get the prefix of their executor."""
    from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf

    shared = set(OmegaConf.structured(BaseQueueConf).keys())
    kept = {
        name: value for name, value in launcher.params.items() if name not in ("submitit_folder", "max_num_timeout")
    }
    return {name if name in shared else f"{launcher._EXECUTOR}_{name}": value for name, value in kept.items()}
