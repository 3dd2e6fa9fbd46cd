"""Simulated judges in small: good ones are left in peace, and each kind of bad one is found."""

import pytest

from benchmarks.controls import BAD, GOOD, RUBRICS, warned

FEW_SEEDS = 8


@pytest.mark.parametrize("errors", [0.02, 0.05])
def test_good_judges_are_not_warned_of(errors: float) -> None:
    assert warned(GOOD, errors, RUBRICS, FEW_SEEDS)[0] == 0.0


@pytest.mark.parametrize("name", BAD)
def test_bad_judges_are_found_and_named(name: str) -> None:
    share, kinds = warned(BAD[name], 0.05, RUBRICS, FEW_SEEDS)
    expected = {"accepts all": "false_accept", "rejects all": "false_reject", "obeys": "injection"}
    expected |= {"first claim": "false_accept", "length bonus": "length"}
    assert share == 1.0
    assert kinds[expected.get(name, "squeezed")] == FEW_SEEDS
