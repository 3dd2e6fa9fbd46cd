from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.text.sentences import sentence_spans, split_sentences


def test_english_sentences_end_at_end_marks():
    text = "The fee is due. Is it paid? Yes! Then we go on."
    assert split_sentences(text) == ["The fee is due.", "Is it paid?", "Yes!", "Then we go on."]


def test_korean_sentences_end_at_end_marks_with_and_without_a_space():
    text = "회의는 월요일입니다. 장소는 어디죠? 본사예요!늦지 마세요.그리고 노트북을 가져오세요"
    assert split_sentences(text) == [
        "회의는 월요일입니다.",
        "장소는 어디죠?",
        "본사예요!",
        "늦지 마세요.",
        "그리고 노트북을 가져오세요",
    ]


def test_formal_and_polite_korean_endings_need_no_period():
    assert split_sentences("오늘은 날씨가 좋습니다 내일은 비가 온대요 우산을 챙기세요 감사합니다") == [
        "오늘은 날씨가 좋습니다",
        "내일은 비가 온대요 우산을 챙기세요",
        "감사합니다",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "하니까 좋다 그래서 갔다",  # 니까 after a vowel joins clauses
        "그는 좋습니다 라고 말했다",  # a quotation goes on
        "매출은 1.2억 원이고 비용은 $10,000 정도였다",
        "v0.4 and v1.2.3 fix 3.5 % of the cases",
        "See https://example.com/a.b?c=1.2 and main.py for details.",
        "Bring fruit, e.g. apples, i.e. something fresh vs. canned food.",
        "Dr. Kim and Prof. J. Smith met Mr. Lee.",
        "U.S. officials met at 5 p.m. in Washington.",
        "The answer is in no. 5 and fig. 3 of the paper.",
        "Well... I am not sure… and neither is he.",
        "음… 그게 뭐였더라",
        'He said "I came. I saw. I won." and left.',
        '그는 "갔다. 왔다."라고 말했다.',
        '"Really?" he asked.',
        "It works (see section 2. It is long.) in most cases.",
        "2024. 3. 5. 회의록을 정리했다.",
        "Acme Inc. Korea and others etc. are listed.",
        "3. 세 번째 항목이다",
    ],
)
def test_stays_whole(text):
    assert split_sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is 42. Next question.", ["The answer is 42.", "Next question."]),
        ("It began in 1999. The end came later.", ["It began in 1999.", "The end came later."]),
        ("We met at 5 p.m. The talk was short.", ["We met at 5 p.m.", "The talk was short."]),
        ("Apples, pears etc. They are ripe.", ["Apples, pears etc.", "They are ripe."]),
        ("I said no. Then I left.", ["I said no.", "Then I left."]),
        ("I waited... Then he came.", ["I waited...", "Then he came."]),
        ("그랬다… 그리고 떠났다.", ["그랬다…", "그리고 떠났다."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("i went home. then i slept.", ["i went home.", "then i slept."]),
        ("한 줄 요약! ㅋㅋ 진짜?", ["한 줄 요약!", "ㅋㅋ 진짜?"]),
    ],
)
def test_ends_inside(text, expected):
    assert split_sentences(text) == expected


def test_citations_belong_to_the_sentence_before_them():
    text = "Refunds take 5 days. [1] Fees stay [2]. Shipping is free.[3] Done."
    assert split_sentences(text) == ["Refunds take 5 days. [1]", "Fees stay [2].", "Shipping is free.[3]", "Done."]


def test_headings_items_and_table_rows_are_sentences():
    text = "# Refunds\nShort title\nThe rule. One more.\n- first item\n- second\n  item\n1. Step one. Wait.\n| a | b |"
    assert split_sentences(text) == [
        "# Refunds",
        "Short title",
        "The rule.",
        "One more.",
        "- first item",
        "- second item",
        "1. Step one.",
        "Wait.",
        "| a | b |",
    ]


def test_a_list_numbered_within_a_line():
    text = "Causes: 1. Low quality 2. Drugs 3. Infection. The end."
    assert split_sentences(text) == ["Causes:", "1. Low quality", "2. Drugs", "3. Infection.", "The end."]


def test_wrapped_lines_are_joined_and_short_ones_are_not():
    wrapped = "This line is so long that it must have been wrapped by an editor\nAt this point. End."
    assert split_sentences(wrapped) == [wrapped.split(" End")[0].replace("\n", " "), "End."]
    assert split_sentences("제목\n본문은 여기서 시작한다") == ["제목", "본문은 여기서 시작한다"]


def test_code_lines_stand_alone():
    assert split_sentences("Run this:\n```sh\nmake all\nmake test\n```\nDone.") == [
        "Run this:",
        "```sh",
        "make all",
        "make test",
        "Done.",
    ]


@pytest.mark.parametrize("text", ["", "   \n", "...", "?!", "---"])
def test_nothing_without_a_letter_or_digit(text):
    assert split_sentences(text) == []


def test_a_quotation_beyond_its_limit_is_split():
    inside = "This is one sentence of a long speech. " * 8
    assert len(split_sentences(f'He said "{inside}" and left.')) > 4


TEXTS = st.text(alphabet="ab A.?!…다요 습니1,2\n-#\"'()[]“”", max_size=80)


@given(TEXTS)
def test_spans_are_ordered_disjoint_and_lose_no_letter(text):
    spans = sentence_spans(text)
    assert all(first < last for first, last in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    kept = "".join(character for first, last in spans for character in text[first:last] if character.isalnum())
    assert kept == "".join(character for character in text if character.isalnum())


@given(st.lists(st.sampled_from(["The fee is due.", "회의는 끝났다.", "Is it paid?", "좋아요!"]), max_size=8))
def test_joined_sentences_come_apart_again(sentences):
    assert split_sentences(" ".join(sentences)) == sentences
