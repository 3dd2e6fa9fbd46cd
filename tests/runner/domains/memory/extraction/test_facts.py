import pytest

from runner.domains.memory.extraction.facts import Fact, any_of, identity, kind, same_thing


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("budget", "$5"), ("our current budget", "$6"), True),
        (("budget", "$5"), ("marketing budget", "$6"), False),
        (("the budgets", "$5"), ("budget", "unlimited"), True),
        (("launch date", "May 3"), ("launch", "June 1"), True),
        (("launch", "Berlin"), ("launch date", "June 1"), False),
        (("출시일", "5월 3일"), ("출시", "6월 1일"), True),
        (("예산", "1억"), ("올해 예산", "2억"), True),
        (("예산", "1억"), ("내년 예산", "2억"), False),
        (("11월 비용", "100만 원"), ("12월 비용", "90만 원"), False),
        (("cost", "$500 in May"), ("cost", "$700 in June"), False),
        (("cost", "$500 in May"), ("cost", "$700 in May"), True),
        (("팀장 이름", "김서연"), ("팀장", "이도윤"), True),
        (("dog's name", "Bori"), ("dog", "Coco"), True),
        (("group size", "38"), ("other group group size", "36"), False),
        (("예산", "1억"), ("다른 예산", "2억"), False),
        (("v2 budget", "$5"), ("v3 budget", "$5"), False),
        (("2025 budget", "$5"), ("2026 budget", "$5"), False),
    ],
)
def test_what_is_the_same_thing(one: tuple[str, str], other: tuple[str, str], same: bool) -> None:
    assert same_thing(Fact(*one), Fact(*other)) is same
    assert same_thing(Fact(*other), Fact(*one)) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("6 developers", "8 developers", True),
        ("6 developers", "3 meetings", False),
        ("65%", "70%", True),
        ("65%", "$9", False),
    ],
)
def test_loose_facts_are_of_one_thing_if_their_values_are_of_one_kind(one: str, other: str, same: bool) -> None:
    assert same_thing(Fact("team", one, is_loose=True), Fact("team", other)) is same


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1.5억", "number"), ("$12,000", "dollar"), ("5월 3일", "date"), ("May 3", "date"), ("Thursday", "weekday"),
     ("목요일", "weekday"), ("9:30 am", "clock"), ("60%", "%"), ("30 days", "second"), ("blue", "text"),
     ("8 developers", "developer"), ("9,000만", "number")],
)  # fmt: skip
def test_kinds(value: str, expected: str) -> None:
    assert kind(value) == expected


def test_a_key_of_nothing_but_fillers_is_still_one() -> None:
    assert identity("our total") == {"our", "total"} or identity("our total") == {"total"}
    assert identity("!") == {"!"}


def test_patterns_of_lists() -> None:
    assert any_of("a b, c?,\n d") == "(?:a b|c?|d)"
