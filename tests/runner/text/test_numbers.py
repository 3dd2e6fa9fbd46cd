import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.numbers import Quantity, quantities


def found(text):
    return [(quantity.value, quantity.unit) for quantity in quantities(text)]


DAY = 86400.0


QUANTITIES = [
    ("1,234", [(1234, "")]),
    ("1.2억", [(120_000_000, "")]),
    ("1.2억 원", [(120_000_000, "won")]),
    ("1억 2천만 원", [(120_000_000, "won")]),
    ("3만 5천 명", [(35_000, "count")]),
    ("백만 원", [(1_000_000, "won")]),
    ("$10,000", [(10_000, "dollar")]),
    ("10k dollars", [(10_000, "dollar")]),
    ("1.5 million", [(1_500_000, "")]),
    ("two hundred and five", [(205, "")]),
    ("a million dollars", [(1_000_000, "dollar")]),
    ("twenty-five years", [(300, "month")]),
    ("30일", [(30 * DAY, "second")]),
    ("30 days", [(30 * DAY, "second")]),
    ("이틀", [(2 * DAY, "second")]),
    ("일주일", [(7 * DAY, "second")]),
    ("1시간 30분", [(3600, "second"), (1800, "second")]),
    ("3개월", [(3, "month")]),
    ("5-year plan", [(60, "month")]),
    ("16GB", [(16e9, "byte")]),
    ("3.5%", [(3.5, "%")]),
    ("3.5 퍼센트", [(3.5, "%")]),
    ("세 명", [(3, "count")]),
    ("열두 개", [(12, "count")]),
    ("2분기", [(2, "quarter")]),
    ("2 km", [(2000, "metre")]),
    ("2024년 3월 5일", [(2024, "date.year"), (3, "date.month"), (5, "date.day")]),
    ("March 5, 2024", [(2024, "date.year"), (3, "date.month"), (5, "date.day")]),
    ("5 March 2024", [(2024, "date.year"), (3, "date.month"), (5, "date.day")]),
    ("2024-03-05", [(2024, "date.year"), (3, "date.month"), (5, "date.day")]),
    ("2024. 3. 5.", [(2024, "date.year"), (3, "date.month"), (5, "date.day")]),
    ("May 2024", [(2024, "date.year"), (5, "date.month")]),
    ("1999년", [(1999, "date.year")]),
    ("in 1999", [(1999, "")]),
    ("the 1990s", [(1990, "date.decade")]),
    ("1990년대", [(1990, "date.decade")]),
    ("오후 5시 30분", [(1050, "clock")]),
    ("5:30 pm", [(1050, "clock")]),
    ("17:30", [(1050, "clock")]),
    ("12 am", [(0, "clock")]),
    ("10-15%", [(10, ""), (15, "%")]),
    ("the 2nd item", [(2, "")]),
    ("4 . 28 million and 1 , 000", [(4_280_000, ""), (1000, "")]),
]


def test_value_and_unit():
    wrong = [(text, found(text)) for text, expected in QUANTITIES if found(text) != approximately(expected)]
    assert wrong == []


def approximately(quantities):
    return [(pytest.approx(value), unit) for value, unit in quantities]


@pytest.mark.parametrize(
    "text",
    ["", "v0.4", "1.2.3", "A100 GPT-4", "401(k) plans", "in my 20s", "세계 한국 네트워크", "someone", "you may go"],
)
def test_no_quantity(text):
    assert found(text) == []


def matches(first, second):
    (one,), (other,) = quantities(first), quantities(second)
    return one.matches(other) and other.matches(one)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1.2억", "120,000,000"),
        ("1.2억 원", "120,000,000원"),
        ("24시간", "1 day"),
        ("1년", "12개월"),
        ("1000 MB", "1GB"),
        ("30", "30일"),
        ("3개", "세 명"),
        ("5일", "5 days"),
        ("1999", "1999년"),
        ("three", "3"),
    ],
)
def test_equal_quantities(first, second):
    assert matches(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("30일", "30시간"),
        ("30일", "60일"),
        ("$10", "10원"),
        ("3%", "3개"),
        ("5월", "5개월"),
        ("1999", "1998"),
        ("1.2억", "1.2만"),
    ],
)
def test_different_quantities(first, second):
    assert not matches(first, second)


def test_a_day_of_the_month_may_be_a_number_of_days():
    assert Quantity(5, "date.day").matches(Quantity(5, "second", DAY))
    assert not Quantity(5, "date.day").matches(Quantity(6, "second", DAY))


@given(st.integers(0, 10**12))
def test_thousands_separators_change_nothing(number):
    assert found(f"{number:,}") == found(str(number)) == [(number, "")]


@given(st.text(max_size=60))
def test_any_text_is_read(text):
    assert all(quantity.value == quantity.value for quantity in quantities(text))
