"""Folders that go up to a tracking store after they were damaged, stores that are damaged or none, and the door to the
MLflow UI."""

from __future__ import annotations

import shutil
import socket
from itertools import count
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.cli import main
from tests.fuzz.damage import NASTY, PLACES, altered, damaged, encoded
from tests.fuzz.inputs import ended, inputs
from tests.small_data import small_data

HEADS = {
    "run": ("run.json", "summary.json", ".mlflow_run.json", "per_item.jsonl", "snapshot.json"),
    "sweep": (
        "sweep.json",
        "summary.json",
        "0/run.json",
        "1/summary.json",
        "sweep_comparison.json",
        ".mlflow_run.json",
    ),
}
# As a command line may hold them: what is no text comes as escaped bytes.
TEXTS = [value.replace("\0", "").replace("\ud800", "\udc80") for value in NASTY if isinstance(value, str)]
STORES = [
    "sqlite:///STORE", "sqlite:///new/STORE", "sqlite:///run", "sqlite:////dev/null", "sqlite://", "sqlite:",
    "sqlite:///STORE?x=1", "sqlite:///loop", "sqlite:///run/run.json", "file:STORE", "mlruns", "nope://x", "http://",
    "http://[", "http://127.0.0.1:99999", "http://127.0.0.1:x", "https://", "postgresql://127.0.0.1:1/x", "mysql:",
    "databricks", "uc", "://", "run",
]  # fmt: skip
HOSTS = ["127.0.0.1", "localhost", "0.0.0.0", "::1", "[::1]", "256.1.1.1", "a" * 70 + ".b", ".", "-", "run"]
NUMBER = count()
PORTS = ["0", "-1", "65536", "٣٣٣٣٣٣", "nan", "9" * 5000, "80 ", "1e3", "", "가"]  # on none of which a server begins


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory, mlflow_store: str) -> Path:
    """`run` and `sweep`, both uploaded to STORE."""
    folder = tmp_path_factory.mktemp("tracked")
    shutil.copy(mlflow_store.removeprefix("sqlite:///"), folder / "STORE")
    chosen = ["retriever=keyword", "tokenizer=word", "judge.health=false", "tracking.figures=false"]
    asked = ["+experiment=full_rag", *small_data(folder / "data"), *chosen, "tracking.uri=sqlite:///STORE"]
    (folder / "loop").symlink_to("loop")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([*asked, "k=2", "out=run"]) == 0
        assert main([*asked, "k=1,2", "out=sweep"]) == 0
    return folder


def copied(tracked: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """The folders beside a store of another name (as long) each time, as MLflow does not let go of a store that it
    knows."""
    here, store = folder / "here", f"store{next(NUMBER):06}.db"
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(tracked, here, symlinks=True, ignore=shutil.ignore_patterns("data", "mlruns", ".runner_cache"))
    (here / "STORE").rename(here / store)
    for path in (*here.rglob(".mlflow_run.json"), *here.rglob("run.json")):
        path.write_bytes(path.read_bytes().replace(b"/STORE", b"/" + store.encode()))
    monkeypatch.chdir(here)
    return here, store


def results(folder: Path) -> dict[Path, bytes]:
    """What was measured; the report of a sweep is written anew, and stores keep marks of their own."""
    names = ("run.json", "summary.json", "per_item.jsonl", "snapshot.json", "sweep.json")
    files = [path for it in HEADS for path in (folder / it).rglob("*") if path.name in names and path.is_file()]
    return {path: path.read_bytes() for path in files if path != folder / "sweep" / "summary.json"}


@inputs(2, shrinks=False)
@given(data=st.data())
def test_damaged_folders_go_up_or_are_refused(
    tracked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    data: st.DataObject,
) -> None:
    folder, _ = copied(tracked, tmp_path, monkeypatch)
    it = data.draw(st.sampled_from(sorted(HEADS)))
    path = folder / it / data.draw(st.sampled_from([name for name in HEADS[it] if (folder / it / name).exists()]))
    if data.draw(st.integers(0, 4)) == 0:
        PLACES[data.draw(st.sampled_from(sorted(PLACES)))](path)
    elif path.suffix == ".json" and data.draw(st.booleans()):
        path.write_bytes(encoded(data.draw(altered(orjson.loads(path.read_bytes())))))
    else:
        path.write_bytes(data.draw(damaged(path.read_bytes())))
    before = results(folder)
    ended(lambda: main(["track", it]), lambda: "".join(capsys.readouterr()), codes=(0, 1, 3))
    assert results(folder) == before


@inputs(1, shrinks=False)
@given(data=st.data())
def test_stores_that_are_none(
    tracked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    data: st.DataObject,
) -> None:
    folder, store = copied(tracked, tmp_path, monkeypatch)
    words = ["track", "run"]
    if data.draw(st.booleans()):
        words += [f"--uri={data.draw(st.sampled_from(STORES) | st.sampled_from(TEXTS))}".replace("STORE", store)]
    else:
        (folder / store).write_bytes(data.draw(damaged((folder / store).read_bytes())))
    before = results(folder)
    ended(lambda: main(words), lambda: "".join(capsys.readouterr()), codes=(0, 1, 3))
    assert results(folder) == before


def port_of_every_address() -> socket.socket:
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("0.0.0.0", 0))


@inputs(5, shrinks=False)
@given(data=st.data())
def test_the_ui_of_a_port_that_is_taken(
    tracked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    data: st.DataObject,
) -> None:
    """Whatever else it is told, it is told before a server begins."""
    folder, store = copied(tracked, tmp_path, monkeypatch)
    (folder / store).write_bytes(data.draw(st.just(b"") | damaged((tracked / "STORE").read_bytes())))
    drawn = {"--uri": STORES, "--host": HOSTS, "--port": PORTS}
    with port_of_every_address() as taken:
        told = {"--uri": f"sqlite:///{store}", "--port": str(taken.getsockname()[1])}
        for name in data.draw(st.sets(st.sampled_from(sorted(drawn)), max_size=2)):
            texts = drawn[name] if name == "--port" else [*drawn[name], *TEXTS]
            told[name] = data.draw(st.sampled_from(texts))
        words = [f"{name}={value}".replace("STORE", store) for name, value in told.items()]
        ended(lambda: main(["ui", *words]), lambda: "".join(capsys.readouterr()), codes=(0, 1, 3))
