"""Settings that Hydra's launchers need to run the cells of a sweep in other processes or on other machines."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import which
from typing import Any

from omegaconf import DictConfig, OmegaConf, flag_override

from runner.config.hydra_internals import LAUNCHER
from runner.errors import InputError
from runner.run.cluster_jobs import wait_for_all_jobs
from runner.system.locks import check_locks_of_machines
from runner.system.writing import relative_path

RAY = "hydra_plugins.hydra_ray_launcher.ray_launcher.RayLauncher"
SUBMITIT = "hydra_plugins.hydra_submitit_launcher.submitit_launcher"
OF_SLURM = ("sbatch", "srun", "squeue", "scancel")
SLURM = f"{SUBMITIT}.SlurmLauncher"
ADDRESS = "hydra.launcher.ray.init.address"
RAY_ADDRESS = "RAY_ADDRESS"  # which Ray reads by itself
CLIENT = "ray://"
CONNECT_S = 5.0


def is_here(hydra: DictConfig) -> bool:
    """Whether the launcher runs the cells in this process, one after the other."""
    return str(hydra.launcher.get("_target_")) == LAUNCHER


def check(hydra: DictConfig) -> None:
    """Raises InputError where SLURM is not there, or where Ray would join a cluster that does not answer, for which it
    waits minutes."""
    if str(hydra.launcher.get("_target_")) == SLURM and (missing := [name for name in OF_SLURM if which(name) is None]):
        needs = "expected a machine from which jobs are submitted, or hydra/launcher=submitit"
        raise InputError(
            f"hydra/launcher: slurm needs the commands {', '.join(missing)}, which are not on PATH; {needs}"
        )
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


def check_disks(cfg: DictConfig, hydra: DictConfig) -> None:
    """Raises InputError where the runs take place on several machines, which would not see each other's locks."""
    target, init = str(hydra.launcher.get("_target_")), _ray_init(hydra)
    if target == SLURM or (init is not None and _cluster(init) is not None):
        for setting, folder in (("out", cfg.out or "outputs"), ("cache_dir", cfg.cache_dir)):
            check_locks_of_machines(setting, relative_path(Path(folder)))


_EXPECTED = f"expected one that runs, or {ADDRESS}=local, by which the command starts its own"


def go_to(place: Mapping[str, Any] | None) -> None:
    """Change, in a worker, to the folder in which the command was given, from which paths and modules are resolved."""
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
            wait_for_all_jobs()
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
