"""Which columns of a wide table the terminal has room for, and how what stands on their left is broken into lines."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from runner.report.blocks import TERMINAL, Cell, Fit, Stack, Table
from runner.report.terminal import fold_text, renderables, room_for
from tests.shown_panels import lines_of

FOLDED = Fit(()).fold


def fitted(left: list[list[str]], columns: list[list[str]]) -> tuple[list[list[str]], int]:
    shown, taken = room_for(*([[*map(Text, column)] for column in each] for each in (left, columns)), Fit(()))
    assert taken == list(range(len(taken)))
    return [[text.plain for text in column] for column in shown], len(taken)


@pytest.mark.parametrize(
    ("left", "columns", "fitting"),
    [
        ([], [], 0),
        ([], [["x" * 78]], 1),  # 78 and the edges are 80
        ([], [["x" * 79]], 0),
        ([["x" * 8]], [["y" * 33], ["y" * 33]], 2),  # 80 - 10 = 70 = 2 x 35
        ([["x" * 9]], [["y" * 33], ["y" * 33]], 1),
        ([["k", "window"]], [["y" * 70]], 1),  # the longest text of a column counts: 80 - 8 = 72
        ([["x" * 200]], [["y" * 56]], 1),  # folded to 20: 80 - 22 = 58
        ([["x" * 200]], [["y" * 57]], 0),
        ([], [["y" * 20 + "\n" + "y" * 40]] * 2, 1),  # the longest line counts, 42 each
        ([], [["가" * 38], ["y"]], 1),  # Hangul takes two columns: 78 of 80
        ([], [["가" * 37], ["y"]], 2),
        ([], [["y" * 80], ["y"]], 0),  # none after the first that has no room
    ],
)
def test_how_many_columns_fit(left: list[list[str]], columns: list[list[str]], fitting: int) -> None:
    assert fitted(left, columns)[1] == fitting


COLUMNS = 80  # where no terminal says otherwise
texts = st.lists(st.text(alphabet="a가", max_size=50), max_size=3)


@given(st.lists(texts, max_size=3), st.lists(texts, max_size=8))
def test_what_fits_is_within_the_terminal_and_one_more_is_not(left: list[list[str]], columns: list[list[str]]) -> None:
    def width(column: list[str]) -> int:
        lines = [line for text in column for line in text.splitlines()]
        return max((sum(1 + (letter == "가") for letter in line) for line in lines), default=0)

    shown, n = fitted(left, columns)
    assert ["".join(column).replace("\n", "") for column in shown] == ["".join(column) for column in left]
    widest = FOLDED if len(left) > 1 else COLUMNS - 2  # one alone takes what room the columns leave
    assert n == len(columns) or all(width(column) <= widest for column in shown)
    used = [sum(width(column) + 2 for column in shown)]
    for column in columns:
        used.append(used[-1] + width(column) + 2)
    assert n == 0 or used[n] <= COLUMNS
    assert n == len(columns) or used[n + 1] > COLUMNS


@given(st.lists(texts.filter(any), max_size=3), st.lists(texts.filter(any), max_size=8))
def test_a_grid_of_what_fits_is_no_wider_than_was_counted(left: list[list[str]], columns: list[list[str]]) -> None:
    shown, n = fitted(left, columns)
    cells = [max(column, key=lambda text: max(map(cell_len, text.splitlines()), default=0)) for column in
             (*shown, *columns[:n])]  # fmt: skip
    stacks = [Stack(text, (place,)) for place, text in enumerate(cells)]
    (table,) = renderables([Table(cells, [cells], media=TERMINAL, fit=Fit(stacks, len(shown)))])
    assert isinstance(table, Grid)
    counted = sum(max(cell_len(line) for text in column for line in text.splitlines()) + 2 for column in
                  (*shown, *columns[:n]))  # fmt: skip
    console = Console(width=1000, file=io.StringIO())
    assert not counted or console.measure(table).maximum == counted


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
    assert fold_text(text, FOLDED).splitlines() == lines


def test_nothing_is_folded_where_there_is_room() -> None:
    name = "dataset.chunker.max_chars"
    assert fitted([[name, "300"]], [["y" * 40]]) == ([[name, "300"]], 1)
    assert fitted([[name, "300"]], [["y" * 40], ["z" * 17]]) == ([["dataset.chunker.\nmax_chars", "300"]], 2)


def test_a_narrow_terminal_has_fewer_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert fitted([["k", "3"]], [["y" * 26], ["z" * 27], ["w"]]) == ([["k", "3"]], 2)


def test_columns_stand_below_each_other_and_the_lightest_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines between groups; what stands below the first line of a cell is quiet."""
    stacks = [Stack("name", (0,)), Stack("light", (1,)), Stack("heavy\nbelow", (2, 3))]
    rows = [["a", "1", Cell("2.0000", short="2.0"), "3"], ["b", "4", "5", Cell("", short="6")]]
    table = Table(["a", "b", "c", "d"], rows, "", [("", 1), ("", 1)], fit=Fit(stacks, order=(1, 0)), media=TERMINAL)
    lines = [line.split() for line in lines_of(renderables([table]))]
    assert lines[1:3] == [["heavy"], ["name", "light", "below"]]
    assert lines[4:9] == [["a", "1", "2.0"], ["3"], [], ["b", "4", "5"], ["6"]]
    monkeypatch.setenv("COLUMNS", "14")
    assert "light" not in " ".join(lines_of(renderables([table]), 14))
