from __future__ import annotations

from pathlib import Path

import pytest

from runner.llm.rehearsal import Rehearsal
from runner.rehearsal_workspace import RehearsalWorkspace
from runner.store import Store
from tests.corpora import workspace


class Cells:
    """Workspaces of cells that share a rehearsal, and a note of what was built."""

    def __init__(self, root: Path) -> None:
        self.rehearsal = Rehearsal()
        self.real, self.scratch = root / "cache", root / "scratch"
        self.built: list[str] = []

    def next(self) -> RehearsalWorkspace:
        return RehearsalWorkspace(Store(self.real), self.rehearsal, self.scratch)

    def folder(self, space: RehearsalWorkspace, name: str, *, makes_up: bool = False, replies: int = 0) -> Path:
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
        return sorted(path.read_text(encoding="utf-8") for path in self.real.rglob("text"))


@pytest.fixture
def cells(tmp_path: Path) -> Cells:
    return Cells(tmp_path)


def test_what_is_built_of_what_is_there_is_kept_for_the_runs(cells: Cells) -> None:
    space = cells.next()
    found = cells.folder(space, "bm25")
    assert found.is_relative_to(cells.real)
    assert not space.is_made_up
    assert Store(cells.real).folder("kind", {"name": "bm25"}, lambda folder: pytest.fail("built again")) == found


def test_what_is_built_of_made_up_vectors_and_after_them_is_not(cells: Cells) -> None:
    space = cells.next()
    cells.folder(space, "before")
    assert cells.folder(space, "index", makes_up=True).is_relative_to(cells.scratch)
    assert cells.folder(space, "rankings").is_relative_to(cells.scratch)
    assert space.is_made_up
    assert cells.stored() == ["before"]


def test_what_a_reply_was_made_up_for_is_not_and_what_comes_after_is(cells: Cells) -> None:
    space = cells.next()
    assert cells.folder(space, "agentic", replies=2).is_relative_to(cells.scratch)
    assert space.is_made_up
    later = cells.next()
    cells.rehearsal.n_made_up += 1  # of a generator, between two cells
    assert cells.folder(later, "keyword").is_relative_to(cells.real)
    assert not later.is_made_up
    assert cells.stored() == ["keyword"]


def test_cells_share_it(cells: Cells) -> None:
    first = cells.folder(cells.next(), "index", makes_up=True)
    later = cells.next()
    assert cells.folder(later, "index") == first
    assert later.is_made_up
    assert cells.built == ["index"]


def test_what_a_run_has_built_is_used_all_the_same(cells: Cells) -> None:
    cells.folder(cells.next(), "bm25")
    cells.folder(cells.next(), "index", makes_up=True)
    later = cells.next()
    assert cells.folder(later, "bm25").is_relative_to(cells.real)
    assert not later.is_made_up
    assert cells.built == ["bm25", "index"]


def test_a_build_that_fails_is_tried_again(cells: Cells) -> None:
    cells.rehearsal.has_vectors = True
    space = cells.next()
    with pytest.raises(OSError, match="disk"):
        space.folder("kind", {"name": "index"}, lambda folder: (_ for _ in ()).throw(OSError("disk")))
    cells.folder(space, "index")
    assert cells.built == ["index"]


def test_the_rest_is_that_of_the_real_one(tmp_path: Path) -> None:
    real = workspace(tmp_path, part := object(), cold=True)
    space = RehearsalWorkspace(real, Rehearsal(), tmp_path / "scratch")
    assert (space.root, space.cold, space.identity(part)) == (tmp_path, True, real.identity(part))
