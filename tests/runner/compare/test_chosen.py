import re
from collections.abc import Sequence
from typing import Any

import pytest
from omegaconf import OmegaConf

from runner.compare.chosen import chosen_baseline
from runner.config.compose import Cell, Nodes
from runner.errors import ConfigError

SWEPT = [["k=3", "retriever=keyword"], ["k=3", "retriever=semantic"], ["k=10", "retriever=keyword"]]


def cells(baseline: Any, swept: Sequence[Sequence[str]] = SWEPT, *, typed: bool = True) -> list[Cell]:
    cfg = OmegaConf.create({"baseline": baseline})
    common = ["seed=1", f"baseline={baseline}"] if typed else ["seed=1"]
    return [Cell(Nodes(cfg, OmegaConf.create()), [*common, *each], each, "f", "x", set(), ()) for each in swept]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (None, 0),
        (2, 2),
        ("2", 2),
        ("k=10", 2),
        ("k=3,retriever=semantic", 1),
        (" retriever=semantic  k=3 ", 1),
        ("+k=10", 2),
    ],
)
def test_a_number_or_what_sets_a_run_apart(given: Any, place: int) -> None:
    assert chosen_baseline(cells(given)) == place


def test_a_name_that_was_quoted_on_the_command_line() -> None:
    assert chosen_baseline(cells("tag=가 나".replace(" ", "_"), [["tag=a"], ["tag='가_나'"]])) == 1


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("k=7", "no run of this sweep is 'k=7'"),
        (3, "no run of this sweep is '3'"),
        ("k=3", "'k=3' names 2 runs"),
        ("seed=1", "no run of this sweep is 'seed=1'"),
    ],
)
def test_what_names_no_run_or_several(given: Any, problem: str) -> None:
    runs = "0 (k=3 retriever=keyword), 1 (k=3 retriever=semantic), 2 (k=10 retriever=keyword)"
    with pytest.raises(ConfigError, match=re.escape(f"baseline: {problem}; expected one of {runs}")):
        chosen_baseline(cells(given))


def test_one_run_has_no_baseline() -> None:
    assert chosen_baseline(cells(None, [[]])) == 0
    with pytest.raises(ConfigError, match="baseline: this command has one run; compare=BASELINE"):
        chosen_baseline(cells(0, [[]]))


def test_one_that_a_record_holds_is_that_of_its_own_sweep() -> None:
    assert chosen_baseline(cells("k=10", typed=False)) == 2
    assert chosen_baseline(cells("k=7", typed=False)) == 0
    assert chosen_baseline(cells("k=3", typed=False)) == 0
    assert chosen_baseline(cells("k=10", [["k=10"]], typed=False)) == 0
