import pytest

from runner.text.names import NameIndex, names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The office is in Busan.", ["Busan"]),
        ("The office moved to New York on Monday.", ["New York", "Monday"]),
        ("Greg Daniels said so, and Pam agreed.", ["Greg Daniels", "Pam"]),
        ("Refunds take five days. They are free.", []),
        ("NASA runs it.", ["NASA"]),
        ("We use GPT-4 and v1.2.3 of A100.", ["GPT-4", "v1.2.3", "A100"]),
        ("A file of 16GB and a 5-year plan.", []),
        ("The 14th-century church opened on the 2nd, a 21ST-floor office on May 3rd.", []),
        ("Next Steps: Open the console.", []),
        ("Polycystic ovaries (PCOS) are common.", []),
        ("대표는 김철수입니다.", ["김철수"]),
        ("사무실은 부산에 있습니다.", ["부산"]),
        ("회의는 화요일에 열립니다.", ["화요일"]),
        ("환불은 가능합니다.", []),
    ],
)
def test_names(text, expected):
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("He moved to new york.", "New York"),
        ("Renée Müller won.", "Renee Muller"),
        ("America voted.", "American"),
        ("The Korean army left.", "Korea"),
        ("Italy won.", "Italian"),
        ("China won.", "Chinese"),
        ("Pay As You Go accounts", "Pay-As-You-Go"),
        ("attention deficit hyperactivity disorder", "ADHD"),
        ("An IRA is an account.", "IRAs"),
        ("The producer Daniels left.", "Greg Daniels"),
        ("대표 김철수는 말했다.", "김철수"),
        ("gpt 4 is out", "GPT-4"),
    ],
)
def test_held(text, name):
    assert name in NameIndex(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The office is in Seoul.", "Busan"),
        ("Tom Daniels left.", "Greg Daniels"),
        ("Greg left.", "Greg Daniels"),
        ("Australia won.", "Austria"),
        ("Iran voted.", "Iraq"),
        ("대표 김철수는 말했다.", "박영희"),
        ("GPT-3 is out", "GPT-4"),
        ("", "Busan"),
    ],
)
def test_not_held(text, name):
    assert name not in NameIndex(text)


def test_german_nouns_are_no_names() -> None:
    assert names("Der Kunde kann den Vertrag mit einer Frist von 14 Tagen kündigen.") == []
    assert names("Der Tarif X-200 ist nicht mit dem Rabatt von Kunden zu kombinieren.") == ["X-200"]
    assert names("The Customer may cancel the Contract.") == ["Customer", "Contract"]
