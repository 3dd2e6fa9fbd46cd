from runner.text.citations import citations, without_citations


def test_numbers_in_order_of_first_mention_each_once():
    assert citations("A [2]. B [1, 3]. C [2][4].") == (2, 1, 3, 4)


def test_ranges():
    assert citations("A [1-3], B [5–6]") == (1, 2, 3, 5, 6)


def test_what_is_no_citation():
    assert citations("[0] [2024] [a] a[i] [1](https://example.com) (1)") == ()


def test_removal_takes_the_space_before():
    assert without_citations("가능합니다. [1] Then [2, 3].") == "가능합니다. Then."
    assert without_citations("[1](url) stays") == "[1](url) stays"
