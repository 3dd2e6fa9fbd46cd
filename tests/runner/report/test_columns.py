import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.report.columns import FOLDED, WIDTH, fitted, folded


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
    assert fitted(left, columns)[1] == fitting


texts = st.lists(st.text(alphabet="a가", max_size=50), max_size=3)


@given(st.lists(texts, max_size=3), st.lists(texts, max_size=8))
def test_what_fits_is_within_the_terminal_and_one_more_is_not(left: list[list[str]], columns: list[list[str]]) -> None:
    def width(column: list[str]) -> int:
        lines = [line for text in column for line in text.splitlines()]
        return max((sum(1 + (letter == "가") for letter in line) for line in lines), default=0)

    shown, n = fitted(left, columns)
    assert ["".join(column).replace("\n", "") for column in shown] == ["".join(column) for column in left]
    assert n == len(columns) or all(width(column) <= FOLDED for column in shown)
    used = [sum(width(column) + 1 for column in shown)]
    for column in columns:
        used.append(used[-1] + width(column) + 1)
    assert n == 0 or used[n] <= WIDTH
    assert n == len(columns) or used[n + 1] > WIDTH


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("window", ["window"]),
        ("dataset.chunker.max_chars", ["dataset.chunker.", "max_chars"]),
        ("retriever.legs.semantic", ["retriever.legs.", "semantic"]),
        ("a sentence that is too long for a line", ["a sentence that is", "too long for a line"]),
        ("하한: 무작위로 고른 문서의 조각들", ["하한: 무작위로 고른", "문서의 조각들"]),
        ("x" * 45, ["x" * 20, "x" * 20, "x" * 5]),
        ("a_recursive_summary_of_all", ["a_recursive_summary_", "of_all"]),
        ("", []),
    ],
)
def test_texts_are_broken_between_words(text: str, lines: list[str]) -> None:
    assert folded(text).splitlines() == lines


def test_nothing_is_folded_where_there_is_room() -> None:
    name = "dataset.chunker.max_chars"
    assert fitted([[name, "300"]], [["y" * 40]]) == ([[name, "300"]], 1)
    assert fitted([[name, "300"]], [["y" * 40], ["z" * 20]]) == ([["dataset.chunker.\nmax_chars", "300"]], 2)


def test_a_narrow_terminal_has_fewer_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert fitted([["k", "3"]], [["y" * 27], ["z" * 28], ["w"]]) == ([["k", "3"]], 2)
