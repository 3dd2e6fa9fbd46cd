"""The configurations of many runs: those of the first few are kept as they are, all others packed."""

import pickle
import sys

import pytest

from runner.config.compose import OPENED, Cell, compose_cells
from runner.config.hydra_internals import as_written

FIRST, PACKED = 0, OPENED + 1


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    ks = ",".join(str(k) for k in range(1, OPENED + 3))
    return compose_cells(["+experiment=retrieval_only", f"k={ks}", "tracking=none"])[1]


def test_packed_configurations_are_those_of_runs_of_their_own(cells: list[Cell]) -> None:
    (alone,) = compose_cells(["+experiment=retrieval_only", f"k={PACKED + 1}", "tracking=none"])[1]
    assert cells[FIRST].cfg is cells[FIRST].cfg
    packed, kept = cells[PACKED].cfg, cells[PACKED - 1].cfg  # one after the other: made anew each time
    assert packed is not cells[PACKED].cfg
    assert (packed.k, kept.k) == (PACKED + 1, PACKED)
    assert as_written(packed) == as_written(alone.cfg)
    assert cells[PACKED].hydra.runtime.choices == alone.hydra.runtime.choices
    assert cells[PACKED].used == alone.used and cells[PACKED].fingerprint == alone.fingerprint


@pytest.mark.parametrize("place", [FIRST, PACKED])
def test_a_changed_option_stays(cells: list[Cell], place: int) -> None:
    cells[place].nodes.set("dry_run", True)
    assert cells[PACKED - 1].cfg.dry_run is False
    assert cells[place].cfg.dry_run is True and cells[place].cfg.k == place + 1
    assert pickle.loads(cells[place].nodes.pickled)[0].dry_run is True


def test_further_runs_take_a_tenth_of_the_memory(cells: list[Cell]) -> None:
    sizes = [sum(map(sys.getsizeof, vars(cells[place].nodes).values())) for place in (OPENED, PACKED)]
    assert max(sizes) < len(cells[FIRST].nodes.pickled) / 3
