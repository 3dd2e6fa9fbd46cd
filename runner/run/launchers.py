"""Settings that Hydra's launchers need to run the cells of a sweep in other processes or on other machines."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf, flag_override

from runner.config.hydra_internals import LAUNCHER
from runner.errors import InputError

if TYPE_CHECKING:
    from hydra.core.utils import JobReturn

RAY = "hydra_plugins.hydra_ray_launcher.ray_launcher.RayLauncher"
SUBMITIT = "hydra_plugins.hydra_submitit_launcher.submitit_launcher"
ADDRESS = "hydra.launcher.ray.init.address"
RAY_ADDRESS = "RAY_ADDRESS"  # which Ray reads by itself
CLIENT = "ray://"
CONNECT_S = 5.0


def is_here(hydra: DictConfig) -> bool:
    """Whether the launcher runs the cells in this process, one after the other."""
    return str(hydra.launcher.get("_target_")) == LAUNCHER


def check(hydra: DictConfig) -> None:
    """Raises InputError where Ray would join a cluster that does not answer, for which it waits minutes."""
    init = _ray_init(hydra)
    cluster = None if init is None else _cluster(init)
    if init is None or cluster is None:
        return
    host, _, port = cluster.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, ValueError):
        is_named = init.get("address") not in (None, "auto")
        place = RAY_ADDRESS if os.environ.get(RAY_ADDRESS) and not is_named else ADDRESS
        raise InputError(f"{place}: no Ray cluster answers at {cluster}; {_EXPECTED}") from None


_EXPECTED = f"expected one that runs, or {ADDRESS}=local, by which the command starts its own"


def go_to(place: Mapping[str, Any] | None) -> None:
    """In a worker: change to the folder in which the command was given, from which paths and modules are resolved."""
    if place is not None and os.path.realpath(place["path"]) != os.path.realpath(Path.cwd()):
        os.chdir(place["path"])
    if place is not None and place["path"] not in sys.path:
        sys.path.insert(0, place["path"])


def prepare(nodes: Iterable[DictConfig]) -> None:
    """Prepare the launcher before it gets its jobs; `nodes`: the `hydra` nodes of the cells."""
    for hydra in nodes:
        target = str(hydra.launcher.get("_target_"))
        if (init := _ray_init(hydra)) is not None and _cluster(init) is not None:
            _fit_cluster(init)
        if target.startswith(SUBMITIT):
            _wait_for_all_jobs()
            return


def _ray_init(hydra: DictConfig) -> DictConfig | None:
    """The settings that Ray is started with; None for other launchers."""
    if str(hydra.launcher.get("_target_")) != RAY:
        return None
    init: DictConfig | None = OmegaConf.select(hydra, "launcher.ray.init")
    return init


def _cluster(init: DictConfig) -> str | None:
    """The host:port of the running cluster that Ray joins: the configured one (perhaps by the environment), else the
    last one that was started on this machine. None where Ray starts its own cluster. Raises InputError."""
    from ray._private.services import canonicalize_bootstrap_address

    address = init.get("address")
    if address in (None, "auto"):
        address = os.environ.get(RAY_ADDRESS) or address
    if str(address).startswith(CLIENT):
        return str(address).removeprefix(CLIENT)
    try:
        cluster: str | None = canonicalize_bootstrap_address(address, init.get("_temp_dir"))
    except ConnectionError:
        raise InputError(f"{ADDRESS}: no Ray cluster runs on this machine; {_EXPECTED}") from None
    except ValueError:
        raise InputError(f"{ADDRESS}: expected HOST:PORT, auto or local, got '{address}'") from None
    return cluster


def _fit_cluster(init: DictConfig) -> None:
    """Drop the memory size that the Ray launcher sets, which a running cluster refuses."""
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

    common_options = set(OmegaConf.structured(BaseQueueConf).keys())
    params = {
        name: value for name, value in launcher.params.items() if name not in ("submitit_folder", "max_num_timeout")
    }
    return {name if name in common_options else f"{launcher._EXECUTOR}_{name}": value for name, value in params.items()}
