"""AUC, F1 and the best cut of six scores, counted by hand."""

import numpy as np
import pytest

from runner.commands.calibrate.min_score import auc, best_cut, f1_always, f1_below

SCORES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.5])
UNANSWERABLE = np.array([True, True, False, True, False, False])


def test_the_chance_that_an_answerable_question_scores_higher() -> None:
    assert auc(SCORES, UNANSWERABLE) == pytest.approx(8 / 9)  # of nine pairs, .3 loses to .4
    assert auc(np.array([0.5, 0.5]), np.array([True, False])) == 0.5
    assert np.isnan(auc(SCORES, np.ones(6, dtype=bool))) and np.isnan(auc(SCORES, np.zeros(6, dtype=bool)))


@pytest.mark.parametrize(
    ("cut", "f1"),
    [(0.1, 0.0), (0.25, 2 * 2 / (2 + 3)), (0.35, 2 * 2 / (3 + 3)), (0.45, 2 * 3 / (4 + 3)), (1.0, 2 * 3 / (6 + 3))],
)
def test_f1_of_calling_what_scores_below_a_cut_unanswerable(cut: float, f1: float) -> None:
    assert f1_below(SCORES, UNANSWERABLE, cut) == pytest.approx(f1)


def test_always_saying_no() -> None:
    assert f1_always(UNANSWERABLE) == f1_below(SCORES, UNANSWERABLE, 1.0) == pytest.approx(6 / 9)
    assert f1_always(np.zeros(0, dtype=bool)) == 0.0


def test_the_best_cut_lies_between_two_scores() -> None:
    assert best_cut(SCORES, UNANSWERABLE) == pytest.approx(0.45)
    assert best_cut(np.array([0.5, 0.5]), np.array([True, False])) > 0.5  # nothing tells: always no
    assert best_cut(SCORES, np.ones(6, dtype=bool)) > 0.5


def test_of_equal_cuts_the_lowest_is_the_best() -> None:
    """Unanswerable .1 and .2, answerable .15 and .15: at .125 one is called (2 / 3), above .2 all are (4 / 6)."""
    assert best_cut(np.array([0.1, 0.2, 0.15, 0.15]), np.array([True, True, False, False])) == pytest.approx(0.125)
