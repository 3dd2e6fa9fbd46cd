import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.report.columns import FOLDED, WIDTH, that_fit


@pytest.mark.parametrize(
    ("left", "columns", "fitting"),
    [
        ([], [], 0),
        ([], [["x" * 79]], 1),  # 79 and the space beside it are 80
        ([], [["x" * 80]], 0),
        ([["x" * 9]], [["y" * 34], ["y" * 34]], 2),  # 80 - 10 = 70 = 2 x 35
        ([["x" * 10]], [["y" * 34], ["y" * 34]], 1),
        ([["k", "window"]], [["y" * 72]], 1),  # the longest text of a column counts: 80 - 7 = 73
        ([["x" * 200]], [["y" * 58]], 1),  # folded to 20: 80 - 21 = 59
        ([["x" * 200]], [["y" * 59]], 0),
        ([], [["y" * 20 + "\n" + "y" * 40]] * 2, 1),  # the longest line counts, 41 each
        ([], [["가" * 39], ["y"]], 1),  # Hangul takes two columns: 79 of 80
        ([], [["가" * 38], ["y"]], 2),
        ([], [["y" * 80], ["y"]], 0),  # none after the first that has no room
    ],
)
def test_how_many_columns_fit(left: list[list[str]], columns: list[list[str]], fitting: int) -> None:
    assert that_fit(left, columns) == fitting


texts = st.lists(st.text(alphabet="a가", max_size=50), max_size=3)


@given(st.lists(texts, max_size=3), st.lists(texts, max_size=8))
def test_what_fits_is_within_the_terminal_and_one_more_is_not(left: list[list[str]], columns: list[list[str]]) -> None:
    def width(column: list[str]) -> int:
        return max((sum(1 + (letter == "가") for letter in text) for text in column), default=0)

    used = [sum(min(width(column), FOLDED) + 1 for column in left)]
    for column in columns:
        used.append(used[-1] + width(column) + 1)
    n = that_fit(left, columns)
    assert n == 0 or used[n] <= WIDTH
    assert n == len(columns) or used[n + 1] > WIDTH
