import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from plugins.tracking.mlflow import MlflowTracking
from runner.commands import track
from runner.errors import ConfigError, InputError, TrackingError
from tests.run_folders import write_run, write_sweep_folder


def configured(uri: str, **settings: Any) -> dict[str, Any]:
    """run.json of a run that was tracked at `uri`."""
    target = "plugins.tracking.mlflow.MlflowTracking"
    return {"config": {"tracking": {"_target_": target, "uri": uri, "figures": False, **settings}}}


def test_a_run_goes_to_the_store_it_was_configured_with(
    mlflow_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlflow import MlflowClient

    folder = write_run(tmp_path, configured(mlflow_store, experiment="tracked later"))
    assert track.main([str(folder)]) == 0
    assert track.main([str(folder)]) == 0
    first, second = capsys.readouterr().out.split()[1::2]
    assert first == second
    run = MlflowClient(tracking_uri=mlflow_store).get_run(first)
    assert run.data.metrics["recall_at_k"] == 0.85
    assert MlflowClient(tracking_uri=mlflow_store).get_experiment(run.info.experiment_id).name == "tracked later"


def test_a_run_that_does_not_tell_when_it_began(mlflow_store: str, tmp_path: Path) -> None:
    folder = write_run(tmp_path, {**configured(mlflow_store), "created_at": None})
    with pytest.raises(InputError, match=f"^{re.escape(str(folder))}: its files are damaged or were edited "):
        track.main([str(folder)])


def test_a_sweep_goes_up_with_its_summary_and_without_runs_that_never_started(
    mlflow_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlflow import MlflowClient

    folder = write_sweep_folder(tmp_path / "late", (3, 5, 10))
    shutil.rmtree(folder / "1")
    assert track.main([str(folder), "--uri", mlflow_store]) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        str(folder / "0"), str(folder / "2"), str(folder),
    ]  # fmt: skip
    client = MlflowClient(tracking_uri=mlflow_store)
    experiment = client.get_experiment_by_name("full_rag")
    runs = client.search_runs([experiment.experiment_id], "tags.sweep_id = 'late'")
    assert sorted(run.info.run_name for run in runs) == [
        "k=10 · demo · late", "k=3 · demo · late", "summary of k=3,5,10 · late",
    ]  # fmt: skip
    assert (folder / "summary.md").is_file()


class Meeting:
    """A store that takes `concurrency` uploads at once. The first of them end when that many are there, the run named
    `refused` never does."""

    def __init__(self, concurrency: int, refused: str = "") -> None:
        self.concurrency = concurrency
        self.refused = refused
        self.begun: list[str] = []
        self._door = threading.Barrier(concurrency, timeout=240)

    def prepare(self) -> None:
        pass

    def upload(self, folder: Path) -> str | None:
        self.begun.append(folder.name)
        if len(self.begun) <= self.concurrency:
            self._door.wait()
        if folder.name == self.refused:
            raise TrackingError(f"{folder.name} was not uploaded")
        return f"id-{folder.name}"

    def upload_sweep(self, folder: Path) -> str | None:
        return "id-sweep"


def meeting(monkeypatch: pytest.MonkeyPatch, store: Meeting) -> None:
    monkeypatch.setattr(track, "_tracking", lambda *_, **__: store)


def test_runs_of_a_sweep_go_side_by_side_where_the_store_takes_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_sweep_folder(tmp_path / "s", range(1, 8))
    meeting(monkeypatch, Meeting(3))
    assert track.main([str(folder)]) == 0
    runs = [f"{folder / str(number)}: id-{number}" for number in range(7)]
    assert capsys.readouterr().out.splitlines() == [*runs, f"{folder}: id-sweep"]


def test_after_an_upload_that_fails_no_other_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_sweep_folder(tmp_path / "s", range(1, 8))
    store = Meeting(1, refused="2")
    meeting(monkeypatch, store)
    with pytest.raises(TrackingError, match=r"^2 was not uploaded$"):
        track.main([str(folder)])
    assert store.begun == ["0", "1", "2"]
    assert capsys.readouterr().out == "".join(f"{folder / n}: id-{n}\n" for n in "01")


def test_a_file_takes_one_upload_at_a_time_and_a_server_several() -> None:
    assert MlflowTracking(uri="sqlite:///runs.db").concurrency == 1
    assert MlflowTracking(uri="http://127.0.0.1:5000").concurrency > 1


def test_a_run_without_a_store_goes_to_that_of_the_configuration(
    mlflow_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(mlflow_store.removeprefix("sqlite:///"), "mlflow.db")
    folder = write_run(tmp_path / "r")
    assert track.main([str(folder)]) == 0
    assert re.fullmatch(rf"{re.escape(str(folder))}: [0-9a-f]{{32}}\n", capsys.readouterr().out)


def test_a_server_that_a_variable_names_is_ones_own(
    closed_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """run.json may be somebody else's, and names a server to which results would go."""
    folder = write_run(tmp_path, configured(f"http://127.0.0.1:{closed_port}"))
    with pytest.raises(InputError, match="your configuration does not name this address"):
        track.main([str(folder)])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:secret@127.0.0.1:{closed_port}")
    with pytest.raises(TrackingError, match=r"^tracking is not ready: MLflow at http://127[^@]* failed \(connection"):
        track.main([str(folder)])


def test_a_server_that_is_down(closed_port: int, tmp_path: Path) -> None:
    folder = write_run(tmp_path, configured("sqlite:///elsewhere.db"))
    with pytest.raises(TrackingError, match=r"^tracking is not ready: MLflow at .* failed \(connection refused\)"):
        track.main([str(folder), "--uri", f"http://127.0.0.1:{closed_port}"])


def test_settings_that_the_component_does_not_know(tmp_path: Path) -> None:
    folder = write_run(tmp_path, configured("sqlite:///x.db", colour="red"))
    with pytest.raises(ConfigError, match=r"tracking\.colour: unknown setting"):
        track.main([str(folder)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing: RUN_DIR"),
        (["nowhere"], "nowhere: no such folder (a run folder holds"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=rf"^{re.escape(message)}") as caught:
        track.main(arguments)
    assert caught.value.exit_code == 1


def test_a_sweep_of_which_nothing_has_started(tmp_path: Path) -> None:
    folder = write_sweep_folder(tmp_path / "s")
    shutil.rmtree(folder / "0")
    shutil.rmtree(folder / "1")
    with pytest.raises(InputError, match=r"none of its 2 runs has started, so there is nothing to upload$"):
        track.main([str(folder)])
