"""What holds for every test: no network beyond this machine, the same inputs each time, golden files that change only
on demand."""

from __future__ import annotations

import gc
import ipaddress
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import chdir
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 - has random numbers that Hypothesis knows of only where it is imported
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

from runner.system import redaction
from runner.words.wording import speak
from tests.record_folders import copy_of, make_small_records, make_small_runs
from tests.services.models_server import ModelsServer, serving_models
from tests.services.ports import free_port
from tests.services.redis_server import RedisServer, serving_redis
from tests.shared_folders import shared

os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # as in an activated environment

GOLDEN = Path(__file__).parent / "golden"

LONG = ("tests/command_line/", "tests/test_docs", "tests/test_records", "tests/test_wheel", "tests/runner/commands/")

# Files whose tests one worker makes, since what they have in common takes a worker seconds of processor time: to import
# MLflow and its store, or the distributions of SciPy, to load the dictionary of Kiwi, and what the processes are
# forked from that a test starts.
TOGETHER = {
    "kiwi": ("tests/test_docs.py", "tests/plugins/tokenizer/test_kiwi.py"),
    "mlflow": (
        "tests/command_line/test_case_traces.py",
        "tests/command_line/test_comparing.py",
        "tests/command_line/test_every_experiment.py",
        "tests/command_line/test_secrets.py",
        "tests/command_line/test_strangers.py",
        "tests/command_line/test_sweeps.py",
        "tests/fuzz/test_tracking.py",
        "tests/plugins/tracking/test_mlflow.py",
        "tests/runner/commands/test_results.py",
        "tests/runner/commands/test_track.py",
        "tests/runner/commands/test_ui.py",
        "tests/runner/compare/test_sides.py",
        "tests/runner/tracking/test_mlflow_client.py",
        "tests/runner/words/test_spoken.py",
    ),
    "scipy": (
        "tests/runner/commands/calibrate/test_agreement.py",
        "tests/runner/metrics/test_bounded.py",
        "tests/runner/metrics/test_correlation.py",
        "tests/runner/metrics/test_memory.py",
        "tests/runner/metrics/test_paired.py",
        "tests/runner/metrics/test_corrected_mean.py",
        "tests/runner/metrics/test_rank_agreement.py",
        "tests/runner/metrics/test_statistics.py",
    ),
    "forked": (
        "tests/command_line/test_calls.py",
        "tests/command_line/test_changed_code.py",
        "tests/command_line/test_costs.py",
        "tests/command_line/test_extension.py",
        "tests/command_line/test_failing_runs.py",
        "tests/command_line/test_init.py",
        "tests/command_line/test_resuming.py",
        "tests/command_line/test_stranger_metrics.py",
        "tests/command_line/test_systems.py",
        "tests/command_line/test_unfinished.py",
        "tests/command_line/test_waves.py",
        "tests/command_line/test_wrong_commands.py",
        "tests/runner/commands/test_generate.py",
    ),
}

_n_collected = 0  # full garbage collections up to the last after which was frozen what was left

# For this process and every process that a test starts.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["DO_NOT_TRACK"] = "true"
os.environ.pop("MLFLOW_TRACKING_URI", None)

# Thousands of modules and test items are made, of which nothing goes before the end.
gc.disable()

# Ctrl-C is heard by them also where a shell started the suite in the background, deaf to it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same inputs each time, however busy the machine is; --hypothesis-profile=default draws them anew.
settings.register_profile(
    "steady", derandomize=True, max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("steady"), derandomize=False, max_examples=1000)
settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write the golden files instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    # MLflow's own use of SQLAlchemy, which is nobody's here to repair.
    config.addinivalue_line("filterwarnings", "ignore::DeprecationWarning:mlflow")
    if hasattr(config.option, "loadscopereorder"):  # of xdist, which would begin with the files of most tests
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Two more than there are processors: tests wait for servers, processes and disks a quarter of their time, and of
    three workers on two processors more than one waits in each tenth moment."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else (os.cpu_count() or 1) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`, with the files of TOGETHER as one."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    of_file = {file: name for name, files in TOGETHER.items() for file in files}
    assert [file for file in of_file if not (config.rootpath / file).exists()] == []

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return of_file.get(file, file)

    return Together(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Hypothesis asks the garbage collector who holds the random numbers of numpy when it first draws some: now, while
    there are few objects to look through, and before they are frozen, of which it would not hear and warn that nobody
    does."""
    given(none())(lambda _: None)()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where workers share the files, those of whole commands come first: short ones at the end leave none idle."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: next((n for n, name in enumerate(LONG) if item.nodeid.startswith(name)), len(LONG)))


def pytest_collection_finish() -> None:
    """Modules and test items stay to the end: without them, each full garbage collection is far shorter. A run makes
    more objects than a collection every 700 is worth, which took an eighth of its time. What nobody needs any more by
    now is little, and finding it would take half a second."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def pytest_runtest_logfinish() -> None:
    """Each run ends with a full garbage collection. It would look through all that earlier tests have left, modules and
    compositions that stay, which took up to a third of the time of a module: they are left out after each test in which
    there was one. Cycles that nobody needs any more are freed before."""
    global _n_collected
    if _full_collections() > _n_collected:
        gc.collect()
        gc.freeze()
        _n_collected = _full_collections()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """What a test `leaks` is collected while its own filters of warnings hold."""
    if item.get_closest_marker("leaks") is not None:
        gc.collect()


def _full_collections() -> int:
    return int(gc.get_stats()[-1]["collections"])


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text is that of tests/golden/NAME (rewritten with --rewrite-golden)."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--rewrite-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(autouse=True)
def as_in_a_process_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a process keeps to its end, and the next test would meet: secrets, which would be hidden from what it
    prints, the language of the last command line, and modules that a test imported from a folder of its own."""
    secrets, redaction._secrets = redaction._secrets, redaction._Secrets()
    speak("en")
    last = next(reversed(sys.modules))  # those that are imported stand behind it
    yield
    redaction._secrets = secrets
    folder = str(tmp_path_factory.getbasetemp())
    for name in list(takewhile(lambda name: name != last, reversed(sys.modules))):
        if str(getattr(sys.modules[name], "__file__", None)).startswith(folder):
            del sys.modules[name]


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the test, with the cache of its runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMON_CACHE = Path(__file__).parents[1] / ".runner_cache"  # of what is run in the folder of the project


@pytest.fixture(autouse=True)
def no_common_cache() -> Iterator[None]:
    """Tests that share a cache find in it what others have left, or are just making there. Each has one of its own."""
    was_there = COMMON_CACHE.exists()
    yield
    assert was_there or not COMMON_CACHE.exists(), f"{COMMON_CACHE} was made: see the fixture empty_folder"


@pytest.fixture(autouse=True, scope="session")
def no_network_beyond_loopback() -> Iterator[None]:
    """Sockets of this process reach loopback addresses and Unix sockets only."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def inner(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                _demand_loopback(str(address[0]))
            return call(self, address)

        return inner

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None:
            _demand_loopback(host.decode() if isinstance(host, bytes) else str(host))
        return getaddrinfo(host, *args, **kwargs)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", guarded(connect))
    patch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
    patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
    yield
    patch.undo()


def _demand_loopback(host: str) -> None:
    if host in ("", "localhost", socket.gethostname()):
        return
    try:
        local = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        raise ConnectionRefusedError(f"tests must not reach {host}") from None
    if not (local.is_loopback or local.is_unspecified):
        raise ConnectionRefusedError(f"tests must not reach {host}")


@pytest.fixture(scope="session")
def _empty_mlflow_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To make its tables costs seconds."""
    from plugins.tracking.mlflow import MlflowTracking

    def make(folder: Path) -> None:
        MlflowTracking(uri=f"sqlite:///{folder}/mlflow.db").prepare()

    return shared(tmp_path_factory, "mlflow_store", make)


def _mlflow_store(empty: Path, factory: pytest.TempPathFactory) -> str:
    own = shutil.copytree(empty, factory.mktemp("mlflow") / "mlflow 저장소")
    return f"sqlite:///{own}/mlflow.db"


@pytest.fixture(scope="session")
def mlflow_store(_empty_mlflow_store: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """URI of an MLflow store on sqlite, shared by all tests of a worker."""
    return _mlflow_store(_empty_mlflow_store, tmp_path_factory)


@pytest.fixture
def own_mlflow_store(_empty_mlflow_store: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """One in which no other test has left anything."""
    return _mlflow_store(_empty_mlflow_store, tmp_path_factory)


@pytest.fixture(scope="module")
def mlflow_server(mlflow_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A tracking server on loopback, with the store and the artifacts behind it. It takes seconds to start: what needs
    one stands in one module."""
    from runner.commands.ui import NO_JOBS

    port, folder = free_port(), tmp_path_factory.mktemp("mlflow_server")
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", mlflow_store, "--workers", "1"]
    command += ["--artifacts-destination", str(folder / "artifacts"), "--port", str(port)]
    log, url = folder / "log", f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        environment = {**os.environ, **NO_JOBS}
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        _wait_for_mlflow(url, process, log)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # it would wait for connections that its clients keep open
        process.wait(20)


def _wait_for_mlflow(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """It imports for ten seconds of processor time, several times as long where nothing is compiled yet, and gets a
    part of a processor where many tests run."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            assert process.poll() is None, f"the server ended: {log.read_text(errors='replace')[-2000:]}"
            time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="session")
def small_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of tests/record_folders.py and their data. Not to be changed: take `copy_of` it."""

    def make(folder: Path) -> None:
        with chdir(folder):
            make_small_runs()

    return shared(tmp_path_factory, "small_runs", make)


@pytest.fixture(scope="session")
def small_records(small_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same folder with records of its runs, `experiments/한` and `experiments/s`. Not to be changed either."""

    def make(folder: Path) -> None:
        copy_of(small_runs, folder)
        with chdir(folder):
            make_small_records()

    return shared(tmp_path_factory, "small_records", make)


@pytest.fixture(scope="session")
def _models_server() -> Iterator[ModelsServer]:
    with serving_models() as server:
        yield server


@pytest.fixture
def server(_models_server: ModelsServer) -> ModelsServer:
    """An OpenAI-compatible server that answers at once and has seen nothing yet."""
    _models_server.renew()
    return _models_server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """A Redis of the module's own, which holds what earlier tests of it have left."""
    with serving_redis() as server:
        yield server


@pytest.fixture
def closed_port() -> int:
    """A loopback port on which nothing listens."""
    return free_port()
