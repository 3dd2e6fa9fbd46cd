import pytest

from runner.text.negation import denied_words


def heads(text):
    return [word.text for word in denied_words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The fee is not refunded.", ["refunded"]),
        ("Fees are never given back.", ["given"]),
        ("It does not include images, but it includes text.", ["include"]),
        ("You can't return it.", ["return"]),
        ("You can’t return it.", ["return"]),
        ("It runs without a permit.", ["permit"]),
        ("The plan has no limit.", ["limit"]),
        ("We were unable to process it.", ["process"]),
        ("환불되지 않습니다.", ["환불되지"]),
        ("환불할 수 없습니다.", ["환불할"]),
        ("환불은 안 됩니다.", ["환불은"]),
        ("환불은 불가능합니다.", ["가능", "환불은"]),
        ("재고가 없습니다.", ["재고가"]),
        ("그는 의사가 아닙니다.", ["의사가"]),
        ("아직 안 먹었다.", ["먹었다"]),
        ("먹지 못했다.", ["먹지"]),
        ("사용하지 마세요.", ["사용하지"]),
        ("미지원 기능입니다.", ["지원"]),
        ("기본으로 활성화되어 있지 않다.", ["활성화되어"]),
        ("활성화되어 있지는 않습니다.", ["활성화되어"]),
        ("자동으로 켜져 있진 않아요.", ["켜져"]),
        ("아직 포함되어 있지 못하다.", ["포함되어"]),
        ("윈도우는 지원하고 있지 않아요.", ["지원하고"]),
        ("지원이 되지 않습니다.", ["지원이"]),
        ("환불을 하지 않습니다.", ["환불을"]),
        ("재고가 있지 않다.", ["재고가"]),
    ],
)
def test_the_denied_word(text, expected):
    assert heads(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The fee is refunded.",
        "It is not only fast but cheap.",
        "No, the fee is refunded.",
        "See no. 5 for details.",
        "It takes no more than 5 days.",
        "환불됩니다.",
        "맛뿐만 아니라 값도 좋다.",
        "기다릴 수밖에 없다.",
        "아니요, 됩니다.",
        "안내 데스크는 안전합니다.",
        "불가피한 사정입니다.",
    ],
)
def test_nothing_denied(text):
    assert heads(text) == []


def test_words_start_where_they_stand():
    text = "It is not free. 배송비는 환불되지 않습니다."
    assert [text[word.start :].startswith(word.text) for word in denied_words(text)] == [True, True]
