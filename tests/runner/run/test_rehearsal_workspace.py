"""A rehearsal reads what is stored and writes to its own folder; what follows from nothing made up goes to the run."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from runner.llm.rehearsal import Rehearsal
from runner.run.rehearsal_workspace import RehearsalWorkspace, Scratch, scratch_for
from runner.system.store import Store
from tests.corpora import workspace


class Cells:
    """Workspaces of cells that share a rehearsal, and a note of what was built."""

    def __init__(self, root: Path) -> None:
        self.rehearsal = Rehearsal()
        self.real = root / "cache"
        self.scratch = Scratch(self.real, self.real / ".building-x", self.rehearsal)
        self.built: list[str] = []

    def next(self, *, cold: bool = False) -> RehearsalWorkspace:
        return self.scratch.workspace(Store(self.real, cold=cold))

    def folder(self, space: RehearsalWorkspace | Store, name: str, *, makes_up: bool = False, replies: int = 0) -> Path:
        def build(folder: Path) -> None:
            self.built.append(name)
            self.rehearsal.has_vectors |= makes_up
            self.rehearsal.n_made_up += replies
            (folder / "색인").mkdir()
            (folder / "색인" / "text").write_text(name, encoding="utf-8")

        found = space.folder("kind", {"name": name}, build)
        assert (found / "색인" / "text").read_text(encoding="utf-8") == name
        return found

    def stored(self) -> list[str]:
        return sorted(path.read_text(encoding="utf-8") for path in self.real.glob("kind/*/색인/text"))


@pytest.fixture
def cells(tmp_path: Path) -> Cells:
    return Cells(tmp_path)


def test_nothing_is_stored_before_it_is_handed_over(cells: Cells) -> None:
    space = cells.next()
    assert cells.folder(space, "bm25").is_relative_to(cells.scratch.folder)
    assert not space.is_made_up
    assert cells.stored() == []
    cells.scratch.hand_over()
    assert cells.stored() == ["bm25"]
    cells.folder(Store(cells.real), "bm25")
    assert cells.built == ["bm25"]


def test_what_is_built_of_made_up_vectors_and_after_them_is_not_handed_over(cells: Cells) -> None:
    space = cells.next()
    cells.folder(space, "before")
    cells.folder(space, "index", makes_up=True)
    cells.folder(space, "rankings")
    assert space.is_made_up
    cells.scratch.hand_over()
    assert cells.stored() == ["before"]


def test_what_a_reply_was_made_up_for_is_not_and_what_comes_after_is(cells: Cells) -> None:
    space = cells.next()
    cells.folder(space, "agentic", replies=2)
    assert space.is_made_up
    later = cells.next()
    cells.rehearsal.n_made_up += 1  # of a generator, between two cells
    cells.folder(later, "keyword")
    assert not later.is_made_up
    cells.scratch.hand_over()
    assert cells.stored() == ["keyword"]


def test_cells_share_it_unless_they_are_cold(cells: Cells) -> None:
    first = cells.folder(cells.next(), "index", makes_up=True)
    later = cells.next()
    assert cells.folder(later, "index") == first
    assert later.is_made_up
    cold = cells.next(cold=True)
    assert cells.folder(cold, "index") != first
    assert cells.built == ["index", "index"]
    cells.scratch.hand_over()
    assert cells.stored() == []


def test_what_a_run_has_stored_is_read_where_it_is(cells: Cells) -> None:
    stored = cells.folder(Store(cells.real), "bm25")
    cells.folder(cells.next(), "index", makes_up=True)
    later = cells.next()
    assert cells.folder(later, "bm25") == stored
    assert not later.is_made_up
    assert cells.built == ["bm25", "index"]


def test_what_a_run_has_stored_meanwhile_stays(cells: Cells) -> None:
    cells.folder(cells.next(), "bm25")
    stored = cells.folder(Store(cells.real), "bm25")
    before = stored.stat().st_ino
    cells.scratch.hand_over()
    assert stored.stat().st_ino == before


def test_a_build_that_fails_is_tried_again(cells: Cells) -> None:
    cells.rehearsal.has_vectors = True
    space = cells.next()
    with pytest.raises(OSError, match="disk"):
        space.folder("kind", {"name": "index"}, lambda folder: (_ for _ in ()).throw(OSError("disk")))
    cells.folder(space, "index")
    assert cells.built == ["index"]


def fill(path: Path, *names: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS t (name TEXT PRIMARY KEY)")
        connection.executemany("INSERT INTO t VALUES (?)", [(name,) for name in names])
    connection.close()


def names_in(path: Path) -> list[str]:
    if not path.exists():
        return []
    with sqlite3.connect(path) as connection:
        found = [name for (name,) in connection.execute("SELECT name FROM t ORDER BY name")]
    connection.close()
    return found


@pytest.mark.parametrize("makes_up", [False, True])
def test_what_grows_is_merged_and_no_vector_beside_made_up_ones(cells: Cells, makes_up: bool) -> None:
    space = cells.next()
    fill(space.root / "notes.sqlite", "a")
    fill(space.root / "embeddings" / "m.sqlite", "a", "b")
    fill(cells.next(cold=True).root / "embeddings" / "n.sqlite", "c")
    fill(cells.real / "embeddings" / "m.sqlite", "b", "z")
    (cells.real / "embeddings" / "n.sqlite").write_text("no database", encoding="utf-8")
    cells.rehearsal.has_vectors = makes_up
    cells.scratch.hand_over()
    assert names_in(cells.real / "notes.sqlite") == ["a"]
    assert names_in(cells.real / "embeddings" / "m.sqlite") == (["b", "z"] if makes_up else ["a", "b", "z"])
    assert (cells.real / "embeddings" / "n.sqlite").read_text(encoding="utf-8") == "no database"


def test_the_rest_is_that_of_the_real_one(tmp_path: Path) -> None:
    real = workspace(tmp_path, part := object(), cold=True)
    space = Scratch(tmp_path, tmp_path / "scratch", Rehearsal()).workspace(real)
    assert (space.stored_root, space.cold, space.identity(part)) == (tmp_path, True, real.identity(part))
    assert space.root.is_relative_to(tmp_path / "scratch")


def test_the_folder_is_gone_afterwards_also_where_nothing_can_be_written(tmp_path: Path) -> None:
    with scratch_for(tmp_path / "cache", Rehearsal()) as scratch:
        assert scratch.folder.is_relative_to(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    (tmp_path / "file").write_text("", encoding="utf-8")
    with scratch_for(tmp_path / "file", Rehearsal()) as scratch:
        assert scratch.folder.is_dir()
    assert not scratch.folder.exists()
