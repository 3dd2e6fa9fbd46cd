import json
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.system.store import MANIFEST, Store, fingerprint, fingerprint_of_each
from runner.system.writing import os_error_text


def write_hello(path: Path) -> None:
    (path / "data").mkdir()
    (path / "data" / "hello.txt").write_text("hello", encoding="utf-8")


class Builder:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, path: Path) -> None:
        self.calls += 1
        write_hello(path)


def test_builds_once_and_reads_again_from_another_store(tmp_path: Path) -> None:
    build = Builder()
    first = Store(tmp_path).folder("index", {"a": 1}, build)
    second = Store(tmp_path).folder("index", {"a": 1}, build)
    assert first == second
    assert build.calls == 1
    assert (second / "data" / "hello.txt").read_text(encoding="utf-8") == "hello"


def test_another_key_is_another_folder(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.folder("index", {"a": 1}, write_hello) != store.folder("index", {"a": 2}, write_hello)


@pytest.mark.parametrize("name", ["data/hello.txt", MANIFEST])
@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_damage_is_found_and_rebuilt(tmp_path: Path, name: str, damage: str) -> None:
    build = Builder()
    folder = Store(tmp_path).folder("index", {"a": 1}, build)
    path = folder / name
    content = path.read_bytes()
    if damage == "flip":
        path.write_bytes(content.replace(b"hello", b"jello") if b"hello" in content else b"\x00" + content[1:])
    elif damage == "truncate":
        path.write_bytes(content[:-2])
    else:
        path.unlink()
    rebuilt = Store(tmp_path).folder("index", {"a": 1}, build)
    assert build.calls == 2
    assert (rebuilt / "data" / "hello.txt").read_text(encoding="utf-8") == "hello"


def test_a_folder_of_another_key_is_not_trusted(tmp_path: Path) -> None:
    build = Builder()
    folder = Store(tmp_path).folder("index", {"a": 1}, build)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**manifest, "key": {"a": 9}}), encoding="utf-8")
    Store(tmp_path).folder("index", {"a": 1}, build)
    assert build.calls == 2


def test_cold_ignores_what_is_stored_but_builds_once_a_run(tmp_path: Path) -> None:
    build = Builder()
    Store(tmp_path).folder("index", {}, build)
    cold = Store(tmp_path, cold=True)
    cold.folder("index", {}, build)
    cold.folder("index", {}, build)
    assert build.calls == 2


def test_what_other_code_derived_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Builder()
    Store(tmp_path).folder("index", {}, build)
    monkeypatch.setattr("runner.system.store.code_digest", lambda *modules: "other code")
    Store(tmp_path).folder("index", {}, build)
    assert build.calls == 2


def test_old_leftovers_of_killed_builds_are_removed(tmp_path: Path) -> None:
    old, young = tmp_path / "index" / ".building-old", tmp_path / "index" / ".building-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    Store(tmp_path).folder("index", {}, write_hello)
    assert (old.exists(), young.exists()) == (False, True)


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def broken(path: Path) -> None:
        write_hello(path)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Store(tmp_path).folder("index", {}, broken)
    assert [path.suffix for path in (tmp_path / "index").iterdir()] == [".lock"]


def _race(root: str) -> str:
    def slow(path: Path) -> None:
        with (Path(root) / "builds").open("a") as file:
            file.write("x")
        write_hello(path)

    return str(Store(Path(root)).folder("index", {}, slow))


def test_processes_that_race_build_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        folders = pool.map(_race, [str(tmp_path)] * 8)
    assert len(set(folders)) == 1
    assert (tmp_path / "builds").read_text() == "x"


def test_identity_of_a_stranger_is_an_error(tmp_path: Path) -> None:
    part = Builder()
    assert Store(tmp_path, {id(part): "abc"}).identity(part) == "abc"
    with pytest.raises(LookupError, match=r"Builder was not built from a configuration"):
        Store(tmp_path).identity(part)


def test_fingerprint_ignores_order_of_keys_only() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint([1, 2]) != fingerprint([2, 1])
    assert fingerprint("1") != fingerprint(1)


def fill_with_numpy(path: Path) -> None:
    import numpy as np

    (path / "a.npy").symlink_to("/dev/full")
    np.save(path / "a.npy", np.zeros(10_000))


def fill_with_faiss(path: Path) -> None:
    import faiss
    import numpy as np

    index = faiss.IndexFlatIP(8)
    index.add(np.zeros((10_000, 8), np.float32))
    faiss.write_index(index, "/dev/full")


def fill_with_text(path: Path) -> None:
    (path / "a.txt").symlink_to("/dev/full")
    (path / "a.txt").write_text("a" * 10_000)


@pytest.mark.parametrize("build", [fill_with_numpy, fill_with_faiss, fill_with_text])
def test_a_full_disk_is_told_as_one_whoever_writes(tmp_path: Path, build: Callable[[Path], None]) -> None:
    store = Store(tmp_path)
    with pytest.raises(OSError) as raised:
        store.folder("index", {"a": 1}, build)
    folder = store.folder("index", {"a": 1}, write_hello)
    assert os_error_text(raised.value, "") == (
        f"{folder}: No space left on device; finished cases are kept; run the same command again to resume"
    )
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name, f"{folder.name}.lock"]


def test_what_a_build_raises_otherwise_is_its_own(tmp_path: Path) -> None:
    def build(path: Path) -> None:
        raise RuntimeError("No index of this kind")

    with pytest.raises(RuntimeError, match=r"^No index of this kind$"):
        Store(tmp_path).folder("index", {"a": 1}, build)


@given(st.lists(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))))
def test_a_fingerprint_made_of_each_value_is_that_of_the_list(values: list[object]) -> None:
    assert fingerprint_of_each(iter(values)) == fingerprint(values)
