"""Evidence of LoCoMo's questions, told from other turns by the judge without a model."""

from pathlib import Path

import pytest

PLACE = Path("shared", "data", "locomo_noncommercial", "locomo_a.json")  # beside this project, or above
SHARED = next((folder / PLACE for folder in Path(__file__).resolve().parents if (folder / PLACE).exists()), PLACE)


def test_the_area_under_the_curve() -> None:
    """By hand: of the six pairs, .9 beats three, .5 beats two and ties with none: 5 of 6."""
    from benchmarks.memory_judge import Scored  # takes a second to import, which every worker would wait for

    scored = Scored([0.9, 0.5], [0.2, 0.3, 0.6])
    assert scored.auc == pytest.approx(5 / 6)
    assert Scored([0.9, 0.5], [0.9, 0.3]).pairs == 0.75


@pytest.mark.skipif(not SHARED.exists(), reason="LoCoMo is not there: its licence forbids to ship it")
@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_a_memory_with_the_evidence_is_told_from_one_without(every: int) -> None:
    from benchmarks.memory_judge import ALL, measured

    scored = measured(str(SHARED), "drawn", known=True, every=every)
    assert scored[ALL].auc > 0.9 and scored[ALL].pairs > 0.9
    assert all(each.auc > 0.7 for each in scored.values())
