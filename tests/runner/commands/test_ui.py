import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from plugins.tracking.mlflow import MlflowTracking
from runner.commands import ui
from runner.compare.sides import Finder
from runner.errors import InputError
from runner.tracking import mlflow_pages
from runner.tracking.mlflow_pages import index, newest_experiments
from runner.tracking.mlflow_views import link
from tests.comparison_runs import graded, run_folder


def test_no_store_yet(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    with pytest.raises(InputError, match=r"mlflow\.db: no tracking store yet; a run with tracking=mlflow makes one"):
        ui.main(["--uri", uri])
    assert list(tmp_path.iterdir()) == []


def test_the_configured_store_is_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^mlflow\.db: no tracking store yet"):
        ui.main([])


def test_tracking_alone_has_no_pages(mlflow_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ui, "INDEX", ("server", "js", "build", "none.html"))
    with pytest.raises(InputError) as caught:
        ui.main(["--uri", mlflow_store])
    assert str(caught.value) == "ui needs the pages of MLflow: pip install -e '.[ui]' (runs are tracked without them)"


def test_a_server_has_its_own_ui(capsys: pytest.CaptureFixture[str]) -> None:
    assert ui.main(["--uri", "https://user:secret@tracking.example:443/x"]) == 0
    shown = "runs are tracked on a server that has a UI of its own: https://tracking.example:443/x\n"
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("uri", ["nowhere", "file:./mlruns"])
def test_a_folder_is_no_store(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        ui.main(["--uri", uri])
    assert str(caught.value) == (
        f"'{uri}' is not an MLflow store; expected sqlite:///FILE, another database, or http://ADDRESS"
    )


def test_a_port_in_use(mlflow_store: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        with pytest.raises(InputError, match=rf"^cannot listen on 127\.0\.0\.1:{port} \(.*in use.*; choose another"):
            ui.main(["--uri", mlflow_store, "--port", port])


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6")
@pytest.mark.parametrize("host", ["::", "::1", "[::1]", "\udc80", "a" * 70 + ".b"])
def test_a_host_that_cannot_be_listened_on(host: str, mlflow_store: str) -> None:
    """The first two for the port alone; the others name none."""
    with socket.create_server(("::", 0), family=socket.AF_INET6) as server:
        port = str(server.getsockname()[1])
        with pytest.raises(InputError, match=rf"^cannot listen on {re.escape(host)}:{port} \(.*--host and --port$"):
            ui.main(["--uri", mlflow_store, "--host", host, "--port", port])


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("no database, and longer than the head of one is\n" * 5)
    with pytest.raises(InputError, match=r"mlflow\.db is not an SQLite database, or is damaged \(file is not a data"):
        ui.main(["--uri", f"sqlite:///{tmp_path}/mlflow.db"])


def test_a_store_of_a_kind_that_nobody_knows() -> None:
    with pytest.raises(InputError, match=r"^'nope://x' is not an MLflow store; expected sqlite:///FILE"):
        ui.main(["--uri", "nope://x"])


@pytest.mark.parametrize("port", ["many", "0", "65536"])
def test_a_port_that_is_none(port: str) -> None:
    with pytest.raises(InputError, match=rf"--port: expected a whole number from 1 to 65535, found '{port}'"):
        ui.main(["--port", port])


def test_experiments_with_the_newest_runs_are_named_first(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    MlflowTracking(uri=uri).prepare()
    client = MlflowClient(uri)
    older, newer, _ = (client.create_experiment(name) for name in ("older", "newer", "empty"))
    for experiment, start in ((newer, 2000), (older, 1000), (newer, 500)):
        client.create_run(experiment, start_time=start)
    assert newest_experiments(uri, 5) == [("newer", newer), ("older", older)]
    assert newest_experiments(uri, 1) == [("newer", newer)]
    assert newest_experiments("postgresql://localhost/x", 5) == []
    assert f'if (!location.hash) location.replace("{link(newer)}")' in index(uri)
    assert 'if (!location.hash) location.replace("#/experiments")' in index("postgresql://localhost/x")


@pytest.mark.parametrize("installed", [True, False])
def test_the_other_start_needs_its_entry_point(
    installed: bool, mlflow_store: str, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable installation from before it was added has none."""
    started: list[list[str]] = []
    monkeypatch.setattr(ui.os, "execve", lambda _, command, __: started.append(command))
    if not installed:
        monkeypatch.setattr(mlflow_pages, "entry_points", lambda **_: ())
    MlflowTracking(uri=mlflow_store).prepare()
    ui.main(["--uri", mlflow_store, "--port", str(closed_port)])
    assert started[0][-2:] == (["--app-name", "runner"] if installed else ["--workers", "1"])


def test_it_serves_runs_until_it_is_told_to_stop(mlflow_store: str, closed_port: int, tmp_path: Path) -> None:
    """A server takes seconds to start: that a run is uploaded to one and opened from there is tested here as well."""
    url = f"http://127.0.0.1:{closed_port}"
    command = [sys.executable, "-m", "runner", "ui", "--uri", mlflow_store, "--port", str(closed_port)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=tmp_path
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == f"MLflow UI on {url} (Ctrl-C ends it)\n"
        assert re.search(rb"location\.replace\(.*<title>MLflow</title>", page(f"{url}/", process), re.DOTALL)
        _keeps_a_run_that_is_opened_from_there(url, tmp_path)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", closed_port))


def _keeps_a_run_that_is_opened_from_there(url: str, folder: Path) -> None:
    name, rows = f"served {folder.name}", [graded("a", 1.0), graded("b", 0.5)]
    run = run_folder(folder / "there", rows, {"experiment": name})
    run_id = MlflowTracking(uri=url, figures=False, timeout_s=20).upload(run)
    finder = Finder(folder / "downloads", url)
    for reference in (str(run_id), f"latest:{name}"):
        side = finder.open(reference)
        assert (side.snapshot.run["id"], list(side.rows({"b"}))) == ("there", ["b"])
    assert json.loads((folder / "downloads" / str(run_id) / "run.json").read_text())["id"] == "there"


def page(url: str, process: "subprocess.Popen[str]") -> bytes:
    """The page, as soon as the server is up."""
    while process.poll() is None:
        try:
            with urllib.request.urlopen(url) as response:
                return bytes(response.read())
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"the server ended: {process.communicate()[1]}")
